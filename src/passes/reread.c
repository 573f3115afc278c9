/* Numbers that products take in 16 bits, read so by others too: where all else that reads a value
 * works element by element, as the addition behind a residual block does, it takes the rounded
 * numbers, so that memory holds these alone, and not those of 32 bits beside them.
 *
 * Runs only where options->precision asks for narrow products; the results of the model, and what
 * is summed up, are not rounded for this. */
#include <inttypes.h>

#include "base/map.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

typedef struct reread {
  hone_map_t narrow; /* values that are cast to the precision */
  hone_map_t wide;   /* values that somebody wants as they are */
  hone_operand_store_t store;
} reread_t;

/* Numbers of values change while a graph is rewritten; they stay where they are. */
static uint64_t key_of(const hone_value_t* value) { return (uint64_t)(uintptr_t)value; }

static bool narrows(const reread_t* self, const hone_node_t* node) {
  return node->prim == HONE_PRIM_CAST && node->dtype == self->store.dtype &&
         hone_match_is_f32(node->inputs[0]);
}

static bool goes_by_elements(const hone_node_t* node) {
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  return family == HONE_FAMILY_UNARY || family == HONE_FAMILY_BINARY ||
         family == HONE_FAMILY_SELECT;
}

static hone_status_t note_reads(reread_t* self, const hone_node_t* node) {
  bool is_narrow = narrows(self, node);
  if (!is_narrow && goes_by_elements(node)) return NULL;
  for (int i = 0; i < node->n_inputs; i++)
    if (hone_match_is_f32(node->inputs[i]))
      HONE_TRY(hone_map_put_u64(is_narrow ? &self->narrow : &self->wide, key_of(node->inputs[i]),
                                node->inputs[i]));
  return NULL;
}

static hone_status_t note_graph(reread_t* self, const hone_graph_t* graph) {
  for (int i = 0; i < graph->n_nodes; i++) HONE_TRY(note_reads(self, graph->nodes[i]));
  for (int i = 0; i < graph->n_outputs; i++)
    HONE_TRY(hone_map_put_u64(&self->wide, key_of(graph->outputs[i]), graph->outputs[i]));
  return NULL;
}

/* Inputs of the model, and what is stored as it is in any case, stay. */
static bool is_stored_narrow(const reread_t* self, const hone_value_t* value) {
  return value && value->node->prim != HONE_PRIM_INPUT &&
         hone_map_get_u64(&self->narrow, key_of(value)) &&
         !hone_map_get_u64(&self->wide, key_of(value));
}

/* The first cast serves all readers. */
static hone_value_t* share_cast(hone_rewriter_t* r, hone_node_t* node) {
  reread_t* self = r->self;
  hone_value_t* known = hone_map_get_u64(&self->store.made, key_of(node->inputs[0]));
  hone_status_t status =
      known ? NULL : hone_map_put_u64(&self->store.made, key_of(node->inputs[0]), node->outputs[0]);
  if (status) return hone_fail_status(r->b, status);
  if (known) hone_pass_did(r->context, node, "is made already");
  return known;
}

/* The node with other inputs, whose result is read as its own was. */
static hone_value_t* replace(hone_rewriter_t* r, const hone_node_t* node,
                             hone_value_t* const* inputs) {
  reread_t* self = r->self;
  hone_value_t *old = node->outputs[0], *now = hone_rewrite_copy(r, node, inputs);
  hone_map_t* maps[] = {&self->narrow, &self->wide};
  for (int i = 0; i < 2 && now; i++) {
    if (!hone_map_get_u64(maps[i], key_of(old))) continue;
    hone_status_t status = hone_map_put_u64(maps[i], key_of(now), now);
    if (status) return hone_fail_status(r->b, status);
  }
  if (now) hone_pass_did(r->context, node, "reads %s", hone_dtype_name(self->store.dtype));
  return now;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  enum { MOST_INPUTS = 3 };
  reread_t* self = r->self;
  hone_value_t* inputs[MOST_INPUTS];
  bool changes = false;
  if (narrows(self, node)) return share_cast(r, node);
  if (!goes_by_elements(node) || node->n_inputs > MOST_INPUTS) return NULL;
  for (int i = 0; i < node->n_inputs; i++) {
    inputs[i] = node->inputs[i];
    if (!is_stored_narrow(self, inputs[i])) continue;
    hone_value_t* narrow = hone_operand_convert(&self->store, r, inputs[i]);
    inputs[i] = narrow ? hone_cast(r->b, narrow, HONE_F32) : NULL;
    if (!inputs[i]) return NULL;
    changes = true;
  }
  return changes ? replace(r, node, inputs) : NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  hone_dtype_t dtype = context->options->precision;
  if (dtype == HONE_UNKNOWN) return NULL;
  reread_t self = {.store.flips_sign = false};
  hone_map_init(&self.narrow, graph->allocator);
  hone_map_init(&self.wide, graph->allocator);
  hone_operand_store_open_rounding(&self.store, graph->allocator, dtype);
  hone_rewriter_t rewriter = {
      .context = context, .self = &self, .rule = rule, .skip_regions = true};
  hone_status_t status = note_graph(&self, graph);
  if (!status && hone_map_count(&self.narrow)) status = hone_rewrite_sweep(&rewriter, graph);
  hone_map_free(&self.narrow);
  hone_map_free(&self.wide);
  hone_operand_store_close(&self.store);
  return status;
}

extern const hone_pass_t hone_pass_reread;
const hone_pass_t hone_pass_reread = {
    .name = "reread",
    .summary =
        "what products take in bf16 or f16 is read so by what goes element by element (rounds)",
    .phases = {HONE_PHASE_TIDY - 15},
    .run = run,
};
