/* Imputer (ai.onnx.ml): replaces one value (NaN too) by a value of its column,
 * or by the same value everywhere. */
#include <math.h>

#include "ops/common/ml.h"

static void lower_imputer(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  bool is_float = hone_dtype_is_float(hone_dtype_of(x));
  int n;
  if (is_float)
    hone_attr_floats(l->node, "imputed_value_floats", &n);
  else
    hone_attr_ints(l->node, "imputed_value_int64s", &n);
  if (n == 0) {
    hone_op_fail(l, "%s is missing", is_float ? "imputed_value_floats" : "imputed_value_int64s");
    return;
  }
  hone_value_t* values = is_float ? hone_ml_floats(l, "imputed_value_floats", n)
                                  : hone_ml_ints(l, "imputed_value_int64s");
  values = hone_cast(b, values, hone_dtype_of(x));
  double replaced = hone_attr_float(l->node, "replaced_value_float", 0);
  hone_value_t* hit;
  if (!is_float) {
    int64_t k = hone_attr_int(l->node, "replaced_value_int64", 0);
    hit = hone_eq(b, x, hone_scalar_i64(b, hone_dtype_of(x), k));
  } else {
    hit = isnan(replaced) ? hone_is_nan(b, x) : hone_eq_number(b, x, replaced);
  }
  hone_op_out(l, 0, hone_select(b, hit, values, x));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "Imputer",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64",
     .lower = lower_imputer},
};
HONE_OP_FAMILY(ml_imputer, ops)
