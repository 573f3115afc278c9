/* Gather and scatter. */
#include <inttypes.h>
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/memory.h"

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
