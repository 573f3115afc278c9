#include "passes/common/sums.h"

#include <math.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "passes/common/match.h"

static const hone_value_t* unmoved(const hone_value_t* value) {
  while (value->node->prim == HONE_PRIM_PERMUTE || value->node->prim == HONE_PRIM_RESHAPE)
    value = value->node->inputs[0];
  return value;
}

const hone_node_t* hone_sums_find(const hone_value_t* value) {
  const hone_node_t* cast = hone_match_prim(unmoved(value), HONE_PRIM_CAST);
  const hone_value_t* sums = cast && cast->dtype == HONE_I32 ? cast->inputs[0] : value;
  const hone_node_t* contract = hone_match_prim(unmoved(sums), HONE_PRIM_CONTRACT);
  return contract && contract->dtype == (sums == value ? HONE_I32 : HONE_F32) ? contract : NULL;
}

/* The largest size of whole numbers that are bytes; 0: not all of them are. */
static int64_t reach_of_floats(const hone_tensor_t* weights) {
  float most = 0;
  const hone_loose_f32_t* numbers = hone_tensor_data(weights);
  for (int64_t i = 0; i < hone_tensor_count(weights); i++) {
    float size = fabsf(numbers[i]);
    if (!(size <= UINT8_MAX && rintf(size) == size)) return 0;
    most = fmaxf(most, size);
  }
  return (int64_t)most;
}

/* The largest size that one of its numbers can have; 0: they are no bytes. */
static int64_t reach(const hone_value_t* value) {
  if (value->type.kind != HONE_TYPE_TENSOR) return 0;
  return value->type.dtype == HONE_U8 ? UINT8_MAX : value->type.dtype == HONE_I8 ? -INT8_MIN : 0;
}

/* The same of an operand that may be of f32 by now. */
static int64_t reach_of_operand(const hone_value_t* value) {
  if (reach(value)) return reach(value);
  value = unmoved(value);
  const hone_tensor_t* weights = hone_match_constant(value);
  if (weights) return hone_tensor_dtype(weights) == HONE_F32 ? reach_of_floats(weights) : 0;
  const hone_node_t* cast = hone_match_prim(value, HONE_PRIM_CAST);
  return cast ? reach(cast->inputs[0]) : 0;
}

/* Products in each sum; INT64_MAX: nobody knows. */
static int64_t count_products(const hone_node_t* contract) {
  int64_t count = 1;
  for (int i = 2 * contract->n_batch; i < contract->n_axes; i += 2) {
    hone_dim_t extent = contract->inputs[0]->type.dims[contract->axes[i]];
    if (!hone_i64_mul(count, hone_dim_max_value(extent), &count)) return INT64_MAX;
  }
  return count;
}

int64_t hone_sums_reach(const hone_node_t* contract) {
  int64_t each = reach_of_operand(contract->inputs[0]) * reach_of_operand(contract->inputs[1]);
  return hone_i64_mul(each, count_products(contract), &each) ? each : 0;
}
