/* Split: consecutive parts along an axis, of given sizes or of equal ones. */
#include "ops/op.h"

/* The size of every part but the last when no sizes are given. */
static hone_dim_t equal_size(hone_lower_t* l, hone_dim_t extent, int64_t parts) {
  hone_dim_t n = hone_d(parts);
  if (l->opset >= 18) return hone_d_ceildiv(l->b, extent, n);
  if (hone_dim_is_int(extent) && extent.k % parts != 0)
    hone_op_fail(l, "%lld elements do not split into %lld equal parts", (long long)extent.k,
                 (long long)parts);
  return hone_d_floordiv(l->b, extent, n);
}

static void split_equally(hone_lower_t* l, int axis) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_dim_t extent = hone_dim(x, axis);
  int64_t parts = hone_attr_int(l->node, "num_outputs", l->n_outputs);
  if (parts < 1 || parts < l->n_outputs) {
    hone_op_fail(l, "num_outputs is %lld but the node has %d outputs", (long long)parts,
                 l->n_outputs);
    return;
  }
  hone_dim_t size = equal_size(l, extent, parts);
  for (int i = 0; i < l->n_outputs; i++) {
    hone_dim_t lo = hone_d_mul(b, size, hone_d(i)), hi = hone_d_add(b, lo, size);
    if (l->opset >= 18) {
      lo = hone_d_min(b, lo, extent);
      hi = hone_d_min(b, hi, extent);
    }
    hone_op_out(l, i, hone_slice_axis(b, x, axis, lo, hi));
  }
}

/* Sizes as opset 1 may give them: in a float tensor. */
static const hone_dim_t* float_sizes(hone_lower_t* l, int* out_count) {
  hone_value_t* sizes = hone_cast(l->b, hone_op_in(l, 1), HONE_I64);
  return hone_known_dims(l->b, sizes, out_count);
}

static void lower_split(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int axis = hone_axis(b, hone_attr_int(l->node, "axis", 0), hone_rank(x)), count;
  if (!hone_builder_ok(b)) return;
  hone_value_t* given = hone_op_in(l, 1);
  bool floats = given && hone_dtype_is_float(hone_dtype_of(given));
  const hone_dim_t* sizes = floats ? float_sizes(l, &count) : hone_op_list(l, "split", 1, &count);
  if (!hone_builder_ok(b)) return;
  if (!sizes) {
    split_equally(l, axis);
    return;
  }
  if (count < l->n_outputs) {
    hone_op_fail(l, "%d sizes for %d outputs", count, l->n_outputs);
    return;
  }
  hone_dim_t lo = hone_d(0);
  for (int i = 0; i < count; i++) {
    hone_dim_t hi = hone_d_add(b, lo, sizes[i]);
    hone_op_out(l, i, hone_slice_axis(b, x, axis, lo, hi));
    lo = hi;
  }
  if (hone_dim_is_int(lo) && hone_dim_is_int(hone_dim(x, axis)) && lo.k != hone_dim(x, axis).k)
    hone_op_fail(l, "the sizes add up to %lld, the axis has %lld elements", (long long)lo.k,
                 (long long)hone_dim(x, axis).k);
}

static const hone_op_t ops[] = {
    {.name = "Split",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 2,
     .attrs = "axis split num_outputs",
     .lower = lower_split},
};
HONE_OP_FAMILY(split, ops)
