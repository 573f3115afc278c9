/* OneHotEncoder (ai.onnx.ml): a new last axis with a 1 at the category that
 * the element is. With zeros = 0 every element must be one of them: the row of
 * an unknown one is then looked up past the end of a table, a run-time error. */
#include "ops/common/ml.h"

static hone_value_t* forbid_unknown(hone_builder_t* b, hone_value_t* hot) {
  hone_value_t* any = hone_reduce_last(b, HONE_COMBINE_MAX, hot, 1, true);
  hone_value_t* table = hone_constant_data(b, HONE_F32, 1, (const int64_t[]){1}, &(float){1});
  hone_value_t* row = hone_cast(b, hone_not(b, any), HONE_I64);
  return hone_mul(b, hone_cast(b, hot, HONE_F32), hone_gather(b, table, row));
}

static void lower_one_hot_encoder(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  bool is_string = hone_dtype_of(x) == HONE_STRING;
  const char* name = is_string ? "cats_strings" : "cats_int64s";
  if (!hone_attr_has(l->node, name)) {
    hone_op_fail(l, "%s is missing", name);
    return;
  }
  hone_value_t* cats = is_string ? hone_ml_strings(l, name) : hone_ml_ints(l, name);
  if (!is_string) x = hone_cast(b, x, HONE_I64);
  if (!x) return;
  hone_value_t* hot = hone_eq(b, hone_unsqueeze(b, x, hone_rank(x)), cats);
  bool zeros = hone_attr_int(l->node, "zeros", 1) != 0;
  hone_op_out(l, 0, zeros ? hone_cast(b, hot, HONE_F32) : forbid_unknown(b, hot));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "OneHotEncoder",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "cats_int64s cats_strings zeros",
     .lower = lower_one_hot_encoder},
};
HONE_OP_FAMILY(ml_one_hot_encoder, ops)
