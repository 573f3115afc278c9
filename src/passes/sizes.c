/* Sizes: symbols that stand for numbers a run produces (an element of a tensor
 * that a Pad or Slice takes its numbers from, an extent that was not known) are
 * replaced where folding has shown what they are, in types and attributes
 * everywhere. What was built for any size then becomes what it is for this one. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

enum { MAX_ROUNDS = 8 };

/* What each symbol is, where it is known. */
typedef struct sizes {
  hone_pass_context_t* context;
  hone_dims_t* dims;
  int count;
  hone_dim_t* by;
  bool* is_known;
  int found; /* in this round */
} sizes_t;

/* ---- finding ---- */

/* Element `index` of an integer constant. */
static bool read_element(const hone_tensor_t* tensor, int64_t index, int64_t* out) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  if (dtype != HONE_I64 && dtype != HONE_I32) return false;
  if (index < 0 || index >= hone_tensor_count(tensor)) return false;
  const char* data = hone_tensor_data(tensor);
  int32_t narrow;
  if (dtype == HONE_I64) memcpy(out, data + index * 8, 8);
  if (dtype == HONE_I32) {
    memcpy(&narrow, data + index * 4, 4);
    *out = narrow;
  }
  return true;
}

static void found(sizes_t* s, const hone_node_t* node, int symbol, hone_dim_t what) {
  if (symbol >= s->count || s->is_known[symbol]) return;
  s->by[symbol] = what;
  s->is_known[symbol] = true;
  s->found++;
  hone_pass_did(s->context, node, "%s is %" PRId64, hone_dims_symbol(s->dims, symbol)->name,
                what.k);
}

static void look_at_value(sizes_t* s, const hone_value_t* value) {
  const hone_tensor_t* constant = hone_match_constant(value);
  int64_t element;
  for (const hone_bind_t* bind = value->binds; bind; bind = bind->next) {
    bool has_dim = bind->is_dim && bind->index < value->type.rank && value->type.dims;
    if (has_dim && hone_dim_is_int(value->type.dims[bind->index]))
      found(s, value->node, bind->symbol, value->type.dims[bind->index]);
    else if (!bind->is_dim && constant && read_element(constant, bind->index, &element))
      found(s, value->node, bind->symbol, hone_dim_int(element));
  }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are nested */
static void look(sizes_t* s, const hone_graph_t* graph) {
  for (const hone_short_name_t* n = graph->short_names; n; n = n->next) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(n->symbol);
    if (symbol && hone_dim_is_int(n->expression))
      found(s, n->value->node, symbol->id, n->expression);
  }
  for (int i = 0; i < graph->n_values; i++) look_at_value(s, graph->values[i]);
  for (int n = 0; n < graph->n_nodes; n++)
    for (int r = 0; r < graph->nodes[n]->n_regions; r++) look(s, graph->nodes[n]->regions[r]);
}

/* ---- replacing ---- */

/* A list with its symbols replaced; the same one where nothing changes. */
static hone_status_t replace_list(sizes_t* s, hone_graph_t* graph, int64_t count,
                                  const hone_dim_t** list) {
  const hone_dim_t* old = *list;
  hone_dim_t* fresh = NULL;
  for (int64_t i = 0; old && i < count; i++) {
    hone_dim_t now = hone_dim_replace(s->dims, old[i], s->count, s->by, s->is_known);
    if (hone_dim_same(now, old[i]) || hone_dim_is_bad(now)) continue;
    if (!fresh) fresh = hone_arena_memdup(graph->arena, old, (size_t)count * sizeof *old);
    if (!fresh) return hone_oom();
    fresh[i] = now;
  }
  if (fresh) *list = fresh;
  if (fresh) s->context->repeat = true;
  return NULL;
}

static hone_status_t replace_value(sizes_t* s, hone_graph_t* graph, hone_value_t* value) {
  HONE_TRY(replace_list(s, graph, value->type.rank, &value->type.dims));
  int64_t count = value->content ? hone_match_count(&value->type) : 0;
  return replace_list(s, graph, count, &value->content);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are nested */
static hone_status_t replace(sizes_t* s, hone_graph_t* graph) {
  for (hone_short_name_t* n = graph->short_names; n; n = n->next)
    n->expression = hone_dim_replace(s->dims, n->expression, s->count, s->by, s->is_known);
  for (int i = 0; i < graph->n_values; i++) HONE_TRY(replace_value(s, graph, graph->values[i]));
  for (int n = 0; n < graph->n_nodes; n++) {
    hone_node_t* node = graph->nodes[n];
    HONE_TRY(replace_list(s, graph, node->n_dims, &node->shape));
    HONE_TRY(replace_list(s, graph, node->n_dims, &node->lo));
    HONE_TRY(replace_list(s, graph, node->n_dims, &node->hi));
    HONE_TRY(replace_list(s, graph, node->n_dims, &node->step));
    for (int r = 0; r < node->n_regions; r++) HONE_TRY(replace(s, node->regions[r]));
  }
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  int count = hone_dims_symbol_count(graph->dims);
  size_t bytes = (size_t)count * (sizeof(hone_dim_t) + sizeof(bool));
  sizes_t s = {.context = context, .dims = graph->dims, .count = count};
  s.by = hone_alloc(graph->allocator, bytes + 1);
  if (!s.by) return hone_oom();
  s.is_known = (bool*)(void*)(s.by + count);
  hone_status_t status = NULL;
  for (int i = 0; i < MAX_ROUNDS && !status; i++) {
    s.found = 0;
    look(&s, graph);
    if (!s.found) break;
    status = replace(&s, graph);
  }
  hone_free(graph->allocator, s.by, bytes + 1);
  if (!status && context->count)
    hone_pass_note(context, "found %" PRId64 " sizes to be known numbers", context->count);
  return status;
}

extern const hone_pass_t hone_pass_sizes;
const hone_pass_t hone_pass_sizes = {
    .name = "sizes",
    .summary = "sizes of the run that folding has made known become numbers",
    .phases = {HONE_PHASE_CLEAN + 12, HONE_PHASE_CLEAN + 52},
    .repeats = "fold", /* where one layer's sizes are computed from those of the one before */
    .run = run,
};
