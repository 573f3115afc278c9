/* Chains: a loop of the graph as one kernel.
 *
 * The body of a recurrent layer is a handful of small kernels; launched one by one, each round
 * costs more in launches than in arithmetic. A chain is a kernel whose outermost loop counts the
 * rounds and in which those kernels, as they are scheduled, stand one behind the other, on one
 * thread. What they hand on is memory of the launch: outputs beyond those of the loop.
 *
 *   copy what is carried in          h = h0
 *   for r in rounds {
 *     the kernels of the body        t0 = x[r]; t1 = h * R + t0; t2 = cell(t1)
 *     copy what is carried on        h = t2
 *     copy what is stacked           y[r] = t2
 *   } */
#ifndef HONE_LOOP_CHAIN_H
#define HONE_LOOP_CHAIN_H

#include "ir/graph.h"
#include "loop/kernel.h"

/* The scheduled kernel of a call in the body; NULL: it has none that may be in a chain. */
typedef const hone_kernel_t* (*hone_chain_form_fn)(void* self, const hone_node_t* call);

typedef struct hone_chain {
  hone_kernel_t* kernel; /* owned by the caller */
  /* Constants of the body: inputs number loop->n_inputs and so on. One that kernels want packed
   * is there again for each. */
  int n_constants;
  const hone_value_t** constants;
  /* What kernels of the body make: outputs number loop->n_outputs and so on. */
  int n_temporaries;
  const hone_value_t** temporaries;
} hone_chain_t;

/* The chain of a loop whose number of rounds follows from the sizes of the inputs. Lists are in
 * `arena`. Where there is none, out_chain->kernel is NULL. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_chain_create(const hone_node_t* loop, const char* name,
                                              hone_chain_form_fn form, void* self,
                                              const hone_allocator_t* allocator,
                                              hone_arena_t* arena, hone_chain_t* out_chain);

#endif
