/* Reading attributes of a node, with fallbacks. */
#include "ops/op.h"

/* The attribute when it has the wanted kind; NULL otherwise. */
static const hone_onnx_attr_t* find(const hone_onnx_node_t* node, const char* name,
                                    hone_onnx_attr_kind_t kind, hone_onnx_attr_kind_t list_kind) {
  const hone_onnx_attr_t* attr = hone_onnx_node_attr(node, name);
  return attr && (attr->kind == kind || attr->kind == list_kind) ? attr : NULL;
}

bool hone_attr_has(const hone_onnx_node_t* node, const char* name) {
  return hone_onnx_node_attr(node, name) != NULL;
}

int64_t hone_attr_int(const hone_onnx_node_t* node, const char* name, int64_t fallback) {
  const hone_onnx_attr_t* attr = find(node, name, HONE_ATTR_INT, HONE_ATTR_INT);
  return attr ? attr->ints[0] : fallback;
}

double hone_attr_float(const hone_onnx_node_t* node, const char* name, double fallback) {
  const hone_onnx_attr_t* attr = find(node, name, HONE_ATTR_FLOAT, HONE_ATTR_FLOAT);
  return attr ? (double)attr->floats[0] : fallback;
}

const char* hone_attr_string(const hone_onnx_node_t* node, const char* name, const char* fallback) {
  const hone_onnx_attr_t* attr = find(node, name, HONE_ATTR_STRING, HONE_ATTR_STRING);
  return attr ? attr->strings[0].data : fallback;
}

const int64_t* hone_attr_ints(const hone_onnx_node_t* node, const char* name, int* out_count) {
  const hone_onnx_attr_t* attr = find(node, name, HONE_ATTR_INTS, HONE_ATTR_INT);
  *out_count = attr ? (int)attr->count : 0;
  return attr ? attr->ints : NULL;
}

const float* hone_attr_floats(const hone_onnx_node_t* node, const char* name, int* out_count) {
  const hone_onnx_attr_t* attr = find(node, name, HONE_ATTR_FLOATS, HONE_ATTR_FLOAT);
  *out_count = attr ? (int)attr->count : 0;
  return attr ? attr->floats : NULL;
}

const hone_string_t* hone_attr_strings(const hone_onnx_node_t* node, const char* name,
                                       int* out_count) {
  const hone_onnx_attr_t* attr = find(node, name, HONE_ATTR_STRINGS, HONE_ATTR_STRING);
  *out_count = attr ? (int)attr->count : 0;
  return attr ? attr->strings : NULL;
}

const hone_onnx_tensor_t* hone_attr_tensor(const hone_onnx_node_t* node, const char* name) {
  const hone_onnx_attr_t* attr = find(node, name, HONE_ATTR_TENSOR, HONE_ATTR_TENSOR);
  return attr ? attr->tensors : NULL;
}

const hone_onnx_graph_t* hone_attr_graph(const hone_onnx_node_t* node, const char* name) {
  const hone_onnx_attr_t* attr = find(node, name, HONE_ATTR_GRAPH, HONE_ATTR_GRAPH);
  return attr ? attr->graphs[0] : NULL;
}
