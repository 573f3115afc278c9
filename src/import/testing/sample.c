/* Builders of small models. A NULL from the arena shows as a NULL result. */
#include "import/testing/sample.h"

#include <string.h>

#include "base/memory.h"

/* Cuts `text` at each of `separators` into an array of names. */
static const char** cut(hone_model_t* model, const char* text, const char* separators,
                        int64_t* out_count) {
  char* copy = hone_arena_strdup(model->arena, text);
  const char** names = hone_arena_array(model->arena, strlen(text) + 1, sizeof *names);
  *out_count = 0;
  if (!copy || !names) return NULL;
  for (char* rest = copy; *rest;) {
    size_t length = strcspn(rest, separators);
    bool more = rest[length] != 0;
    rest[length] = 0;
    names[(*out_count)++] = rest;
    rest += length + more;
  }
  return names;
}

static hone_onnx_value_info_t* values(hone_model_t* model, const char* text, int64_t* out_count) {
  const char** names = cut(model, text, " ", out_count);
  hone_onnx_value_info_t* infos =
      hone_arena_array(model->arena, (size_t)*out_count + 1, sizeof *infos);
  if (!names || !infos) return NULL;
  for (int64_t i = 0; i < *out_count; i++) {
    infos[i] = (hone_onnx_value_info_t){.name = names[i], .type = {.rank = -1}, .doc = ""};
  }
  return infos;
}

static bool parse_node(hone_model_t* model, const char* text, hone_onnx_node_t* node) {
  int64_t n_parts, n_inputs, n_outputs;
  const char** parts = cut(model, text, " ", &n_parts);
  if (!parts) return false;
  *node = (hone_onnx_node_t){.name = strcmp(parts[0], "-") ? parts[0] : "",
                             .op_type = parts[1],
                             .domain = "",
                             .overload = "",
                             .doc = ""};
  bool has_inputs = n_parts > 2 && *parts[2] != '>';
  node->inputs = cut(model, has_inputs ? parts[2] : "", ",", &n_inputs);
  node->outputs =
      cut(model, parts[n_parts - 1][0] == '>' ? "" : parts[n_parts - 1], ",", &n_outputs);
  node->n_inputs = (int)n_inputs;
  node->n_outputs = (int)n_outputs;
  return node->inputs && node->outputs;
}

hone_onnx_graph_t* hone_sample_graph(hone_model_t* model, const char* name, const char* inputs,
                                     const char* outputs, const char* const* nodes) {
  hone_onnx_graph_t* graph = hone_arena_alloc(model->arena, sizeof *graph);
  if (!graph) return NULL;
  graph->name = name;
  graph->doc = "";
  while (nodes[graph->n_nodes]) graph->n_nodes++;
  graph->nodes = hone_arena_array(model->arena, (size_t)graph->n_nodes + 1, sizeof *graph->nodes);
  graph->inputs = values(model, inputs, &graph->n_inputs);
  graph->outputs = values(model, outputs, &graph->n_outputs);
  if (!graph->nodes || !graph->inputs || !graph->outputs) return NULL;
  for (int64_t i = 0; i < graph->n_nodes; i++) {
    if (!parse_node(model, nodes[i], &graph->nodes[i])) return NULL;
  }
  return graph;
}

hone_status_t hone_sample_model(const hone_allocator_t* allocator, const char* inputs,
                                const char* outputs, const char* const* nodes,
                                hone_model_t** out_model) {
  static hone_onnx_opset_t opset = {.domain = "", .version = 20};
  HONE_TRY(hone_model_create(allocator, out_model));
  hone_model_t* model = *out_model;
  model->ir_version = 10;
  model->opsets = &opset;
  model->n_opsets = 1;
  model->graph = hone_sample_graph(model, "main", inputs, outputs, nodes);
  if (model->graph) return NULL;
  hone_model_destroy(model);
  *out_model = NULL;
  return hone_oom();
}

hone_onnx_tensor_t hone_sample_tensor(hone_model_t* model, const char* name, hone_dtype_t dtype,
                                      int rank, const int64_t* dims, const void* data) {
  hone_onnx_tensor_t tensor = {
      .name = name, .dtype = dtype, .rank = rank, .count = 1, .data = data, .doc = ""};
  tensor.dims = hone_arena_memdup(model->arena, dims, (size_t)rank * sizeof *dims);
  for (int i = 0; i < rank; i++) tensor.count *= dims[i];
  tensor.bytes = (size_t)tensor.count * hone_dtype_size(dtype);
  return tensor;
}

bool hone_sample_attach(hone_model_t* model, hone_onnx_graph_t* graph, int64_t index,
                        hone_onnx_graph_t* inner) {
  hone_onnx_attr_t* attr = hone_arena_alloc(model->arena, sizeof *attr);
  hone_onnx_graph_t** graphs = hone_arena_alloc(model->arena, sizeof *graphs);
  if (!attr || !graphs || !inner) return false;
  *graphs = inner;
  *attr = (hone_onnx_attr_t){
      .name = "body", .kind = HONE_ATTR_GRAPH, .count = 1, .graphs = graphs, .doc = ""};
  graph->nodes[index].attrs = attr;
  graph->nodes[index].n_attrs = 1;
  return true;
}

static const float floats[] = {1.5f, -2.0f, 0.0f, 4.25f};
static const int64_t ints[] = {3, -1, 1};
static const int8_t nibbles[] = {-8, 7, 3};
static const hone_string_t strings[] = {{"hello", 5}, {"", 0}, {"a\0b", 3}};
static const int64_t four[] = {4}, three[] = {3}, two[] = {2};

/* Attributes of every kind, over the constants above. */
static bool fill_attrs(hone_model_t* model, hone_onnx_node_t* node, hone_onnx_graph_t* inner) {
  enum { KINDS = HONE_ATTR_TYPES };
  hone_onnx_attr_t* attrs = hone_arena_array(model->arena, KINDS, sizeof *attrs);
  hone_onnx_tensor_t* tensor = hone_arena_alloc(model->arena, sizeof *tensor);
  hone_onnx_graph_t** graphs = hone_arena_alloc(model->arena, sizeof *graphs);
  hone_onnx_sparse_t* sparse = hone_arena_alloc(model->arena, sizeof *sparse);
  hone_onnx_type_t* type = hone_arena_alloc(model->arena, sizeof *type);
  if (!attrs || !tensor || !graphs || !sparse || !type || !inner) return false;
  *graphs = inner;
  *tensor = hone_sample_tensor(model, "t", HONE_F32, 1, four, floats);
  *type = (hone_onnx_type_t){.kind = HONE_ONNX_TYPE_TENSOR, .dtype = HONE_I64, .rank = 0};
  *sparse = (hone_onnx_sparse_t){.rank = 1,
                                 .dims = (int64_t*)four,
                                 .values = hone_sample_tensor(model, "v", HONE_F32, 1, two, floats),
                                 .indices = hone_sample_tensor(model, "", HONE_I64, 1, two, ints)};
  sparse->indices.data = (const int64_t[]){0, 3};
  sparse->indices.data = hone_arena_memdup(model->arena, sparse->indices.data, 16);
  const void* items[] = {NULL,    floats, ints,   strings, tensor, graphs, floats, ints,
                         strings, tensor, graphs, sparse,  sparse, type,   type};
  for (int kind = HONE_ATTR_FLOAT; kind <= HONE_ATTR_TYPES; kind++) {
    hone_onnx_attr_t* attr = &attrs[kind - 1];
    bool many = kind == HONE_ATTR_FLOATS || kind == HONE_ATTR_INTS || kind == HONE_ATTR_STRINGS;
    *attr = (hone_onnx_attr_t){.name = hone_arena_format(model->arena, "a%d", kind),
                               .kind = (hone_onnx_attr_kind_t)kind,
                               .count = many ? 3 : 1,
                               .doc = ""};
    memcpy(&attr->floats, &items[kind], sizeof(void*));
    if (!attr->name) return false;
  }
  node->attrs = attrs;
  node->n_attrs = KINDS;
  return sparse->indices.data && tensor->dims;
}

static bool fill_initializers(hone_model_t* model) {
  hone_onnx_graph_t* graph = model->graph;
  graph->initializers = hone_arena_array(model->arena, 4, sizeof *graph->initializers);
  if (!graph->initializers) return false;
  graph->n_initializers = 4;
  graph->initializers[0] = hone_sample_tensor(model, "w", HONE_F32, 1, four, floats);
  graph->initializers[1] = hone_sample_tensor(model, "i4", HONE_I4, 1, three, nibbles);
  graph->initializers[2] = hone_sample_tensor(model, "text", HONE_STRING, 1, three, strings);
  graph->initializers[3] = hone_sample_tensor(model, "shape", HONE_I64, 1, three, ints);
  for (int i = 0; i < 4; i++) {
    if (!graph->initializers[i].dims) return false;
  }
  return true;
}

static bool fill_types(hone_model_t* model) {
  hone_onnx_dim_t* dims = hone_arena_array(model->arena, 3, sizeof *dims);
  hone_onnx_type_t* element = hone_arena_alloc(model->arena, sizeof *element);
  if (!dims || !element) return false;
  dims[0] = (hone_onnx_dim_t){.value = -1, .symbol = "batch"};
  dims[1] = (hone_onnx_dim_t){.value = 0};
  dims[2] = (hone_onnx_dim_t){.value = -1};
  *element =
      (hone_onnx_type_t){.kind = HONE_ONNX_TYPE_TENSOR, .dtype = HONE_F32, .rank = 3, .dims = dims};
  model->graph->inputs[0].type = *element;
  model->graph->inputs[1].type = (hone_onnx_type_t){
      .kind = HONE_ONNX_TYPE_MAP, .dtype = HONE_STRING, .rank = -1, .element = element};
  model->graph->outputs[0].type = (hone_onnx_type_t){
      .kind = HONE_ONNX_TYPE_SEQUENCE, .rank = -1, .element = element, .denotation = "image"};
  return true;
}

static bool fill_function(hone_model_t* model) {
  static const char *in = "a", *out = "b", *attr_name = "alpha";
  static hone_onnx_attr_t reference = {
      .name = "to", .kind = HONE_ATTR_INT, .ref = "alpha", .doc = ""};
  static const char* const body[] = {"n Cast a > b", NULL};
  hone_onnx_graph_t* graph = hone_sample_graph(model, "", "", "", body);
  hone_onnx_function_t* function = hone_arena_alloc(model->arena, sizeof *function);
  if (!graph || !function) return false;
  graph->nodes[0].attrs = &reference;
  graph->nodes[0].n_attrs = 1;
  *function = (hone_onnx_function_t){.name = "Twice",
                                     .domain = "custom",
                                     .overload = "",
                                     .n_inputs = 1,
                                     .inputs = &in,
                                     .n_outputs = 1,
                                     .outputs = &out,
                                     .n_attr_names = 1,
                                     .attr_names = &attr_name,
                                     .n_opsets = 1,
                                     .opsets = model->opsets,
                                     .n_nodes = 1,
                                     .nodes = graph->nodes,
                                     .doc = ""};
  model->functions = function;
  model->n_functions = 1;
  return true;
}

static bool fill_rich(hone_model_t* model) {
  static hone_onnx_metadata_t metadata = {.key = "author", .value = "somebody"};
  static const char* const inner[] = {"- Add x,w > s", NULL};
  model->producer_name = "sample";
  model->metadata = &metadata;
  model->n_metadata = 1;
  return fill_initializers(model) && fill_types(model) && fill_function(model) &&
         fill_attrs(model, &model->graph->nodes[1],
                    hone_sample_graph(model, "inner", "", "s", inner));
}

hone_status_t hone_sample_rich_model(const hone_allocator_t* allocator, hone_model_t** out_model) {
  static const char* const nodes[] = {"first Relu x > r", "second Odd r,,w > y,,z", NULL};
  HONE_TRY(hone_sample_model(allocator, "x m", "y z", nodes, out_model));
  if (fill_rich(*out_model)) return NULL;
  hone_model_destroy(*out_model);
  *out_model = NULL;
  return hone_oom();
}
