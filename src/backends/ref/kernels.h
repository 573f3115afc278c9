/* Kernels of `ref`: one function a primitive or family, found through the
 * table in kernels.c. Each computes the outputs of one node from views of its
 * inputs; ir/prim.h says what. */
#ifndef HONE_BACKENDS_REF_KERNELS_H
#define HONE_BACKENDS_REF_KERNELS_H

#include "backends/ref/view.h"
#include "ir/graph.h"
#include "ir/scalar.h"

/* What a kernel gets. Attributes that are expressions are already numbers. */
typedef struct ref_call {
  const hone_allocator_t* allocator;
  const hone_node_t* node;
  const ref_view_t* const* in;
  ref_view_t* out; /* n_outputs entries, to be filled */
  uint64_t run_seed;
  uint64_t round_key;
  const int64_t* symbols;       /* for `dims`, whose list may be longer than these: */
  int64_t shape[HONE_MAX_RANK]; /* node->shape, evaluated */
  int64_t lo[HONE_MAX_RANK];
  int64_t hi[HONE_MAX_RANK];
  int64_t step[HONE_MAX_RANK];
} ref_call_t;

typedef hone_status_t (*ref_kernel_fn)(ref_call_t* call);

/* NULL for control primitives, which the interpreter does itself. */
ref_kernel_fn hone_ref_kernel(hone_prim_t prim);

hone_status_t hone_ref_source(ref_call_t* call);
hone_status_t hone_ref_unary(ref_call_t* call);
hone_status_t hone_ref_binary(ref_call_t* call);
hone_status_t hone_ref_complex(ref_call_t* call);
hone_status_t hone_ref_select(ref_call_t* call);
hone_status_t hone_ref_cast(ref_call_t* call);
hone_status_t hone_ref_bitcast(ref_call_t* call);
hone_status_t hone_ref_reshape(ref_call_t* call);
hone_status_t hone_ref_permute(ref_call_t* call);
hone_status_t hone_ref_expand(ref_call_t* call);
hone_status_t hone_ref_slice(ref_call_t* call);
hone_status_t hone_ref_pad(ref_call_t* call);
hone_status_t hone_ref_flip(ref_call_t* call);
hone_status_t hone_ref_concat(ref_call_t* call);
hone_status_t hone_ref_window(ref_call_t* call);
hone_status_t hone_ref_reduce(ref_call_t* call);
hone_status_t hone_ref_contract(ref_call_t* call);
hone_status_t hone_ref_gather(ref_call_t* call);
hone_status_t hone_ref_scatter(ref_call_t* call);
hone_status_t hone_ref_scan(ref_call_t* call);
hone_status_t hone_ref_sort(ref_call_t* call);
/* What the node, which sorts along an axis of that extent, takes besides input and outputs. */
uint64_t hone_ref_sort_bytes(const hone_node_t* node, int64_t extent);

#endif
