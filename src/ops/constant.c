/* Constant: a tensor given as one of several attributes. */
#include "base/memory.h"
#include "ops/op.h"

static void number(hone_lower_t* l, const char* name, hone_dtype_t dtype) {
  const hone_onnx_attr_t* attr = hone_onnx_node_attr(l->node, name);
  bool list = attr->kind == HONE_ATTR_FLOATS || attr->kind == HONE_ATTR_INTS;
  const void* data = dtype == HONE_F32 ? (const void*)attr->floats : (const void*)attr->ints;
  hone_op_out(l, 0, hone_constant_data(l->b, dtype, list ? 1 : 0, &attr->count, data));
}

static void strings(hone_lower_t* l, const char* name) {
  const hone_onnx_attr_t* attr = hone_onnx_node_attr(l->node, name);
  hone_onnx_tensor_t tensor = {.name = "",
                               .dtype = HONE_STRING,
                               .rank = attr->kind == HONE_ATTR_STRINGS ? 1 : 0,
                               .dims = (int64_t[]){attr->count},
                               .count = attr->count,
                               .data = attr->strings};
  hone_op_out(l, 0, hone_onnx_tensor_constant(l->b, &tensor));
}

static void dense(hone_lower_t* l, const char* name) {
  hone_op_out(l, 0, hone_onnx_tensor_constant(l->b, hone_attr_tensor(l->node, name)));
}

static void sparse(hone_lower_t* l, const char* name) {
  const hone_onnx_attr_t* attr = hone_onnx_node_attr(l->node, name);
  hone_op_out(l, 0, hone_onnx_sparse_constant(l->b, attr->sparse));
}

static void floats(hone_lower_t* l, const char* name) { number(l, name, HONE_F32); }
static void ints(hone_lower_t* l, const char* name) { number(l, name, HONE_I64); }

static const struct {
  const char* name;
  hone_onnx_attr_kind_t kind;
  void (*lower)(hone_lower_t* l, const char* name);
} forms[] = {
    {"value", HONE_ATTR_TENSOR, dense},          {"sparse_value", HONE_ATTR_SPARSE_TENSOR, sparse},
    {"value_float", HONE_ATTR_FLOAT, floats},    {"value_floats", HONE_ATTR_FLOATS, floats},
    {"value_int", HONE_ATTR_INT, ints},          {"value_ints", HONE_ATTR_INTS, ints},
    {"value_string", HONE_ATTR_STRING, strings}, {"value_strings", HONE_ATTR_STRINGS, strings},
};

static void lower_constant(hone_lower_t* l) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    const hone_onnx_attr_t* attr = hone_onnx_node_attr(l->node, forms[i].name);
    if (!attr || attr->kind != forms[i].kind) continue;
    forms[i].lower(l, forms[i].name);
    return;
  }
  hone_op_fail(l, "no value: give one of the attributes %s", l->op->attrs);
}

static const hone_op_t ops[] = {
    {.name = "Constant",
     .min_opset = 1,
     .attrs = "value sparse_value value_float value_floats value_int value_ints value_string "
              "value_strings",
     .lower = lower_constant},
};
HONE_OP_FAMILY(constant, ops)
