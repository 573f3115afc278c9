/* Strassen: products of large matrices by weights with an eighth less multiplications.
 *
 * Both are cut into quarters, and seven products of sums of quarters make the four quarters of the
 * result, where eight would be needed else. Sums of the weights' quarters are made once and for
 * all, so that they take three quarters more memory. After V. Strassen, "Gaussian elimination is
 * not optimal" (1969).
 *
 * An odd number of rows, as of pictures cut into patches behind a token of their own, gets one of
 * zeros.
 *
 * Sums are written as slices, additions and concats, which become one kernel on each side.
 * Results differ by rounding, by a few times what the order of sums does; options->exact leaves
 * products as they are. It runs before operands are narrowed (pass `precision`), whose rounding
 * then is that of the sums, once. */
#include <inttypes.h>
#include <string.h>

#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

enum { QUARTERS = 4, PRODUCTS = 7 };

/* Factors of the quarters, row by row: of the data and of the weights in each product, and of the
 * products in each quarter of the result. */
static const int8_t of_data[PRODUCTS][QUARTERS] = {{1, 0, 0, 1}, {0, 0, 1, 1}, {1, 0, 0, 0},
                                                   {0, 0, 0, 1}, {1, 1, 0, 0}, {-1, 0, 1, 0},
                                                   {0, 1, 0, -1}};
static const int8_t of_weights[PRODUCTS][QUARTERS] = {{1, 0, 0, 1},  {1, 0, 0, 0}, {0, 1, 0, -1},
                                                      {-1, 0, 1, 0}, {0, 0, 0, 1}, {1, 1, 0, 0},
                                                      {0, 0, 1, 1}};
static const int8_t of_results[QUARTERS][PRODUCTS] = {
    {1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0}, {1, -1, 1, 0, 0, 1, 0}};

typedef struct product {
  const hone_node_t* contract;
  const hone_tensor_t* w;
  int w_sum;                   /* axis of the weights along the sum */
  int64_t rows, sums, columns; /* of the matrices, rows with what makes them even */
  int64_t given;               /* rows without */
} product_t;

/* ---- which ---- */

/* A product by weights whose sizes are known. */
static bool recognise(const hone_node_t* node, product_t* p) {
  hone_operand_product_t plain;
  if (!hone_operand_is_product(node, &plain)) return false;
  *p = (product_t){.contract = node,
                   .w = plain.w,
                   .w_sum = plain.w_sum,
                   .rows = plain.rows + plain.rows % 2,
                   .sums = plain.sums,
                   .columns = plain.columns,
                   .given = plain.rows};
  return p->rows > 0;
}

/* Whether the multiply-adds that are saved take longer than the numbers that are moved for it: sums
 * of the data's quarters and the seven products, written and read, and more weights read. Products
 * that find no room in a usual second cache take half as long again. Fitted on x86 with AVX-512. */
static bool pays(const product_t* p, const hone_pass_options_t* options) {
  enum { SUMS = 32, COLUMNS = 64 /* whole vectors in each half */ };
  static const double weight = 4, least_gain = 1.2, room = 1 << 20;
  double moved = hone_pass_narrows(options) ? 16 : 8;
  double m = (double)p->rows, k = (double)p->sums, n = (double)p->columns;
  if (p->sums % SUMS || p->columns % COLUMNS) return false;
  if (m * n * 7 / 4 * sizeof(float) > room) moved *= 1.5;
  double extra = moved * 7 / 4 * (m * k + m * n) + weight * 3 / 4 * k * n;
  return m * k * n / 8 > least_gain * extra * hone_pass_word_price(options);
}

/* ---- sums of quarters ---- */

/* The parts with their factors, which are 0, 1 or -1; one of them is not zero. */
static hone_value_t* combine(hone_builder_t* b, int count, hone_value_t* const* parts,
                             const int8_t* factors) {
  hone_value_t* sum = NULL;
  for (int sign = 1; sign >= -1; sign -= 2)
    for (int i = 0; i < count; i++) {
      if (factors[i] != sign) continue;
      if (!sum)
        sum = sign > 0 ? parts[i] : hone_unary(b, HONE_PRIM_NEG, parts[i]);
      else
        sum = sign > 0 ? hone_add(b, sum, parts[i]) : hone_sub(b, sum, parts[i]);
    }
  return sum;
}

static hone_value_t* slice_one(hone_builder_t* b, hone_value_t* x, int axis, int64_t index) {
  return hone_slice_axis(b, x, axis, hone_d(index), hone_d(index + 1));
}

/* [rows, sums]: with a row of zeros where there is an odd number of them. */
static hone_value_t* even_rows(hone_builder_t* b, const product_t* p) {
  const hone_dim_t given[] = {hone_d(p->given), hone_d(p->sums)}, lo[2] = {{0}},
                   hi[] = {hone_d(p->rows - p->given), hone_d(0)};
  hone_value_t* x = p->contract->inputs[0];
  return p->rows == p->given ? x : hone_pad(b, hone_reshape(b, x, 2, given), lo, hi, NULL);
}

/* [products, rows / 2, sums / 2] */
static hone_value_t* make_data(hone_builder_t* b, const product_t* p) {
  hone_value_t *quarters[QUARTERS], *sums[PRODUCTS];
  const hone_dim_t apart[] = {hone_d(2), hone_d(p->rows / 2), hone_d(2), hone_d(p->sums / 2)};
  hone_value_t* x = hone_reshape(b, even_rows(b, p), 4, apart);
  for (int i = 0; i < QUARTERS; i++)
    quarters[i] = slice_one(b, slice_one(b, x, 0, i / 2), 2, i % 2);
  for (int i = 0; i < PRODUCTS; i++) sums[i] = combine(b, QUARTERS, quarters, of_data[i]);
  const hone_dim_t shape[] = {hone_d(PRODUCTS), apart[1], apart[3]};
  return hone_reshape(b, hone_concat(b, PRODUCTS, sums, 0), 3, shape);
}

typedef struct weights {
  const product_t* product;
  float* to; /* [products, sums / 2, columns / 2] */
} weights_t;

/* Row k of a product's weights: of one or two quarters. */
static void sum_row(const weights_t* w, int64_t product, int64_t k) {
  const product_t* p = w->product;
  const hone_loose_f32_t* from = hone_tensor_data(p->w);
  int64_t sums = p->sums / 2, columns = p->columns / 2;
  int64_t row = p->w_sum == 0 ? p->columns : 1, column = p->w_sum == 0 ? 1 : p->sums;
  float* out = w->to + (product * sums + k) * columns;
  memset(out, 0, (size_t)columns * sizeof *out);
  for (int q = 0; q < QUARTERS; q++) {
    float factor = of_weights[product][q];
    const hone_loose_f32_t* quarter = from + (q / 2 * sums + k) * row + q % 2 * columns * column;
    if (factor != 0 && column == 1)
      for (int64_t i = 0; i < columns; i++) out[i] += factor * quarter[i];
    else if (factor != 0)
      for (int64_t i = 0; i < columns; i++) out[i] += factor * quarter[i * column];
  }
}

static void sum_rows(void* context, int64_t begin, int64_t end) {
  const weights_t* w = context;
  int64_t sums = w->product->sums / 2;
  for (int64_t i = begin; i < end; i++) sum_row(w, i / sums, i % sums);
}

static hone_value_t* make_weights(hone_rewriter_t* r, const product_t* p) {
  const int64_t dims[] = {PRODUCTS, p->sums / 2, p->columns / 2};
  enum { GRAIN = 16 };
  hone_tensor_t* w;
  hone_status_t status = hone_tensor_create_raw(r->graph->allocator, HONE_F32, 3, dims, &w);
  if (status) return hone_fail_status(r->b, status);
  weights_t weights = {p, hone_tensor_data(w)};
  hone_parallel_for(hone_thread_pool_shared(), PRODUCTS * dims[1], GRAIN, sum_rows, &weights);
  return hone_constant(r->b, w);
}

/* The result in its shape from [products, rows / 2, columns / 2]. */
static hone_value_t* make_result(hone_builder_t* b, const product_t* p, hone_value_t* m) {
  hone_value_t *products[PRODUCTS], *quarters[QUARTERS];
  const hone_dim_t shape[] = {hone_d(1), hone_d(p->rows / 2), hone_d(1), hone_d(p->columns / 2)};
  for (int i = 0; i < PRODUCTS; i++) products[i] = slice_one(b, m, 0, i);
  for (int i = 0; i < QUARTERS; i++)
    quarters[i] = hone_reshape(b, combine(b, PRODUCTS, products, of_results[i]), 4, shape);
  hone_value_t* halves[] = {hone_concat(b, 2, quarters, 2), hone_concat(b, 2, quarters + 2, 2)};
  const hone_dim_t together[] = {hone_d(p->rows), hone_d(p->columns)};
  hone_value_t* y = hone_concat(b, 2, halves, 0);
  if (p->rows != p->given)
    y = hone_slice_axis(b, hone_reshape(b, y, 2, together), 0, hone_d(0), hone_d(p->given));
  return hone_reshape_like(b, y, p->contract->outputs[0]);
}

/* ---- the pass ---- */

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  static const int64_t pairs[][2] = {{0, 0}, {2, 1}};
  product_t p;
  if (!recognise(node, &p) || !pays(&p, r->context->options)) return NULL;
  hone_value_t* x = make_data(r->b, &p);
  hone_value_t* m = hone_contract(r->b, x, make_weights(r, &p), 2, pairs, 1, HONE_F32);
  hone_value_t* now = m ? make_result(r->b, &p, m) : NULL;
  if (now) hone_pass_did(r->context, node, "by seven products of quarters");
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (context->options->exact || context->options->sums_blocks) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " products by seven of quarters", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_strassen;
const hone_pass_t hone_pass_strassen = {
    .name = "strassen",
    .summary =
        "products of large matrices with an eighth less multiplications (rounds differently)",
    .phases = {HONE_PHASE_TIDY - 25},
    .run = run,
};
