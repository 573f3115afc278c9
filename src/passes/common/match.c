#include "passes/common/match.h"

#include <math.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "passes/common/rewrite.h"

hone_node_t* hone_match_prim(const hone_value_t* value, hone_prim_t prim) {
  return value && value->node->prim == prim ? value->node : NULL;
}

hone_node_t* hone_match_prim_once(const hone_value_t* value, hone_prim_t prim) {
  return value && hone_rewrite_used_once(value) ? hone_match_prim(value, prim) : NULL;
}

bool hone_match_is_f32(const hone_value_t* value) {
  return value && value->type.kind == HONE_TYPE_TENSOR && value->type.dtype == HONE_F32;
}

const hone_tensor_t* hone_match_constant(const hone_value_t* value) {
  const hone_node_t* node = hone_match_prim(value, HONE_PRIM_CONSTANT);
  if (!node || hone_tensor_kind(node->constant) != HONE_KIND_TENSOR) return NULL;
  return node->constant;
}

static bool from_constants(const hone_value_t* value, int depth) {
  const hone_node_t* node = value->node;
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  if (node->prim == HONE_PRIM_CONSTANT) return hone_match_constant(value) != NULL;
  if (family == HONE_FAMILY_SOURCE || family == HONE_FAMILY_CONTROL || depth == 0) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (!from_constants(node->inputs[i], depth - 1)) return false;
  return true;
}

bool hone_match_from_constants(const hone_value_t* value) { return from_constants(value, 12); }

/* ---- one number ---- */

static bool read_integer(hone_dtype_t dtype, const void* data, double* out_number) {
  uint64_t bits = 0;
  size_t size = hone_dtype_size(dtype);
  memcpy(&bits, data, size);
  int shift = 64 - 8 * (int)size;
  bool is_unsigned = dtype == HONE_BOOL || hone_dtype_is_unsigned(dtype);
  int64_t value = is_unsigned ? (int64_t)bits : (int64_t)(bits << shift) >> shift;
  if (value > (1ll << 53) || value < -(1ll << 53) || (is_unsigned && value < 0)) return false;
  *out_number = (double)value;
  return true;
}

static bool read_number(const hone_tensor_t* tensor, double* out_number) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  const char* data = hone_tensor_data(tensor);
  int64_t count = hone_tensor_count(tensor);
  size_t size = hone_dtype_size(dtype);
  if (count == 0 || count > (1 << 20)) return false;
  for (int64_t i = 1; i < count; i++)
    if (memcmp(data, data + (size_t)i * size, size) != 0) return false;
  if (hone_dtype_is_float(dtype)) {
    *out_number = hone_to_double(dtype, data);
    return true;
  }
  if (!hone_dtype_is_int(dtype) && dtype != HONE_BOOL) return false;
  return read_integer(dtype, data, out_number);
}

static bool only_moves(hone_prim_t prim) {
  return prim == HONE_PRIM_EXPAND || prim == HONE_PRIM_RESHAPE || prim == HONE_PRIM_PERMUTE ||
         prim == HONE_PRIM_SLICE || prim == HONE_PRIM_FLIP || prim == HONE_PRIM_WINDOW;
}

bool hone_match_number(const hone_value_t* value, double* out_number) {
  while (value && only_moves(value->node->prim)) value = value->node->inputs[0];
  const hone_tensor_t* tensor = hone_match_constant(value);
  return tensor && read_number(tensor, out_number);
}

bool hone_match_is_number(const hone_value_t* value, double number) {
  double found;
  return hone_match_number(value, &found) && found == number && signbit(found) == signbit(number);
}

bool hone_match_with_number(const hone_node_t* node, hone_value_t** out_other, double* out_number) {
  for (int i = 0; node && node->n_inputs == 2 && i < 2; i++) {
    if (!hone_match_number(node->inputs[1 - i], out_number)) continue;
    *out_other = node->inputs[i];
    return true;
  }
  return false;
}

/* ---- shapes ---- */

bool hone_match_same_shape(const hone_value_t* a, const hone_value_t* b) {
  if (!hone_type_is_known(&a->type) || a->type.rank != b->type.rank) return false;
  for (int i = 0; i < a->type.rank; i++)
    if (!hone_dim_same(a->type.dims[i], b->type.dims[i])) return false;
  return true;
}

int64_t hone_match_count(const hone_type_t* type) {
  if (!hone_type_is_static(type)) return -1;
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++)
    if (!hone_i64_mul(count, type->dims[i].k, &count)) return -1;
  return count;
}

int64_t hone_match_bytes(const hone_type_t* type) {
  int64_t count = hone_match_count(type), bytes;
  if (count < 0 || !hone_i64_mul(count, (int64_t)hone_dtype_size(type->dtype), &bytes)) return -1;
  return bytes;
}

void hone_match_invert(int count, const int64_t* axes, int64_t* out_inverse) {
  for (int i = 0; i < count; i++) out_inverse[axes[i]] = i;
}

/* The axis of the reshape's input that becomes its axis `axis`, where one axis
 * does: both have equal extents, and as many elements lie behind them. */
static int through_reshape(const hone_node_t* node, int axis) {
  const hone_type_t *in = &node->inputs[0]->type, *out = &node->outputs[0]->type;
  hone_dims_t* dims = node->graph->dims;
  hone_dim_t behind = hone_dim_product(dims, out->rank - axis - 1, out->dims + axis + 1);
  hone_dim_t inner = hone_dim_int(1);
  for (int i = in->rank - 1; i >= 0; i--) {
    if (hone_dim_same(in->dims[i], out->dims[axis]) && hone_dim_same(inner, behind)) return i;
    inner = hone_dim_mul(dims, inner, in->dims[i]);
  }
  return -1;
}

int hone_match_axis_before(const hone_node_t* node, int axis) {
  if (node->prim == HONE_PRIM_PERMUTE) return (int)node->axes[axis];
  return node->prim == HONE_PRIM_RESHAPE ? through_reshape(node, axis) : axis;
}

int hone_match_partner(const hone_node_t* contract, int side, int64_t axis) {
  for (int i = 0; i < contract->n_axes; i += 2)
    if (contract->axes[i + side] == axis) return (int)contract->axes[i + 1 - side];
  return -1;
}

bool hone_match_is_table(const hone_node_t* node) {
  enum { NUMBERS = 256 };
  return node->prim == HONE_PRIM_GATHER && hone_match_constant(node->inputs[0]) &&
         hone_match_count(&node->inputs[0]->type) == NUMBERS && node->inputs[0]->type.rank == 1;
}
