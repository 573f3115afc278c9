/* Watching: each kernel of a run beside what `ref` makes of the same inputs.
 *
 * For programs compiled with keep_nodes (runtime/compile.h). Kernels run one after
 * another, each on what the kernels before it made, so that the first to depart
 * from `ref` is the first that is wrong, however errors grow behind it. */
#ifndef HONE_RUNTIME_WATCH_H
#define HONE_RUNTIME_WATCH_H

#include "runtime/program.h"

/* One kernel that has run. Tensors are borrowed. */
typedef struct hone_launched {
  const hone_program_t* program;
  const hone_step_t* step; /* step->graph is what it computes, as a graph of its own */
  int n_inputs;            /* of that graph */
  hone_tensor_t* const* inputs;
  hone_tensor_t* const* expected; /* step->n_outputs, by `ref` */
  hone_tensor_t* const* actual;
} hone_launched_t;

typedef struct hone_watch {
  hone_status_t (*launched)(void* self, const hone_launched_t* launched);
  void* self;
} hone_watch_t;

/* hone_program_run with a look at each launch. Errors: also what `launched` gives,
 * which ends the run. */
HONE_MUST_USE hone_status_t hone_program_watch(hone_program_t* program,
                                               const hone_run_options_t* options,
                                               const hone_watch_t* watch, int n_inputs,
                                               hone_tensor_t* const* inputs, int n_outputs,
                                               hone_tensor_t** out_outputs);

#endif
