/* Sequences whose members are known; types of sequences. */
#include "ops/common/sequence.h"

#include <string.h>

#include "base/memory.h"
#include "ops/common/scope.h"

int hone_sequence_members(const hone_value_t* sequence, hone_value_t* const** out_members) {
  const hone_node_t* node = sequence->node;
  if (node->prim != HONE_PRIM_HOST || node->host->deferred ||
      strcmp(node->host->op->name, "SequenceConstruct") != 0)
    return -1;
  *out_members = node->inputs;
  return node->n_inputs;
}

hone_type_t hone_sequence_type(hone_builder_t* b, const hone_type_t* element) {
  hone_type_t type = {.kind = HONE_TYPE_SEQUENCE, .rank = -1};
  if (!element) return type;
  hone_type_t bare = *element;
  bare.dims = NULL;
  type.element = hone_arena_memdup(b->graph->arena, &bare, sizeof bare);
  if (!type.element) hone_fail_status(b, hone_oom());
  return type;
}

hone_type_t hone_sequence_element(const hone_type_t* type) {
  if ((type->kind != HONE_TYPE_SEQUENCE && type->kind != HONE_TYPE_OPTIONAL) || !type->element)
    return hone_type_any();
  hone_type_t element = *type->element;
  element.dims = NULL;
  if (element.kind == HONE_TYPE_TENSOR && element.rank < 0) return hone_type_any();
  return element;
}

hone_type_t hone_sequence_joined(hone_builder_t* b, const hone_type_t* sequence,
                                 const hone_type_t* item) {
  hone_type_t single = hone_sequence_type(b, item);
  return hone_type_cover(b, sequence, &single, 0);
}

hone_value_t* hone_sequence_call(hone_lower_t* l, hone_builder_t* b, const char* op_name,
                                 int n_inputs, hone_value_t* const* inputs,
                                 const hone_type_t* type) {
  if (!hone_builder_ok(b)) return NULL;
  hone_host_t* host = hone_arena_alloc(b->graph->arena, sizeof *host);
  hone_value_t** list = hone_arena_memdup(b->graph->arena, inputs, (size_t)n_inputs * sizeof *list);
  if (!host || !list) return hone_fail_status(b, hone_oom());
  const int64_t opset = 17;
  *host = (hone_host_t){.op = hone_op_find("", op_name, opset, NULL),
                        .node = l->node,
                        .model = l->scope->lowering->model,
                        .n_opsets = l->scope->n_opsets,
                        .opsets = l->scope->opsets,
                        .opset = opset};
  if (!host->op) return hone_fail(b, HONE_INTERNAL, "no operator %s", op_name);
  hone_node_t* node = hone_host_emit(b, host, n_inputs, list, 1, type);
  return node ? node->outputs[0] : NULL;
}

hone_value_t* hone_sequence_of(hone_lower_t* l, hone_builder_t* b, int count,
                               hone_value_t* const* members) {
  hone_type_t none = {.kind = HONE_TYPE_TENSOR, .rank = HONE_RANK_NONE};
  hone_type_t type = hone_sequence_type(b, &none);
  for (int i = 0; i < count; i++) {
    if (!members[i]) return NULL;
    if (i == 0)
      type = hone_sequence_type(b, &members[i]->type);
    else
      type = hone_sequence_joined(b, &type, &members[i]->type);
  }
  return hone_sequence_call(l, b, "SequenceConstruct", count, members, &type);
}

hone_value_t* hone_sequence_member(hone_lower_t* l, hone_value_t* sequence, hone_value_t* at) {
  hone_value_t* const* members;
  int count = hone_sequence_members(sequence, &members);
  const hone_tensor_t* known = hone_known_tensor(l->b, at);
  if (count < 0 || !known || hone_tensor_count(known) != 1) return NULL;
  int64_t index = hone_tensor_i64(known, 0);
  if (index < 0) index += count;
  return index >= 0 && index < count ? members[index] : NULL;
}
