/* Kernels of `ref`: one function a primitive or family, found through the
 * table in kernels.c. Each computes the outputs of one node from views of its
 * inputs; ir/prim.h says what. */
#ifndef HONE_BACKENDS_REF_KERNELS_H
#define HONE_BACKENDS_REF_KERNELS_H

#include "backends/ref/view.h"
#include "ir/graph.h"

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

/* How numbers of a dtype are computed with. */
typedef enum ref_class {
  REF_F64, /* all float types */
  REF_I64, /* bool and integers but u64 */
  REF_U64,
  REF_COMPLEX, /* pairs of double */
  REF_STRING,
} ref_class_t;

ref_class_t hone_ref_class(hone_dtype_t dtype);

/* One element of a row as it is computed with. */
typedef union ref_number {
  double f;
  int64_t i;
  uint64_t u;
} ref_number_t;

/* n elements, `stride` bytes apart, as numbers of the dtype's class. */
void hone_ref_load(hone_dtype_t dtype, const char* data, int64_t stride, int64_t n,
                   ref_number_t* out);
/* Into a dense row, rounded. */
void hone_ref_store(hone_dtype_t dtype, const ref_number_t* in, int64_t n, char* data);

/* Combines two numbers (reduce, scan, scatter); the class is the row. */
typedef ref_number_t (*ref_combine_fn)(ref_number_t a, ref_number_t b);
ref_combine_fn hone_ref_combine(hone_combine_t combine, ref_class_t class);
/* The neutral element of `combine` for `dtype`. */
ref_number_t hone_ref_neutral(hone_combine_t combine, hone_dtype_t dtype);

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

#endif
