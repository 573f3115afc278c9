/* Geometry of sliding windows, and the contraction of windows with weights. */
#include "ops/common/sliding.h"

#include <string.h>

enum { FIRST_SPATIAL = 2 };

/* ---- attributes ---- */

bool hone_sliding_list(hone_lower_t* l, const char* name, int n, int64_t least, int64_t fallback,
                       int64_t* out) {
  int count;
  const int64_t* given = hone_attr_ints(l->node, name, &count);
  for (int i = 0; i < n; i++) out[i] = count ? 0 : fallback;
  if (!count) return true;
  if (count != n) {
    hone_op_fail(l, "attribute '%s' has %d entries where the input's rank asks for %d", name, count,
                 n);
    return false;
  }
  for (int i = 0; i < n; i++) {
    out[i] = given[i];
    if (given[i] >= least && given[i] <= INT32_MAX) continue;
    hone_op_fail(l, "attribute '%s': %lld is outside of %lld … 2147483647", name,
                 (long long)given[i], (long long)least);
    return false;
  }
  return true;
}

static bool read_sizes(hone_lower_t* l, const hone_dim_t* sizes, hone_sliding_t* s) {
  int64_t list[HONE_MAX_RANK];
  if (!sizes && !hone_attr_has(l->node, "kernel_shape")) {
    hone_op_fail(l, "attribute 'kernel_shape' is missing");
    return false;
  }
  if (!hone_sliding_list(l, "kernel_shape", s->n, 1, 0, list)) return false;
  for (int i = 0; i < s->n; i++) {
    s->size[i] = sizes ? sizes[i] : hone_d(list[i]);
    if (sizes && list[i] && hone_dim_is_int(sizes[i]) && sizes[i].k != list[i]) {
      hone_op_fail(l, "kernel_shape says %lld for spatial axis %d, the weights have %lld",
                   (long long)list[i], i, (long long)sizes[i].k);
      return false;
    }
  }
  return true;
}

static bool read_steps(hone_lower_t* l, hone_sliding_t* s) {
  int64_t strides[HONE_MAX_RANK], dilations[HONE_MAX_RANK];
  if (!hone_sliding_list(l, "strides", s->n, 1, 1, strides) ||
      !hone_sliding_list(l, "dilations", s->n, 1, 1, dilations))
    return false;
  for (int i = 0; i < s->n; i++) {
    s->stride[i] = hone_d(strides[i]);
    s->dilation[i] = hone_d(dilations[i]);
  }
  return true;
}

hone_dim_t hone_sliding_reach(hone_builder_t* b, const hone_sliding_t* s, int axis) {
  hone_dim_t gaps = hone_d_sub(b, s->size[axis], hone_d(1));
  return hone_d_add(b, hone_d_mul(b, gaps, s->dilation[axis]), hone_d(1));
}

/* ---- pads ---- */

static hone_dim_t at_least_0(hone_builder_t* b, hone_dim_t d) {
  return hone_d_max(b, d, hone_d(0));
}

void hone_sliding_share_pad(hone_builder_t* b, hone_sliding_t* s, int axis, hone_dim_t total,
                            bool upper) {
  hone_dim_t half = hone_d_floordiv(b, total, hone_d(2)), rest = hone_d_sub(b, total, half);
  s->lo[axis] = upper ? half : rest;
  s->hi[axis] = upper ? rest : half;
}

/* As many windows as ceil(extent / stride); an odd pad goes to the end (upper)
 * or to the start (lower). */
static void pad_same(hone_builder_t* b, hone_sliding_t* s, int i, hone_dim_t extent, bool upper) {
  hone_dim_t count = hone_d_ceildiv(b, extent, s->stride[i]);
  hone_dim_t used = hone_d_mul(b, hone_d_sub(b, count, hone_d(1)), s->stride[i]);
  used = hone_d_add(b, used, hone_sliding_reach(b, s, i));
  hone_dim_t total = at_least_0(b, hone_d_sub(b, used, extent));
  hone_sliding_share_pad(b, s, i, total, upper);
}

/* Room for one more window where the division leaves a rest, unless that
 * window would start behind the input and its first pad. */
static void round_up(hone_builder_t* b, hone_sliding_t* s, int i, hone_dim_t extent) {
  hone_dim_t start = hone_d_add(b, extent, s->lo[i]);
  hone_dim_t padded = hone_d_add(b, start, s->hi[i]);
  hone_dim_t reach = hone_sliding_reach(b, s, i);
  hone_dim_t last = hone_d_ceildiv(b, hone_d_sub(b, padded, reach), s->stride[i]);
  hone_dim_t before = hone_d_sub(b, last, hone_d(1));
  hone_dim_t at = hone_d_mul(b, last, s->stride[i]);
  last = hone_dim_select_lt(b->graph->dims, at, start, last, before);
  hone_dim_t end = hone_d_add(b, hone_d_mul(b, last, s->stride[i]), reach);
  s->extra[i] = at_least_0(b, hone_d_sub(b, end, padded));
}

hone_auto_pad_t hone_sliding_auto_pad(hone_lower_t* l) {
  static const char* const names[] = {"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  const char* mode = hone_attr_string(l->node, "auto_pad", "NOTSET");
  if (!mode[0]) return HONE_AUTO_PAD_EXPLICIT;
  for (int i = HONE_AUTO_PAD_EXPLICIT; i <= HONE_AUTO_PAD_SAME_LOWER; i++)
    if (strcmp(mode, names[i]) == 0) return (hone_auto_pad_t)i;
  hone_op_fail(l, "auto_pad is '%s'; it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode);
  return HONE_AUTO_PAD_BAD;
}

static bool read_pads(hone_lower_t* l, const hone_value_t* x, hone_sliding_t* s) {
  hone_auto_pad_t mode = hone_sliding_auto_pad(l);
  bool same = mode == HONE_AUTO_PAD_SAME_UPPER || mode == HONE_AUTO_PAD_SAME_LOWER;
  int64_t pads[2 * HONE_MAX_RANK] = {0};
  if (mode == HONE_AUTO_PAD_BAD) return false;
  if (mode == HONE_AUTO_PAD_EXPLICIT && !hone_sliding_list(l, "pads", 2 * s->n, 0, 0, pads))
    return false;
  bool ceil_mode = hone_attr_int(l->node, "ceil_mode", 0) != 0;
  for (int i = 0; i < s->n; i++) {
    hone_dim_t extent = hone_dim(x, FIRST_SPATIAL + i);
    s->lo[i] = hone_d(pads[i]);
    s->hi[i] = hone_d(pads[s->n + i]);
    if (same)
      pad_same(l->b, s, i, extent, mode == HONE_AUTO_PAD_SAME_UPPER);
    else if (ceil_mode)
      round_up(l->b, s, i, extent);
  }
  return true;
}

bool hone_sliding_read_kernel(hone_lower_t* l, const hone_value_t* x, const hone_dim_t* sizes,
                              hone_sliding_t* out) {
  out->n = hone_rank(x) - FIRST_SPATIAL;
  if (out->n < 1 || FIRST_SPATIAL + 2 * out->n > HONE_MAX_RANK - 1) {
    hone_op_fail(l, "the input has rank %d; it must be batch, channels and 1 to 6 spatial axes",
                 hone_rank(x));
    return false;
  }
  for (int i = 0; i < out->n; i++) out->lo[i] = out->hi[i] = out->extra[i] = hone_d(0);
  return read_sizes(l, sizes, out) && read_steps(l, out);
}

bool hone_sliding_read(hone_lower_t* l, const hone_value_t* x, const hone_dim_t* sizes,
                       hone_sliding_t* out) {
  return hone_sliding_read_kernel(l, x, sizes, out) && read_pads(l, x, out);
}

/* ---- views ---- */

/* `first`: where the spatial axes begin. */
static hone_value_t* view(hone_builder_t* b, const hone_sliding_t* s, hone_value_t* x, int first,
                          hone_value_t* value) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < first; i++) lo[i] = hi[i] = hone_d(0);
  for (int i = 0; i < s->n; i++) {
    axes[i] = first + i;
    lo[first + i] = s->lo[i];
    hi[first + i] = hone_d_add(b, s->hi[i], s->extra[i]);
  }
  hone_value_t* padded = hone_pad(b, x, lo, hi, value);
  return hone_window(b, padded, s->n, axes, s->size, s->stride, s->dilation);
}

hone_value_t* hone_sliding_view(hone_builder_t* b, const hone_sliding_t* s, hone_value_t* x,
                                hone_value_t* value) {
  return view(b, s, x, FIRST_SPATIAL, value);
}

/* ---- convolutions ---- */

int64_t hone_sliding_groups(hone_lower_t* l, const hone_value_t* x, const hone_value_t* weights) {
  int64_t groups = hone_attr_int(l->node, "group", 1);
  if (hone_rank(weights) != hone_rank(x) || hone_rank(x) < 3) {
    hone_op_fail(l, "the input has rank %d, the weights %d; they must be equal and 3 or more",
                 hone_rank(x), hone_rank(weights));
    return 0;
  }
  hone_dim_t channels = hone_dim(x, 1), each = hone_dim(weights, 1), out = hone_dim(weights, 0);
  bool known = hone_dim_is_int(channels) && hone_dim_is_int(each);
  if (groups < 1 || groups > INT32_MAX || (known && channels.k != each.k * groups) ||
      (hone_dim_is_int(out) && out.k % groups != 0)) {
    hone_op_fail(l,
                 "group is %lld; the input must have group times as many channels as the weights "
                 "take, and the outputs must be a multiple of it",
                 (long long)groups);
    return 0;
  }
  return groups;
}

hone_value_t* hone_sliding_split(hone_builder_t* b, hone_value_t* x, int axis, int64_t parts) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dim_t shape[HONE_MAX_RANK + 1];
  int rank = hone_rank(x);
  for (int i = 0; i < rank; i++) shape[i < axis ? i : i + 1] = hone_dim(x, i);
  shape[axis] = hone_d(parts);
  shape[axis + 1] = hone_d_floordiv(b, hone_dim(x, axis), hone_d(parts));
  return hone_reshape(b, x, rank + 1, shape);
}

/* Channel pair first, then the window's axes with the weights' spatial ones. */
static int pair_axes(int n, int x_channel, int w_channel, int64_t (*pairs)[2]) {
  pairs[0][0] = x_channel;
  pairs[0][1] = w_channel;
  for (int i = 0; i < n; i++) {
    pairs[1 + i][0] = x_channel + 1 + n + i;
    pairs[1 + i][1] = w_channel + 1 + i;
  }
  return 1 + n;
}

/* [C, N, o…] or, where each channel has several outputs, [C, N, o…, M/C], as [N, M, o…]. */
static hone_value_t* channels_second(hone_builder_t* b, int n, hone_value_t* y,
                                     hone_dim_t outputs) {
  bool has_several = hone_is_known(b, y) && hone_rank(y) > 2 + n;
  y = hone_move_axis(b, y, 0, 1);
  if (!has_several || !y) return y;
  y = hone_move_axis(b, y, -1, 2);
  if (!y) return NULL;
  hone_dim_t shape[HONE_MAX_RANK] = {hone_dim(y, 0), outputs};
  for (int i = 0; i < n; i++) shape[2 + i] = hone_dim(y, 3 + i);
  return hone_reshape(b, y, 2 + n, shape);
}

/* Depthwise, one input channel a group: the channel is a batch axis of both. */
static hone_value_t* contract_channels(hone_builder_t* b, const hone_sliding_t* s, hone_value_t* x,
                                       hone_value_t* weights, int64_t groups, hone_dtype_t dtype) {
  hone_dim_t outputs = hone_dim(weights, 0), shape[HONE_MAX_RANK] = {hone_d(groups)};
  bool has_several = !hone_dim_is(outputs, groups);
  int64_t pairs[HONE_MAX_RANK][2] = {{1, 0}};
  int rank = 1;
  if (has_several) shape[rank++] = hone_d_floordiv(b, outputs, hone_d(groups));
  for (int i = 0; i < s->n; i++) {
    pairs[1 + i][0] = 2 + s->n + i;
    pairs[1 + i][1] = rank;
    shape[rank++] = hone_dim(weights, 2 + i);
  }
  hone_value_t* y =
      hone_contract(b, view(b, s, x, FIRST_SPATIAL, NULL), hone_reshape(b, weights, rank, shape),
                    1 + s->n, (const int64_t(*)[2])pairs, 1, dtype);
  return channels_second(b, s->n, y, outputs);
}

static hone_value_t* contract_grouped(hone_builder_t* b, const hone_sliding_t* s, hone_value_t* x,
                                      hone_value_t* weights, int64_t groups, hone_dtype_t dtype) {
  hone_dim_t outputs = hone_dim(weights, 0);
  x = view(b, s, hone_sliding_split(b, x, 1, groups), 3, NULL);
  int64_t pairs[HONE_MAX_RANK][2] = {{1, 0}};
  int n_pairs = 1 + pair_axes(s->n, 2, 2, pairs + 1);
  hone_value_t* y = hone_contract(b, x, hone_sliding_split(b, weights, 0, groups), n_pairs,
                                  (const int64_t(*)[2])pairs, 1, dtype);
  return channels_second(b, s->n, y, outputs);
}

hone_value_t* hone_sliding_contract(hone_builder_t* b, const hone_sliding_t* s, hone_value_t* x,
                                    hone_value_t* weights, int64_t groups, hone_dtype_t dtype) {
  if (!hone_is_known(b, x) || !hone_is_known(b, weights)) return NULL;
  if (groups > 1 && hone_dim_is(hone_dim(weights, 1), 1))
    return contract_channels(b, s, x, weights, groups, dtype);
  if (groups > 1) return contract_grouped(b, s, x, weights, groups, dtype);
  int64_t pairs[HONE_MAX_RANK][2];
  int n_pairs = pair_axes(s->n, 1, 1, pairs);
  x = view(b, s, x, FIRST_SPATIAL, NULL);
  hone_value_t* y = hone_contract(b, x, weights, n_pairs, (const int64_t(*)[2])pairs, 0, dtype);
  return hone_move_axis(b, y, -1, 1);
}

hone_value_t* hone_along_channels(hone_builder_t* b, hone_value_t* list, int rank) {
  if (!hone_is_known(b, list)) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) shape[i] = hone_d(1);
  shape[1] = hone_elements(b, list);
  return hone_reshape(b, list, rank, shape);
}

hone_value_t* hone_sliding_bias(hone_builder_t* b, hone_value_t* y, hone_value_t* bias) {
  if (!bias || !y) return y;
  return hone_add(b, y, hone_along_channels(b, bias, hone_rank(y)));
}
