/* CumSum and CumProd: running totals along an axis, which is an input. */
#include "ops/common/formulas.h"

static void lower_cumulative(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int count;
  const hone_dim_t* axis = hone_op_known_dims(l, 1, &count);
  if (!axis) return;
  if (count != 1) {
    hone_op_fail(l, "input axis has %d elements; it must have one", count);
    return;
  }
  if (!hone_dim_is_int(axis[0])) {
    hone_defer(b, "the axis is computed by the model");
    return;
  }
  int at = hone_axis(b, axis[0].k, hone_rank(x));
  bool exclusive = hone_attr_int(l->node, "exclusive", 0) != 0;
  bool reverse = hone_attr_int(l->node, "reverse", 0) != 0;
  hone_value_t* y = hone_dtype_is_float(hone_dtype_of(x)) ? hone_widen(b, x) : x;
  if (reverse) y = hone_flip(b, y, at);
  y = hone_scan(b, (hone_combine_t)l->op->data, y, at, exclusive);
  if (reverse) y = hone_flip(b, y, at);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "CumSum",
     .min_opset = 11,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "exclusive reverse",
     .data = HONE_COMBINE_ADD,
     .lower = lower_cumulative},
    {.name = "CumProd",
     .min_opset = 26,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "exclusive reverse",
     .data = HONE_COMBINE_MUL,
     .lower = lower_cumulative},
};
HONE_OP_FAMILY(cumulative, ops)
