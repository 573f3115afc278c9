/* Constants that are taken from sums of products are added the other way round, so that sums begin
 * with what lies in memory (loop/lower_start.c): x - c becomes x + -c. The zero points of quantized
 * data are such. In front of the last `fold`, behind `arithmetic`, which would take the sign back.
 *
 * Runs where matrix instructions add up bytes (options->blocks_bytes): what tiles begin with they
 * load from memory. Registers had better copy what one of them has made; so short sums, which these
 * have, stay as they are. */
#include <inttypes.h>

#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

/* The constant with the other sign, moved as it was; NULL: something else than numbers is moved. */
static hone_value_t* negate(hone_rewriter_t* r, hone_value_t* value) {
  enum { MOST = 8 };
  hone_node_t* moves[MOST];
  int n = 0;
  for (; hone_operand_only_moves(value->node); value = value->node->inputs[0]) {
    if (n == MOST || value->node->n_inputs != 1) return NULL;
    moves[n++] = value->node;
  }
  hone_value_t* now = hone_neg(r->b, value);
  while (now && n > 0) now = hone_rewrite_copy(r, moves[--n], &now);
  return now;
}

/* Whether each sum has more products than instructions for vectors are chosen for. */
static bool is_long(const hone_node_t* contract) {
  enum { SHORT = 36 };
  double count = 1;
  for (int i = 2 * contract->n_batch; i < contract->n_axes; i += 2) {
    hone_dim_t extent = contract->inputs[0]->type.dims[contract->axes[i]];
    count *= hone_dim_is_int(extent) ? (double)extent.k : 1;
  }
  return count > SHORT;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_SUB) return NULL;
  const hone_node_t* contract = hone_match_prim(node->inputs[0], HONE_PRIM_CONTRACT);
  if (!contract || !is_long(contract) || !hone_match_constant(hone_operand_origin(node->inputs[1])))
    return NULL;
  hone_value_t* minus = negate(r, node->inputs[1]);
  if (!minus) return NULL;
  hone_pass_did(r->context, node, "begins with what is taken from its sums");
  return hone_add(r->b, node->inputs[0], minus);
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (!context->options->blocks_bytes) return NULL;
  HONE_TRY(hone_rewrite_everywhere(context, graph, rule, NULL));
  if (context->count) hone_pass_note(context, "%" PRId64 " constants are added", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_subtrahends;
const hone_pass_t hone_pass_subtrahends = {
    .name = "subtrahends",
    .summary =
        "constants that are taken from sums of products are added to them, where matrix "
        "instructions begin with them",
    .phases = {HONE_PHASE_TIDY + 46},
    .run = run,
};
