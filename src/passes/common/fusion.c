/* Planning kernels. See passes/fuse.c for the idea. */
#include <string.h>

#include "base/memory.h"
#include "ir/outline.h"
#include "passes/common/either.h"
#include "passes/common/fusion_impl.h"
#include "passes/common/match.h"
#include "passes/common/node_hash.h"

/* MAX_TREE: how often a node may be reached from one below it in its group. Who looks at
 * what a kernel computes goes every way there is; chains of x * f(x) double them. */
enum { MAX_ROW = 16 << 10, MAX_STACK = 16, MAX_TREE = 10000 };
/* A node begins a group, and may begin another one when it leaves the one that it joined. */
enum { MOST_GROUPS = 2 };

/* ---- nodes ---- */

bool hone_fusion_is_view(const hone_node_t* node) {
  switch (node->prim) {
    case HONE_PRIM_RESHAPE:
    case HONE_PRIM_PERMUTE:
    case HONE_PRIM_EXPAND:
    case HONE_PRIM_SLICE:
    case HONE_PRIM_FLIP:
    case HONE_PRIM_WINDOW:
      return true;
    default:
      return false;
  }
}

static bool has_arithmetic(const hone_value_t* value) {
  if (!value || !hone_type_is_known(&value->type)) return false;
  hone_dtype_t dtype = value->type.dtype;
  return dtype != HONE_STRING && !hone_dtype_is_complex(dtype) && value->type.rank <= 8;
}

static bool is_loop(const hone_node_t* node) {
  switch (hone_prim_info(node->prim)->family) {
    case HONE_FAMILY_UNARY:
    case HONE_FAMILY_BINARY:
    case HONE_FAMILY_SELECT:
    case HONE_FAMILY_CAST:
    case HONE_FAMILY_MOVEMENT:
      return true;
    case HONE_FAMILY_WHOLE:
      return node->prim != HONE_PRIM_SORT;
    default:
      return false;
  }
}

bool hone_fusion_is_member(const hone_node_t* node) {
  if (!is_loop(node)) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (!has_arithmetic(node->inputs[i])) return false;
  for (int i = 0; i < node->n_outputs; i++)
    if (!has_arithmetic(node->outputs[i]) || node->outputs[i]->binds) return false;
  return true;
}

/* Whether a concat puts single rows together: a choice by the index, which is
 * written out where the kernel is built. */
static bool is_stack(const hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONCAT || node->n_inputs > MAX_STACK) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (!hone_dim_is(node->inputs[i]->type.dims[node->axes[0]], 1)) return false;
  return true;
}

hone_fusion_kind_t hone_fusion_kind_of(const hone_node_t* node) {
  if (is_stack(node)) return HONE_FUSION_MAP;
  switch (node->prim) {
    case HONE_PRIM_REDUCE:
      return HONE_FUSION_REDUCE;
    case HONE_PRIM_CONTRACT:
      return HONE_FUSION_CONTRACT;
    case HONE_PRIM_SCAN:
    case HONE_PRIM_SCATTER:
    case HONE_PRIM_CONCAT:
      return HONE_FUSION_WHOLE;
    default:
      return HONE_FUSION_MAP;
  }
}

const hone_value_t* hone_fusion_turned_rows(const hone_graph_t* graph, const hone_node_t* gather) {
  enum { SHARE = 4 };
  if (gather->prim != HONE_PRIM_GATHER) return NULL;
  const hone_value_t *table = gather->inputs[0], *rows = gather->outputs[0];
  hone_dims_t* dims = graph->dims;
  hone_dim_t all = hone_dim_product(dims, table->type.rank, table->type.dims);
  hone_dim_t found = hone_dim_product(dims, rows->type.rank, rows->type.dims);
  hone_dim_t most = hone_dim_mul(dims, found, hone_dim_int(SHARE));
  if (hone_dim_min_value(hone_dim_sub(dims, most, all)) < 0) return NULL;
  for (; hone_fusion_is_view(table->node); table = table->node->inputs[0]) {
    const hone_node_t* view = table->node;
    int last = table->type.rank - 1;
    if (view->prim == HONE_PRIM_PERMUTE && last >= 0 && view->axes[last] != last) return table;
  }
  return NULL;
}

/* The product of the extents, as one expression. */
static hone_dim_t count_of(const hone_fusion_t* f, const hone_value_t* v) {
  return hone_dim_product(f->graph->dims, v->type.rank, v->type.dims);
}

static bool same_count(const hone_fusion_t* f, const hone_value_t* a, const hone_value_t* b) {
  return hone_dim_same(count_of(f, a), count_of(f, b));
}

/* ---- groups ---- */

int hone_fusion_group_at(const hone_fusion_t* f, int node) {
  int g = f->group_of[node];
  while (g >= 0 && f->groups[g].merged >= 0) g = f->groups[g].merged;
  return g;
}

int hone_fusion_group_of(const hone_fusion_t* f, const int* index_of, const hone_value_t* v) {
  return v ? hone_fusion_group_at(f, index_of[v->id]) : -1;
}

/* Reductions over the last axes of rows that are short enough keep company
 * with others over the same rows and with what is computed from them. */
static const hone_value_t* rows_of(const hone_node_t* node) {
  const hone_value_t* x = node->inputs[0];
  int64_t count = 1;
  for (int i = 0; i < node->n_axes; i++) {
    hone_dim_t extent = x->type.dims[node->axes[i]];
    if (node->axes[i] < x->type.rank - node->n_axes) return NULL;
    /* Of a size that only a run knows rows are taken to be short. */
    if (hone_dim_is_int(extent) && !hone_i64_mul(count, extent.k, &count)) return NULL;
  }
  return count <= MAX_ROW ? x : NULL;
}

int hone_fusion_start_group(hone_fusion_t* f, const hone_node_t* node, int index) {
  hone_fusion_kind_t kind = hone_fusion_kind_of(node);
  f->groups[f->n_groups] = (hone_fusion_group_t){
      .kind = kind,
      .first = index,
      .last = index,
      .merged = -1,
      .anchor = node,
      .shape = node->outputs[0],
      .rows = kind == HONE_FUSION_REDUCE ? rows_of(node) : NULL,
  };
  return f->n_groups++;
}

/* ---- paths ---- */

/* Whether the group is among the ancestors of the node, through others. A group
 * is computed at once: all of its inputs come before all of it. So only what
 * ends before `lowest`, where the group begins, is certain not to need it. */
static bool reaches(hone_fusion_search_t* s, int node, int group, int lowest) {
  int mine = hone_fusion_group_at(s->f, node);
  const hone_fusion_group_t* g = mine < 0 ? NULL : &s->f->groups[mine];
  if (mine == group) return true;
  if ((g ? g->last : node) < lowest || s->seen[node] == s->number) return false;
  s->seen[node] = s->number;
  const hone_node_t* n = s->f->graph->nodes[node];
  for (int i = 0; i < n->n_inputs; i++)
    if (n->inputs[i] && reaches(s, s->index_of[n->inputs[i]->id], group, lowest)) return true;
  for (int i = g ? g->first : 0; g && i <= g->last; i++)
    if (hone_fusion_group_at(s->f, i) == mine && reaches(s, i, group, lowest)) return true;
  return false;
}

/* Whether a path leads from `from` to a node of `to` over a node of neither. */
static bool is_cut(hone_fusion_search_t* s, int from, int to) {
  const hone_fusion_group_t* g = &s->f->groups[to];
  s->number++;
  for (int i = g->first; i <= g->last; i++) {
    if (hone_fusion_group_at(s->f, i) != to) continue;
    const hone_node_t* n = s->f->graph->nodes[i];
    s->seen[i] = s->number;
    for (int k = 0; k < n->n_inputs; k++) {
      if (!n->inputs[k]) continue;
      int input = s->index_of[n->inputs[k]->id], owner = hone_fusion_group_at(s->f, input);
      if (owner == from || owner == to) continue;
      if (reaches(s, input, from, s->f->groups[from].first)) return true;
    }
  }
  return false;
}

/* Counts the ways above a node as if `one` and `other` were one group. What has loops of
 * its own is computed once, and asked of no further. */
static int count_tree(const hone_fusion_search_t* s, int index, int one, int other) {
  const hone_node_t* node = s->f->graph->nodes[index];
  int64_t count = 1;
  if (hone_fusion_kind_of(node) != HONE_FUSION_MAP) return 1;
  /* Indices have names, so that what they are computed from is asked for once. */
  int n = node->prim == HONE_PRIM_GATHER ? 1 : node->n_inputs;
  for (int i = 0; i < n; i++) {
    int input = node->inputs[i] ? s->index_of[node->inputs[i]->id] : -1;
    int g = input < 0 ? -1 : hone_fusion_group_at(s->f, input);
    if (g >= 0 && (g == one || g == other)) count += s->tree[input];
  }
  return count > MAX_TREE ? MAX_TREE + 1 : (int)count;
}

bool hone_fusion_grows_too_large(const hone_fusion_search_t* s, int one, int other) {
  const hone_fusion_group_t *a = &s->f->groups[one], *b = &s->f->groups[other];
  int first = a->first < b->first ? a->first : b->first;
  int last = a->last > b->last ? a->last : b->last;
  bool is_large = false;
  for (int i = first; i <= last; i++) {
    int g = hone_fusion_group_at(s->f, i);
    if (g < 0 || (g != one && g != other)) continue;
    s->tree[i] = count_tree(s, i, one, other);
    is_large |= s->tree[i] > MAX_TREE;
  }
  for (int i = first; i <= last && is_large; i++) { /* as they were */
    int g = hone_fusion_group_at(s->f, i);
    if (g >= 0 && (g == one || g == other)) s->tree[i] = count_tree(s, i, g, g);
  }
  return is_large;
}

void hone_fusion_merge(hone_fusion_t* f, int from, int into) {
  hone_fusion_group_t *a = &f->groups[from], *b = &f->groups[into];
  a->merged = into;
  if (a->first < b->first) b->first = a->first;
  if (a->last > b->last) b->last = a->last;
}

void hone_fusion_move(hone_fusion_t* f, int node, int group) {
  hone_fusion_group_t* g = &f->groups[group];
  f->group_of[node] = group;
  if (node < g->first) g->first = node;
  if (node > g->last) g->last = node;
}

/* Whether the group looks many bytes up in a table of 256 (passes/table.c): whole vectors do so at
 * a time where nothing else is computed (backends/cpu/render_lookup.c), and one by one else. */
static bool looks_bytes_up(const hone_fusion_t* f, const hone_fusion_group_t* g) {
  enum { MANY = 4096 };
  const hone_value_t* found = g->anchor->outputs[0];
  return hone_match_is_table(g->anchor) && hone_dtype_size(found->type.dtype) == 1 &&
         hone_dim_max_value(count_of(f, found)) >= MANY;
}

/* ---- forwards ---- */

bool hone_fusion_keeps_shape(const hone_node_t* node) {
  return node->prim == HONE_PRIM_RESHAPE || node->prim == HONE_PRIM_PERMUTE ||
         (hone_prim_info(node->prim)->family != HONE_FAMILY_MOVEMENT &&
          hone_fusion_kind_of(node) == HONE_FUSION_MAP && node->prim != HONE_PRIM_GATHER);
}

static bool is_same_reduction(const hone_fusion_t* f, const hone_fusion_group_t* g,
                              const hone_node_t* node) {
  return g->kind == HONE_FUSION_REDUCE && g->rows && rows_of(node) &&
         hone_match_same_shape(g->rows, node->inputs[0]) &&
         same_count(f, g->shape, node->outputs[0]);
}

/* A view of what others read as well would be stored a second time. */
static bool is_second_view(const hone_fusion_t* f, const hone_fusion_search_t* s,
                           const hone_node_t* node) {
  return hone_fusion_is_view(node) && s->uses[node->inputs[0]->id] > 1;
}

/* Whether all that is read of the padded value is read out of order, by what has
 * to find it in memory: windows, mostly. */
static bool is_pad_for_windows(const hone_fusion_search_t* s, const hone_node_t* pad) {
  const hone_graph_t* graph = s->f->graph;
  for (int i = 0; i < graph->n_nodes; i++) {
    const hone_node_t* node = graph->nodes[i];
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k] == pad->outputs[0] && !hone_fusion_is_view(node) &&
          hone_fusion_is_member(node) && node->prim != HONE_PRIM_CONTRACT)
        return false;
  }
  return true;
}

/* A pad whose operand the group makes: it is stored inside of the pad at once. */
static bool may_pad(const hone_fusion_search_t* s, const hone_fusion_group_t* g,
                    const hone_node_t* pad) {
  const hone_value_t* x = pad->inputs[0];
  if (!hone_value_is_cheap(pad->inputs[1])) return false;
  if (g->kind == HONE_FUSION_WHOLE)
    return x->node == g->anchor && x->node->prim == HONE_PRIM_CONCAT && s->uses[x->id] == 1;
  if (x->node->prim == HONE_PRIM_CONCAT) /* of what it gives, as joins_results has it */
    return is_pad_for_windows(s, pad);
  bool is_row = g->kind == HONE_FUSION_REDUCE && g->rows && same_count(s->f, g->rows, x);
  return (is_row || same_count(s->f, g->shape, x)) && is_pad_for_windows(s, pad);
}

/* A concat of what the group computes of its sums, rounded, and of what that leaves over. */
static bool joins_results(const hone_fusion_search_t* s, const hone_fusion_group_t* g,
                          const hone_node_t* concat) {
  const hone_fusion_t* f = s->f;
  bool joins = concat->n_inputs == 2 && hone_value_is_rest(concat->inputs[1], concat->inputs[0]) &&
               (g->kind == HONE_FUSION_CONTRACT || g->kind == HONE_FUSION_REDUCE);
  for (int i = 0; i < concat->n_inputs && joins; i++) {
    const hone_value_t* part = concat->inputs[i];
    joins = hone_fusion_group_of(f, s->index_of, part) == g - f->groups &&
            (same_count(f, g->shape, part) || (g->rows && same_count(f, g->rows, part)));
  }
  return joins;
}

/* Whether the node may become a member of the group that makes its operand. */
static bool may_follow(const hone_fusion_search_t* s, const hone_fusion_group_t* g,
                       const hone_node_t* node) {
  const hone_fusion_t* f = s->f;
  const hone_value_t* out = node->outputs[0];
  if (node->prim == HONE_PRIM_PAD) return may_pad(s, g, node);
  if (node->prim == HONE_PRIM_CONCAT && !is_stack(node)) return joins_results(s, g, node);
  if (node->prim == HONE_PRIM_REDUCE) return is_same_reduction(f, g, node);
  bool is_widened = node->prim == HONE_PRIM_CAST && node->dtype == HONE_I16; /* (shorts.c) */
  if (looks_bytes_up(f, g) && !hone_fusion_is_view(node) && !is_widened) return false;
  if (hone_fusion_kind_of(node) != HONE_FUSION_MAP || node->prim == HONE_PRIM_WINDOW ||
      node->prim == HONE_PRIM_GATHER || g->kind == HONE_FUSION_WHOLE)
    return false;
  if (g->kind == HONE_FUSION_REDUCE && g->rows) {
    bool expands_row = node->prim == HONE_PRIM_EXPAND && hone_match_same_shape(g->rows, out);
    if (expands_row || (hone_fusion_keeps_shape(node) && same_count(f, g->rows, out))) return true;
  }
  return hone_fusion_keeps_shape(node) && same_count(f, g->shape, out);
}

/* Of two producers the one with more in it than what constants repeat; then the one that comes
 * last: the others are there before it. */
static bool is_better_to_follow(const hone_fusion_t* f, int group, int best) {
  if (best < 0) return true;
  const hone_fusion_group_t *a = &f->groups[group], *b = &f->groups[best];
  bool repeats = hone_match_from_constants(a->shape),
       best_repeats = hone_match_from_constants(b->shape);
  if (a->kind != b->kind) return a->kind > b->kind;
  if (repeats != best_repeats) return best_repeats;
  return a->last > b->last;
}

static void join_forwards(hone_fusion_t* f, hone_fusion_search_t* s, int index) {
  const hone_node_t* node = f->graph->nodes[index];
  int own = hone_fusion_start_group(f, node, index);
  f->group_of[index] = own;
  int best = -1;
  for (int i = 0; i < node->n_inputs; i++) {
    int g = hone_fusion_group_of(f, s->index_of, node->inputs[i]);
    if (g < 0 || g == own || !may_follow(s, &f->groups[g], node)) continue;
    if (is_second_view(f, s, node)) continue;
    if (is_better_to_follow(f, g, best) && !is_cut(s, g, own)) best = g;
  }
  s->tree[index] = best < 0 ? 1 : count_tree(s, index, best, best);
  if (s->tree[index] > MAX_TREE)
    s->tree[index] = 1;
  else if (best >= 0)
    hone_fusion_merge(f, own, best);
}

/* ---- backwards ---- */

static int last_reader_of(const hone_fusion_t* f, const hone_fusion_search_t* s, int group) {
  int last = -1;
  for (int i = f->groups[group].first; i <= f->groups[group].last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    for (int k = 0; k < node->n_outputs && hone_fusion_group_at(f, i) == group; k++)
      if (s->last_reader[node->outputs[k]->id] > last) last = s->last_reader[node->outputs[k]->id];
  }
  return last;
}

int hone_fusion_only_reader(const hone_fusion_t* f, const hone_fusion_search_t* s, int group,
                            bool* out_is_only) {
  int reader = -1, last = last_reader_of(f, s, group);
  *out_is_only = true;
  for (int i = f->groups[group].first; i <= last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    int mine = hone_fusion_group_at(f, i);
    if (mine == group) continue;
    for (int k = 0; k < node->n_inputs; k++) {
      if (!node->inputs[k] || hone_fusion_group_of(f, s->index_of, node->inputs[k]) != group)
        continue;
      if (reader >= 0 && reader != mine) *out_is_only = false;
      if (mine < 0) *out_is_only = false;
      if (reader < 0) reader = mine;
    }
  }
  return reader;
}

bool hone_fusion_gives_output(const hone_fusion_t* f, const hone_fusion_search_t* s, int group) {
  for (int i = 0; i < f->graph->n_outputs; i++)
    if (hone_fusion_group_of(f, s->index_of, f->graph->outputs[i]) == group) return true;
  return false;
}

typedef struct contents {
  bool only_views, has_costly, has_choice, has_stack, has_lookup;
  int n, n_computed; /* nodes, and those that are no views */
} contents_t;

static contents_t contents_of(const hone_fusion_t* f, int group) {
  contents_t c = {.only_views = true};
  for (int i = f->groups[group].first; i <= f->groups[group].last; i++) {
    if (hone_fusion_group_at(f, i) != group) continue;
    const hone_node_t* node = f->graph->nodes[i];
    c.n++;
    c.n_computed += !hone_fusion_is_view(node);
    c.only_views &= hone_fusion_is_view(node);
    c.has_lookup |= node->prim == HONE_PRIM_GATHER;
    c.has_costly |= hone_prim_is_transcendental(node->prim) || node->prim == HONE_PRIM_GATHER;
    c.has_stack |= is_stack(node);
    c.has_choice |= node->prim == HONE_PRIM_PAD || node->prim == HONE_PRIM_CONCAT;
  }
  return c;
}

/* Whether the readers read each element of the group's about once. */
static bool is_read_once(const hone_fusion_t* f, const hone_fusion_group_t* map,
                         const hone_fusion_group_t* reader) {
  const hone_value_t* loops =
      reader->kind == HONE_FUSION_REDUCE ? reader->anchor->inputs[0] : reader->shape;
  hone_dims_t* dims = f->graph->dims;
  hone_dim_t own = count_of(f, map->shape), whole = count_of(f, loops);
  hone_dim_t twice = hone_dim_mul(dims, own, hone_dim_int(2));
  return hone_dim_same(own, whole) || hone_dim_min_value(hone_dim_sub(dims, twice, whole)) >= 0 ||
         reader->kind == HONE_FUSION_WHOLE;
}

/* Whether the reader puts rows of the group on a stack, each of which it reads once. */
static bool is_stacked(const hone_fusion_t* f, const hone_fusion_search_t* s, int group,
                       int reader) {
  for (int i = f->groups[reader].first; i <= f->groups[reader].last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    if (hone_fusion_group_at(f, i) != reader || !is_stack(node)) continue;
    for (int k = 0; k < node->n_inputs; k++)
      if (hone_fusion_group_of(f, s->index_of, node->inputs[k]) == group) return true;
  }
  return false;
}

/* Parts of a value, of `each` elements, that are taken in the rounds of a stack. */
enum { MOST_TAKEN = 64 };
typedef struct taken {
  hone_dim_t each;
  const hone_value_t* parts[MOST_TAKEN];
  int n;
} taken_t;

/* NOLINTNEXTLINE(misc-no-recursion): as deep as what is computed of one value */
static bool are_same(const hone_value_t* a, const hone_value_t* b) {
  if (a == b) return true;
  if (!a->node || !b->node || !hone_fusion_is_view(a->node) ||
      !hone_node_does_same(a->node, b->node))
    return false;
  return are_same(a->node->inputs[0], b->node->inputs[0]);
}

static bool note_taken(taken_t* taken, const hone_value_t* part) {
  for (int i = 0; i < taken->n; i++)
    if (are_same(taken->parts[i], part)) return true;
  if (taken->n == MOST_TAKEN) return false;
  taken->parts[taken->n++] = part;
  return true;
}

/* The parts that nodes of the reader take of `value`, or of what they compute of it element by
 * element, each once; false: they take others. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as what is computed of the value */
static bool find_taken(const hone_fusion_t* f, const hone_value_t* value, int reader,
                       taken_t* out) {
  if (hone_dim_same(count_of(f, value), out->each)) return note_taken(out, value);
  for (int i = f->groups[reader].first; i <= f->groups[reader].last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    bool reads = false;
    if (hone_fusion_group_at(f, i) != reader) continue;
    for (int k = 0; k < node->n_inputs; k++) reads |= node->inputs[k] == value;
    if (!reads) continue;
    bool goes_on = hone_fusion_is_view(node) || hone_prim_is_elementwise(node->prim);
    if (!goes_on || !find_taken(f, node->outputs[0], reader, out)) return false;
  }
  return true;
}

/* The stack that the reader is, round by round; NULL: it is none. */
static const hone_node_t* find_stack(const hone_fusion_t* f, int reader) {
  const hone_fusion_group_t* to = &f->groups[reader];
  for (int i = to->first; i <= to->last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    if (hone_fusion_group_at(f, i) == reader && is_stack(node) &&
        same_count(f, node->outputs[0], to->shape))
      return node;
  }
  return NULL;
}

/* Whether the reader is a stack, whose rounds are written out, of sums of parts of the group's
 * value that do not overlap: what is computed for one round serves the others. */
static bool is_taken_apart(const hone_fusion_t* f, const hone_fusion_search_t* s, int group,
                           int reader) {
  const hone_node_t* stack = find_stack(f, reader);
  if (!stack) return false;
  taken_t taken = {.each = count_of(f, stack->inputs[0])};
  const hone_value_t* value = NULL;
  for (int i = f->groups[reader].first; i <= f->groups[reader].last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    if (hone_fusion_group_at(f, i) != reader) continue;
    for (int k = 0; k < node->n_inputs; k++) {
      if (hone_fusion_group_of(f, s->index_of, node->inputs[k]) != group) continue;
      if (value && node->inputs[k] != value) return false;
      value = node->inputs[k];
    }
  }
  return value && find_taken(f, value, reader, &taken) &&
         hone_dim_same(count_of(f, value),
                       hone_dim_mul(f->graph->dims, taken.each, hone_dim_int(taken.n)));
}

/* Whether the reader looks up elements of the group, several times as many as there are: each would
 * be computed where it is waited for. */
static bool is_looked_up_often(const hone_fusion_t* f, const hone_fusion_search_t* s, int group,
                               int reader) {
  enum { OFTEN = 4 };
  const hone_fusion_group_t *map = &f->groups[group], *to = &f->groups[reader];
  hone_dims_t* dims = f->graph->dims;
  hone_dim_t often = hone_dim_mul(dims, count_of(f, map->shape), hone_dim_int(OFTEN));
  if (hone_dim_min_value(hone_dim_sub(dims, count_of(f, to->shape), often)) < 0) return false;
  for (int i = to->first; i <= to->last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    if (hone_fusion_group_at(f, i) != reader || node->prim != HONE_PRIM_GATHER) continue;
    const hone_value_t* table = node->inputs[0];
    while (table->node && hone_fusion_is_view(table->node)) table = table->node->inputs[0];
    if (hone_fusion_group_of(f, s->index_of, table) == group) return true;
  }
  return false;
}

/* Whether the reader adds up rows of a table, or looks up several for each result, that the group's
 * views put side by side: to be gathered number by number, else. */
static bool lays_out_rows(const hone_fusion_t* f, const hone_fusion_search_t* s, int group,
                          int reader) {
  const hone_fusion_group_t* to = &f->groups[reader];
  int found = 0;
  for (int i = to->first; i <= to->last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    if (hone_fusion_group_at(f, i) != reader) continue;
    const hone_value_t* turned = hone_fusion_turned_rows(f->graph, node);
    found += turned && hone_fusion_group_of(f, s->index_of, turned) == group;
  }
  return found > 1 || (found == 1 && to->kind == HONE_FUSION_REDUCE);
}

/* Whether the group's views put numbers side by side that the reader adds up in groups, with
 * weights (pass `channels`). */
static bool lays_out_sums(const hone_fusion_t* f, const hone_fusion_search_t* s, int group,
                          int reader) {
  const hone_fusion_group_t* to = &f->groups[reader];
  if (to->kind != HONE_FUSION_CONTRACT) return false;
  for (int side = 0; side < 2; side++) {
    const hone_value_t* v = to->anchor->inputs[side];
    if (!hone_match_from_constants(to->anchor->inputs[1 - side])) continue;
    while (hone_fusion_is_view(v->node) && hone_fusion_group_of(f, s->index_of, v) == reader)
      v = v->node->inputs[0];
    bool is_narrow = hone_dtype_size(v->type.dtype) == 1 || v->type.dtype == HONE_BF16;
    int last = v->type.rank - 1;
    if (is_narrow && hone_fusion_group_of(f, s->index_of, v) == group &&
        v->node->prim == HONE_PRIM_PERMUTE && last >= 0 && v->node->axes[last] != last)
      return true;
  }
  return false;
}

/* Whether the reader has the contraction's results as one of two parts (common/either.h), and no
 * other contraction's: they are made where they belong. */
static bool is_part_of_either(const hone_fusion_t* f, const hone_fusion_group_t* map, int reader) {
  const hone_fusion_group_t* to = &f->groups[reader];
  if (to->kind != HONE_FUSION_WHOLE || !hone_either_is(f->graph->dims, to->anchor)) return false;
  for (int i = to->first; i <= to->last; i++)
    if (hone_fusion_group_at(f, i) == reader && f->graph->nodes[i]->prim == HONE_PRIM_CONTRACT)
      return false;
  return same_count(f, map->shape, to->anchor->inputs[1]);
}

/* Whether the group is a concat and the reader one of its result and others: all parts are stored
 * where they belong. */
static bool is_nested(const hone_fusion_group_t* group, const hone_fusion_group_t* reader) {
  bool are_concats = group->kind == HONE_FUSION_WHOLE && reader->kind == HONE_FUSION_WHOLE &&
                     group->anchor->prim == HONE_PRIM_CONCAT &&
                     reader->anchor->prim == HONE_PRIM_CONCAT;
  for (int i = 0; are_concats && i < reader->anchor->n_inputs; i++)
    if (reader->anchor->inputs[i] == group->anchor->outputs[0]) return true;
  return false;
}

static bool may_precede(const hone_fusion_t* f, const hone_fusion_search_t* s, int group,
                        int reader, bool is_only) {
  const hone_fusion_group_t *map = &f->groups[group], *to = &f->groups[reader];
  if (map->kind == HONE_FUSION_CONTRACT) return is_only && is_part_of_either(f, map, reader);
  if (map->kind == HONE_FUSION_WHOLE) return is_only && is_nested(map, to);
  if (map->kind != HONE_FUSION_MAP) return false;
  contents_t c = contents_of(f, group);
  if (c.only_views)
    return is_only && !lays_out_rows(f, s, group, reader) && !lays_out_sums(f, s, group, reader);
  if (is_looked_up_often(f, s, group, reader) || looks_bytes_up(f, map) || looks_bytes_up(f, to))
    return false;
  /* In the loops of a reduction what is on a stack could not be told apart, and where numbers are
   * looked up by it, each would be taken from all of the stack. */
  if (to->kind == HONE_FUSION_CONTRACT ||
      (c.has_stack && (to->kind == HONE_FUSION_REDUCE || contents_of(f, reader).has_lookup)))
    return false;
  if (!is_only)
    return to->kind == HONE_FUSION_REDUCE && to->rows && is_read_once(f, map, to) && c.n < 8;
  if (is_read_once(f, map, to) || is_stacked(f, s, group, reader) ||
      is_taken_apart(f, s, group, reader))
    return true;
  return !c.has_costly && !c.has_choice && c.n_computed <= 4;
}

/* Gives whether it has joined its reader. */
static bool join_backwards(hone_fusion_t* f, hone_fusion_search_t* s, int group) {
  if (f->groups[group].merged >= 0) return false;
  bool is_only;
  int reader = hone_fusion_only_reader(f, s, group, &is_only);
  if (hone_fusion_gives_output(f, s, group)) is_only = false;
  if (reader < 0 || !may_precede(f, s, group, reader, is_only) || is_cut(s, group, reader) ||
      hone_fusion_grows_too_large(s, group, reader))
    return false;
  hone_fusion_merge(f, group, reader);
  return true;
}

/* Until nothing changes: two readers of a group may become one. */
static void join_all_backwards(hone_fusion_t* f, hone_fusion_search_t* s) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int g = f->n_groups - 1; g >= 0; g--) changed |= join_backwards(f, s, g);
  }
}

/* ---- what is stored narrow ---- */

hone_value_t* hone_fusion_widened(const hone_node_t* node) {
  if (node->prim == HONE_PRIM_CAST || node->prim == HONE_PRIM_RESHAPE) return node->inputs[0];
  if (node->prim != HONE_PRIM_ADD && node->prim != HONE_PRIM_SUB && node->prim != HONE_PRIM_MUL)
    return NULL;
  if (hone_value_is_cheap(node->inputs[1])) return node->inputs[0];
  return hone_value_is_cheap(node->inputs[0]) ? node->inputs[1] : NULL;
}

hone_value_t* hone_fusion_narrow(const hone_value_t* value) {
  enum { MAX_STEPS = 6 };
  if (value->type.dtype == HONE_I16) return NULL; /* widened to be stored so (shorts.c) */
  hone_value_t* x = has_arithmetic(value) ? hone_fusion_widened(value->node) : NULL;
  for (int i = 0; i < MAX_STEPS && x && has_arithmetic(x); i++) {
    if (hone_dtype_bits(x->type.dtype) < hone_dtype_bits(value->type.dtype))
      return x->node->prim == HONE_PRIM_CONSTANT ? NULL : x;
    x = hone_fusion_widened(x->node);
  }
  return NULL;
}

/* Whether the reader's group can compute what it reads of a value element by element. */
static bool may_widen(const hone_fusion_t* f, int group, const hone_node_t* reader,
                      const hone_value_t* value) {
  if (reader->prim == HONE_PRIM_GATHER) return reader->inputs[1] == value;
  if (hone_fusion_is_view(reader) || reader->prim == HONE_PRIM_PAD) return false;
  if (f->groups[group].kind != HONE_FUSION_CONTRACT && reader->prim == HONE_PRIM_REDUCE)
    return true;
  return reader != f->groups[group].anchor && hone_fusion_keeps_shape(reader);
}

/* Where one group makes wide numbers of narrow ones for another, the other does. */
static void widen_in_reader(hone_fusion_t* f, const hone_fusion_search_t* s, hone_value_t* value,
                            int reader) {
  const hone_value_t* narrow = value ? hone_fusion_narrow(value) : NULL;
  int from = narrow ? hone_fusion_group_of(f, s->index_of, value) : -1,
      to = hone_fusion_group_at(f, reader);
  if (from < 0 || to < 0 || from == to || !may_widen(f, to, f->graph->nodes[reader], value)) return;
  for (const hone_value_t* v = value; v != narrow; v = hone_fusion_widened(v->node))
    if (s->uses[v->id] != 1 || hone_fusion_group_of(f, s->index_of, v) != from) return;
  for (const hone_value_t* v = value; v != narrow; v = hone_fusion_widened(v->node))
    hone_fusion_move(f, s->index_of[v->id], to);
  if (narrow->node->prim == HONE_PRIM_SLICE && s->uses[narrow->id] == 1 &&
      hone_fusion_group_of(f, s->index_of, narrow) == from)
    hone_fusion_move(f, s->index_of[narrow->id], to); /* of what another makes: else a copy */
}

static void widen_in_readers(hone_fusion_t* f, const hone_fusion_search_t* s) {
  for (int i = 0; i < f->graph->n_nodes; i++)
    for (int k = 0; k < f->graph->nodes[i]->n_inputs; k++)
      widen_in_reader(f, s, f->graph->nodes[i]->inputs[k], i);
}

/* The bits of a float's absolute value, whose largest is wanted, are taken by who looks for it: in
 * memory they would be numbers that rounding changes by much. */
static void take_bits_in_reader(hone_fusion_t* f, const hone_fusion_search_t* s, int reader) {
  enum { MAX_STEPS = 6 };
  const hone_value_t* path[MAX_STEPS];
  const hone_value_t* value = f->graph->nodes[reader]->inputs[0];
  int group = hone_fusion_group_at(f, reader), from = hone_fusion_group_of(f, s->index_of, value),
      n = 0;
  bool are_bits = false;
  for (; n < MAX_STEPS && s->uses[value->id] == 1; value = value->node->inputs[0]) {
    hone_prim_t prim = value->node->prim;
    if (prim != HONE_PRIM_BITCAST && prim != HONE_PRIM_ABS && prim != HONE_PRIM_RESHAPE) break;
    if (hone_fusion_group_of(f, s->index_of, value) != from) return;
    are_bits |= prim == HONE_PRIM_BITCAST;
    path[n++] = value;
  }
  if (!are_bits || group < 0 || from < 0 || group == from) return;
  for (int i = 0; i < n; i++) hone_fusion_move(f, s->index_of[path[i]->id], group);
}

static void take_bits_in_readers(hone_fusion_t* f, const hone_fusion_search_t* s) {
  for (int i = 0; i < f->graph->n_nodes; i++)
    if (f->graph->nodes[i]->prim == HONE_PRIM_REDUCE) take_bits_in_reader(f, s, i);
}

/* ---- weights that kernels scale ---- */

static bool stays(const hone_value_t* value) {
  return value->node->prim == HONE_PRIM_CAST && value->node->flags & HONE_FLAG_STAYS;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as what is computed of constants */
static void move_with_operands(hone_fusion_t* f, const hone_fusion_search_t* s,
                               const hone_value_t* value, int group) {
  if (value->node->prim == HONE_PRIM_CONSTANT) return;
  hone_fusion_move(f, s->index_of[value->id], group);
  for (int i = 0; i < value->node->n_inputs; i++)
    move_with_operands(f, s, value->node->inputs[i], group);
}

/* Products scale the weights of blocks themselves (pass dequantize), as they read them. */
static void join_scaled_weights(hone_fusion_t* f, const hone_fusion_search_t* s) {
  for (int i = 0; i < f->graph->n_nodes; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    int group = hone_fusion_group_at(f, i);
    if (group < 0 || node->prim != HONE_PRIM_CONTRACT) continue;
    for (int k = 0; k < 2; k++) {
      const hone_value_t* value = node->inputs[k];
      if (value->node->prim == HONE_PRIM_MUL && s->uses[value->id] == 1 &&
          (stays(value->node->inputs[0]) || stays(value->node->inputs[1])))
        move_with_operands(f, s, value, group);
    }
  }
}

/* ---- all ---- */

/* Numbers the groups that are left; one reshape alone is a view and no kernel. */
static void number_groups(hone_fusion_t* f) {
  int n = f->n_groups, next = 0;
  for (int i = 0; i < f->graph->n_nodes; i++) f->group_of[i] = hone_fusion_group_at(f, i);
  for (int g = 0; g < n; g++) {
    int members = 0, number = -1;
    const hone_node_t* last = NULL;
    for (int i = f->groups[g].first; i <= f->groups[g].last; i++) {
      if (f->group_of[i] != g) continue;
      members++;
      last = f->graph->nodes[i];
    }
    bool is_view = members == 1 && last->prim == HONE_PRIM_RESHAPE;
    if (f->groups[g].merged < 0 && members && !is_view) number = next++;
    hone_fusion_group_t group = f->groups[g];
    for (int i = group.first; i <= group.last; i++)
      if (f->group_of[i] == g) f->group_of[i] = number < 0 ? -1 : -2 - number;
    if (number >= 0) f->groups[number] = group;
  }
  for (int i = 0; i < f->graph->n_nodes; i++)
    if (f->group_of[i] <= -2) f->group_of[i] = -2 - f->group_of[i];
  f->n_groups = next;
}

static void find_readers(const hone_fusion_search_t* s) {
  const hone_graph_t* graph = s->f->graph;
  for (int i = 0; i < graph->n_values; i++) s->last_reader[i] = -1;
  for (int i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
      if (!graph->nodes[i]->inputs[k]) continue;
      s->uses[graph->nodes[i]->inputs[k]->id]++;
      s->last_reader[graph->nodes[i]->inputs[k]->id] = i;
    }
  for (int i = 0; i < graph->n_outputs; i++) s->uses[graph->outputs[i]->id]++;
}

static hone_status_t plan(hone_fusion_t* f, int* by_value, int* by_node) {
  const hone_graph_t* graph = f->graph;
  int* index_of = by_value;
  hone_fusion_search_t s = {.f = f,
                            .index_of = index_of,
                            .uses = by_value + graph->n_values,
                            .last_reader = by_value + (ptrdiff_t)2 * graph->n_values,
                            .seen = by_node,
                            .tree = by_node + graph->n_nodes};
  find_readers(&s);
  for (int i = 0; i < graph->n_nodes; i++) {
    f->group_of[i] = -1;
    for (int k = 0; k < graph->nodes[i]->n_outputs; k++)
      index_of[graph->nodes[i]->outputs[k]->id] = i;
  }
  for (int i = 0; i < graph->n_nodes; i++) {
    const hone_node_t* node = graph->nodes[i];
    bool is_cheap = node->n_outputs == 1 && hone_value_is_cheap(node->outputs[0]);
    if (hone_fusion_is_member(node) && !is_cheap) join_forwards(f, &s, i);
  }
  join_all_backwards(f, &s);
  hone_fusion_leave_mixing_out(f, &s);
  hone_fusion_join_chains(f, &s);
  hone_fusion_join_blocks(f, &s);
  widen_in_readers(f, &s);
  take_bits_in_readers(f, &s);
  join_scaled_weights(f, &s);
  hone_fusion_leave_followed_out(f, &s);
  hone_fusion_leave_views_out(f, &s);
  hone_fusion_leave_turned_out(f, &s);
  number_groups(f);
  return NULL;
}

hone_status_t hone_fusion_plan(const hone_graph_t* graph, int64_t longest_row,
                               hone_fusion_t* out_fusion) {
  *out_fusion =
      (hone_fusion_t){.graph = graph, .n_nodes = graph->n_nodes, .longest_row = longest_row};
  size_t nodes = (size_t)graph->n_nodes, values = (size_t)graph->n_values;
  const hone_allocator_t* allocator = graph->allocator;
  out_fusion->group_of = hone_alloc(allocator, nodes * sizeof(int));
  out_fusion->groups = hone_alloc(allocator, MOST_GROUPS * nodes * sizeof *out_fusion->groups);
  int* by_value = hone_alloc(allocator, 3 * values * sizeof *by_value);
  int* by_node = hone_alloc(allocator, 2 * nodes * sizeof *by_node);
  bool ok = out_fusion->group_of && out_fusion->groups && by_value && by_node;
  hone_status_t status = ok ? plan(out_fusion, by_value, by_node) : hone_oom();
  hone_free(allocator, by_value, 3 * values * sizeof *by_value);
  hone_free(allocator, by_node, 2 * nodes * sizeof *by_node);
  if (status) hone_fusion_free(out_fusion);
  return status;
}

void hone_fusion_free(hone_fusion_t* f) {
  if (!f->graph) return;
  size_t nodes = (size_t)f->n_nodes;
  hone_free(f->graph->allocator, f->group_of, nodes * sizeof *f->group_of);
  hone_free(f->graph->allocator, f->groups, MOST_GROUPS * nodes * sizeof *f->groups);
  *f = (hone_fusion_t){0};
}

const char* hone_fusion_origin(const hone_fusion_t* f, int group) {
  return f->groups[group].anchor->origin;
}
