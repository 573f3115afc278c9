/* The inside of tuning a model. */
#ifndef HONE_RUNTIME_TUNE_MODEL_H
#define HONE_RUNTIME_TUNE_MODEL_H

#include <stdio.h>

#include "base/map.h"
#include "hone/tune.h"
#include "runtime/compile.h"
#include "runtime/trial_rig.h"
#include "tune/confirm.h"
#include "tune/kernel_key.h"
#include "tune/tuner.h"

/* A distinct kernel of the model. */
typedef struct hone_tuned_kernel {
  hone_kernel_t* lowered;
  char digest[HONE_KERNEL_DIGEST_SIZE];
  int entry, count; /* which of the program's, and how often that is launched */
  hone_tactic_set_t* set;
  hone_rig_t* rig; /* NULL: it cannot be tuned */
  char device[HONE_TUNE_DEVICE_SIZE];
  double expected;        /* seconds in a run of the model, by the model of cost */
  double default_seconds; /* measured, of one launch; 0: not known */
  hone_tuning_kernel_t told;
} hone_tuned_kernel_t;

/* What may make a whole run faster: a candidate of a kernel. */
typedef struct hone_tuning_item {
  hone_tuned_kernel_t* kernel;
  hone_offer_t offer;
} hone_tuning_item_t;

struct hone_tuning {
  const hone_allocator_t* allocator;
  hone_tuning_options_t options;
  hone_arena_t* arena;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_device_properties_t properties;
  hone_graph_t* graph;
  hone_program_t* program; /* nothing of it is built */
  hone_rig_shared_t shared;
  hone_map_t by_digest;
  int n_kernels, room;
  hone_tuned_kernel_t** kernels; /* those that are expected to take longest first */
  hone_tune_db_t* database;      /* in memory where the file cannot be had */
  const hone_model_t* model;     /* NULL: there is one kernel, and no whole */
  hone_confirm_driver_t whole;   /* runs of the model, with `items`; all NULL without one */
  int n_items;
  hone_tuning_item_t* items;
  int n_inputs;
  hone_tensor_t** inputs; /* of runs of the whole, made up */
  int64_t* symbols;       /* the sizes that all is tried with */
  double plan_seconds;    /* that planning the model took */
  FILE* log;
  bool log_failed; /* while verdicts were put down */
  double start;
  hone_tuning_report_t report;
};

/* Finds the kernels, with rigs to try them on. */
typedef hone_status_t (*hone_tuning_collect_t)(hone_tuning_t* tuning, const void* subject);
/* Of a hone_model_t (tune_kernels.c). */
HONE_MUST_USE hone_status_t hone_tuning_collect_model(hone_tuning_t* tuning, const void* model);
/* Compiles the model, planned or to be run; `settings` but for allocator and passes.
 * Errors: as hone_compile. */
HONE_MUST_USE hone_status_t hone_tuning_compile(const hone_tuning_t* tuning,
                                                const hone_model_t* model,
                                                const hone_compile_settings_t* settings,
                                                hone_graph_t** out_graph,
                                                hone_program_t** out_program);
/* How runs of the whole are made (tune_whole.c). */
hone_confirm_driver_t hone_tuning_whole(hone_tuning_t* tuning);
/* Has wholes decide over what the database offers, with `run_seconds` that one is thought to
 * take, and reports it, failures too (tune_confirm.c). Errors: IO (the log); OUT_OF_MEMORY where
 * that leaves no room for the report of a failure. */
HONE_MUST_USE hone_status_t hone_tuning_confirm(hone_tuning_t* tuning, double run_seconds);
/* A verdict over an item that ran well, as databases and logs have it; texts are the item's. */
hone_tune_record_t hone_tuning_record(const hone_tuning_item_t* item, hone_verdict_t verdict);
/* Appends to the log; NULL: its first line. Errors: IO. */
HONE_MUST_USE hone_status_t hone_tuning_log(hone_tuning_t* tuning,
                                            const hone_tune_record_t* record);
/* The key of the kernel's records; texts are the kernel's. */
hone_tune_key_t hone_tuning_key(hone_tuned_kernel_t* kernel);
/* Opens the device, collects, tunes. Errors as hone_model_tune. */
HONE_MUST_USE hone_status_t hone_tuning_run(const hone_tuning_options_t* options,
                                            hone_tuning_collect_t collect, const void* subject,
                                            hone_tuning_t** out_tuning);
/* Adds a copy of a kernel that was lowered, the program's `entry`. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_tuning_add(hone_tuning_t* tuning, const hone_kernel_t* lowered,
                                            const char* digest, int entry);

#endif
