/* Fours: channels of bytes that are no whole groups of four, as instructions add them up, are
 * filled up with some that are multiplied by weights of zero.
 *
 *   contract(window(pad(x)), w)   x: [n, h, w, 26]
 *   becomes contract(window(pad'(x)), w')   of [n, h, w, 28]
 *
 * Who makes x stores it inside of the pad, which mostly is there already (pass `fuse`). Pictures
 * are the matter of pass `pictures`. */
#include <inttypes.h>

#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

enum { FOUR = 4, LEAST_USES = 8 };

typedef struct data {
  int side;                        /* of the contraction */
  const hone_node_t *window, *pad; /* NULL where there is none */
  hone_value_t* x;                 /* below them */
  int pair, axis;                  /* of the contraction's axes and of x: the channels */
  int64_t more;
} data_t;

static bool find(const hone_node_t* contract, int side, data_t* d) {
  hone_value_t* x = contract->inputs[side];
  *d = (data_t){.side = side, .window = hone_match_prim(x, HONE_PRIM_WINDOW)};
  if (d->window) x = d->window->inputs[0];
  d->pad = hone_match_prim(x, HONE_PRIM_PAD);
  d->x = d->pad ? d->pad->inputs[0] : x;
  d->pair = hone_operand_only_sum(contract, side, d->x->type.rank);
  if (d->pair < 0 || !hone_match_from_constants(contract->inputs[1 - side]) ||
      hone_match_from_constants(d->x) || hone_operand_uses(contract, side) < LEAST_USES)
    return false;
  d->axis = (int)contract->axes[2 * d->pair + side];
  hone_dim_t channels = d->x->type.dims[d->axis];
  if (!hone_dim_is_int(channels) || channels.k <= FOUR || channels.k % FOUR == 0) return false;
  d->more = FOUR - channels.k % FOUR;
  return !d->pad || (hone_dim_is(d->pad->lo[d->axis], 0) && hone_dim_is(d->pad->hi[d->axis], 0));
}

/* With so many behind the others along an axis, beside what `pad`, which may be NULL, adds. */
static hone_value_t* lengthen(hone_builder_t* b, hone_value_t* x, int axis, int64_t more,
                              const hone_node_t* pad) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < x->type.rank; i++) {
    lo[i] = pad ? pad->lo[i] : hone_d(0);
    hi[i] = i == axis ? hone_d(more) : pad ? pad->hi[i] : hone_d(0);
  }
  return hone_pad(b, x, lo, hi, pad ? pad->inputs[1] : NULL);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  data_t d;
  if (node->prim != HONE_PRIM_CONTRACT || node->n_batch || !hone_operand_are_bytes(node) ||
      (!find(node, 0, &d) && !find(node, 1, &d)))
    return NULL;
  hone_value_t *operands[2], *w = node->inputs[1 - d.side];
  operands[d.side] = lengthen(r->b, d.x, d.axis, d.more, d.pad);
  if (d.window && operands[d.side])
    operands[d.side] = hone_window(r->b, operands[d.side], d.window->n_axes, d.window->axes,
                                   d.window->shape, d.window->step, d.window->hi);
  operands[1 - d.side] = hone_evaluate_constant(
      r, lengthen(r->b, w, (int)node->axes[2 * d.pair + 1 - d.side], d.more, NULL));
  if (!operands[0] || !operands[1]) return NULL;
  hone_pass_did(r->context, node, "%" PRId64 " channels more", d.more);
  return hone_rewrite_copy(r, node, operands);
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (!context->options->sums_fours && !context->options->blocks_bytes) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "filled up the channels of %" PRId64 " contractions", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_fours;
const hone_pass_t hone_pass_fours = {
    .name = "fours",
    .summary = "channels of bytes become whole groups of four, where four are added up at once",
    .phases = {HONE_PHASE_TIDY + 43},
    .run = run,
};
