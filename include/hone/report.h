/* Report: what a session takes in memory, what became of its model's nodes, and
 * where its time goes, step by step, held against what the device can do.
 *
 * A report is made for sizes: those of the inputs that it is given, or numbers by
 * name. What it says of memory and of work is known before anything runs; times
 * are there once hone_report_measure has run the session.
 *
 * Texts and lists live as long as the report, which the session must outlive. A
 * report is used by one thread at a time. */
#ifndef HONE_REPORT_H
#define HONE_REPORT_H

#include "hone/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_report hone_report_t;

/* Bytes, for the report's sizes. All zeros where the device takes whole graphs. */
typedef struct hone_report_memory {
  uint64_t weights;  /* of the model; an engine's lie in its mapped file */
  uint64_t copied;   /* weights again, where the device cannot use the host's memory */
  uint64_t planned;  /* blocks that intermediate values share */
  uint64_t unshared; /* what these would take without reuse */
  uint64_t least;    /* most of them alive at once: no plan takes less */
  uint64_t heap;     /* most at once, beyond the outputs, of all else: other intermediate
                        values, and what interpreted steps work in */
  uint64_t inputs, outputs;
  uint64_t tables; /* an engine's file but for weights, its kernels' code, what says how they are
                      run, and what runs are kept track of in */
  uint64_t stacks; /* arrays of kernels on the stacks of all threads */
  uint64_t total;  /* weights, copied, planned, heap, inputs, outputs, tables and stacks */
  int n_values;    /* that are planned */
  int n_in_place;  /* of those: written where one of the step's inputs was */
  /* More is needed: there are values whose size only a run can tell, or interpreted
   * steps of which nobody knows what they work in. */
  bool has_unknown;
} hone_report_memory_t;

/* An intermediate value, from the step that makes it to the last that reads it. */
typedef struct hone_report_value {
  const char* name;
  uint64_t bytes;
  uint64_t offset;             /* in the routine's block */
  uint64_t block, block_bytes; /* that block, in all that is planned, and its size */
  int blocks; /* of that size, one after the other: threads that share the rounds of a loop have one
                 each */
  int first, last; /* steps of the routine */
  int routine;
  int begin, end; /* the same steps by their places in the whole; steps inside the last are in it */
  bool is_planned;      /* false: on the heap */
  const char* in_place; /* the value whose place it took; NULL: none */
} hone_report_value_t;

/* What the sums lack, since only a run can tell it. */
typedef struct hone_report_unknown {
  const char* step;   /* that needs it: of the kernel, or the primitive */
  const char* origin; /* of that step: the model's node */
  const char* value;  /* that it makes; NULL: it is about what the step itself works in */
  const char* type;   /* of the value, with the sizes that a run finds as symbols; "" not known */
  int64_t most;       /* bytes; -1: there is no bound */
} hone_report_unknown_t;

typedef struct hone_report_step {
  const char* kind;   /* "kernel", "view", "interpreted", "host" (interpreted, on strings, sequences
                         or maps), "if", "loop", "sizes"; "node" on other devices */
  const char* name;   /* of the kernel, or the primitive */
  const char* origin; /* the model's node that stands for it: "conv_3 (Conv)" */
  const char* nodes;  /* all that went into it, a line each */
  const char* tactic; /* who scheduled the kernel; "" none */
  const char* why;    /* that tactic; for what is interpreted: why there is no kernel */
  int turns;          /* steps of the same number are run part by part, in turns, where nobody
                         measures them one by one; 0: it is run by itself */
  int routine, index; /* where it stands; bodies of ifs and loops are routines of their own */
  int place; /* in the whole, 0 …: steps in their order, bodies after the step that runs them */
  /* Its work, once, for the report's sizes; 0 where that is not known. */
  double arithmetic, transcendental; /* operations */
  double read, written;              /* bytes, each counted once */
  double predicted;                  /* seconds, by who chose the tactic; 0: not said */
  double limit;                      /* least seconds that the device needs; 0: not known */
  double compute;                    /* least seconds that its operations need; 0: not known */
  const char* bound;                 /* what limits it: "compute", "memory" or "" */
  /* Measured: medians over the runs, of all the times it ran in one. */
  double seconds;        /* without what ran inside of it */
  double device_seconds; /* of those: by the device's clock; 0: it has none */
  double launch_seconds; /* of those, by that clock: from handing the launch to the driver until it
                            started; 0: not known */
  double runs;           /* how often in one run */
  uint64_t output_bytes;
} hone_report_step_t;

/* What became of a node of the model's main graph. */
typedef struct hone_report_node {
  const char* name; /* "conv_3 (Conv)" */
  int step;         /* into the report's steps; -1: nothing of it is left to run */
  const char* pass; /* the last pass that touched it; "": none, or nobody noted it */
  const char* what; /* that this pass did */
} hone_report_node_t;

/* What the device can do at best. */
typedef struct hone_report_device {
  const char* name;       /* of its backend: "cpu" */
  const char* target;     /* what kernels are built for */
  const char* source;     /* of the figures: "the device", "measured", "measured earlier", "" */
  int threads;            /* or groups that run at once */
  double gflops;          /* f32, 10^9 operations a second; 0: not known */
  double gflops_one;      /* on one thread */
  double gflops_bf16;     /* of bf16, summed in f32; as f32 where that is no slower */
  double gflops_int8;     /* of bytes, summed in i32, likewise */
  int n_levels;           /* of memory, the fastest first */
  double level_bytes[4];  /* working sets of up to so much; the last: 0, any */
  double level_gbytes[4]; /* 10^9 bytes a second */
} hone_report_device_t;

/* Seconds; medians over the runs. */
typedef struct hone_report_times {
  int runs;
  double whole;       /* a run, as it is */
  double profiled;    /* a run in which each step was waited for: the sum of all below */
  double kernels;     /* in steps that are kernels */
  double launches;    /* of those: their launch_seconds */
  double interpreted; /* in steps that `ref` runs, or in nodes of other devices */
  double host;        /* in those that `ref` runs on strings, sequences or maps */
  double rest;        /* between steps */
} hone_report_times_t;

typedef struct hone_report_options {
  size_t struct_size; /* sizeof(hone_report_options_t), or 0 */
  int n_dims;         /* sizes by name; those left out are the least that is allowed, from 1 */
  const hone_dim_option_t* dims; /* of a range the largest counts */
  int n_inputs;                  /* instead: the inputs that it is made for */
  hone_tensor_t* const* inputs;
  bool limits; /* find out what the device can do: the first time takes a second or so */
} hone_report_options_t;

/* `options` may be NULL. Errors: OUT_OF_RANGE (sizes that make no sense),
 * NOT_FOUND (a size by a name that nothing has), OUT_OF_MEMORY, and what
 * measuring the device meets. */
HONE_API HONE_MUST_USE hone_status_t hone_report_create(hone_session_t* session,
                                                        const hone_report_options_t* options,
                                                        hone_report_t** out_report);
HONE_API void hone_report_destroy(hone_report_t* report); /* NULL is allowed */

/* Runs the session on the inputs: `runs` times as it is, as often with each step
 * timed, after one run to warm up. `profile` (may be NULL) is told of every step of the
 * last of these. The report must have been made for inputs of these sizes. Errors:
 * INVALID_ARGUMENT, and what running meets. */
HONE_API HONE_MUST_USE hone_status_t hone_report_measure(hone_report_t* report, int runs,
                                                         int n_inputs, hone_tensor_t* const* inputs,
                                                         hone_profile_fn profile,
                                                         void* profile_self);

HONE_API const hone_report_memory_t* hone_report_memory(const hone_report_t* report);
HONE_API const hone_report_times_t* hone_report_times(const hone_report_t* report);
HONE_API const hone_report_device_t* hone_report_device(const hone_report_t* report);
/* Whether the session is of a program whose steps are known; false on devices
 * that take whole graphs, whose nodes are the steps once it has been measured. */
HONE_API bool hone_report_is_compiled(const hone_report_t* report);
HONE_API int hone_report_value_count(const hone_report_t* report);
HONE_API const hone_report_value_t* hone_report_value(const hone_report_t* report, int index);
/* None where the sums say it all. */
HONE_API int hone_report_unknown_count(const hone_report_t* report);
HONE_API const hone_report_unknown_t* hone_report_unknown(const hone_report_t* report, int index);
HONE_API int hone_report_step_count(const hone_report_t* report);
HONE_API const hone_report_step_t* hone_report_step(const hone_report_t* report, int index);
/* Empty for sessions of engine files, which do not carry their model. */
HONE_API int hone_report_node_count(const hone_report_t* report);
HONE_API const hone_report_node_t* hone_report_node(const hone_report_t* report, int index);
/* The value that a size by name has in the report: "batch" to 4; -1: nothing has that name. */
HONE_API int64_t hone_report_size(const hone_report_t* report, const char* name);
/* The sizes by name that the report is made for; NULL out of range. */
HONE_API const char* hone_report_size_name(const hone_report_t* report, int index);
/* Writes the extents that input `index` has in the report to `out_dims` (room for
 * HONE_MAX_RANK) and gives its rank; -1 when it is no tensor of known rank. */
HONE_API int hone_report_input_shape(const hone_report_t* report, int index, int64_t* out_dims);

#ifdef __cplusplus
}
#endif
#endif
