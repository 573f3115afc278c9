/* One rule a primitive, after ir/prim.h. */
#include "runtime/guard.h"

#include <string.h>

#include "base/memory.h"
#include "loop/lower.h"

typedef struct collector {
  hone_dims_t* dims;
  hone_arena_t* arena;
  int count, room;
  hone_guard_t* list;
  bool out_of_memory;
} collector_t;

static void add(collector_t* c, hone_dim_t a, hone_dim_t b, bool equal) {
  for (int i = 0; i < c->count; i++)
    if (hone_dim_same(c->list[i].a, a) && hone_dim_same(c->list[i].b, b) &&
        c->list[i].equal == equal)
      return;
  if (c->count == c->room) {
    int room = c->room ? 2 * c->room : 8;
    hone_guard_t* grown = hone_arena_array(c->arena, (size_t)room, sizeof *grown);
    c->out_of_memory = c->out_of_memory || !grown;
    if (!grown) return;
    if (c->count) memcpy(grown, c->list, (size_t)c->count * sizeof *grown);
    c->list = grown;
    c->room = room;
  }
  c->list[c->count++] = (hone_guard_t){a, b, equal};
}

static void expect_equal(collector_t* c, hone_dim_t a, hone_dim_t b) {
  if (!hone_dim_same(a, b)) add(c, a, b, true);
}

static bool is_never_below_zero(const collector_t* c, hone_dim_t d) {
  if (hone_dim_is_bad(d)) return false;
  if (hone_dim_min_value(d) >= 0) return true;
  hone_dim_t least = hone_dim_bound(c->dims, d, false);
  return !hone_dim_is_bad(least) && hone_dim_min_value(least) >= 0;
}

static void expect_at_most(collector_t* c, hone_dim_t a, hone_dim_t b) {
  if (hone_dim_same(a, b) || hone_dim_max_value(a) <= hone_dim_min_value(b)) return;
  hone_dim_t one, other, room = hone_dim_sub(c->dims, b, a);
  if (is_never_below_zero(c, room)) return;
  bool is_choice = hone_dim_is_choice(c->dims, room, &one, &other);
  if (!is_choice || !is_never_below_zero(c, one) || !is_never_below_zero(c, other))
    add(c, a, b, false);
}

static void expect_same_shape(collector_t* c, const hone_type_t* a, const hone_type_t* b) {
  for (int i = 0; i < a->rank && i < b->rank; i++) expect_equal(c, a->dims[i], b->dims[i]);
}

/* ---- one function a rule ---- */

static void operands(collector_t* c, const hone_node_t* node) {
  for (int i = 0; i < node->n_inputs; i++)
    expect_same_shape(c, &node->inputs[i]->type, &node->outputs[0]->type);
}

static void reshape(collector_t* c, const hone_node_t* node) {
  const hone_type_t *in = &node->inputs[0]->type, *out = &node->outputs[0]->type;
  expect_equal(c, hone_dim_product(c->dims, in->rank, in->dims),
               hone_dim_product(c->dims, out->rank, out->dims));
}

/* An open extent may be 1 when it runs, which the kernel does not expect; or 0 where it does. */
static void expand(collector_t* c, const hone_node_t* node) {
  const hone_type_t *in = &node->inputs[0]->type, *out = &node->outputs[0]->type;
  for (int i = 0; i < in->rank; i++)
    if (!hone_dim_same(in->dims[i], out->dims[i]))
      expect_equal(c, in->dims[i],
                   hone_lower_repeats(in->dims[i]) ? hone_dim_int(1) : out->dims[i]);
}

static void slice(collector_t* c, const hone_node_t* node) {
  const hone_type_t* in = &node->inputs[0]->type;
  for (int i = 0; i < in->rank; i++) {
    expect_at_most(c, hone_dim_int(0), node->lo[i]);
    expect_at_most(c, node->lo[i], node->hi[i]);
    expect_at_most(c, node->hi[i], in->dims[i]);
    expect_at_most(c, hone_dim_int(1), node->step[i]);
  }
}

static void pad(collector_t* c, const hone_node_t* node) {
  for (int i = 0; i < node->inputs[0]->type.rank; i++) {
    expect_at_most(c, hone_dim_int(0), node->lo[i]);
    expect_at_most(c, hone_dim_int(0), node->hi[i]);
  }
}

static void concat(collector_t* c, const hone_node_t* node) {
  const hone_type_t* out = &node->outputs[0]->type;
  for (int i = 0; i < node->n_inputs; i++)
    for (int k = 0; k < out->rank; k++)
      if (k != node->axes[0]) expect_equal(c, node->inputs[i]->type.dims[k], out->dims[k]);
}

static void contract(collector_t* c, const hone_node_t* node) {
  const hone_type_t *a = &node->inputs[0]->type, *b = &node->inputs[1]->type;
  for (int i = 0; i + 1 < node->n_axes; i += 2)
    expect_equal(c, a->dims[node->axes[i]], b->dims[node->axes[i + 1]]);
}

static void scatter(collector_t* c, const hone_node_t* node) {
  const hone_type_t *x = &node->inputs[0]->type, *index = &node->inputs[1]->type;
  const hone_type_t* updates = &node->inputs[2]->type;
  for (int i = 0; i < updates->rank; i++) {
    bool of_index = i < index->rank;
    expect_equal(c, updates->dims[i], of_index ? index->dims[i] : x->dims[1 + i - index->rank]);
  }
}

static void window(collector_t* c, const hone_node_t* node) {
  for (int i = 0; i < node->n_axes; i++) {
    expect_at_most(c, hone_dim_int(0), node->shape[i]);
    expect_at_most(c, hone_dim_int(1), node->step[i]);
    expect_at_most(c, hone_dim_int(1), node->hi[i]);
  }
}

typedef void (*rule_fn)(collector_t* c, const hone_node_t* node);

static rule_fn rule(hone_prim_t prim) {
  static const rule_fn rules[HONE_PRIM_COUNT] = {
      [HONE_PRIM_RESHAPE] = reshape,   [HONE_PRIM_EXPAND] = expand,   [HONE_PRIM_SLICE] = slice,
      [HONE_PRIM_PAD] = pad,           [HONE_PRIM_CONCAT] = concat,   [HONE_PRIM_WINDOW] = window,
      [HONE_PRIM_CONTRACT] = contract, [HONE_PRIM_SCATTER] = scatter, [HONE_PRIM_SELECT] = operands,
  };
  if (hone_prim_info(prim)->family == HONE_FAMILY_BINARY) return operands;
  return rules[prim];
}

static void collect(collector_t* c, const hone_graph_t* region) {
  for (int i = 0; i < region->n_nodes; i++) {
    const hone_node_t* node = region->nodes[i];
    rule_fn apply = rule(node->prim);
    if (apply) apply(c, node);
    for (int r = 0; r < node->n_regions; r++) collect(c, node->regions[r]);
  }
}

hone_status_t hone_guards_of(hone_dims_t* dims, hone_arena_t* arena, const hone_graph_t* region,
                             int* out_count, hone_guard_t** out_guards) {
  collector_t c = {.dims = dims, .arena = arena};
  collect(&c, region);
  *out_count = c.count;
  *out_guards = c.list;
  return c.out_of_memory || hone_dims_out_of_memory(dims) ? hone_oom() : NULL;
}

bool hone_guards_hold(const hone_step_t* step, const int64_t* symbols) {
  for (int i = 0; i < step->n_guards; i++) {
    int64_t a = hone_dim_eval(step->guards[i].a, symbols);
    int64_t b = hone_dim_eval(step->guards[i].b, symbols);
    if (step->guards[i].equal ? a != b : a > b) return false;
  }
  return true;
}
