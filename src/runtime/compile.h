/* The compile driver: a lowered graph becomes a program for a device that runs
 * kernels. Passes rewrite the graph and fuse it, each call becomes a kernel
 * that the backend schedules and renders, equal sources are built once, and
 * the program is put together. What a device cannot express is interpreted by
 * `ref`; the report says which nodes and why. */
#ifndef HONE_RUNTIME_COMPILE_H
#define HONE_RUNTIME_COMPILE_H

#include "passes/pass.h"
#include "runtime/program.h"

/* A stage of compiling, and what it took. */
typedef struct hone_compile_phase {
  const char* name;
  uint64_t duration_ns;
} hone_compile_phase_t;

enum { HONE_COMPILE_PHASES = 5 };

typedef struct hone_compile_report {
  hone_compile_phase_t phases[HONE_COMPILE_PHASES]; /* passes, kernels, build, load, plan */
  int n_calls;                                      /* groups of nodes that were to be kernels */
  int n_kernels;                                    /* distinct ones that were built */
  int n_interpreted;                                /* steps that `ref` will run */
} hone_compile_report_t;

/* All zeros is the default. */
typedef struct hone_compile_settings {
  const hone_allocator_t* allocator; /* NULL: the system's */
  const hone_pass_options_t* passes; /* NULL: the default */
  hone_pass_report_t* pass_report;   /* may be NULL */
  /* Kernels that do not run on this machine are no failure; the program then has
   * no module. */
  bool may_be_foreign;
  bool no_tuned;              /* kernels are built without asking what was tuned */
  const char* tuned_database; /* where that is; NULL: the usual file, if there is one */
  struct hone_tune_db* tuned; /* asked in place of a file; borrowed, and may be NULL */
  bool plan_only;             /* nothing is built: the program has no module, and cannot run */
  /* Called with each kernel as it was lowered, its digest (runtime/chooser.h),
   * and the program's kernel that it became; may be NULL. */
  hone_status_t (*watch)(void* self, const hone_kernel_t* lowered, const char* digest, int entry);
  void* watch_self;
  bool keep_nodes; /* so that runs can be watched (runtime/watch.h) */
  /* Weights that kernels read in another order are the program's only: constants of the graph,
   * which is for its inputs and outputs then, lose theirs. */
  bool spends_constants;
  /* Called with each piece of text of that kind when it is made; may be NULL.
   * kind is "ir", "kernels", "source", "asm", "plan", "passes" (what each did) or
   * "passes.json" (the same for machines); name tells pieces apart. */
  void (*dump)(void* self, const char* kind, const char* name, const char* text);
  void* dump_self;
  bool dump_asm; /* "asm" too, for which the compiler has to run again */
} hone_compile_settings_t;

/* Rewrites `graph`, a root, which must outlive the program, as must the device.
 * `settings` and `out_report` may be NULL. Errors: UNAVAILABLE (no compiler),
 * UNSUPPORTED, OUT_OF_MEMORY, and what the backend meets. */
HONE_MUST_USE hone_status_t hone_compile(hone_graph_t* graph, const hone_backend_t* backend,
                                         hone_device_t* device,
                                         const hone_compile_settings_t* settings,
                                         hone_compile_report_t* out_report,
                                         hone_program_t** out_program);

#endif
