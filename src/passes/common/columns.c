#include "passes/common/columns.h"

#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"

typedef struct columns {
  const hone_node_t* window;
  int data;    /* operand */
  int axis;    /* of what the window looks at */
  int weights; /* axis of the weights */
} columns_t;

static const hone_node_t* find_window(const hone_node_t* contract, int side) {
  const hone_node_t* window = hone_match_prim(contract->inputs[side], HONE_PRIM_WINDOW);
  return window && hone_match_constant(contract->inputs[1 - side]) ? window : NULL;
}

static bool find(const hone_node_t* contract, columns_t* out) {
  if (contract->n_batch || hone_operand_has_groups(contract, 2)) return false;
  int side = find_window(contract, 0) ? 0 : 1;
  const hone_node_t* window = find_window(contract, side);
  if (!window) return false;
  int rank = window->inputs[0]->type.rank, last = window->n_axes - 1;
  *out = (columns_t){window, side, rank - 1, hone_match_partner(contract, side, rank + last)};
  return out->weights >= 0 && window->axes[last] == rank - 1 && hone_dim_is(window->hi[last], 1) &&
         hone_dim_is_int(window->shape[last]) && window->shape[last].k > 1;
}

bool hone_columns_can_fill(const hone_node_t* contract) {
  columns_t found;
  return find(contract, &found);
}

bool hone_columns_are(const hone_node_t* contract, int i) {
  columns_t found;
  return find(contract, &found) && contract->axes[i + 1 - found.data] == found.weights;
}

/* x with one element more behind the others of an axis; more padding, where it is padded. */
static hone_value_t* add_one(hone_rewriter_t* r, hone_value_t* x, int axis) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  const hone_node_t* pad = hone_match_prim(x, HONE_PRIM_PAD);
  for (int i = 0; i < x->type.rank; i++) {
    lo[i] = pad ? pad->lo[i] : hone_d(0);
    hi[i] = pad ? pad->hi[i] : hone_d(0);
  }
  hi[axis] = hone_d_add(r->b, hi[axis], hone_d(1));
  return hone_pad(r->b, pad ? pad->inputs[0] : x, lo, hi, pad ? pad->inputs[1] : NULL);
}

/* The same of weights, as a constant again. */
static hone_value_t* add_zeros(hone_rewriter_t* r, hone_value_t* weights, int axis) {
  return hone_evaluate_constant(r, add_one(r, weights, axis));
}

bool hone_columns_fill(hone_rewriter_t* r, const hone_node_t* contract, hone_value_t* out[2]) {
  columns_t c;
  hone_dim_t shape[HONE_MAX_RANK];
  if (!find(contract, &c)) return false;
  hone_node_t wider = *c.window;
  hone_value_t* x = add_one(r, c.window->inputs[0], c.axis);
  for (int i = 0; i < wider.n_axes; i++) shape[i] = wider.shape[i];
  shape[wider.n_axes - 1] = hone_d(wider.shape[wider.n_axes - 1].k + 1);
  wider.shape = shape;
  out[c.data] = x ? hone_rewrite_copy(r, &wider, &x) : NULL;
  out[1 - c.data] = add_zeros(r, contract->inputs[1 - c.data], c.weights);
  return out[0] && out[1];
}
