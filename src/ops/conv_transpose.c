/* ConvTranspose: the gradient of a convolution, as a convolution itself: zeros
 * between the elements of the input stand for the stride, and the windows meet
 * the weights mirrored. */
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

/* [C, M / groups, k1, …] as [M, C / groups, k1, …], mirrored along each k. */
static hone_value_t* turn_weights(hone_builder_t* b, hone_value_t* w, int64_t groups, int n) {
  for (int i = 0; i < n; i++) w = hone_flip(b, w, 2 + i);
  if (groups == 1) return hone_move_axis(b, w, 1, 0);
  w = hone_move_axis(b, hone_sliding_split(b, w, 0, groups), 2, 1);
  if (!w) return NULL;
  hone_dim_t shape[HONE_MAX_RANK] = {hone_d_mul(b, hone_d(groups), hone_dim(w, 1))};
  for (int i = 0; i <= n; i++) shape[1 + i] = hone_dim(w, 2 + i);
  return hone_reshape(b, w, 2 + n, shape);
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
  for (int i = 0; i < f.kernel.n && x; i++) {
    x = spread(b, x, 2 + i, f.kernel.stride[i]);
    if (!x) return;
    hone_dim_t edge = hone_d_sub(b, hone_sliding_reach(b, &f.kernel, i), hone_d(1));
    hone_dim_t lo = hone_d_sub(b, edge, f.kernel.lo[i]);
    hone_dim_t hi =
        hone_d_sub(b, hone_d_add(b, f.size[i], edge), hone_d_add(b, lo, hone_dim(x, 2 + i)));
    x = resize(b, x, 2 + i, lo, hi);
    f.kernel.lo[i] = f.kernel.hi[i] = hone_d(0);
    f.kernel.stride[i] = hone_d(1);
  }
  w = turn_weights(b, w, groups, f.kernel.n);
  if (!x || !w) return;
  hone_value_t* y = hone_sliding_contract(b, &f.kernel, x, w, groups, hone_dtype_of(x));
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
