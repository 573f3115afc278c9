/* Lowering of a whole model: inputs, initializers, nodes, outputs. */
#include <string.h>

#include "base/memory.h"
#include "ops/common/scope.h"

static const hone_dim_option_t* find_dim(const hone_lowering_t* lowering, const char* name) {
  const hone_lower_options_t* options = lowering->options;
  for (int i = 0; options && i < options->n_dims; i++)
    if (strcmp(options->dims[i].name, name) == 0) return &options->dims[i];
  return NULL;
}

/* The extent that the next input has in the run that is asked for; -1: none is. */
static int64_t extent_in_run(const hone_scope_t* scope, int axis) {
  const hone_lower_options_t* options = scope->lowering->options;
  if (!options || !options->inputs) return -1;
  const hone_tensor_t* input = options->inputs[scope->b->graph->n_inputs];
  return axis < hone_tensor_rank(input) ? hone_tensor_dims(input)[axis] : -1;
}

/* One declared dimension. One without name or number is named after its place. */
static hone_dim_t input_dim(hone_scope_t* scope, const char* input, int axis,
                            const hone_onnx_dim_t* dim) {
  if (dim->value >= 0) return hone_d(dim->value);
  int64_t in_run = extent_in_run(scope, axis);
  if (in_run >= 0) return hone_d(in_run);
  /* "?" and the like are how some exporters say that they have no name. */
  bool is_named = dim->symbol && dim->symbol[0] && strcmp(dim->symbol, "?") != 0;
  const char* name =
      is_named ? dim->symbol : hone_arena_format(scope->b->graph->arena, "%s.%d", input, axis);
  if (!name) return hone_d(-1);
  const hone_dim_option_t* given = find_dim(scope->lowering, name);
  if (given && given->min == given->max) return hone_d(given->min);
  const hone_lower_options_t* options = scope->lowering->options;
  if (is_named && options && options->names_are_per_input)
    name = hone_arena_format(scope->b->graph->arena, "%s.%s", input, name);
  if (!name) return hone_d(-1);
  return hone_dim_symbol(scope->b->graph->dims, name, HONE_SYMBOL_INPUT, given ? given->min : 0,
                         given ? given->max : INT32_MAX);
}

static hone_type_t input_type(hone_scope_t* scope, const char* input,
                              const hone_onnx_type_t* declared);

static hone_type_t container_type(hone_scope_t* scope, const char* input,
                                  const hone_onnx_type_t* declared) {
  static const hone_type_kind_t kinds[] = {
      [HONE_ONNX_TYPE_NONE] = HONE_TYPE_ANY,          [HONE_ONNX_TYPE_TENSOR] = HONE_TYPE_TENSOR,
      [HONE_ONNX_TYPE_SEQUENCE] = HONE_TYPE_SEQUENCE, [HONE_ONNX_TYPE_MAP] = HONE_TYPE_MAP,
      [HONE_ONNX_TYPE_OPTIONAL] = HONE_TYPE_OPTIONAL, [HONE_ONNX_TYPE_SPARSE] = HONE_TYPE_ANY,
  };
  hone_type_t type = hone_type_any();
  type.kind = kinds[declared->kind];
  if (!declared->element || declared->kind == HONE_ONNX_TYPE_MAP) return type;
  hone_type_t element = input_type(scope, input, declared->element);
  type.element = hone_arena_memdup(scope->b->graph->arena, &element, sizeof element);
  if (!type.element) hone_fail_status(scope->b, hone_oom());
  return type;
}

static hone_type_t input_type(hone_scope_t* scope, const char* input,
                              const hone_onnx_type_t* declared) {
  if (declared->kind != HONE_ONNX_TYPE_TENSOR) return container_type(scope, input, declared);
  hone_type_t type = hone_type_tensor(declared->dtype, declared->rank, NULL);
  if (declared->rank < 0) return type;
  if (declared->rank > HONE_MAX_RANK) {
    hone_fail(scope->b, HONE_UNSUPPORTED, "input '%s' has rank %d; hone allows %d", input,
              declared->rank, HONE_MAX_RANK);
    return type;
  }
  hone_dim_t* dims = hone_arena_array(scope->b->graph->arena, (size_t)declared->rank, sizeof *dims);
  if (!dims) {
    hone_fail_status(scope->b, hone_oom());
    return type;
  }
  for (int i = 0; i < declared->rank; i++) dims[i] = input_dim(scope, input, i, &declared->dims[i]);
  type.dims = dims;
  return type;
}

/* Has an input's symbols bound to its extents when a run begins. */
static void bind_input(hone_builder_t* b, hone_value_t* value) {
  for (int i = 0; value && value->type.dims && i < value->type.rank; i++) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(value->type.dims[i]);
    if (!symbol) continue;
    hone_status_t status = hone_value_bind(b->graph, value, symbol->id, true, i);
    if (status) hone_fail_status(b, status);
  }
}

static bool is_initializer(const hone_onnx_graph_t* graph, const char* name) {
  for (int64_t i = 0; i < graph->n_initializers; i++)
    if (strcmp(graph->initializers[i].name, name) == 0) return true;
  return false;
}

static void lower_inputs(hone_scope_t* scope, const hone_onnx_graph_t* graph) {
  for (int64_t i = 0; i < graph->n_inputs && hone_builder_ok(scope->b); i++) {
    const hone_onnx_value_info_t* info = &graph->inputs[i];
    if (hone_scope_get(scope, info->name) && is_initializer(graph, info->name)) continue;
    hone_type_t type = input_type(scope, info->name, &info->type);
    hone_value_t* value = hone_input(scope->b, info->name, &type);
    bind_input(scope->b, value);
    hone_scope_set(scope, info->name, value);
  }
}

static void lower_outputs(hone_scope_t* scope, const hone_onnx_graph_t* graph) {
  hone_arena_t* arena = scope->b->graph->arena;
  size_t count = (size_t)graph->n_outputs;
  hone_value_t** values = hone_arena_array(arena, count, sizeof *values);
  const char** names = hone_arena_array(arena, count, sizeof *names);
  if (!values || !names) {
    hone_fail_status(scope->b, hone_oom());
    return;
  }
  for (size_t i = 0; i < count; i++) {
    names[i] = graph->outputs[i].name;
    values[i] = hone_scope_output(scope, names[i]);
  }
  if (!hone_builder_ok(scope->b)) return;
  hone_status_t status = hone_graph_set_outputs(scope->b->graph, (int)count, values, names);
  if (status) hone_fail_status(scope->b, status);
}

hone_status_t hone_lower_model(const hone_model_t* model, const hone_lower_options_t* options,
                               const hone_allocator_t* allocator, hone_graph_t** out_graph) {
  *out_graph = NULL;
  if (!model->graph) return hone_status_make(HONE_INVALID_MODEL, "the model has no graph");
  hone_graph_t* graph;
  HONE_TRY(hone_graph_create(allocator, model->graph->name, &graph));
  hone_builder_t b = {.graph = graph};
  hone_lowering_t lowering = {.model = model, .options = options};
  hone_scope_t scope = {.lowering = &lowering,
                        .b = &b,
                        .n_opsets = model->n_opsets,
                        .opsets = model->opsets,
                        .path = "",
                        .n_value_infos = model->graph->n_value_infos,
                        .value_infos = model->graph->value_infos};
  hone_lower_initializers(&scope, model->graph);
  lower_inputs(&scope, model->graph);
  hone_lower_nodes(&scope, model->graph->n_nodes, model->graph->nodes);
  if (hone_builder_ok(&b)) lower_outputs(&scope, model->graph);
  if (!b.status && b.deferred) hone_fail(&b, HONE_INTERNAL, "lowering stopped: %s", b.deferred);
  if (b.status) {
    hone_graph_destroy(graph);
    return b.status;
  }
  hone_graph_drop_dead(graph);
  *out_graph = graph;
  return NULL;
}
