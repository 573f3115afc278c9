/* The first of each of many sorted lines is their extreme: kernels find it, where sorting would be
 * done by one thread line by line. The place is that of the first with the key of the extreme, the
 * number the one that stands there.
 *
 * Keys are integers in the order of the numbers, NaN behind all others, 0 and -0 alike. */
#include <inttypes.h>
#include <math.h>

#include "passes/common/match.h"
#include "passes/common/rewrite.h"

static bool finds_firsts(const hone_node_t* node) {
  enum { LEAST_LINES = 32 };
  if (node->prim != HONE_PRIM_SORT || !hone_dim_is(node->shape[0], 1)) return false;
  const hone_type_t* type = &node->inputs[0]->type;
  if (type->dtype != HONE_F32 || !hone_type_is_known(type)) return false;
  hone_dim_t extent = type->dims[node->axes[0]];
  int64_t all = hone_match_count(type);
  return hone_dim_is_int(extent) && extent.k > 1 && extent.k < INT32_MAX &&
         (all < 0 || all / extent.k >= LEAST_LINES);
}

/* The largest comes first. */
static hone_value_t* keys_of(hone_builder_t* b, hone_value_t* x, bool descending) {
  enum { INFINITE = 0x7f800000 };
  hone_value_t* bits = hone_bitcast(b, x, HONE_I32);
  hone_value_t* rest = hone_and(b, bits, hone_scalar(b, HONE_I32, INT32_MAX));
  hone_value_t* is_below = hone_lt_number(b, bits, 0);
  hone_value_t* key = hone_select(b, is_below, hone_neg(b, rest), bits);
  hone_value_t* most = hone_scalar(b, HONE_I32, INT32_MAX);
  key = hone_select(b, hone_gt_number(b, rest, INFINITE), most, key);
  return descending ? key : hone_not(b, key);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  hone_builder_t* b = r->b;
  if (!finds_firsts(node)) return NULL;
  hone_value_t* x = node->inputs[0];
  const int64_t* axis = node->axes;
  hone_value_t* keys = keys_of(b, x, node->flags & HONE_FLAG_DESCENDING);
  hone_value_t* place = hone_arg_max(b, keys, (int)*axis, false, false, true);
  hone_value_t* all = hone_iota(b, HONE_I32, x->type.rank, x->type.dims, (int)*axis);
  hone_value_t* least = hone_scalar(b, HONE_F32, -INFINITY);
  hone_value_t* is_it = hone_eq(b, all, hone_cast(b, place, HONE_I32));
  hone_value_t* number = hone_select(b, is_it, x, least);
  number = hone_reduce(b, HONE_COMBINE_MAX, number, 1, axis, true);
  if (!hone_builder_ok(b)) return NULL;
  hone_rewrite_replace(r, node->outputs[1], place);
  hone_pass_did(r->context, node, "finds the first of each line");
  return number;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  const hone_backend_t* target = context->options->target;
  if (target && !target->launch) return NULL; /* it computes node by node */
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count) hone_pass_note(context, "%" PRId64 " sorts", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_firsts;
const hone_pass_t hone_pass_firsts = {
    .name = "firsts",
    .summary = "the first of each of many sorted lines is found by reductions",
    .phases = {HONE_PHASE_CLEAN + 15},
    .run = run,
};
