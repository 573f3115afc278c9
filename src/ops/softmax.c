/* Softmax, LogSoftmax and Hardmax. Before opset 13 the tensor is taken as a
 * matrix: the axes from `axis` on are one. */
#include "ops/common/formulas.h"

/* 1 at the first of the largest elements, 0 elsewhere. */
static hone_value_t* hard_max(hone_builder_t* b, hone_value_t* x, int axis) {
  hone_value_t* best = hone_arg_max(b, x, axis, false, false, true);
  hone_value_t* index = hone_iota(b, HONE_I64, hone_rank(x), x->type.dims, axis);
  return hone_cast(b, hone_eq(b, index, best), hone_dtype_of(x));
}

typedef hone_value_t* (*softmax_fn)(hone_builder_t* b, hone_value_t* x, int axis);
typedef enum kind { SOFT, LOG_SOFT, HARD } kind_t;
static const softmax_fn functions[] = {
    [SOFT] = hone_softmax,
    [LOG_SOFT] = hone_log_softmax,
    [HARD] = hard_max,
};

static void lower_softmax(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* wide = hone_widen(b, x);
  bool as_matrix = l->opset < 13;
  int64_t axis = hone_attr_int(l->node, "axis", as_matrix ? 1 : -1);
  /* In the matrix form all axes may be in front, the second extent is then 1. */
  int at = as_matrix && axis == hone_rank(x) ? hone_rank(x) : hone_axis(b, axis, hone_rank(x));
  if (as_matrix) wide = hone_flatten(b, wide, at);
  if (!wide) return;
  hone_value_t* y = functions[l->op->data](b, wide, as_matrix ? 1 : at);
  hone_op_out(l, 0, hone_cast(b, hone_reshape_like(b, y, x), hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "Softmax",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis",
     .data = SOFT,
     .lower = lower_softmax},
    {.name = "LogSoftmax",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis",
     .data = LOG_SOFT,
     .lower = lower_softmax},
    {.name = "Hardmax",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis",
     .data = HARD,
     .lower = lower_softmax},
};
HONE_OP_FAMILY(softmax, ops)
