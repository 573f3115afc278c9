/* Operators of com.microsoft that are a few primitives each. */
#include "ops/common/formulas.h"
#include "ops/common/ms.h"

/* Softmax of data + bias. The bias counts for all of the axes from `axis` on,
 * over which the softmax goes, and is repeated over those in front. */
static void lower_bias_softmax(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* sum = hone_widen(b, hone_add(b, hone_op_in(l, 0), hone_op_in(l, 1)));
  if (!sum) return;
  int axis = hone_axis(b, hone_attr_int(l->node, "axis", 1), hone_rank(sum));
  hone_value_t* y = hone_softmax(b, hone_flatten(b, sum, axis), 1);
  y = hone_reshape_like(b, y, sum);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(hone_op_in(l, 0))));
}

/* For inference: nothing is dropped. */
static void lower_bias_dropout(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_add(b, hone_op_in(l, 0), hone_op_in(l, 1));
  if (hone_op_in(l, 2)) x = hone_add(b, x, hone_op_in(l, 2));
  if (hone_op_in(l, 4)) {
    const hone_tensor_t* training = hone_op_known(l, 4);
    if (!training) return;
    if (hone_tensor_i64(training, 0)) {
      hone_fail(b, HONE_UNSUPPORTED, "training_mode is not supported");
      return;
    }
  }
  hone_op_out(l, 0, x);
  if (x && hone_op_wants(l, 1))
    hone_op_out(l, 1, hone_full(b, HONE_BOOL, 1, hone_rank(x), x->type.dims));
}

static hone_value_t* is_finite(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  hone_value_t* nan = hone_is_nan(b, x);
  hone_value_t* infinite = hone_is_nan(b, hone_mul_number(b, x, 0));
  infinite = hone_and(b, infinite, hone_not(b, nan));
  bool only_nan = hone_attr_int(l->node, "isnan_only", 0) != 0;
  bool only_infinite = hone_attr_int(l->node, "isinf_only", 0) != 0;
  hone_value_t* bad = only_nan ? nan : only_infinite ? infinite : hone_or(b, nan, infinite);
  return hone_reduce(b, HONE_COMBINE_MIN, hone_ravel(b, hone_not(b, bad)), 1, &(int64_t){0}, false);
}

static void lower_is_all_finite(hone_lower_t* l) {
  hone_value_t* all = hone_scalar_i64(l->b, HONE_BOOL, 1);
  for (int i = 0; i < l->n_inputs; i++) all = hone_and(l->b, all, is_finite(l, hone_op_in(l, i)));
  hone_op_out(l, 0, all);
}

static hone_value_t* part(hone_builder_t* b, hone_value_t* x, int index) {
  return hone_slice_axis(b, x, -1, hone_d(index), hone_d(index + 1));
}

/* Pairs of real and imaginary part on the last axis; data 1: B is conjugated. */
static void lower_complex_mul(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *y = hone_op_in(l, 1);
  hone_value_t *a = part(b, x, 0), *c = part(b, x, 1), *d = part(b, y, 0), *e = part(b, y, 1);
  if (l->op->data) e = hone_neg(b, e);
  hone_value_t* parts[2] = {hone_sub(b, hone_mul(b, a, d), hone_mul(b, c, e)),
                            hone_add(b, hone_mul(b, a, e), hone_mul(b, c, d))};
  hone_op_out(l, 0, hone_concat(b, 2, parts, -1));
}

/* Sliding windows along one axis, in a new last axis. */
static void lower_unfold_tensor(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int64_t size = hone_attr_int(l->node, "size", 0), step = hone_attr_int(l->node, "step", 1);
  int64_t axis = hone_axis(b, hone_attr_int(l->node, "dim", -1), hone_rank(x));
  if (size < 1 || step < 1) {
    hone_op_fail(l, "size is %lld and step %lld; both must be positive", (long long)size,
                 (long long)step);
    return;
  }
  hone_dim_t sizes = hone_d(size), steps = hone_d(step), dense = hone_d(1);
  hone_op_out(l, 0, hone_window(b, x, 1, &axis, &sizes, &steps, &dense));
}

static void lower_torch_embedding(hone_lower_t* l) {
  hone_op_out(l, 0, hone_take(l->b, hone_op_in(l, 0), hone_op_in(l, 1), 0));
}

#define ROW(op_name, fn, least, most, names, number)                                    \
  {                                                                                     \
    .domain = HONE_MS_DOMAIN, .name = (op_name), .min_opset = 1, .min_inputs = (least), \
    .max_inputs = (most), .attrs = (names), .data = (number), .lower = (fn)             \
  }

static const hone_op_t ops[] = {
    ROW("BiasSoftmax", lower_bias_softmax, 2, 2, "axis is_inner_broadcast", 0),
    ROW("BiasDropout", lower_bias_dropout, 2, 5, "seed", 0),
    ROW("IsAllFinite", lower_is_all_finite, 1, -1, "isinf_only isnan_only", 0),
    ROW("ComplexMul", lower_complex_mul, 2, 2, "", 0),
    ROW("ComplexMulConj", lower_complex_mul, 2, 2, "", 1),
    ROW("UnfoldTensor", lower_unfold_tensor, 1, 1, "dim size step", 0),
    ROW("TorchEmbedding", lower_torch_embedding, 2, 4, "", 0),
};
HONE_OP_FAMILY(ms_small_math, ops)
