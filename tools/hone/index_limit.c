/* One walk over the nodes, which come in the order of what they need: names of
 * values lead to the input, or to the table, that they are another form of. */
#include "index_limit.h"

#include <string.h>

#include "base/memory.h"

typedef struct walk {
  hone_arena_t* arena;
  hone_map_t inputs; /* name of a value to that of the input */
  hone_map_t tables; /* name of a value to the hone_onnx_tensor_t */
  hone_map_t* limits;
} walk_t;

static bool is_one_of(const char* word, const char* const* words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(word, words[i]) == 0) return true;
  return false;
}

/* Operators that leave the numbers of their first input what they are. */
static bool keeps_numbers(const hone_onnx_node_t* node) {
  static const char* const names[] = {"Cast",    "Identity", "Reshape", "Unsqueeze",
                                      "Squeeze", "Flatten",  "Expand",  "Transpose"};
  return is_one_of(node->op_type, names, sizeof names / sizeof *names);
}

/* Operators whose result has the rows of their first input. */
static bool keeps_rows(const hone_onnx_node_t* node) {
  static const char* const names[] = {"Cast", "Identity", "DequantizeLinear"};
  return is_one_of(node->op_type, names, sizeof names / sizeof *names);
}

static hone_status_t start(walk_t* w, const hone_onnx_graph_t* graph) {
  for (int64_t i = 0; i < graph->n_inputs; i++) {
    const hone_onnx_value_info_t* input = &graph->inputs[i];
    if (input->type.kind == HONE_ONNX_TYPE_TENSOR && hone_dtype_is_int(input->type.dtype))
      HONE_TRY(hone_map_put(&w->inputs, input->name, (void*)(uintptr_t)input->name));
  }
  for (int64_t i = 0; i < graph->n_initializers; i++)
    HONE_TRY(hone_map_put(&w->tables, graph->initializers[i].name, &graph->initializers[i]));
  return NULL;
}

static hone_status_t limit(walk_t* w, const char* input, int64_t rows) {
  int64_t* known = hone_map_get(w->limits, input);
  if (known) {
    if (rows < *known) *known = rows;
    return NULL;
  }
  known = hone_arena_memdup(w->arena, &rows, sizeof rows);
  return known ? hone_map_put(w->limits, input, known) : hone_oom();
}

static hone_status_t look_up(walk_t* w, const hone_onnx_node_t* node) {
  const hone_onnx_attr_t* attr = hone_onnx_node_attr(node, "axis");
  int64_t axis = attr && attr->kind == HONE_ATTR_INT ? attr->ints[0] : 0;
  const hone_onnx_tensor_t* table = hone_map_get(&w->tables, node->inputs[0]);
  const char* input = hone_map_get(&w->inputs, node->inputs[1]);
  if (!table || !input) return NULL;
  if (axis < 0) axis += table->rank;
  return axis >= 0 && axis < table->rank ? limit(w, input, table->dims[axis]) : NULL;
}

static hone_status_t pass_on(hone_map_t* map, const hone_onnx_node_t* node) {
  void* known = hone_map_get(map, node->inputs[0]);
  return known ? hone_map_put(map, node->outputs[0], known) : NULL;
}

static hone_status_t visit(walk_t* w, const hone_onnx_node_t* node) {
  if (node->domain[0] || node->n_inputs < 1 || node->n_outputs < 1) return NULL;
  if (keeps_numbers(node)) HONE_TRY(pass_on(&w->inputs, node));
  if (keeps_rows(node)) HONE_TRY(pass_on(&w->tables, node));
  if (strcmp(node->op_type, "Gather") == 0 && node->n_inputs == 2) return look_up(w, node);
  return NULL;
}

hone_status_t hone_index_limits(hone_arena_t* arena, const hone_model_t* model,
                                hone_map_t* out_limits) {
  walk_t w = {.arena = arena, .limits = out_limits};
  hone_map_init_arena(&w.inputs, arena);
  hone_map_init_arena(&w.tables, arena);
  hone_map_init_arena(out_limits, arena);
  HONE_TRY(start(&w, model->graph));
  for (int64_t i = 0; i < model->graph->n_nodes; i++) HONE_TRY(visit(&w, &model->graph->nodes[i]));
  return NULL;
}
