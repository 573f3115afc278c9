#include "ir/random_graph.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/random.h"
#include "ir/builder.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { MAX_POOL = 128, MAX_EXTENT_PRODUCT = 4096 };

typedef struct maker {
  hone_builder_t* b;
  uint64_t seed, index;
  int count; /* values made so far, all tensors of known rank */
  hone_value_t* pool[MAX_POOL];
} maker_t;

static int draw(maker_t* m, int limit) {
  uint32_t word = hone_random_u32(m->seed, m->index++);
  return limit > 0 ? (int)(word % (uint32_t)limit) : 0;
}

static void add(maker_t* m, hone_value_t* value) {
  if (value && m->count < MAX_POOL) m->pool[m->count++] = value;
}

/* Later values more often than early ones, so that graphs become deep. */
static hone_value_t* pick(maker_t* m) {
  if (m->count == 0) return NULL;
  int a = draw(m, m->count), b = draw(m, m->count);
  return m->pool[a > b ? a : b];
}

/* A value of `dtype`, cast where chance gives another. */
static hone_value_t* pick_as(maker_t* m, hone_dtype_t dtype) {
  return hone_cast(m->b, pick(m), dtype);
}

/* ---- sources ---- */

static hone_dim_t draw_extent(maker_t* m) {
  static const char* const names[] = {"n", "m"};
  int choice = draw(m, 6);
  if (choice < 2) return hone_dim_symbol(m->b->graph->dims, names[choice], HONE_SYMBOL_INPUT, 1, 4);
  return hone_dim_int(choice == 2 ? 1 : 1 + draw(m, 4));
}

static void add_input(maker_t* m) {
  static const hone_dtype_t dtypes[] = {HONE_F32, HONE_F32, HONE_F32, HONE_I32, HONE_BOOL};
  hone_dim_t dims[4];
  int rank = draw(m, 4);
  for (int i = 0; i < rank; i++) dims[i] = draw_extent(m);
  hone_type_t type = hone_type_tensor(dtypes[draw(m, COUNT(dtypes))], rank, dims);
  char name[16];
  snprintf(name, sizeof name, "x%d", m->b->graph->n_inputs);
  hone_value_t* x = hone_input(m->b, name, &type);
  for (int i = 0; i < rank; i++) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(dims[i]);
    if (symbol && x) hone_fail_status(m->b, hone_value_bind(m->b->graph, x, symbol->id, true, i));
  }
  add(m, x);
}

static void add_constant(maker_t* m) {
  static const float numbers[] = {0.f, -0.f, 1.f, -1.f, 2.f, 0.5f, 3.f, -4.f};
  float data[64];
  int64_t dims[3];
  int rank = draw(m, 4), count = 1;
  for (int i = 0; i < rank; i++) count *= (int)(dims[i] = 1 + draw(m, 4));
  bool uniform = draw(m, 2);
  for (int i = 0; i < count; i++) data[i] = numbers[draw(m, COUNT(numbers))];
  for (int i = 0; uniform && i < count; i++) data[i] = data[0];
  add(m, hone_constant_data(m->b, HONE_F32, rank, dims, data));
}

/* ---- steps ---- */

static void step_unary(maker_t* m) {
  static const hone_prim_t prims[] = {HONE_PRIM_NEG, HONE_PRIM_NEG,  HONE_PRIM_ABS,
                                      HONE_PRIM_EXP, HONE_PRIM_TANH, HONE_PRIM_FLOOR};
  add(m, hone_unary(m->b, prims[draw(m, COUNT(prims))], pick_as(m, HONE_F32)));
}

static bool broadcasts(const hone_value_t* x, const hone_value_t* y) {
  for (int i = 1; i <= hone_rank(x) && i <= hone_rank(y); i++) {
    hone_dim_t a = hone_dim(x, -i), b = hone_dim(y, -i);
    if (!hone_dim_same(a, b) && !hone_dim_is(a, 1) && !hone_dim_is(b, 1)) return false;
  }
  return true;
}

static void step_binary(maker_t* m) {
  static const hone_prim_t prims[] = {HONE_PRIM_ADD, HONE_PRIM_SUB, HONE_PRIM_MUL, HONE_PRIM_DIV,
                                      HONE_PRIM_MIN, HONE_PRIM_MAX, HONE_PRIM_POW};
  static const double numbers[] = {0, -0.0, 1, 2, 0.5, -1, 8};
  hone_dtype_t dtype = draw(m, 4) ? HONE_F32 : HONE_I32;
  hone_value_t *x = pick_as(m, dtype), *y = pick_as(m, dtype);
  if (draw(m, 2)) y = hone_scalar(m->b, dtype, numbers[draw(m, COUNT(numbers))]);
  if (!x || !y || !broadcasts(x, y)) return;
  bool swap = draw(m, 2);
  add(m, hone_binary(m->b, prims[draw(m, COUNT(prims))], swap ? y : x, swap ? x : y));
}

static void step_select(maker_t* m) {
  hone_value_t* x = pick_as(m, HONE_F32);
  hone_value_t* condition =
      draw(m, 3) ? hone_lt_number(m->b, x, 0) : hone_scalar_i64(m->b, HONE_BOOL, draw(m, 2));
  add(m, hone_select(m->b, condition, x, hone_neg(m->b, x)));
}

static void step_cast(maker_t* m) {
  static const hone_dtype_t dtypes[] = {HONE_F32, HONE_F64, HONE_F16, HONE_I32,
                                        HONE_I64, HONE_I8,  HONE_BOOL};
  add(m, hone_cast(m->b, pick(m), dtypes[draw(m, COUNT(dtypes))]));
}

static void step_permute(maker_t* m) {
  hone_value_t* x = pick(m);
  int rank = hone_rank(x);
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) axes[i] = i;
  for (int i = rank - 1; i > 0; i--) {
    int k = draw(m, i + 1);
    int64_t t = axes[i];
    axes[i] = axes[k];
    axes[k] = t;
  }
  add(m, hone_permute(m->b, x, axes));
}

/* Adds or drops an axis of extent 1, or joins two axes. */
static void step_reshape(maker_t* m) {
  hone_value_t* x = pick(m);
  int rank = hone_rank(x);
  int choice = draw(m, 3);
  if (choice == 0 && rank < 5) add(m, hone_unsqueeze(m->b, x, draw(m, rank + 1)));
  if (choice == 1 && rank > 1) add(m, hone_flatten(m->b, x, draw(m, rank + 1)));
  for (int i = 0; choice == 2 && i < rank; i++)
    if (hone_dim_is(hone_dim(x, i), 1)) {
      add(m, hone_squeeze(m->b, x, i));
      return;
    }
}

static void step_expand(maker_t* m) {
  hone_value_t* x = pick(m);
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(x); i++)
    shape[i] = hone_dim_is(hone_dim(x, i), 1) ? hone_dim_int(1 + draw(m, 3)) : hone_dim(x, i);
  add(m, hone_expand(m->b, x, hone_rank(x), shape));
}

static void step_slice(maker_t* m) {
  hone_value_t* x = pick(m);
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK], step[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(x); i++) {
    hone_dim_t extent = hone_dim(x, i);
    bool cut = hone_dim_is_int(extent) && extent.k > 1 && draw(m, 2);
    lo[i] = hone_dim_int(cut ? draw(m, (int)extent.k - 1) : 0);
    hi[i] = cut ? hone_dim_int(lo[i].k + 1 + draw(m, (int)(extent.k - lo[i].k))) : extent;
    step[i] = hone_dim_int(1 + (draw(m, 4) == 0));
  }
  add(m, hone_slice(m->b, x, lo, hi, step));
}

static void step_pad(maker_t* m) {
  hone_value_t* x = pick_as(m, HONE_F32);
  if (!x) return;
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(x); i++) {
    lo[i] = hone_dim_int(draw(m, 2));
    hi[i] = hone_dim_int(draw(m, 2));
  }
  add(m, hone_pad(m->b, x, lo, hi, NULL));
}

static void step_join(maker_t* m) {
  hone_value_t* x = pick(m);
  int rank = hone_rank(x);
  if (!rank) return;
  hone_value_t* parts[2] = {x, hone_flip(m->b, x, draw(m, rank))};
  add(m, hone_concat(m->b, 2, parts, draw(m, rank)));
}

static void step_reduce(maker_t* m) {
  hone_value_t* x = pick_as(m, HONE_F32);
  if (!x || hone_rank(x) == 0) return;
  int64_t axis = draw(m, hone_rank(x));
  add(m, hone_reduce(m->b, draw(m, 2) ? HONE_COMBINE_ADD : HONE_COMBINE_MAX, x, 1, &axis,
                     draw(m, 2) != 0));
}

/* A product with itself, or with constant weights. */
static void step_contract(maker_t* m) {
  hone_value_t* x = pick_as(m, HONE_F32);
  int rank = x ? hone_rank(x) : 0;
  if (!rank) return;
  int axis = draw(m, rank);
  hone_dim_t extent = hone_dim(x, axis);
  hone_value_t* weights = x;
  int64_t pairs[1][2] = {{axis, axis}};
  if (hone_dim_is_int(extent)) {
    hone_dim_t shape[2] = {extent, hone_dim_int(1 + draw(m, 3))};
    weights = hone_cast(m->b, hone_iota(m->b, HONE_I32, 2, shape, draw(m, 2)), HONE_F32);
    pairs[0][1] = 0;
  }
  if (2 * rank - 2 > 6) return;
  add(m, hone_contract(m->b, x, weights, 1, (const int64_t(*)[2])pairs, 0, HONE_F32));
}

static void (*const steps[])(maker_t*) = {
    step_unary,   step_binary,  step_binary,  step_binary,  step_select,   step_cast,
    step_permute, step_permute, step_permute, step_reshape, step_reshape,  step_expand,
    step_slice,   step_pad,     step_join,    step_reduce,  step_contract, add_constant,
};

static bool too_large(const hone_value_t* v) {
  double product = 1;
  for (int i = 0; i < hone_rank(v); i++) {
    int64_t extent = hone_dim_is_int(hone_dim(v, i)) ? hone_dim(v, i).k : 4;
    product *= (double)(extent ? extent : 1);
  }
  return product > MAX_EXTENT_PRODUCT || hone_rank(v) > 6;
}

static void add_steps(maker_t* m, int n_nodes) {
  for (int i = 0; i < 3; i++) add_input(m);
  for (int i = 0; i < n_nodes && m->b->status == NULL; i++) {
    int before = m->count;
    steps[draw(m, COUNT(steps))](m);
    if (m->count > before && too_large(m->pool[m->count - 1])) m->count = before;
  }
}

static hone_status_t choose_outputs(maker_t* m) {
  hone_value_t* outputs[4];
  int n_outputs = 1 + draw(m, 4);
  for (int i = 0; i < n_outputs; i++) outputs[i] = i ? pick(m) : m->pool[m->count - 1];
  HONE_TRY(hone_graph_set_outputs(m->b->graph, n_outputs, outputs, NULL));
  hone_graph_drop_dead(m->b->graph);
  return NULL;
}

hone_status_t hone_random_graph(uint64_t seed, int n_nodes, hone_graph_t** out_graph) {
  HONE_TRY(hone_graph_create(NULL, "random", out_graph));
  hone_builder_t b = {.graph = *out_graph, .origin = "random (Test)"};
  maker_t m = {.b = &b, .seed = seed};
  add_steps(&m, n_nodes);
  hone_status_t status = b.status;
  if (!status && b.deferred) status = hone_status_make(HONE_INTERNAL, "%s", b.deferred);
  if (!status) status = choose_outputs(&m);
  if (!status) return NULL;
  hone_graph_destroy(*out_graph);
  *out_graph = NULL;
  return status;
}
