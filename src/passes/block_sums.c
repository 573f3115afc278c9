/* Block sums: products of floats by weights whose blocks have a scale each (pass `dequantize`) are
 * made of integers, where the device adds up those of 16 bits in pairs:
 *
 *   sum over blocks b and k of x[i, b, k] (w[b, k, j] s[b, j])     becomes
 *   sum over b of (sum over k of q[i, b, k] w[b, k, j]) t[i, b] s[b, j]
 *
 * with x[i, b, k] ~ q[i, b, k] t[i, b]. Inner sums are exact. options->exact leaves products as
 * they are.
 *
 * Many rows: q has 16 bits, and t is the largest of the block by 2^15 - 1. What that rounds is
 * 2^-16 of a block's largest number at most, which leaves results within 1e-4 of the largest where
 * blocks are not too long. Columns of zeros make whole vectors.
 *
 * Few rows wait for their weights: those of four bits lie in nibbles (loop/nibbles.h), from 0 to
 * 15, as u[b, k, j] = w[b, k, j] - m[b, j]. The data are three digits d of 8 bits, p, of base 252:
 *
 *   sum over b and p of (sum over k of d[i, b, p, k] (u[b, k, j] + m[b, j])) t[i, b, p] s[b, j]
 *
 * which rounds no more than floats do.
 *
 * Inner sums do not leave the kernel (`fuse`). */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/tensor_impl.h"
#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

enum { DATA, WEIGHTS, MOST = INT16_MAX };
/* Of data that few rows are multiplied with: as many of 8 bits. */
enum { DIGITS = 3, DIGIT = 126, BASE = 2 * DIGIT };

typedef struct product {
  hone_value_t *counts, *scales; /* [blocks, block, columns], [blocks, 1, columns] */
  int64_t rows, blocks, block, columns;
} product_t;

/* ---- which ---- */

/* Whether sums of a block, times the data's 16 bits, stay in 32 bits. */
static bool has_room(hone_value_t* counts, int64_t block) {
  const int most = (int)(INT32_MAX / (MOST * block));
  if (hone_dtype_of(counts) == HONE_I8) return most >= -INT8_MIN;
  const hone_tensor_t* tensor = hone_match_constant(hone_operand_origin(counts));
  if (hone_dtype_of(counts) != HONE_I16 || !tensor) return false;
  const hone_loose_i16_t* numbers = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++)
    if (abs(numbers[i]) > most) return false;
  return true;
}

static bool find_weights(const hone_value_t* operand, product_t* p) {
  const hone_node_t* product = operand->node;
  if (product->prim != HONE_PRIM_MUL || operand->type.rank != 3) return false;
  const hone_node_t *wide = product->inputs[0]->node, *scales = product->inputs[1]->node;
  if (wide->prim != HONE_PRIM_CAST || !(wide->flags & HONE_FLAG_STAYS) ||
      scales->prim != HONE_PRIM_EXPAND)
    return false;
  p->counts = wide->inputs[0];
  p->scales = scales->inputs[0];
  return hone_rank(p->scales) == 3 && hone_match_count(&p->counts->type) > 0 &&
         hone_dim_is(hone_dim(p->scales, 1), 1);
}

/* [rows…, blocks, block] by [blocks, block, columns], whose sizes are known. */
static bool recognise(const hone_node_t* node, product_t* p) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_F32 || node->n_batch ||
      node->n_axes != 4 || node->inputs[DATA]->type.dtype != HONE_F32)
    return false;
  const hone_type_t* x = &node->inputs[DATA]->type;
  int64_t numbers = hone_match_count(x);
  *p = (product_t){0};
  if (numbers <= 0 || !find_weights(node->inputs[WEIGHTS], p)) return false;
  for (int i = 0; i < 2; i++)
    if (node->axes[2 * i + WEIGHTS] != i || node->axes[2 * i + DATA] != x->rank - 2 + i)
      return false;
  const hone_dim_t* dims = p->counts->type.dims;
  p->blocks = dims[0].k;
  p->block = dims[1].k;
  p->columns = dims[2].k;
  p->rows = numbers / (p->blocks * p->block);
  return true;
}

/* Whether what is gained, half a multiply-add of floats by each product, is more than what else is
 * done: the sums of the blocks are scaled, and the data is quantized. Fitted on x86 with AVX-512.
 */
static bool pays(const product_t* p, const hone_pass_options_t* options) {
  enum { LEAST_ROWS = 3, PAIR = 2, LONGEST = 64, LEAST_COLUMNS = 32, SCALING = 3, QUANTIZING = 8 };
  static const double gain = 0.5, least_gain = 1.2;
  double m = (double)p->rows, b = (double)p->blocks, k = b * (double)p->block;
  double sums = m * b * (double)p->columns, products = sums * (double)p->block;
  if (!options->halves_shorts || p->rows < LEAST_ROWS || p->columns < LEAST_COLUMNS ||
      p->block % PAIR || p->block > LONGEST || !has_room(p->counts, p->block))
    return false;
  return products * gain > least_gain * (SCALING * sums + QUANTIZING * m * k);
}

/* ---- as integers ---- */

/* The data, block by block: [blocks, rows, block]. */
static hone_value_t* cut_data(hone_builder_t* b, const hone_node_t* node, const product_t* p) {
  static const int64_t turned[] = {1, 0, 2};
  const hone_dim_t shape[] = {hone_d(p->rows), hone_d(p->blocks), hone_d(p->block)};
  return hone_permute(b, hone_reshape(b, node->inputs[DATA], 3, shape), turned);
}

/* The largest of each block and row, `least` at least: [blocks, rows, 1]. As integers absolute
 * values have the same order, NaN being the largest, and lanes are compared at once. */
static hone_value_t* find_largest(hone_builder_t* b, hone_value_t* x, double least) {
  hone_value_t* bits = hone_bitcast(b, hone_abs(b, x), HONE_I32);
  hone_value_t* largest = hone_reduce_last(b, HONE_COMBINE_MAX, bits, 1, true);
  return hone_max_number(b, hone_bitcast(b, largest, HONE_F32), least);
}

static hone_value_t* quantize(hone_builder_t* b, hone_value_t* x, hone_value_t* largest) {
  hone_value_t* factor = hone_div(b, hone_scalar(b, HONE_F32, MOST), largest);
  return hone_cast(b, hone_round(b, hone_mul(b, x, factor)), HONE_I16);
}

/* Constants by columns, with some of zeros so that they are whole vectors. */
static hone_value_t* fill_vectors(hone_rewriter_t* r, const product_t* p, hone_value_t* x) {
  enum { COLUMNS = 32 };
  const hone_dim_t none[3] = {{0}}, more[] = {{0}, {0}, hone_d(-p->columns & (COLUMNS - 1))};
  if (hone_dim_is(more[2], 0)) return x;
  return hone_evaluate_constant(r, hone_pad(r->b, x, none, more, NULL));
}

static hone_value_t* multiply(hone_rewriter_t* r, const hone_node_t* node, const product_t* p) {
  hone_builder_t* b = r->b;
  static const int64_t pairs[][2] = {{0, 0}, {2, 1}}, blocks[] = {0};
  hone_value_t* x = cut_data(b, node, p);
  hone_value_t* largest = find_largest(b, x, FLT_MIN * MOST);
  hone_value_t* weights = fill_vectors(r, p, hone_cast(b, p->counts, HONE_I16));
  hone_value_t* sums = hone_contract(b, quantize(b, x, largest), weights, 2, pairs, 1, HONE_I32);
  hone_value_t* by_row =
      hone_mul(b, hone_cast(b, sums, HONE_F32), hone_mul_number(b, largest, 1.0 / MOST));
  hone_value_t* scaled = hone_mul(b, by_row, fill_vectors(r, p, p->scales));
  hone_value_t* whole = hone_reduce(b, HONE_COMBINE_ADD, scaled, 1, blocks, false);
  return hone_reshape_like(b, hone_slice_axis(b, whole, 1, hone_d(0), hone_d(p->columns)),
                           node->outputs[0]);
}

/* ---- few rows ---- */

enum { NIBBLE = 15, LEAST_NIBBLE = -8 };

/* Whether the rows are so few that it pays to multiply digits rather than floats: three for each
 * product, but of bytes, and no weight is turned into a float. Fitted on x86 with AVX2. */
static bool has_few_rows(const product_t* p, const hone_pass_options_t* options) {
  enum { MOST_ROWS = 7, MOST_BY_PAIRS = 4, GROUP = 32 };
  int64_t most = options->halves_shorts ? MOST_ROWS : MOST_BY_PAIRS;
  return options->sums_nibbles && p->rows <= most && p->columns % GROUP == 0 &&
         (p->block % GROUP == 0 || p->block == GROUP / 2) && hone_dtype_of(p->counts) == HONE_I8 &&
         hone_match_from_constants(p->counts);
}

/* Weights less the least ones, [blocks, block, columns], and these, [blocks, 1, 1, columns]. */
typedef struct nibbles {
  hone_tensor_t *counts, *least;
  bool is_signed; /* all of the least are the same */
} nibbles_t;

static void drop(nibbles_t* n) {
  hone_tensor_release(n->counts);
  hone_tensor_release(n->least);
}

/* The least number of each block and column, or of all numbers of four bits with a sign. */
static bool find_least(const product_t* p, const int8_t* counts, float* least) {
  int low = 0, high = 0;
  int64_t n = p->blocks * p->columns;
  for (int64_t i = 0; i < n * p->block; i++) {
    low = counts[i] < low ? counts[i] : low;
    high = counts[i] > high ? counts[i] : high;
  }
  bool is_signed = low >= LEAST_NIBBLE && high <= LEAST_NIBBLE + NIBBLE;
  for (int64_t i = 0; i < n; i++) least[i] = is_signed ? LEAST_NIBBLE : INT8_MAX;
  for (int64_t row = 0; row < p->blocks * p->block && !is_signed; row++) {
    float* of_block = least + row / p->block * p->columns;
    for (int64_t i = 0; i < p->columns; i++)
      of_block[i] = fminf(of_block[i], counts[row * p->columns + i]);
  }
  return is_signed;
}

/* False: some are more than the least by what nibbles do not hold. */
static bool take_least(const product_t* p, const int8_t* counts, const float* least, uint8_t* to) {
  bool fits = true;
  for (int64_t row = 0; row < p->blocks * p->block && fits; row++) {
    const float* of_block = least + row / p->block * p->columns;
    for (int64_t i = 0; i < p->columns; i++) {
      int more = counts[row * p->columns + i] - (int)of_block[i];
      fits &= more <= NIBBLE;
      to[row * p->columns + i] = (uint8_t)more;
    }
  }
  return fits;
}

static hone_status_t make_nibbles(const hone_rewriter_t* r, const product_t* p, nibbles_t* out,
                                  bool* out_fits) {
  const int64_t dims[] = {p->blocks, p->block, p->columns},
                blocks[] = {p->blocks, 1, 1, p->columns};
  const hone_allocator_t* allocator = r->graph->allocator;
  hone_tensor_t* made;
  *out = (nibbles_t){0};
  HONE_TRY(hone_evaluate(r->context, p->counts, &made));
  hone_status_t status = hone_tensor_create(allocator, HONE_U8, 3, dims, &out->counts);
  if (!status) status = hone_tensor_create(allocator, HONE_F32, 4, blocks, &out->least);
  if (!status) {
    float* least = hone_tensor_data(out->least);
    out->is_signed = find_least(p, hone_tensor_data(made), least);
    *out_fits = take_least(p, hone_tensor_data(made), least, hone_tensor_data(out->counts));
  }
  hone_tensor_release(made);
  return status;
}

/* The tensor stays its owner's. */
static hone_value_t* constant(hone_builder_t* b, hone_tensor_t* tensor) {
  hone_tensor_retain(tensor);
  return hone_constant(b, tensor);
}

/* One number for each digit, [1, 1, digits, 1]. */
static hone_value_t* by_digit(hone_builder_t* b, const float numbers[DIGITS]) {
  static const int64_t dims[] = {1, 1, DIGITS, 1};
  return hone_constant_data(b, HONE_F32, 4, dims, numbers);
}

/* Digits of the data, [rows, blocks, digits, block], the most significant first: of y, whose
 * largest is DIGIT, they are round(y), and round(y BASE^p) - BASE round(y BASE^(p - 1)). */
static hone_value_t* find_digits(hone_builder_t* b, hone_value_t* x, hone_value_t* largest) {
  static const float places[] = {1, BASE, BASE * BASE}, before[] = {0, 1, BASE};
  hone_value_t* y = hone_mul(b, x, hone_div(b, hone_scalar(b, HONE_F32, DIGIT), largest));
  hone_value_t* up_to = hone_round(b, hone_mul(b, y, by_digit(b, places)));
  hone_value_t* others = hone_round(b, hone_mul(b, y, by_digit(b, before)));
  return hone_cast(b, hone_sub(b, up_to, hone_mul_number(b, others, BASE)), HONE_I8);
}

/* Numbers of digits, [rows, blocks, digits, 1], as [blocks, rows, digits, 1]. */
static hone_value_t* lay_by_blocks(hone_builder_t* b, hone_value_t* x) {
  static const int64_t turned[] = {1, 0, 2, 3};
  return hone_permute(b, x, turned);
}

/* Inner sums, [blocks, rows, digits, columns], as floats with what was taken from the weights. */
static hone_value_t* add_least(hone_builder_t* b, hone_value_t* sums, hone_value_t* digits,
                               hone_value_t* factors, const nibbles_t* n) {
  hone_value_t* of_digits =
      hone_reduce_last(b, HONE_COMBINE_ADD, hone_cast(b, digits, HONE_I32), 1, true);
  hone_value_t *wide = hone_cast(b, sums, HONE_F32), *by_factor = lay_by_blocks(b, factors);
  of_digits = hone_cast(b, of_digits, HONE_F32);
  if (n->is_signed) {
    hone_value_t* least = hone_mul_number(b, hone_mul(b, of_digits, factors), LEAST_NIBBLE);
    return hone_add(b, hone_mul(b, wide, by_factor), lay_by_blocks(b, least));
  }
  hone_value_t* least = hone_mul(b, lay_by_blocks(b, of_digits), constant(b, n->least));
  return hone_mul(b, hone_add(b, wide, least), by_factor);
}

static hone_value_t* multiply_few(hone_builder_t* b, const hone_node_t* node, const product_t* p,
                                  const nibbles_t* n) {
  static const float places[] = {1.0F / DIGIT, 1.0F / DIGIT / BASE, 1.0F / DIGIT / BASE / BASE};
  static const int64_t pairs[][2] = {{1, 0}, {3, 1}}, added[] = {0, 2};
  const hone_dim_t blocks = hone_d(p->blocks), block = hone_d(p->block), one = hone_d(1);
  const hone_dim_t by_row[] = {hone_d(p->rows), blocks, one, block};
  const hone_dim_t repeated[] = {hone_d(p->rows), blocks, hone_d(DIGITS), block};
  const hone_dim_t by_column[] = {blocks, one, one, hone_d(p->columns)};
  hone_value_t* x = hone_expand(b, hone_reshape(b, node->inputs[DATA], 4, by_row), 4, repeated);
  hone_value_t* largest = find_largest(b, x, FLT_MIN * DIGIT * BASE * BASE);
  hone_value_t* digits = find_digits(b, x, largest);
  hone_value_t* factors = hone_mul(b, largest, by_digit(b, places));
  hone_value_t* sums = hone_contract(b, digits, constant(b, n->counts), 2, pairs, 1, HONE_I32);
  hone_value_t* whole = add_least(b, sums, digits, factors, n);
  hone_value_t* scaled = hone_mul(b, whole, hone_reshape(b, p->scales, 4, by_column));
  return hone_reshape_like(b, hone_reduce(b, HONE_COMBINE_ADD, scaled, 2, added, false),
                           node->outputs[0]);
}

/* NULL: they are no few rows by weights of nibbles. */
static hone_value_t* try_few(hone_rewriter_t* r, const hone_node_t* node, const product_t* p) {
  nibbles_t nibbles;
  bool fits = false;
  if (!has_few_rows(p, r->context->options)) return NULL;
  hone_status_t status = make_nibbles(r, p, &nibbles, &fits);
  hone_value_t* now = !status && fits ? multiply_few(r->b, node, p, &nibbles) : NULL;
  drop(&nibbles);
  return status ? hone_fail_status(r->b, status) : now;
}

/* ---- the pass ---- */

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  product_t p;
  if (!recognise(node, &p)) return NULL;
  hone_value_t* now = try_few(r, node, &p);
  if (!now && pays(&p, r->context->options)) now = multiply(r, node, &p);
  if (now) hone_pass_did(r->context, node, "blocks summed up as integers");
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  const hone_pass_options_t* options = context->options;
  if (options->exact || !(options->halves_shorts || options->sums_nibbles)) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " products with blocks summed up as integers",
                   context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_block_sums;
const hone_pass_t hone_pass_block_sums = {
    .name = "block_sums",
    .summary = "blocks of quantized weights are multiplied as integers (rounds differently)",
    .phases = {HONE_PHASE_QUANT + 21},
    .run = run,
};
