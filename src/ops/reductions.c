/* Reductions over axes: Reduce*. The axes were an attribute before opset 18
 * (ReduceSum: 13), then an input. */
#include <math.h>

#include "ops/common/formulas.h"

typedef struct reduction {
  hone_lower_t* l;
  hone_value_t* x; /* in the type that is computed in */
  int n_axes;
  int64_t axes[HONE_MAX_RANK];
  bool keep_dims;
} reduction_t;

typedef hone_value_t* (*reduction_fn)(const reduction_t* r);

static hone_value_t* reduce(const reduction_t* r, hone_combine_t combine, hone_value_t* x) {
  return hone_reduce(r->l->b, combine, x, r->n_axes, r->axes, r->keep_dims);
}

static hone_value_t* sum(const reduction_t* r) { return reduce(r, HONE_COMBINE_ADD, r->x); }
static hone_value_t* prod(const reduction_t* r) { return reduce(r, HONE_COMBINE_MUL, r->x); }
static hone_value_t* max(const reduction_t* r) { return reduce(r, HONE_COMBINE_MAX, r->x); }
static hone_value_t* min(const reduction_t* r) { return reduce(r, HONE_COMBINE_MIN, r->x); }

static hone_value_t* mean(const reduction_t* r) {
  return hone_mean(r->l->b, r->x, r->n_axes, r->axes, r->keep_dims);
}

static hone_value_t* l1(const reduction_t* r) {
  return reduce(r, HONE_COMBINE_ADD, hone_abs(r->l->b, r->x));
}

static hone_value_t* sum_square(const reduction_t* r) {
  return reduce(r, HONE_COMBINE_ADD, hone_square(r->l->b, r->x));
}

static hone_value_t* l2(const reduction_t* r) { return hone_sqrt(r->l->b, sum_square(r)); }
static hone_value_t* log_sum(const reduction_t* r) { return hone_log(r->l->b, sum(r)); }

/* Around the largest element, so that no exponential overflows. An infinite
 * one is left in: the result is then infinite by itself. */
static hone_value_t* log_sum_exp(const reduction_t* r) {
  hone_builder_t* b = r->l->b;
  hone_value_t* top = hone_reduce(b, HONE_COMBINE_MAX, r->x, r->n_axes, r->axes, true);
  if (!top) return NULL;
  hone_value_t* infinite = hone_eq_number(b, hone_abs(b, top), (double)INFINITY);
  top = hone_select(b, infinite, hone_scalar(b, hone_dtype_of(top), 0), top);
  hone_value_t* total = reduce(r, HONE_COMBINE_ADD, hone_exp(b, hone_sub(b, r->x, top)));
  return hone_add(b, hone_log(b, total), hone_reshape_like(b, top, total));
}

/* What the numbers are computed in. */
typedef enum precision {
  OWN,  /* their own type */
  WIDE, /* floats in f32 or f64, 32-bit integers in 64 bits */
  REAL, /* in floating point, integers too */
} precision_t;

typedef enum kind {
  L1,
  L2,
  LOG_SUM,
  LOG_SUM_EXP,
  MAX,
  MEAN,
  MIN,
  PROD,
  SUM,
  SUM_SQUARE,
} kind_t;

static const struct {
  reduction_fn reduce;
  precision_t precision;
} reductions[] = {
    [L1] = {l1, WIDE},           [L2] = {l2, REAL},
    [LOG_SUM] = {log_sum, REAL}, [MAX] = {max, OWN},
    [MEAN] = {mean, WIDE},       [LOG_SUM_EXP] = {log_sum_exp, REAL},
    [MIN] = {min, OWN},          [PROD] = {prod, WIDE},
    [SUM] = {sum, WIDE},         [SUM_SQUARE] = {sum_square, WIDE},
};

static hone_value_t* to_precision(hone_builder_t* b, hone_value_t* x, precision_t precision) {
  hone_dtype_t dtype = hone_dtype_of(x);
  if (precision == OWN) return x;
  if (precision == REAL || hone_dtype_is_float(dtype)) return hone_widen(b, x);
  if (!hone_dtype_is_int(dtype) || hone_dtype_bits(dtype) > 32) return x;
  return hone_cast(b, x, HONE_I64);
}

static void add_axis(reduction_t* r, int64_t axis, int rank) {
  int at = hone_axis(r->l->b, axis, rank);
  for (int i = 0; i < r->n_axes; i++)
    if (r->axes[i] == at) return;
  if (r->n_axes < HONE_MAX_RANK) r->axes[r->n_axes++] = at;
}

/* From the input; they must be numbers, as they decide on the shape. */
static void axes_from_input(reduction_t* r, int rank) {
  int count;
  const hone_dim_t* axes = hone_op_known_dims(r->l, 1, &count);
  for (int i = 0; i < count; i++) {
    if (hone_dim_is_int(axes[i]))
      add_axis(r, axes[i].k, rank);
    else
      hone_defer(r->l->b, "the axes to reduce are computed by the model");
  }
}

static void find_axes(reduction_t* r, int rank) {
  int count;
  const int64_t* axes = hone_attr_ints(r->l->node, "axes", &count);
  for (int i = 0; i < count; i++) add_axis(r, axes[i], rank);
  if (hone_op_in(r->l, 1)) axes_from_input(r, rank);
  if (r->n_axes || hone_attr_int(r->l->node, "noop_with_empty_axes", 0)) return;
  for (int i = 0; i < rank; i++) add_axis(r, i, rank);
}

static void lower_reduction(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  reduction_t r = {.l = l, .keep_dims = hone_attr_int(l->node, "keepdims", 1) != 0};
  find_axes(&r, hone_rank(x));
  r.x = to_precision(b, x, reductions[l->op->data].precision);
  if (!hone_builder_ok(b)) return;
  hone_op_out(l, 0, hone_cast(b, reductions[l->op->data].reduce(&r), hone_dtype_of(x)));
}

#define ROWS(op_name, moved, number)                                                     \
  {.name = (op_name),                                                                    \
   .min_opset = 1,                                                                       \
   .max_opset = (moved)-1,                                                               \
   .min_inputs = 1,                                                                      \
   .max_inputs = 1,                                                                      \
   .attrs = "axes keepdims",                                                             \
   .data = (number),                                                                     \
   .lower = lower_reduction},                                                            \
  {                                                                                      \
    .name = (op_name), .min_opset = (moved), .min_inputs = 1, .max_inputs = 2,           \
    .attrs = "keepdims noop_with_empty_axes", .data = (number), .lower = lower_reduction \
  }

static const hone_op_t ops[] = {
    ROWS("ReduceL1", 18, L1),          ROWS("ReduceL2", 18, L2),
    ROWS("ReduceLogSum", 18, LOG_SUM), ROWS("ReduceLogSumExp", 18, LOG_SUM_EXP),
    ROWS("ReduceMax", 18, MAX),        ROWS("ReduceMean", 18, MEAN),
    ROWS("ReduceMin", 18, MIN),        ROWS("ReduceProd", 18, PROD),
    ROWS("ReduceSum", 13, SUM),        ROWS("ReduceSumSquare", 18, SUM_SQUARE),
};
HONE_OP_FAMILY(reductions, ops)
