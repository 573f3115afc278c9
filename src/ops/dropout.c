/* Dropout: in training sets elements to zero at random and scales up the
 * others; otherwise the identity. The ratio was an attribute before opset 12.
 * Training is asked for by is_test = 0 before opset 7, by an input from 12 on,
 * and not there in between. */
#include "ops/common/formulas.h"

/* The ratio as an f32 scalar. */
static hone_value_t* ratio_value(hone_lower_t* l) {
  hone_value_t* input = hone_op_in(l, 1);
  if (input) return hone_cast(l->b, hone_reshape(l->b, input, 0, NULL), HONE_F32);
  return hone_scalar(l->b, HONE_F32, hone_attr_float(l->node, "ratio", 0.5));
}

/* The elements that stay; `training` is a bool scalar. */
static hone_value_t* keep_mask(hone_lower_t* l, hone_value_t* training) {
  hone_builder_t* b = l->b;
  const hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* draw = hone_op_uniform(l, HONE_F32, hone_rank(x), x->type.dims, 0);
  return hone_or(b, hone_ge(b, draw, ratio_value(l)), hone_not(b, training));
}

static void lower_training(hone_lower_t* l, hone_value_t* training) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* keep = keep_mask(l, training);
  hone_value_t* wide = hone_widen(b, x);
  if (!wide) return;
  hone_value_t* scale = hone_reciprocal(b, hone_number_sub(b, 1, ratio_value(l)));
  scale = hone_select(b, training, scale, hone_scalar(b, HONE_F32, 1));
  scale = hone_cast(b, scale, hone_dtype_of(wide));
  hone_value_t* zero = hone_scalar(b, hone_dtype_of(wide), 0);
  hone_value_t* y = hone_select(b, keep, hone_mul(b, wide, scale), zero);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(x)));
  hone_op_out(l, 1, l->opset < 10 ? hone_cast(b, keep, hone_dtype_of(x)) : keep);
}

static void lower_identity(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_dtype_t dtype = l->opset < 10 ? hone_dtype_of(x) : HONE_BOOL;
  hone_op_out(l, 0, x);
  if (hone_op_wants(l, 1)) hone_op_out(l, 1, hone_full(l->b, dtype, 1, hone_rank(x), x->type.dims));
}

static void lower_dropout(hone_lower_t* l) {
  hone_value_t* mode = hone_op_in(l, 2);
  const hone_tensor_t* known = mode ? hone_known_tensor(l->b, mode) : NULL;
  bool is_on = l->opset < 7 && !hone_attr_int(l->node, "is_test", 0);
  if (known) is_on = hone_tensor_i64(known, 0) != 0;
  if (mode && !known)
    lower_training(l, hone_reshape(l->b, mode, 0, NULL));
  else if (is_on)
    lower_training(l, hone_scalar_i64(l->b, HONE_BOOL, 1));
  else
    lower_identity(l);
}

static const hone_op_t ops[] = {
    {.name = "Dropout",
     .min_opset = 1,
     .max_opset = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "ratio is_test consumed_inputs",
     .lower = lower_dropout},
    {.name = "Dropout",
     .min_opset = 12,
     .min_inputs = 1,
     .max_inputs = 3,
     .attrs = "seed",
     .lower = lower_dropout},
};
HONE_OP_FAMILY(dropout, ops)
