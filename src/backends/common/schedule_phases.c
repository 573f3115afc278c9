/* Loops of the output along which weights repeat, as those of transposed convolutions do. */
#include "backends/common/schedule_impl.h"
#include "base/memory.h"

enum { MOST_PHASES = 4 };

/* Whether the load depends on the variable still once that is `phases` times another one
 * and `phase`. */
static bool depends_within(hone_kernel_t* kernel, const hone_term_t* load, hone_dim_t var,
                           int64_t phases, int64_t phase) {
  hone_dims_t* dims = kernel->dims;
  hone_dim_t to =
      hone_dim_add(dims, hone_dim_mul(dims, var, hone_dim_int(phases)), hone_dim_int(phase));
  for (int i = 0; i < load->buffer->rank; i++)
    if (hone_dim_uses(hone_dim_replace_symbol(dims, load->index[i], var, to), var)) return true;
  return false;
}

/* After how many rounds of the loop the weights are the same again; 1: they never are. */
static int64_t find_phases(hone_kernel_t* kernel, const hone_term_t* weights,
                           const hone_stmt_t* loop) {
  if (!hone_term_uses(weights, loop->var)) return 1;
  for (int64_t phases = 2; phases <= MOST_PHASES; phases++) {
    hone_dim_t rest = hone_dim_mod(kernel->dims, loop->extent, hone_dim_int(phases));
    bool repeats = hone_dim_is(rest, 0) && !hone_dim_is(loop->extent, phases);
    for (int64_t phase = 0; phase < phases && repeats; phase++)
      repeats = !depends_within(kernel, weights, loop->var, phases, phase);
    if (repeats) return phases;
  }
  return 1;
}

void hone_split_phases(hone_recipe_t* r, hone_stmt_t* nest, const hone_term_t* weights) {
  if (!weights->buffer->is_constant) return;
  for (hone_stmt_t* loop = nest; loop && !loop->is_reduction; loop = hone_only_loop(loop)) {
    int64_t phases = find_phases(r->kernel, weights, loop);
    if (phases > 1 &&
        hone_recipe_did(r, hone_sched_split(r->kernel, loop->name, phases, HONE_TAIL_EXACT)))
      loop = hone_only_loop(loop);
  }
}
