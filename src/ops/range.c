/* Range: start, start + delta, … below limit. How many that are is an extent:
 * an expression for integers, computed in double for floats. */
#include <math.h>

#include "ops/op.h"

static hone_dim_t integer_count(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_dim_t ends[3];
  for (int i = 0; i < 3; i++)
    ends[i] = hone_d_scalar(b, l->inputs[i], INT64_MIN / 4, INT64_MAX / 4);
  if (hone_dim_is(ends[2], 0)) {
    hone_op_fail(l, "delta is 0");
    return hone_d(0);
  }
  hone_dim_t span = hone_d_sub(b, ends[1], ends[0]);
  return hone_d_max(b, hone_d_ceildiv(b, span, ends[2]), hone_d(0));
}

/* The count as a number where all three inputs are constants; -1 otherwise. */
static int64_t known_count(hone_lower_t* l) {
  double ends[3];
  for (int i = 0; i < 3; i++) {
    const hone_tensor_t* tensor = hone_known_tensor(l->b, l->inputs[i]);
    if (!tensor || hone_tensor_count(tensor) != 1) return -1;
    ends[i] = hone_tensor_f64(tensor, 0);
  }
  double count = ceil((ends[1] - ends[0]) / ends[2]);
  if (count >= 0 && count < (double)INT32_MAX) return (int64_t)count;
  if (count < 0) return 0;
  hone_op_fail(l, "from %g to %g in steps of %g has no end", ends[0], ends[1], ends[2]);
  return 0;
}

static hone_dim_t float_count(hone_lower_t* l, hone_value_t* const* in) {
  hone_builder_t* b = l->b;
  int64_t known = known_count(l);
  if (known >= 0) return hone_d(known);
  hone_value_t* wide[3];
  for (int i = 0; i < 3; i++) wide[i] = hone_cast(b, in[i], HONE_F64);
  hone_value_t* count = hone_ceil(b, hone_div(b, hone_sub(b, wide[1], wide[0]), wide[2]));
  count = hone_cast(b, hone_max_number(b, count, 0), HONE_I64);
  return hone_d_scalar(b, count, 0, INT32_MAX);
}

static void lower_range(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_dtype_t dtype = hone_dtype_of(hone_op_in(l, 0));
  bool narrow = dtype == HONE_F16 || dtype == HONE_BF16;
  hone_value_t* in[3];
  for (int i = 0; i < 3; i++) {
    in[i] = hone_reshape(b, hone_op_in(l, i), 0, NULL);
    if (narrow && hone_attr_int(l->node, "stash_type", 1) == 1)
      in[i] = hone_cast(b, in[i], HONE_F32);
    if (!in[i]) return;
  }
  hone_dim_t count = hone_dtype_is_float(dtype) ? float_count(l, in) : integer_count(l);
  if (!hone_builder_ok(b)) return;
  hone_value_t* steps = hone_iota(b, hone_dtype_of(in[0]), 1, &count, 0);
  hone_op_out(l, 0, hone_cast(b, hone_add(b, in[0], hone_mul(b, steps, in[2])), dtype));
}

static const hone_op_t ops[] = {
    {.name = "Range",
     .min_opset = 11,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "stash_type",
     .lower = lower_range},
};
HONE_OP_FAMILY(range, ops)
