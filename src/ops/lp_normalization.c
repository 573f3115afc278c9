/* LpNormalization: divided by the sum of absolute values, or the root of the
 * sum of squares, along an axis; zero where that is zero. */
#include "ops/common/formulas.h"

static void lower_lp_normalization(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int64_t p = hone_attr_int(l->node, "p", 2);
  if (p != 1 && p != 2) {
    hone_op_fail(l, "attribute p is %lld; it must be 1 or 2", (long long)p);
    return;
  }
  int64_t axes[1] = {hone_axis(b, hone_attr_int(l->node, "axis", -1), hone_rank(x))};
  hone_value_t* wide = hone_widen(b, x);
  hone_value_t* part = p == 1 ? hone_abs(b, wide) : hone_square(b, wide);
  hone_value_t* norm = hone_reduce(b, HONE_COMBINE_ADD, part, 1, axes, true);
  if (p == 2) norm = hone_sqrt(b, norm);
  if (!norm) return;
  hone_value_t* zero = hone_eq_number(b, norm, 0);
  norm = hone_select(b, zero, hone_scalar(b, hone_dtype_of(norm), 1), norm);
  hone_op_out(l, 0, hone_cast(b, hone_div(b, wide, norm), hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "LpNormalization",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis p",
     .lower = lower_lp_normalization},
};
HONE_OP_FAMILY(lp_normalization, ops)
