/* Gather, scatter and sort. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/memory.h"
#include "base/merge_sort.h"

/* Element `k` of an index tensor made dense, checked against the extent. */
static hone_status_t read_index(const ref_call_t* call, const hone_tensor_t* index, int64_t k,
                                int64_t extent, int64_t* out) {
  hone_dtype_t dtype = hone_tensor_dtype(index);
  const char* data = hone_tensor_data(index);
  hone_scalar_t value;
  hone_scalar_load(dtype, data + (size_t)k * hone_dtype_size(dtype), 0, 1, &value);
  *out = value.i;
  if (value.i >= 0 && value.i < extent) return NULL;
  return hone_status_make(HONE_OUT_OF_RANGE, "%s: index %lld is outside of an axis of %lld",
                          hone_prim_info(call->node->prim)->name, (long long)value.i,
                          (long long)extent);
}

/* Entry `at` along axis 0; borrows the reference. */
static ref_view_t entry(const ref_view_t* x, int64_t at) {
  ref_view_t out = *x;
  out.rank--;
  out.data += at * x->strides[0];
  memmove(out.dims, x->dims + 1, (size_t)out.rank * sizeof *out.dims);
  memmove(out.strides, x->strides + 1, (size_t)out.rank * sizeof *out.strides);
  return out;
}

/* A dense view as one axis of `count` entries, then the axes of `like`'s entries. */
static ref_view_t as_entries(const ref_view_t* dense, int64_t count, const ref_view_t* like) {
  ref_view_t out = *dense;
  out.rank = like->rank;
  out.dims[0] = count;
  int64_t stride = (int64_t)hone_dtype_size(like->dtype);
  for (int i = like->rank - 1; i > 0; i--) {
    out.dims[i] = like->dims[i];
    out.strides[i] = stride;
    stride *= like->dims[i];
  }
  out.strides[0] = stride;
  return out;
}

hone_status_t hone_ref_gather(ref_call_t* call) {
  const ref_view_t *x = call->in[0], *index = call->in[1];
  int64_t dims[2 * HONE_MAX_RANK], count = hone_ref_count(index);
  memcpy(dims, index->dims, (size_t)index->rank * sizeof *dims);
  memcpy(dims + index->rank, x->dims + 1, (size_t)(x->rank - 1) * sizeof *dims);
  HONE_TRY(
      hone_ref_make(call->allocator, x->dtype, index->rank + x->rank - 1, dims, &call->out[0]));
  hone_tensor_t* indices;
  HONE_TRY(hone_ref_tensor(call->allocator, index, &indices));
  ref_view_t to = as_entries(&call->out[0], count, x);
  hone_status_t status = NULL;
  for (int64_t k = 0; k < count && !status; k++) {
    int64_t at;
    status = read_index(call, indices, k, x->dims[0], &at);
    if (status) break;
    ref_view_t source = entry(x, at), target = entry(&to, k);
    status = hone_ref_copy(&source, &target);
  }
  hone_tensor_release(indices);
  return status;
}

/* target = combine(target, update), element by element. */
static hone_status_t combine_entry(const ref_call_t* call, const ref_view_t* update,
                                   const ref_view_t* target) {
  if (call->node->combine == HONE_COMBINE_SET) return hone_ref_copy(update, target);
  hone_scalar_combine_fn combine =
      hone_scalar_combine(call->node->combine, hone_scalar_class(target->dtype));
  if (!combine)
    return hone_status_make(HONE_UNSUPPORTED, "scatter by %s of %s is not defined",
                            hone_combine_name(call->node->combine), hone_dtype_name(target->dtype));
  const ref_view_t* views[2] = {target, update};
  hone_scalar_t a[HONE_REF_ROW], b[HONE_REF_ROW];
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    hone_scalar_load(target->dtype, at[0], rows.row_stride[0], n, a);
    hone_scalar_load(target->dtype, at[1], rows.row_stride[1], n, b);
    for (int64_t i = 0; i < n; i++) a[i] = combine(a[i], b[i]);
    hone_scalar_store(target->dtype, a, n, at[0]); /* the target is dense */
  }
  return NULL;
}

static hone_status_t scatter_all(ref_call_t* call, const hone_tensor_t* indices,
                                 const hone_tensor_t* updates) {
  const ref_view_t* out = &call->out[0];
  ref_view_t flat = {.dtype = out->dtype, .data = hone_tensor_data(updates)};
  int64_t count = hone_tensor_count(indices);
  ref_view_t from = as_entries(&flat, count, out);
  for (int64_t k = 0; k < count; k++) {
    int64_t at;
    HONE_TRY(read_index(call, indices, k, out->dims[0], &at));
    ref_view_t update = entry(&from, k), target = entry(out, at);
    HONE_TRY(combine_entry(call, &update, &target));
  }
  return NULL;
}

hone_status_t hone_ref_scatter(ref_call_t* call) {
  const ref_view_t *x = call->in[0], *index = call->in[1], *update = call->in[2];
  int64_t expected = hone_ref_count(index);
  for (int i = 1; i < x->rank; i++) expected *= x->dims[i];
  if (expected != hone_ref_count(update))
    return hone_status_make(HONE_INVALID_ARGUMENT, "scatter: updates of a wrong shape");
  HONE_TRY(hone_ref_make(call->allocator, x->dtype, x->rank, x->dims, &call->out[0]));
  HONE_TRY(hone_ref_copy(x, &call->out[0]));
  hone_tensor_t *indices, *updates;
  HONE_TRY(hone_ref_tensor(call->allocator, index, &indices));
  hone_status_t status = hone_ref_tensor(call->allocator, update, &updates);
  if (!status) {
    status = scatter_all(call, indices, updates);
    hone_tensor_release(updates);
  }
  hone_tensor_release(indices);
  return status;
}

/* ---- sort ---- */

typedef struct sort_item {
  hone_scalar_t key;
  int64_t index;
} sort_item_t;

typedef int (*compare_fn)(const void*, const void*);

/* NaN is larger than everything. Equal keys keep their order. */
static int order_f64(const sort_item_t* x, const sort_item_t* y) {
  double a = x->key.f, b = y->key.f;
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return (a > b) - (a < b);
}

#define COMPARE(name, order)                                       \
  static int name##_up(const void* p, const void* q) {             \
    const sort_item_t *x = p, *y = q;                              \
    int o = order;                                                 \
    return o ? o : (x->index > y->index) - (x->index < y->index);  \
  }                                                                \
  static int name##_down(const void* p, const void* q) {           \
    const sort_item_t *x = p, *y = q;                              \
    int o = order;                                                 \
    return o ? -o : (x->index > y->index) - (x->index < y->index); \
  }
COMPARE(f64, order_f64(x, y))
COMPARE(i64, (x->key.i > y->key.i) - (x->key.i < y->key.i))
COMPARE(u64, (x->key.u > y->key.u) - (x->key.u < y->key.u))
#undef COMPARE

static const compare_fn compares[3][2] = {[HONE_SCALAR_F64] = {f64_up, f64_down},
                                          [HONE_SCALAR_I64] = {i64_up, i64_down},
                                          [HONE_SCALAR_U64] = {u64_up, u64_down}};

/* A line that is sorted, or the first `count` of it. */
typedef struct sort {
  hone_dtype_t dtype;
  bool is_float, down;
  compare_fn compare;
  sort_item_t* items; /* room for twice the line */
  int64_t n, count;
} sort_t;

static void load_items(const sort_t* s, const char* from, int64_t stride) {
  hone_scalar_t keys[HONE_REF_ROW];
  for (int64_t i = 0; i < s->n; i += HONE_REF_ROW) {
    int64_t some = s->n - i < HONE_REF_ROW ? s->n - i : HONE_REF_ROW;
    hone_scalar_load(s->dtype, from + i * stride, stride, some, keys);
    for (int64_t k = 0; k < some; k++) s->items[i + k] = (sort_item_t){keys[k], i + k};
  }
}

/* Whether an item that comes later is surely not among the first: NaN is not sure. */
static inline bool is_behind(const sort_t* s, const sort_item_t* item, const sort_item_t* last) {
  return s->is_float && (s->down ? item->key.f <= last->key.f : item->key.f >= last->key.f);
}

/* Keeps the first `count` in order, one item after the other. */
static void select_first(const sort_t* s) {
  sort_item_t* items = s->items;
  int64_t kept = 0;
  for (int64_t i = 0; i < s->n; i++) {
    sort_item_t item = items[i];
    if (kept == s->count && is_behind(s, &item, &items[kept - 1])) continue;
    if (kept == s->count && s->compare(&item, &items[kept - 1]) > 0) continue;
    int64_t at = kept < s->count ? kept++ : kept - 1;
    for (; at > 0 && s->compare(&item, &items[at - 1]) < 0; at--) items[at] = items[at - 1];
    items[at] = item;
  }
}

static void sort_line(const sort_t* s, const char* from, int64_t stride, char* values,
                      char* indices, int64_t to_stride) {
  enum { FEW = 32 }; /* that are found one after the other */
  const sort_item_t* items = s->items;
  hone_dtype_t dtype = s->dtype;
  int64_t size = (int64_t)hone_dtype_size(dtype);
  load_items(s, from, stride);
  if (s->count > 0 && s->count <= FEW && s->count < s->n)
    select_first(s);
  else
    hone_merge_sort(s->items, s->items + s->n, (size_t)s->n, sizeof *items, s->compare);
  for (int64_t i = 0; i < s->count; i++) {
    hone_scalar_store(dtype, &items[i].key, 1, values + i * to_stride);
    memcpy(indices + i * to_stride / size * 8, &items[i].index, 8);
  }
}

uint64_t hone_ref_sort_bytes(int64_t extent) { return 2 * (uint64_t)extent * sizeof(sort_item_t); }

/* The values and their places, of as many as are wanted along the axis. */
static hone_status_t make_sorted(ref_call_t* call, int64_t axis, int64_t wanted) {
  const ref_view_t* x = call->in[0];
  int64_t dims[HONE_MAX_RANK];
  if (wanted < 0 || wanted > x->dims[axis])
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "sort: %" PRId64 " elements are wanted along axis %" PRId64
                            ", which has %" PRId64,
                            wanted, axis, x->dims[axis]);
  memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
  dims[axis] = wanted;
  HONE_TRY(hone_ref_make(call->allocator, x->dtype, x->rank, dims, &call->out[0]));
  return hone_ref_make(call->allocator, HONE_I64, x->rank, dims, &call->out[1]);
}

hone_status_t hone_ref_sort(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  if (hone_scalar_class(x->dtype) > HONE_SCALAR_U64)
    return hone_status_make(HONE_UNSUPPORTED, "sort of %s is not defined",
                            hone_dtype_name(x->dtype));
  int64_t axis = call->node->axes[0], n = x->dims[axis], wanted = call->shape[0];
  HONE_TRY(make_sorted(call, axis, wanted));
  size_t bytes;
  if (!hone_size_mul((size_t)n, 2 * sizeof(sort_item_t), &bytes)) return hone_oom();
  sort_item_t* items = hone_alloc(call->allocator, bytes);
  if (!items) return hone_oom();
  ref_view_t from = *x, values = call->out[0], indices = call->out[1];
  int64_t to_stride = values.strides[axis];
  from.dims[axis] = values.dims[axis] = indices.dims[axis] = wanted ? 1 : 0;
  hone_scalar_class_t class = hone_scalar_class(x->dtype);
  bool down = call->node->flags & HONE_FLAG_DESCENDING;
  const sort_t sort = {.dtype = x->dtype,
                       .is_float = class == HONE_SCALAR_F64,
                       .down = down,
                       .compare = compares[class][down],
                       .items = items,
                       .n = n,
                       .count = wanted};
  const ref_view_t* views[3] = {&from, &values, &indices};
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 3, views);
  for (int64_t count; (count = hone_ref_rows_next(&rows, at)) > 0;)
    for (int64_t i = 0; i < count; i++)
      sort_line(&sort, at[0] + i * rows.row_stride[0], x->strides[axis],
                at[1] + i * rows.row_stride[1], at[2] + i * rows.row_stride[2], to_stride);
  hone_free(call->allocator, items, bytes);
  return NULL;
}
