/* Graphs, nodes and values: making, appending, dropping. */
#include "ir/graph.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ir/graph_impl.h"

/* Makes room for one more pointer in an arena list. */
static bool reserve(hone_arena_t* arena, void* list_address, int count, int* room) {
  if (count < *room) return true;
  if (count > INT_MAX / 2) return false;
  int fresh_room = count ? count * 2 : 8;
  void** fresh = hone_arena_array(arena, (size_t)fresh_room, sizeof *fresh);
  if (!fresh) return false;
  void*** list = list_address;
  if (count) memcpy(fresh, *list, (size_t)count * sizeof *fresh);
  *list = fresh;
  *room = fresh_room;
  return true;
}

hone_status_t hone_graph_create(const hone_allocator_t* allocator, const char* name,
                                hone_graph_t** out_graph) {
  *out_graph = NULL;
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_graph_t* graph = hone_arena_alloc(arena, sizeof *graph);
  char* label = hone_arena_strdup(arena, name);
  hone_dims_t* dims = NULL;
  hone_status_t status = graph && label ? hone_dims_create(arena, &dims) : hone_oom();
  if (status) {
    hone_arena_destroy(arena);
    return status;
  }
  graph->name = label;
  graph->root = graph;
  graph->arena = arena;
  graph->allocator = allocator;
  graph->dims = dims;
  *out_graph = graph;
  return NULL;
}

void hone_graph_destroy(hone_graph_t* graph) {
  if (!graph) return;
  for (int i = 0; i < graph->n_constants; i++) hone_tensor_release(graph->constants[i]);
  for (hone_graph_cleanup_t* c = graph->cleanups; c; c = c->next) c->run(c->argument);
  hone_arena_destroy(graph->arena);
}

hone_status_t hone_graph_on_destroy(hone_graph_t* graph, void (*run)(void*), void* argument) {
  hone_graph_cleanup_t* cleanup = hone_arena_alloc(graph->arena, sizeof *cleanup);
  if (!cleanup) return hone_oom();
  *cleanup =
      (hone_graph_cleanup_t){.next = graph->root->cleanups, .run = run, .argument = argument};
  graph->root->cleanups = cleanup;
  return NULL;
}

hone_status_t hone_graph_create_region(hone_graph_t* parent, const char* name,
                                       hone_graph_t** out_region) {
  *out_region = NULL;
  hone_graph_t* region = hone_arena_alloc(parent->arena, sizeof *region);
  char* label = hone_arena_strdup(parent->arena, name);
  if (!region || !label) return hone_oom();
  region->name = label;
  region->root = parent->root;
  region->parent = parent;
  region->arena = parent->arena;
  region->allocator = parent->allocator;
  region->dims = parent->dims;
  *out_region = region;
  return NULL;
}

hone_status_t hone_graph_set_outputs(hone_graph_t* graph, int count, hone_value_t* const* values,
                                     const char* const* names) {
  graph->outputs = hone_arena_memdup(graph->arena, values, (size_t)count * sizeof *values);
  graph->output_names = hone_arena_array(graph->arena, (size_t)count, sizeof *names);
  if (!graph->outputs || !graph->output_names) return hone_oom();
  for (int i = 0; names && i < count; i++) {
    graph->output_names[i] = hone_arena_strdup(graph->arena, names[i]);
    if (!graph->output_names[i]) return hone_oom();
  }
  graph->n_outputs = count;
  return NULL;
}

static hone_value_t* append_value(hone_graph_t* graph, hone_node_t* node, int index,
                                  const hone_type_t* type) {
  if (!reserve(graph->arena, &graph->values, graph->n_values, &graph->values_room)) return NULL;
  hone_value_t* value = hone_arena_alloc(graph->arena, sizeof *value);
  if (!value) return NULL;
  value->id = graph->n_values;
  value->type = *type;
  value->node = node;
  value->index = index;
  graph->values[graph->n_values++] = value;
  return value;
}

hone_node_t* hone_graph_append(hone_graph_t* graph, const hone_node_t* node,
                               const hone_type_t* output_types) {
  hone_arena_t* arena = graph->arena;
  if (!reserve(arena, &graph->nodes, graph->n_nodes, &graph->nodes_room)) return NULL;
  if (node->prim == HONE_PRIM_INPUT &&
      !reserve(arena, &graph->inputs, graph->n_inputs, &graph->inputs_room))
    return NULL;
  hone_node_t* copy = hone_arena_memdup(arena, node, sizeof *node);
  if (!copy) return NULL;
  copy->graph = graph;
  copy->inputs =
      hone_arena_memdup(arena, node->inputs, (size_t)node->n_inputs * sizeof *node->inputs);
  copy->outputs = hone_arena_array(arena, (size_t)node->n_outputs, sizeof *copy->outputs);
  if (!copy->inputs || !copy->outputs) return NULL;
  for (int i = 0; i < node->n_outputs; i++) {
    copy->outputs[i] = append_value(graph, copy, i, &output_types[i]);
    if (!copy->outputs[i]) return NULL;
  }
  graph->nodes[graph->n_nodes++] = copy;
  if (node->prim == HONE_PRIM_INPUT) graph->inputs[graph->n_inputs++] = copy->outputs[0];
  return copy;
}

bool hone_graph_append_again(hone_graph_t* graph, hone_node_t* node) {
  hone_arena_t* arena = graph->arena;
  if (!reserve(arena, &graph->nodes, graph->n_nodes, &graph->nodes_room)) return false;
  for (int i = 0; i < node->n_outputs; i++) {
    if (!reserve(arena, &graph->values, graph->n_values, &graph->values_room)) return false;
    node->outputs[i]->id = graph->n_values;
    graph->values[graph->n_values++] = node->outputs[i];
  }
  graph->nodes[graph->n_nodes++] = node;
  return true;
}

bool hone_graph_place(hone_graph_t* graph, hone_node_t* node) {
  hone_arena_t* arena = graph->arena;
  if (!reserve(arena, &graph->nodes, graph->n_nodes, &graph->nodes_room)) return false;
  graph->nodes[graph->n_nodes++] = node;
  node->graph = graph;
  for (int r = 0; r < node->n_regions; r++) node->regions[r]->parent = graph;
  return true;
}

bool hone_graph_number(hone_graph_t* graph) {
  graph->n_values = 0;
  for (int n = 0; n < graph->n_nodes; n++)
    for (int i = 0; i < graph->nodes[n]->n_outputs; i++) {
      if (!reserve(graph->arena, &graph->values, graph->n_values, &graph->values_room))
        return false;
      hone_value_t* value = graph->nodes[n]->outputs[i];
      value->id = graph->n_values;
      graph->values[graph->n_values++] = value;
    }
  return true;
}

bool hone_graph_keep_constant(hone_graph_t* graph, hone_tensor_t* constant) {
  hone_graph_t* root = graph->root;
  if (!reserve(root->arena, &root->constants, root->n_constants, &root->constants_room)) {
    hone_tensor_release(constant);
    return false;
  }
  root->constants[root->n_constants++] = constant;
  return true;
}

void hone_graph_truncate(hone_graph_t* graph, int n_nodes, int n_values) {
  for (int i = n_nodes; i < graph->n_nodes; i++)
    if (graph->nodes[i]->prim == HONE_PRIM_INPUT) graph->n_inputs--;
  graph->n_nodes = n_nodes;
  graph->n_values = n_values;
}

hone_status_t hone_value_bind(hone_graph_t* graph, hone_value_t* value, int symbol, bool is_dim,
                              int64_t index) {
  hone_bind_t* bind = hone_arena_alloc(graph->arena, sizeof *bind);
  if (!bind) return hone_oom();
  *bind = (hone_bind_t){.next = value->binds, .symbol = symbol, .is_dim = is_dim, .index = index};
  value->binds = bind;
  return NULL;
}

/* ---- dead code ---- */

/* Marks the symbols that an expression needs. */
static void need_symbol(void* self, const hone_symbol_t* symbol) {
  bool* needed = self;
  needed[symbol->id] = true;
}

static void need_dims(bool* symbols, int count, const hone_dim_t* dims) {
  for (int i = 0; dims && i < count; i++) hone_dim_visit_symbols(dims[i], need_symbol, symbols);
}

static void need_region(const hone_graph_t* region, bool* symbols);

static void need_node_symbols(const hone_node_t* node, bool* symbols) {
  need_dims(symbols, node->n_dims, node->shape);
  need_dims(symbols, node->n_dims, node->lo);
  need_dims(symbols, node->n_dims, node->hi);
  need_dims(symbols, node->n_dims, node->step);
  for (int i = 0; i < node->n_outputs; i++) {
    const hone_type_t* type = &node->outputs[i]->type;
    need_dims(symbols, type->rank, type->dims);
  }
  for (int r = 0; r < node->n_regions; r++) need_region(node->regions[r], symbols);
}

/* Regions have been cleaned already, so all of their nodes count. */
static void need_region(const hone_graph_t* region, bool* symbols) {
  for (int i = 0; i < region->n_nodes; i++) need_node_symbols(region->nodes[i], symbols);
}

static bool value_needed(const hone_value_t* value, const bool* values, const bool* symbols) {
  if (values[value->id]) return true;
  for (const hone_bind_t* bind = value->binds; bind; bind = bind->next)
    if (symbols[bind->symbol]) return true;
  return false;
}

static bool node_needed(const hone_node_t* node, const bool* values, const bool* symbols) {
  if (node->prim == HONE_PRIM_INPUT) return true;
  for (int i = 0; i < node->n_outputs; i++)
    if (value_needed(node->outputs[i], values, symbols)) return true;
  return false;
}

/* Walks backwards; kept nodes end up marked in `keep`. */
static void mark_needed(hone_graph_t* graph, bool* keep, bool* values, bool* symbols) {
  for (int i = 0; i < graph->n_outputs; i++) values[graph->outputs[i]->id] = true;
  for (int n = graph->n_nodes - 1; n >= 0; n--) {
    const hone_node_t* node = graph->nodes[n];
    keep[n] = node_needed(node, values, symbols);
    if (!keep[n]) continue;
    for (int i = 0; i < node->n_inputs; i++)
      if (node->inputs[i]) values[node->inputs[i]->id] = true;
    need_node_symbols(node, symbols);
  }
}

static void compact(hone_graph_t* graph, const bool* keep) {
  int n_nodes = 0, n_values = 0;
  for (int n = 0; n < graph->n_nodes; n++) {
    if (!keep[n]) continue;
    hone_node_t* node = graph->nodes[n];
    graph->nodes[n_nodes++] = node;
    for (int i = 0; i < node->n_outputs; i++) {
      node->outputs[i]->id = n_values;
      graph->values[n_values++] = node->outputs[i];
    }
  }
  graph->n_nodes = n_nodes;
  graph->n_values = n_values;
}

/* Needs scratch memory; without it the graph stays as it is, which is right too. */
void hone_graph_drop_dead(hone_graph_t* graph) {
  for (int n = 0; n < graph->n_nodes; n++)
    for (int r = 0; r < graph->nodes[n]->n_regions; r++)
      hone_graph_drop_dead(graph->nodes[n]->regions[r]);
  size_t n_nodes = (size_t)graph->n_nodes, n_values = (size_t)graph->n_values;
  size_t total = n_nodes + n_values + (size_t)hone_dims_symbol_count(graph->dims);
  bool* marks = hone_alloc(graph->allocator, total);
  if (!marks) return;
  bool *values = marks + n_nodes, *symbols = values + n_values;
  if (graph->parent) /* symbols bound in a region may be used outside of it */
    memset(symbols, true, (size_t)hone_dims_symbol_count(graph->dims));
  mark_needed(graph, marks, values, symbols);
  compact(graph, marks);
  hone_free(graph->allocator, marks, total);
}

static int by_address(const void* a, const void* b) {
  const hone_tensor_t *x = *(hone_tensor_t*const*)a, *y = *(hone_tensor_t*const*)b;
  return (uintptr_t)x < (uintptr_t)y ? -1 : (uintptr_t)x > (uintptr_t)y;
}

/* Appends the constants that nodes have to `list`, or only counts them (NULL). */
static size_t collect_constants(const hone_graph_t* graph, hone_tensor_t** list, size_t count) {
  for (int n = 0; n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    if (node->constant && list) list[count] = node->constant;
    if (node->constant) count++;
    for (int r = 0; r < node->n_regions; r++)
      count = collect_constants(node->regions[r], list, count);
  }
  return count;
}

/* Needs scratch memory; without it they stay, which is right too. */
void hone_graph_drop_constants(hone_graph_t* root) {
  size_t count = collect_constants(root, NULL, 0), size = (count + 1) * sizeof(hone_tensor_t*);
  hone_tensor_t** used = hone_alloc(root->allocator, size);
  if (!used) return;
  collect_constants(root, used, 0);
  qsort(used, count, sizeof *used, by_address);
  int kept = 0;
  for (int i = 0; i < root->n_constants; i++) {
    hone_tensor_t* constant = root->constants[i];
    if (bsearch(&constant, used, count, sizeof *used, by_address))
      root->constants[kept++] = constant;
    else
      hone_tensor_release(constant);
  }
  root->n_constants = kept;
  hone_free(root->allocator, used, size);
}

int64_t hone_graph_node_count(const hone_graph_t* graph) {
  int64_t count = 0;
  for (int n = 0; n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    bool is_call = node->prim == HONE_PRIM_CALL; /* its parameters are no work either */
    count += is_call ? -node->regions[0]->n_inputs : 1;
    for (int r = 0; r < node->n_regions; r++) count += hone_graph_node_count(node->regions[r]);
  }
  return count;
}

/* ---- types ---- */

hone_type_t hone_type_tensor(hone_dtype_t dtype, int rank, const hone_dim_t* dims) {
  return (hone_type_t){.kind = HONE_TYPE_TENSOR, .dtype = dtype, .rank = rank, .dims = dims};
}

hone_type_t hone_type_any(void) { return (hone_type_t){.kind = HONE_TYPE_ANY, .rank = -1}; }

bool hone_type_same(const hone_type_t* a, const hone_type_t* b) {
  if (a->kind != b->kind) return false;
  if (a->kind != HONE_TYPE_TENSOR)
    return a->element == b->element ||
           (a->element && b->element && hone_type_same(a->element, b->element));
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  if (!a->dims != !b->dims) return a->rank == 0;
  for (int i = 0; a->dims && i < a->rank; i++)
    if (!hone_dim_same(a->dims[i], b->dims[i])) return false;
  return true;
}

bool hone_type_is_known(const hone_type_t* type) {
  return type->kind == HONE_TYPE_TENSOR && type->dtype != HONE_UNKNOWN && type->rank >= 0;
}

bool hone_type_is_static(const hone_type_t* type) {
  if (!hone_type_is_known(type)) return false;
  for (int i = 0; i < type->rank; i++)
    if (!hone_dim_is_int(type->dims[i])) return false;
  return true;
}
