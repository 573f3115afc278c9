/* Common subexpressions: of nodes that compute the same from the same, one
 * stays. Constants are the same when their bytes are.
 *
 * Two nodes are the same when primitive, attributes, inputs and types agree,
 * found by a hash over these. Control flow, calls and host nodes are left
 * alone. So is `random` without a seed of its own. */
#include <inttypes.h>

#include "base/hash.h"
#include "base/map.h"
#include "passes/common/node_hash.h"
#include "passes/common/rewrite.h"

static uint64_t hash_node(const hone_node_t* node) {
  uint64_t hash = hone_hash_pointer(0xcbf29ce484222325u, node->graph);
  for (int i = 0; i < node->n_inputs; i++) hash = hone_hash_pointer(hash, node->inputs[i]);
  hash = hone_node_hash(hash, node);
  return node->constant ? hone_node_hash_constant(hash, node->constant) : hash;
}

static bool same_node(const hone_node_t* a, const hone_node_t* b) {
  if (!hone_node_does_same(a, b)) return false;
  for (int i = 0; i < a->n_inputs; i++)
    if (a->inputs[i] != b->inputs[i]) return false;
  return true;
}

static bool may_merge(const hone_node_t* node) {
  if (node->prim == HONE_PRIM_INPUT || node->n_outputs == 0) return false;
  if (node->prim == HONE_PRIM_RANDOM && node->flags & HONE_FLAG_UNSEEDED) return false;
  return hone_prim_info(node->prim)->family != HONE_FAMILY_CONTROL;
}

/* Nodes kept so far by hash; `self` is the map. What hashes alike without being
 * the same stays unmerged, all but the first. */
static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  hone_map_t* seen = r->self;
  if (!may_merge(node)) return NULL;
  uint64_t hash = hash_node(node);
  hone_node_t* first = hone_map_get_u64(seen, hash);
  if (!first) {
    hone_status_t status = hone_map_put_u64(seen, hash, node);
    if (status) hone_fail_status(r->b, status);
    return NULL;
  }
  if (!same_node(first, node)) return NULL;
  hone_pass_did(r->context, node, "%s is the same as that of %s", hone_prim_info(node->prim)->name,
                first->origin ? first->origin : "before");
  for (int i = 1; i < node->n_outputs; i++)
    hone_rewrite_replace(r, node->outputs[i], first->outputs[i]);
  return first->outputs[0];
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  hone_map_t seen;
  hone_map_init(&seen, graph->allocator);
  hone_status_t status = hone_rewrite_once(context, graph, rule, &seen);
  hone_map_free(&seen);
  if (!status && context->count)
    hone_pass_note(context, "merged %" PRId64 " nodes with others that compute the same",
                   context->count);
  return status;
}

extern const hone_pass_t hone_pass_cse;
const hone_pass_t hone_pass_cse = {
    .name = "cse",
    .summary = "nodes that compute the same from the same become one",
    .phases = {HONE_PHASE_CLEAN + 60, HONE_PHASE_TIDY + 60},
    .run = run,
};
