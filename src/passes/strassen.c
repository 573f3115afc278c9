/* Strassen: products of large matrices by weights with an eighth or a sixth less multiplications.
 *
 * Both are cut into parts, and fewer products of sums of parts make the parts of the result than
 * products of parts would be needed: seven instead of eight where all is cut in half, after
 * V. Strassen, "Gaussian elimination is not optimal" (1969); fifteen instead of eighteen where
 * what is summed over and columns are cut in three, as few as J. E. Hopcroft and L. R. Kerr, "On
 * minimizing the number of multiplications necessary for matrix multiplication" (1971), found; the
 * ones below, of the fewest additions, come from a walk as of M. Kauers and J. Moosbauer, "Flip
 * graphs for matrix multiplication" (2022). Sums of the weights' parts are made once and for all,
 * so that they take two or three quarters more memory.
 *
 * An odd number of rows, as of pictures cut into patches behind a token of their own, gets one of
 * zeros, or of what the product before made of such. Where only a run knows how many there are, it
 * takes one of two ways (common/either.h): by parts where there are enough rows, else as it was.
 *
 * The rows that a sum adds up lie near each other, so that one thread made all and uses all
 * results, whichever rows it has: rows are cut into blocks, and each block into halves.
 *
 * Sums are written as slices, additions and concats, which become one kernel on each side.
 * Results differ by rounding, by a few times what the order of sums does; options->exact leaves
 * products as they are. It runs before operands are narrowed (pass `precision`), whose rounding
 * then is that of the sums, once. */
#include <inttypes.h>
#include <string.h>

#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "passes/common/either.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"
#include "passes/common/shared_sums.h"

enum { HALVES = 2 /* of each block of rows */, MOST_PARTS = 6, MOST_PRODUCTS = 15, MOST_TERMS = 9 };

/* How the multiplications are done: parts along each axis, and the factors of the parts, row by
 * row, in each product, or of the products in each part of the result. */
typedef struct algorithm {
  int sums, columns; /* parts; of rows there are HALVES */
  int products;
  const int8_t* of_data;    /* [products][HALVES * sums] */
  const int8_t* of_weights; /* [products][sums * columns] */
  const int8_t* of_results; /* [HALVES * columns][products] */
} algorithm_t;

/* clang-format off */
static const int8_t seven_of_data[] = {
    1, 0, 0, 1,
    0, 0, 1, 1,
    1, 0, 0, 0,
    0, 0, 0, 1,
    1, 1, 0, 0,
    -1, 0, 1, 0,
    0, 1, 0, -1,
};
static const int8_t seven_of_weights[] = {
    1, 0, 0, 1,
    1, 0, 0, 0,
    0, 1, 0, -1,
    -1, 0, 1, 0,
    0, 0, 0, 1,
    1, 1, 0, 0,
    0, 0, 1, 1,
};
static const int8_t seven_of_results[] = {
    1, 0, 0, 1, -1, 0, 1,
    0, 0, 1, 0, 1, 0, 0,
    0, 1, 0, 1, 0, 0, 0,
    1, -1, 1, 0, 0, 1, 0,
};
static const int8_t fifteen_of_data[] = {
    1, 0, 0, 0, 0, 0,
    1, 1, 0, -1, -1, 0,
    1, 0, -1, 0, 0, 0,
    1, 0, -1, -1, 0, 1,
    1, 0, -1, 0, 0, 1,
    0, 1, 0, 0, 0, 0,
    0, 1, 1, 0, 0, 0,
    0, 1, 0, -1, -1, 0,
    0, 1, 0, 0, -1, 0,
    0, 1, 0, 0, 0, 1,
    0, 0, 1, 0, 0, -1,
    0, 0, 0, 1, 0, 0,
    0, 0, 0, 1, 1, 0,
    0, 0, 0, 0, 1, 1,
    0, 0, 0, 0, 0, 1,
};
static const int8_t fifteen_of_weights[] = {
    0, 1, -1, 0, 0, 0, 0, 0, -1,
    0, 1, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 1,
    1, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0, 1,
    0, 0, 0, 0, 1, -1, 0, -1, 0,
    0, 0, 0, 0, 0, 0, 0, 1, 0,
    0, 1, 0, 0, 0, -1, 0, 0, 0,
    0, 1, 0, 1, -1, 0, 0, 0, 0,
    0, 0, 0, 1, 0, 0, 0, -1, 0,
    1, 0, 0, 0, 0, 0, 1, -1, 0,
    1, 0, -1, 0, 0, 1, 0, 0, 0,
    0, 0, 0, 0, 0, 1, 0, 0, 0,
    0, 0, 0, 1, 0, 0, 0, 0, 0,
    0, 0, 0, 1, 0, 0, -1, 0, 1,
};
static const int8_t fifteen_of_results[] = {
    0, 0, -1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, -1,
    0, 1, 0, 0, 0, 1, 1, -1, 0, 0, 0, 0, 1, 0, 0,
    -1, 1, -1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0,
    0, 0, -1, -1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, -1,
    0, 0, 0, 0, 0, 1, 0, -1, 1, -1, 0, 0, 1, 1, 0,
    0, 0, -1, -1, 1, 0, 0, 0, 0, 0, 0, -1, 1, 0, 0,
};
/* clang-format on */

static const algorithm_t algorithms[] = {
    {.sums = 2,
     .columns = 2,
     .products = 7,
     .of_data = seven_of_data,
     .of_weights = seven_of_weights,
     .of_results = seven_of_results},
    {.sums = 3,
     .columns = 3,
     .products = 15,
     .of_data = fifteen_of_data,
     .of_weights = fifteen_of_weights,
     .of_results = fifteen_of_results},
};

typedef struct product {
  const hone_node_t* contract;
  const hone_tensor_t* w;
  const algorithm_t* how;
  int w_sum;                   /* axis of the weights along the sum */
  int64_t rows, sums, columns; /* of the matrices, rows with what makes them even; open: enough */
  int64_t half;                /* rows of half a block */
  hone_dim_t given, blocks;    /* rows without what makes them even, and blocks */
} product_t;

/* ---- which ---- */

/* Rows of half a block: a line of a picture of an even number of lines, else a thirty-second of all
 * rows or the next less that cuts them evenly. */
static int64_t choose_half(const product_t* p) {
  enum { MOST_HALVES = 32 };
  const hone_type_t* x = &p->contract->inputs[0]->type;
  /* No dimension of a product of known rows is a symbol. */
  if (x->rank > 3 && x->dims[x->rank - 3].k % 2 == 0) return x->dims[x->rank - 2].k;
  int64_t half = (p->rows + MOST_HALVES - 1) / MOST_HALVES;
  while (p->rows / HALVES % half != 0) half--;
  return half;
}

/* A product by weights whose sizes are known. */
static bool recognise(const hone_node_t* node, product_t* p) {
  hone_operand_product_t plain;
  if (!hone_operand_is_product(node, &plain)) return false;
  *p = (product_t){.contract = node,
                   .w = plain.w,
                   .w_sum = plain.w_sum,
                   .rows = plain.rows + plain.rows % 2,
                   .sums = plain.sums,
                   .columns = plain.columns};
  if (p->rows == 0) return false;
  p->half = choose_half(p);
  p->given = hone_d(plain.rows);
  p->blocks = hone_d(p->rows / (HALVES * p->half));
  return true;
}

/* By how many multiply-adds those that are saved are more than what the numbers take that are moved
 * for it: sums of the data's parts and the products, written and read, and more weights read.
 * Products that find no room in a usual second cache take half as long again, and twice as long
 * without room in a third. Fitted on x86 with AVX-512. */
static double find_gain(const product_t* p, const algorithm_t* how,
                        const hone_pass_options_t* options) {
  enum { SUMS = 16, COLUMNS = 32 /* whole vectors in each part */ };
  static const double weight = 4, least_gain = 1.2, near = 1 << 20, far = 24 << 20;
  double moved = hone_pass_narrows(options) ? 16 : 8;
  double m = (double)p->rows, k = (double)p->sums, n = (double)p->columns;
  double of_data = (double)how->products / (HALVES * how->sums),
         of_weights = (double)how->products / (how->sums * how->columns),
         of_results = (double)how->products / (HALVES * how->columns);
  if (p->sums % (SUMS * how->sums) || p->columns % (COLUMNS * how->columns)) return 0;
  double bytes = m * n * of_results * sizeof(float);
  if (bytes > near) moved *= bytes > far ? 2 : 1.5;
  double extra = moved * (of_data * m * k + of_results * m * n) + weight * (of_weights - 1) * k * n;
  return m * k * n * (1 - of_weights / HALVES) - least_gain * extra * hone_pass_word_price(options);
}

/* The algorithm that gains most; false: none does. */
static bool choose(product_t* p, const hone_pass_options_t* options) {
  double most = 0;
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    double gain = find_gain(p, &algorithms[i], options);
    if (gain <= most) continue;
    most = gain;
    p->how = &algorithms[i];
  }
  return p->how;
}

/* ---- sums of parts ---- */

static hone_value_t* slice_one(hone_builder_t* b, hone_value_t* x, int axis, int64_t index) {
  return hone_slice_axis(b, x, axis, hone_d(index), hone_d(index + 1));
}

/* The given ones with what makes them even. */
static hone_dim_t even_rows(hone_builder_t* b, const product_t* p) {
  return hone_dim_mul(b->graph->dims, p->blocks, hone_d(HALVES * p->half));
}

/* The only axis of x with rows; -1: there are more. */
static int find_row_axis(const hone_type_t* x) {
  int axis = -1;
  for (int i = 0; i < x->rank - 1; i++) {
    if (hone_dim_is(x->dims[i], 1)) continue;
    if (axis >= 0) return -1;
    axis = i;
  }
  return axis;
}

/* Of as many rows with one that nobody reads, as a product before it leaves them; NULL: there are
 * none such. */
static hone_value_t* find_even(hone_builder_t* b, const product_t* p, const hone_value_t* x) {
  int axis = find_row_axis(&x->type);
  hone_value_t* even = axis < 0 ? NULL : hone_either_longer(b->graph->dims, x, axis);
  return even && hone_dim_same(even->type.dims[axis], even_rows(b, p)) ? even : NULL;
}

/* [rows, sums]: with a row of zeros, or of what there is, where there is an odd number of them. */
static hone_value_t* make_even(hone_builder_t* b, const product_t* p, hone_value_t* x) {
  hone_value_t* even = find_even(b, p, x);
  if (even) return even;
  const hone_dim_t given[] = {p->given, hone_d(p->sums)}, lo[2] = {{0}},
                   hi[] = {hone_dim_sub(b->graph->dims, even_rows(b, p), p->given), hone_d(0)};
  if (hone_dim_is(hi[0], 0)) return x;
  return hone_pad(b, hone_reshape(b, x, 2, given), lo, hi, NULL);
}

/* [rows / 2, products, sums / parts]: what is made of a row lies side by side. Apart by many rows
 * fifteen results might go to the same sets of a cache. */
static hone_value_t* make_data(hone_builder_t* b, const product_t* p, hone_value_t* given) {
  const algorithm_t* how = p->how;
  int n = HALVES * how->sums;
  hone_value_t *parts[MOST_PARTS], *sums[MOST_PRODUCTS];
  const hone_dim_t part = hone_d(p->sums / how->sums);
  const hone_dim_t apart[] = {p->blocks, hone_d(HALVES), hone_d(p->half), hone_d(how->sums), part};
  hone_value_t* x = hone_reshape(b, make_even(b, p, given), 5, apart);
  for (int i = 0; i < n; i++)
    parts[i] = slice_one(b, slice_one(b, x, 1, i / how->sums), 3, i % how->sums);
  hone_shared_sums(b, n, parts, how->products, how->of_data, sums);
  const hone_dim_t shape[] = {hone_dim_mul(b->graph->dims, p->blocks, hone_d(p->half)),
                              hone_d(how->products), part};
  return hone_reshape(b, hone_concat(b, how->products, sums, 3), 3, shape);
}

enum { LANES = 32 /* numbers that are added up at once, so that compilers make vectors of them */ };

/* Weights that a product's are made of, times the factor. */
typedef struct part {
  const hone_loose_f32_t* from;
  float factor;
} part_t;

/* The parts of a product's weights, by the first row of each. */
typedef struct term_list {
  int n;
  part_t parts[MOST_TERMS];
} term_list_t;

/* What the products' weights are made of when they are wanted, which is when a kernel has them
 * packed: they are in the cache then, and there is not all of them at once. */
typedef struct weights {
  const algorithm_t* how;
  int64_t sums, columns; /* of the weights that they are made of */
  bool is_across;        /* those are [columns, sums] */
  term_list_t terms[MOST_PRODUCTS];
  float* to; /* [products, sums / parts, columns / parts] */
} weights_t;

/* out[c] = a[c] + b[c], times their factors. */
static void add_two(part_t a, part_t b, int64_t count, float* restrict out) {
  const hone_loose_f32_t* restrict x = a.from, * restrict y = b.from;
  int64_t c = 0;
  for (; c + LANES <= count; c += LANES, x += LANES, y += LANES, out += LANES)
    for (int i = 0; i < LANES; i++) out[i] = x[i] * a.factor + y[i] * b.factor;
  for (int64_t i = 0; i < count - c; i++) out[i] = x[i] * a.factor + y[i] * b.factor;
}

/* out[c] += a[c], times its factor. */
static void add_one(part_t a, int64_t count, float* restrict out) {
  const hone_loose_f32_t* restrict x = a.from;
  int64_t c = 0;
  for (; c + LANES <= count; c += LANES, x += LANES, out += LANES)
    for (int i = 0; i < LANES; i++) out[i] += x[i] * a.factor;
  for (int64_t i = 0; i < count - c; i++) out[i] += x[i] * a.factor;
}

/* out[c] = the sum of factor * part[c] over the parts, whose rows lie as they do in `out`. A part
 * by itself has the factor 1. */
static void sum_along(const part_t* parts, int n, int64_t count, float* out) {
  if (n == 1)
    memcpy(out, parts->from, (size_t)count * sizeof *out);
  else
    add_two(parts[0], parts[1], count, out);
  for (int i = 2; i < n; i++) add_one(parts[i], count, out);
}

/* The same where what follows in `out` lies `column` apart. */
static void sum_across(const part_t* parts, int n, int64_t count, int64_t column, float* out) {
  for (int64_t c = 0; c < count; c++) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += parts[i].factor * parts[i].from[c * column];
    out[c] = sum;
  }
}

/* Row k of a product's weights: of one or several parts. */
static void sum_row(const weights_t* w, const term_list_t* terms, int64_t k, float* out) {
  int64_t columns = w->columns / w->how->columns;
  part_t parts[MOST_TERMS];
  for (int i = 0; i < terms->n; i++)
    parts[i] = (part_t){terms->parts[i].from + k * (w->is_across ? 1 : w->columns),
                        terms->parts[i].factor};
  if (w->is_across)
    sum_across(parts, terms->n, columns, w->sums, out);
  else
    sum_along(parts, terms->n, columns, out);
}

static void list_terms(weights_t* w, const hone_loose_f32_t* from) {
  const algorithm_t* how = w->how;
  int64_t sums = w->sums / how->sums, columns = w->columns / how->columns;
  int64_t row = w->is_across ? 1 : w->columns, column = w->is_across ? w->sums : 1;
  for (int p = 0; p < how->products; p++)
    for (int i = 0; i < how->sums * how->columns; i++) {
      term_list_t* terms = &w->terms[p];
      float factor = how->of_weights[p * how->sums * how->columns + i];
      const hone_loose_f32_t* part =
          from + i / how->columns * sums * row + i % how->columns * columns * column;
      if (factor != 0) terms->parts[terms->n++] = (part_t){part, factor};
    }
}

/* All products of a row, one after the other, since they are made of the same numbers. */
static void sum_rows(void* context, int64_t begin, int64_t end) {
  const weights_t* w = context;
  int64_t sums = w->sums / w->how->sums, columns = w->columns / w->how->columns;
  for (int64_t k = begin; k < end; k++)
    for (int64_t p = 0; p < w->how->products; p++)
      sum_row(w, &w->terms[p], k, w->to + (p * sums + k) * columns);
}

static void fill_weights(void* context, void* data) {
  weights_t* w = context;
  w->to = data;
  hone_parallel_for(hone_thread_pool_shared(), w->sums / w->how->sums, 1, sum_rows, w);
}

static hone_value_t* make_weights(hone_rewriter_t* r, const product_t* p) {
  const int64_t dims[] = {p->how->products, p->sums / p->how->sums, p->columns / p->how->columns};
  weights_t w = {.how = p->how, .sums = p->sums, .columns = p->columns, .is_across = p->w_sum != 0};
  list_terms(&w, hone_tensor_data(p->w));
  hone_tensor_t* made;
  hone_status_t status = hone_tensor_create_late(r->graph->allocator, HONE_F32, 3, dims,
                                                 fill_weights, &w, sizeof w, p->w, &made);
  return status ? hone_fail_status(r->b, status) : hone_constant(r->b, made);
}

/* The parts of one half of the rows, side by side. */
static hone_value_t* join_half(hone_builder_t* b, const product_t* p, hone_value_t* const* sums) {
  const algorithm_t* how = p->how;
  hone_value_t* parts[MOST_PARTS];
  const hone_dim_t shape[] = {p->blocks, hone_d(1), hone_d(p->half), hone_d(1),
                              hone_d(p->columns / how->columns)};
  for (int i = 0; i < how->columns; i++) parts[i] = hone_reshape(b, sums[i], 5, shape);
  return hone_concat(b, how->columns, parts, 3);
}

/* [even rows, columns] from [products, rows / 2, columns / parts]. */
static hone_value_t* make_result(hone_builder_t* b, const product_t* p, hone_value_t* m) {
  const algorithm_t* how = p->how;
  hone_value_t *products[MOST_PRODUCTS], *sums[MOST_PARTS], *halves[HALVES];
  for (int i = 0; i < how->products; i++) products[i] = slice_one(b, m, 0, i);
  hone_shared_sums(b, how->products, products, HALVES * how->columns, how->of_results, sums);
  for (int i = 0; i < HALVES; i++) halves[i] = join_half(b, p, sums + i * how->columns);
  const hone_dim_t together[] = {even_rows(b, p), hone_d(p->columns)};
  return hone_reshape(b, hone_concat(b, HALVES, halves, 1), 2, together);
}

/* [even rows, columns] */
static hone_value_t* multiply_even(hone_rewriter_t* r, const product_t* p, hone_value_t* x) {
  static const int64_t pairs[][2] = {{1, 0}, {2, 1}};
  hone_value_t* data = make_data(r->b, p, x);
  hone_value_t* m = hone_contract(r->b, data, make_weights(r, p), 2, pairs, 1, HONE_F32);
  return m ? make_result(r->b, p, m) : NULL;
}

static hone_value_t* multiply(hone_rewriter_t* r, const product_t* p, hone_value_t* x) {
  hone_value_t* y = multiply_even(r, p, x);
  return y ? hone_slice_axis(r->b, y, 0, hone_d(0), p->given) : NULL;
}

/* ---- rows that only a run knows ---- */

/* What is rounded goes on as floats where ways part at different numbers of rows, and each product
 * would round it anew. */
static bool rounds_operands(const hone_rewriter_t* r) {
  return r->context->options->precision != HONE_UNKNOWN;
}

/* Whether the number of rows is open, within bounds that somebody gave, since weights are kept both
 * ways; and how many make it worth it: twice as many as gain something, or, so that all products
 * part at the same number, as many. */
static bool recognise_open(hone_rewriter_t* r, const hone_node_t* node, product_t* p) {
  enum { STEP = 64, BOUNDED = 1 << 16 };
  hone_operand_product_t plain;
  if (!hone_operand_is_product(node, &plain) || plain.rows) return false;
  *p = (product_t){.contract = node,
                   .w = plain.w,
                   .w_sum = plain.w_sum,
                   .sums = plain.sums,
                   .columns = plain.columns,
                   .half = 1};
  const hone_type_t* x = &node->inputs[0]->type;
  int axis = find_row_axis(x);
  int64_t most = axis < 0 ? 0 : hone_dim_max_value(x->dims[axis]);
  if (most > BOUNDED) return false;
  for (int64_t least = 2 * STEP; least < most; least += 2 * STEP) {
    p->rows = rounds_operands(r) ? least : least / 2;
    if (!choose(p, r->context->options)) continue;
    p->given = hone_either_many(r->graph->dims, x->dims[axis], least);
    p->blocks = hone_dim_ceildiv(r->graph->dims, p->given, hone_d(HALVES));
    return true;
  }
  return false;
}

/* In parts where there are enough rows, as there may always be, else as it was. */
static hone_value_t* multiply_open(hone_rewriter_t* r, const product_t* p) {
  const hone_node_t* node = p->contract;
  const int64_t pair[][2] = {{node->axes[0], node->axes[1]}};
  int axis = find_row_axis(&node->inputs[0]->type);
  if (hone_dim_same(p->given, node->inputs[0]->type.dims[axis]))
    return multiply(r, p, node->inputs[0]);
  hone_value_t *x[2], *y[2];
  hone_either_parts(r->b, node->inputs[0], axis, p->given, x);
  y[0] = multiply_even(r, p, x[0]);
  y[1] = hone_contract(r->b, x[1], node->inputs[1], 1, pair, 0, HONE_F32);
  if (!y[0] || !y[1]) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < y[1]->type.rank; i++) shape[i] = y[1]->type.dims[i];
  shape[axis] = even_rows(r->b, p);
  y[0] = hone_reshape(r->b, y[0], y[1]->type.rank, shape);
  y[0] = y[0] ? hone_slice_axis(r->b, y[0], axis, hone_d(0), p->given) : NULL;
  if (!y[0]) return NULL;
  return hone_concat(r->b, 2, y, axis);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  product_t p;
  hone_value_t* now = NULL;
  /* Part of the products that are told of. */
  if (node->prim != HONE_PRIM_CONTRACT) return hone_either_apart(r, node);
  if (recognise(node, &p) && choose(&p, r->context->options))
    now = multiply(r, &p, node->inputs[0]);
  else if (recognise_open(r, node, &p))
    now = multiply_open(r, &p);
  if (!now) return NULL;
  hone_pass_did(r->context, node, "by %d products instead of %d", p.how->products,
                HALVES * p.how->sums * p.how->columns);
  return hone_reshape_like(r->b, now, node->outputs[0]);
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  const hone_pass_options_t* options = context->options;
  if (options->exact || options->sums_blocks || options->splits) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " products by fewer of parts", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_strassen;
const hone_pass_t hone_pass_strassen = {
    .name = "strassen",
    .summary =
        "products of large matrices with an eighth or a sixth less multiplications (rounds "
        "differently)",
    .phases = {HONE_PHASE_TIDY - 25},
    .run = run,
};
