/* Multinomial: draws classes by unnormalized log-probabilities. A uniform
 * number picks the first class whose cumulative probability is above it. */
#include "ops/common/formulas.h"

static void lower_multinomial(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_dtype_t dtype = hone_op_dtype_attr(l, "dtype", HONE_I32);
  hone_dim_t samples = hone_d(hone_attr_int(l->node, "sample_size", 1));
  if (hone_rank(x) != 2) {
    hone_op_fail(l, "the input has rank %d; it must be (batch, classes)", hone_rank(x));
    return;
  }
  hone_dim_t batch = hone_dim(x, 0), classes = hone_dim(x, 1);
  hone_value_t* p = hone_softmax(b, hone_widen(b, x), 1);
  hone_value_t* below = hone_scan(b, HONE_COMBINE_ADD, p, 1, false);
  hone_value_t* draw = hone_op_uniform(l, hone_dtype_of(x), 2, (hone_dim_t[]){batch, samples}, 0);
  /* How many cumulative probabilities do not exceed the draw. */
  hone_value_t* passed = hone_le(b, hone_unsqueeze(b, below, 1), hone_unsqueeze(b, draw, 2));
  hone_value_t* index =
      hone_reduce_last(b, HONE_COMBINE_ADD, hone_cast(b, passed, HONE_I64), 1, false);
  hone_value_t* last = hone_dim_scalar(b, HONE_I64, hone_d_sub(b, classes, hone_d(1)));
  hone_op_out(l, 0, hone_cast(b, hone_min(b, index, last), dtype));
}

static const hone_op_t ops[] = {
    {.name = "Multinomial",
     .min_opset = 7,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "dtype sample_size seed",
     .lower = lower_multinomial},
};
HONE_OP_FAMILY(multinomial, ops)
