/* MatMulNBits (com.microsoft): a product with weights of 2, 4 or 8 bits, packed
 * in blocks along the summed axis, each block with its scale and zero point.
 * g_idx, where given, names the block of each column instead. */
#include "ops/common/formulas.h"
#include "ops/common/ms_packed.h"

typedef struct shape {
  int64_t n, k, bits, block, blocks;
} shape_t;

static bool read_shape(hone_lower_t* l, shape_t* s) {
  s->n = hone_attr_int(l->node, "N", 0);
  s->k = hone_attr_int(l->node, "K", 0);
  s->bits = hone_attr_int(l->node, "bits", 4);
  s->block = hone_attr_int(l->node, "block_size", 0);
  bool sizes = s->n > 0 && s->k > 0 && s->block >= 16 && s->block <= INT32_MAX &&
               s->n <= INT32_MAX && s->k <= INT32_MAX && (s->block & (s->block - 1)) == 0;
  bool bits = s->bits == 2 || s->bits == 4 || s->bits == 8;
  if (!sizes || !bits)
    hone_op_fail(l, "N %lld, K %lld, bits %lld (2, 4 or 8), block_size %lld (a power of 2 from 16)",
                 (long long)s->n, (long long)s->k, (long long)s->bits, (long long)s->block);
  else if (hone_attr_int(l->node, "weight_prepacked", 0))
    hone_fail(l->b, HONE_UNSUPPORTED, "weights packed for another device are not supported");
  s->blocks = sizes ? (s->k + s->block - 1) / s->block : 0;
  return hone_builder_ok(l->b);
}

/* [n, blocks] */
static hone_value_t* per_block(hone_lower_t* l, const shape_t* s, hone_value_t* x) {
  hone_dim_t full[2] = {hone_d(s->n), hone_d(s->blocks)};
  return hone_reshape(l->b, x, 2, full);
}

/* Zero points as f32 [n, blocks]; packed by rows when they are bytes. */
static hone_value_t* zero_points(hone_lower_t* l, const shape_t* s) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 3);
  if (!x) return hone_scalar(b, HONE_F32, (double)(1 << (s->bits - 1)));
  if (hone_dtype_of(x) != HONE_U8) return hone_cast(b, per_block(l, s, x), HONE_F32);
  hone_dim_t rows[2] = {hone_d(s->n), hone_d((s->blocks * s->bits + 7) / 8)};
  hone_value_t* all = hone_ms_unpack(b, hone_reshape(b, x, 2, rows), s->bits);
  return hone_cast(b, hone_slice_axis(b, all, 1, hone_d(0), hone_d(s->blocks)), HONE_F32);
}

/* A value for each block as one for each column k: [n, k]. */
static hone_value_t* per_column(hone_lower_t* l, const shape_t* s, hone_value_t* x) {
  hone_builder_t* b = l->b;
  if (!x || hone_rank(x) == 0) return x;
  hone_value_t* group = hone_op_in(l, 4);
  if (group) {
    group = hone_slice_axis(b, group, 0, hone_d(0), hone_d(s->k));
    return hone_take(b, x, group, 1);
  }
  hone_dim_t wide[3] = {hone_d(s->n), hone_d(s->blocks), hone_d(s->block)};
  hone_dim_t flat[2] = {hone_d(s->n), hone_d(s->blocks * s->block)};
  x = hone_reshape(b, hone_expand(b, hone_unsqueeze(b, x, 2), 3, wide), 2, flat);
  return hone_slice_axis(b, x, 1, hone_d(0), hone_d(s->k));
}

static void lower_mat_mul_n_bits(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* a = hone_op_in(l, 0);
  shape_t s;
  if (!read_shape(l, &s)) return;
  hone_dim_t rows[2] = {hone_d(s.n), hone_d(s.blocks * (s.block * s.bits / 8))};
  hone_value_t* w = hone_ms_unpack(b, hone_reshape(b, hone_op_in(l, 1), 2, rows), s.bits);
  w = hone_cast(b, hone_slice_axis(b, w, 1, hone_d(0), hone_d(s.k)), HONE_F32);
  hone_value_t* scale = per_block(l, &s, hone_cast(b, hone_op_in(l, 2), HONE_F32));
  w = hone_sub(b, w, per_column(l, &s, zero_points(l, &s)));
  w = hone_mul(b, w, per_column(l, &s, scale));
  hone_value_t* y = hone_matmul(b, hone_cast(b, a, HONE_F32), hone_transpose(b, w), HONE_F32);
  if (hone_op_in(l, 5)) y = hone_add(b, y, hone_cast(b, hone_op_in(l, 5), HONE_F32));
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(a)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "MatMulNBits",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 6,
     .attrs = "K N accuracy_level bits block_size weight_prepacked",
     .lower = lower_mat_mul_n_bits},
};
HONE_OP_FAMILY(ms_mat_mul_n_bits, ops)
