/* Sources: constants, indices, sizes and random numbers. */
#include "backends/ref/kernels.h"
#include "base/random.h"

static hone_status_t constant(ref_call_t* call) {
  hone_tensor_retain(call->node->constant);
  call->out[0] = hone_ref_view(call->node->constant);
  return NULL;
}

static hone_status_t iota(ref_call_t* call) {
  const hone_node_t* node = call->node;
  ref_view_t* out = &call->out[0];
  HONE_TRY(hone_ref_make(call->allocator, node->dtype, node->n_dims, call->shape, out));
  int64_t axis = node->axes[0], inner = 1, count = hone_ref_count(out);
  for (int i = (int)axis + 1; i < node->n_dims; i++) inner *= call->shape[i];
  bool is_float = hone_scalar_class(node->dtype) == HONE_SCALAR_F64;
  size_t size = hone_dtype_size(node->dtype);
  hone_scalar_t row[HONE_REF_ROW];
  for (int64_t at = 0; at < count; at += HONE_REF_ROW) {
    int64_t n = count - at < HONE_REF_ROW ? count - at : HONE_REF_ROW;
    for (int64_t i = 0; i < n; i++) {
      int64_t index = (at + i) / inner % call->shape[axis];
      row[i] = is_float ? (hone_scalar_t){.f = (double)index} : (hone_scalar_t){.i = index};
    }
    hone_scalar_store(node->dtype, row, n, out->data + (size_t)at * size);
  }
  return NULL;
}

static hone_status_t dims(ref_call_t* call) {
  int64_t count = call->node->n_dims;
  HONE_TRY(hone_ref_make(call->allocator, HONE_I64, 1, &count, &call->out[0]));
  int64_t* out = hone_tensor_data(call->out[0].base);
  for (int64_t i = 0; i < count; i++) out[i] = hone_dim_eval(call->node->shape[i], call->symbols);
  return NULL;
}

/* The top 24 (53) bits of the stream make a float (double) in [0, 1). */
static hone_status_t random_numbers(ref_call_t* call) {
  const hone_node_t* node = call->node;
  ref_view_t* out = &call->out[0];
  HONE_TRY(hone_ref_make(call->allocator, node->dtype, node->n_dims, call->shape, out));
  uint64_t seed = (uint64_t)node->seed ^ call->round_key;
  if (node->flags & HONE_FLAG_UNSEEDED) seed ^= call->run_seed * 0x9e3779b97f4a7c15u;
  int64_t count = hone_ref_count(out);
  size_t size = hone_dtype_size(node->dtype);
  for (int64_t i = 0; i < count; i++) {
    uint64_t high = hone_random_u32(seed, 2 * (uint64_t)i);
    uint64_t low = hone_random_u32(seed, 2 * (uint64_t)i + 1);
    hone_scalar_t value = {.f = node->dtype == HONE_F64
                                    ? (double)((high << 32 | low) >> 11) * 0x1p-53
                                    : (double)(high >> 8) * 0x1p-24};
    hone_scalar_store(node->dtype, &value, 1, out->data + (size_t)i * size);
  }
  return NULL;
}

hone_status_t hone_ref_source(ref_call_t* call) {
  switch (call->node->prim) {
    case HONE_PRIM_CONSTANT:
      return constant(call);
    case HONE_PRIM_IOTA:
      return iota(call);
    case HONE_PRIM_DIMS:
      return dims(call);
    case HONE_PRIM_RANDOM:
      return random_numbers(call);
    default:
      return hone_status_make(HONE_INTERNAL, "%s cannot be computed",
                              hone_prim_info(call->node->prim)->name);
  }
}
