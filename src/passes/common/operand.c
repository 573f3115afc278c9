#include "passes/common/operand.h"

#include "passes/common/match.h"

bool hone_operand_only_moves(const hone_node_t* node) {
  return node->prim == HONE_PRIM_RESHAPE || node->prim == HONE_PRIM_PERMUTE ||
         node->prim == HONE_PRIM_EXPAND || node->prim == HONE_PRIM_SLICE ||
         node->prim == HONE_PRIM_PAD || node->prim == HONE_PRIM_FLIP ||
         node->prim == HONE_PRIM_WINDOW;
}

hone_value_t* hone_operand_origin(hone_value_t* value) {
  while (hone_operand_only_moves(value->node)) value = value->node->inputs[0];
  return value;
}

bool hone_operand_has_pairs(const hone_node_t* contract) {
  for (int i = 2 * contract->n_batch; i < contract->n_axes; i += 2) {
    hone_dim_t extent = contract->inputs[0]->type.dims[contract->axes[i]];
    if (hone_dim_is_int(extent) && extent.k % 2 == 0) return true;
  }
  return false;
}

int64_t hone_operand_uses(const hone_node_t* contract, int side) {
  const hone_type_t* type = &contract->inputs[side]->type;
  int64_t results = hone_match_count(&contract->outputs[0]->type), own = hone_match_count(type);
  if (results <= 0 || own <= 0) return INT64_MAX;
  double summed = 1;
  for (int i = 2 * contract->n_batch; i < contract->n_axes; i += 2)
    summed *= (double)type->dims[contract->axes[i + side]].k;
  return (int64_t)((double)results * summed / (double)own);
}
