/* Products of matrices by a library or a function: the output is cut into blocks, each of which is
 *
 *   init     acc = 0
 *   product  acc += a * b, one call
 *   rest     out = f(acc), by loops of ours
 *
 * with acc in scratch. A block is done by one thread, and the call is too, so that
 * threads are shared out as everywhere else. Weights that are mostly zero are laid out as the
 * table that the function for them reads. */
#include <stdio.h>

#include "backends/common/contraction.h"
#include "loop/product.h"

/* ---- recognising ---- */

/* The steps along both loops; false where they are no constants. */
static bool lies(hone_kernel_t* k, const hone_term_t* load, const hone_axis_t* rows,
                 const hone_axis_t* columns) {
  hone_matrix_t matrix;
  int64_t row_step, column_step;
  return hone_contraction_factor(k, load->buffer, load->index, rows->var, &row_step) &&
         hone_contraction_factor(k, load->buffer, load->index, columns->var, &column_step) &&
         hone_matrix_lies(rows->extent.k, columns->extent.k, row_step, column_step, &matrix);
}

/* Enough rows of an input, whose bytes lie side by side, by a matrix that is mostly zero, with axes
 * for the sum and the lanes and no other. */
static bool is_sparse_product(hone_kernel_t* k, const hone_contraction_t* c) {
  const hone_buffer_t* weights = c->b->buffer;
  int sum = hone_contraction_axis(c->b, c->sums[0].var);
  int column = hone_contraction_axis(c->b, c->lanes->var);
  int64_t step, rows = c->rows->extent.k, sums = c->sums[0].extent.k;
  bool is_matrix = weights->is_sparse && !weights->packing && sum >= 0 && column >= 0;
  for (int i = 0; i < weights->rank; i++)
    is_matrix &= i == sum || i == column || hone_dim_is(weights->dims[i], 1);
  return is_matrix && hone_dim_is(weights->dims[sum], sums) &&
         hone_dim_is(weights->dims[column], c->lanes->extent.k) && sums <= HONE_SPARSE_SUMS &&
         rows >= HONE_SPARSE_FEWEST_ROWS && c->a->buffer->role == HONE_ROLE_INPUT &&
         hone_contraction_factor(k, c->a->buffer, c->a->index, c->sums[0].var, &step) && step == 1;
}

/* Its blocks, if there are any, are what hone_product_look knows. */
static bool recognise(const hone_recipe_t* r, hone_stmt_t* nest, bool is_sparse,
                      hone_contraction_t* c) {
  const hone_term_t *a, *b;
  if (!hone_contraction_recognise(r, c, nest, HONE_LANES_OF_OUTPUT) || !c->rows || c->apart ||
      c->n_sums != 1 || !hone_product_factors(c->update, is_sparse, &a, &b) ||
      hone_term_uses(c->b, c->rows->var))
    return false;
  return hone_known_extent(c->rows->extent) > 1 && hone_known_extent(c->lanes->extent) > 1 &&
         hone_known_extent(c->sums[0].extent) > 1 && lies(r->kernel, c->a, c->rows, &c->sums[0]) &&
         lies(r->kernel, c->b, &c->sums[0], c->lanes) &&
         (!is_sparse || (b == c->b && is_sparse_product(r->kernel, c)));
}

/* The factor whose elements are known, and the loops that its rows and columns go along;
 * NULL: there is none that could be turned. */
static const hone_term_t* find_weights(const hone_contraction_t* c, int* rows, int* columns) {
  const hone_term_t* weights = c->b->buffer->is_constant ? c->b : c->a;
  *rows = hone_contraction_axis(weights, weights == c->b ? c->sums[0].var : c->rows->var);
  *columns = hone_contraction_axis(weights, weights == c->b ? c->lanes->var : c->sums[0].var);
  bool can = weights->buffer->is_constant && !weights->buffer->packing && *rows >= 0 &&
             *columns >= 0 && weights->buffer->rank <= HONE_MAX_RANK;
  return can ? weights : NULL;
}

bool hone_product_find(hone_kernel_t* kernel, bool is_sparse, hone_product_facts_t* out) {
  hone_recipe_t r = {
      .kernel = kernel, .shape = &(hone_cpu_shape_t){0}, .choice = &(hone_cpu_choice_t){0}};
  double most = 0;
  for (int i = 0; i < kernel->root->n_body && !r.status; i++) {
    hone_contraction_t c;
    if (!hone_stmt_is_loop(kernel->root->body[i])) continue;
    hone_stmt_t* nest = hone_fuse_contiguous(&r, kernel->root->body[i]);
    hone_fuse_contiguous_sums(&r, nest);
    if (!recognise(&r, nest, is_sparse, &c)) continue;
    double work = (double)c.rows->extent.k * (double)c.lanes->extent.k * c.sum_count;
    if (work <= most) continue;
    most = work;
    int row, column;
    *out = (hone_product_facts_t){c.rows->extent.k, c.lanes->extent.k, c.sums[0].extent.k,
                                  find_weights(&c, &row, &column) != NULL};
  }
  hone_status_free(r.status); /* memory: the kernel says so too */
  return most > 0;
}

/* ---- doing ---- */

static bool is_sparse(const hone_recipe_t* r) {
  return hone_intrinsic_find(r->choice->product)->is_sparse;
}

/* The axis that is further out changes places with the other, behind all axes. */
static void turn_weights(hone_recipe_t* r, const hone_contraction_t* c) {
  hone_layout_word_t words[HONE_MAX_RANK];
  int row, column, n = 0;
  const hone_term_t* weights = find_weights(c, &row, &column);
  if (!weights) return;
  for (int i = 0; i < weights->buffer->rank; i++)
    if (i != row && i != column) snprintf(words[n++], sizeof *words, "%d", i);
  snprintf(words[n++], sizeof *words, "%d", row > column ? row : column);
  snprintf(words[n++], sizeof *words, "%d", row > column ? column : row);
  hone_pack_words(r, weights->buffer, n, words);
}

/* Blocks of equal length, the last of which begins earlier where they are no divisors. */
static bool overlap(hone_recipe_t* r, const hone_axis_t* axis, int64_t block,
                    char outer[HONE_LOOP_NAME], char inner[HONE_LOOP_NAME]) {
  return hone_loop_name(inner, axis->name, ".w.i") && hone_loop_name(outer, axis->name, ".w.o") &&
         hone_recipe_did(r, hone_sched_overlap(r->kernel, axis->name, block));
}

/* Cuts the loop into blocks, if it is one: what is in a block is inside of a loop in any case. */
static bool cut(hone_recipe_t* r, const hone_axis_t* axis, int64_t block,
                char outer[HONE_LOOP_NAME], char inner[HONE_LOOP_NAME]) {
  if (block < 2 || block > axis->extent.k || axis->extent.k % block != 0) block = axis->extent.k;
  return hone_loop_name(inner, axis->name, ".i") && hone_loop_name(outer, axis->name, ".o") &&
         hone_recipe_did(r, hone_sched_split(r->kernel, axis->name, block, HONE_TAIL_EXACT));
}

int64_t hone_product_sparse_rows(int64_t rows, bool* out_overlap) {
  const int64_t most = HONE_SPARSE_ROWS;
  *out_overlap = false;
  for (int64_t n = most; 3 * n >= 2 * most; n--)
    if (rows % n == 0) return n;
  *out_overlap = rows > most;
  return most;
}

/* others { rows_outer { lanes_outer { rows { lanes } } } }; threads share rows_outer, or, where its
 * blocks overlap, lanes_outer, which goes around it then. */
static bool arrange(hone_recipe_t* r, const hone_contraction_t* c, char rows[HONE_LOOP_NAME],
                    char lanes[HONE_LOOP_NAME]) {
  char rows_outer[HONE_LOOP_NAME], lanes_outer[HONE_LOOP_NAME];
  const char* order[HONE_CONTRACTION_LOOPS + 2];
  int n = 0;
  int64_t block = r->choice->product_rows;
  bool overlaps = false;
  if (is_sparse(r)) block = hone_product_sparse_rows(c->rows->extent.k, &overlaps);
  if (!(overlaps ? overlap : cut)(r, c->rows, block, rows_outer, rows) ||
      !cut(r, c->lanes, r->choice->product_columns, lanes_outer, lanes))
    return false;
  for (int i = 0; i < c->n_outs; i++)
    if (&c->outs[i] != c->lanes && &c->outs[i] != c->rows) order[n++] = c->outs[i].name;
  order[n++] = overlaps ? lanes_outer : rows_outer;
  order[n++] = overlaps ? rows_outer : lanes_outer;
  order[n++] = rows;
  order[n++] = lanes;
  return hone_recipe_did(r, hone_sched_reorder(r->kernel, n, order));
}

static hone_stmt_t* innermost(hone_stmt_t* stmt) {
  for (hone_stmt_t* next = hone_only_loop(stmt); next; next = hone_only_loop(stmt)) stmt = next;
  return stmt;
}

/* The loops that stay for where the library is missing run along the columns, if those
 * of b lie side by side. */
static void schedule_library(hone_recipe_t* r, hone_stmt_t* part) {
  const hone_stmt_t *lanes = hone_only_loop(part), *sum = lanes ? hone_only_loop(lanes) : NULL;
  hone_product_t product;
  if (!sum || !hone_product_look(r->kernel, part, false, &product)) return;
  const char* order[] = {sum->name, lanes->name};
  if (!product.b.is_turned) hone_recipe_did(r, hone_sched_reorder(r->kernel, 2, order));
  hone_recipe_did(r, hone_sched_tensorize(r->kernel, part->name, r->choice->product));
}

static void schedule_call(hone_recipe_t* r, hone_stmt_t* part) {
  if (!is_sparse(r))
    schedule_library(r, part);
  else
    hone_recipe_did(r, hone_sched_tensorize(r->kernel, part->name, r->choice->product));
}

static void schedule_part(hone_recipe_t* r, hone_stmt_t* part) {
  hone_stmt_t* inner = innermost(part);
  if (inner->is_reduction)
    schedule_call(r, part);
  else
    hone_make_lanes(r, inner);
}

bool hone_schedule_product(hone_recipe_t* r, hone_stmt_t* nest) {
  hone_contraction_t c;
  char rows[HONE_LOOP_NAME], lanes[HONE_LOOP_NAME];
  hone_fuse_contiguous_sums(r, nest);
  if (!recognise(r, nest, is_sparse(r), &c)) return false;
  if (r->choice->product_turned) turn_weights(r, &c);
  if (!arrange(r, &c, rows, lanes)) return false;
  const hone_stmt_t* block = hone_kernel_find_loop(r->kernel, rows);
  hone_stmt_t* parent = block->parent;
  int first = hone_stmt_position(block), others = parent->n_body - 1;
  if (!hone_recipe_did(r, hone_sched_distribute(r->kernel, lanes)) ||
      !hone_recipe_did(r, hone_sched_distribute(r->kernel, rows)))
    return true;
  for (int i = parent->n_body - others + first - 1; i >= first && !r->status; i--)
    schedule_part(r, parent->body[i]);
  return true;
}
