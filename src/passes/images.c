/* Images: the layers of a batch are computed item by item as long as that pays.
 *
 * What a layer makes of a whole batch may be larger than the caches, so that each layer writes
 * to memory, and the next one reads from there. Item by item it stays near, only weights are
 * read again for each. So the layers up to the one from which weights are what counts
 * become the body of a loop over the items, which threads share out among them
 * (runtime/control.c):
 *
 *   y = relu(conv(x, w))   x: [8, …]       y = loop 8 { relu(conv(x[round], w)) } */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ir/outline.h"
#include "passes/common/items.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

/* USUAL_*: for extents that only a run knows. */
enum { USUAL_ITEMS = 8, USUAL_EXTENT = 64 };

static const char label[] = "images";

typedef struct images {
  hone_pass_context_t* context;
  hone_graph_t* graph;
  hone_items_t items;
  double count;           /* of items */
  int* last;              /* by value: the node that reads it last */
  int cut;                /* nodes in front of it are computed item by item */
  double whole, cut_cost; /* what all takes in whole batches, and with that cut */
} images_t;

/* ---- the axis of the items ---- */

static bool has_items(const hone_node_t* node, hone_dim_t count) {
  const hone_type_t* type = node->n_outputs == 1 ? &node->outputs[0]->type : NULL;
  return node->prim == HONE_PRIM_INPUT && hone_type_is_known(type) && type->rank > 0 &&
         hone_dim_same(type->dims[0], count);
}

/* The first extent of the first input that could be images; 1: there is none. */
static hone_dim_t find_count(const hone_graph_t* graph) {
  enum { LEAST_RANK = 3 };
  for (int i = 0; i < graph->n_inputs; i++) {
    const hone_type_t* type = &graph->inputs[i]->type;
    if (!hone_type_is_known(type) || type->rank < LEAST_RANK) continue;
    hone_dim_t first = type->dims[0];
    if (hone_dim_is_int(first) ? first.k > 1 : hone_dim_as_symbol(first) != NULL) return first;
  }
  return hone_dim_int(1);
}

/* Axes of all values; those of parameters are there already. */
static void find_axes(hone_items_t* items, const hone_graph_t* graph) {
  for (int n = 0; n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    if (node->prim == HONE_PRIM_INPUT) continue;
    int axis = hone_items_axis_of(items, graph->dims, node);
    for (int i = 0; i < node->n_outputs; i++) items->axis[node->outputs[i]->id] = axis;
  }
}

static bool is_member(const images_t* m, int index) {
  const hone_node_t* node = m->graph->nodes[index];
  return index < m->cut && node->n_outputs == 1 && node->prim != HONE_PRIM_INPUT &&
         m->items.axis[node->outputs[0]->id] >= 0;
}

/* ---- what it takes, in bytes that the second cache gives in that time ---- */

static double extent_of(hone_dim_t extent) {
  return hone_dim_is_int(extent) ? (double)extent.k : USUAL_EXTENT;
}

/* Bytes of a value, of one item where it has an axis for them. */
static double bytes_of(const images_t* m, const hone_value_t* value) {
  double bytes = (double)hone_dtype_size(value->type.dtype);
  for (int i = 0; i < value->type.rank; i++)
    if (i != m->items.axis[value->id]) bytes *= extent_of(value->type.dims[i]);
  return bytes;
}

static bool is_view(const hone_node_t* node) {
  return hone_prim_info(node->prim)->family == HONE_FAMILY_MOVEMENT &&
         node->prim != HONE_PRIM_PAD && node->prim != HONE_PRIM_CONCAT;
}

static const hone_value_t* stored(const hone_value_t* value) {
  while (is_view(value->node)) value = value->node->inputs[0];
  return value;
}

/* How many times as long as from the second cache a byte takes to come where so many are in use,
 * `third` from the third. That one is shared with others: of what is more than a quarter of it
 * nothing is found there. */
static double distance(const images_t* m, double bytes, double third) {
  static const double memory = 10, most = 0.25;
  const hone_pass_options_t* o = m->context->options;
  double near = 0.5 * most * (double)o->far_cache;
  if (bytes <= (double)o->near_cache) return 1;
  return third + (memory - third) * fmin(1, fmax(0, bytes / near - 1));
}

/* The third cache of cores with matrix instructions is far away, and what these read of weights at
 * once waits for it, though it was asked for (docs/cpu.md). Not so where threads take items each:
 * to wait for one another behind each layer of a batch would cost as much. */
static bool is_far(const images_t* m, bool by_blocks) {
  return by_blocks && m->context->options->threads == 1;
}
static double third_of_data(const images_t* m, bool by_blocks) {
  return is_far(m, by_blocks) ? 4 : 2;
}
static double third_of_weights(const images_t* m, bool by_blocks) {
  return is_far(m, by_blocks) ? 8 : 2;
}

/* A layer, for one item. */
typedef struct layer {
  double operations;    /* as many as of f32 take that time */
  double data, weights; /* in bytes */
  bool by_blocks;       /* by matrix instructions */
} layer_t;

static bool has_blocks(const hone_pass_options_t* options, hone_dtype_t dtype) {
  if (dtype == HONE_BF16) return options->sums_blocks;
  return hone_dtype_bits(dtype) == 8 && options->blocks_bytes;
}

/* What an operation takes of that time: devices do the more at once the narrower operands are, by
 * matrix instructions many times as many. */
static double share_of_f32(hone_dtype_t dtype, bool by_blocks) {
  static const double of_blocks = 0.25;
  double share = (double)hone_dtype_size(dtype) / (double)hone_dtype_size(HONE_F32);
  return fmin(1, share) * (by_blocks ? of_blocks : 1);
}

/* Products that a contraction adds up for each result. */
static double count_summed(const hone_node_t* contract) {
  const hone_dim_t* extents = contract->inputs[0]->type.dims;
  double count = 1;
  for (int i = contract->n_batch; 2 * i < contract->n_axes; i++)
    count *= extent_of(extents[contract->axes[2 * i]]);
  return count;
}

/* False where the node is none, or goes together with one. */
static bool look_at(const images_t* m, const hone_node_t* node, layer_t* out) {
  *out = (layer_t){0};
  if (node->n_outputs != 1 || m->items.axis[node->outputs[0]->id] < 0) return false;
  if (node->prim != HONE_PRIM_CONTRACT && node->prim != HONE_PRIM_REDUCE) return false;
  const hone_value_t* first = node->inputs[0];
  out->data = bytes_of(m, node->outputs[0]);
  out->operations =
      bytes_of(m, node->outputs[0]) / (double)hone_dtype_size(node->outputs[0]->type.dtype);
  for (int i = 0; i < node->n_inputs; i++) {
    bool has_items = m->items.axis[node->inputs[i]->id] >= 0;
    *(has_items ? &out->data : &out->weights) += bytes_of(m, stored(node->inputs[i]));
  }
  if (node->prim == HONE_PRIM_CONTRACT) out->operations *= 2 * count_summed(node);
  out->by_blocks =
      node->prim == HONE_PRIM_CONTRACT && has_blocks(m->context->options, first->type.dtype);
  out->operations *= share_of_f32(first->type.dtype, out->by_blocks);
  return true;
}

/* An operation takes about as long as a byte. Kernels ask for weights ahead of time, so that
 * they come while others are worked with; data shows for the most part. */
static double together(double operations, double data, double weights) {
  static const double shows = 0.7;
  return fmax(operations + shows * data, weights);
}

/* Of a batch at once, and one item after the other, when so many bytes of weights are in use. */
static double cost_of_batch(const images_t* m, const layer_t* layer, double weights) {
  double data = m->count * layer->data;
  return together(m->count * layer->operations,
                  data * distance(m, data, third_of_data(m, layer->by_blocks)),
                  layer->weights * distance(m, weights, third_of_weights(m, layer->by_blocks)));
}

/* Kernels that take turns hand on what one makes of an item while it is near, unless each turn
 * would read too many weights again. */
static bool takes_turns(const images_t* m, const layer_t* layer) {
  const hone_pass_options_t* o = m->context->options;
  return o->target && o->target->launch_turns &&
         HONE_TURNS_WEIGHTS * layer->weights <= (double)o->near_cache;
}

static double cost_of_items(const images_t* m, const layer_t* layer, double weights) {
  static const double launch = 5e4;
  double third = third_of_data(m, layer->by_blocks), data = layer->data;
  if (!takes_turns(m, layer)) data *= distance(m, layer->data, third);
  double read = layer->weights * distance(m, weights, third_of_weights(m, layer->by_blocks));
  return m->count * (launch + together(layer->operations, data, read));
}

static double all_weights(const images_t* m) {
  double sum = 0;
  layer_t layer;
  for (int n = 0; n < m->graph->n_nodes; n++)
    if (look_at(m, m->graph->nodes[n], &layer)) sum += layer.weights;
  return sum;
}

/* Those of values that nodes in front of the cut make and others read: they are put
 * together, and read again. */
static double cost_of_crossing(const images_t* m, int cut) {
  double bytes = 0;
  for (int n = 0; n < cut; n++) {
    const hone_node_t* node = m->graph->nodes[n];
    if (node->prim == HONE_PRIM_INPUT || node->n_outputs != 1 || is_view(node)) continue;
    const hone_value_t* value = node->outputs[0];
    if (m->items.axis[value->id] >= 0 && m->last[value->id] >= cut) bytes += bytes_of(m, value);
  }
  return 2 * m->count * bytes * distance(m, m->count * bytes, third_of_data(m, false));
}

/* Tries a cut behind each layer and what goes together with it. Products without weights, as in
 * attention, go item by item within their kernels: where there is nothing else, nothing is cut. */
static void find_cut(images_t* m) {
  double weights = all_weights(m), items_weights = 0, items = 0, rest = 0;
  const hone_graph_t* graph = m->graph;
  layer_t layer;
  for (int n = 0; n < graph->n_nodes; n++)
    if (look_at(m, graph->nodes[n], &layer)) rest += cost_of_batch(m, &layer, weights);
  m->whole = m->cut_cost = rest;
  m->cut = 0;
  if (!(weights > 0)) return;
  for (int n = 0; n < graph->n_nodes; n++) {
    if (look_at(m, graph->nodes[n], &layer)) {
      items_weights += layer.weights;
      items += cost_of_items(m, &layer, items_weights);
      rest -= cost_of_batch(m, &layer, weights);
    }
    double cost = items + rest + (items > 0 ? cost_of_crossing(m, n + 1) : 0);
    if (items == 0 || cost > m->cut_cost) continue;
    m->cut_cost = cost;
    m->cut = n + 1;
  }
}

/* ---- the loop ---- */

static hone_value_t* item_of(hone_builder_t* body, hone_value_t* all, hone_value_t* round) {
  return hone_unsqueeze(body, hone_gather(body, all, round), 0);
}

/* Constants are the body's own, so that kernels can lay them out. */
static hone_value_t* same_for_all(hone_builder_t* body, hone_value_t* outer) {
  if (outer->node->prim != HONE_PRIM_CONSTANT) return outer;
  hone_tensor_retain(outer->node->constant);
  return hone_constant(body, outer->node->constant);
}

static hone_value_t* copy_node(const hone_items_t* items, hone_builder_t* body,
                               const hone_node_t* node, hone_value_t** to) {
  hone_value_t** inputs =
      hone_arena_array(body->graph->arena, (size_t)node->n_inputs, sizeof *inputs);
  if (!inputs) return hone_fail_status(body, hone_oom());
  for (int i = 0; i < node->n_inputs; i++) {
    inputs[i] = to[node->inputs[i]->id];
    if (!inputs[i]) return NULL;
  }
  body->origin = node->origin;
  return hone_items_copy(items, body, node, inputs);
}

/* The body: `to` gets what values of the call's region are in it. */
static void fill_body(const hone_items_t* items, hone_builder_t* body, const hone_node_t* call,
                      hone_value_t* round, hone_value_t** to) {
  const hone_graph_t* region = call->regions[0];
  for (int i = 0; i < call->n_inputs; i++) {
    int id = region->inputs[i]->id;
    to[id] = items->axis[id] >= 0 ? item_of(body, call->inputs[i], round)
                                  : same_for_all(body, call->inputs[i]);
  }
  for (int n = 0; n < region->n_nodes; n++)
    if (region->nodes[n]->prim != HONE_PRIM_INPUT)
      to[region->nodes[n]->outputs[0]->id] = copy_node(items, body, region->nodes[n], to);
}

/* Axes in the region of the call; false where something cannot be told apart after all. */
static bool find_axes_inside(hone_items_t* items, const hone_node_t* call) {
  const hone_graph_t* region = call->regions[0];
  for (int i = 0; i < call->n_inputs; i++)
    items->axis[region->inputs[i]->id] =
        has_items(call->inputs[i]->node, items->count) ? 0 : HONE_ITEMS_NONE;
  find_axes(items, region);
  for (int n = 0; n < region->n_nodes; n++) {
    const hone_node_t* node = region->nodes[n];
    if (node->n_outputs != 1 || items->axis[node->outputs[0]->id] == HONE_ITEMS_MIXED) return false;
  }
  for (int i = 0; i < region->n_outputs; i++)
    if (items->axis[region->outputs[i]->id] < 0) return false;
  return true;
}

static void make_loop(hone_rewriter_t* r, hone_items_t* items, const hone_node_t* call,
                      hone_value_t** to, hone_value_t** results) {
  hone_value_t** parts = results + call->n_outputs;
  const hone_graph_t* region = call->regions[0];
  hone_builder_t body;
  hone_value_t* round;
  hone_loop_open(r->b, label, 0, NULL, &body, &round, NULL);
  fill_body(items, &body, call, round, to);
  body.origin = r->b->origin;
  for (int i = 0; i < region->n_outputs; i++) {
    int id = region->outputs[i]->id;
    parts[i] = hone_squeeze(&body, to[id], items->axis[id]);
  }
  hone_value_t* rounds = hone_dim_scalar(r->b, HONE_I64, items->count);
  hone_loop_close(r->b, &body, rounds, NULL, 0, NULL, NULL, NULL, region->n_outputs, parts,
                  results);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  const images_t* m = r->self;
  if (node->prim != HONE_PRIM_CALL || strcmp(node->label, label) != 0) return NULL;
  const hone_graph_t* region = node->regions[0];
  size_t values = (size_t)region->n_values, outputs = (size_t)region->n_outputs;
  hone_items_t items = {.count = m->items.count,
                        .axis = hone_arena_array(r->graph->arena, values, sizeof(int))};
  hone_value_t** to = hone_arena_array(r->graph->arena, values, sizeof(hone_value_t*));
  hone_value_t** results = hone_arena_array(r->graph->arena, 2 * outputs, sizeof(hone_value_t*));
  if (!items.axis || !to || !results) return hone_fail_status(r->b, hone_oom());
  if (!find_axes_inside(&items, node)) return NULL;
  make_loop(r, &items, node, to, results);
  for (int i = 0; i < node->n_outputs; i++) {
    int axis = items.axis[region->outputs[i]->id];
    results[i] = hone_move_axis(r->b, results[i], 0, axis);
    if (!results[i]) return NULL;
  }
  for (int i = 1; i < node->n_outputs; i++) hone_rewrite_replace(r, node->outputs[i], results[i]);
  hone_pass_did(r->context, node, "and what leads to it is computed item by item");
  return results[0];
}

/* ---- the pass ---- */

static void find_last_uses(images_t* m) {
  const hone_graph_t* graph = m->graph;
  for (int n = 0; n < graph->n_nodes; n++)
    for (int i = 0; i < graph->nodes[n]->n_inputs; i++)
      if (graph->nodes[n]->inputs[i]) m->last[stored(graph->nodes[n]->inputs[i])->id] = n;
  for (int i = 0; i < graph->n_outputs; i++)
    m->last[stored(graph->outputs[i])->id] = graph->n_nodes;
}

static hone_status_t outline(images_t* m) {
  hone_graph_t* graph = m->graph;
  hone_group_t group = {.label = label};
  int* group_of = hone_arena_array(graph->arena, (size_t)graph->n_nodes, sizeof *group_of);
  if (!group_of) return hone_oom();
  for (int n = 0; n < graph->n_nodes; n++) group_of[n] = is_member(m, n) ? 0 : -1;
  HONE_TRY(hone_graph_outline(graph, 1, &group, group_of));
  hone_rewriter_t rewriter = {.context = m->context, .rule = rule, .self = m, .skip_regions = true};
  return group.call ? hone_rewrite_sweep(&rewriter, graph) : NULL;
}

static bool is_asked_for(const hone_pass_context_t* context) { return context->options->by_items; }

/* With more threads than items each item would go round all of them. */
static bool may_pay(const images_t* m) {
  const hone_pass_options_t* options = m->context->options;
  return options->far_cache && m->count >= options->threads;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  static const double enough = 0.999;
  images_t m = {.context = context, .graph = graph, .items = {.count = find_count(graph)}};
  m.count = hone_dim_is_int(m.items.count) ? (double)m.items.count.k : USUAL_ITEMS;
  if (hone_dim_is(m.items.count, 1) || (!is_asked_for(context) && !may_pay(&m))) return NULL;
  HONE_TRY(hone_graph_inline(graph, NULL));
  size_t values = (size_t)graph->n_values;
  m.items.axis = hone_arena_array(graph->arena, values, sizeof(int));
  m.last = hone_arena_array(graph->arena, values, sizeof *m.last);
  if (!m.items.axis || !m.last) return hone_oom();
  for (int i = 0; i < graph->n_inputs; i++)
    m.items.axis[graph->inputs[i]->id] =
        has_items(graph->inputs[i]->node, m.items.count) ? 0 : HONE_ITEMS_NONE;
  find_axes(&m.items, graph);
  find_last_uses(&m);
  find_cut(&m);
  if (is_asked_for(context)) m.cut = graph->n_nodes;
  bool pays = m.cut_cost < enough * m.whole;
  return m.cut && (is_asked_for(context) || pays) ? outline(&m) : NULL;
}

extern const hone_pass_t hone_pass_images;
const hone_pass_t hone_pass_images = {
    .name = "images",
    .summary = "layers of a batch that does not fit the caches are computed item by item",
    .phases = {HONE_PHASE_TIDY + 98},
    .run = run,
};
