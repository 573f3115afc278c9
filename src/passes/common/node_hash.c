#include "passes/common/node_hash.h"

#include <string.h>

#include "base/hash.h"
#include "base/tensor_impl.h"

static uint64_t mix_bytes(uint64_t hash, const void* data, size_t size) {
  const char* bytes = data;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    hash = hone_hash_mix(hash, word);
  }
  uint64_t last = size;
  memcpy(&last, bytes, size);
  return hone_hash_mix(hash, last);
}

/* Of large contents a few bytes from all over: whether they are the same is
 * seen by comparing, but weights are large and all are hashed. */
static uint64_t mix_sample(uint64_t hash, const char* data, size_t size) {
  enum { WHOLE = 4096, SAMPLES = 64, SAMPLE = 32 };
  if (size <= WHOLE) return mix_bytes(hash, data, size);
  size_t step = (size - SAMPLE) / (SAMPLES - 1);
  for (size_t i = 0; i < SAMPLES; i++) hash = mix_bytes(hash, data + i * step, SAMPLE);
  return hone_hash_mix(hash, size);
}

uint64_t hone_hash_dims(uint64_t hash, int count, const hone_dim_t* dims) {
  for (int i = 0; dims && i < count; i++) {
    hash = hone_hash_pointer(hash, dims[i].expr);
    hash = hone_hash_mix(hash, dims[i].expr ? 0 : (uint64_t)dims[i].k);
  }
  return hash;
}

bool hone_tensor_is_plain(const hone_tensor_t* tensor) {
  return hone_tensor_kind(tensor) == HONE_KIND_TENSOR && hone_tensor_dtype(tensor) != HONE_STRING;
}

uint64_t hone_node_hash_constant(uint64_t hash, const hone_tensor_t* tensor) {
  /* Those that are made when somebody asks for them are not made for this. */
  if (!hone_tensor_is_plain(tensor) || hone_tensor_is_late(tensor))
    return hone_hash_pointer(hash, tensor);
  hash = hone_hash_mix(hash, hone_tensor_dtype(tensor));
  for (int i = 0; i < hone_tensor_rank(tensor); i++)
    hash = hone_hash_mix(hash, (uint64_t)hone_tensor_dims(tensor)[i]);
  return mix_sample(hash, hone_tensor_data(tensor), hone_tensor_bytes(tensor));
}

uint64_t hone_node_hash(uint64_t hash, const hone_node_t* node) {
  hash = hone_hash_mix(
      hash, ((uint64_t)node->prim << 32) | ((uint64_t)node->dtype << 16) | node->combine);
  hash = hone_hash_mix(hash, ((uint64_t)node->n_batch << 32) | (uint64_t)node->n_inputs);
  hash = hone_hash_mix(hone_hash_mix(hash, (uint64_t)node->flags), (uint64_t)node->seed);
  for (int i = 0; i < node->n_axes; i++) hash = hone_hash_mix(hash, (uint64_t)node->axes[i]);
  const hone_dim_t* lists[] = {node->shape, node->lo, node->hi, node->step};
  for (int i = 0; i < 4; i++) hash = hone_hash_dims(hash, node->n_dims, lists[i]);
  return hash;
}

/* ---- the same ---- */

static bool same_dims(int count, const hone_dim_t* a, const hone_dim_t* b) {
  if (!a != !b) return false;
  for (int i = 0; a && i < count; i++)
    if (!hone_dim_same(a[i], b[i])) return false;
  return true;
}

static bool same_constant(const hone_tensor_t* a, const hone_tensor_t* b) {
  if (a == b) return true;
  if (!a || !b || !hone_tensor_is_plain(a) || !hone_tensor_is_plain(b)) return false;
  int rank = hone_tensor_rank(a);
  return hone_tensor_dtype(a) == hone_tensor_dtype(b) && rank == hone_tensor_rank(b) &&
         memcmp(hone_tensor_dims(a), hone_tensor_dims(b), (size_t)rank * sizeof(int64_t)) == 0 &&
         memcmp(hone_tensor_data(a), hone_tensor_data(b), hone_tensor_bytes(a)) == 0;
}

static bool same_fields(const hone_node_t* a, const hone_node_t* b) {
  return a->graph == b->graph && a->prim == b->prim && a->dtype == b->dtype &&
         a->combine == b->combine && a->n_batch == b->n_batch && a->flags == b->flags &&
         a->seed == b->seed && a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs &&
         a->n_axes == b->n_axes && a->n_dims == b->n_dims;
}

bool hone_node_does_same(const hone_node_t* a, const hone_node_t* b) {
  if (!same_fields(a, b)) return false;
  for (int i = 0; i < a->n_axes; i++)
    if (a->axes[i] != b->axes[i]) return false;
  for (int i = 0; i < a->n_outputs; i++)
    if (!hone_type_same(&a->outputs[i]->type, &b->outputs[i]->type)) return false;
  return same_dims(a->n_dims, a->shape, b->shape) && same_dims(a->n_dims, a->lo, b->lo) &&
         same_dims(a->n_dims, a->hi, b->hi) && same_dims(a->n_dims, a->step, b->step) &&
         same_constant(a->constant, b->constant);
}
