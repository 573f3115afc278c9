/* Products of the parts of one value, each with the same other operand, become one product
 * of the whole, of which each takes its part: the steps of a recurrent net that was written
 * out read the weights of their inputs once. */
#include "base/memory.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

/* A round of `whole` along `axis`, as the operand of a contraction. */
typedef struct part {
  hone_value_t* whole;
  int axis;
  int64_t at;
} part_t;

/* Contractions that differ in the round only. */
typedef struct batch {
  struct batch* next;
  part_t part; /* of the first one */
  const hone_node_t* contract;
  int side;               /* which operand the part is */
  int count;              /* of them */
  hone_value_t* together; /* once it is built */
} batch_t;

typedef struct batches {
  hone_arena_t* arena;
  batch_t* first;
} batches_t;

/* ---- finding ---- */

/* Whether the types differ in axes of one round only. */
static bool same_but_for_ones(const hone_type_t* a, const hone_type_t* b) {
  int k = 0;
  for (int i = 0; i < a->rank; i++) {
    if (hone_dim_is(a->dims[i], 1)) continue;
    while (k < b->rank && hone_dim_is(b->dims[k], 1)) k++;
    if (k == b->rank || !hone_dim_same(a->dims[i], b->dims[k++])) return false;
  }
  while (k < b->rank && hone_dim_is(b->dims[k], 1)) k++;
  return k == b->rank;
}

/* The only axis along which the slice takes less than all, one round; -1: there is none. */
static int sliced_axis(const hone_node_t* slice) {
  int found = -1;
  for (int i = 0; i < slice->n_dims; i++) {
    hone_dim_t lo = slice->lo[i], hi = slice->hi[i];
    if (hone_dim_is(lo, 0) && hone_dim_same(hi, slice->inputs[0]->type.dims[i]) &&
        hone_dim_is(slice->step[i], 1))
      continue;
    if (found >= 0 || !hone_dim_is_int(lo) || !hone_dim_is_int(hi) || hi.k != lo.k + 1) return -1;
    found = i;
  }
  return found;
}

static bool find_part(const hone_value_t* operand, part_t* out) {
  const hone_value_t* value = operand;
  const hone_node_t* reshape = hone_match_prim(value, HONE_PRIM_RESHAPE);
  if (reshape) value = reshape->inputs[0];
  const hone_node_t* slice = hone_match_prim(value, HONE_PRIM_SLICE);
  if (!slice || !same_but_for_ones(&value->type, &operand->type)) return false;
  int axis = sliced_axis(slice);
  if (axis < 0 || !hone_dim_is_int(slice->inputs[0]->type.dims[axis]) ||
      operand->type.rank >= HONE_MAX_RANK - 1)
    return false;
  *out = (part_t){slice->inputs[0], axis, slice->lo[axis].k};
  return true;
}

static bool same_axes(const hone_node_t* a, const hone_node_t* b) {
  bool same = a->n_axes == b->n_axes && a->dtype == b->dtype;
  for (int i = 0; i < a->n_axes && same; i++) same = a->axes[i] == b->axes[i];
  return same;
}

static batch_t* find_batch(const batches_t* all, const hone_node_t* node, int side,
                           const part_t* part) {
  for (batch_t* b = all->first; b; b = b->next)
    if (b->side == side && b->part.whole == part->whole && b->part.axis == part->axis &&
        b->contract->inputs[1 - side] == node->inputs[1 - side] && same_axes(b->contract, node) &&
        hone_match_same_shape(b->contract->inputs[side], node->inputs[side]))
      return b;
  return NULL;
}

static bool note(batches_t* all, const hone_node_t* node, int side) {
  part_t part;
  if (!find_part(node->inputs[side], &part)) return true;
  batch_t* batch = find_batch(all, node, side, &part);
  if (!batch) {
    batch = hone_arena_alloc(all->arena, sizeof *batch);
    if (!batch) return false;
    *batch = (batch_t){.next = all->first, .part = part, .contract = node, .side = side};
    all->first = batch;
  }
  batch->count++;
  return true;
}

static bool note_all(batches_t* all, const hone_graph_t* graph) {
  for (int i = 0; i < graph->n_nodes; i++) {
    const hone_node_t* node = graph->nodes[i];
    bool is_product = node->prim == HONE_PRIM_CONTRACT && node->n_batch == 0;
    for (int side = 0; side < 2 && is_product; side++)
      if (!note(all, node, side)) return false;
    for (int k = 0; k < node->n_regions && node->prim != HONE_PRIM_CALL; k++)
      if (!note_all(all, node->regions[k])) return false;
  }
  return true;
}

/* ---- putting together ---- */

/* [rounds, the part's axes…] */
static hone_value_t* stack(hone_builder_t* b, const part_t* part, const hone_value_t* operand) {
  int64_t axes[HONE_MAX_RANK] = {part->axis};
  hone_dim_t shape[HONE_MAX_RANK] = {part->whole->type.dims[part->axis]};
  for (int i = 0, n = 1; i < part->whole->type.rank; i++)
    if (i != part->axis) axes[n++] = i;
  for (int i = 0; i < operand->type.rank; i++) shape[1 + i] = operand->type.dims[i];
  return hone_reshape(b, hone_permute(b, part->whole, axes), 1 + operand->type.rank, shape);
}

static hone_value_t* multiply(hone_builder_t* b, const hone_node_t* node, int side,
                              hone_value_t* stacked) {
  int64_t pairs[HONE_MAX_RANK][2];
  int n = node->n_axes / 2;
  for (int i = 0; i < n; i++)
    for (int s = 0; s < 2; s++) pairs[i][s] = node->axes[2 * i + s] + (s == side);
  hone_value_t* in[2] = {node->inputs[0], node->inputs[1]};
  in[side] = stacked;
  return hone_contract(b, in[0], in[1], n, (const int64_t(*)[2])pairs, 0, node->dtype);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  part_t part;
  if (node->prim != HONE_PRIM_CONTRACT || node->n_batch) return NULL;
  for (int side = 0; side < 2; side++) {
    batch_t* batch =
        find_part(node->inputs[side], &part) ? find_batch(r->self, node, side, &part) : NULL;
    /* Of the whole at least half is asked for. */
    if (!batch || batch->count < 2 || 2 * batch->count < part.whole->type.dims[part.axis].k)
      continue;
    if (!batch->together)
      batch->together = multiply(r->b, node, side, stack(r->b, &part, node->inputs[side]));
    if (!batch->together) return NULL;
    int rounds = side ? node->inputs[0]->type.rank - node->n_axes / 2 : 0;
    hone_pass_did(r->context, node, "is part of a product with %d others", batch->count - 1);
    return hone_pick(r->b, batch->together, rounds, hone_dim_int(part.at));
  }
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  batches_t all = {0};
  HONE_TRY(hone_arena_create(graph->allocator, &all.arena));
  hone_status_t status =
      note_all(&all, graph) ? hone_rewrite_once(context, graph, rule, &all) : hone_oom();
  hone_arena_destroy(all.arena);
  return status;
}

extern const hone_pass_t hone_pass_batch;
const hone_pass_t hone_pass_batch = {
    .name = "batch",
    .summary = "products of the parts of one value by the same weights become one product",
    .phases = {HONE_PHASE_CLEAN + 70},
    .run = run,
};
