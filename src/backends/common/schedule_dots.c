/* Sums one by one, with lanes along them: where no tile is made, as in a last layer with one
 * output, the sum whose steps are consecutive in the data gets lanes (by schedule_rows.c), together
 * with the one around it where both are one run. */
#include <stdio.h>

#include "backends/common/contraction.h"
#include "tune/cost.h"

/* Weights in the order in which the sums go around, the other axes in front. */
static bool pack_along_sums(hone_recipe_t* r, const hone_contraction_t* c,
                            const hone_term_t* weights) {
  hone_layout_word_t words[HONE_MAX_RANK];
  bool is_sum[HONE_MAX_RANK] = {false};
  int n = 0, rank = weights->buffer->rank, of_sum[HONE_CONTRACTION_LOOPS];
  if (rank > HONE_MAX_RANK) return false;
  for (int k = 0; k < c->n_sums; k++) {
    of_sum[k] = hone_contraction_axis(weights, c->sums[k].var);
    if (of_sum[k] < 0 || is_sum[of_sum[k]]) return false;
    is_sum[of_sum[k]] = true;
  }
  for (int i = 0; i < rank; i++)
    if (!is_sum[i]) snprintf(words[n++], sizeof *words, "%d", i);
  for (int k = 0; k < c->n_sums; k++) snprintf(words[n++], sizeof *words, "%d", of_sum[k]);
  return hone_pack_words(r, weights->buffer, n, words);
}

/* The operand that is not weights; NULL where none or both are. */
static const hone_term_t* find_data(const hone_contraction_t* c) {
  if (c->a->buffer->is_constant == c->b->buffer->is_constant) return NULL;
  return c->a->buffer->is_constant ? c->b : c->a;
}

/* Whether the sum's rounds begin one behind the other in the data, `apart` elements apart. */
static bool goes_by(const hone_recipe_t* r, const hone_term_t* data, const hone_axis_t* sum,
                    int64_t apart) {
  int64_t step;
  return hone_contraction_factor(r->kernel, data->buffer, data->index, sum->var, &step) &&
         step == apart;
}

/* Consecutive steps of the sum in the data; 0: there are none. */
static int64_t find_run(const hone_recipe_t* r, const hone_contraction_t* c,
                        const hone_axis_t** out_sum) {
  hone_contraction_t by_data = *c;
  by_data.a = find_data(c);
  if (!by_data.a) return 0;
  *out_sum = &c->sums[hone_contraction_innermost(r->kernel, &by_data)];
  return goes_by(r, by_data.a, *out_sum, 1) ? hone_known_extent((*out_sum)->extent) : 0;
}

bool hone_contraction_has_long_sum(const hone_recipe_t* r, const hone_contraction_t* c) {
  const hone_axis_t* sum;
  return find_run(r, c, &sum) >= 2 * r->shape->lanes;
}

/* The same of two sums that are one run. */
static bool has_long_run(const hone_recipe_t* r, const hone_contraction_t* c) {
  const hone_axis_t* sum;
  int64_t run = find_run(r, c, &sum), longest = run;
  for (int i = 0; i < c->n_sums && run; i++)
    if (&c->sums[i] != sum && goes_by(r, find_data(c), &c->sums[i], run))
      longest = run * hone_known_extent(c->sums[i].extent);
  return longest >= 2 * r->shape->lanes;
}

/* Cuts the loop over results that lie side by side into blocks, in which all sums stand in front of
 * what is done with them, so that this gets vectors. */
static void block_results(hone_recipe_t* r, const hone_contraction_t* c) {
  static const char* const parts[] = {".i", ".t"};
  const hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, c->lanes->name);
  char name[HONE_LOOP_NAME], part[HONE_LOOP_NAME];
  if (!loop || hone_only_loop(loop) || !hone_loop_name(name, loop->name, "") ||
      hone_cost_extent(loop->extent) < r->shape->lanes ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, name, r->shape->lanes, HONE_TAIL_PEEL)))
    return;
  for (int i = 0; i < 2; i++)
    if (hone_loop_name(part, name, parts[i]) && hone_kernel_find_loop(r->kernel, part))
      hone_recipe_did(r, hone_sched_distribute(r->kernel, part));
}

void hone_prepare_dots(hone_recipe_t* r, hone_contraction_t* c) {
  if (!has_long_run(r, c)) return;
  const hone_term_t *data = find_data(c), *weights = data == c->a ? c->b : c->a;
  c->a = data;
  c->b = weights;
  hone_contraction_order_sums(r, c);
  if (!pack_along_sums(r, c, weights)) return;
  const hone_axis_t *last = &c->sums[c->n_sums - 1], *around = last - 1;
  if (c->n_sums > 1 && goes_by(r, data, around, last->extent.k))
    hone_recipe_did(r, hone_sched_fuse(r->kernel, around->name, last->name));
  block_results(r, c);
}
