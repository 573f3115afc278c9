/* Elementwise functions of any number of operands: Max, Min, Sum, Mean. */
#include "ops/common/formulas.h"

/* All inputs combined, from the left. */
static hone_value_t* fold(hone_lower_t* l, hone_prim_t prim) {
  hone_value_t* total = hone_op_in(l, 0);
  for (int i = 1; i < l->n_inputs; i++) total = hone_binary(l->b, prim, total, hone_op_in(l, i));
  return total;
}

static void lower_fold(hone_lower_t* l) { hone_op_out(l, 0, fold(l, (hone_prim_t)l->op->data)); }

/* Narrow floats are summed in f32. */
static void lower_sum(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* first = hone_op_in(l, 0);
  hone_value_t* total = hone_widen(b, first);
  for (int i = 1; i < l->n_inputs; i++) total = hone_add(b, total, hone_widen(b, hone_op_in(l, i)));
  if (l->op->data && l->n_inputs > 1) total = hone_div_number(b, total, l->n_inputs);
  if (first) hone_op_out(l, 0, hone_cast(b, total, hone_dtype_of(first)));
}

#define ROW(op_name, fn, number)                                          \
  {                                                                       \
    .name = (op_name), .min_opset = 1, .min_inputs = 1, .max_inputs = -1, \
    .attrs = "consumed_inputs", .data = (number), .lower = (fn)           \
  }

static const hone_op_t ops[] = {
    ROW("Max", lower_fold, HONE_PRIM_MAX),
    ROW("Mean", lower_sum, 1),
    ROW("Min", lower_fold, HONE_PRIM_MIN),
    ROW("Sum", lower_sum, 0),
};
HONE_OP_FAMILY(variadic_math, ops)
