/* Reductions and scans. */
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/float_convert.h"

static hone_status_t no_such(const ref_call_t* call) {
  return hone_status_make(
      HONE_UNSUPPORTED, "%s by %s of %s is not defined", hone_prim_info(call->node->prim)->name,
      hone_combine_name(call->node->combine), hone_dtype_name(call->in[0]->dtype));
}

/* Splits x into the axes that stay (a view of the first element of each
 * group) and those that are reduced (the view of one group). */
static void split_axes(const hone_node_t* node, const ref_view_t* x, ref_view_t* kept,
                       ref_view_t* group) {
  uint32_t gone = 0;
  for (int i = 0; i < node->n_axes; i++) gone |= 1u << node->axes[i];
  *kept = *group = *x;
  kept->rank = group->rank = 0;
  for (int i = 0; i < x->rank; i++) {
    ref_view_t* to = gone & (1u << i) ? group : kept;
    to->dims[to->rank] = x->dims[i];
    to->strides[to->rank++] = x->strides[i];
  }
}

static hone_scalar_t reduce_group(const ref_view_t* group, hone_scalar_combine_fn combine,
                                  hone_scalar_t start) {
  hone_scalar_t row[HONE_REF_ROW];
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  const ref_view_t* views[1] = {group};
  hone_ref_rows_start(&rows, 1, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    hone_scalar_load(group->dtype, at[0], rows.row_stride[0], n, row);
    for (int64_t i = 0; i < n; i++) start = combine(start, row[i]);
  }
  return start;
}

/* Sums (or products) of complex numbers. */
static void reduce_complex(const ref_view_t* group, bool product, double out[2]) {
  hone_dtype_t part = group->dtype == HONE_C64 ? HONE_F32 : HONE_F64;
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  const ref_view_t* views[1] = {group};
  out[0] = product;
  out[1] = 0;
  hone_ref_rows_start(&rows, 1, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;)
    for (int64_t i = 0; i < n; i++) {
      double x[2], real = out[0];
      hone_load_f64(part, at[0] + i * rows.row_stride[0], (int64_t)hone_dtype_size(part), 2, x);
      out[0] = product ? real * x[0] - out[1] * x[1] : real + x[0];
      out[1] = product ? real * x[1] + out[1] * x[0] : out[1] + x[1];
    }
}

static hone_status_t reduce_all(ref_call_t* call, const ref_view_t* kept, ref_view_t* group) {
  const hone_node_t* node = call->node;
  ref_view_t* out = &call->out[0];
  hone_scalar_class_t class = hone_scalar_class(out->dtype);
  hone_scalar_combine_fn combine = hone_scalar_combine(node->combine, class);
  hone_scalar_t start = hone_scalar_neutral(node->combine, out->dtype);
  const ref_view_t* views[2] = {kept, out};
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;)
    for (int64_t i = 0; i < n; i++) {
      group->data = at[0] + i * rows.row_stride[0];
      char* to = at[1] + i * rows.row_stride[1];
      if (class == HONE_SCALAR_COMPLEX) {
        double sum[2];
        reduce_complex(group, node->combine == HONE_COMBINE_MUL, sum);
        hone_store_f64(out->dtype == HONE_C64 ? HONE_F32 : HONE_F64, sum, 2, to);
        continue;
      }
      hone_scalar_t value = reduce_group(group, combine, start);
      hone_scalar_store(out->dtype, &value, 1, to);
    }
  return NULL;
}

hone_status_t hone_ref_reduce(ref_call_t* call) {
  ref_view_t kept, group;
  split_axes(call->node, call->in[0], &kept, &group);
  hone_scalar_class_t class = hone_scalar_class(call->in[0]->dtype);
  bool sums = call->node->combine == HONE_COMBINE_ADD || call->node->combine == HONE_COMBINE_MUL;
  if (class == HONE_SCALAR_STRING || (class == HONE_SCALAR_COMPLEX && !sums)) return no_such(call);
  HONE_TRY(hone_ref_make(call->allocator, kept.dtype, kept.rank, kept.dims, &call->out[0]));
  return reduce_all(call, &kept, &group);
}

/* ---- scans ---- */

/* One line of `n` elements; floats are rounded only when stored. */
static void scan_line(const ref_call_t* call, const char* from, int64_t stride, int64_t n, char* to,
                      int64_t to_stride) {
  hone_dtype_t dtype = call->in[0]->dtype;
  hone_scalar_combine_fn combine =
      hone_scalar_combine(call->node->combine, hone_scalar_class(dtype));
  hone_scalar_t sum = hone_scalar_neutral(call->node->combine, dtype), x;
  bool exclusive = call->node->flags & HONE_FLAG_EXCLUSIVE;
  for (int64_t i = 0; i < n; i++) {
    hone_scalar_load(dtype, from + i * stride, stride, 1, &x);
    hone_scalar_t next = combine(sum, x);
    hone_scalar_store(dtype, exclusive ? &sum : &next, 1, to + i * to_stride);
    sum = next;
  }
}

hone_status_t hone_ref_scan(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  if (hone_scalar_class(x->dtype) > HONE_SCALAR_U64) return no_such(call);
  int64_t axis = call->node->axes[0], length = x->dims[axis];
  HONE_TRY(hone_ref_make(call->allocator, x->dtype, x->rank, x->dims, &call->out[0]));
  if (length == 0) return NULL;
  ref_view_t from = *x, to = call->out[0];
  from.dims[axis] = to.dims[axis] = 1;
  const ref_view_t* views[2] = {&from, &to};
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;)
    for (int64_t i = 0; i < n; i++)
      scan_line(call, at[0] + i * rows.row_stride[0], x->strides[axis], length,
                at[1] + i * rows.row_stride[1], to.strides[axis]);
  return NULL;
}
