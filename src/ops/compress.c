/* Compress: the entries of an axis (or of the flat tensor) whose flag is set. */
#include "ops/common/indexing.h"

static void lower_compress(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *flags = hone_op_in(l, 1);
  if (hone_rank(flags) != 1 || hone_dtype_of(flags) != HONE_BOOL) {
    hone_op_fail(l, "condition must be a list of bools");
    return;
  }
  if (!hone_attr_has(l->node, "axis")) x = hone_ravel(b, x);
  if (!x) return;
  int axis = hone_axis(b, hone_attr_int(l->node, "axis", 0), hone_rank(x));
  hone_op_out(l, 0, hone_take(b, x, hone_true_positions(b, flags), axis));
}

static const hone_op_t ops[] = {
    {.name = "Compress",
     .min_opset = 9,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "axis",
     .lower = lower_compress},
};
HONE_OP_FAMILY(compress, ops)
