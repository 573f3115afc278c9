/* Branches: an `if` whose condition is known becomes the branch that is taken, a
 * loop of exactly one round its body. Regions take constants in themselves instead of capturing
 * them, so that folding sees them, and captures that a region does not use go. What a loop
 * carries and no round changes is captured instead.
 *
 * A branch that is gone makes types known that were not, and so operators that
 * were kept for run time can be lowered after all; the conditions of further
 * branches may follow from them. */
#include <inttypes.h>

#include "ir/content.h"
#include "ops/lower.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

/* ---- conditions that are known ---- */

static bool known_condition(const hone_value_t* condition, bool* out_taken) {
  double number;
  if (hone_match_number(condition, &number)) {
    *out_taken = number != 0;
    return true;
  }
  if (!condition->content || !hone_dim_is_int(condition->content[0])) return false;
  *out_taken = condition->content[0].k != 0;
  return true;
}

/* Moves the nodes of a region, which is given up, to the graph at hand. Its
 * parameters become what the node passes to them. */
static bool move_nodes(hone_rewriter_t* r, hone_graph_t* region, hone_value_t* const* captures) {
  for (int i = 0; i < region->n_inputs; i++) region->inputs[i]->forward = captures[i];
  for (int n = 0; n < region->n_nodes; n++) {
    hone_node_t* node = region->nodes[n];
    if (node->prim == HONE_PRIM_INPUT) continue;
    for (int i = 0; i < node->n_inputs; i++)
      node->inputs[i] = hone_rewrite_resolve(node->inputs[i]);
    for (int i = 0; i < node->n_outputs; i++) node->outputs[i]->uses = 0;
    for (int i = 0; i < node->n_regions; i++) node->regions[i]->parent = r->graph;
    node->graph = r->graph;
    if (!hone_graph_append_again(r->graph, node)) return false;
  }
  return true;
}

static hone_value_t* take_branch(hone_rewriter_t* r, hone_node_t* node, bool taken) {
  hone_graph_t* region = node->regions[taken ? 0 : 1];
  hone_value_t** captures = node->inputs + 1 + (taken ? 0 : node->regions[0]->n_inputs);
  if (!move_nodes(r, region, captures))
    return hone_fail(r->b, HONE_OUT_OF_MEMORY, "no memory for a rewrite");
  hone_pass_did(r->context, node, "the condition is always %s", taken ? "true" : "false");
  for (int i = 1; i < node->n_outputs; i++)
    hone_rewrite_replace(r, node->outputs[i], hone_rewrite_resolve(region->outputs[i]));
  return hone_rewrite_resolve(region->outputs[0]);
}

/* ---- loops of one round ---- */

/* Random numbers differ from round to round, so they stay in one. */
static bool draws(const hone_graph_t* region) {
  for (int i = 0; i < region->n_nodes; i++) {
    const hone_node_t* node = region->nodes[i];
    if (node->prim == HONE_PRIM_RANDOM || node->prim == HONE_PRIM_HOST) return true;
    for (int k = 0; k < node->n_regions; k++)
      if (draws(node->regions[k])) return true;
  }
  return false;
}

/* Whether the body has a name for an extent of what is carried, which others would look up. */
static bool names_extents(const hone_node_t* loop) {
  for (int i = 0; i < loop->n_carried; i++)
    if (loop->regions[0]->inputs[2 + i]->binds) return true;
  return false;
}

static bool is_one_round(const hone_node_t* loop) {
  const hone_value_t* rounds = loop->inputs[0];
  double count;
  bool start;
  bool known = hone_match_number(rounds, &count)
                   ? count == 1
                   : rounds->content && hone_dim_is(rounds->content[0], 1);
  if (!known || !known_condition(loop->inputs[1], &start) || !start) return false;
  for (int i = loop->n_carried; i < loop->n_outputs; i++)
    if (!hone_type_is_known(&loop->regions[0]->outputs[1 + i]->type)) return false;
  return !draws(loop->regions[0]) && !names_extents(loop);
}

/* A stack of one. */
static hone_value_t* stack(hone_rewriter_t* r, hone_value_t* value) {
  hone_dim_t dims[HONE_MAX_RANK + 1] = {hone_dim_int(1)};
  const hone_type_t* type = &value->type;
  for (int i = 0; i < type->rank; i++) dims[1 + i] = type->dims[i];
  return hone_reshape(r->b, value, type->rank + 1, dims);
}

static hone_value_t* take_round(hone_rewriter_t* r, hone_node_t* loop) {
  hone_graph_t* region = loop->regions[0];
  loop->inputs[0] = hone_scalar_i64(r->b, HONE_I64, 0);
  if (!loop->inputs[0] || !move_nodes(r, region, loop->inputs))
    return hone_fail(r->b, HONE_OUT_OF_MEMORY, "no memory for a rewrite");
  hone_pass_did(r->context, loop, "it has one round");
  hone_value_t* first_result = NULL;
  for (int i = loop->n_outputs - 1; i >= 0; i--) {
    hone_value_t* value = hone_rewrite_resolve(region->outputs[1 + i]);
    if (i >= loop->n_carried) value = stack(r, value);
    if (!value) return NULL;
    first_result = value;
    if (i > 0) hone_rewrite_replace(r, loop->outputs[i], value);
  }
  return first_result;
}

/* ---- captures ---- */

static bool is_used(const hone_graph_t* region, const hone_value_t* value) {
  for (int i = 0; i < region->n_outputs; i++)
    if (region->outputs[i] == value) return true;
  for (int n = 0; n < region->n_nodes; n++)
    for (int i = 0; i < region->nodes[n]->n_inputs; i++)
      if (region->nodes[n]->inputs[i] == value) return true;
  return value->binds != NULL;
}

/* A parameter becomes the constant that it always is; its node stays where it
 * was in the order. */
static bool make_constant(hone_graph_t* region, hone_value_t* parameter, hone_tensor_t* tensor) {
  hone_tensor_retain(tensor);
  if (!hone_graph_keep_constant(region, tensor)) return false;
  parameter->node->prim = HONE_PRIM_CONSTANT;
  parameter->node->constant = tensor;
  return true;
}

static void remove_node(hone_graph_t* region, const hone_node_t* node) {
  int kept = 0, values = 0;
  for (int n = 0; n < region->n_nodes; n++)
    if (region->nodes[n] != node) region->nodes[kept++] = region->nodes[n];
  region->n_nodes = kept;
  for (int n = 0; n < kept; n++)
    for (int i = 0; i < region->nodes[n]->n_outputs; i++) {
      region->nodes[n]->outputs[i]->id = values;
      region->values[values++] = region->nodes[n]->outputs[i];
    }
  region->n_values = values;
}

/* Input `at` of the node, which is parameter `index` of the region, goes. */
static void drop_capture(hone_node_t* node, int at, hone_graph_t* region, int index) {
  for (int i = at; i + 1 < node->n_inputs; i++) node->inputs[i] = node->inputs[i + 1];
  for (int i = index; i + 1 < region->n_inputs; i++) region->inputs[i] = region->inputs[i + 1];
  node->n_inputs--;
  region->n_inputs--;
}

/* Captures of one region: parameters from `first` on, inputs of the node from
 * `at` on. Gives how many went; negative when memory is out. */
static int tidy_captures(hone_node_t* node, hone_graph_t* region, int first, int at) {
  int gone = 0;
  for (int i = first; i < region->n_inputs;) {
    hone_value_t *parameter = region->inputs[i], *outer = node->inputs[at];
    bool used = is_used(region, parameter);
    bool constant = outer->node->prim == HONE_PRIM_CONSTANT && !parameter->binds;
    if (used && !constant) {
      i++;
      at++;
      continue;
    }
    if (used && !make_constant(region, parameter, outer->node->constant)) return -1;
    if (!used) remove_node(region, parameter->node);
    drop_capture(node, at, region, i);
    gone++;
  }
  return gone;
}

static hone_value_t* tidy(hone_rewriter_t* r, hone_node_t* node) {
  int gone;
  if (node->prim == HONE_PRIM_IF) {
    gone = tidy_captures(node, node->regions[0], 0, 1);
    int more =
        gone < 0 ? -1 : tidy_captures(node, node->regions[1], 0, 1 + node->regions[0]->n_inputs);
    gone = more < 0 ? -1 : gone + more;
  } else {
    int first = 2 + node->n_carried;
    gone = tidy_captures(node, node->regions[0], first, first);
  }
  if (gone < 0) return hone_fail(r->b, HONE_OUT_OF_MEMORY, "no memory for a rewrite");
  for (int i = 0; i < gone; i++) hone_pass_did(r->context, node, "a capture went");
  return NULL;
}

/* ---- values that are carried and never change ---- */

static bool never_changes(const hone_node_t* loop, int i) {
  const hone_graph_t* body = loop->regions[0];
  const hone_value_t* parameter = body->inputs[2 + i];
  return body->outputs[1 + i] == parameter && !parameter->binds && !loop->outputs[i]->binds &&
         hone_type_same(&parameter->type, &loop->inputs[2 + i]->type);
}

/* Entry `from` of a list goes behind all others. */
static void move_last(hone_value_t** list, int from, int count) {
  hone_value_t* value = list[from];
  for (int i = from; i + 1 < count; i++) list[i] = list[i + 1];
  list[count - 1] = value;
}

static void capture_carried(hone_rewriter_t* r, hone_node_t* loop, int i) {
  hone_graph_t* body = loop->regions[0];
  hone_value_t* same = loop->inputs[2 + i];
  move_last(loop->inputs, 2 + i, loop->n_inputs);
  move_last(body->inputs, 2 + i, body->n_inputs);
  move_last(body->outputs, 1 + i, body->n_outputs--);
  hone_rewrite_replace(r, loop->outputs[i], same);
  move_last(loop->outputs, i, loop->n_outputs--);
  for (int k = i; k < loop->n_outputs; k++) loop->outputs[k]->index = k;
  loop->n_carried--;
  hone_pass_did(r->context, loop, "what each round hands on as it is need not be carried");
}

/* One output stays, so that the node is not gone while it is looked at. */
static void capture_all_carried(hone_rewriter_t* r, hone_node_t* loop) {
  for (int i = loop->n_carried - 1; i >= 0 && loop->n_outputs > 1; i--)
    if (never_changes(loop, i)) capture_carried(r, loop, i);
}

/* ---- operators kept for run time ---- */

enum { MAX_OUTPUTS = 8 };

static bool types_known(const hone_node_t* node) {
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && !hone_type_is_known(&node->inputs[i]->type)) return false;
  return node->n_outputs > 0 && node->n_outputs <= MAX_OUTPUTS;
}

static hone_value_t* lower_now(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* outputs[MAX_OUTPUTS];
  if (!node->host || !node->host->deferred || !types_known(node)) return NULL;
  if (!hone_lower_again(r->b, node, outputs)) return NULL;
  hone_pass_did(r->context, node, "lowered, now that its inputs are known");
  for (int i = 1; i < node->n_outputs; i++) hone_rewrite_replace(r, node->outputs[i], outputs[i]);
  return outputs[0];
}

/* Integers that follow from integers that have become known. */
static void infer_content(hone_rewriter_t* r, hone_node_t* node) {
  if (node->n_outputs != 1 || node->outputs[0]->content || !types_known(node)) return;
  if (hone_prim_info(node->prim)->family == HONE_FAMILY_CONTROL) return;
  hone_content_infer(r->graph, node);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  bool taken;
  if (node->prim == HONE_PRIM_HOST) return lower_now(r, node);
  infer_content(r, node);
  if (node->prim != HONE_PRIM_IF && node->prim != HONE_PRIM_LOOP) return NULL;
  if (node->prim == HONE_PRIM_IF && node->n_outputs > 0 && known_condition(node->inputs[0], &taken))
    return take_branch(r, node, taken);
  if (node->prim == HONE_PRIM_LOOP && node->n_outputs > 0 && is_one_round(node))
    return take_round(r, node);
  if (node->prim == HONE_PRIM_LOOP) capture_all_carried(r, node);
  return tidy(r, node);
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(
        context, "took branches, lowered what was deferred, moved constants into regions: %" PRId64,
        context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_branches;
const hone_pass_t hone_pass_branches = {
    .name = "branches",
    .summary =
        "branches whose condition is known are taken, loops of one round are their body, constants "
        "move into regions",
    .phases = {HONE_PHASE_CLEAN + 15, HONE_PHASE_CLEAN + 48},
    .run = run,
};
