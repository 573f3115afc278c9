/* Movement: new views of the same memory wherever strides can express it. */
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/memory.h"

static hone_status_t bad(const ref_call_t* call, const char* what) {
  return hone_status_make(HONE_INVALID_ARGUMENT, "%s: %s", hone_prim_info(call->node->prim)->name,
                          what);
}

hone_status_t hone_ref_reshape(ref_call_t* call) {
  const hone_node_t* node = call->node;
  int64_t count;
  if (!hone_dims_count(node->n_dims, call->shape, &count) || count != hone_ref_count(call->in[0]))
    return bad(call, "the shapes have different numbers of elements");
  ref_view_t out;
  if (hone_ref_is_dense(call->in[0])) {
    out = hone_ref_share(call->in[0]);
  } else {
    hone_tensor_t* dense;
    HONE_TRY(hone_ref_tensor(call->allocator, call->in[0], &dense));
    out = hone_ref_view(dense);
  }
  int64_t stride = (int64_t)hone_dtype_size(out.dtype);
  out.rank = node->n_dims;
  for (int i = out.rank - 1; i >= 0; i--) {
    out.dims[i] = call->shape[i];
    out.strides[i] = stride;
    stride *= out.dims[i] > 0 ? out.dims[i] : 1;
  }
  call->out[0] = out;
  return NULL;
}

hone_status_t hone_ref_permute(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  ref_view_t out = hone_ref_share(x);
  for (int i = 0; i < x->rank; i++) {
    out.dims[i] = x->dims[call->node->axes[i]];
    out.strides[i] = x->strides[call->node->axes[i]];
  }
  call->out[0] = out;
  return NULL;
}

hone_status_t hone_ref_expand(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i] != 1 && x->dims[i] != call->shape[i])
      return bad(call, "shapes do not broadcast: an extent that is not 1 would change");
  ref_view_t out = hone_ref_share(x);
  for (int i = 0; i < x->rank; i++) {
    if (call->shape[i] != x->dims[i]) out.strides[i] = 0;
    out.dims[i] = call->shape[i];
  }
  call->out[0] = out;
  return NULL;
}

hone_status_t hone_ref_slice(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  for (int i = 0; i < x->rank; i++)
    if (call->lo[i] < 0 || call->hi[i] > x->dims[i] || call->step[i] < 1)
      return bad(call, "outside of the tensor");
  ref_view_t out = hone_ref_share(x);
  for (int i = 0; i < x->rank; i++) {
    int64_t span = call->hi[i] - call->lo[i];
    out.dims[i] = span <= 0 ? 0 : (span - 1) / call->step[i] + 1;
    if (out.dims[i]) out.data += call->lo[i] * x->strides[i];
    out.strides[i] = x->strides[i] * call->step[i];
  }
  call->out[0] = out;
  return NULL;
}

hone_status_t hone_ref_flip(ref_call_t* call) {
  ref_view_t out = hone_ref_share(call->in[0]);
  for (int i = 0; i < call->node->n_axes; i++) {
    int64_t axis = call->node->axes[i];
    if (out.dims[axis] > 0) out.data += (out.dims[axis] - 1) * out.strides[axis];
    out.strides[axis] = -out.strides[axis];
  }
  call->out[0] = out;
  return NULL;
}

hone_status_t hone_ref_window(ref_call_t* call) {
  const hone_node_t* node = call->node;
  ref_view_t out = hone_ref_share(call->in[0]);
  for (int i = 0; i < node->n_axes; i++) {
    int64_t axis = node->axes[i], stride = out.strides[axis];
    int64_t size = call->shape[i], dilation = call->hi[i], step = call->step[i];
    if (size < 1 || dilation < 1 || step < 1) {
      hone_ref_drop(&out);
      return bad(call, "a size, stride or dilation is not positive");
    }
    int64_t room = out.dims[axis] - (size - 1) * dilation - 1;
    out.dims[axis] = room < 0 ? 0 : room / step + 1;
    out.strides[axis] = stride * step;
    out.dims[out.rank] = size;
    out.strides[out.rank] = stride * dilation;
    out.rank++;
  }
  call->out[0] = out;
  return NULL;
}

/* The part of `whole` that starts at `offset` along `axis` and is as long there
 * as `part`; borrows whole's reference. */
static ref_view_t window_of(const ref_view_t* whole, int axis, int64_t offset, int64_t extent) {
  ref_view_t view = *whole;
  view.data += offset * whole->strides[axis];
  view.dims[axis] = extent;
  return view;
}

static hone_status_t fill(const ref_view_t* value, const ref_view_t* out) {
  ref_view_t spread = *value;
  spread.rank = out->rank;
  memcpy(spread.dims, out->dims, sizeof spread.dims);
  memset(spread.strides, 0, sizeof spread.strides);
  return hone_ref_copy(&spread, out);
}

hone_status_t hone_ref_pad(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  int64_t dims[HONE_MAX_RANK];
  for (int i = 0; i < x->rank; i++) {
    if (call->lo[i] < 0 || call->hi[i] < 0) return bad(call, "a pad is negative");
    if (!hone_i64_add(x->dims[i], call->lo[i], &dims[i]) ||
        !hone_i64_add(dims[i], call->hi[i], &dims[i]))
      return bad(call, "the padded extent overflows");
  }
  HONE_TRY(hone_ref_make(call->allocator, x->dtype, x->rank, dims, &call->out[0]));
  HONE_TRY(fill(call->in[1], &call->out[0]));
  if (hone_ref_count(x) == 0) return NULL;
  ref_view_t inner = call->out[0];
  for (int i = 0; i < x->rank; i++) inner = window_of(&inner, i, call->lo[i], x->dims[i]);
  return hone_ref_copy(x, &inner);
}

hone_status_t hone_ref_concat(ref_call_t* call) {
  const hone_node_t* node = call->node;
  int axis = (int)node->axes[0];
  int64_t dims[HONE_MAX_RANK];
  memcpy(dims, call->in[0]->dims, sizeof dims);
  dims[axis] = 0;
  for (int i = 0; i < node->n_inputs; i++) {
    for (int k = 0; k < call->in[i]->rank; k++)
      if (k != axis && call->in[i]->dims[k] != dims[k])
        return bad(call, "parts of different shape");
    dims[axis] += call->in[i]->dims[axis];
  }
  HONE_TRY(
      hone_ref_make(call->allocator, call->in[0]->dtype, call->in[0]->rank, dims, &call->out[0]));
  int64_t offset = 0;
  for (int i = 0; i < node->n_inputs; i++) {
    int64_t extent = call->in[i]->dims[axis];
    ref_view_t part = window_of(&call->out[0], axis, offset, extent);
    HONE_TRY(hone_ref_copy(call->in[i], &part));
    offset += extent;
  }
  return NULL;
}
