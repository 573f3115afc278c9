#include "backends/ref/view.h"

#include <string.h>

#include "base/memory.h"

ref_view_t hone_ref_view(hone_tensor_t* owned) {
  ref_view_t view = {.base = owned,
                     .kind = hone_tensor_kind(owned),
                     .dtype = hone_tensor_dtype(owned),
                     .rank = hone_tensor_rank(owned),
                     .data = hone_tensor_data(owned)};
  int64_t stride = (int64_t)hone_dtype_size(view.dtype);
  for (int i = view.rank - 1; i >= 0; i--) {
    view.dims[i] = hone_tensor_dims(owned)[i];
    view.strides[i] = stride;
    stride *= view.dims[i] > 0 ? view.dims[i] : 1;
  }
  return view;
}

ref_view_t hone_ref_share(const ref_view_t* view) {
  if (view->base) hone_tensor_retain(view->base);
  return *view;
}

void hone_ref_drop(ref_view_t* view) {
  hone_tensor_release(view->base);
  view->base = NULL;
}

int64_t hone_ref_count(const ref_view_t* view) {
  int64_t count = 1;
  for (int i = 0; i < view->rank; i++) count *= view->dims[i];
  return count;
}

bool hone_ref_is_dense(const ref_view_t* view) {
  int64_t stride = (int64_t)hone_dtype_size(view->dtype);
  for (int i = view->rank - 1; i >= 0; i--) {
    if (view->dims[i] == 0) return true;
    if (view->dims[i] != 1 && view->strides[i] != stride) return false;
    stride *= view->dims[i];
  }
  return true;
}

hone_status_t hone_ref_make(const hone_allocator_t* allocator, hone_dtype_t dtype, int rank,
                            const int64_t* dims, ref_view_t* out_view) {
  hone_tensor_t* tensor;
  HONE_TRY(hone_tensor_create(allocator, dtype, rank, dims, &tensor));
  *out_view = hone_ref_view(tensor);
  return NULL;
}

/* The base tensor already is what the view shows. */
static bool is_whole(const ref_view_t* view) {
  const hone_tensor_t* base = view->base;
  if (view->kind != HONE_KIND_TENSOR) return true;
  if (hone_tensor_dtype(base) != view->dtype || hone_tensor_rank(base) != view->rank ||
      view->data != hone_tensor_data(base) || !hone_ref_is_dense(view))
    return false;
  for (int i = 0; i < view->rank; i++)
    if (hone_tensor_dims(base)[i] != view->dims[i]) return false;
  return true;
}

hone_status_t hone_ref_tensor(const hone_allocator_t* allocator, const ref_view_t* view,
                              hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  if (is_whole(view)) {
    hone_tensor_retain(view->base);
    *out_tensor = view->base;
    return NULL;
  }
  ref_view_t copy;
  HONE_TRY(hone_ref_make(allocator, view->dtype, view->rank, view->dims, &copy));
  hone_status_t status = hone_ref_copy(view, &copy);
  if (status)
    hone_ref_drop(&copy);
  else
    *out_tensor = copy.base;
  return status;
}

/* ---- rows ---- */

/* Merges axis `inner` into `outer` when every view walks both with one stride. */
static bool can_merge(const ref_rows_t* rows, int outer, int inner) {
  for (int v = 0; v < rows->n_views; v++)
    if (rows->strides[v][outer] != rows->strides[v][inner] * rows->dims[inner]) return false;
  return true;
}

static void push_axis(ref_rows_t* rows, int64_t extent, const ref_view_t* const* views, int axis) {
  int at = rows->rank++;
  rows->dims[at] = extent;
  for (int v = 0; v < rows->n_views; v++) rows->strides[v][at] = views[v]->strides[axis];
  if (at == 0 || !can_merge(rows, at - 1, at)) return;
  rows->dims[at - 1] *= extent;
  for (int v = 0; v < rows->n_views; v++) rows->strides[v][at - 1] = rows->strides[v][at];
  rows->rank--;
}

void hone_ref_rows_start(ref_rows_t* rows, int n_views, const ref_view_t* const* views) {
  *rows = (ref_rows_t){.n_views = n_views};
  for (int v = 0; v < n_views; v++) rows->data[v] = views[v]->data;
  for (int i = 0; i < views[0]->rank; i++) {
    if (views[0]->dims[i] == 0) rows->ended = true;
    if (views[0]->dims[i] != 1) push_axis(rows, views[0]->dims[i], views, i);
  }
  rows->row_length = 1;
  if (rows->rank == 0) return;
  rows->rank--; /* the innermost axis is the row */
  rows->row_length = rows->dims[rows->rank];
  for (int v = 0; v < n_views; v++) rows->row_stride[v] = rows->strides[v][rows->rank];
}

/* To the next row: counts up the outer index like an odometer. */
static void advance(ref_rows_t* rows) {
  rows->row_done = 0;
  for (int i = rows->rank - 1; i >= 0; i--) {
    if (++rows->index[i] < rows->dims[i]) {
      for (int v = 0; v < rows->n_views; v++) rows->data[v] += rows->strides[v][i];
      return;
    }
    rows->index[i] = 0;
    for (int v = 0; v < rows->n_views; v++)
      rows->data[v] -= rows->strides[v][i] * (rows->dims[i] - 1);
  }
  rows->ended = true;
}

int64_t hone_ref_rows_next(ref_rows_t* rows, char* out_data[HONE_REF_MAX_VIEWS]) {
  if (rows->ended) return 0;
  for (int v = 0; v < rows->n_views; v++)
    out_data[v] = rows->data[v] + rows->row_done * rows->row_stride[v];
  int64_t left = rows->row_length - rows->row_done;
  int64_t n = left < HONE_REF_ROW ? left : HONE_REF_ROW;
  rows->row_done += n;
  if (rows->row_done == rows->row_length) advance(rows);
  return n;
}

/* ---- copies ---- */

static void copy_row(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t n,
                     size_t size) {
  if (from_stride == (int64_t)size && to_stride == (int64_t)size) {
    memcpy(to, from, (size_t)n * size);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    switch (size) { /* constant sizes let the compiler use one move */
      case 1:
        *to = *from;
        break;
      case 2:
        memcpy(to, from, 2);
        break;
      case 4:
        memcpy(to, from, 4);
        break;
      default:
        memcpy(to, from, size);
    }
    from += from_stride;
    to += to_stride;
  }
}

/* Strings belong to their tensor, so each is copied into the new one. */
static hone_status_t copy_string_row(const char* from, int64_t from_stride, const ref_view_t* to,
                                     char* first, int64_t to_stride, int64_t n) {
  const char* base = hone_tensor_data(to->base);
  for (int64_t i = 0; i < n; i++) {
    hone_string_t string;
    memcpy(&string, from + i * from_stride, sizeof string);
    int64_t index = (first + i * to_stride - base) / (int64_t)sizeof string;
    HONE_TRY(hone_tensor_set_string(to->base, index, string.data, string.size));
  }
  return NULL;
}

hone_status_t hone_ref_copy(const ref_view_t* from, const ref_view_t* to) {
  const ref_view_t* views[2] = {from, to};
  size_t size = hone_dtype_size(from->dtype);
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    if (from->dtype == HONE_STRING)
      HONE_TRY(copy_string_row(at[0], rows.row_stride[0], to, at[1], rows.row_stride[1], n));
    else
      copy_row(at[0], rows.row_stride[0], at[1], rows.row_stride[1], n, size);
  }
  return NULL;
}
