#include "passes/common/recognise.h"

#include <string.h>

#include "base/memory.h"
#include "ir/outline.h"

enum { MAX_FIRST = 8, NONE = -1 };

typedef struct search {
  hone_pass_context_t* context;
  hone_arena_t* arena;
  int count;
  const hone_recognition_t* table;
  const hone_pattern_t** patterns; /* by row */
  int64_t* found;                  /* by row */
  /* of the graph at hand */
  hone_graph_t* graph;
  int* index_of; /* by value id: its node's place in the graph */
  int* uses;     /* by value id */
  int* group_of; /* by node */
  char* inside;  /* by node: belongs to the match at hand */
  hone_group_t* groups;
  int n_groups;
} search_t;

/* ---- one match ---- */

static int index_of(const search_t* s, const hone_node_t* node) {
  return s->index_of[node->outputs[0]->id];
}

static bool repeats(const hone_node_t* node) {
  return node->prim == HONE_PRIM_EXPAND || node->prim == HONE_PRIM_RESHAPE ||
         node->prim == HONE_PRIM_PERMUTE || node->prim == HONE_PRIM_CAST;
}

static bool is_bound(const hone_node_t* node) {
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]->binds) return true;
  return false;
}

static bool is_used_outside(const search_t* s, const hone_pattern_match_t* m,
                            const hone_node_t* node) {
  for (int o = 0; o < node->n_outputs; o++) {
    int uses = s->uses[node->outputs[o]->id];
    for (int n = 0; n < m->n_nodes; n++)
      for (int i = 0; i < m->nodes[n]->n_inputs; i++)
        uses -= m->nodes[n]->inputs[i] == node->outputs[o];
    if (uses > 0) return true;
  }
  return false;
}

/* Whether the node, and what it reads as far as that is in the match, only repeats
 * an input. */
static bool is_leaf(const search_t* s, const hone_node_t* node) {
  while (repeats(node)) {
    node = node->inputs[0]->node;
    if (!s->inside[index_of(s, node)]) return true;
  }
  return false;
}

static void leave_out(const search_t* s, hone_pattern_match_t* m, int at) {
  s->inside[index_of(s, m->nodes[at])] = 0;
  m->nodes[at] = m->nodes[--m->n_nodes];
}

/* Leaves out of the match what is cheap, and what only repeats an input and is
 * needed elsewhere or cannot be moved. */
static void trim(const search_t* s, hone_pattern_match_t* m, const hone_node_t* root) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = m->n_nodes - 1; i >= 0; i--) {
      const hone_node_t* node = m->nodes[i];
      bool cheap = node->n_outputs == 1 && hone_value_is_cheap(node->outputs[0]);
      bool leaf = node != root && is_leaf(s, node);
      bool taken = s->group_of[index_of(s, node)] != NONE;
      if (!cheap && !(leaf && (taken || is_bound(node) || is_used_outside(s, m, node)))) continue;
      leave_out(s, m, i);
      changed = true;
    }
  }
}

static bool is_whole(const search_t* s, const hone_pattern_match_t* m, const hone_node_t* root) {
  for (int i = 0; i < m->n_nodes; i++) {
    const hone_node_t* node = m->nodes[i];
    if (s->group_of[index_of(s, node)] != NONE || is_bound(node)) return false;
    if (node != root && is_used_outside(s, m, node)) return false;
  }
  return true;
}

/* The values that come first among the call's inputs. */
static int list_first(search_t* s, const hone_pattern_match_t* m, const char* names,
                      hone_value_t*** out_list) {
  *out_list = hone_arena_array(s->arena, MAX_FIRST, sizeof **out_list);
  int count = 0;
  while (*out_list && names && *names && count < MAX_FIRST) {
    char name[32] = {0};
    size_t length = strcspn(names, " ");
    if (length < sizeof name) memcpy(name, names, length);
    hone_value_t* value = hone_pattern_value(m, name);
    if (value) (*out_list)[count++] = value;
    names += length;
    names += strspn(names, " ");
  }
  return count;
}

/* Makes a group of the match; false where it cannot be one. */
static bool take_match(search_t* s, hone_pattern_match_t* m, hone_node_t* root, int row) {
  for (int i = 0; i < m->n_nodes; i++) s->inside[index_of(s, m->nodes[i])] = 1;
  trim(s, m, root);
  bool whole = m->n_nodes > 1 && is_whole(s, m, root);
  for (int i = 0; i < m->n_nodes; i++) s->inside[index_of(s, m->nodes[i])] = 0;
  if (!whole) return false;
  hone_value_t** first;
  int n_first = list_first(s, m, s->table[row].inputs, &first);
  for (int i = 0; i < m->n_nodes; i++) s->group_of[index_of(s, m->nodes[i])] = s->n_groups;
  s->groups[s->n_groups++] = (hone_group_t){
      .label = s->table[row].label, .origin = root->origin, .n_first = n_first, .first = first};
  s->found[row]++;
  hone_pass_did(s->context, root, "is %s", s->table[row].label);
  return true;
}

static void try_rows(search_t* s, hone_node_t* root) {
  hone_pattern_match_t match;
  for (int row = 0; row < s->count; row++) {
    if (!hone_pattern_match(s->patterns[row], root, &match)) continue;
    if (!hone_pattern_is_straight(&match, "x")) continue;
    if (s->table[row].accept && !s->table[row].accept(&match)) continue;
    if (take_match(s, &match, root, row)) return;
  }
}

/* ---- graphs ---- */

static hone_status_t prepare(search_t* s) {
  hone_graph_t* graph = s->graph;
  size_t n_values = (size_t)graph->n_values, n_nodes = (size_t)graph->n_nodes;
  s->index_of = hone_arena_array(s->arena, n_values, sizeof(int));
  s->uses = hone_arena_array(s->arena, n_values, sizeof(int));
  s->group_of = hone_arena_array(s->arena, n_nodes, sizeof(int));
  s->inside = hone_arena_array(s->arena, n_nodes, 1);
  s->groups = hone_arena_array(s->arena, n_nodes, sizeof *s->groups);
  s->n_groups = 0;
  if (!s->index_of || !s->uses || !s->group_of || !s->inside || !s->groups) return hone_oom();
  for (int n = 0; n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    s->group_of[n] = NONE;
    for (int i = 0; i < node->n_outputs; i++) s->index_of[node->outputs[i]->id] = n;
    for (int i = 0; i < node->n_inputs; i++)
      if (node->inputs[i]) s->uses[node->inputs[i]->id]++;
  }
  for (int i = 0; i < graph->n_outputs; i++) s->uses[graph->outputs[i]->id]++;
  return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as control flow is nested */
static hone_status_t search_graph(search_t* s, hone_graph_t* graph) {
  for (int n = 0; n < graph->n_nodes; n++)
    for (int r = 0; r < graph->nodes[n]->n_regions; r++)
      if (graph->nodes[n]->prim != HONE_PRIM_CALL)
        HONE_TRY(search_graph(s, graph->nodes[n]->regions[r]));
  s->graph = graph;
  HONE_TRY(prepare(s));
  for (int n = graph->n_nodes - 1; n >= 0; n--)
    if (s->group_of[n] == NONE && graph->nodes[n]->n_outputs) try_rows(s, graph->nodes[n]);
  if (!s->n_groups) return NULL;
  HONE_TRY(hone_graph_outline(graph, s->n_groups, s->groups, s->group_of));
  hone_graph_drop_dead(graph);
  return NULL;
}

/* One line a label, for all rows of it. */
static void report(const search_t* s) {
  for (int row = 0; row < s->count; row++) {
    int64_t found = 0;
    bool earlier = false;
    for (int i = 0; i < s->count; i++)
      if (strcmp(s->table[i].label, s->table[row].label) == 0) {
        found += s->found[i];
        earlier = earlier || i < row;
      }
    if (found && !earlier)
      hone_pass_note(s->context, "found %lld %s", (long long)found, s->table[row].label);
  }
}

static hone_status_t run(search_t* s, hone_graph_t* graph) {
  s->patterns = hone_arena_array(s->arena, (size_t)s->count, sizeof *s->patterns);
  s->found = hone_arena_array(s->arena, (size_t)s->count, sizeof *s->found);
  if (!s->patterns || !s->found) return hone_oom();
  for (int row = 0; row < s->count; row++)
    HONE_TRY(hone_pattern_parse(s->arena, s->table[row].pattern, &s->patterns[row]));
  HONE_TRY(search_graph(s, graph));
  report(s);
  return NULL;
}

hone_status_t hone_recognise(hone_pass_context_t* context, hone_graph_t* graph, int count,
                             const hone_recognition_t* table) {
  search_t s = {.context = context, .count = count, .table = table};
  HONE_TRY(hone_arena_create(graph->allocator, &s.arena));
  hone_status_t status = run(&s, graph);
  hone_arena_destroy(s.arena);
  return status;
}
