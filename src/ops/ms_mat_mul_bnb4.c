/* MatMulBnb4 (com.microsoft): a product with weights in 4 bits as bitsandbytes
 * has them: numbers of a table (FP4 or NF4), the first of a byte in its high
 * half, scaled by the largest of each block. */
#include "ops/common/formulas.h"
#include "ops/common/ms.h"

static const float tables[2][16] = {
    {0.0F, 5.208333333e-03F, 0.66666667F, 1.0F, 0.33333333F, 0.5F, 0.16666667F, 0.25F, -0.0F,
     -5.208333333e-03F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F},
    {-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
     -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
     0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F, 0.33791524171829224F,
     0.44070982933044434F, 0.5626170039176941F, 0.7229568362236023F, 1.0F},
};

/* The numbers behind bytes, in a list: those of the high halves come first. */
static hone_value_t* numbers(hone_builder_t* b, hone_value_t* bytes, int64_t kind) {
  bytes = hone_ravel(b, bytes);
  hone_value_t* high = hone_binary(b, HONE_PRIM_SHR, bytes, hone_scalar_i64(b, HONE_U8, 4));
  hone_value_t* low = hone_and(b, bytes, hone_scalar_i64(b, HONE_U8, 15));
  hone_value_t* halves[2] = {hone_unsqueeze(b, high, 1), hone_unsqueeze(b, low, 1)};
  hone_value_t* index = hone_ravel(b, hone_concat(b, 2, halves, 1));
  hone_value_t* table = hone_constant_data(b, HONE_F32, 1, &(int64_t){16}, tables[kind]);
  return hone_gather(b, table, hone_cast(b, index, HONE_I64));
}

static void lower_mat_mul_bnb4(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* a = hone_op_in(l, 0);
  int64_t n = hone_attr_int(l->node, "N", 0), k = hone_attr_int(l->node, "K", 0);
  int64_t block = hone_attr_int(l->node, "block_size", 0);
  int64_t kind = hone_attr_int(l->node, "quant_type", 1);
  if (n < 1 || k < 1 || block < 1 || n > INT32_MAX || k > INT32_MAX || block > INT32_MAX ||
      (kind != 0 && kind != 1)) {
    hone_op_fail(l, "N %lld, K %lld, block_size %lld, quant_type %lld (0 or 1)", (long long)n,
                 (long long)k, (long long)block, (long long)kind);
    return;
  }
  int64_t blocks = (n * k + block - 1) / block;
  hone_dim_t list = hone_d(n * k), one = hone_d(blocks), column[2] = {one, hone_d(1)};
  hone_dim_t grid[2] = {one, hone_d(block)}, flat = hone_d(blocks * block);
  hone_dim_t shape[2] = {hone_d(n), hone_d(k)};
  hone_value_t* w = hone_slice_axis(b, numbers(b, hone_op_in(l, 1), kind), 0, hone_d(0), list);
  hone_value_t* scale = hone_reshape(b, hone_cast(b, hone_op_in(l, 2), HONE_F32), 2, column);
  scale = hone_reshape(b, hone_expand(b, scale, 2, grid), 1, &flat);
  w = hone_mul(b, w, hone_slice_axis(b, scale, 0, hone_d(0), list));
  w = hone_reshape(b, w, 2, shape);
  if (hone_attr_int(l->node, "transB", 1)) w = hone_transpose(b, w);
  hone_value_t* y = hone_matmul(b, hone_widen(b, a), w, HONE_F32);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(a)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "MatMulBnb4",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "K N block_size quant_type training_mode transB",
     .lower = lower_mat_mul_bnb4},
};
HONE_OP_FAMILY(ms_mat_mul_bnb4, ops)
