/* Pad: elements added to (or, where a pad is negative, taken from) both ends
 * of axes. What a negative pad takes away goes first; then a constant is
 * added, or the axis is indexed with mirrored, clamped or wrapped positions. */
#include <string.h>

#include "ops/common/indexing.h"

typedef struct pads {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
} pads_t;

/* Position in the axis of each element of the padded axis; `at` counts from
 * the axis' first element and may be negative. */
typedef hone_value_t* (*place_fn)(hone_builder_t* b, hone_value_t* at, hone_dim_t extent);

static hone_value_t* scalar(hone_builder_t* b, hone_dim_t d) {
  return hone_dim_scalar(b, HONE_I64, d);
}

static hone_value_t* place_edge(hone_builder_t* b, hone_value_t* at, hone_dim_t extent) {
  hone_value_t* last = scalar(b, hone_d_sub(b, extent, hone_d(1)));
  return hone_min(b, hone_max_number(b, at, 0), last);
}

static hone_value_t* place_wrap(hone_builder_t* b, hone_value_t* at, hone_dim_t extent) {
  return hone_floor_mod(b, at, scalar(b, extent));
}

/* Back and forth with period 2 * (extent - 1). */
static hone_value_t* place_reflect(hone_builder_t* b, hone_value_t* at, hone_dim_t extent) {
  hone_dim_t period = hone_d_mul(b, hone_d_sub(b, extent, hone_d(1)), hone_d(2));
  hone_value_t* length = scalar(b, period);
  hone_value_t* rest = hone_floor_mod(b, at, length);
  return hone_min(b, rest, hone_sub(b, length, rest));
}

static const struct {
  const char* name;
  place_fn place;
} modes[] = {
    {"constant", NULL}, {"reflect", place_reflect}, {"edge", place_edge}, {"wrap", place_wrap}};

/* Takes away what negative pads name; they become 0. */
static hone_value_t* crop(hone_builder_t* b, hone_value_t* x, pads_t* pads) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK], zero = hone_d(0);
  for (int i = 0; i < hone_rank(x); i++) {
    hone_dim_t extent = hone_dim(x, i);
    hone_dim_t gone = hone_d_sub(b, zero, hone_d_min(b, pads->hi[i], zero));
    lo[i] = hone_d_sub(b, zero, hone_d_min(b, pads->lo[i], zero));
    hi[i] = hone_d_max(b, lo[i], hone_d_sub(b, extent, gone));
    pads->lo[i] = hone_d_max(b, pads->lo[i], zero);
    pads->hi[i] = hone_d_max(b, pads->hi[i], zero);
  }
  return hone_slice(b, x, lo, hi, NULL);
}

static hone_value_t* pad_axis(hone_builder_t* b, hone_value_t* x, int axis, const pads_t* pads,
                              place_fn place) {
  if (!x || (hone_dim_is(pads->lo[axis], 0) && hone_dim_is(pads->hi[axis], 0))) return x;
  hone_dim_t extent = hone_dim(x, axis);
  hone_dim_t length = hone_d_add(b, extent, hone_d_add(b, pads->lo[axis], pads->hi[axis]));
  hone_value_t* at = hone_iota(b, HONE_I64, 1, &length, 0);
  at = hone_sub(b, at, scalar(b, pads->lo[axis]));
  return hone_take(b, x, place(b, at, extent), axis);
}

static bool read_pads(hone_lower_t* l, int rank, pads_t* pads) {
  int count, n_axes = rank;
  const char* name = hone_attr_has(l->node, "paddings") ? "paddings" : "pads";
  const hone_dim_t* list = hone_op_list(l, name, 1, &count);
  const int64_t* axes = hone_op_axes(l, NULL, 3, rank, &n_axes);
  if (!axes) n_axes = rank;
  if (!hone_builder_ok(l->b)) return false;
  if (!list || count != 2 * n_axes) {
    hone_op_fail(l, "%d pads for %d axes; two an axis are needed", count, n_axes);
    return false;
  }
  for (int i = 0; i < rank; i++) pads->lo[i] = pads->hi[i] = hone_d(0);
  for (int i = 0; i < n_axes; i++) {
    int axis = axes ? (int)axes[i] : i;
    pads->lo[axis] = list[i];
    pads->hi[axis] = list[n_axes + i];
  }
  return true;
}

static hone_value_t* fill_value(hone_lower_t* l, hone_dtype_t dtype) {
  hone_value_t* given = hone_op_in(l, 2);
  if (given) return hone_reshape(l->b, given, 0, NULL);
  return hone_scalar(l->b, dtype, hone_attr_float(l->node, "value", 0));
}

static void lower_pad(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  const char* mode = hone_attr_string(l->node, "mode", "constant");
  size_t m = 0, n_modes = sizeof modes / sizeof *modes;
  while (m < n_modes && strcmp(modes[m].name, mode) != 0) m++;
  if (m == n_modes) {
    hone_op_fail(l, "mode '%s' is unknown; use constant, reflect, edge or wrap", mode);
    return;
  }
  pads_t pads;
  if (!read_pads(l, hone_rank(x), &pads)) return;
  x = crop(b, x, &pads);
  if (!x) return;
  if (!modes[m].place) {
    hone_op_out(l, 0, hone_pad(b, x, pads.lo, pads.hi, fill_value(l, hone_dtype_of(x))));
    return;
  }
  int rank = hone_rank(x);
  for (int i = 0; i < rank; i++) x = pad_axis(b, x, i, &pads, modes[m].place);
  hone_op_out(l, 0, x);
}

static const hone_op_t ops[] = {
    {.name = "Pad",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 4,
     .attrs = "mode paddings pads value",
     .lower = lower_pad},
};
HONE_OP_FAMILY(pad, ops)
