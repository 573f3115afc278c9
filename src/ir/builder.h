/* Builder: writes primitives into a graph, one call each.
 *
 * Errors are sticky. A call that fails notes its status in the builder and
 * gives NULL; every later call, and every call with a NULL operand, does
 * nothing and gives NULL as well. So a lowering is written as plain
 * expressions, and whoever started it looks at `status` once at the end.
 *
 * Elementwise calls broadcast as NumPy does. Small integer tensors whose
 * elements are known, also as dimension expressions, carry them along
 * (`content`), so that arithmetic on shapes folds away while it is built.
 *
 * Not thread-safe. Axes may be negative, counting from the end, wherever a
 * call takes one; lists given as arguments are copied. */
#ifndef HONE_IR_BUILDER_H
#define HONE_IR_BUILDER_H

#include "ir/graph.h"

typedef struct hone_capture {
  struct hone_capture* next;
  hone_value_t* outer; /* in the parent builder's graph */
  hone_value_t* inner; /* the parameter that stands for it */
} hone_capture_t;

typedef struct hone_builder {
  hone_graph_t* graph;
  struct hone_builder* parent; /* of a region: who builds the graph around it */
  hone_capture_t* captures;    /* of a region, last one first */
  int n_captures;
  bool is_call;         /* a region in which nothing may bind symbols */
  int first_symbol;     /* symbols with a smaller id existed before the region */
  const char* origin;   /* noted in each new node */
  hone_status_t status; /* the first error; owned by whoever made the builder */
  /* Set by hone_defer: cannot be built before the shapes or values are known. */
  const char* deferred;
} hone_builder_t;

/* ---- errors ---- */

/* Notes an error unless there is one; NULL, so that it can be returned. */
hone_value_t* hone_fail(hone_builder_t* b, hone_code_t code, const char* format, ...)
    HONE_PRINTF(3, 4);
/* Notes a status (consumed). */
hone_value_t* hone_fail_status(hone_builder_t* b, hone_status_t status);
/* Says that this can be built only once the sizes (or contents) that are now
 * symbols are numbers. Not an error: the model's node is then kept whole and
 * lowered when it runs. `reason` is static text. */
hone_value_t* hone_defer(hone_builder_t* b, const char* reason);
/* True while neither an error nor a deferral has been noted. */
bool hone_builder_ok(const hone_builder_t* b);

/* Appends `node` (its lists may be on the stack) after resolving captures and
 * inferring types; all primitives but control go through here. Gives the first
 * output. */
hone_value_t* hone_emit(hone_builder_t* b, const hone_node_t* node);
/* The same with given types, for `input` and control primitives; gives the
 * node, or NULL. */
hone_node_t* hone_emit_typed(hone_builder_t* b, const hone_node_t* node,
                             const hone_type_t* output_types);
/* `value` as it is seen from b's graph: itself, or the parameter that captures it. */
hone_value_t* hone_resolve(hone_builder_t* b, hone_value_t* value);

/* ---- looking at values ---- */

/* True for a tensor of known dtype and rank; otherwise (and for NULL) a
 * deferral is noted. */
bool hone_is_known(hone_builder_t* b, const hone_value_t* x);

/* Valid values only (not NULL) with known type. */
int hone_rank(const hone_value_t* v);
hone_dtype_t hone_dtype_of(const hone_value_t* v);
/* Extent along `axis` (may be negative). */
hone_dim_t hone_dim(const hone_value_t* v, int axis);
hone_dim_t hone_elements(hone_builder_t* b, const hone_value_t* v);
/* The constant that v is, borrowed; NULL when it is none. Numbers known
 * through `content` become one. */
const hone_tensor_t* hone_known_tensor(hone_builder_t* b, hone_value_t* v);
/* The elements of an integer tensor of known length as dimension expressions:
 * its content where known, otherwise symbols that are bound when v has been
 * produced. NULL (noted as deferral) when the length itself is not known. */
const hone_dim_t* hone_known_dims(hone_builder_t* b, hone_value_t* v, int* out_count);
/* 0 <= result < rank, or an error noted and 0. */
int hone_axis(hone_builder_t* b, int64_t axis, int rank);

/* ---- sources ---- */

/* Copies the extents of `type`. */
hone_value_t* hone_input(hone_builder_t* b, const char* name, const hone_type_t* type);
/* Takes over the caller's reference, also when it fails. */
hone_value_t* hone_constant(hone_builder_t* b, hone_tensor_t* tensor);
/* Copies `data`. */
hone_value_t* hone_constant_data(hone_builder_t* b, hone_dtype_t dtype, int rank,
                                 const int64_t* dims, const void* data);
/* A scalar of any numeric dtype, rounded to it. */
hone_value_t* hone_scalar(hone_builder_t* b, hone_dtype_t dtype, double value);
hone_value_t* hone_scalar_i64(hone_builder_t* b, hone_dtype_t dtype, int64_t value);
hone_value_t* hone_list_i64(hone_builder_t* b, int count, const int64_t* values); /* 1-D */
/* A tensor of `shape` full of `value`. */
hone_value_t* hone_full(hone_builder_t* b, hone_dtype_t dtype, double value, int rank,
                        const hone_dim_t* shape);
hone_value_t* hone_iota(hone_builder_t* b, hone_dtype_t dtype, int rank, const hone_dim_t* shape,
                        int axis);
/* Expressions as a 1-D i64 tensor, or (count 1) as a scalar of `dtype`. */
hone_value_t* hone_dims_value(hone_builder_t* b, int count, const hone_dim_t* dims);
hone_value_t* hone_dim_scalar(hone_builder_t* b, hone_dtype_t dtype, hone_dim_t dim);
hone_value_t* hone_random(hone_builder_t* b, hone_dtype_t dtype, int rank, const hone_dim_t* shape,
                          int64_t seed, bool seeded);

/* ---- elementwise, with broadcasting ---- */

hone_value_t* hone_unary(hone_builder_t* b, hone_prim_t prim, hone_value_t* x);
hone_value_t* hone_binary(hone_builder_t* b, hone_prim_t prim, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_select(hone_builder_t* b, hone_value_t* condition, hone_value_t* x,
                          hone_value_t* y);
hone_value_t* hone_cast(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype);
hone_value_t* hone_cast_flags(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype,
                              int64_t flags);
hone_value_t* hone_bitcast(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype);
/* Broadcasts `count` values in place to their common shape. */
void hone_broadcast(hone_builder_t* b, int count, hone_value_t** values);

hone_value_t* hone_add(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_sub(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_mul(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_div(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_rem(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_pow(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_min(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_max(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_and(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_or(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_xor(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_eq(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_ne(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_lt(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_gt(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_le(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
hone_value_t* hone_ge(hone_builder_t* b, hone_value_t* x, hone_value_t* y);
/* With a number of x's dtype on the right. */
hone_value_t* hone_add_number(hone_builder_t* b, hone_value_t* x, double y);
hone_value_t* hone_mul_number(hone_builder_t* b, hone_value_t* x, double y);
hone_value_t* hone_div_number(hone_builder_t* b, hone_value_t* x, double y);
hone_value_t* hone_min_number(hone_builder_t* b, hone_value_t* x, double y);
hone_value_t* hone_max_number(hone_builder_t* b, hone_value_t* x, double y);
hone_value_t* hone_lt_number(hone_builder_t* b, hone_value_t* x, double y);
hone_value_t* hone_gt_number(hone_builder_t* b, hone_value_t* x, double y);
hone_value_t* hone_eq_number(hone_builder_t* b, hone_value_t* x, double y);

hone_value_t* hone_neg(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_abs(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_exp(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_log(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_sqrt(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_tanh(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_floor(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_round(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_ceil(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_trunc(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_reciprocal(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_sigmoid(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_square(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_not(hone_builder_t* b, hone_value_t* x);    /* bool, or all bits */
hone_value_t* hone_is_nan(hone_builder_t* b, hone_value_t* x); /* bool */

/* ---- movement ---- */

hone_value_t* hone_reshape(hone_builder_t* b, hone_value_t* x, int rank, const hone_dim_t* shape);
hone_value_t* hone_reshape_like(hone_builder_t* b, hone_value_t* x, const hone_value_t* like);
hone_value_t* hone_permute(hone_builder_t* b, hone_value_t* x, const int64_t* axes);
/* Swaps the last two axes. */
hone_value_t* hone_transpose(hone_builder_t* b, hone_value_t* x);
/* Axis `from` becomes axis `to`, the others keep their order. */
hone_value_t* hone_move_axis(hone_builder_t* b, hone_value_t* x, int from, int to);
/* Broadcast to `shape`; missing axes are added in front. */
hone_value_t* hone_expand(hone_builder_t* b, hone_value_t* x, int rank, const hone_dim_t* shape);
/* lo, hi and step have rank entries; `step` NULL is all 1. */
hone_value_t* hone_slice(hone_builder_t* b, hone_value_t* x, const hone_dim_t* lo,
                         const hone_dim_t* hi, const hone_dim_t* step);
hone_value_t* hone_slice_axis(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t lo,
                              hone_dim_t hi);
/* Element `index` along `axis`, which vanishes. */
hone_value_t* hone_pick(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t index);
/* `value`: a scalar of x's dtype; NULL is zero. */
hone_value_t* hone_pad(hone_builder_t* b, hone_value_t* x, const hone_dim_t* lo,
                       const hone_dim_t* hi, hone_value_t* value);
hone_value_t* hone_flip(hone_builder_t* b, hone_value_t* x, int axis);
hone_value_t* hone_concat(hone_builder_t* b, int count, hone_value_t* const* parts, int axis);
/* One entry of sizes, strides, dilations for each of the `count` axes. */
hone_value_t* hone_window(hone_builder_t* b, hone_value_t* x, int count, const int64_t* axes,
                          const hone_dim_t* sizes, const hone_dim_t* strides,
                          const hone_dim_t* dilations);
/* A new axis of extent 1 at `axis` of the result. */
hone_value_t* hone_unsqueeze(hone_builder_t* b, hone_value_t* x, int axis);
hone_value_t* hone_squeeze(hone_builder_t* b, hone_value_t* x, int axis);
/* To two axes: those before `axis` and the rest. */
hone_value_t* hone_flatten(hone_builder_t* b, hone_value_t* x, int axis);
hone_value_t* hone_ravel(hone_builder_t* b, hone_value_t* x); /* to 1-D */

/* ---- whole-tensor ---- */

hone_value_t* hone_reduce(hone_builder_t* b, hone_combine_t combine, hone_value_t* x, int n_axes,
                          const int64_t* axes, bool keep_dims);
/* Over the last `count` axes. */
hone_value_t* hone_reduce_last(hone_builder_t* b, hone_combine_t combine, hone_value_t* x,
                               int count, bool keep_dims);
/* Pairs as in ir/prim.h; `dtype` HONE_UNKNOWN is that of x. */
hone_value_t* hone_contract(hone_builder_t* b, hone_value_t* x, hone_value_t* y, int n_pairs,
                            const int64_t (*pairs)[2], int n_batch, hone_dtype_t dtype);
/* NumPy's matmul (1-D operands and broadcast batches included). */
hone_value_t* hone_matmul(hone_builder_t* b, hone_value_t* x, hone_value_t* y, hone_dtype_t dtype);
hone_value_t* hone_gather(hone_builder_t* b, hone_value_t* x, hone_value_t* index);
/* NumPy's take along `axis`: index.shape replaces that axis. Negative indices
 * count from the end. */
hone_value_t* hone_take(hone_builder_t* b, hone_value_t* x, hone_value_t* index, int axis);
/* NumPy's take_along_axis (equal ranks): ONNX GatherElements. */
hone_value_t* hone_take_along(hone_builder_t* b, hone_value_t* x, hone_value_t* index, int axis);
/* The same, of indices that are not negative. */
hone_value_t* hone_take_from_front(hone_builder_t* b, hone_value_t* x, hone_value_t* index,
                                   int axis);
/* i < 0 ? i + extent : i */
hone_value_t* hone_wrap_index(hone_builder_t* b, hone_value_t* index, hone_dim_t extent);
hone_value_t* hone_scatter(hone_builder_t* b, hone_combine_t combine, hone_value_t* x,
                           hone_value_t* index, hone_value_t* updates);
/* NumPy's put_along_axis with a way to combine: ONNX ScatterElements. */
hone_value_t* hone_scatter_along(hone_builder_t* b, hone_combine_t combine, hone_value_t* x,
                                 hone_value_t* index, hone_value_t* updates, int axis);
hone_value_t* hone_scan(hone_builder_t* b, hone_combine_t combine, hone_value_t* x, int axis,
                        bool exclusive);
/* The first `count` of all in order. `out_index` may be NULL; i64. */
hone_value_t* hone_sort(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t count,
                        bool descending, hone_value_t** out_index);
/* i64 index of the largest (smallest) along `axis`; of equals the first, or the last. */
hone_value_t* hone_arg_max(hone_builder_t* b, hone_value_t* x, int axis, bool smallest, bool last,
                           bool keep_dims);
hone_value_t* hone_softmax(hone_builder_t* b, hone_value_t* x, int axis);
hone_value_t* hone_mean(hone_builder_t* b, hone_value_t* x, int n_axes, const int64_t* axes,
                        bool keep_dims);

/* ---- control ---- */

/* Opens a region in b's graph; build it through `body`, then close it with
 * hone_if or hone_loop_close. Values of enclosing graphs may be used freely inside:
 * they are captured. */
void hone_region_open(hone_builder_t* b, const char* name, hone_builder_t* body);
/* A parameter of the region; must come before any capture. */
hone_value_t* hone_param(hone_builder_t* body, const hone_type_t* type);
/* The type that covers both `x` and `y`, as it is seen from outside of a region
 * whose own symbols begin with first_symbol: extents that differ, or exist only
 * inside, are -1; a rank that differs is -1; of kinds that differ nothing is known. */
hone_type_t hone_type_cover(hone_builder_t* b, const hone_type_t* x, const hone_type_t* y,
                            int first_symbol);
/* Ends two regions with the same number of outputs; `outputs` gets n_outputs
 * results. Errors of the bodies are handed on to b. */
void hone_if(hone_builder_t* b, hone_value_t* condition, hone_builder_t* then_body,
             hone_value_t* const* then_outputs, hone_builder_t* else_body,
             hone_value_t* const* else_outputs, int n_outputs, hone_value_t** outputs);
/* A loop. Before using the body, declare its parameters with hone_loop_open:
 * `round` is the i64 round number, carried[i] the carried values, typed as
 * `types` says; an extent of -1 there may change from round to round, and so
 * may anything that the type leaves open. */
void hone_loop_open(hone_builder_t* b, const char* name, int n_carried, const hone_type_t* types,
                    hone_builder_t* body, hone_value_t** out_round, hone_value_t** out_carried);
/* `trip_count` NULL: no bound; `condition` NULL: true; `next_condition` NULL:
 * true. `outputs` gets n_carried + n_stacked results. */
void hone_loop_close(hone_builder_t* b, hone_builder_t* body, hone_value_t* trip_count,
                     hone_value_t* condition, int n_carried, hone_value_t* const* initial,
                     hone_value_t* next_condition, hone_value_t* const* next, int n_stacked,
                     hone_value_t* const* stacked, hone_value_t** outputs);

/* A call of that label. Its region takes captures only, and what would bind a
 * symbol there is an error. outputs[i] gets what results[i] is seen as from
 * outside: an output of the call, or, where it was not made inside, itself. */
void hone_call_open(hone_builder_t* b, const char* label, hone_builder_t* body);
void hone_call_close(hone_builder_t* b, hone_builder_t* body, int count,
                     hone_value_t* const* results, hone_value_t** outputs);

/* For results that only a run can size: `type` with extents that are -1, or not
 * given at all, made fresh symbols; and, once the value is there, the binding of
 * its symbols from first_symbol on to its extents. */
hone_type_t hone_fresh_extents(hone_builder_t* b, const hone_type_t* type);
void hone_bind_extents(hone_builder_t* b, hone_value_t* value, int first_symbol);

/* ---- arithmetic on dimensions, short ---- */

static inline hone_dim_t hone_d(int64_t k) { return hone_dim_int(k); }
hone_dim_t hone_d_add(hone_builder_t* b, hone_dim_t x, hone_dim_t y);
hone_dim_t hone_d_sub(hone_builder_t* b, hone_dim_t x, hone_dim_t y);
hone_dim_t hone_d_mul(hone_builder_t* b, hone_dim_t x, hone_dim_t y);
hone_dim_t hone_d_floordiv(hone_builder_t* b, hone_dim_t x, hone_dim_t y);
hone_dim_t hone_d_ceildiv(hone_builder_t* b, hone_dim_t x, hone_dim_t y);
hone_dim_t hone_d_min(hone_builder_t* b, hone_dim_t x, hone_dim_t y);
hone_dim_t hone_d_max(hone_builder_t* b, hone_dim_t x, hone_dim_t y);
/* A fresh symbol for an extent of `value`, bound when that has been produced. */
hone_dim_t hone_d_result(hone_builder_t* b, int64_t min, int64_t max);
/* An integer scalar of the graph as an expression: its content where known,
 * else a fresh symbol of that range, bound when the value has been produced. */
hone_dim_t hone_d_scalar(hone_builder_t* b, hone_value_t* value, int64_t min, int64_t max);

#endif
