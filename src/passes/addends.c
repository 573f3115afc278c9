/* Results that wait: where the results of two contractions are added up, as behind a block with a
 * convolution beside it, one of them lies in memory until the other one is there. It is stored as
 * operands of products are, so that memory holds numbers of 16 bits.
 *
 * Runs only where options->precision asks for narrow products, and where these are done by matrix
 * instructions (options->sums_blocks), beside which memory is what takes the time. */
#include "base/map.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

typedef struct addends {
  hone_map_t place;   /* of a node in the graph, from 1 */
  hone_map_t uses;    /* of a value, how many */
  hone_map_t waiting; /* nodes whose results are stored */
  hone_dtype_t dtype;
} addends_t;

static uint64_t key_of(const void* at) { return (uint64_t)(uintptr_t)at; }

/* The operand of a node that works element by element, where it has but one that is no constant. */
static hone_value_t* only_operand(const hone_node_t* node) {
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  if (family == HONE_FAMILY_UNARY) return node->inputs[0];
  if (family != HONE_FAMILY_BINARY) return NULL;
  for (int i = 0; i < 2; i++)
    if (hone_match_constant(hone_operand_origin(node->inputs[i]))) return node->inputs[1 - i];
  return NULL;
}

static uintptr_t number_of(const hone_map_t* map, const void* at) {
  return (uintptr_t)hone_map_get_u64(map, key_of(at));
}

static hone_status_t add_use(addends_t* self, const hone_value_t* value) {
  if (!value) return NULL;
  return hone_map_put_u64(&self->uses, key_of(value), (void*)(number_of(&self->uses, value) + 1));
}

/* Whether the value comes from a contraction, element by element, and nobody else uses it. */
static bool is_of_contraction(const addends_t* self, const hone_value_t* value) {
  while (value && number_of(&self->uses, value) == 1) {
    if (value->node->prim == HONE_PRIM_CONTRACT) return value->type.dtype == HONE_F32;
    value = only_operand(value->node);
  }
  return false;
}

static bool is_large(const hone_value_t* value) {
  enum { NEAR = 1 << 16 /* bytes that are in the first cache or not far behind it */ };
  return hone_match_count(&value->type) * (int64_t)sizeof(float) >= NEAR;
}

/* Notes whichever addend is there first: a kernel that makes the other one adds it. */
static hone_status_t note(addends_t* self, hone_node_t* node, uintptr_t number) {
  HONE_TRY(hone_map_put_u64(&self->place, key_of(node), (void*)number));
  if (node->prim != HONE_PRIM_ADD || !is_large(node->outputs[0]) ||
      !is_of_contraction(self, node->inputs[0]) || !is_of_contraction(self, node->inputs[1]))
    return NULL;
  const hone_node_t *a = node->inputs[0]->node, *b = node->inputs[1]->node;
  bool is_first = number_of(&self->place, a) < number_of(&self->place, b);
  return hone_map_put_u64(&self->waiting, key_of(is_first ? a : b), node);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  const addends_t* self = r->self;
  if (!hone_map_get_u64(&self->waiting, key_of(node))) return NULL;
  hone_value_t* now = hone_rewrite_copy(r, node, node->inputs);
  hone_value_t* narrow = now ? hone_cast_flags(r->b, now, self->dtype, HONE_FLAG_FLUSHES) : NULL;
  hone_value_t* wide = narrow ? hone_cast(r->b, narrow, HONE_F32) : NULL;
  if (wide) hone_pass_did(r->context, node, "waits in %s", hone_dtype_name(self->dtype));
  return wide;
}

static hone_status_t note_all(addends_t* self, const hone_graph_t* graph) {
  for (int i = 0; i < graph->n_outputs; i++) HONE_TRY(add_use(self, graph->outputs[i]));
  for (int i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      HONE_TRY(add_use(self, graph->nodes[i]->inputs[k]));
  for (int i = 0; i < graph->n_nodes; i++) HONE_TRY(note(self, graph->nodes[i], (uintptr_t)i + 1));
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  addends_t self = {.dtype = context->options->precision};
  if (self.dtype != HONE_BF16 || !context->options->sums_blocks) return NULL;
  hone_map_t* const maps[] = {&self.place, &self.uses, &self.waiting};
  for (int i = 0; i < 3; i++) hone_map_init(maps[i], graph->allocator);
  hone_rewriter_t r = {.context = context, .self = &self, .rule = rule, .skip_regions = true};
  hone_status_t status = note_all(&self, graph);
  if (!status && hone_map_count(&self.waiting)) status = hone_rewrite_sweep(&r, graph);
  for (int i = 0; i < 3; i++) hone_map_free(maps[i]);
  return status;
}

extern const hone_pass_t hone_pass_addends;
const hone_pass_t hone_pass_addends = {
    .name = "addends",
    .summary = "what waits to be added to a product is stored in bf16, where tiles do products",
    .phases = {HONE_PHASE_TIDY - 14},
    .run = run,
};
