/* LRN: x / (bias + alpha / size * sum of squares over `size` channels around)^beta. */
#include "ops/common/formulas.h"

/* Sums of squares over windows of `size` along axis 1, as many as channels. */
static hone_value_t* windowed_squares(hone_builder_t* b, hone_value_t* x, int64_t size) {
  if (!x) return NULL;
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(x); i++) lo[i] = hi[i] = hone_d(0);
  lo[1] = hone_d((size - 1) / 2);
  hi[1] = hone_d(size - 1 - (size - 1) / 2);
  hone_value_t* padded = hone_pad(b, hone_square(b, x), lo, hi, NULL);
  int64_t axis = 1;
  hone_dim_t extent = hone_d(size), one = hone_d(1);
  hone_value_t* windows = hone_window(b, padded, 1, &axis, &extent, &one, &one);
  return hone_reduce_last(b, HONE_COMBINE_ADD, windows, 1, false);
}

static void lower_lrn(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int64_t size = hone_attr_int(l->node, "size", 0);
  if (size < 1 || hone_rank(x) < 2) {
    hone_op_fail(l, "size is %lld and the input's rank %d; needs at least 1 and 2", (long long)size,
                 hone_rank(x));
    return;
  }
  hone_value_t* wide = hone_widen(b, x);
  double alpha = hone_attr_float(l->node, "alpha", 0.0001f) / (double)size;
  hone_value_t* sum = hone_mul_number(b, windowed_squares(b, wide, size), alpha);
  hone_value_t* base = hone_add_number(b, sum, hone_attr_float(l->node, "bias", 1));
  if (!base) return;
  double beta = hone_attr_float(l->node, "beta", 0.75);
  hone_value_t* divisor = hone_pow(b, base, hone_scalar(b, hone_dtype_of(base), beta));
  hone_op_out(l, 0, hone_cast(b, hone_div(b, wide, divisor), hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "LRN",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "alpha beta bias size",
     .lower = lower_lrn},
};
HONE_OP_FAMILY(lrn, ops)
