#include "passes/common/operand.h"

#include <math.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "passes/common/either.h"
#include "passes/common/match.h"

bool hone_operand_only_moves(const hone_node_t* node) {
  return node->prim == HONE_PRIM_RESHAPE || node->prim == HONE_PRIM_PERMUTE ||
         node->prim == HONE_PRIM_EXPAND || node->prim == HONE_PRIM_SLICE ||
         node->prim == HONE_PRIM_PAD || node->prim == HONE_PRIM_FLIP ||
         node->prim == HONE_PRIM_WINDOW;
}

hone_value_t* hone_operand_origin(hone_value_t* value) {
  while (hone_operand_only_moves(value->node)) value = value->node->inputs[0];
  return value;
}

bool hone_operand_are_bytes(const hone_node_t* contract) {
  return contract->dtype == HONE_I32 && hone_dtype_size(contract->inputs[0]->type.dtype) == 1 &&
         hone_dtype_size(contract->inputs[1]->type.dtype) == 1;
}

int hone_operand_only_sum(const hone_node_t* contract, int side, int rank) {
  int found = -1;
  for (int i = contract->n_batch; 2 * i < contract->n_axes; i++) {
    if (contract->axes[2 * i + side] >= rank) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* Results for each place of the other operand; 0: not known. */
static int64_t count_outputs(const hone_node_t* contract, int side) {
  const hone_type_t* type = &contract->inputs[side]->type;
  int64_t outputs = hone_match_count(type);
  for (int i = 2 * contract->n_batch; i < contract->n_axes; i += 2) {
    hone_dim_t extent = type->dims[contract->axes[i + side]];
    if (!hone_dim_is_int(extent) || extent.k < 1) return 0;
    outputs /= extent.k;
  }
  return outputs;
}

bool hone_operand_fills_part(const hone_node_t* contract, int side, int64_t lanes) {
  int64_t outputs = count_outputs(contract, side), part = outputs % lanes;
  return outputs > 0 && (part == 0 || 2 * part >= lanes);
}

bool hone_operand_fills_lanes(const hone_node_t* contract, int side, int64_t lanes) {
  return count_outputs(contract, side) >= lanes && hone_operand_fills_part(contract, side, lanes);
}

bool hone_operand_has_groups(const hone_node_t* contract, int64_t count) {
  for (int i = 2 * contract->n_batch; i < contract->n_axes; i += 2) {
    hone_dim_t extent = contract->inputs[0]->type.dims[contract->axes[i]];
    if (hone_dim_is_int(extent) && extent.k % count == 0) return true;
  }
  return false;
}

int64_t hone_operand_uses(const hone_node_t* contract, int side) {
  const hone_type_t* other = &contract->inputs[1 - side]->type;
  int64_t uses = 1;
  for (int i = 0; i < other->rank; i++) {
    if (hone_match_partner(contract, 1 - side, i) >= 0) continue;
    if (!hone_dim_is_int(other->dims[i]) || !hone_i64_mul(uses, other->dims[i].k, &uses))
      return INT64_MAX;
  }
  return uses;
}

bool hone_operand_waits_for_weights(const hone_node_t* contract) {
  enum { FEW_USES = 4 };
  for (int side = 0; side < 2; side++)
    if (hone_match_constant(hone_operand_origin(contract->inputs[side])) &&
        hone_operand_uses(contract, side) <= FEW_USES)
      return true;
  return false;
}

bool hone_operand_is_product(const hone_node_t* node, hone_operand_product_t* out) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_F32 || node->n_batch ||
      node->n_axes != 2)
    return false;
  const hone_type_t* x = &node->inputs[0]->type;
  const hone_tensor_t* w = hone_match_constant(node->inputs[1]);
  if (!w || hone_tensor_dtype(w) != HONE_F32 || hone_tensor_rank(w) != 2 || x->dtype != HONE_F32 ||
      node->axes[0] != x->rank - 1)
    return false;
  int64_t numbers = hone_match_count(x), sums = hone_tensor_dims(w)[node->axes[1]];
  *out = (hone_operand_product_t){.w = w,
                                  .w_sum = (int)node->axes[1],
                                  .rows = numbers > 0 && sums > 0 ? numbers / sums : 0,
                                  .sums = sums,
                                  .columns = hone_tensor_dims(w)[1 - node->axes[1]]};
  return numbers != 0;
}

/* ---- axes ---- */

hone_operand_axes_t hone_operand_sort_axes(const hone_node_t* contract, int side) {
  hone_operand_axes_t s = {.n_batch = contract->n_batch};
  uint32_t used = 0;
  for (int i = 0; i < contract->n_batch; i++) s.axes[i] = contract->axes[2 * i + side];
  for (int i = side; i < contract->n_axes; i += 2) used |= 1u << contract->axes[i];
  int rank = contract->inputs[side]->type.rank, n = contract->n_batch;
  for (int i = 0; i < rank; i++)
    if (!(used >> i & 1)) s.axes[n++] = i;
  s.n_free = n - contract->n_batch;
  for (int i = contract->n_batch; 2 * i < contract->n_axes; i++)
    s.axes[n++] = contract->axes[2 * i + side];
  s.n_summed = n - s.n_batch - s.n_free;
  return s;
}

hone_value_t* hone_operand_lay_out(hone_builder_t* b, const hone_node_t* contract, int side,
                                   hone_value_t* x) {
  hone_operand_axes_t s = hone_operand_sort_axes(contract, side);
  hone_value_t* sorted = hone_permute(b, x, s.axes);
  if (!sorted) return NULL;
  int rank = hone_rank(contract->outputs[0]), first = side ? rank - s.n_free : s.n_batch;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) shape[i] = i < s.n_batch ? hone_dim(sorted, i) : hone_d(1);
  for (int i = 0; i < s.n_free; i++) shape[first + i] = hone_dim(sorted, s.n_batch + i);
  return hone_reshape(b, sorted, rank, shape);
}

/* ---- another dtype ---- */

enum { MAX_MOVES = 24, ROW = 1024 };

void hone_operand_store_open(hone_operand_store_t* store, const hone_allocator_t* allocator,
                             hone_dtype_t dtype) {
  *store = (hone_operand_store_t){.dtype = dtype};
  hone_map_init(&store->made, allocator);
}

void hone_operand_store_open_rounding(hone_operand_store_t* store,
                                      const hone_allocator_t* allocator, hone_dtype_t precision) {
  hone_operand_store_open(store, allocator, precision);
  if (precision == HONE_BF16) store->flags = HONE_FLAG_FLUSHES;
}

void hone_operand_store_close(hone_operand_store_t* store) { hone_map_free(&store->made); }

static void convert_elements(const hone_tensor_t* from, hone_tensor_t* to) {
  double row[ROW];
  size_t from_size = hone_dtype_size(hone_tensor_dtype(from)),
         to_size = hone_dtype_size(hone_tensor_dtype(to));
  const char* source = hone_tensor_data(from);
  char* target = hone_tensor_data(to);
  int64_t count = hone_tensor_count(from);
  for (int64_t done = 0; done < count; done += ROW) {
    int64_t n = count - done < ROW ? count - done : ROW;
    hone_load_f64(hone_tensor_dtype(from), source + (size_t)done * from_size, (int64_t)from_size, n,
                  row);
    hone_store_f64(hone_tensor_dtype(to), row, n, target + (size_t)done * to_size);
  }
}

hone_status_t hone_operand_convert_tensor(const hone_allocator_t* allocator,
                                          const hone_tensor_t* tensor, hone_dtype_t dtype,
                                          hone_tensor_t** out_tensor) {
  HONE_TRY(hone_tensor_create(allocator, dtype, hone_tensor_rank(tensor), hone_tensor_dims(tensor),
                              out_tensor));
  convert_elements(tensor, *out_tensor);
  return NULL;
}

enum { SIGN = 0x80 };

static hone_status_t flip_tensor(const hone_allocator_t* allocator, const hone_tensor_t* from,
                                 hone_tensor_t** out_tensor) {
  HONE_TRY(hone_tensor_create(allocator, HONE_U8, hone_tensor_rank(from), hone_tensor_dims(from),
                              out_tensor));
  const uint8_t* numbers = hone_tensor_data(from);
  uint8_t* flipped = hone_tensor_data(*out_tensor);
  for (int64_t i = 0; i < hone_tensor_count(from); i++) flipped[i] = numbers[i] ^ SIGN;
  return NULL;
}

enum { MOST_HELD = 4, LARGEST_SHIFT = 1 << 20 };

/* Whole numbers of f32, which are shifted and held by numbers: the same and SIGN more, without an
 * operation more than there was. NULL: they are no such. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as MOST_HELD */
static hone_value_t* raise(hone_builder_t* b, hone_value_t* x, int depth) {
  double number;
  hone_value_t* other;
  hone_prim_t prim = x->node->prim;
  if (prim == HONE_PRIM_ROUND) return hone_add(b, x, hone_scalar(b, HONE_F32, SIGN));
  bool holds = prim == HONE_PRIM_MIN || prim == HONE_PRIM_MAX;
  if ((!holds && prim != HONE_PRIM_ADD) || depth == MOST_HELD ||
      !hone_match_with_number(x->node, &other, &number) || number != rint(number) ||
      fabs(number) > LARGEST_SHIFT)
    return NULL;
  if (!holds && other->node->prim != HONE_PRIM_ROUND) return NULL;
  hone_value_t* raised = holds ? raise(b, other, depth + 1) : other;
  if (!raised || (!holds && number == -SIGN)) return raised;
  return hone_binary(b, prim, raised, hone_scalar(b, HONE_F32, number + SIGN));
}

/* What is quantized to bytes with a sign, as bytes 128 larger; NULL: it is not seen to be. */
static hone_value_t* quantize_raised(hone_builder_t* b, const hone_value_t* value) {
  const hone_node_t* node = value->node;
  if (node->prim != HONE_PRIM_CAST || node->flags || node->inputs[0]->type.dtype != HONE_F32)
    return NULL;
  hone_value_t* raised = raise(b, node->inputs[0], 0);
  return raised ? hone_cast(b, raised, HONE_U8) : NULL;
}

/* The value in the store's dtype, computed from it. */
static hone_value_t* recast(const hone_operand_store_t* store, hone_builder_t* b,
                            hone_value_t* value) {
  if (!store->flips_sign) return hone_cast_flags(b, value, store->dtype, store->flags);
  hone_value_t* raised = quantize_raised(b, value);
  if (raised || !hone_builder_ok(b)) return raised;
  hone_value_t* bits = hone_bitcast(b, value, HONE_U8);
  return hone_binary(b, HONE_PRIM_XOR, bits, hone_scalar_i64(b, HONE_U8, SIGN));
}

static hone_value_t* convert_constant(hone_operand_store_t* store, hone_rewriter_t* r,
                                      const hone_tensor_t* constant) {
  hone_tensor_t* now;
  hone_status_t status = store->flips_sign ? flip_tensor(r->graph->allocator, constant, &now)
                                           : hone_operand_convert_tensor(
                                                 r->graph->allocator, constant, store->dtype, &now);
  if (status) return hone_fail_status(r->b, status);
  store->bytes += (int64_t)hone_tensor_bytes(now);
  return hone_constant(r->b, now);
}

/* Whether the node has made more bits of numbers that were of the dtype. */
static bool has_widened(const hone_node_t* node, hone_dtype_t dtype) {
  return node->prim == HONE_PRIM_CAST && node->inputs[0]->type.dtype == dtype &&
         hone_dtype_bits(dtype) < hone_dtype_bits(node->dtype);
}

/* What moves numbers on the way up from an operand. */
typedef struct way {
  int moves;
  bool is_parted; /* another way reads the numbers as they are, in the order that they have here */
} way_t;

/* Whether the node gives the most or least of its numbers, which is one of them rounded or not. */
static bool picks(const hone_node_t* node) {
  return node->prim == HONE_PRIM_REDUCE &&
         (node->combine == HONE_COMBINE_MAX || node->combine == HONE_COMBINE_MIN);
}

enum { MOST_INPUTS = 32 };

/* Whether the node puts numbers side by side that are rounded: as many of them are, once, and half
 * as much is moved. */
static bool joins(const hone_operand_store_t* store, hone_dims_t* dims, const hone_node_t* node) {
  return store->flags & HONE_FLAG_FLUSHES && node->prim == HONE_PRIM_CONCAT &&
         node->n_inputs <= MOST_INPUTS && !hone_either_is(dims, node);
}

/* Whether the node looks numbers up that are rounded, each about once or more, as Resize does. */
static bool repeats(const hone_operand_store_t* store, const hone_node_t* node) {
  if (!(store->flags & HONE_FLAG_FLUSHES) || node->prim != HONE_PRIM_GATHER) return false;
  int64_t before = hone_match_count(&node->inputs[0]->type),
          after = hone_match_count(&node->outputs[0]->type);
  return before >= 0 && after >= before;
}

/* Whether the numbers are to be converted above the node. */
static bool goes_above(const hone_operand_store_t* store, hone_dims_t* dims,
                       const hone_node_t* node, way_t way) {
  if (way.moves == MAX_MOVES) return false;
  if (joins(store, dims, node) || repeats(store, node)) return !way.is_parted;
  if (store->above_most && picks(node)) return !way.is_parted;
  return way.is_parted ? node->prim == HONE_PRIM_RESHAPE : hone_operand_only_moves(node);
}

static hone_value_t* convert(hone_operand_store_t* store, hone_rewriter_t* r, hone_value_t* value,
                             way_t way);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as MAX_MOVES */
static hone_value_t* make(hone_operand_store_t* store, hone_rewriter_t* r, hone_value_t* value,
                          way_t way) {
  const hone_node_t* node = value->node;
  const hone_tensor_t* constant = hone_match_constant(value);
  if (constant) return convert_constant(store, r, constant);
  if (!store->flips_sign && has_widened(node, store->dtype)) return node->inputs[0];
  if (value->binds || !goes_above(store, r->graph->dims, node, way))
    return recast(store, r->b, value);
  way.moves++;
  way.is_parted |= hone_either_takes_part(r->graph->dims, node);
  hone_value_t* inputs[MOST_INPUTS];
  for (int i = 0; i < node->n_inputs; i++) {
    bool is_place = node->prim == HONE_PRIM_GATHER && i > 0;
    inputs[i] = is_place ? node->inputs[i] : convert(store, r, node->inputs[i], way);
    if (!inputs[i]) return NULL;
  }
  return hone_rewrite_copy(r, node, inputs);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as MAX_MOVES */
static hone_value_t* convert(hone_operand_store_t* store, hone_rewriter_t* r, hone_value_t* value,
                             way_t way) {
  uint64_t key = (uint64_t)(uintptr_t)value;
  hone_value_t* known = hone_map_get_u64(&store->made, key);
  if (known) return known;
  hone_value_t* now = make(store, r, value, way);
  if (!now) return NULL;
  hone_status_t status = hone_map_put_u64(&store->made, key, now);
  return status ? hone_fail_status(r->b, status) : now;
}

hone_value_t* hone_operand_convert(hone_operand_store_t* store, hone_rewriter_t* r,
                                   hone_value_t* value) {
  return convert(store, r, value, (way_t){0});
}
