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

/* Four channels: all, and the first again. */
static hone_value_t* repeat_channels(hone_rewriter_t* r, hone_value_t* x, int axis) {
  hone_dim_t shape[HONE_MAX_RANK], channels = x->type.dims[axis];
  int rank = x->type.rank;
  x = hone_unsqueeze(r->b, x, axis);
  for (int i = 0; i <= rank && x; i++) shape[i] = i == axis ? hone_d(2) : x->type.dims[i];
  x = hone_expand(r->b, x, rank + 1, shape);
  for (int i = axis; i < rank; i++) shape[i] = shape[i + 1];
  shape[axis] = hone_d(2 * channels.k);
  x = hone_reshape(r->b, x, rank, shape);
  return hone_slice_axis(r->b, x, axis, hone_d(0), hone_d(HONE_PICTURE_CHANNELS));
}

/* The picture with channels last. */
static hone_value_t* turn(hone_rewriter_t* r, const hone_picture_t* p) {
  hone_value_t* x = p->window->inputs[0];
  const hone_node_t* pad = hone_match_prim(x, HONE_PRIM_PAD);
  int rank = x->type.rank;
  x = repeat_channels(r, pad ? pad->inputs[0] : x, p->channels);
  x = hone_move_axis(r->b, x, p->channels, rank - 1);
  return pad && x ? hone_picture_pad(r->b, pad, p->channels, x) : x;
}

/* Weights with the channels last, and zeros behind them; `axes`: which one each axis has become. */
static hone_value_t* turn_weights(hone_rewriter_t* r, const hone_node_t* contract,
                                  const hone_picture_t* p, hone_dim_t more, int64_t* axes) {
  hone_value_t* w = contract->inputs[1 - p->data];
  int rank = w->type.rank, channels = (int)contract->axes[2 * p->pair + 1 - p->data];
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    lo[i] = hi[i] = hone_d(0);
    axes[i] = hone_picture_axis(rank, channels, i);
  }
  hi[rank - 1] = more;
  w = hone_move_axis(r->b, w, channels, rank - 1);
  return hone_evaluate_constant(r, hone_pad(r->b, w, lo, hi, NULL));
}

static hone_value_t* convolve(hone_rewriter_t* r, const hone_node_t* contract,
                              const hone_picture_t* p, hone_dim_t more) {
  int64_t pairs[HONE_MAX_RANK][2], w_axes[HONE_MAX_RANK];
  int n = contract->n_axes / 2, rank = p->window->inputs[0]->type.rank, at = 0;
  hone_value_t *operands[2], *x = turn(r, p);
  operands[p->data] = x ? hone_picture_slide(r->b, p->window, p->channels, x) : NULL;
  operands[1 - p->data] = turn_weights(r, contract, p, more, w_axes);
  for (int i = 0; i < n; i++) {
    int place = i == p->pair ? n - 1 : at++; /* channels are summed up last */
    int64_t axis = contract->axes[2 * i + p->data];
    pairs[place][p->data] = i == p->pair ? rank - 1 : axis;
    pairs[place][1 - p->data] = w_axes[contract->axes[2 * i + 1 - p->data]];
  }
  return hone_contract(r->b, operands[0], operands[1], n, (const int64_t(*)[2])pairs, 0,
                       contract->dtype);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  hone_picture_t p;
  if (!hone_picture_find(node, &p) || !pays(r->context->options, node, &p)) return NULL;
  const hone_type_t* x = &p.window->inputs[0]->type;
  int64_t more = HONE_PICTURE_CHANNELS - x->dims[p.channels].k;
  if (!more && p.channels == x->rank - 1) return NULL;
  hone_value_t* now = convolve(r, node, &p, hone_d(more));
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
