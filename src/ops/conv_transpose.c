/* ConvTranspose: the gradient of a convolution, as a convolution itself, in which
 * the windows meet the weights mirrored. */
#include "base/memory.h"
#include "ops/common/sliding.h"

/* An output extent with pads, either of which may follow from the other. */
typedef struct frame {
  hone_sliding_t kernel; /* lo, hi: what is cut off the full result */
  hone_dim_t size[HONE_MAX_RANK];
} frame_t;

/* The attribute output_shape; older files include batch and channels. */
static const int64_t* given_shape(hone_lower_t* l, int n) {
  int count;
  const int64_t* shape = hone_attr_ints(l->node, "output_shape", &count);
  if (!count) return NULL;
  if (count == n + 2) shape += 2;
  if (count != n && count != n + 2) {
    hone_op_fail(l, "output_shape has %d entries where the input has %d spatial axes", count, n);
    return NULL;
  }
  for (int i = 0; i < n; i++)
    if (shape[i] < 0) hone_op_fail(l, "output_shape has the extent %lld", (long long)shape[i]);
  return shape;
}

/* The extent without pads: the last window starts at (extent - 1) * stride. */
static hone_dim_t full_size(hone_builder_t* b, const frame_t* f, int i, hone_dim_t extent,
                            int64_t more) {
  hone_dim_t last = hone_d_mul(b, hone_d_sub(b, extent, hone_d(1)), f->kernel.stride[i]);
  hone_dim_t reach = hone_sliding_reach(b, &f->kernel, i);
  return hone_d_add(b, hone_d_add(b, last, reach), hone_d(more));
}

static bool read_frame(hone_lower_t* l, const hone_value_t* x, frame_t* f) {
  hone_builder_t* b = l->b;
  int n = f->kernel.n;
  int64_t pads[2 * HONE_MAX_RANK] = {0}, more[HONE_MAX_RANK];
  const int64_t* shape = given_shape(l, n);
  hone_auto_pad_t mode = hone_sliding_auto_pad(l);
  bool upper = mode == HONE_AUTO_PAD_SAME_UPPER, same = upper || mode == HONE_AUTO_PAD_SAME_LOWER;
  if (mode == HONE_AUTO_PAD_EXPLICIT && !hone_sliding_list(l, "pads", 2 * n, 0, 0, pads))
    return false;
  if (!hone_sliding_list(l, "output_padding", n, 0, 0, more)) return false;
  for (int i = 0; i < n; i++) {
    hone_dim_t extent = hone_dim(x, 2 + i), full = full_size(b, f, i, extent, more[i]);
    f->kernel.lo[i] = hone_d(pads[i]);
    f->size[i] = hone_d_max(b, hone_d_sub(b, full, hone_d(pads[i] + pads[n + i])), hone_d(0));
    if (!shape && !same) continue;
    f->size[i] = shape ? hone_d(shape[i]) : hone_d_mul(b, extent, f->kernel.stride[i]);
    hone_dim_t total = hone_d_max(b, hone_d_sub(b, full, f->size[i]), hone_d(0));
    hone_sliding_share_pad(b, &f->kernel, i, total, upper);
  }
  return hone_builder_ok(b);
}

/* stride - 1 zeros between each two elements of `axis`. */
static hone_value_t* spread(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t stride) {
  if (hone_dim_is(stride, 1) || !hone_is_known(b, x)) return x;
  hone_dim_t zero[HONE_MAX_RANK], more[HONE_MAX_RANK], shape[HONE_MAX_RANK];
  int rank = hone_rank(x);
  for (int i = 0; i <= rank; i++) zero[i] = more[i] = hone_d(0);
  for (int i = 0; i < rank; i++) shape[i] = hone_dim(x, i);
  more[axis + 1] = hone_d_sub(b, stride, hone_d(1));
  shape[axis] = hone_d_mul(b, shape[axis], stride);
  hone_value_t* out = hone_pad(b, hone_unsqueeze(b, x, axis + 1), zero, more, NULL);
  out = hone_reshape(b, out, rank, shape);
  hone_dim_t end = hone_d_sub(b, shape[axis], more[axis + 1]);
  return hone_slice_axis(b, out, axis, hone_d(0), hone_d_max(b, end, hone_d(0)));
}

/* Adds `lo` and `hi` elements of zero around `axis`; takes away where negative. */
static hone_value_t* resize(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t lo,
                            hone_dim_t hi) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dim_t before[HONE_MAX_RANK], behind[HONE_MAX_RANK], zero = hone_d(0);
  for (int i = 0; i < hone_rank(x); i++) before[i] = behind[i] = zero;
  before[axis] = hone_d_max(b, lo, zero);
  behind[axis] = hone_d_max(b, hi, zero);
  x = hone_pad(b, x, before, behind, NULL);
  if (!x) return NULL;
  hone_dim_t from = hone_d_sub(b, before[axis], lo), cut = hone_d_sub(b, behind[axis], hi);
  return hone_slice_axis(b, x, axis, from, hone_d_sub(b, hone_dim(x, axis), cut));
}

/* ---- phases ----
 *
 * Along an axis of stride s, element p * s + r of the full result is the sum over q
 * of x[p - q] * w[q * s + r]: for each phase r, an ordinary convolution of x with
 * every s-th weight. All phases together are one contraction, whose weights have r
 * as a free axis; then (p, r) is the place in the result. */

/* Windows of q elements of x, for the places p that are wanted. */
static hone_value_t* phase_windows(hone_builder_t* b, const frame_t* f, hone_value_t* x, int first,
                                   const hone_dim_t* taps, hone_dim_t* out_from) {
  hone_dim_t ones[HONE_MAX_RANK];
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < f->kernel.n && x; i++) {
    hone_dim_t stride = f->kernel.stride[i], lo = f->kernel.lo[i];
    hone_dim_t start = hone_d_floordiv(b, lo, stride);
    hone_dim_t end = hone_d_ceildiv(b, hone_d_add(b, lo, f->size[i]), stride);
    hone_dim_t before = hone_d_sub(b, hone_d_sub(b, taps[i], hone_d(1)), start);
    out_from[i] = hone_d_sub(b, lo, hone_d_mul(b, start, stride));
    x = resize(b, x, first + i, before, hone_d_sub(b, end, hone_dim(x, first + i)));
    axes[i] = first + i;
    ones[i] = hone_d(1);
  }
  return hone_window(b, x, f->kernel.n, axes, taps, ones, ones);
}

/* [C, M / groups, k…] as [groups, C / groups, q…, r…, M / groups], q mirrored;
 * without the first axis where there is one group. */
static hone_value_t* phase_weights(hone_builder_t* b, const frame_t* f, hone_value_t* w,
                                   int64_t groups, const hone_dim_t* taps) {
  int n = f->kernel.n, lead = groups > 1, rank = lead + 2;
  hone_dim_t shape[2 * HONE_MAX_RANK] = {hone_d(groups)};
  int64_t order[2 * HONE_MAX_RANK] = {0, 1};
  for (int i = 0; i < n && w; i++) {
    hone_dim_t all = hone_d_mul(b, taps[i], f->kernel.stride[i]);
    w = resize(b, w, 2 + i, hone_d(0), hone_d_sub(b, all, hone_dim(w, 2 + i)));
  }
  if (!w) return NULL;
  shape[lead] = hone_d_floordiv(b, hone_dim(w, 0), hone_d(groups));
  shape[lead + 1] = hone_dim(w, 1);
  for (int i = 0; i < n; i++) {
    order[lead + 1 + i] = rank;
    shape[rank++] = taps[i];
    order[lead + 1 + n + i] = rank;
    shape[rank++] = f->kernel.stride[i];
  }
  order[lead + 1 + 2 * n] = lead + 1;
  w = hone_permute(b, hone_reshape(b, w, rank, shape), order);
  for (int i = 0; i < n; i++) w = hone_flip(b, w, lead + 1 + i);
  return w;
}

/* [N, p…, r…, M], or [groups, N, p…, r…, M / groups], as [N, M, p * s + r…]. */
static hone_value_t* join_phases(hone_builder_t* b, int n, hone_value_t* y, bool has_groups) {
  int64_t order[2 * HONE_MAX_RANK] = {has_groups, 0};
  int rank = 1 + has_groups, lead = rank;
  order[rank++] = lead + 2 * n;
  for (int i = 0; i < n; i++) {
    order[rank++] = lead + i;
    order[rank++] = lead + n + i;
  }
  y = hone_permute(b, y, order);
  if (!hone_is_known(b, y)) return NULL;
  hone_dim_t shape[HONE_MAX_RANK] = {hone_dim(y, 0), hone_dim(y, 1)};
  if (has_groups) shape[1] = hone_d_mul(b, shape[1], hone_dim(y, 2));
  for (int i = 0; i < n; i++)
    shape[2 + i] = hone_d_mul(b, hone_dim(y, 1 + lead + 2 * i), hone_dim(y, 2 + lead + 2 * i));
  return hone_reshape(b, y, 2 + n, shape);
}

/* ---- phases alone ----
 *
 * Where phases differ in how many weights they have (3 along an axis of stride 2 are two and one),
 * or in the places p that are wanted of them, one contraction multiplies by zeros and computes what
 * is cut off. Each phase is then a convolution of its own, over windows of its own. */

enum { MOST_PHASES = 8 };

/* Along an axis, in numbers. */
typedef struct phased {
  int64_t extent, stride, reach, lo, size;
} phased_t;

static bool read_phased(hone_builder_t* b, const frame_t* f, const hone_value_t* x, int i,
                        phased_t* out) {
  const hone_dim_t dims[] = {hone_dim(x, 2 + i), f->kernel.stride[i],
                             hone_sliding_reach(b, &f->kernel, i), f->kernel.lo[i], f->size[i]};
  for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
    if (!hone_dim_is_int(dims[k])) return false;
  *out = (phased_t){dims[0].k, dims[1].k, dims[2].k, dims[3].k, dims[4].k};
  if (out->extent <= 0 || out->size <= 0 || out->reach < out->stride || out->lo < 0) return false;
  /* All phases have as many places; what is too much is cut off. */
  out->size = (out->size + out->stride - 1) / out->stride * out->stride;
  return true;
}

/* The phase that elements e, e + stride… of the result are, how many weights it has, and how far
 * into the full result its first place lies. */
static int64_t phase_of(const phased_t* a, int64_t e) { return (e + a->lo) % a->stride; }
static int64_t phase_taps(const phased_t* a, int64_t e) {
  return (a->reach - phase_of(a, e) + a->stride - 1) / a->stride;
}
static int64_t phase_start(const phased_t* a, int64_t e) { return (e + a->lo) / a->stride; }

/* Products along the axis, of all phases in one contraction by those that are needed. */
static double waste(const phased_t* a) {
  int64_t taps = (a->reach + a->stride - 1) / a->stride, needed = 0;
  int64_t places = (a->lo + a->size + a->stride - 1) / a->stride - a->lo / a->stride;
  for (int64_t e = 0; e < a->stride; e++) needed += phase_taps(a, e) * (a->size / a->stride);
  return (double)(places * a->stride * taps) / (double)needed;
}

/* Whether it is done so: what is saved is to be more than bringing results together takes, and
 * results are to have a vector of channels each. */
static bool goes_by_phases(hone_builder_t* b, const frame_t* f, const hone_value_t* x,
                           const hone_value_t* w, phased_t* axes, int64_t* out_count) {
  enum { LEAST_CHANNELS = 16 };
  static const double pays = 1.2;
  double wasted = 1;
  int64_t count = 1;
  for (int i = 0; i < f->kernel.n; i++) {
    if (!read_phased(b, f, x, i, &axes[i])) return false;
    wasted *= waste(&axes[i]);
    if (!hone_i64_mul(count, axes[i].stride, &count) || count > MOST_PHASES) return false;
  }
  *out_count = count;
  hone_dim_t channels = hone_dim(w, 1);
  return count > 1 && wasted >= pays && hone_dim_is_int(channels) && channels.k >= LEAST_CHANNELS;
}

/* Of each axis every stride-th weight from that of the phase on, mirrored. */
static hone_value_t* weights_of_phase(hone_builder_t* b, int n, hone_value_t* w,
                                      const phased_t* axes, const int64_t* e) {
  hone_dim_t lo[HONE_MAX_RANK], step[HONE_MAX_RANK];
  for (int i = 0; i < 2 + n; i++) {
    lo[i] = hone_d(i < 2 ? 0 : phase_of(&axes[i - 2], e[i - 2]));
    step[i] = hone_d(i < 2 ? 1 : axes[i - 2].stride);
  }
  w = hone_slice(b, w, lo, w->type.dims, step);
  for (int i = 0; i < n; i++) w = hone_flip(b, w, 2 + i);
  return w;
}

/* The phase of elements e of each axis, [N, p…, M]. */
static hone_value_t* phase_alone(hone_builder_t* b, int n, hone_value_t* x, hone_value_t* w,
                                 const phased_t* axes, const int64_t* e) {
  hone_dim_t taps[HONE_MAX_RANK], ones[HONE_MAX_RANK];
  int64_t at[HONE_MAX_RANK], pairs[HONE_MAX_RANK][2] = {{1, 0}};
  for (int i = 0; i < n; i++) {
    const phased_t* a = &axes[i];
    int64_t count = phase_taps(a, e[i]), start = phase_start(a, e[i]);
    x = resize(b, x, 2 + i, hone_d(count - 1 - start),
               hone_d(a->size / a->stride + start - a->extent));
    taps[i] = hone_d(count);
    ones[i] = hone_d(1);
    at[i] = 2 + i;
    pairs[1 + i][0] = 2 + n + i;
    pairs[1 + i][1] = 2 + i;
  }
  x = hone_window(b, x, n, at, taps, ones, ones);
  if (!x) return NULL;
  return hone_contract(b, x, weights_of_phase(b, n, w, axes, e), 1 + n, (const int64_t(*)[2])pairs,
                       0, hone_dtype_of(x));
}

static hone_value_t* transpose_by_phases(hone_builder_t* b, const frame_t* f, hone_value_t* x,
                                         hone_value_t* w, const phased_t* axes, int64_t count) {
  int rank = 1, n = f->kernel.n;
  hone_value_t* parts[MOST_PHASES];
  hone_dim_t shape[2 * HONE_MAX_RANK];
  for (int64_t k = 0; k < count; k++) {
    int64_t e[HONE_MAX_RANK], rest = k;
    for (int i = n - 1; i >= 0; i--) {
      e[i] = rest % axes[i].stride;
      rest /= axes[i].stride;
    }
    parts[k] = hone_unsqueeze(b, phase_alone(b, n, x, w, axes, e), 1 + n);
  }
  hone_value_t* y = hone_concat(b, (int)count, parts, 1 + n);
  if (!hone_is_known(b, y)) return NULL;
  shape[0] = hone_dim(y, 0);
  for (int i = 0; i < n; i++) shape[rank++] = hone_dim(y, 1 + i);
  for (int i = 0; i < n; i++) shape[rank++] = hone_d(axes[i].stride);
  shape[rank++] = hone_dim(y, 2 + n);
  y = join_phases(b, n, hone_reshape(b, y, rank, shape), false);
  for (int i = 0; i < n && y; i++) y = hone_slice_axis(b, y, 2 + i, hone_d(0), f->size[i]);
  return y;
}

/* ---- one place ----
 *
 * Of x that is a list of channels the full result is all weights, by that. */

static bool is_one_place(const frame_t* f, const hone_value_t* x) {
  for (int i = 0; i < f->kernel.n; i++)
    if (!hone_dim_is(hone_dim(x, 2 + i), 1)) return false;
  return true;
}

static hone_value_t* transpose_one_place(hone_builder_t* b, const frame_t* f, hone_value_t* x,
                                         hone_value_t* w) {
  const int64_t pairs[][2] = {{1, 0}};
  const hone_dim_t list[] = {hone_dim(x, 0), hone_dim(x, 1)};
  int n = f->kernel.n;
  hone_value_t* y = hone_contract(b, hone_reshape(b, x, 2, list), w, 1, pairs, 0, hone_dtype_of(x));
  for (int i = 0; i < n && y; i++) {
    hone_dim_t end = hone_d_add(b, f->kernel.lo[i], f->size[i]);
    y = resize(b, y, 2 + i, hone_d_sub(b, hone_d(0), f->kernel.lo[i]),
               hone_d_sub(b, end, hone_dim(y, 2 + i)));
  }
  return y;
}

static hone_value_t* transpose_conv(hone_builder_t* b, const frame_t* f, hone_value_t* x,
                                    hone_value_t* w, int64_t groups) {
  int n = f->kernel.n, lead = groups > 1;
  phased_t axes[HONE_MAX_RANK];
  int64_t count;
  for (int i = 0; i < n; i++) w = spread(b, w, 2 + i, f->kernel.dilation[i]);
  if (!hone_is_known(b, x) || !hone_is_known(b, w)) return NULL;
  if (groups == 1 && is_one_place(f, x)) return transpose_one_place(b, f, x, w);
  if (groups == 1 && goes_by_phases(b, f, x, w, axes, &count))
    return transpose_by_phases(b, f, x, w, axes, count);
  hone_dim_t taps[HONE_MAX_RANK], from[HONE_MAX_RANK];
  int64_t pairs[HONE_MAX_RANK][2] = {{1, 0}, {1, 0}};
  pairs[lead][0] = lead + 1;
  pairs[lead][1] = lead;
  for (int i = 0; i < n; i++) {
    taps[i] = hone_d_ceildiv(b, hone_sliding_reach(b, &f->kernel, i), f->kernel.stride[i]);
    pairs[lead + 1 + i][0] = 2 + lead + n + i;
    pairs[lead + 1 + i][1] = 1 + lead + i;
  }
  hone_dtype_t dtype = hone_dtype_of(x);
  w = phase_weights(b, f, w, groups, taps);
  if (groups > 1) x = hone_sliding_split(b, x, 1, groups);
  x = phase_windows(b, f, x, 2 + lead, taps, from);
  hone_value_t* y = hone_contract(b, x, w, 1 + lead + n, (const int64_t(*)[2])pairs, lead, dtype);
  y = join_phases(b, n, y, groups > 1);
  for (int i = 0; i < n && y; i++)
    y = hone_slice_axis(b, y, 2 + i, from[i], hone_d_add(b, from[i], f->size[i]));
  return y;
}

static void lower_conv_transpose(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *w = hone_op_in(l, 1);
  int64_t groups = hone_attr_int(l->node, "group", 1);
  frame_t f;
  if (hone_rank(w) != hone_rank(x) || hone_rank(x) < 3 || groups < 1) {
    hone_op_fail(l, "the input has rank %d, the weights %d, group is %lld", hone_rank(x),
                 hone_rank(w), (long long)groups);
    return;
  }
  if (!hone_sliding_read_kernel(l, x, w->type.dims + 2, &f.kernel) || !read_frame(l, x, &f)) return;
  hone_value_t* y = transpose_conv(b, &f, x, w, groups);
  hone_op_out(l, 0, hone_sliding_bias(b, y, hone_op_in(l, 2)));
}

static const hone_op_t ops[] = {
    {.name = "ConvTranspose",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "auto_pad dilations group kernel_shape output_padding output_shape pads strides",
     .lower = lower_conv_transpose},
};
HONE_OP_FAMILY(conv_transpose, ops)
