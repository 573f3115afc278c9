#include "passes/common/evaluate.h"

#include "base/map.h"
#include "base/memory.h"

/* Copies what a value is made from into a graph of its own. */
typedef struct copier {
  hone_graph_t* graph;
  hone_map_t done; /* value -> its copy */
} copier_t;

static hone_value_t* find_copy(const copier_t* c, const hone_value_t* value) {
  return hone_map_get_u64(&c->done, (uint64_t)(uintptr_t)value);
}

static hone_status_t append(copier_t* c, const hone_node_t* node) {
  hone_node_t copy = *node;
  hone_arena_t* arena = c->graph->arena;
  copy.inputs = hone_arena_array(arena, (size_t)node->n_inputs, sizeof *copy.inputs);
  hone_type_t* types = hone_arena_array(arena, (size_t)node->n_outputs, sizeof *types);
  if (!copy.inputs || !types) return hone_oom();
  for (int i = 0; i < node->n_inputs; i++) copy.inputs[i] = find_copy(c, node->inputs[i]);
  for (int i = 0; i < node->n_outputs; i++) types[i] = node->outputs[i]->type;
  if (node->constant) {
    hone_tensor_retain(node->constant);
    if (!hone_graph_keep_constant(c->graph, node->constant)) return hone_oom();
  }
  hone_node_t* made = hone_graph_append(c->graph, &copy, types);
  if (!made) return hone_oom();
  for (int i = 0; i < node->n_outputs; i++)
    HONE_TRY(hone_map_put_u64(&c->done, (uint64_t)(uintptr_t)node->outputs[i], made->outputs[i]));
  return NULL;
}

/* A stack instead of recursion: models may be deep. */
static hone_status_t copy_all(copier_t* c, const hone_value_t* value) {
  int room = 64, top = 0;
  const hone_node_t** stack = hone_arena_array(c->graph->arena, (size_t)room, sizeof *stack);
  if (!stack) return hone_oom();
  stack[top++] = value->node;
  while (top) {
    const hone_node_t* node = stack[top - 1];
    const hone_node_t* missing = NULL;
    for (int i = 0; i < node->n_inputs && !missing; i++)
      if (!find_copy(c, node->inputs[i])) missing = node->inputs[i]->node;
    if (missing && top == room) {
      const hone_node_t** more = hone_arena_array(c->graph->arena, (size_t)room * 2, sizeof *stack);
      if (!more) return hone_oom();
      for (int i = 0; i < room; i++) more[i] = stack[i];
      stack = more;
      room *= 2;
    }
    if (missing) {
      stack[top++] = missing;
      continue;
    }
    top--;
    if (!find_copy(c, node->outputs[0])) HONE_TRY(append(c, node));
  }
  return NULL;
}

static hone_status_t run(const hone_backend_t* backend, const hone_graph_t* graph,
                         hone_tensor_t** out_tensors) {
  hone_compile_options_t compile = {.struct_size = sizeof compile, .allocator = graph->allocator};
  hone_run_options_t options = {.struct_size = sizeof options, .seed = 1};
  hone_program_t* program;
  HONE_TRY(backend->compile(graph, &compile, &program));
  hone_status_t status = backend->run(program, &options, 0, NULL, graph->n_outputs, out_tensors);
  backend->destroy(program);
  return status;
}

static hone_status_t set_outputs(copier_t* c, int count, const hone_value_t* const* values) {
  hone_value_t** outputs = hone_arena_array(c->graph->arena, (size_t)count, sizeof *outputs);
  if (!outputs) return hone_oom();
  for (int i = 0; i < count; i++) {
    HONE_TRY(copy_all(c, values[i]));
    outputs[i] = find_copy(c, values[i]);
  }
  return hone_graph_set_outputs(c->graph, count, outputs, NULL);
}

hone_status_t hone_evaluate_all(const hone_pass_context_t* context, int count,
                                const hone_value_t* const* values, hone_tensor_t** out_tensors) {
  const hone_backend_t* backend = context->options->evaluator;
  if (!backend) backend = hone_backend_find("ref");
  for (int i = 0; i < count; i++) out_tensors[i] = NULL;
  if (!count) return NULL;
  if (!backend) return hone_status_make(HONE_UNAVAILABLE, "there is no backend to fold with");
  copier_t c = {0};
  HONE_TRY(hone_graph_create(values[0]->node->graph->allocator, "constant", &c.graph));
  hone_map_init_arena(&c.done, c.graph->arena);
  hone_status_t status = set_outputs(&c, count, values);
  if (!status) status = run(backend, c.graph, out_tensors);
  hone_graph_destroy(c.graph);
  return status;
}

hone_status_t hone_evaluate(const hone_pass_context_t* context, const hone_value_t* value,
                            hone_tensor_t** out_tensor) {
  return hone_evaluate_all(context, 1, &value, out_tensor);
}

hone_value_t* hone_evaluate_constant(hone_rewriter_t* r, const hone_value_t* value) {
  hone_tensor_t* made;
  if (!value || !hone_builder_ok(r->b)) return NULL;
  hone_status_t status = hone_evaluate(r->context, value, &made);
  return status ? hone_fail_status(r->b, status) : hone_constant(r->b, made);
}
