/* Dead code: nodes whose results nobody needs. Every sweep of a rewrite drops
 * them; this pass does it for graphs that nothing else has touched. */
#include "passes/pass.h"

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  int64_t before = hone_graph_node_count(graph);
  hone_graph_drop_dead(graph);
  hone_graph_drop_constants(graph);
  context->count = before - hone_graph_node_count(graph);
  if (context->count)
    hone_pass_note(context, "dropped %lld nodes that nobody needs", (long long)context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_dce;
const hone_pass_t hone_pass_dce = {
    .name = "dce",
    .summary = "nodes whose results nobody needs are dropped",
    .phases = {HONE_PHASE_CLEAN + 90, HONE_PHASE_TIDY + 90},
    .run = run,
};
