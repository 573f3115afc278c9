#include "passes/common/slight.h"

#include <stdatomic.h>
#include <string.h>

#include "base/thread_pool.h"
#include "ir/slight.h"
#include "ir/sparse.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"

/* ---- finding ---- */

static int64_t count(const hone_tensor_t* tensor, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++) n *= hone_tensor_dims(tensor)[i];
  return n;
}

/* Whether the node leaves the last axis as it lies, or part of it. */
static bool keeps_last(const hone_node_t* node) {
  const hone_type_t *to = &node->outputs[0]->type, *from = &node->inputs[0]->type;
  int last = from->rank - 1;
  if (last < 0 || to->rank < 1) return false;
  if (node->prim == HONE_PRIM_PAD) return true;
  if (node->prim == HONE_PRIM_SLICE) return hone_dim_is(node->step[last], 1);
  if (node->prim == HONE_PRIM_PERMUTE) return node->axes[last] == last;
  return (node->prim == HONE_PRIM_RESHAPE || node->prim == HONE_PRIM_EXPAND) &&
         hone_dim_same(to->dims[to->rank - 1], from->dims[last]);
}

/* Whether the last axis is put together of ones that lie in whole eights. */
static bool joins_eights(const hone_node_t* node) {
  const hone_type_t* from = &node->inputs[0]->type;
  return node->prim == HONE_PRIM_RESHAPE && from->rank > 0 &&
         hone_dim_is_int(from->dims[from->rank - 1]) &&
         from->dims[from->rank - 1].k % HONE_SLIGHT_GROUP == 0;
}

/* Whether eights along the last axis lie side by side in memory, as far as movement goes. What is
 * cut or padded need not begin with a whole one. */
static bool is_contiguous(const hone_value_t* value) {
  bool is_cut = false;
  while (hone_operand_only_moves(value->node)) {
    if (!keeps_last(value->node) && (is_cut || !joins_eights(value->node))) return false;
    is_cut |= value->node->prim == HONE_PRIM_SLICE || value->node->prim == HONE_PRIM_PAD;
    value = value->node->inputs[0];
  }
  return true;
}

bool hone_slight_find(const hone_pass_options_t* options, const hone_node_t* contract,
                      hone_slight_weights_t* out) {
  if (!options->sums_slight || contract->prim != HONE_PRIM_CONTRACT ||
      contract->dtype != HONE_I32 || contract->n_batch || contract->n_axes != 2)
    return false;
  for (int side = 0; side < 2; side++) {
    const hone_tensor_t* w = hone_match_constant(contract->inputs[side]);
    const hone_type_t* data = &contract->inputs[1 - side]->type;
    bool flips = data->dtype == HONE_I8;
    if (!w || hone_tensor_dtype(w) != HONE_I8 || (data->dtype != HONE_U8 && !flips)) continue;
    if (contract->axes[1 - side] != data->rank - 1 || !is_contiguous(contract->inputs[1 - side]))
      continue;
    int axis = (int)contract->axes[side];
    *out = (hone_slight_weights_t){.side = side,
                                   .flips = flips,
                                   .tensor = w,
                                   .outer = count(w, 0, axis),
                                   .extent = hone_tensor_dims(w)[axis],
                                   .inner = count(w, axis + 1, hone_tensor_rank(w))};
    return hone_tensor_count(w) && out->extent % HONE_SLIGHT_GROUP == 0;
  }
  return false;
}

/* Whether the tactic `sparse` multiplies by the few that are not zero. */
static bool is_sparse(const hone_node_t* contract, const hone_slight_weights_t* w) {
  int64_t n = hone_tensor_count(w->tensor), rows = hone_operand_uses(contract, w->side);
  return n >= HONE_SPARSE_FEWEST && rows >= HONE_SPARSE_FEWEST_ROWS && rows != INT64_MAX &&
         w->extent <= HONE_SPARSE_SUMS && w->side == 1 &&
         hone_sparse_is(hone_tensor_data(w->tensor), n);
}

bool hone_slight_fits(const hone_pass_options_t* options, const hone_node_t* contract) {
  hone_slight_weights_t w;
  return hone_slight_find(options, contract, &w) && !w.flips &&
         (hone_slight_is(hone_tensor_data(w.tensor), w.outer, w.extent, w.inner) ||
          is_sparse(contract, &w));
}

/* ---- splitting ---- */

typedef struct splitter {
  const hone_slight_weights_t* w;
  int8_t *slight, *rest;
  _Atomic int64_t numbers;
} splitter_t;

/* The index of the number that is furthest from zero on the side of `sign`. */
static int find_largest(const int* numbers, int half, int sign) {
  int found = -1, most = 0;
  for (int k = 0; k < HONE_SLIGHT_GROUP; k++)
    if (hone_slight_half(k) == half && sign * numbers[k] > most) {
      found = k;
      most = sign * numbers[k];
    }
  return found;
}

/* Takes from the largest of one sign in a half what they have too much. */
static void lower(int* numbers, int half, int sign) {
  int excess = -HONE_SLIGHT_MOST;
  for (int k = 0; k < HONE_SLIGHT_GROUP; k++)
    if (hone_slight_half(k) == half && sign * numbers[k] > 0) excess += sign * numbers[k];
  while (excess > 0) {
    int k = find_largest(numbers, half, sign), most = sign * numbers[k];
    int taken = most < excess ? most : excess;
    /* The rest, too, fits an i8: of -128 one is left. */
    if (taken > INT8_MAX) taken = INT8_MAX;
    numbers[k] -= sign * taken;
    excess -= taken;
  }
}

/* Splits eight numbers that lie `step` apart; gives how many of the rest are not zero. */
static int split_group(const int8_t* from, int64_t step, int8_t* slight, int8_t* rest) {
  int numbers[HONE_SLIGHT_GROUP], found = 0;
  for (int k = 0; k < HONE_SLIGHT_GROUP; k++) numbers[k] = (int)from[k * step];
  for (int half = 0; half < HONE_SLIGHT_HALVES; half++)
    for (int sign = -1; sign <= 1; sign += 2) lower(numbers, half, sign);
  for (int k = 0; k < HONE_SLIGHT_GROUP; k++) {
    slight[k * step] = (int8_t)numbers[k];
    rest[k * step] = (int8_t)(from[k * step] - numbers[k]);
    found += rest[k * step] != 0;
  }
  return found;
}

/* The same of `n` columns side by side, in weights that are copied to `slight` already. */
static int64_t split_columns(const splitter_t* s, int64_t at, int64_t n) {
  const int8_t* from = (const int8_t*)hone_tensor_data(s->w->tensor) + at;
  bool wrong[HONE_SLIGHT_LANES];
  int64_t step = s->w->inner, found = 0;
  if (!hone_slight_look(from, step, 1, n, wrong)) return 0;
  for (int64_t i = 0; i < n; i++)
    if (wrong[i]) found += split_group(from + i, step, s->slight + at + i, s->rest + at + i);
  return found;
}

static void split_groups(void* context, int64_t begin, int64_t end) {
  splitter_t* s = context;
  int64_t inner = s->w->inner, found = 0;
  for (int64_t i = begin; i < end; i++)
    for (int64_t j = 0; j < inner; j += HONE_SLIGHT_LANES)
      found += split_columns(s, i * HONE_SLIGHT_GROUP * inner + j,
                             inner - j < HONE_SLIGHT_LANES ? inner - j : HONE_SLIGHT_LANES);
  atomic_fetch_add(&s->numbers, found);
}

hone_status_t hone_slight_split(const hone_allocator_t* allocator, const hone_slight_weights_t* w,
                                hone_slight_split_t* out) {
  enum { GRAIN = 1 << 10 /* numbers, eights of columns */ };
  *out = (hone_slight_split_t){0};
  int rank = hone_tensor_rank(w->tensor);
  const int64_t* dims = hone_tensor_dims(w->tensor);
  HONE_TRY(hone_tensor_create(allocator, HONE_I8, rank, dims, &out->slight));
  hone_status_t status = hone_tensor_create(allocator, HONE_I8, rank, dims, &out->rest);
  if (status) {
    hone_tensor_release(out->slight);
    out->slight = NULL;
    return status;
  }
  splitter_t s = {
      .w = w, .slight = hone_tensor_data(out->slight), .rest = hone_tensor_data(out->rest)};
  memcpy(s.slight, hone_tensor_data(w->tensor), hone_tensor_bytes(w->tensor));
  memset(s.rest, 0, hone_tensor_bytes(w->tensor));
  int64_t groups = w->outer * w->extent / HONE_SLIGHT_GROUP;
  hone_parallel_for(hone_thread_pool_shared(), groups, GRAIN / w->inner + 1, split_groups, &s);
  out->numbers = s.numbers;
  return NULL;
}
