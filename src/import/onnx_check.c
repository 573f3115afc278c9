/* The structural checks of onnx.h. One walk over all graphs with a chain of
 * scopes; what is wrong is put on a list and the walk goes on. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "import/names.h"
#include "import/onnx.h"
#include "import/onnx_order.h"
#include "import/utf8.h"

/* Where the walk is, innermost first; the text is made when something is wrong. */
typedef struct place {
  const struct place* outer;
  const char* kind; /* "graph", "function", "attribute", "node" */
  const char* name;
  const char* op; /* of nodes */
  int64_t number; /* of nodes without a name */
} place_t;

typedef struct scope {
  struct scope* outer;
  hone_names_t values; /* what is there so far; the number is the maker's, or GIVEN */
  hone_names_t makers; /* all that nodes here make, first to last */
  bool late;           /* something is taken before it is made */
} scope_t;

/* Stands for the maker of inputs and initializers, behind all nodes. */
#define GIVEN INT64_MAX

typedef struct checker {
  const hone_model_t* model;
  hone_onnx_problems_t* problems;
  hone_arena_t* scratch;
} checker_t;

static const char* place_text(hone_arena_t* arena, const place_t* place) {
  if (!place) return "";
  const char* outer = place_text(arena, place->outer);
  if (!outer) return NULL;
  const char* colon = *outer ? ": " : "";
  if (!place->op) {
    return hone_arena_format(arena, "%s%s%s '%.200s'", outer, colon, place->kind, place->name);
  }
  if (*place->name) {
    return hone_arena_format(arena, "%s%snode '%.200s' (%.200s)", outer, colon, place->name,
                             place->op);
  }
  return hone_arena_format(arena, "%s%snode %" PRId64 " (%.200s)", outer, colon, place->number,
                           place->op);
}

static hone_status_t report(checker_t* checker, const place_t* place, char* message) {
  hone_onnx_problems_t* problems = checker->problems;
  if (!message) return hone_oom();
  if (problems->count == HONE_ONNX_MAX_PROBLEMS) return NULL;
  if (!problems->items) {
    problems->items =
        hone_arena_array(problems->arena, HONE_ONNX_MAX_PROBLEMS, sizeof *problems->items);
    if (!problems->items) return hone_oom();
  }
  const char* text = place_text(problems->arena, place);
  char* where = text ? hone_arena_strdup(problems->arena, text) : NULL;
  if (!where) return hone_oom();
  hone_utf8_repair(where, strlen(where), true);
  hone_utf8_repair(message, strlen(message), true);
  problems->items[problems->count++] = (hone_onnx_problem_t){.where = where, .message = message};
  return NULL;
}

/* Reports a printf message. */
#define REPORT(checker, place, ...) \
  report(checker, place, hone_arena_format((checker)->problems->arena, __VA_ARGS__))

/* What a later node makes counts as there: it is part of a cycle, which is
 * reported as a whole. */
static bool exists(scope_t* scope, const char* name) {
  for (; scope; scope = scope->outer) {
    if (hone_names_get(&scope->values, name) >= 0) return true;
    if (hone_names_get(&scope->makers, name) >= 0) return scope->late = true;
  }
  return false;
}

/* Puts a name that must be new into the scope. */
static hone_status_t declare(checker_t* checker, scope_t* scope, const place_t* place,
                             const char* what, const char* name, int64_t maker) {
  int64_t old;
  if (!*name) return REPORT(checker, place, "%s has no name; export the model again", what);
  HONE_TRY(hone_names_add(&scope->values, name, maker, &old));
  if (old < 0) return NULL;
  return REPORT(checker, place, "%s '%.200s' has a name that is taken; each value needs its own",
                what, name);
}

static hone_status_t check_graph(checker_t* checker, scope_t* outer, const place_t* place,
                                 const hone_onnx_graph_t* graph);

static hone_status_t check_attr_names(checker_t* checker, const place_t* place,
                                      const hone_onnx_attr_t* attrs, int count) {
  hone_names_t names = hone_names_in(checker->scratch);
  for (int i = 0; i < count; i++) {
    int64_t old;
    HONE_TRY(hone_names_add(&names, attrs[i].name, i, &old));
    if (old >= 0) {
      HONE_TRY(REPORT(checker, place, "attribute '%.200s' is given twice", attrs[i].name));
    }
  }
  return NULL;
}

static hone_status_t check_attrs(checker_t* checker, scope_t* scope, const place_t* place,
                                 const hone_onnx_node_t* node) {
  if (node->n_attrs > 1) {
    HONE_TRY(check_attr_names(checker, place, node->attrs, node->n_attrs));
  }
  for (int a = 0; a < node->n_attrs; a++) {
    const hone_onnx_attr_t* attr = &node->attrs[a];
    if (attr->kind != HONE_ATTR_GRAPH && attr->kind != HONE_ATTR_GRAPHS) continue;
    place_t at_attr = {.outer = place, .kind = "attribute", .name = attr->name};
    for (int64_t i = 0; i < attr->count; i++) {
      place_t at_graph = {.outer = &at_attr, .kind = "graph", .name = attr->graphs[i]->name};
      HONE_TRY(check_graph(checker, scope, &at_graph, attr->graphs[i]));
    }
  }
  return NULL;
}

static hone_status_t check_node(checker_t* checker, scope_t* scope, const place_t* place,
                                const hone_onnx_node_t* node) {
  if (!*node->op_type) {
    HONE_TRY(REPORT(checker, place, "it has no operator; export the model again"));
  }
  for (int i = 0; i < node->n_inputs; i++) {
    const char* name = node->inputs[i];
    if (!*name || exists(scope, name)) continue;
    HONE_TRY(REPORT(checker, place,
                    "its input %d, '%.200s', is made by no node and is no input or initializer; "
                    "export the model again",
                    i, name));
  }
  HONE_TRY(check_attrs(checker, scope, place, node));
  for (int i = 0; i < node->n_outputs; i++) {
    if (!*node->outputs[i]) continue;
    HONE_TRY(declare(checker, scope, place, "its output", node->outputs[i], place->number));
  }
  return NULL;
}

/* "'a' (Add) <- 'b' (Mul) <- …", of at most ten nodes. */
static const char* ring_text(checker_t* checker, const hone_onnx_node_t* nodes, const int64_t* ring,
                             int64_t count) {
  const char* text = "";
  for (int64_t i = 0; text && i < count && i < 10; i++) {
    const hone_onnx_node_t* node = &nodes[ring[i]];
    const char* name = *node->name ? node->name : node->n_outputs ? node->outputs[0] : "";
    text = hone_arena_format(checker->scratch, "%s%s'%.200s' (%.200s)", text, i ? " <- " : "", name,
                             node->op_type);
  }
  return text;
}

static hone_status_t check_cycles(checker_t* checker, const place_t* place,
                                  hone_onnx_nodes_t nodes) {
  hone_onnx_needs_t needs;
  int64_t *ring, count;
  HONE_TRY(hone_onnx_needs_make(checker->scratch, nodes, &needs));
  HONE_TRY(hone_onnx_cycle(checker->scratch, nodes.count, &needs, &ring, &count));
  if (!count) return NULL;
  const char* text = ring_text(checker, nodes.items, ring, count);
  if (!text) return hone_oom();
  return REPORT(checker, place,
                "%" PRId64
                " node%s need%s the output of each other in a cycle, which cannot run: "
                "%s%s",
                count, count == 1 ? "" : "s", count == 1 ? "s" : "", text,
                count > 10 ? " <- …" : "");
}

static hone_status_t note_makers(scope_t* scope, hone_onnx_nodes_t nodes) {
  for (int64_t n = 0; n < nodes.count; n++) {
    const hone_onnx_node_t* node = &nodes.items[n];
    int64_t old;
    for (int i = 0; i < node->n_outputs; i++) {
      HONE_TRY(hone_names_add(&scope->makers, node->outputs[i], n, &old));
    }
  }
  return NULL;
}

static hone_status_t check_nodes(checker_t* checker, scope_t* scope, const place_t* place,
                                 hone_onnx_nodes_t nodes) {
  HONE_TRY(note_makers(scope, nodes));
  for (int64_t n = 0; n < nodes.count; n++) {
    const hone_onnx_node_t* node = &nodes.items[n];
    place_t at = {.outer = place, .name = node->name, .op = node->op_type, .number = n};
    HONE_TRY(check_node(checker, scope, &at, node));
  }
  return scope->late ? check_cycles(checker, place, nodes) : NULL;
}

/* Initializers may repeat the name of an input: they are its default. */
static hone_status_t check_initializers(checker_t* checker, scope_t* scope, const place_t* place,
                                        const hone_onnx_graph_t* graph) {
  hone_names_t inputs = scope->values;
  scope_t own = {.values = hone_names_in(checker->scratch)};
  for (int64_t i = 0; i < graph->n_initializers + graph->n_sparse; i++) {
    const char* name = i < graph->n_initializers
                           ? graph->initializers[i].name
                           : graph->sparse[i - graph->n_initializers].values.name;
    int64_t old;
    HONE_TRY(declare(checker, &own, place, "initializer", name, GIVEN));
    if (hone_names_get(&inputs, name) < 0) {
      HONE_TRY(hone_names_add(&scope->values, name, GIVEN, &old));
    }
  }
  return NULL;
}

static hone_status_t check_graph(checker_t* checker, scope_t* outer, const place_t* place,
                                 const hone_onnx_graph_t* graph) {
  scope_t scope = {.outer = outer,
                   .values = hone_names_in(checker->scratch),
                   .makers = hone_names_in(checker->scratch)};
  for (int64_t i = 0; i < graph->n_inputs; i++) {
    HONE_TRY(declare(checker, &scope, place, "input", graph->inputs[i].name, GIVEN));
  }
  HONE_TRY(check_initializers(checker, &scope, place, graph));
  HONE_TRY(check_nodes(checker, &scope, place, (hone_onnx_nodes_t){graph->nodes, graph->n_nodes}));
  for (int64_t i = 0; i < graph->n_outputs; i++) {
    const char* name = graph->outputs[i].name;
    if (exists(&scope, name)) continue;
    HONE_TRY(REPORT(checker, place,
                    "output '%.200s' is made by no node and is no input or initializer; export the "
                    "model again",
                    name));
  }
  return NULL;
}

static hone_status_t check_function(checker_t* checker, const hone_onnx_function_t* function) {
  place_t place = {.kind = "function", .name = function->name};
  scope_t scope = {.values = hone_names_in(checker->scratch),
                   .makers = hone_names_in(checker->scratch)};
  if (!*function->name) HONE_TRY(REPORT(checker, &place, "it has no name; export the model again"));
  for (int i = 0; i < function->n_inputs; i++) {
    HONE_TRY(declare(checker, &scope, &place, "input", function->inputs[i], GIVEN));
  }
  HONE_TRY(check_nodes(checker, &scope, &place,
                       (hone_onnx_nodes_t){function->nodes, function->n_nodes}));
  for (int i = 0; i < function->n_outputs; i++) {
    if (exists(&scope, function->outputs[i])) continue;
    HONE_TRY(REPORT(checker, &place, "output '%.200s' is made by no node; export the model again",
                    function->outputs[i]));
  }
  return NULL;
}

/* The functions by identity, and which calls which. */
typedef struct calls {
  hone_names_t functions;
  hone_arena_t* scratch;
  int64_t* callees;
  int64_t count;
  int64_t room;
} calls_t;

static const char* identity(hone_arena_t* arena, const char* domain, const char* name,
                            const char* overload) {
  return hone_arena_format(arena, "%s\n%s\n%s", domain, name, overload);
}

static hone_status_t add_callee(calls_t* calls, const hone_onnx_node_t* node) {
  const char* key = identity(calls->scratch, node->domain, node->op_type, node->overload);
  if (!key) return hone_oom();
  int64_t callee = hone_names_get(&calls->functions, key);
  if (callee < 0) return NULL;
  if (calls->count == calls->room) {
    int64_t room = calls->room ? calls->room * 2 : 64;
    int64_t* wider = hone_arena_array(calls->scratch, (size_t)room, sizeof *wider);
    if (!wider) return hone_oom();
    if (calls->count) memcpy(wider, calls->callees, (size_t)calls->count * sizeof *wider);
    calls->callees = wider;
    calls->room = room;
  }
  calls->callees[calls->count++] = callee;
  return NULL;
}

static hone_status_t collect_calls(calls_t* calls, const hone_onnx_node_t* nodes, int64_t count) {
  for (int64_t n = 0; n < count; n++) {
    HONE_TRY(add_callee(calls, &nodes[n]));
    for (int a = 0; a < nodes[n].n_attrs; a++) {
      const hone_onnx_attr_t* attr = &nodes[n].attrs[a];
      if (attr->kind != HONE_ATTR_GRAPH && attr->kind != HONE_ATTR_GRAPHS) continue;
      for (int64_t i = 0; i < attr->count; i++) {
        HONE_TRY(collect_calls(calls, attr->graphs[i]->nodes, attr->graphs[i]->n_nodes));
      }
    }
  }
  return NULL;
}

static hone_status_t report_recursion(checker_t* checker, const int64_t* ring, int64_t count) {
  const char* text = "";
  for (int64_t i = 0; text && i < count && i < 10; i++) {
    text = hone_arena_format(checker->scratch, "%s%s'%.200s'", text, i ? " -> " : "",
                             checker->model->functions[ring[i]].name);
  }
  if (!text) return hone_oom();
  return REPORT(checker, NULL,
                "functions call themselves, which ONNX does not allow: %s -> '%.200s'", text,
                checker->model->functions[ring[0]].name);
}

static hone_status_t check_recursion(checker_t* checker) {
  const hone_model_t* model = checker->model;
  calls_t calls = {.functions = hone_names_in(checker->scratch), .scratch = checker->scratch};
  for (int i = 0; i < model->n_functions; i++) {
    const hone_onnx_function_t* each = &model->functions[i];
    const char* key = identity(checker->scratch, each->domain, each->name, each->overload);
    int64_t old;
    if (!key) return hone_oom();
    HONE_TRY(hone_names_add(&calls.functions, key, i, &old));
    if (old < 0) continue;
    HONE_TRY(REPORT(checker, NULL, "function '%.200s' of domain '%.200s' is given twice",
                    each->name, each->domain));
  }
  int64_t* first =
      hone_arena_array(checker->scratch, (size_t)model->n_functions + 1, sizeof *first);
  if (!first) return hone_oom();
  for (int i = 0; i < model->n_functions; i++) {
    HONE_TRY(collect_calls(&calls, model->functions[i].nodes, model->functions[i].n_nodes));
    first[i + 1] = calls.count;
  }
  hone_onnx_needs_t needs = {.first = first, .needs = calls.callees};
  int64_t *ring, count;
  HONE_TRY(hone_onnx_cycle(checker->scratch, model->n_functions, &needs, &ring, &count));
  return count ? report_recursion(checker, ring, count) : NULL;
}

static hone_status_t check_header(checker_t* checker) {
  const hone_model_t* model = checker->model;
  if (model->ir_version < 1) {
    HONE_TRY(REPORT(checker, NULL, "it has no IR version; is this an ONNX model?"));
  }
  if (model->n_opsets == 0) {
    HONE_TRY(REPORT(checker, NULL,
                    "it imports no opset, so its operators have no meaning; export it again"));
  }
  for (int i = 0; i < model->n_opsets; i++) {
    if (model->opsets[i].version >= 1) continue;
    HONE_TRY(REPORT(checker, NULL, "it imports version %" PRId64 " of opset '%.200s'",
                    model->opsets[i].version, model->opsets[i].domain));
  }
  return NULL;
}

static hone_status_t check_all(checker_t* checker) {
  const hone_model_t* model = checker->model;
  HONE_TRY(check_header(checker));
  if (!model->graph) return REPORT(checker, NULL, "it has no graph; is this an ONNX model?");
  place_t place = {.kind = "graph", .name = model->graph->name};
  HONE_TRY(check_graph(checker, NULL, &place, model->graph));
  for (int i = 0; i < model->n_functions; i++) {
    HONE_TRY(check_function(checker, &model->functions[i]));
  }
  return model->n_functions ? check_recursion(checker) : NULL;
}

hone_status_t hone_onnx_check(const hone_model_t* model, hone_onnx_problems_t* out_problems) {
  *out_problems = (hone_onnx_problems_t){0};
  checker_t checker = {.model = model, .problems = out_problems};
  HONE_TRY(hone_arena_create(model->allocator, &out_problems->arena));
  hone_status_t status = hone_arena_create(model->allocator, &checker.scratch);
  if (!status) status = check_all(&checker);
  hone_arena_destroy(checker.scratch);
  if (status) hone_onnx_problems_destroy(out_problems);
  return status;
}

void hone_onnx_problems_destroy(hone_onnx_problems_t* problems) {
  hone_arena_destroy(problems->arena);
  *problems = (hone_onnx_problems_t){0};
}
