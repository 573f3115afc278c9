/* TopK: the k largest (smallest) elements along an axis and where they are.
 * The sorted order also serves where any order would do. */
#include "ops/op.h"

/* The attribute of the first opset, or the input. */
static bool find_k(hone_lower_t* l, hone_dim_t* out_k) {
  int count = 1;
  *out_k = hone_d(hone_attr_int(l->node, "k", 0));
  if (l->opset < 10) return true;
  const hone_dim_t* input = hone_op_known_dims(l, 1, &count);
  if (!input) return false;
  if (count != 1) {
    hone_op_fail(l, "input K has %d elements; it must have one", count);
    return false;
  }
  *out_k = input[0];
  return true;
}

static void lower_top_k(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int axis = hone_axis(b, hone_attr_int(l->node, "axis", -1), hone_rank(x));
  hone_dim_t k;
  if (!find_k(l, &k) || !hone_builder_ok(b)) return;
  hone_dim_t extent = hone_dim(x, axis);
  if (hone_dim_max_value(k) < 0 || hone_dim_min_value(k) > hone_dim_max_value(extent)) {
    hone_op_fail(l, "K is %lld; axis %d has %lld elements", (long long)k.k, axis,
                 (long long)hone_dim_max_value(extent));
    return;
  }
  hone_value_t* index;
  bool is_largest = hone_attr_int(l->node, "largest", 1) != 0;
  hone_op_out(l, 0, hone_sort(b, x, axis, k, is_largest, &index));
  hone_op_out(l, 1, index);
}

static const hone_op_t ops[] = {
    {.name = "TopK",
     .min_opset = 1,
     .max_opset = 9,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis k",
     .lower = lower_top_k},
    {.name = "TopK",
     .min_opset = 10,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "axis largest sorted",
     .lower = lower_top_k},
};
HONE_OP_FAMILY(top_k, ops)
