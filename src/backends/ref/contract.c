/* Contraction as a blocked matrix product in double (floats) or int64.
 *
 * Both operands become matrices through tables of byte offsets: row m of A and
 * column n of B start at an offset each, and element k lies at a further
 * offset, whatever views they came from (a convolution's window view is just
 * another table). A block of B is packed into panels of four columns, four
 * rows of A at a time, and a 4 x 4 tile of sums is kept in registers. Where
 * there are no more rows than that, they are packed once and B goes by panel.
 *
 *   panel:  k0: b0 b1 b2 b3 | k1: b0 b1 b2 b3 | …      (columns side by side)
 *   rows:   k0: a0 a1 a2 a3 | k1: …                    (rows side by side) */
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/float_convert.h"
#include "base/memory.h"

enum { TILE = 4, BLOCK_COLUMNS = 256 };

/* One for each column of a tile. */
typedef double doubles_t __attribute__((vector_size(TILE * sizeof(double))));

/* Sums of k products for each element of a tile. */
typedef void tile_fn(int64_t k, const hone_scalar_t* a, const hone_scalar_t* b,
                     hone_scalar_t sums[TILE][TILE]);

/* Byte offsets of every combination of some axes of a view, row-major. */
typedef struct offsets {
  int64_t count;
  int64_t* at;
} offsets_t;

typedef struct axis_list {
  int n;
  int64_t dims[HONE_MAX_RANK];
  int64_t strides[HONE_MAX_RANK];
} axis_list_t;

typedef struct product {
  const ref_call_t* call;
  const ref_view_t *a, *b;
  hone_dtype_t dtype;
  hone_scalar_class_t class;
  tile_fn* tile;
  offsets_t batch_a, batch_b, rows, columns, k_a, k_b;
  int64_t block;
  hone_scalar_t* panel;       /* `block` columns of K numbers */
  hone_scalar_t* packed_rows; /* TILE rows of K numbers */
} product_t;

static void add_axis(axis_list_t* list, const ref_view_t* view, int64_t axis) {
  list->dims[list->n] = view->dims[axis];
  list->strides[list->n++] = view->strides[axis];
}

static hone_status_t make_offsets(const hone_allocator_t* allocator, const axis_list_t* axes,
                                  offsets_t* out) {
  int64_t count, index[HONE_MAX_RANK] = {0};
  if (!hone_dims_count(axes->n, axes->dims, &count)) return hone_oom();
  out->at = hone_alloc(allocator, (size_t)count * sizeof *out->at);
  if (!out->at) return hone_oom();
  out->count = count;
  for (int64_t i = 0, offset = 0; i < count; i++) {
    out->at[i] = offset;
    for (int d = axes->n - 1; d >= 0; d--) {
      offset += axes->strides[d];
      if (++index[d] < axes->dims[d]) break;
      offset -= index[d] * axes->strides[d];
      index[d] = 0;
    }
  }
  return NULL;
}

/* Numbers at base + offsets[i], `spacing` numbers apart in `out`. */
static void gather_numbers(const product_t* p, hone_dtype_t dtype, const char* base,
                           const offsets_t* offsets, hone_scalar_t* out, int64_t spacing) {
  if (dtype == HONE_F32 && p->class == HONE_SCALAR_F64) {
    for (int64_t i = 0; i < offsets->count; i++) {
      float x;
      memcpy(&x, base + offsets->at[i], sizeof x);
      out[i * spacing].f = (double)x;
    }
    return;
  }
  bool from_float = hone_scalar_class(dtype) == HONE_SCALAR_F64;
  for (int64_t i = 0; i < offsets->count; i++) {
    hone_scalar_t* to = &out[i * spacing];
    hone_scalar_load(dtype, base + offsets->at[i], 0, 1, to);
    if (p->class == HONE_SCALAR_F64 && !from_float)
      to->f = (double)to->i;
    else if (p->class != HONE_SCALAR_F64 && from_float)
      to->i = hone_double_to_i64(to->f);
  }
}

/* Packs `n` vectors side by side in groups of TILE; missing ones are zero. */
static void pack(const product_t* p, const ref_view_t* view, int64_t batch, const int64_t* starts,
                 int64_t n, const offsets_t* k, hone_scalar_t* out) {
  for (int64_t i = 0; i < n; i++)
    gather_numbers(p, view->dtype, view->data + batch + starts[i], k,
                   out + i / TILE * TILE * k->count + i % TILE, TILE);
  for (int64_t i = n; i % TILE; i++)
    for (int64_t j = 0; j < k->count; j++)
      out[i / TILE * TILE * k->count + i % TILE + j * TILE].u = 0;
}

static inline __attribute__((always_inline)) void multiply_tile(int64_t k, const hone_scalar_t* a,
                                                                const hone_scalar_t* b,
                                                                hone_scalar_t sums[TILE][TILE]) {
  doubles_t row0 = {0}, row1 = {0}, row2 = {0}, row3 = {0}; /* no array: they stay in registers */
  for (int64_t i = 0; i < k; i++, a += TILE, b += TILE) {
    doubles_t columns;
    memcpy(&columns, b, sizeof columns);
    row0 += a[0].f * columns;
    row1 += a[1].f * columns;
    row2 += a[2].f * columns;
    row3 += a[3].f * columns;
  }
  memcpy(sums[0], &row0, sizeof row0);
  memcpy(sums[1], &row1, sizeof row1);
  memcpy(sums[2], &row2, sizeof row2);
  memcpy(sums[3], &row3, sizeof row3);
}

static void tile_f64(int64_t k, const hone_scalar_t* a, const hone_scalar_t* b,
                     hone_scalar_t sums[TILE][TILE]) {
  multiply_tile(k, a, b, sums);
}

/* The same bits in wider registers: products are rounded before they are added here, too. */
#ifdef __x86_64__
__attribute__((target("avx"))) static void tile_f64_wide(int64_t k, const hone_scalar_t* a,
                                                         const hone_scalar_t* b,
                                                         hone_scalar_t sums[TILE][TILE]) {
  multiply_tile(k, a, b, sums);
}
static tile_fn* best_tile_f64(void) {
  return __builtin_cpu_supports("avx") ? tile_f64_wide : tile_f64;
}
#else
static tile_fn* best_tile_f64(void) { return tile_f64; }
#endif

static void tile_i64(int64_t k, const hone_scalar_t* a, const hone_scalar_t* b,
                     hone_scalar_t sums[TILE][TILE]) {
  uint64_t acc[TILE][TILE] = {{0}};
  for (int64_t i = 0; i < k; i++, a += TILE, b += TILE)
    for (int r = 0; r < TILE; r++)
      for (int c = 0; c < TILE; c++) acc[r][c] += a[r].u * b[c].u;
  memcpy(sums, acc, sizeof acc);
}

static int64_t at_most(int64_t n, int64_t limit) { return n < limit ? n : limit; }

/* TILE rows against a packed block of `n` columns; `out` is row `m`, column
 * `first` of the batch's result. */
static void multiply_rows(const product_t* p, int64_t m, int64_t n_rows, int64_t first, int64_t n,
                          char* out) {
  size_t size = hone_dtype_size(p->dtype);
  hone_scalar_t sums[TILE][TILE];
  for (int64_t c = 0; c < n; c += TILE) {
    p->tile(p->k_a.count, p->packed_rows, p->panel + c * p->k_b.count, sums);
    for (int64_t r = 0; r < n_rows; r++) {
      size_t index = (size_t)((m + r) * p->columns.count + first + c);
      hone_scalar_store(p->dtype, sums[r], at_most(n - c, TILE), out + index * size);
    }
  }
}

static int64_t pack_rows(const product_t* p, int64_t batch, int64_t m) {
  int64_t n = at_most(p->rows.count - m, TILE);
  pack(p, p->a, p->batch_a.at[batch], p->rows.at + m, n, &p->k_a, p->packed_rows);
  return n;
}

static void multiply_batch(const product_t* p, int64_t batch, char* out) {
  bool is_one = p->rows.count <= TILE;
  if (is_one) pack_rows(p, batch, 0);
  for (int64_t first = 0; first < p->columns.count; first += p->block) {
    int64_t n = at_most(p->columns.count - first, p->block);
    pack(p, p->b, p->batch_b.at[batch], p->columns.at + first, n, &p->k_b, p->panel);
    for (int64_t m = 0; m < p->rows.count; m += TILE) {
      int64_t n_rows = is_one ? p->rows.count : pack_rows(p, batch, m);
      multiply_rows(p, m, n_rows, first, n, out);
    }
  }
}

/* Sorts the axes of both operands into batch, free and summed ones, and makes
 * their tables; writes the shape of the result. */
static hone_status_t plan(product_t* p, const hone_node_t* node, int* rank, int64_t* dims) {
  axis_list_t batch_a = {0}, batch_b = {0}, rows = {0}, columns = {0}, k_a = {0}, k_b = {0};
  uint32_t used_a = 0, used_b = 0;
  for (int i = 0; i < node->n_axes / 2; i++) {
    int64_t x = node->axes[2 * i], y = node->axes[2 * i + 1];
    if (p->a->dims[x] != p->b->dims[y])
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "contract: paired axes have extents %lld and %lld",
                              (long long)p->a->dims[x], (long long)p->b->dims[y]);
    add_axis(i < node->n_batch ? &batch_a : &k_a, p->a, x);
    add_axis(i < node->n_batch ? &batch_b : &k_b, p->b, y);
    used_a |= 1u << x;
    used_b |= 1u << y;
  }
  for (int i = 0; i < p->a->rank; i++)
    if (!(used_a & (1u << i))) add_axis(&rows, p->a, i);
  for (int i = 0; i < p->b->rank; i++)
    if (!(used_b & (1u << i))) add_axis(&columns, p->b, i);
  *rank = 0;
  const axis_list_t* results[] = {&batch_a, &rows, &columns};
  for (int l = 0; l < 3; l++)
    for (int i = 0; i < results[l]->n; i++) dims[(*rank)++] = results[l]->dims[i];
  const axis_list_t* lists[] = {&batch_a, &batch_b, &rows, &columns, &k_a, &k_b};
  offsets_t* tables[] = {&p->batch_a, &p->batch_b, &p->rows, &p->columns, &p->k_a, &p->k_b};
  for (int i = 0; i < 6; i++) HONE_TRY(make_offsets(p->call->allocator, lists[i], tables[i]));
  return NULL;
}

static size_t panel_bytes(const product_t* p) {
  int64_t columns = at_most(p->columns.count, p->block) + TILE; /* the last panel is padded */
  return (size_t)columns * (size_t)p->k_b.count * sizeof(hone_scalar_t);
}

static size_t rows_bytes(const product_t* p) {
  return TILE * (size_t)p->k_a.count * sizeof(hone_scalar_t);
}

static hone_status_t multiply(product_t* p, ref_view_t* out) {
  const hone_allocator_t* allocator = p->call->allocator;
  int rank = 0;
  int64_t dims[2 * HONE_MAX_RANK];
  HONE_TRY(plan(p, p->call->node, &rank, dims));
  HONE_TRY(hone_ref_make(allocator, p->dtype, rank, dims, out));
  p->block = p->rows.count <= TILE ? TILE : BLOCK_COLUMNS;
  p->panel = hone_alloc(allocator, panel_bytes(p));
  p->packed_rows = hone_alloc(allocator, rows_bytes(p));
  if (!p->panel || !p->packed_rows) return hone_oom();
  size_t step = (size_t)(p->rows.count * p->columns.count) * hone_dtype_size(p->dtype);
  for (int64_t i = 0; i < p->batch_a.count; i++) multiply_batch(p, i, out->data + (size_t)i * step);
  return NULL;
}

hone_status_t hone_ref_contract(ref_call_t* call) {
  product_t p = {.call = call,
                 .a = call->in[0],
                 .b = call->in[1],
                 .dtype = call->node->dtype,
                 .class = hone_scalar_class(call->node->dtype)};
  if (p.class > HONE_SCALAR_U64 || hone_scalar_class(p.a->dtype) > HONE_SCALAR_U64 ||
      hone_scalar_class(p.b->dtype) > HONE_SCALAR_U64)
    return hone_status_make(HONE_UNSUPPORTED, "contract of %s is not defined",
                            hone_dtype_name(p.a->dtype));
  p.tile = p.class == HONE_SCALAR_F64 ? best_tile_f64() : tile_i64;
  hone_status_t status = multiply(&p, &call->out[0]);
  offsets_t* tables[] = {&p.batch_a, &p.batch_b, &p.rows, &p.columns, &p.k_a, &p.k_b};
  if (p.panel) hone_free(call->allocator, p.panel, panel_bytes(&p));
  if (p.packed_rows) hone_free(call->allocator, p.packed_rows, rows_bytes(&p));
  for (int i = 0; i < 6; i++)
    hone_free(call->allocator, tables[i]->at, (size_t)tables[i]->count * sizeof *tables[i]->at);
  return status;
}
