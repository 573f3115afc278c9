/* Lowering of nodes: looks each operator up, lets it write its primitives,
 * and puts its outputs under their names. Functions of the model are lowered
 * in place of their calls. */
#include "ops/lower.h"

#include <string.h>

#include "base/memory.h"
#include "ops/common/scope.h"

/* Functions that call each other can stand for exponentially many nodes. */
enum { MAX_DEPTH = 64, MAX_NODES = 1 << 20 };

/* ---- errors and gaps ---- */

static const char* node_label(const hone_scope_t* scope, const hone_onnx_node_t* node) {
  const char* name = node->name[0] ? node->name : node->n_outputs ? node->outputs[0] : "?";
  const char* label =
      hone_arena_format(scope->b->graph->arena, "%s%s (%s)", scope->path, name, node->op_type);
  return label ? label : node->op_type;
}

/* With a list of gaps: moves the error there, so that lowering can go on. */
static void record_gap(hone_scope_t* scope, const hone_onnx_node_t* node, const char* label) {
  const hone_lower_options_t* options = scope->lowering->options;
  hone_builder_t* b = scope->b;
  if (!b->status || !options || !options->gaps || hone_status_code(b->status) == HONE_OUT_OF_MEMORY)
    return;
  hone_gap_t* gap = hone_arena_alloc(options->gap_arena, sizeof *gap);
  if (!gap) return;
  *gap = (hone_gap_t){
      .next = *options->gaps,
      .node = hone_arena_strdup(options->gap_arena, label),
      .op_type = node->op_type,
      .domain = node->domain,
      .code = hone_status_code(b->status),
      .reason = hone_arena_strdup(options->gap_arena, hone_status_message(b->status)),
  };
  if (!gap->node || !gap->reason) return;
  *options->gaps = gap;
  hone_status_free(b->status);
  b->status = NULL;
}

/* ---- deferral ---- */

/* Where to go back to when a lowering gives up half way. */
typedef struct mark {
  int n_nodes, n_values, n_captures;
  hone_capture_t* captures;
} mark_t;

static mark_t take_mark(const hone_builder_t* b) {
  return (mark_t){b->graph->n_nodes, b->graph->n_values, b->n_captures, b->captures};
}

static void go_back(hone_builder_t* b, const mark_t* mark) {
  hone_graph_truncate(b->graph, mark->n_nodes, mark->n_values);
  b->captures = mark->captures;
  b->n_captures = mark->n_captures;
}

/* ---- one node ---- */

static bool collect_inputs(hone_scope_t* scope, hone_lower_t* l) {
  const hone_onnx_node_t* node = l->node;
  for (int i = 0; i < node->n_inputs; i++) {
    if (!node->inputs[i][0]) continue;
    l->inputs[i] = hone_scope_get(scope, node->inputs[i]);
    if (!l->inputs[i]) {
      hone_fail(l->b, HONE_INVALID_MODEL,
                "input '%s' is produced by no node before this one, and is no graph input or "
                "initializer",
                node->inputs[i]);
      return false;
    }
  }
  return true;
}

/* True when `name` is one of the words of `list`. */
static bool is_listed(const char* list, const char* name) {
  size_t length = strlen(name);
  for (const char* at = list; at && (at = strstr(at, name)); at += length) {
    bool starts = at == list || at[-1] == ' ';
    if (starts && (at[length] == ' ' || at[length] == 0)) return true;
  }
  return false;
}

static bool check_form(hone_lower_t* l) {
  const hone_op_t* op = l->op;
  for (int i = 0; i < op->min_inputs; i++)
    if (!hone_op_in(l, i)) {
      hone_op_fail(l, "input %d is missing; %s needs %d", i, op->name, op->min_inputs);
      return false;
    }
  if (op->max_inputs >= 0 && l->n_inputs > op->max_inputs) {
    hone_op_fail(l, "%d inputs given; %s takes at most %d", l->n_inputs, op->name, op->max_inputs);
    return false;
  }
  for (int i = 0; i < l->node->n_attrs; i++)
    if (op->attrs && !is_listed(op->attrs, l->node->attrs[i].name)) {
      hone_op_fail(l, "unknown attribute '%s'; %s takes: %s", l->node->attrs[i].name, op->name,
                   op->attrs);
      return false;
    }
  return true;
}

static bool inputs_known(const hone_lower_t* l) {
  for (int i = 0; i < l->n_inputs; i++)
    if (l->inputs[i] && !hone_type_is_known(&l->inputs[i]->type)) return false;
  return true;
}

/* What is known to be no tensor cannot become one: an error now, not a deferral. */
static bool inputs_are_tensors(hone_lower_t* l) {
  static const char* const kinds[] = {
      [HONE_TYPE_ANY] = "not known",
      [HONE_TYPE_TENSOR] = "a tensor",
      [HONE_TYPE_SEQUENCE] = "a sequence",
      [HONE_TYPE_MAP] = "a map",
      [HONE_TYPE_OPTIONAL] = "an optional without content",
  };
  for (int i = 0; i < l->n_inputs; i++) {
    hone_type_kind_t kind = l->inputs[i] ? l->inputs[i]->type.kind : HONE_TYPE_TENSOR;
    bool never = kind == HONE_TYPE_SEQUENCE || kind == HONE_TYPE_MAP ||
                 (kind == HONE_TYPE_OPTIONAL && l->scope->at_run_time);
    if (!never) continue;
    hone_op_fail(l, "input %d ('%s') is %s; %s takes tensors", i, l->node->inputs[i], kinds[kind],
                 l->op->name);
    return false;
  }
  return true;
}

/* A host operator without a lowering: nothing is known of its outputs. */
static void lower_as_host(hone_lower_t* l) {
  hone_type_t* types = hone_arena_array(l->b->graph->arena, (size_t)l->n_outputs, sizeof *types);
  if (!types) {
    hone_fail_status(l->b, hone_oom());
    return;
  }
  for (int i = 0; i < l->n_outputs; i++) types[i] = hone_type_any();
  hone_op_host(l, types);
}

static void run_lowering(hone_lower_t* l) {
  mark_t mark = take_mark(l->b);
  bool any_type = l->op->flags & HONE_OP_ANY_TYPE;
  if (!l->op->lower)
    lower_as_host(l);
  else if (any_type || inputs_known(l))
    l->op->lower(l);
  else if (inputs_are_tensors(l))
    hone_defer(l->b, "the rank or dtype of an input is not known");
  if (!l->b->deferred || l->b->status) return;
  const char* reason = l->b->deferred;
  l->b->deferred = NULL;
  go_back(l->b, &mark);
  hone_lower_defer_node(l, reason);
}

/* Puts the outputs under their names. In a list of gaps, what failed still
 * needs a value for those who read it. */
static void define_outputs(hone_scope_t* scope, const hone_lower_t* l) {
  hone_builder_t* b = scope->b;
  for (int i = 0; i < l->n_outputs && hone_builder_ok(b); i++) {
    const char* name = l->node->outputs[i];
    if (!name[0]) continue;
    hone_value_t* value = l->outputs[i];
    if (!value) {
      hone_fail(b, HONE_UNSUPPORTED, "output %d ('%s') of %s is not implemented", i, name,
                l->node->op_type);
      return;
    }
    if (!value->name && value->node->graph == b->graph) value->name = name;
    hone_scope_set(scope, name, value);
  }
}

static void define_gap_outputs(hone_scope_t* scope, const hone_onnx_node_t* node) {
  hone_type_t any = hone_type_any();
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i][0] && !hone_scope_get(scope, node->outputs[i]))
      hone_scope_set(scope, node->outputs[i], hone_input(scope->b, NULL, &any));
}

static void lower_operator(hone_scope_t* scope, const hone_onnx_node_t* node) {
  hone_arena_t* arena = scope->b->graph->arena;
  hone_lower_t l = {.b = scope->b,
                    .node = node,
                    .opset = hone_scope_opset(scope, node->domain),
                    .n_inputs = node->n_inputs,
                    .n_outputs = node->n_outputs,
                    .scope = scope};
  bool known;
  l.op = hone_op_find(node->domain, node->op_type, l.opset, &known);
  const char* domain = node->domain[0] ? node->domain : "ai.onnx";
  if (!l.op) {
    if (l.opset == 0 && known)
      hone_fail(l.b, HONE_INVALID_MODEL, "the model imports no opset of domain '%s'", domain);
    else if (known)
      hone_fail(l.b, HONE_UNSUPPORTED, "operator %s is not there in opset %lld of domain '%s'",
                node->op_type, (long long)l.opset, domain);
    else
      hone_fail(l.b, HONE_UNSUPPORTED, "unknown operator %s of domain '%s' (opset %lld)",
                node->op_type, domain, (long long)l.opset);
    return;
  }
  l.inputs = hone_arena_array(arena, (size_t)l.n_inputs, sizeof *l.inputs);
  l.outputs = hone_arena_array(arena, (size_t)l.n_outputs, sizeof *l.outputs);
  if (!l.inputs || !l.outputs) {
    hone_fail_status(l.b, hone_oom());
    return;
  }
  if (!collect_inputs(scope, &l) || !check_form(&l)) return;
  run_lowering(&l);
  define_outputs(scope, &l);
}

/* ---- functions ---- */

static bool enter(hone_scope_t* scope) {
  if (++scope->lowering->depth <= MAX_DEPTH) return true;
  hone_fail(scope->b, HONE_INVALID_MODEL,
            "functions or subgraphs nest more than %d deep; is a function calling itself?",
            MAX_DEPTH);
  return false;
}

static void bind_function_inputs(hone_scope_t* outer, hone_scope_t* inner,
                                 const hone_onnx_node_t* call) {
  const hone_onnx_function_t* function = inner->function;
  if (call->n_inputs > function->n_inputs || call->n_outputs > function->n_outputs) {
    hone_fail(outer->b, HONE_INVALID_MODEL,
              "function %s is called with %d inputs and %d outputs; it has %d and %d",
              function->name, call->n_inputs, call->n_outputs, function->n_inputs,
              function->n_outputs);
    return;
  }
  for (int i = 0; i < function->n_inputs && i < call->n_inputs; i++) {
    if (!call->inputs[i][0]) continue;
    hone_value_t* value = hone_scope_get(outer, call->inputs[i]);
    if (!value) {
      hone_fail(outer->b, HONE_INVALID_MODEL, "input '%s' is produced by no node before this one",
                call->inputs[i]);
      return;
    }
    hone_scope_set(inner, function->inputs[i], value);
  }
}

static void lower_call(hone_scope_t* scope, const hone_onnx_node_t* node,
                       const hone_onnx_function_t* function, const char* label) {
  hone_scope_t inner = {.lowering = scope->lowering,
                        .b = scope->b,
                        .n_opsets = function->n_opsets,
                        .opsets = function->opsets,
                        .call = node,
                        .function = function,
                        .n_value_infos = function->n_value_infos,
                        .value_infos = function->value_infos};
  inner.path = hone_arena_format(scope->b->graph->arena, "%s/", label);
  if (!inner.path) {
    hone_fail_status(scope->b, hone_oom());
    return;
  }
  if (enter(scope)) {
    bind_function_inputs(scope, &inner, node);
    hone_lower_nodes(&inner, function->n_nodes, function->nodes);
    for (int i = 0; i < node->n_outputs && i < function->n_outputs; i++) {
      hone_value_t* value = hone_scope_output(&inner, function->outputs[i]);
      if (value && node->outputs[i][0]) hone_scope_set(scope, node->outputs[i], value);
    }
  }
  scope->lowering->depth--;
}

/* ---- all nodes ---- */

static void lower_node(hone_scope_t* scope, const hone_onnx_node_t* node) {
  hone_builder_t* b = scope->b;
  if (scope->call) {
    node = hone_bind_node(scope, node);
    if (!node) {
      hone_fail_status(b, hone_oom());
      return;
    }
  }
  const char* label = node_label(scope, node);
  const char* before = b->origin;
  b->origin = label;
  const hone_onnx_function_t* function =
      hone_model_function(scope->lowering->model, node->domain, node->op_type, node->overload);
  if (function)
    lower_call(scope, node, function, label);
  else
    lower_operator(scope, node);
  if (b->status && !function) b->status = hone_status_annotate(b->status, "node %s", label);
  record_gap(scope, node, label);
  if (scope->lowering->options && scope->lowering->options->gaps && hone_builder_ok(b))
    define_gap_outputs(scope, node);
  b->origin = before;
}

void hone_lower_nodes(hone_scope_t* scope, int64_t count, const hone_onnx_node_t* nodes) {
  hone_lowering_t* lowering = scope->lowering;
  for (int64_t i = 0; i < count && hone_builder_ok(scope->b); i++) {
    if (++lowering->n_nodes > MAX_NODES)
      hone_fail(scope->b, HONE_UNSUPPORTED,
                "more than %d nodes when the calls of functions are written out", MAX_NODES);
    else
      lower_node(scope, &nodes[i]);
  }
}

void hone_lower_initializers(hone_scope_t* scope, const hone_onnx_graph_t* graph) {
  for (int64_t i = 0; i < graph->n_initializers && hone_builder_ok(scope->b); i++) {
    const hone_onnx_tensor_t* tensor = &graph->initializers[i];
    hone_value_t* value = hone_onnx_tensor_constant(scope->b, tensor);
    if (value) value->name = tensor->name;
    hone_scope_set(scope, tensor->name, value);
  }
  for (int64_t i = 0; i < graph->n_sparse && hone_builder_ok(scope->b); i++) {
    hone_value_t* value = hone_onnx_sparse_constant(scope->b, &graph->sparse[i]);
    hone_scope_set(scope, graph->sparse[i].values.name, value);
  }
}

void hone_op_subgraph(hone_lower_t* l, const hone_onnx_graph_t* graph, hone_builder_t* body,
                      int n_params, hone_value_t* const* params, hone_value_t** outputs) {
  for (int64_t i = 0; i < graph->n_outputs; i++) outputs[i] = NULL;
  if (!hone_builder_ok(body)) return;
  if (graph->n_inputs != n_params) {
    hone_fail(body, HONE_INVALID_MODEL, "subgraph '%s' has %lld inputs where %d are needed",
              graph->name, (long long)graph->n_inputs, n_params);
    return;
  }
  hone_scope_t inner = *l->scope;
  inner.parent = l->scope;
  inner.at_run_time = false; /* parameters are not known */
  inner.b = body;
  inner.call = NULL; /* its nodes were bound with the node that holds them */
  inner.function = NULL;
  inner.names = (hone_map_t){0};
  inner.n_value_infos = graph->n_value_infos;
  inner.value_infos = graph->value_infos;
  if (enter(&inner)) {
    for (int i = 0; i < n_params; i++) hone_scope_set(&inner, graph->inputs[i].name, params[i]);
    hone_lower_initializers(&inner, graph);
    hone_lower_nodes(&inner, graph->n_nodes, graph->nodes);
    for (int64_t i = 0; i < graph->n_outputs && hone_builder_ok(body); i++)
      outputs[i] = hone_scope_output(&inner, graph->outputs[i].name);
  }
  l->scope->lowering->depth--;
}
