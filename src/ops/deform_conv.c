/* DeformConv: each element of each window is read at a place of its own, by
 * linear interpolation between the 2^n elements around it, and the windows so
 * filled are contracted with the weights.
 *
 * G is offset_group, K the number of elements of a window, O of windows. */
#include "ops/common/sliding.h"

typedef struct deform {
  hone_sliding_t s;
  int64_t offset_groups;
  hone_dim_t places[HONE_MAX_RANK]; /* N, G, K, o1, …, on: one read each */
} deform_t;

static bool read_deform(hone_lower_t* l, const hone_value_t* x, const hone_value_t* w,
                        const hone_value_t* offset, deform_t* d) {
  if (!hone_sliding_read(l, x, w->type.dims + 2, &d->s)) return false;
  d->offset_groups = hone_attr_int(l->node, "offset_group", 1);
  hone_dim_t channels = hone_dim(x, 1);
  if (d->offset_groups < 1 || d->offset_groups > INT32_MAX ||
      (hone_dim_is_int(channels) && channels.k % d->offset_groups != 0) ||
      hone_rank(offset) != hone_rank(x)) {
    hone_op_fail(l,
                 "offset_group is %lld and the offsets have rank %d; the channels must be a "
                 "multiple of the one, and the input's rank the other",
                 (long long)d->offset_groups, hone_rank(offset));
    return false;
  }
  d->places[0] = hone_dim(x, 0);
  d->places[1] = hone_d(d->offset_groups);
  d->places[2] = hone_dim_product(l->b->graph->dims, d->s.n, d->s.size);
  for (int i = 0; i < d->s.n; i++) d->places[3 + i] = hone_dim(offset, 2 + i);
  return true;
}

/* Index along axis `i` of the kernel of each of its K elements, times the
 * dilation: [1, 1, K, 1, …]. */
static hone_value_t* kernel_steps(hone_builder_t* b, const deform_t* d, int i, hone_dtype_t dtype) {
  hone_dim_t shape[HONE_MAX_RANK];
  int n = d->s.n;
  hone_value_t* at = hone_iota(b, dtype, n, d->s.size, i);
  at = hone_mul(b, at, hone_dim_scalar(b, dtype, d->s.dilation[i]));
  for (int k = 0; k < 3 + n; k++) shape[k] = k == 2 ? d->places[2] : hone_d(1);
  return hone_reshape(b, at, 3 + n, shape);
}

/* Where along spatial axis `i` each place lies: [N, G, K, o1, …]. */
static hone_value_t* coordinates(hone_builder_t* b, const deform_t* d, hone_value_t* offset,
                                 int i) {
  int n = d->s.n;
  hone_dim_t split[HONE_MAX_RANK], line[HONE_MAX_RANK];
  for (int k = 0; k < 3; k++) split[k] = d->places[k];
  split[3] = hone_d(n);
  for (int k = 0; k < n; k++) split[4 + k] = d->places[3 + k];
  for (int k = 0; k < 3 + n; k++) line[k] = k == 3 + i ? d->places[k] : hone_d(1);
  hone_value_t* moved = hone_pick(b, hone_reshape(b, offset, 4 + n, split), 3, hone_d(i));
  if (!moved) return NULL;
  hone_dtype_t dtype = hone_dtype_of(moved);
  hone_value_t* start = hone_iota(b, dtype, 3 + n, line, 3 + i);
  start = hone_mul(b, start, hone_dim_scalar(b, dtype, d->s.stride[i]));
  start = hone_sub(b, start, hone_dim_scalar(b, dtype, d->s.lo[i]));
  return hone_add(b, hone_add(b, start, kernel_steps(b, d, i, dtype)), moved);
}

/* One of the 2^n corners around the places. */
typedef struct corner {
  hone_value_t* weight;
  hone_value_t* index; /* row-major among the spatial elements */
} corner_t;

/* Takes the corner one axis further: `upper` is the neighbour above. Corners
 * outside of the input weigh nothing. */
static void corner_axis(hone_builder_t* b, corner_t* c, hone_value_t* at, hone_dim_t extent,
                        bool upper) {
  hone_value_t* base = hone_floor(b, at);
  hone_value_t* part = hone_sub(b, at, base);
  if (!part) return;
  hone_dtype_t dtype = hone_dtype_of(at);
  if (upper)
    base = hone_add_number(b, base, 1);
  else
    part = hone_sub(b, hone_scalar(b, dtype, 1), part);
  hone_value_t* end = hone_dim_scalar(b, dtype, extent);
  hone_value_t* low = hone_lt_number(b, base, 0);
  hone_value_t* inside = hone_and(b, hone_not(b, low), hone_lt(b, base, end));
  hone_value_t* zero = hone_scalar(b, dtype, 0);
  part = hone_select(b, inside, part, zero);
  hone_value_t* index = hone_cast(b, hone_select(b, inside, base, zero), HONE_I64);
  c->weight = c->weight ? hone_mul(b, c->weight, part) : part;
  c->index = c->index
                 ? hone_add(b, hone_mul(b, c->index, hone_dim_scalar(b, HONE_I64, extent)), index)
                 : index;
}

/* x [N, C, s1, …] as rows [N * G * S, C / G]. */
static hone_value_t* as_rows(hone_builder_t* b, const deform_t* d, hone_value_t* x,
                             hone_dim_t* out_size) {
  hone_dims_t* dims = b->graph->dims;
  hone_dim_t groups = d->places[1];
  *out_size = hone_dim_product(dims, d->s.n, x->type.dims + 2);
  hone_dim_t each = hone_d_floordiv(b, hone_dim(x, 1), groups);
  hone_dim_t split[4] = {hone_dim(x, 0), groups, each, *out_size};
  hone_dim_t images = hone_d_mul(b, split[0], groups);
  hone_dim_t rows[2] = {hone_d_mul(b, images, *out_size), each};
  x = hone_reshape(b, x, 4, split);
  return hone_reshape(b, hone_move_axis(b, x, 2, 3), 2, rows);
}

/* First row of image (N, G): [N, G, 1, 1, …]. */
static hone_value_t* first_rows(hone_builder_t* b, const deform_t* d, hone_dim_t size) {
  hone_dim_t shape[HONE_MAX_RANK], images = hone_d_mul(b, d->places[0], d->places[1]);
  for (int k = 0; k < 3 + d->s.n; k++) shape[k] = k < 2 ? d->places[k] : hone_d(1);
  hone_value_t* index = hone_iota(b, HONE_I64, 1, &images, 0);
  return hone_reshape(b, hone_mul(b, index, hone_dim_scalar(b, HONE_I64, size)), 3 + d->s.n, shape);
}

/* What the places hold, interpolated: [N, G, K, o1, …, C / G]. */
static hone_value_t* sample(hone_builder_t* b, const deform_t* d, hone_value_t* x,
                            hone_value_t* offset) {
  hone_value_t *at[HONE_MAX_RANK], *total = NULL;
  hone_dim_t size;
  hone_value_t* rows = as_rows(b, d, x, &size);
  hone_value_t* first = first_rows(b, d, size);
  for (int i = 0; i < d->s.n; i++) at[i] = coordinates(b, d, offset, i);
  for (int bits = 0; bits < 1 << d->s.n && hone_builder_ok(b); bits++) {
    corner_t c = {NULL, NULL};
    for (int i = 0; i < d->s.n; i++) corner_axis(b, &c, at[i], hone_dim(x, 2 + i), (bits >> i) & 1);
    hone_value_t* part = hone_gather(b, rows, hone_add(b, c.index, first));
    part = hone_mul(b, part, hone_unsqueeze(b, c.weight, -1));
    total = total ? hone_add(b, total, part) : part;
  }
  return total;
}

/* [N, G, K, o1, …, C / G] as windows [N, C, O, K]. */
static hone_value_t* as_windows(hone_builder_t* b, const deform_t* d, const hone_value_t* x,
                                hone_value_t* samples) {
  if (!samples) return NULL;
  hone_dim_t count = hone_dim_product(b->graph->dims, d->s.n, d->places + 3);
  hone_dim_t shape[5] = {d->places[0], d->places[1], d->places[2], count, hone_dim(samples, -1)};
  hone_dim_t merged[4] = {d->places[0], hone_dim(x, 1), count, d->places[2]};
  static const int64_t axes[5] = {0, 1, 4, 3, 2};
  return hone_reshape(b, hone_permute(b, hone_reshape(b, samples, 5, shape), axes), 4, merged);
}

/* Windows [N, C, O, K] with weights [M, C / groups, k1, …]: [N, M, o1, …]. */
static hone_value_t* contract(hone_builder_t* b, const deform_t* d, hone_value_t* windows,
                              hone_value_t* w, int64_t groups) {
  hone_dim_t flat[3] = {hone_dim(w, 0), hone_dim(w, 1), d->places[2]};
  hone_dim_t shape[HONE_MAX_RANK] = {d->places[0], hone_dim(w, 0)};
  for (int i = 0; i < d->s.n; i++) shape[2 + i] = d->places[3 + i];
  w = hone_sliding_split(b, hone_reshape(b, w, 3, flat), 0, groups);
  windows = hone_sliding_split(b, windows, 1, groups);
  static const int64_t pairs[3][2] = {{1, 0}, {2, 2}, {4, 3}};
  hone_value_t* y = hone_contract(b, windows, w, 3, pairs, 1, HONE_UNKNOWN);
  static const int64_t axes[4] = {1, 0, 3, 2}; /* from [groups, N, O, M / groups] */
  return y ? hone_reshape(b, hone_permute(b, y, axes), 2 + d->s.n, shape) : NULL;
}

static void lower_deform_conv(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *w = hone_op_in(l, 1), *offset = hone_op_in(l, 2);
  hone_value_t* mask = hone_op_in(l, 4);
  hone_dtype_t dtype = hone_dtype_of(x), work = dtype == HONE_F64 ? HONE_F64 : HONE_F32;
  int64_t groups = hone_sliding_groups(l, x, w);
  deform_t d;
  if (!groups || !read_deform(l, x, w, offset, &d)) return;
  x = hone_cast(b, x, work);
  if (!x) return;
  hone_value_t* samples = sample(b, &d, x, hone_cast(b, offset, work));
  if (mask) {
    mask = hone_reshape(b, hone_cast(b, mask, work), 3 + d.s.n, d.places);
    samples = hone_mul(b, samples, hone_unsqueeze(b, mask, -1));
  }
  hone_value_t* y = as_windows(b, &d, x, samples);
  y = contract(b, &d, y, hone_cast(b, w, work), groups);
  hone_value_t* bias = hone_op_in(l, 3);
  y = hone_sliding_bias(b, y, bias ? hone_cast(b, bias, work) : NULL);
  hone_op_out(l, 0, hone_cast(b, y, dtype));
}

static const hone_op_t ops[] = {
    {.name = "DeformConv",
     .min_opset = 19,
     .min_inputs = 3,
     .max_inputs = 5,
     .attrs = "dilations group kernel_shape offset_group pads strides",
     .lower = lower_deform_conv},
};
HONE_OP_FAMILY(deform_conv, ops)
