/* Channels that are added up in groups lie side by side.
 *
 * Instructions that add up products of bytes, or of bf16, take groups of two, four or more that lie
 * side by side in memory. What contractions make has its channels last (pass `layout`); what a
 * model is given, or what is added to that, may have them first. It is turned before it is
 * multiplied by many weights:
 *
 *   contract(window(pad(x)), w)   x: [n, c, h, w]
 *   becomes contract(window(pad(permute(x))), w)   of [n, h, w, c]
 *
 * and `fuse` stores what the permute makes (hone_fusion_plan). Runs where operands are narrow by
 * now; behind `movement`, which would take the permute away again. Pictures of few channels are the
 * matter of pass `pictures`. */
#include <inttypes.h>

#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/picture.h"
#include "passes/common/rewrite.h"

typedef struct channels {
  int data;                  /* operand of the contraction */
  const hone_node_t* window; /* over the data; NULL: there is none */
  hone_value_t* x;           /* what the window looks at, else the data */
  int axis;                  /* of x: the channels */
} channels_t;

/* Whether the device adds up groups of numbers as narrow as these. */
static bool has_groups(const hone_pass_options_t* options, const hone_node_t* contract) {
  hone_dtype_t a = contract->inputs[0]->type.dtype, b = contract->inputs[1]->type.dtype;
  if (a == HONE_BF16 && b == HONE_BF16) return options->sums_pairs || options->sums_blocks;
  return hone_operand_are_bytes(contract) && (options->sums_fours || options->blocks_bytes);
}

/* The only axis of x that is summed over, beside those of the window. */
static bool find_axis(const hone_node_t* contract, channels_t* c) {
  int pair = hone_operand_only_sum(contract, c->data, c->x->type.rank);
  c->axis = pair < 0 ? -1 : (int)contract->axes[2 * pair + c->data];
  return pair >= 0;
}

/* Whether there are enough channels, which lie apart. */
static bool lie_apart(const channels_t* c, int64_t least) {
  const hone_type_t* type = &c->x->type;
  if (!hone_dim_is_int(type->dims[c->axis]) || type->dims[c->axis].k < least) return false;
  for (int i = c->axis + 1; i < type->rank; i++)
    if (!hone_dim_is(type->dims[i], 1)) return true;
  return false;
}

static bool find(const hone_node_t* contract, int side, channels_t* out) {
  enum { LEAST_USES = 8, LEAST = 8, LEAST_OF_MANY = 4 /* of each of several groups of channels */ };
  hone_value_t* data = contract->inputs[side];
  const hone_node_t* window = hone_match_prim(data, HONE_PRIM_WINDOW);
  *out = (channels_t){.data = side, .window = window, .x = window ? window->inputs[0] : data};
  return hone_match_from_constants(contract->inputs[1 - side]) &&
         !hone_match_from_constants(data) && hone_operand_uses(contract, side) >= LEAST_USES &&
         find_axis(contract, out) && lie_apart(out, contract->n_batch ? LEAST_OF_MANY : LEAST);
}

static hone_value_t* turn(hone_rewriter_t* r, const channels_t* c) {
  const hone_node_t* pad = hone_match_prim(c->x, HONE_PRIM_PAD);
  int rank = c->x->type.rank;
  hone_value_t* x = hone_move_axis(r->b, pad ? pad->inputs[0] : c->x, c->axis, rank - 1);
  return pad && x ? hone_picture_pad(r->b, pad, c->axis, x, pad->inputs[1]) : x;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  channels_t c;
  int64_t pairs[HONE_MAX_RANK][2];
  if (node->prim != HONE_PRIM_CONTRACT || !has_groups(r->context->options, node) ||
      (!find(node, 0, &c) && !find(node, 1, &c)))
    return NULL;
  int rank = c.x->type.rank, n = node->n_axes / 2;
  hone_value_t *operands[2] = {node->inputs[0], node->inputs[1]}, *x = turn(r, &c);
  operands[c.data] = c.window && x ? hone_picture_slide(r->b, c.window, c.axis, x) : x;
  for (int i = 0; i < n; i++) {
    for (int side = 0; side < 2; side++) pairs[i][side] = node->axes[2 * i + side];
    if (pairs[i][c.data] < rank)
      pairs[i][c.data] = hone_picture_axis(rank, c.axis, pairs[i][c.data]);
  }
  if (!operands[c.data]) return NULL;
  hone_value_t* now = hone_contract(r->b, operands[0], operands[1], n, (const int64_t(*)[2])pairs,
                                    node->n_batch, node->dtype);
  if (now) hone_pass_did(r->context, node, "channels of its data come last");
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "turned the data of %" PRId64 " contractions", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_channels;
const hone_pass_t hone_pass_channels = {
    .name = "channels",
    .summary = "channels of narrow data that a model is given come last, where groups are added up",
    .phases = {HONE_PHASE_TIDY + 44},
    .run = run,
};
