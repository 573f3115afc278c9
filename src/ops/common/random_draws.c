/* What the random operators share: seeds and dtypes from attributes. */
#include <string.h>

#include "ops/common/formulas.h"

/* FNV-1a over the bytes of `text`. */
static uint64_t mix_text(uint64_t hash, const char* text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

int64_t hone_op_seed(const hone_lower_t* l, int64_t salt, bool* out_seeded) {
  uint64_t hash = 0xcbf29ce484222325u;
  *out_seeded = hone_attr_has(l->node, "seed");
  if (*out_seeded) {
    /* Dropout's seed is an integer, that of all others a float. */
    double number = hone_attr_float(l->node, "seed", 0);
    int64_t integer = hone_attr_int(l->node, "seed", 0);
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    hash = (hash ^ bits ^ (uint64_t)integer) * 0x100000001b3u;
  } else {
    hash = mix_text(hash, l->b->origin ? l->b->origin : "");
    for (int i = 0; i < l->node->n_outputs; i++) hash = mix_text(hash, l->node->outputs[i]);
  }
  return (int64_t)((hash ^ (uint64_t)salt) * 0x9e3779b97f4a7c15u);
}

hone_value_t* hone_op_uniform(hone_lower_t* l, hone_dtype_t dtype, int rank,
                              const hone_dim_t* shape, int64_t salt) {
  bool seeded;
  int64_t seed = hone_op_seed(l, salt, &seeded);
  return hone_random(l->b, dtype == HONE_F64 ? HONE_F64 : HONE_F32, rank, shape, seed, seeded);
}

hone_dtype_t hone_op_dtype_attr(hone_lower_t* l, const char* name, hone_dtype_t fallback) {
  int64_t number = hone_attr_int(l->node, name, fallback);
  if (number > 0 && number < HONE_DTYPE_COUNT) return (hone_dtype_t)number;
  hone_op_fail(l, "attribute %s is %lld, which is no element type hone knows (1 to %d)", name,
               (long long)number, HONE_DTYPE_COUNT - 1);
  return fallback == HONE_UNKNOWN ? HONE_F32 : fallback;
}
