/* The transforms, along one axis.
 *
 * A tile of 4 evaluates polynomials at 0, infinity and four points more, one of 2 at 0, 1, -1 and
 * infinity, one of 4 by windows of two elements at 0, 1, -1, 2 and infinity, one of 2 by such at 0,
 * 1 and infinity. The four are 1, -1, 2 and -2 of integers. Of floats they are 5/8, -5/8, 3/2 and
 * -3/2, with which all transforms have factors near 1, and results are off by 0.4 of what they are
 * with the others: numbers of few bits, next to 1 on either side (after S. Alam, A. Anderson, B.
 * Barabasz and D. Gregg, "Winograd Convolution for Deep Neural Networks: Efficient Point
 * Selection", 2022).
 *
 * In floats G has the divisors that interpolating needs. Each is a factor of a row, so that
 * integers, with 4, 6 and 24, leave rows of G whole, multiplied as A' and the size of numbers like
 * it best, and divide in the end. */
#include "passes/common/winograd.h"

static const hone_winograd_t floats[] = {
    {.tile = 4,
     .window = 3,
     .patch = 6,
     .weights = {{256.0 / 225, 0, 0},
                 {-2048.0 / 2975, -256.0 / 595, -32.0 / 119},
                 {-2048.0 / 2975, 256.0 / 595, -32.0 / 119},
                 {128.0 / 1071, 64.0 / 357, 32.0 / 119},
                 {128.0 / 1071, -64.0 / 357, 32.0 / 119},
                 {0, 0, 1}},
     .points = {5.0 / 8, 3.0 / 2},
     .near = {1, 5.0 / 8, 25.0 / 64, 125.0 / 512},
     .far = {1, 3.0 / 2, 9.0 / 4, 27.0 / 8}},
    {.tile = 2,
     .window = 3,
     .patch = 4,
     .weights = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, -1}}},
    {.tile = 4,
     .window = 2,
     .patch = 5,
     .weights =
         {{1.0 / 2, 0}, {-1.0 / 2, -1.0 / 2}, {-1.0 / 6, 1.0 / 6}, {1.0 / 6, 1.0 / 3}, {0, 1}}},
    {.tile = 2, .window = 2, .patch = 3, .weights = {{1, 0}, {1, 1}, {0, 1}}},
};

/* Rows of A' give 24, 12, 6 and 6 times the result: 3 (8, 4, 2, 2). 2863311531 * 3 and 954437177 *
 * 9 are 1 modulo 2^32. */
static const hone_winograd_t integers[] = {
    {.tile = 4,
     .window = 3,
     .patch = 6,
     .weights = {{6, 0, 0}, {-1, -1, -1}, {-1, 1, -1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 6}},
     .points = {1, 2},
     .near = {4, 2, 1, 1},
     .far = {1, 1, 1, 2},
     .is_whole = true,
     .unit = {1, 2, 4, 4},
     .inverse = {2863311531, 954437177},
     .shift = 3},
    {.tile = 2,
     .window = 3,
     .patch = 4,
     .weights = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, -2}},
     .is_whole = true,
     .unit = {1, 1},
     .inverse = {1, 1},
     .shift = 1},
};

const hone_winograd_t* hone_winograd_at(bool is_whole, int index) {
  const size_t count =
      is_whole ? sizeof integers / sizeof *integers : sizeof floats / sizeof *floats;
  if (index < 0 || (size_t)index >= count) return NULL;
  return is_whole ? &integers[index] : &floats[index];
}

static hone_value_t* times(hone_builder_t* b, hone_value_t* x, double factor) {
  return factor == 1 ? x : hone_mul_number(b, x, factor);
}

/* x + factor * y */
static hone_value_t* plus(hone_builder_t* b, hone_value_t* x, double factor, hone_value_t* y) {
  return factor == -1 ? hone_sub(b, x, y) : hone_add(b, x, times(b, y, factor));
}

/* x + point * y and x - point * y, where x and y are what the other pair of points is zero at:
 * x = d[4] - other^2 d[2]. */
static void inputs_of_points(hone_builder_t* b, hone_value_t* const* d, double point, double other,
                             hone_value_t** v) {
  hone_value_t* even = plus(b, d[4], -other * other, d[2]);
  hone_value_t* odd = plus(b, d[3], -other * other, d[1]);
  v[0] = plus(b, even, point, odd);
  v[1] = plus(b, even, -point, odd);
}

static void inputs_of_6(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* d,
                        hone_value_t** v) {
  double near = w->points[0], far = w->points[1], sum = near * near + far * far,
         product = near * near * far * far;
  v[0] = plus(b, plus(b, d[4], product, d[0]), -sum, d[2]);
  inputs_of_points(b, d, near, far, v + 1);
  inputs_of_points(b, d, far, near, v + 3);
  v[5] = plus(b, plus(b, d[5], product, d[1]), -sum, d[3]);
}

static void results_of_6(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* m,
                         hone_value_t** y) {
  hone_value_t* of_1[] = {hone_add(b, m[1], m[2]), hone_sub(b, m[1], m[2])};
  hone_value_t* of_2[] = {hone_add(b, m[3], m[4]), hone_sub(b, m[3], m[4])};
  y[0] = plus(b, plus(b, m[0], w->near[0], of_1[0]), w->far[0], of_2[0]);
  for (int i = 1; i < 4; i++)
    y[i] = plus(b, times(b, of_1[i % 2], w->near[i]), w->far[i], of_2[i % 2]);
  y[3] = hone_add(b, y[3], m[5]);
}

static void inputs_of_5(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* d,
                        hone_value_t** v) {
  (void)w;
  v[3] = hone_sub(b, d[3], d[1]);
  v[0] = plus(b, v[3], 2, hone_sub(b, d[0], d[2]));
  v[1] = plus(b, hone_sub(b, d[3], d[2]), -2, d[1]);
  v[2] = plus(b, plus(b, d[3], -3, d[2]), 2, d[1]);
  v[4] = plus(b, hone_sub(b, d[4], d[2]), -2, v[3]);
}

static void results_of_5(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* m,
                         hone_value_t** y) {
  (void)w;
  hone_value_t *sum = hone_add(b, m[1], m[2]), *difference = hone_sub(b, m[1], m[2]);
  y[0] = hone_add(b, hone_add(b, m[0], sum), m[3]);
  y[1] = plus(b, difference, 2, m[3]);
  y[2] = plus(b, sum, 4, m[3]);
  y[3] = hone_add(b, plus(b, difference, 8, m[3]), m[4]);
}

static void inputs_of_4(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* d,
                        hone_value_t** v) {
  (void)w;
  v[0] = hone_sub(b, d[0], d[2]);
  v[1] = hone_add(b, d[1], d[2]);
  v[2] = hone_sub(b, d[2], d[1]);
  v[3] = hone_sub(b, d[1], d[3]);
}

static void results_of_4(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* m,
                         hone_value_t** y) {
  (void)w;
  y[0] = hone_add(b, hone_add(b, m[0], m[1]), m[2]);
  y[1] = hone_add(b, hone_sub(b, m[1], m[2]), m[3]);
}

static void inputs_of_3(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* d,
                        hone_value_t** v) {
  (void)w;
  v[0] = hone_sub(b, d[0], d[1]);
  v[1] = d[1];
  v[2] = hone_sub(b, d[2], d[1]);
}

static void results_of_3(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* m,
                         hone_value_t** y) {
  (void)w;
  y[0] = hone_add(b, m[0], m[1]);
  y[1] = hone_add(b, m[1], m[2]);
}

typedef void transform_t(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* const* from,
                         hone_value_t** to);

/* By the places of a tile. */
static const struct {
  transform_t *inputs, *results;
} transforms[] = {[3] = {inputs_of_3, results_of_3},
                  [4] = {inputs_of_4, results_of_4},
                  [5] = {inputs_of_5, results_of_5},
                  [6] = {inputs_of_6, results_of_6}};

/* The elements of `x` along an axis, each with that axis; returns how many. */
static int take_apart(hone_builder_t* b, hone_value_t* x, int axis, hone_value_t** out) {
  int n = x ? (int)x->type.dims[axis].k : 0;
  for (int i = 0; i < n; i++) out[i] = hone_slice_axis(b, x, axis, hone_d(i), hone_d(i + 1));
  return n;
}

hone_value_t* hone_winograd_inputs(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* x,
                                   int axis, int first, int count) {
  hone_value_t *in[HONE_WINOGRAD_PATCH], *out[HONE_WINOGRAD_PATCH];
  if (take_apart(b, x, axis, in) != w->patch) return NULL;
  transforms[w->patch].inputs(b, w, in, out);
  return hone_concat(b, count, out + first, axis);
}

/* `x` modulo 2^32, as an i32. */
static double wrapped(double x) { return (double)(int32_t)(uint32_t)(uint64_t)x; }

hone_value_t* hone_winograd_results(hone_builder_t* b, const hone_winograd_t* w, int count,
                                    hone_value_t* const* x, int axis, int axes) {
  hone_value_t *in[HONE_WINOGRAD_PATCH], *out[HONE_WINOGRAD_TILE];
  int n = 0;
  for (int i = 0; i < count; i++) n += take_apart(b, x[i], axis, in + n);
  if (n != w->patch) return NULL; /* a piece could not be made */
  transforms[w->patch].results(b, w, in, out);
  for (int i = 0; w->is_whole && i < w->tile; i++)
    out[i] = times(b, out[i], wrapped(w->unit[i] * (axes ? w->inverse[axes - 1] : 1)));
  return hone_concat(b, w->tile, out, axis);
}

static void combine(const double* restrict factors, const double* restrict a,
                    const double* restrict b, const double* restrict c, double* restrict to) {
  for (int i = 0; i < HONE_WINOGRAD_LANES; i++)
    to[i] = factors[0] * a[i] + factors[1] * b[i] + factors[2] * c[i];
}

void hone_winograd_weights(const hone_winograd_t* w, double (*in)[HONE_WINOGRAD_LANES],
                           ptrdiff_t in_stride, double (*out)[HONE_WINOGRAD_LANES],
                           ptrdiff_t out_stride) {
  for (int r = 0; r < w->patch; r++)
    combine(w->weights[r], in[0], in[in_stride], in[2 * in_stride], out[r * out_stride]);
}
