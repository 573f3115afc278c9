/* AveragePool and LpPool: reductions of windows. MaxPool is in max_pool.c. */
#include <math.h>

#include "ops/common/sliding.h"

/* Half floats are summed in f32. */
static hone_value_t* widen(hone_builder_t* b, hone_value_t* x) {
  return hone_cast(b, x, hone_dtype_of(x) == HONE_F64 ? HONE_F64 : HONE_F32);
}

/* ---- AveragePool ---- */

static bool any_nonzero(int n, const hone_dim_t* list) {
  for (int i = 0; i < n; i++)
    if (!hone_dim_is(list[i], 0)) return true;
  return false;
}

/* How many elements of spatial axis `i` each window along it holds. */
static hone_value_t* axis_counts(hone_builder_t* b, const hone_sliding_t* s, int i,
                                 const hone_value_t* x, bool with_pads) {
  hone_dim_t extent = hone_dim(x, 2 + i), lo = s->lo[i], hi = hone_d_add(b, s->hi[i], s->extra[i]);
  if (with_pads) {
    extent = hone_d_add(b, extent, hone_d_add(b, s->lo[i], s->hi[i]));
    lo = hone_d(0);
    hi = s->extra[i];
  }
  hone_value_t* ones = hone_full(b, hone_dtype_of(x), 1, 1, &extent);
  hone_value_t* windows = hone_window(b, hone_pad(b, ones, &lo, &hi, NULL), 1, &(int64_t){0},
                                      &s->size[i], &s->stride[i], &s->dilation[i]);
  hone_value_t* counts = hone_reduce_last(b, HONE_COMBINE_ADD, windows, 1, false);
  if (!counts) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int k = 0; k < s->n; k++) shape[k] = hone_d(1);
  shape[i] = hone_dim(counts, 0);
  return hone_reshape(b, counts, s->n, shape);
}

/* By what the sums are divided: one number where all windows are full. */
static hone_value_t* window_counts(hone_builder_t* b, const hone_sliding_t* s,
                                   const hone_value_t* x, bool with_pads) {
  bool partial = any_nonzero(s->n, s->extra) ||
                 (!with_pads && (any_nonzero(s->n, s->lo) || any_nonzero(s->n, s->hi)));
  if (!partial)
    return hone_dim_scalar(b, hone_dtype_of(x), hone_dim_product(b->graph->dims, s->n, s->size));
  hone_value_t* counts = axis_counts(b, s, 0, x, with_pads);
  for (int i = 1; i < s->n; i++) counts = hone_mul(b, counts, axis_counts(b, s, i, x, with_pads));
  return hone_max_number(b, counts, 1); /* windows on nothing but pads: 0 */
}

static void lower_average_pool(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_sliding_t s;
  if (!hone_sliding_read(l, x, NULL, &s)) return;
  hone_value_t* wide = widen(b, x);
  if (!wide) return;
  hone_value_t* sums =
      hone_reduce_last(b, HONE_COMBINE_ADD, hone_sliding_view(b, &s, wide, NULL), s.n, false);
  bool with_pads = hone_attr_int(l->node, "count_include_pad", 0) != 0;
  hone_value_t* means = hone_div(b, sums, window_counts(b, &s, wide, with_pads));
  hone_op_out(l, 0, hone_cast(b, means, hone_dtype_of(x)));
}

/* ---- Lp ---- */

/* |x|^p, and (LAST) the p-th root of a sum of such. */
static hone_value_t* power(hone_builder_t* b, hone_value_t* x, double p) {
  if (p == 1) return hone_abs(b, x);
  if (p == 2) return hone_square(b, x);
  return x ? hone_pow(b, hone_abs(b, x), hone_scalar(b, hone_dtype_of(x), p)) : NULL;
}

static hone_value_t* root(hone_builder_t* b, hone_value_t* sum, double p) {
  if (p == 1) return sum;
  if (p == 2) return hone_sqrt(b, sum);
  return sum ? hone_pow(b, sum, hone_scalar(b, hone_dtype_of(sum), 1 / p)) : NULL;
}

/* `p` was a float in opset 1 and is an int since; 0 after an error. */
static double read_p(hone_lower_t* l) {
  double p =
      l->opset < 2 ? hone_attr_float(l->node, "p", 2) : (double)hone_attr_int(l->node, "p", 2);
  if (p > 0 && isfinite(p)) return p;
  hone_op_fail(l, "p is %g; it must be positive", p);
  return 0;
}

static void lower_lp_pool(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  double p = read_p(l);
  hone_sliding_t s;
  if (p == 0 || !hone_sliding_read(l, x, NULL, &s)) return;
  hone_value_t* powers = hone_sliding_view(b, &s, power(b, widen(b, x), p), NULL);
  hone_value_t* sums = hone_reduce_last(b, HONE_COMBINE_ADD, powers, s.n, false);
  hone_op_out(l, 0, hone_cast(b, root(b, sums, p), hone_dtype_of(x)));
}

/* ---- over all of the spatial axes ---- */

static int spatial_count(hone_lower_t* l) {
  int rank = hone_rank(hone_op_in(l, 0));
  if (rank < 2) hone_op_fail(l, "the input has rank %d; it must have batch and channels", rank);
  return rank - 2;
}

static void lower_global_average_pool(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int64_t axes[HONE_MAX_RANK];
  int n = spatial_count(l);
  for (int i = 0; i < n; i++) axes[i] = 2 + i;
  hone_op_out(l, 0, hone_cast(b, hone_mean(b, widen(b, x), n, axes, true), hone_dtype_of(x)));
}

static void lower_global_max_pool(hone_lower_t* l) {
  int n = spatial_count(l);
  hone_op_out(l, 0, hone_reduce_last(l->b, HONE_COMBINE_MAX, hone_op_in(l, 0), n, true));
}

static void lower_global_lp_pool(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int n = spatial_count(l);
  double p = read_p(l);
  if (p == 0) return;
  hone_value_t* sums = hone_reduce_last(b, HONE_COMBINE_ADD, power(b, widen(b, x), p), n, true);
  hone_op_out(l, 0, hone_cast(b, root(b, sums, p), hone_dtype_of(x)));
}

#define WINDOW_ATTRS "auto_pad ceil_mode dilations kernel_shape pads strides"

static const hone_op_t ops[] = {
    {.name = "AveragePool",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = WINDOW_ATTRS " count_include_pad",
     .lower = lower_average_pool},
    {.name = "LpPool",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = WINDOW_ATTRS " p",
     .lower = lower_lp_pool},
    {.name = "GlobalAveragePool",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .lower = lower_global_average_pool},
    {.name = "GlobalMaxPool",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .lower = lower_global_max_pool},
    {.name = "GlobalLpPool",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "p",
     .lower = lower_global_lp_pool},
};
HONE_OP_FAMILY(pool, ops)
