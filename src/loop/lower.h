/* Lowering: a region of primitives becomes one kernel.
 *
 * The nest of an output runs over the output's elements. Elementwise and
 * movement primitives vanish into terms and index expressions. A reduction,
 * contraction or the like ("anchor") becomes loops of its own that fill a
 * local buffer, put at the outermost loop that its index depends on: the
 * maximum of a softmax's row is computed once a row. What several loops read
 * (the scores of a row, the exponentials of a softmax) is kept in a row. */
#ifndef HONE_LOOP_LOWER_H
#define HONE_LOOP_LOWER_H

#include "ir/graph.h"
#include "loop/kernel.h"

typedef struct hone_kernel_options {
  size_t struct_size;
  size_t max_local_bytes; /* of a row kept between loops; 0: 64 KiB */
  /* What input i is, if that is known, a constant then; NULL: it is not. Or NULL. */
  const hone_tensor_t* (*constant_of)(const void* constants, int input);
  const void* constants;
} hone_kernel_options_t;

/* Whether a node may be part of a kernel's region at all; `why` gets a static
 * text if not. Says nothing about dtypes, which are the device's business. */
bool hone_prim_is_loop(const hone_node_t* node, const char** out_why);

/* Whether kernels take the axis of an expand's operand for one element that is repeated: its extent
 * is 1, or cannot be more. Where it may be 0 as well, who launches the kernel looks first. */
bool hone_lower_repeats(hone_dim_t extent);

/* The kernel of a region: `graph` is a closed graph whose inputs and outputs
 * are tensors of known dtype and rank. Input i is the buffer of role INPUT and
 * number i, outputs likewise; inputs that are not used have none. `options`
 * may be NULL. Errors: UNSUPPORTED (names the node), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_kernel_lower(const hone_graph_t* graph, const char* name,
                                              const hone_kernel_options_t* options,
                                              const hone_allocator_t* allocator,
                                              hone_kernel_t** out_kernel);

#endif
