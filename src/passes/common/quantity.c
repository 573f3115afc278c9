#include "passes/common/quantity.h"

#include <math.h>

#include "passes/common/match.h"

enum { MAX_DEPTH = 24 };

static bool read(hone_rewriter_t* r, hone_value_t* value, int depth, hone_quantity_t* out);

static bool is_8bit(const hone_value_t* value) {
  return hone_type_is_known(&value->type) &&
         (value->type.dtype == HONE_I8 || value->type.dtype == HONE_U8);
}

/* ---- zero points and scales ---- */

bool hone_quantity_number(const hone_value_t* value, double* out_number) {
  while (value->node->prim == HONE_PRIM_CAST || value->node->prim == HONE_PRIM_EXPAND ||
         value->node->prim == HONE_PRIM_RESHAPE) {
    const hone_value_t* input = value->node->inputs[0];
    if (!hone_dtype_is_int(input->type.dtype)) break;
    value = input;
  }
  return hone_match_number(value, out_number);
}

/* `value` as an i32 scalar; NULL when it is not one number everywhere. */
static hone_value_t* as_scalar(hone_rewriter_t* r, hone_value_t* value) {
  double number;
  if (hone_quantity_number(value, &number)) return hone_scalar(r->b, HONE_I32, number);
  while (value->node->prim == HONE_PRIM_EXPAND && hone_match_count(&value->type) != 1)
    value = value->node->inputs[0];
  if (hone_match_count(&value->type) != 1) return NULL;
  return hone_cast(r->b, hone_reshape(r->b, value, 0, NULL), HONE_I32);
}

static bool is_zero(const hone_value_t* value) {
  double number;
  return hone_quantity_number(value, &number) && number == 0;
}

static bool set_zero(hone_rewriter_t* r, hone_value_t* zero, hone_quantity_t* out) {
  out->zero = is_zero(zero) ? NULL : as_scalar(r, zero);
  return out->zero || is_zero(zero);
}

/* q - zero, or q alone, as i32. */
static bool read_centered(hone_rewriter_t* r, hone_value_t* value, hone_quantity_t* out) {
  hone_node_t* node = value->node;
  *out = (hone_quantity_t){0};
  if (node->prim == HONE_PRIM_SUB) {
    if (!set_zero(r, node->inputs[1], out)) return false;
    node = node->inputs[0]->node;
  }
  if (node->prim != HONE_PRIM_CAST || !is_8bit(node->inputs[0])) return false;
  out->q = node->inputs[0];
  return true;
}

/* The axis along which a scale differs: -1 none, -2 more than one. */
static int varying_axis(const hone_value_t* scale) {
  int axis = -1;
  for (int i = 0; i < hone_rank(scale); i++) {
    if (hone_dim_is(hone_dim(scale, i), 1)) continue;
    if (axis >= 0) return -2;
    axis = i;
  }
  return axis;
}

/* A scale that `value` was multiplied with, before it was expanded. */
static hone_value_t* find_scale(hone_rewriter_t* r, hone_value_t* value) {
  double number;
  if (value->node->prim == HONE_PRIM_EXPAND) value = value->node->inputs[0];
  if (varying_axis(value) != -2) return value;
  if (!hone_match_number(value, &number)) return NULL;
  hone_dim_t ones[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(value); i++) ones[i] = hone_d(1);
  return hone_full(r->b, hone_dtype_of(value), number, hone_rank(value), ones);
}

/* centered * scale */
static bool read_scaled(hone_rewriter_t* r, const hone_node_t* node, hone_quantity_t* out) {
  for (int i = 0; i < 2; i++) {
    const hone_node_t* cast = hone_match_prim(node->inputs[i], HONE_PRIM_CAST);
    if (!cast) continue;
    if (is_8bit(cast->inputs[0]))
      *out = (hone_quantity_t){.q = cast->inputs[0]};
    else if (!read_centered(r, cast->inputs[0], out))
      continue;
    out->scale = find_scale(r, node->inputs[1 - i]);
    return out->scale != NULL;
  }
  return false;
}

/* ---- movement ---- */

static hone_value_t* copy(hone_rewriter_t* r, const hone_node_t* node, hone_value_t* input) {
  return hone_rewrite_copy(r, node, &input);
}

/* The scale of a reshaped tensor: the axis that it varies along stays one, or is
 * split. NULL when it is mixed with others. */
static hone_value_t* reshape_scale(hone_rewriter_t* r, const hone_node_t* node,
                                   hone_value_t* scale) {
  hone_dims_t* dims = r->graph->dims;
  const hone_type_t *in = &node->inputs[0]->type, *out = &node->outputs[0]->type;
  hone_dim_t shape[HONE_MAX_RANK], behind = hone_d(1);
  int axis = varying_axis(scale), last = out->rank - 1;
  for (int i = 0; i < out->rank; i++) shape[i] = hone_d(1);
  if (axis == -1) return hone_reshape(r->b, scale, out->rank, shape);
  hone_dim_t wanted = hone_dim_product(dims, in->rank - axis - 1, in->dims + axis + 1);
  while (last >= 0 && !hone_dim_same(behind, wanted))
    behind = hone_dim_mul(dims, behind, out->dims[last--]);
  hone_dim_t extent = hone_d(1);
  for (int i = last; i >= 0; i--) {
    if (hone_dim_same(extent, in->dims[axis])) break;
    extent = hone_dim_mul(dims, extent, out->dims[i]);
    shape[i] = out->dims[i];
  }
  if (!hone_dim_same(behind, wanted) || !hone_dim_same(extent, in->dims[axis])) return NULL;
  return hone_reshape(r->b, scale, out->rank, shape);
}

/* New axes of extent 1 at the end. */
static hone_value_t* append_axes(hone_rewriter_t* r, hone_value_t* scale, int count) {
  for (int i = 0; i < count && scale; i++) scale = hone_unsqueeze(r->b, scale, hone_rank(scale));
  return scale;
}

/* Whether the node leaves axis `axis` as it is. */
static bool keeps_axis(const hone_node_t* node, int axis) {
  if (axis < 0) return true;
  const hone_value_t *in = node->inputs[0], *out = node->outputs[0];
  for (int i = 0; i < node->n_axes; i++)
    if (node->axes[i] == axis) return false;
  return hone_dim_same(hone_dim(in, axis), hone_dim(out, axis));
}

static hone_value_t* moved_scale(hone_rewriter_t* r, hone_node_t* node, hone_value_t* scale) {
  switch (node->prim) {
    case HONE_PRIM_RESHAPE:
      return reshape_scale(r, node, scale);
    case HONE_PRIM_PERMUTE:
      return copy(r, node, scale);
    case HONE_PRIM_WINDOW:
      return keeps_axis(node, varying_axis(scale)) ? append_axes(r, scale, node->n_axes) : NULL;
    default:
      return keeps_axis(node, varying_axis(scale)) ? scale : NULL;
  }
}

/* The zero point in the type of q, which is what it is there. */
static hone_value_t* stored_zero(hone_rewriter_t* r, const hone_quantity_t* quantity) {
  hone_dtype_t dtype = hone_dtype_of(quantity->q);
  return quantity->zero ? hone_cast(r->b, quantity->zero, dtype) : hone_scalar(r->b, dtype, 0);
}

static bool read_moved(hone_rewriter_t* r, hone_node_t* node, int depth, hone_quantity_t* out) {
  bool pads = node->prim == HONE_PRIM_PAD;
  if (pads && !is_zero(node->inputs[1])) return false;
  if (!read(r, node->inputs[0], depth + 1, out)) return false;
  if (out->scale) {
    out->scale = moved_scale(r, node, out->scale);
    if (!out->scale) return false;
  }
  hone_value_t* inputs[2] = {out->q, pads ? stored_zero(r, out) : NULL};
  out->q = hone_rewrite_copy(r, node, inputs);
  return out->q != NULL;
}

static bool same_numbers(const hone_quantity_t* a, const hone_quantity_t* b) {
  double scale_a = 1, scale_b = 1, zero_a, zero_b;
  if (!a->scale != !b->scale || hone_dtype_of(a->q) != hone_dtype_of(b->q)) return false;
  if (a->scale && (!hone_quantity_one_scale(a, &scale_a) || !hone_quantity_one_scale(b, &scale_b)))
    return false;
  return hone_quantity_zero_number(a, &zero_a) && hone_quantity_zero_number(b, &zero_b) &&
         scale_a == scale_b && zero_a == zero_b;
}

static bool read_concat(hone_rewriter_t* r, hone_node_t* node, int depth, hone_quantity_t* out) {
  hone_value_t** parts = hone_arena_array(r->graph->arena, (size_t)node->n_inputs, sizeof *parts);
  if (!parts || !read(r, node->inputs[0], depth + 1, out)) return false;
  parts[0] = out->q;
  for (int i = 1; i < node->n_inputs; i++) {
    hone_quantity_t part;
    if (!read(r, node->inputs[i], depth + 1, &part) || !same_numbers(out, &part)) return false;
    parts[i] = part.q;
  }
  out->q = hone_rewrite_copy(r, node, parts);
  return out->q != NULL;
}

/* ---- maxima and minima ---- */

/* Of a quantity and zero: relu and its like. */
static bool read_bounded(hone_rewriter_t* r, hone_node_t* node, int depth, hone_quantity_t* out) {
  double scale;
  for (int i = 0; i < 2; i++) {
    if (!is_zero(node->inputs[i])) continue;
    if (!read(r, node->inputs[1 - i], depth + 1, out)) return false;
    if (out->scale && !hone_quantity_one_scale(out, &scale)) return false;
    out->q = hone_binary(r->b, node->prim, out->q, stored_zero(r, out));
    return out->q != NULL;
  }
  return false;
}

/* Whether each window of that axis holds something besides what it is padded with. */
static bool holds_some(const hone_node_t* window, const hone_node_t* pad, int axis) {
  for (int w = 0; w < window->n_axes; w++) {
    if (window->axes[w] != axis) continue;
    hone_dim_t size = window->shape[w], lo = pad->lo[axis], hi = pad->hi[axis];
    return hone_dim_is_int(size) && hone_dim_is_int(lo) && hone_dim_is_int(hi) && lo.k < size.k &&
           hi.k < size.k && hone_dim_is(window->hi[w], 1);
  }
  return hone_dim_is(pad->lo[axis], 0) && hone_dim_is(pad->hi[axis], 0);
}

static bool reduces(const hone_node_t* node, int axis) {
  for (int i = 0; i < node->n_axes; i++)
    if (node->axes[i] == axis) return true;
  return false;
}

/* The windows of which maxima are taken, padded with less than any number, each of which holds
 * some; NULL: they are none such. */
static hone_node_t* find_padded_windows(const hone_node_t* node) {
  double least;
  hone_node_t* window = node->inputs[0]->node;
  if (node->combine != HONE_COMBINE_MAX || window->prim != HONE_PRIM_WINDOW) return NULL;
  const hone_node_t* pad = window->inputs[0]->node;
  int rank = hone_rank(window->inputs[0]);
  if (pad->prim != HONE_PRIM_PAD || !hone_match_number(pad->inputs[1], &least) ||
      least != -INFINITY)
    return NULL;
  for (int i = 0; i < rank; i++)
    if (!holds_some(window, pad, i) || hone_dim_min_value(hone_dim(pad->inputs[0], i)) < 1)
      return NULL;
  for (int w = 0; w < window->n_axes; w++)
    if (!reduces(node, rank + w)) return NULL;
  return window;
}

/* Those, padded with the least 8-bit number instead. */
static bool read_padded_windows(hone_rewriter_t* r, const hone_node_t* window, int depth,
                                hone_quantity_t* out) {
  hone_node_t* pad = window->inputs[0]->node;
  if (!read(r, pad->inputs[0], depth + 1, out) || !out->scale) return false;
  hone_dtype_t dtype = hone_dtype_of(out->q);
  hone_value_t* inputs[2] = {out->q, hone_scalar_i64(r->b, dtype, dtype == HONE_I8 ? -128 : 0)};
  hone_value_t* padded = hone_rewrite_copy(r, pad, inputs);
  out->q = padded ? copy(r, window, padded) : NULL;
  return out->q != NULL;
}

/* Over axes: pooling. */
static bool read_reduced(hone_rewriter_t* r, hone_node_t* node, int depth, hone_quantity_t* out) {
  double scale;
  if (node->combine != HONE_COMBINE_MAX && node->combine != HONE_COMBINE_MIN) return false;
  const hone_node_t* padded = find_padded_windows(node);
  if (!(padded ? read_padded_windows(r, padded, depth + 1, out)
               : read(r, node->inputs[0], depth + 1, out)))
    return false;
  if (out->scale && !hone_quantity_one_scale(out, &scale)) return false;
  for (int i = 0; i < node->n_axes; i++) /* nothing at all has no largest 8-bit number */
    if (hone_dim_min_value(hone_dim(node->inputs[0], (int)node->axes[i])) < 1) return false;
  if (out->scale) {
    hone_dim_t ones[HONE_MAX_RANK];
    for (int i = 0; i < hone_rank(node->outputs[0]); i++) ones[i] = hone_d(1);
    out->scale = hone_reshape(r->b, out->scale, hone_rank(node->outputs[0]), ones);
  }
  out->q = copy(r, node, out->q);
  return out->q != NULL;
}

/* ---- all ---- */

static bool read_node(hone_rewriter_t* r, hone_value_t* value, int depth, hone_quantity_t* out) {
  switch (value->node->prim) {
    case HONE_PRIM_MUL:
      return hone_dtype_is_float(value->type.dtype) && read_scaled(r, value->node, out);
    case HONE_PRIM_SUB:
    case HONE_PRIM_CAST:
      return value->type.dtype == HONE_I32 && read_centered(r, value, out);
    case HONE_PRIM_RESHAPE:
    case HONE_PRIM_PERMUTE:
    case HONE_PRIM_EXPAND:
    case HONE_PRIM_SLICE:
    case HONE_PRIM_FLIP:
    case HONE_PRIM_PAD:
    case HONE_PRIM_WINDOW:
      return read_moved(r, value->node, depth, out);
    case HONE_PRIM_CONCAT:
      return read_concat(r, value->node, depth, out);
    case HONE_PRIM_MAX:
    case HONE_PRIM_MIN:
      return read_bounded(r, value->node, depth, out);
    case HONE_PRIM_REDUCE:
      return read_reduced(r, value->node, depth, out);
    default:
      return false;
  }
}

static bool read(hone_rewriter_t* r, hone_value_t* value, int depth, hone_quantity_t* out) {
  *out = (hone_quantity_t){0};
  if (depth > MAX_DEPTH || !hone_type_is_known(&value->type) || value->binds) return false;
  if (is_8bit(value)) {
    out->q = value;
    return true;
  }
  return read_node(r, value, depth, out) && hone_builder_ok(r->b);
}

bool hone_quantity_read(hone_rewriter_t* r, hone_value_t* value, hone_quantity_t* out) {
  return read(r, value, 0, out);
}

bool hone_quantity_one_scale(const hone_quantity_t* quantity, double* out_scale) {
  return quantity->scale && hone_match_number(quantity->scale, out_scale) && *out_scale > 0;
}

bool hone_quantity_zero_number(const hone_quantity_t* quantity, double* out_zero) {
  *out_zero = 0;
  return !quantity->zero || hone_quantity_number(quantity->zero, out_zero);
}

int64_t hone_quantity_reach(const hone_quantity_t* quantity) {
  return !quantity->zero && hone_dtype_of(quantity->q) == HONE_I8 ? 128 : 255;
}
