/* Pooling axis by axis: what is taken of a whole window is taken along one of its axes, and then,
 * of the results, along the next: 2 n instead of n * n numbers for each result.
 *
 *   reduce(window(x, axes=[a, b], shape=[n, n]))
 *     =>  reduce(window(reduce(window(x, axes=[a], shape=[n])), axes=[b], shape=[n]))
 *
 * What is padded is so axis by axis, too: along each where windows go along it.
 *
 * Maxima and minima, and sums of integers, stay what they are; those of f32 round in another
 * order, unless options->exact. */
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

/* The window that all of is reduced; NULL: there is none. */
static const hone_node_t* find_window(const hone_node_t* reduce) {
  const hone_node_t* window = hone_match_prim(reduce->inputs[0], HONE_PRIM_WINDOW);
  if (!window || window->n_axes < 2 || reduce->n_axes != window->n_axes) return NULL;
  for (int i = 0; i < reduce->n_axes; i++)
    if (reduce->axes[i] != window->inputs[0]->type.rank + i) return NULL;
  return window;
}

static bool may_go_in_parts(const hone_rewriter_t* r, const hone_node_t* reduce) {
  hone_dtype_t dtype = reduce->outputs[0]->type.dtype;
  bool is_exact = reduce->combine == HONE_COMBINE_MAX || reduce->combine == HONE_COMBINE_MIN ||
                  hone_dtype_is_int(dtype);
  bool is_sum = reduce->combine == HONE_COMBINE_ADD && dtype == HONE_F32;
  return is_exact || (is_sum && !r->context->options->exact);
}

/* Whether lanes go along the window's last axis, in steps: what a vector of results reads lies in
 * several vectors, of which lanes have to be picked. */
static bool picks_lanes(const hone_node_t* window) {
  int last = window->n_axes - 1, inner = window->inputs[0]->type.rank - 1;
  return window->axes[last] == inner && !hone_dim_is(window->step[last], 1);
}

/* Numbers that are read for a result, against those of windows along one axis: what the axes
 * before the last give is more where later ones go in steps, and has to be written and read. */
static bool pays(const hone_node_t* window) {
  enum { BETWEEN = 3, PICKED = 4 };
  const double picked = picks_lanes(window) ? PICKED : 1;
  double at_once = picked, apart = 0, times = 1;
  for (int i = window->n_axes - 1; i >= 0; i--) {
    if (!hone_dim_is_int(window->shape[i]) || !hone_dim_is_int(window->step[i])) return false;
    double numbers = (double)window->shape[i].k;
    at_once *= numbers;
    apart += times * (i == window->n_axes - 1 ? picked * numbers : numbers + BETWEEN);
    times *= (double)window->step[i].k;
  }
  return at_once >= 1.5 * apart;
}

/* The pad in front of the window, where borders may be pooled as they are: nothing but them is what
 * they are filled with, again. */
static const hone_node_t* find_pad(const hone_node_t* reduce, const hone_node_t* window) {
  const hone_node_t* pad = hone_match_prim(window->inputs[0], HONE_PRIM_PAD);
  double number;
  bool is_sum = reduce->combine == HONE_COMBINE_ADD;
  if (!pad || !pad->inputs[1] || !hone_match_number(pad->inputs[1], &number)) return NULL;
  return !is_sum || number == 0 ? pad : NULL;
}

/* Pads axis `i` of the window's; the first time also those that no window goes along. */
static hone_value_t* pad_for(hone_rewriter_t* r, const hone_node_t* pad, const hone_node_t* window,
                             int i, hone_value_t* x) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int a = 0; a < x->type.rank; a++) {
    int at = 0;
    while (at < window->n_axes && window->axes[at] != a) at++;
    bool is_padded = at == window->n_axes ? i == 0 : at == i;
    lo[a] = is_padded ? pad->lo[a] : hone_d(0);
    hi[a] = is_padded ? pad->hi[a] : hone_d(0);
  }
  return hone_pad(r->b, x, lo, hi, pad->inputs[1]);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  const hone_node_t* window = node->prim == HONE_PRIM_REDUCE ? find_window(node) : NULL;
  if (!window || !may_go_in_parts(r, node) || !pays(window)) return NULL;
  const hone_node_t* pad = find_pad(node, window);
  hone_value_t* x = pad ? pad->inputs[0] : window->inputs[0];
  for (int i = 0; i < window->n_axes && x; i++) {
    const int64_t last = x->type.rank;
    if (pad) x = pad_for(r, pad, window, i, x);
    x = hone_window(r->b, x, 1, &window->axes[i], &window->shape[i], &window->step[i],
                    &window->hi[i]);
    x = hone_reduce(r->b, node->combine, x, 1, &last, false);
  }
  hone_pass_did(r->context, node, "pools one axis after the other");
  return x;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  return hone_rewrite_everywhere(context, graph, rule, NULL);
}

extern const hone_pass_t hone_pass_pooling;
const hone_pass_t hone_pass_pooling = {
    .name = "pooling",
    .summary = "large windows are pooled along one axis after the other (sums of floats round)",
    .phases = {HONE_PHASE_TIDY - 18},
    .run = run,
};
