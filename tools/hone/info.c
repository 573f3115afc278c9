#include "info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

typedef struct counter {
  hone_info_t* info;
  hone_map_t ops;   /* "domain name" to hone_info_op_t */
  hone_map_t files; /* name to hone_info_file_t */
} counter_t;

/* ---- weights ---- */

static uint64_t stored_bytes(const hone_onnx_tensor_t* tensor) {
  if (tensor->dtype != HONE_STRING)
    return ((uint64_t)tensor->count * (uint64_t)hone_dtype_bits(tensor->dtype) + 7) / 8;
  uint64_t bytes = 0;
  const hone_string_t* strings = tensor->data;
  for (int64_t i = 0; i < tensor->count; i++) bytes += strings[i].size;
  return bytes;
}

static void add_to(hone_info_weights_t* weights, const hone_onnx_tensor_t* tensor) {
  weights->tensors++;
  weights->elements += tensor->count;
  weights->file_bytes += stored_bytes(tensor);
  weights->memory_bytes += tensor->bytes;
}

static hone_status_t count_file(counter_t* counter, const hone_onnx_tensor_t* tensor) {
  if (!tensor->external_file) return NULL;
  hone_info_file_t* file = hone_map_get(&counter->files, tensor->external_file);
  if (!file) {
    file = hone_arena_alloc(counter->info->arena, sizeof *file);
    if (!file) return hone_oom();
    file->name = tensor->external_file;
    HONE_TRY(hone_map_put(&counter->files, file->name, file));
  }
  file->tensors++;
  file->bytes += stored_bytes(tensor);
  return NULL;
}

static hone_status_t count_tensor(counter_t* counter, const hone_onnx_tensor_t* tensor) {
  hone_info_t* info = counter->info;
  if (hone_dtype_is_valid((int)tensor->dtype)) add_to(&info->weights[tensor->dtype], tensor);
  add_to(&info->total, tensor);
  if (tensor->mapped) info->mapped_bytes += tensor->bytes;
  return count_file(counter, tensor);
}

static hone_status_t count_sparse(counter_t* counter, const hone_onnx_sparse_t* sparse) {
  HONE_TRY(count_tensor(counter, &sparse->values));
  return count_tensor(counter, &sparse->indices);
}

/* ---- nodes ---- */

static bool starts(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static void count_quantized(hone_info_t* info, const char* op) {
  static const char* const qdq[] = {"QuantizeLinear", "DequantizeLinear"};
  static const char* const integer[] = {"QLinear",       "QGemm",       "QAttention",
                                        "MatMulInteger", "ConvInteger", "DynamicQuantize",
                                        "MatMulNBits",   "MatMulBnb4",  "GatherBlockQuantized"};
  for (size_t i = 0; i < sizeof qdq / sizeof *qdq; i++) info->n_qdq += strcmp(op, qdq[i]) == 0;
  for (size_t i = 0; i < sizeof integer / sizeof *integer; i++)
    info->n_integer += starts(op, integer[i]);
}

static hone_status_t count_op(counter_t* counter, const hone_onnx_node_t* node) {
  hone_arena_t* arena = counter->info->arena;
  const char* key = hone_arena_format(arena, "%s %s", node->domain, node->op_type);
  if (!key) return hone_oom();
  count_quantized(counter->info, node->op_type);
  hone_info_op_t* op = hone_map_get(&counter->ops, key);
  if (!op) {
    op = hone_arena_alloc(arena, sizeof *op);
    if (!op) return hone_oom();
    *op = (hone_info_op_t){.domain = node->domain, .name = node->op_type};
    HONE_TRY(hone_map_put(&counter->ops, key, op));
  }
  op->count++;
  return NULL;
}

static hone_status_t count_graph(counter_t* counter, const hone_onnx_graph_t* graph);

static hone_status_t count_inner(counter_t* counter, const hone_onnx_attr_t* attr) {
  for (int64_t i = 0; i < attr->count; i++) {
    counter->info->n_inner_graphs++;
    counter->info->n_inner_nodes += attr->graphs[i]->n_nodes;
    HONE_TRY(count_graph(counter, attr->graphs[i]));
  }
  return NULL;
}

static hone_status_t count_nodes(counter_t* counter, const hone_onnx_node_t* nodes, int64_t count) {
  for (int64_t n = 0; n < count; n++) {
    HONE_TRY(count_op(counter, &nodes[n]));
    bool is_constant = strcmp(nodes[n].op_type, "Constant") == 0 && !*nodes[n].domain;
    for (int a = 0; a < nodes[n].n_attrs; a++) {
      const hone_onnx_attr_t* attr = &nodes[n].attrs[a];
      if (attr->kind == HONE_ATTR_GRAPH || attr->kind == HONE_ATTR_GRAPHS)
        HONE_TRY(count_inner(counter, attr));
      if (is_constant && attr->kind == HONE_ATTR_TENSOR)
        HONE_TRY(count_tensor(counter, attr->tensors));
      if (is_constant && attr->kind == HONE_ATTR_SPARSE_TENSOR)
        HONE_TRY(count_sparse(counter, attr->sparse));
    }
  }
  return NULL;
}

static hone_status_t count_graph(counter_t* counter, const hone_onnx_graph_t* graph) {
  for (int64_t i = 0; i < graph->n_initializers; i++)
    HONE_TRY(count_tensor(counter, &graph->initializers[i]));
  for (int64_t i = 0; i < graph->n_sparse; i++) HONE_TRY(count_sparse(counter, &graph->sparse[i]));
  return count_nodes(counter, graph->nodes, graph->n_nodes);
}

/* ---- lists ---- */

static int compare_ops(const void* a, const void* b) {
  const hone_info_op_t *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  int order = strcmp(x->name, y->name);
  return order ? order : strcmp(x->domain, y->domain);
}

static hone_status_t list_ops(hone_info_t* info, const hone_map_t* map) {
  info->ops = hone_arena_array(info->arena, hone_map_count(map), sizeof *info->ops);
  if (!info->ops) return hone_oom();
  size_t cursor = 0;
  for (hone_map_entry_t* each; (each = hone_map_next(map, &cursor));)
    info->ops[info->n_ops++] = *(hone_info_op_t*)each->value;
  qsort(info->ops, (size_t)info->n_ops, sizeof *info->ops, compare_ops);
  return NULL;
}

static hone_status_t list_files(hone_info_t* info, const hone_map_t* map) {
  info->files = hone_arena_array(info->arena, hone_map_count(map), sizeof *info->files);
  if (!info->files) return hone_oom();
  size_t cursor = 0;
  for (hone_map_entry_t* each; (each = hone_map_next(map, &cursor));)
    info->files[info->n_files++] = *(hone_info_file_t*)each->value;
  return NULL;
}

static hone_status_t note_dims(hone_map_t* map, const hone_onnx_type_t* type) {
  for (; type->element; type = type->element) continue;
  for (int i = 0; i < type->rank; i++) {
    const char* symbol = type->dims[i].symbol; /* "?" stands for none */
    if (symbol && *symbol && strcmp(symbol, "?") != 0) HONE_TRY(hone_map_put(map, symbol, NULL));
  }
  return NULL;
}

static hone_status_t list_inputs(hone_info_t* info) {
  const hone_onnx_graph_t* graph = info->model->graph;
  hone_map_t weights, dims;
  hone_map_init_arena(&weights, info->arena);
  hone_map_init_arena(&dims, info->arena);
  for (int64_t i = 0; i < graph->n_initializers; i++)
    HONE_TRY(hone_map_put(&weights, graph->initializers[i].name, NULL));
  info->inputs = hone_arena_array(info->arena, (size_t)graph->n_inputs, sizeof *info->inputs);
  if (!info->inputs) return hone_oom();
  for (int64_t i = 0; i < graph->n_inputs; i++) {
    if (hone_map_find(&weights, graph->inputs[i].name)) continue;
    info->inputs[info->n_inputs++] = &graph->inputs[i];
    HONE_TRY(note_dims(&dims, &graph->inputs[i].type));
  }
  info->dims = hone_arena_array(info->arena, hone_map_count(&dims), sizeof *info->dims);
  if (!info->dims) return hone_oom();
  size_t cursor = 0;
  for (hone_map_entry_t* each; (each = hone_map_next(&dims, &cursor));)
    info->dims[info->n_dims++] = each->text;
  return NULL;
}

hone_status_t hone_info_find(hone_info_t* info) {
  const hone_model_t* model = info->model;
  counter_t counter = {.info = info};
  if (!model->graph) return hone_status_make(HONE_INVALID_MODEL, "the model has no graph");
  hone_map_init_arena(&counter.ops, info->arena);
  hone_map_init_arena(&counter.files, info->arena);
  info->n_nodes = model->graph->n_nodes;
  HONE_TRY(count_graph(&counter, model->graph));
  for (int i = 0; i < model->n_functions; i++)
    HONE_TRY(count_nodes(&counter, model->functions[i].nodes, model->functions[i].n_nodes));
  HONE_TRY(list_ops(info, &counter.ops));
  HONE_TRY(list_files(info, &counter.files));
  return list_inputs(info);
}

/* ---- in words ---- */

const char* hone_info_quantization(const hone_info_t* info) {
  if (info->n_qdq && info->n_integer)
    return "QuantizeLinear and DequantizeLinear, and integer operators";
  if (info->n_qdq) return "QuantizeLinear and DequantizeLinear";
  return info->n_integer ? "integer operators" : "none";
}

static void print_dims(const hone_onnx_type_t* type, hone_str_t* text) {
  hone_str_append_char(text, '[');
  for (int i = 0; i < type->rank; i++) {
    const hone_onnx_dim_t* dim = &type->dims[i];
    if (i) hone_str_append(text, ", ");
    if (dim->value >= 0)
      hone_str_appendf(text, "%" PRId64, dim->value);
    else
      hone_str_append(text, dim->symbol && *dim->symbol ? dim->symbol : "?");
  }
  hone_str_append(text, type->rank < 0 ? "…]" : "]");
}

void hone_info_print_type(const hone_onnx_type_t* type, hone_str_t* text) {
  static const char* const kinds[] = {
      [HONE_ONNX_TYPE_NONE] = "any",          [HONE_ONNX_TYPE_TENSOR] = "",
      [HONE_ONNX_TYPE_SEQUENCE] = "sequence", [HONE_ONNX_TYPE_MAP] = "map",
      [HONE_ONNX_TYPE_OPTIONAL] = "optional", [HONE_ONNX_TYPE_SPARSE] = "sparse",
  };
  hone_str_append(text, kinds[type->kind]);
  bool is_dense = type->kind == HONE_ONNX_TYPE_TENSOR;
  if (type->kind == HONE_ONNX_TYPE_NONE) return;
  if (!is_dense) hone_str_append_char(text, '(');
  if (is_dense || type->kind == HONE_ONNX_TYPE_SPARSE) {
    hone_str_append(text, hone_dtype_name(type->dtype));
    print_dims(type, text);
  }
  if (type->kind == HONE_ONNX_TYPE_MAP)
    hone_str_appendf(text, "%s, ", hone_dtype_name(type->dtype));
  if (type->element) hone_info_print_type(type->element, text);
  if (!is_dense) hone_str_append_char(text, ')');
}
