/* Clip: min(max(x, low), high). Limits were attributes before opset 11. */
#include <math.h>

#include "base/float_convert.h"
#include "ops/op.h"

/* The largest finite number of a float type. */
static double largest(hone_dtype_t dtype) {
  unsigned char element[16] = {0};
  if (dtype == HONE_F64) return 1.7976931348623157e308;
  if (dtype == HONE_F32) return 3.40282346638528860e38;
  hone_from_double(dtype, dtype == HONE_F16 ? 65504.0 : 3.3895313892515355e38, true, element);
  return hone_to_double(dtype, element);
}

/* A limit that is left out is the end of the type, so infinities become finite. */
static hone_value_t* limit_input(hone_lower_t* l, int index, double sign) {
  hone_value_t* limit = hone_op_in(l, index);
  hone_dtype_t dtype = hone_dtype_of(hone_op_in(l, 0));
  if (limit) return hone_reshape(l->b, limit, 0, NULL);
  if (!hone_dtype_is_float(dtype)) return NULL;
  return hone_scalar(l->b, dtype, sign * largest(dtype));
}

static void lower_clip_inputs(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* low = limit_input(l, 1, -1);
  hone_value_t* high = limit_input(l, 2, 1);
  if (low) x = hone_max(l->b, x, low);
  if (high) x = hone_min(l->b, x, high);
  hone_op_out(l, 0, x);
}

static hone_value_t* limit_attr(hone_lower_t* l, const char* name, double sign) {
  hone_dtype_t dtype = hone_dtype_of(hone_op_in(l, 0));
  if (l->opset < 6 && !hone_attr_has(l->node, name)) return NULL;
  double end = largest(dtype), limit = hone_attr_float(l->node, name, sign * end);
  return hone_scalar(l->b, dtype, fmin(fmax(limit, -end), end));
}

static void lower_clip_attrs(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* low = limit_attr(l, "min", -1);
  hone_value_t* high = limit_attr(l, "max", 1);
  if (low) x = hone_max(l->b, x, low);
  if (high) x = hone_min(l->b, x, high);
  hone_op_out(l, 0, x);
}

static const hone_op_t ops[] = {
    {.name = "Clip",
     .min_opset = 1,
     .max_opset = 10,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "min max consumed_inputs",
     .lower = lower_clip_attrs},
    {.name = "Clip",
     .min_opset = 11,
     .min_inputs = 1,
     .max_inputs = 3,
     .attrs = "",
     .lower = lower_clip_inputs},
};
HONE_OP_FAMILY(clip, ops)
