/* Slight weights: where the device multiplies bytes by slight weights (ir/slight.h) faster than
 * it multiplies any others (options->sums_slight), weights that are not slight become the sum of
 * some that are and of a rest, which is nearly all zeros, and the contraction that of two:
 *
 *   contract(x, w)   becomes   contract(x, slight) + contract(x, rest)
 *
 * Bytes that have a sign lose it first, by 128 more than they were, and what that adds to the sums
 * is taken off again. They are the same numbers, since sums of integers are exact. The rest is for
 * those who multiply by zeros without doing it. Bytes that others want in 16 bits anyway (pass
 * `shorts`) are left to them: it is done for all that multiply the same numbers, or none. */
#include "passes/common/slight.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "ir/sparse.h"
#include "passes/common/fusion.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

/* A contraction whose weights could be split. */
typedef struct member {
  struct member* next;
  const hone_node_t* node;
  struct source* source;
  hone_slight_weights_t weights;
  hone_slight_split_t split;
} member_t;

/* What is multiplied, and what its contractions take, in cycles of one core. */
typedef struct source {
  bool stays; /* somebody multiplies it by something else */
  double now, then;
} source_t;

typedef struct slight {
  hone_arena_t* arena;
  const hone_pass_options_t* options;
  member_t* first;
  hone_map_t sources; /* source_t by the value's address */
  hone_map_t members; /* member_t by the node's */
  hone_operand_store_t flipped;
} slight_t;

static uint64_t key_of(const void* thing) { return (uint64_t)(uintptr_t)thing; }

/* ---- what it takes ---- */

static bool has_unit_steps(const hone_node_t* slice) {
  for (int i = 0; i < slice->inputs[0]->type.rank; i++)
    if (!hone_dim_is(slice->step[i], 1)) return false;
  return true;
}

/* Rows that lie in one run: of a step of more than one along an image, those of one of its rows. */
static double rows_in_run(const member_t* m, double rows) {
  const hone_value_t* data = m->node->inputs[1 - m->weights.side];
  int64_t axis = data->type.rank - 1;
  if (m->node->axes[1 - m->weights.side] == axis) axis--;
  for (const hone_value_t* v = data; hone_operand_only_moves(v->node); v = v->node->inputs[0])
    if (v->node->prim == HONE_PRIM_SLICE && !has_unit_steps(v->node) && axis >= 0)
      return (double)hone_dim_max_value(data->type.dims[axis]);
  return rows;
}

/* Products a cycle: of numbers of 16 bits in twos, and of bytes in eights, as measured on x86 with
 * AVX2. Numbers of the rest are multiplied for 16 rows at once; its results are written and read.
 */
static void add_costs(const member_t* m, source_t* s) {
  static const double shorts = 24, eights = 37, number = 0.85, result = 1;
  enum { ROWS = 16 };
  double rows = (double)hone_operand_uses(m->node, m->weights.side);
  double products = (double)hone_tensor_count(m->weights.tensor) * rows;
  double columns = products / rows / (double)m->weights.extent;
  double run = rows_in_run(m, rows), vectors = rows / run * ceil(run / ROWS);
  s->now += products / shorts;
  s->then += products / eights;
  if (m->split.numbers)
    s->then += (double)m->split.numbers * number * vectors + rows * columns * result;
}

/* Whether a rest can be multiplied by without its zeros: rows whose number is known, and sums and
 * columns as the tactic `sparse` takes them. */
static bool has_use(const member_t* m) {
  enum { FEW_ROWS = 16 /* a vector, of which less is not worth it */ };
  const hone_slight_weights_t* w = &m->weights;
  int64_t rows = hone_operand_uses(m->node, w->side), count = hone_tensor_count(w->tensor);
  return !m->split.numbers ||
         (rows >= FEW_ROWS && rows != INT64_MAX && w->extent <= HONE_SPARSE_SUMS &&
          m->split.numbers * HONE_SPARSE_SHARE <= count && count >= HONE_SPARSE_FEWEST &&
          m->node->outputs[0]->type.rank > 1 && w->side == 1);
}

/* ---- which ---- */

static source_t* source_of(slight_t* self, const hone_value_t* value) {
  source_t* s = hone_map_get_u64(&self->sources, key_of(value));
  if (s) return s;
  s = hone_arena_alloc(self->arena, sizeof *s);
  if (!s) return NULL;
  *s = (source_t){0};
  hone_status_t status = hone_map_put_u64(&self->sources, key_of(value), s);
  if (!status) return s;
  hone_status_free(status);
  return NULL;
}

static hone_status_t add_member(slight_t* self, const hone_graph_t* graph, const hone_node_t* node,
                                const hone_slight_weights_t* weights, source_t* source) {
  member_t* m = hone_arena_alloc(self->arena, sizeof *m);
  if (!m) return hone_oom();
  *m = (member_t){.next = self->first, .node = node, .source = source, .weights = *weights};
  self->first = m;
  HONE_TRY(hone_slight_split(graph->allocator, weights, &m->split));
  HONE_TRY(hone_map_put_u64(&self->members, key_of(node), m));
  source->stays |= !has_use(m);
  add_costs(m, source);
  return NULL;
}

/* Which operand is weights, and the other no constant; -1: none. */
static int find_data(const hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_I32) return -1;
  for (int side = 0; side < 2; side++)
    if (hone_match_constant(hone_operand_origin(node->inputs[side])) &&
        !hone_match_constant(hone_operand_origin(node->inputs[1 - side])))
      return 1 - side;
  return -1;
}

static hone_status_t look_at(slight_t* self, const hone_graph_t* graph, const hone_node_t* node) {
  hone_slight_weights_t weights;
  int data = find_data(node);
  if (data < 0) return NULL;
  source_t* source = source_of(self, hone_operand_origin(node->inputs[data]));
  if (!source) return hone_oom();
  if (hone_slight_find(self->options, node, &weights) &&
      hone_fusion_is_member(hone_operand_origin(node->inputs[data])->node))
    return add_member(self, graph, node, &weights, source);
  source->stays = true;
  return NULL;
}

/* ---- splitting ---- */

static bool is_chosen(const member_t* m) {
  static const double least_gain = 1.05;
  const source_t* s = m->source;
  return (m->split.numbers || m->weights.flips) && !s->stays && s->now > least_gain * s->then;
}

/* The contraction of bytes without a sign by other weights, which the graph keeps from now on. */
static hone_value_t* multiply(hone_rewriter_t* r, const member_t* m, hone_value_t* data,
                              hone_tensor_t** weights) {
  hone_value_t* inputs[2];
  inputs[1 - m->weights.side] = data;
  inputs[m->weights.side] = hone_constant(r->b, *weights);
  *weights = NULL;
  return hone_builder_ok(r->b) ? hone_rewrite_copy(r, m->node, inputs) : NULL;
}

/* -128 times the sums of the weights, laid out for the result. */
static hone_value_t* excess(hone_rewriter_t* r, const member_t* m) {
  const hone_slight_weights_t* w = &m->weights;
  int64_t dims[HONE_MAX_RANK];
  hone_tensor_t* sums;
  int rank = hone_tensor_rank(w->tensor);
  for (int i = 0; i < rank; i++)
    dims[i] = i == m->node->axes[w->side] ? 1 : hone_tensor_dims(w->tensor)[i];
  hone_status_t status = hone_tensor_create(r->graph->allocator, HONE_I32, rank, dims, &sums);
  if (status) return hone_fail_status(r->b, status);
  const int8_t* from = hone_tensor_data(w->tensor);
  int32_t* to = hone_tensor_data(sums);
  memset(to, 0, hone_tensor_bytes(sums));
  for (int64_t i = 0; i < w->outer * w->extent; i++)
    for (int64_t k = 0; k < w->inner; k++)
      to[i / w->extent * w->inner + k] += INT8_MIN * from[i * w->inner + k];
  return hone_operand_lay_out(r->b, m->node, w->side, hone_constant(r->b, sums));
}

static hone_value_t* split(hone_rewriter_t* r, member_t* m) {
  slight_t* self = r->self;
  const hone_slight_weights_t* w = &m->weights;
  hone_value_t* data = m->node->inputs[1 - w->side];
  hone_value_t* offset = w->flips ? excess(r, m) : NULL;
  if (w->flips) data = hone_operand_convert(&self->flipped, r, data);
  if (!data) return NULL;
  hone_value_t* rest = m->split.numbers ? multiply(r, m, data, &m->split.rest) : NULL;
  hone_value_t* sums = multiply(r, m, data, &m->split.slight);
  if (rest) sums = hone_add(r->b, sums, rest);
  return offset ? hone_add(r->b, sums, offset) : sums;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  slight_t* self = r->self;
  member_t* m = hone_map_get_u64(&self->members, key_of(node));
  if (!m || !is_chosen(m)) return NULL;
  hone_value_t* now = split(r, m);
  if (now) hone_pass_did(r->context, node, "multiplies by slight weights");
  return now;
}

/* ---- the pass ---- */

static void release(member_t* m) {
  hone_tensor_release(m->split.slight);
  hone_tensor_release(m->split.rest);
  m->split.slight = m->split.rest = NULL;
}

static hone_status_t rewrite(hone_pass_context_t* context, hone_graph_t* graph, slight_t* self) {
  for (int i = 0; i < graph->n_nodes; i++) HONE_TRY(look_at(self, graph, graph->nodes[i]));
  for (member_t* m = self->first; m; m = m->next)
    if (!is_chosen(m)) release(m);
  hone_rewriter_t rewriter = {.context = context, .self = self, .rule = rule, .skip_regions = true};
  return self->first ? hone_rewrite_sweep(&rewriter, graph) : NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  slight_t self = {.options = context->options};
  if (!context->options->sums_slight) return NULL;
  hone_map_init(&self.sources, graph->allocator);
  hone_map_init(&self.members, graph->allocator);
  hone_operand_store_open(&self.flipped, graph->allocator, HONE_U8);
  self.flipped.flips_sign = true;
  hone_status_t status = hone_arena_create(graph->allocator, &self.arena);
  if (!status) status = rewrite(context, graph, &self);
  for (member_t* m = self.first; m; m = m->next) release(m);
  hone_map_free(&self.sources);
  hone_map_free(&self.members);
  hone_operand_store_close(&self.flipped);
  hone_arena_destroy(self.arena);
  if (!status && context->count)
    hone_pass_note(context, "%" PRId64 " contractions by slight weights and a rest",
                   context->count);
  return status;
}

extern const hone_pass_t hone_pass_slight;
const hone_pass_t hone_pass_slight = {
    .name = "slight",
    .summary = "weights of bytes are split so that most of the products can be added up in 16 bits",
    .phases = {HONE_PHASE_TIDY + 91},
    .run = run,
};
