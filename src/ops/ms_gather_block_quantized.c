/* GatherBlockQuantized (com.microsoft): Gather from a table that is quantized
 * in blocks along one axis. Rows are picked first and turned into real numbers
 * after; only where both axes are the same the whole table is. */
#include "ops/common/ms_packed.h"
#include "ops/common/quantized.h"

typedef struct table {
  hone_lower_t* l;
  hone_value_t *data, *scales, *zeros; /* zeros may be NULL */
  int gather_axis, quantize_axis;
  int64_t bits, block;
  bool packed;
} table_t;

static bool read_table(hone_lower_t* l, table_t* t) {
  hone_builder_t* b = l->b;
  *t = (table_t){.l = l,
                 .data = hone_op_in(l, 0),
                 .scales = hone_op_in(l, 2),
                 .zeros = hone_op_in(l, 3),
                 .bits = hone_attr_int(l->node, "bits", 4),
                 .block = hone_attr_int(l->node, "block_size", 128)};
  int rank = hone_rank(t->data);
  t->packed = hone_dtype_of(t->data) == HONE_U8;
  t->gather_axis = hone_axis(b, hone_attr_int(l->node, "gather_axis", 0), rank);
  t->quantize_axis = hone_axis(b, hone_attr_int(l->node, "quantize_axis", 1), rank);
  if (t->block < 0 || t->block > INT32_MAX ||
      (t->packed && t->bits != 2 && t->bits != 4 && t->bits != 8))
    hone_op_fail(l, "block_size is %lld and bits %lld; bits must be 2, 4 or 8", (long long)t->block,
                 (long long)t->bits);
  if (t->packed && t->gather_axis == rank - 1)
    hone_op_fail(l, "numbers packed along the last axis cannot be gathered along it");
  return hone_builder_ok(b);
}

static hone_value_t* unpacked(const table_t* t, hone_value_t* x, hone_dim_t width) {
  hone_builder_t* b = t->l->b;
  if (!x || !t->packed) return x;
  x = hone_ms_unpack(b, x, t->bits);
  return x ? hone_slice_axis(b, x, -1, hone_d(0), width) : NULL;
}

/* scale * (data - zero); `axis` is where the blocks are. */
static hone_value_t* real_values(const table_t* t, int axis) {
  hone_lower_t* l = t->l;
  hone_builder_t* b = l->b;
  if (!hone_is_known(b, t->data) || !hone_is_known(b, t->scales)) return NULL;
  hone_dim_t width = hone_d_mul(b, hone_dim(t->data, -1), hone_d(t->packed ? 8 / t->bits : 1));
  hone_value_t* x = hone_cast(b, unpacked(t, t->data, width), HONE_F32);
  hone_value_t* zeros = unpacked(t, t->zeros, hone_dim(t->scales, -1));
  if (!x) return NULL;
  int64_t block = t->block ? t->block : INT32_MAX;
  hone_value_t* scale = t->block ? hone_quantized_spread(l, t->scales, x, axis, block) : t->scales;
  if (zeros)
    x = hone_sub(b, x, hone_cast(b, hone_quantized_spread(l, zeros, x, axis, block), HONE_F32));
  else if (t->packed)
    x = hone_add_number(b, x, -(double)(1 << (t->bits - 1)));
  return hone_cast(b, hone_mul(b, x, hone_cast(b, scale, HONE_F32)), hone_dtype_of(t->scales));
}

static void lower_gather_block_quantized(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* index = hone_op_in(l, 1);
  table_t t;
  if (!read_table(l, &t)) return;
  int axis = t.gather_axis, blocks = t.quantize_axis;
  if (axis == blocks) {
    hone_op_out(l, 0, hone_take(b, real_values(&t, blocks), index, axis));
    return;
  }
  t.data = hone_take(b, t.data, index, axis);
  t.scales = hone_take(b, t.scales, index, axis);
  if (t.zeros) t.zeros = hone_take(b, t.zeros, index, axis);
  hone_op_out(l, 0, real_values(&t, blocks < axis ? blocks : blocks - 1 + hone_rank(index)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "GatherBlockQuantized",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 4,
     .attrs = "bits block_size gather_axis quantize_axis",
     .lower = lower_gather_block_quantized},
};
HONE_OP_FAMILY(ms_gather_block_quantized, ops)
