/* Pictures: channels of what a network looks at come last, and are four.
 *
 * A matrix instruction adds up to 64 bytes of each pixel's window, where they lie side by side: of
 * one channel that is a line of a few columns. With the channels last it is the line of all. Three
 * have the first behind them again, multiplied by weights of zero: nothing is added where all is
 * finite.
 *
 *   contract(window(pad(x)), w)   x: [n, 3, h, w]
 *   becomes contract(window(pad(permute(x))), w')   of [n, h, w, 4]
 *
 * Runs where the device has such instructions (options->sums_blocks, blocks_bytes), and operands
 * are narrow by now; behind `movement`, which would take the permute on to where the picture is
 * read. */
#include <inttypes.h>

#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/picture.h"
#include "passes/common/rewrite.h"

/* Whether there are instructions for operands as narrow as these, for which a line is enough. */
static bool pays(const hone_pass_options_t* options, const hone_node_t* contract,
                 const hone_picture_t* p) {
  hone_dtype_t a = contract->inputs[0]->type.dtype, b = contract->inputs[1]->type.dtype;
  bool is_bf16 = a == HONE_BF16 && b == HONE_BF16;
  return ((is_bf16 && options->sums_blocks) ||
          (hone_operand_are_bytes(contract) && options->blocks_bytes)) &&
         hone_picture_pays(p, (int64_t)hone_dtype_size(a));
}

/* The picture with channels last. */
static hone_value_t* turn(hone_rewriter_t* r, const hone_picture_t* p) {
  hone_value_t* x = p->window->inputs[0];
  const hone_node_t* pad = hone_match_prim(x, HONE_PRIM_PAD);
  x = hone_picture_turn(r->b, pad ? pad->inputs[0] : x, p->channels);
  return pad && x ? hone_picture_pad(r->b, pad, p->channels, x, pad->inputs[1]) : x;
}

static hone_value_t* convolve(hone_rewriter_t* r, const hone_node_t* contract,
                              const hone_picture_t* p) {
  int64_t pairs[HONE_MAX_RANK][2], w_axes[HONE_MAX_RANK];
  hone_value_t *operands[2], *x = turn(r, p);
  operands[p->data] = x ? hone_picture_slide(r->b, p->window, p->channels, x) : NULL;
  hone_value_t* w = hone_picture_turn_weights(r->b, contract, p, w_axes);
  operands[1 - p->data] = hone_evaluate_constant(r, w);
  int n = hone_picture_pairs(contract, p, w_axes, pairs);
  return hone_contract(r->b, operands[0], operands[1], n, (const int64_t(*)[2])pairs, 0,
                       contract->dtype);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  hone_picture_t p;
  if (!hone_picture_find(node, &p) || !pays(r->context->options, node, &p)) return NULL;
  const hone_type_t* x = &p.window->inputs[0]->type;
  int64_t more = HONE_PICTURE_CHANNELS - x->dims[p.channels].k;
  if (!more && p.channels == x->rank - 1) return NULL;
  hone_value_t* now = convolve(r, node, &p);
  if (now) hone_pass_did(r->context, node, "channels of the picture come last");
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (!context->options->sums_blocks && !context->options->blocks_bytes) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " convolutions of pictures", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_pictures;
const hone_pass_t hone_pass_pictures = {
    .name = "pictures",
    .summary =
        "channels of pictures come last and are four, where matrix instructions read lines "
        "of windows",
    .phases = {HONE_PHASE_TIDY + 94},
    .run = run,
};
