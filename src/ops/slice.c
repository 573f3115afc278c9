/* Slice: start, end and step for some axes, counted and clamped much as Python does.
 *
 * Starts and ends may be expressions: the clamping is then part of the
 * expression. A negative step walks the flipped axis. */
#include "ops/op.h"

/* Numbers beyond any extent: "to the end" is written as the largest integer,
 * and sums with it must not overflow. */
static const int64_t far_away = (int64_t)1 << 48;

typedef struct range {
  hone_dim_t start, end;
  int64_t step;
} range_t;

typedef struct slices {
  hone_lower_t* l;
  hone_dims_t* d;
  int count;
  const hone_dim_t* starts;
  const hone_dim_t* ends;
  const int64_t* axes;  /* NULL: the first `count` */
  const int64_t* steps; /* NULL: all 1 */
} slices_t;

static hone_dim_t near(hone_dim_t d) {
  if (!hone_dim_is_int(d)) return d;
  return hone_d(d.k > far_away ? far_away : d.k < -far_away ? -far_away : d.k);
}

/* A position counted from the end where it is negative. */
static hone_dim_t from_front(hone_dims_t* d, hone_dim_t position, hone_dim_t extent) {
  position = near(position);
  return hone_dim_select_lt(d, position, hone_d(0), hone_dim_add(d, position, extent), position);
}

static hone_dim_t clamp(hone_dims_t* d, hone_dim_t position, hone_dim_t extent) {
  return hone_dim_max(d, hone_dim_min(d, position, extent), hone_d(0));
}

/* lo and hi of a range along an axis, flipped when the step is negative. A
 * start in front of the axis is then the first element: unlike in Python it
 * does not make the range empty. */
static void bounds(hone_dims_t* d, const range_t* r, hone_dim_t extent, hone_dim_t* lo,
                   hone_dim_t* hi) {
  hone_dim_t start = from_front(d, r->start, extent), end = from_front(d, r->end, extent);
  hone_dim_t limit = extent;
  if (r->step < 0) {
    hone_dim_t last = hone_dim_sub(d, extent, hone_d(1));
    start = hone_dim_sub(d, last, start);
    end = hone_dim_sub(d, last, end);
    limit = hone_dim_max(d, last, hone_d(0));
  }
  *lo = clamp(d, start, limit);
  *hi = hone_dim_max(d, *lo, clamp(d, end, extent));
}

static hone_value_t* slice_all(const slices_t* s, hone_value_t* x) {
  hone_builder_t* b = s->l->b;
  int rank = hone_rank(x);
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK], step[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    lo[i] = hone_d(0);
    hi[i] = hone_dim(x, i);
    step[i] = hone_d(1);
  }
  for (int i = 0; i < s->count; i++) {
    int axis = s->axes ? (int)s->axes[i] : i;
    range_t range = {s->starts[i], s->ends[i], s->steps ? s->steps[i] : 1};
    if (range.step == 0) {
      hone_op_fail(s->l, "the step along axis %d is 0", axis);
      return NULL;
    }
    if (range.step < -far_away) range.step = -far_away;
    bounds(s->d, &range, hone_dim(x, axis), &lo[axis], &hi[axis]);
    step[axis] = hone_d(range.step < 0 ? -range.step : near(hone_d(range.step)).k);
    if (range.step < 0) x = hone_flip(b, x, axis);
    if (!x) return NULL;
  }
  return hone_slice(b, x, lo, hi, step);
}

static void lower_slice(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  int n_ends, n_axes, n_steps;
  slices_t s = {.l = l, .d = l->b->graph->dims};
  s.starts = hone_op_list(l, "starts", 1, &s.count);
  s.ends = hone_op_list(l, "ends", 2, &n_ends);
  s.axes = hone_op_axes(l, "axes", 3, hone_rank(x), &n_axes);
  s.steps = hone_op_ints(l, NULL, 4, &n_steps);
  if (!hone_builder_ok(l->b)) return;
  if (!s.starts || !s.ends || n_ends != s.count || (s.axes && n_axes != s.count) ||
      (s.steps && n_steps != s.count) || (!s.axes && s.count > hone_rank(x))) {
    hone_op_fail(l, "starts, ends, axes and steps must have one entry for each sliced axis");
    return;
  }
  hone_op_out(l, 0, slice_all(&s, x));
}

static const hone_op_t ops[] = {
    {.name = "Slice",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 5,
     .attrs = "starts ends axes",
     .lower = lower_slice},
};
HONE_OP_FAMILY(slice, ops)
