/* sparse: a product of bytes by weights that are mostly zero, a table of the others. */
#include <math.h>
#include <stdio.h>

#include "backends/common/schedule.h"
#include "base/memory.h"
#include "loop/product.h"
#include "tune/tactic.h"

enum {
  USUAL_COLUMNS = 64,      /* in a block: the results stay in the first cache */
  MANY_COLUMNS = 256,      /* where rows are turned for each block */
  MOST_ELEMENTS = 1 << 16, /* of a block, which lies on a thread's stack */
  MOST_BLOCKS = 5
};

typedef struct facts {
  hone_product_facts_t product;
  hone_cost_facts_t whole;
} facts_t;

static bool has_sparse(const hone_kernel_t* kernel) {
  bool found = false;
  for (int i = 0; i < kernel->n_buffers; i++) found |= kernel->buffers[i]->is_sparse;
  return found;
}

/* A block's columns: the most groups that divide all, or all. */
static int64_t columns_below(int64_t columns, int64_t most) {
  for (int64_t n = most; n >= HONE_SPARSE_COLUMNS; n -= HONE_SPARSE_COLUMNS)
    if (columns % n == 0) return n;
  return columns;
}

static bool find(hone_kernel_t* kernel, hone_product_facts_t* out) {
  hone_kernel_t* copy;
  if (!has_sparse(kernel) || !hone_contraction_any(kernel)) return false;
  hone_status_t status = hone_kernel_clone(kernel, &copy);
  bool found = !status && hone_product_find(copy, true, out);
  if (!status) hone_kernel_destroy(copy);
  hone_status_free(status);
  return found && columns_below(out->columns, USUAL_COLUMNS) * HONE_SPARSE_ROWS <= MOST_ELEMENTS;
}

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why) {
  hone_product_facts_t product;
  if (properties->has_sparse_int8 && find(kernel, &product)) return true;
  snprintf(why, HONE_DEVICE_TEXT_SIZE,
           "it is no product of u8 by constants of i8, one in ten of "
           "them not zero, of known sizes, on AVX2");
  return false;
}

/* ---- the space ---- */

/* Where blocks of rows overlap, each block of columns turns all of them. */
static int64_t usual_columns(const hone_product_facts_t* product,
                             const hone_device_properties_t* properties) {
  bool overlap;
  int64_t share = product->columns / (properties->compute_units ? properties->compute_units : 1);
  hone_product_sparse_rows(product->rows, &overlap);
  if (!overlap || share < USUAL_COLUMNS) return USUAL_COLUMNS;
  return share < MANY_COLUMNS ? share / HONE_SPARSE_COLUMNS * HONE_SPARSE_COLUMNS : MANY_COLUMNS;
}

static hone_status_t define_columns(hone_space_t* space, int64_t columns, int64_t usual) {
  const int64_t most[MOST_BLOCKS] = {usual, MANY_COLUMNS, 128, 32, 16};
  int64_t numbers[MOST_BLOCKS];
  int count = 0;
  for (int i = 0; i < MOST_BLOCKS; i++) {
    int64_t n = columns_below(columns, most[i]);
    bool is_new = n * HONE_SPARSE_ROWS <= MOST_ELEMENTS;
    for (int k = 0; k < count; k++) is_new &= numbers[k] != n;
    if (is_new) numbers[count++] = n;
  }
  return hone_space_define_numbers(space, "columns", count, numbers);
}

static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  static const int64_t parallel[] = {1, 2, 0};
  facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts || !find(kernel, &facts->product)) return hone_oom();
  facts->whole = hone_cost_look(kernel);
  *out_facts = facts;
  HONE_TRY(
      define_columns(space, facts->product.columns, usual_columns(&facts->product, properties)));
  return hone_space_define_numbers(space, "parallel", 3, parallel);
}

/* ---- building ---- */

static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  const hone_cpu_choice_t choice = {
      .product = "sparse_u8_i8",
      .product_columns = (int)hone_candidate_number(space, candidate, "columns", 0),
      .parallel = hone_cpu_parallel(space, candidate),
  };
  return hone_cpu_schedule(kernel, &shape, &choice);
}

/* Of 32 rows a column takes a few cycles for each number that is not zero, of which there are taken
 * to be one in ten, and some for itself. Rows are turned once, or, where blocks of them overlap,
 * for each block of columns. */
static double cost(const void* facts, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  const facts_t* f = facts;
  const double for_number = 1.6, for_column = 22, for_turned = 2.2, share = 0.1;
  bool overlap;
  double rows = (double)hone_product_sparse_rows(f->product.rows, &overlap);
  double sums = (double)f->product.sums;
  double blocks = ceil((double)f->product.rows / rows);
  double columns = (double)hone_candidate_number(space, candidate, "columns", 0);
  double turns = overlap ? ceil((double)f->product.columns / columns) : 1;
  int64_t parallel = hone_candidate_number(space, candidate, "parallel", 0);
  double all = f->whole.operations /
               ((double)f->product.rows * (double)f->product.columns * (double)f->product.sums * 2);
  double cycles = fmax(all, 1) * blocks *
                  ((double)f->product.columns * (for_column + sums * share * for_number) +
                   turns * sums * for_turned);
  double seconds =
      cycles / hone_cost_clock(p) + hone_cost_traffic(p, f->whole.bytes, f->whole.bytes);
  return hone_cost_share(p, seconds, parallel ? blocks * f->product.columns / columns : 0);
}

extern const hone_tactic_t hone_tactic_sparse;
const hone_tactic_t hone_tactic_sparse = {
    .name = "sparse",
    .summary = "a product of bytes by weights that are mostly zero, as a table of the others",
    .order = 0,
    .supports = supports,
    .space = make_space,
    .build = build,
    .cost = cost,
};
