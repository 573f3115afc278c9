/* Dependencies between nodes, and a depth-first walk over them with a stack of
 * its own, since chains may be as long as a model. */
#include "import/onnx_order.h"

#include <string.h>

#include "base/memory.h"
#include "import/names.h"
#include "import/onnx.h"
#include "import/onnx_taken.h"

typedef struct collector {
  hone_arena_t* arena;
  const hone_names_t* makers; /* name to node */
  int64_t* needs;
  int64_t count;
  int64_t room;
} collector_t;

/* Notes the maker of a name that the node takes, if it is a node. */
static hone_status_t collect_name(void* self, const char* name) {
  collector_t* to = self;
  int64_t maker = hone_names_get(to->makers, name);
  if (maker < 0) return NULL;
  if (to->count == to->room) {
    int64_t room = to->room ? to->room * 2 : 64;
    int64_t* wider = hone_arena_array(to->arena, (size_t)room, sizeof *wider);
    if (!wider) return hone_oom();
    if (to->count) memcpy(wider, to->needs, (size_t)to->count * sizeof *wider);
    to->needs = wider;
    to->room = room;
  }
  to->needs[to->count++] = maker;
  return NULL;
}

hone_status_t hone_onnx_needs_make(hone_arena_t* arena, hone_onnx_nodes_t nodes,
                                   hone_onnx_needs_t* out_needs) {
  hone_names_t makers = hone_names_in(arena);
  for (int64_t n = 0; n < nodes.count; n++) {
    const hone_onnx_node_t* node = &nodes.items[n];
    int64_t old;
    for (int i = 0; i < node->n_outputs; i++) {
      if (*node->outputs[i]) HONE_TRY(hone_names_add(&makers, node->outputs[i], n, &old));
    }
  }
  int64_t* first = hone_arena_array(arena, (size_t)nodes.count + 1, sizeof *first);
  if (!first) return hone_oom();
  collector_t to = {.arena = arena, .makers = &makers};
  for (int64_t n = 0; n < nodes.count; n++) {
    HONE_TRY(hone_onnx_visit_taken(arena, &nodes.items[n], collect_name, &to));
    first[n + 1] = to.count;
  }
  *out_needs = (hone_onnx_needs_t){.first = first, .needs = to.needs};
  return NULL;
}

/* A depth-first walk. A node is on the stack from when it is met to when all
 * it needs is done. */
typedef struct walk {
  const hone_onnx_needs_t* needs;
  int64_t* next; /* by node: which of its needs is looked at next; -1: not met */
  bool* done;
  int64_t* stack;
  int64_t height;
  int64_t* order;
  int64_t n_ordered;
} walk_t;

static hone_status_t walk_make(hone_arena_t* arena, int64_t n_nodes, const hone_onnx_needs_t* needs,
                               walk_t* walk) {
  size_t n = (size_t)n_nodes;
  *walk = (walk_t){.needs = needs,
                   .next = hone_arena_array(arena, n, sizeof *walk->next),
                   .done = hone_arena_array(arena, n, sizeof *walk->done),
                   .stack = hone_arena_array(arena, n, sizeof *walk->stack),
                   .order = hone_arena_array(arena, n, sizeof *walk->order)};
  if (!walk->next || !walk->done || !walk->stack || !walk->order) return hone_oom();
  for (size_t i = 0; i < n; i++) walk->next[i] = -1;
  return NULL;
}

static void walk_push(walk_t* walk, int64_t node) {
  walk->next[node] = walk->needs->first[node];
  walk->stack[walk->height++] = node;
}

/* One step: goes down to something needed, or puts the top into the order.
 * Gives the node that closes a ring, being on the stack already; -1 mostly. */
static int64_t walk_step(walk_t* walk) {
  int64_t top = walk->stack[walk->height - 1];
  if (walk->next[top] == walk->needs->first[top + 1]) {
    walk->done[top] = true;
    walk->order[walk->n_ordered++] = top;
    walk->height--;
    return -1;
  }
  int64_t need = walk->needs->needs[walk->next[top]++];
  if (walk->next[need] >= 0) return walk->done[need] ? -1 : need;
  walk_push(walk, need);
  return -1;
}

hone_status_t hone_onnx_order(hone_arena_t* arena, int64_t n_nodes, const hone_onnx_needs_t* needs,
                              int64_t** out_order) {
  walk_t walk;
  HONE_TRY(walk_make(arena, n_nodes, needs, &walk));
  for (int64_t node = 0; node < n_nodes; node++) {
    if (walk.next[node] < 0) walk_push(&walk, node);
    while (walk.height) walk_step(&walk);
  }
  *out_order = walk.order;
  return NULL;
}

hone_status_t hone_onnx_cycle(hone_arena_t* arena, int64_t n_nodes, const hone_onnx_needs_t* needs,
                              int64_t** out_ring, int64_t* out_count) {
  walk_t walk;
  *out_count = 0;
  HONE_TRY(walk_make(arena, n_nodes, needs, &walk));
  int64_t closing = -1;
  for (int64_t node = 0; node < n_nodes && closing < 0; node++) {
    if (walk.next[node] < 0) walk_push(&walk, node);
    while (walk.height && closing < 0) closing = walk_step(&walk);
  }
  if (closing < 0) return NULL;
  int64_t from = walk.height - 1;
  while (walk.stack[from] != closing) from--;
  *out_ring = walk.stack + from;
  *out_count = walk.height - from;
  return NULL;
}

static hone_status_t sort_graphs_in(hone_model_t* model, hone_onnx_nodes_t nodes);

static bool is_sorted(const hone_onnx_needs_t* needs, int64_t n_nodes) {
  for (int64_t n = 0; n < n_nodes; n++) {
    for (int64_t i = needs->first[n]; i < needs->first[n + 1]; i++) {
      if (needs->needs[i] >= n) return false;
    }
  }
  return true;
}

static hone_status_t reorder(hone_arena_t* scratch, hone_onnx_nodes_t nodes,
                             const hone_onnx_needs_t* needs) {
  int64_t* order;
  HONE_TRY(hone_onnx_order(scratch, nodes.count, needs, &order));
  hone_onnx_node_t* old =
      hone_arena_memdup(scratch, nodes.items, (size_t)nodes.count * sizeof *old);
  if (!old) return hone_oom();
  for (int64_t i = 0; i < nodes.count; i++) nodes.items[i] = old[order[i]];
  return NULL;
}

static hone_status_t sort_nodes(hone_model_t* model, hone_onnx_nodes_t nodes) {
  hone_arena_t* scratch;
  HONE_TRY(hone_arena_create(model->allocator, &scratch));
  hone_onnx_needs_t needs;
  hone_status_t status = hone_onnx_needs_make(scratch, nodes, &needs);
  if (!status && !is_sorted(&needs, nodes.count)) status = reorder(scratch, nodes, &needs);
  hone_arena_destroy(scratch);
  return status ? status : sort_graphs_in(model, nodes);
}

static hone_status_t sort_graphs_in(hone_model_t* model, hone_onnx_nodes_t nodes) {
  for (int64_t n = 0; n < nodes.count; n++) {
    const hone_onnx_node_t* node = &nodes.items[n];
    for (int a = 0; a < node->n_attrs; a++) {
      const hone_onnx_attr_t* attr = &node->attrs[a];
      if (attr->kind != HONE_ATTR_GRAPH && attr->kind != HONE_ATTR_GRAPHS) continue;
      for (int64_t i = 0; i < attr->count; i++) {
        hone_onnx_graph_t* graph = attr->graphs[i];
        HONE_TRY(sort_nodes(model, (hone_onnx_nodes_t){graph->nodes, graph->n_nodes}));
      }
    }
  }
  return NULL;
}

hone_status_t hone_onnx_sort(hone_model_t* model) {
  if (model->graph) {
    HONE_TRY(sort_nodes(model, (hone_onnx_nodes_t){model->graph->nodes, model->graph->n_nodes}));
  }
  for (int i = 0; i < model->n_functions; i++) {
    hone_onnx_function_t* function = &model->functions[i];
    HONE_TRY(sort_nodes(model, (hone_onnx_nodes_t){function->nodes, function->n_nodes}));
  }
  return NULL;
}
