/* Bernoulli: 1 with the probability that the input gives, else 0. */
#include "ops/common/formulas.h"

static void lower_bernoulli(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* p = hone_op_in(l, 0);
  hone_dtype_t dtype = hone_op_dtype_attr(l, "dtype", hone_dtype_of(p));
  hone_value_t* draw = hone_op_uniform(l, hone_dtype_of(p), hone_rank(p), p->type.dims, 0);
  hone_op_out(l, 0, hone_cast(b, hone_lt(b, draw, hone_widen(b, p)), dtype));
}

static const hone_op_t ops[] = {
    {.name = "Bernoulli",
     .min_opset = 15,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "dtype seed",
     .lower = lower_bernoulli},
};
HONE_OP_FAMILY(bernoulli, ops)
