/* Operators of com.microsoft that are operators of ai.onnx under another
 * domain, with at most a detail changed. */
#include "ops/common/ms.h"

typedef struct alias {
  const char* name;
  int64_t opset;
} alias_t;

enum { GELU, TRILU, GATHER_ND, QUANTIZE, DEQUANTIZE, GRID_SAMPLE };
static const alias_t aliases[] = {
    [GELU] = {"Gelu", 20},
    [TRILU] = {"Trilu", 14},
    [GATHER_ND] = {"GatherND", 11},
    [QUANTIZE] = {"QuantizeLinear", 21},
    [DEQUANTIZE] = {"DequantizeLinear", 21},
    [GRID_SAMPLE] = {"GridSample", 16},
};

static void lower_alias(hone_lower_t* l) {
  const alias_t* alias = &aliases[l->op->data];
  hone_op_out(l, 0, hone_ms_as(l, alias->name, alias->opset, l->n_inputs, l->inputs));
}

/* The step is 1 when it is left out; each number may come as a list of one. */
static void lower_range(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* delta = hone_op_in(l, 2);
  if (!delta) delta = hone_scalar_i64(b, hone_dtype_of(hone_op_in(l, 0)), 1);
  hone_value_t* inputs[3] = {hone_ms_scalar(b, hone_op_in(l, 0)),
                             hone_ms_scalar(b, hone_op_in(l, 1)), hone_ms_scalar(b, delta)};
  hone_op_out(l, 0, hone_ms_as(l, "Range", 11, 3, inputs));
}

/* The pads may have a leading axis of 1. */
static void lower_pad(hone_lower_t* l) {
  hone_value_t* inputs[3] = {hone_op_in(l, 0), hone_ravel(l->b, hone_op_in(l, 1)),
                             hone_op_in(l, 2)};
  hone_op_out(l, 0, hone_ms_as(l, "Pad", 13, inputs[2] ? 3 : 2, inputs));
}

static void lower_expand_dims(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_dim_t one = hone_d(1);
  hone_value_t* axis = hone_reshape(b, hone_cast(b, hone_op_in(l, 1), HONE_I64), 1, &one);
  hone_value_t* inputs[2] = {hone_op_in(l, 0), axis};
  hone_op_out(l, 0, hone_ms_as(l, "Unsqueeze", 13, 2, inputs));
}

#define ALIAS(op_name, number, least, most, names)                                      \
  {                                                                                     \
    .domain = HONE_MS_DOMAIN, .name = (op_name), .min_opset = 1, .min_inputs = (least), \
    .max_inputs = (most), .attrs = (names), .data = (number), .lower = lower_alias      \
  }

static const hone_op_t ops[] = {
    ALIAS("Gelu", GELU, 1, 1, ""),
    ALIAS("Trilu", TRILU, 1, 2, "upper"),
    ALIAS("GatherND", GATHER_ND, 2, 2, ""),
    ALIAS("QuantizeLinear", QUANTIZE, 2, 3, "axis block_size"),
    ALIAS("DequantizeLinear", DEQUANTIZE, 2, 3, "axis block_size"),
    ALIAS("GridSample", GRID_SAMPLE, 2, 2, "align_corners mode padding_mode"),
    {.domain = HONE_MS_DOMAIN,
     .name = "Range",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "",
     .lower = lower_range},
    {.domain = HONE_MS_DOMAIN,
     .name = "Pad",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "mode",
     .lower = lower_pad},
    {.domain = HONE_MS_DOMAIN,
     .name = "ExpandDims",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "",
     .lower = lower_expand_dims},
};
HONE_OP_FAMILY(ms_aliases, ops)
