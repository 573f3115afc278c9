/* Long sums: products by weights whose sums are long are added up part by part:
 *
 *   y = x w     becomes     y = x[:, :k] w[:k] + x[:, k:] w[k:]
 *
 * The kernel of a product goes through the rows of the data for each block of columns, whose
 * weights stay near meanwhile, and those of the next block are asked for. Of sums of 3,072
 * numbers all these are more than a core's own cache has room for, and drive one another out; of
 * parts they stay. It takes that sums in between are written and read. After K. Goto and
 * R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), whose blocks of
 * the sum go around all other loops for the same reason. */
#include <inttypes.h>

#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

/* Whether the data, the weights of a block of columns and those of the next fill so much of a
 * core's own cache that they drive one another out, and weights come from far away. A tile or two
 * of rows read each weight once in any case. */
static bool is_crowded(const hone_operand_product_t* p, const hone_pass_options_t* options) {
  enum { BLOCK = 48, LEAST_ROWS = 16, MANY_ROWS = 128 };
  static const double part = 0.7; /* of the cache, as measured with 16 to 64 rows */
  double row = (double)p->sums * (double)sizeof(float), cache = (double)options->near_cache;
  int64_t rows = p->rows ? p->rows : MANY_ROWS;
  return cache > 0 && rows >= LEAST_ROWS && row * (double)p->columns > cache &&
         row * (double)(rows + 2 * BLOCK) > part * cache;
}

/* Parts that a sum is added up in; 1: it stays as it is. Parts of half of 768 numbers gain less,
 * as measured on Emerald Rapids with 24 to 376 rows. Narrow products of half the time, beside which
 * sums in between weigh twice, were not measured. */
static int64_t count_parts(const hone_operand_product_t* p, const hone_pass_options_t* options) {
  enum { EACH = 768, MOST = 8 };
  if (hone_pass_narrows(options) || !is_crowded(p, options)) return 1;
  int64_t parts = p->sums / EACH;
  return parts < MOST ? parts : MOST;
}

/* Where a part begins: at whole lines of the cache. */
static int64_t begin_of(const hone_operand_product_t* p, int64_t part, int64_t parts) {
  enum { LINE = 16 /* numbers */ };
  return part == parts ? p->sums : p->sums * part / parts / LINE * LINE;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  hone_operand_product_t p;
  if (!hone_operand_is_product(node, &p)) return NULL;
  int64_t parts = count_parts(&p, r->context->options);
  if (parts < 2) return NULL;
  const int64_t x_sum = node->axes[0], pairs[][2] = {{x_sum, p.w_sum}};
  hone_value_t* sum = NULL;
  for (int64_t i = 0; i < parts; i++) {
    hone_dim_t lo = hone_d(begin_of(&p, i, parts)), hi = hone_d(begin_of(&p, i + 1, parts));
    hone_value_t* part = hone_contract(
        r->b, hone_slice_axis(r->b, node->inputs[0], (int)x_sum, lo, hi),
        hone_slice_axis(r->b, node->inputs[1], p.w_sum, lo, hi), 1, pairs, 0, HONE_F32);
    sum = sum ? hone_add(r->b, sum, part) : part;
  }
  if (sum) hone_pass_did(r->context, node, "in %" PRId64 " parts", parts);
  return sum;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (context->options->sums_blocks) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " products added up part by part", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_long_sums;
const hone_pass_t hone_pass_long_sums = {
    .name = "long_sums",
    .summary = "products with long sums are added up part by part (rounds differently)",
    .phases = {HONE_PHASE_TIDY - 24},
    .run = run,
};
