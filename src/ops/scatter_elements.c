/* ScatterElements, called Scatter at first: single elements are replaced by
 * (or combined with) updates, at an index along one axis. */
#include "ops/common/indexing.h"

static void lower_scatter_elements(hone_lower_t* l) {
  hone_combine_t combine = hone_scatter_combine(l);
  if (!hone_builder_ok(l->b)) return;
  hone_value_t* x = hone_op_in(l, 0);
  int axis = hone_axis(l->b, hone_attr_int(l->node, "axis", 0), hone_rank(x));
  hone_value_t *index = hone_op_in(l, 1), *updates = hone_op_in(l, 2);
  hone_op_out(l, 0, hone_scatter_along(l->b, combine, x, index, updates, axis));
}

static const hone_op_t ops[] = {
    {.name = "ScatterElements",
     .min_opset = 11,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "axis reduction",
     .lower = lower_scatter_elements},
    {.name = "Scatter",
     .min_opset = 9,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "axis",
     .lower = lower_scatter_elements},
};
HONE_OP_FAMILY(scatter_elements, ops)
