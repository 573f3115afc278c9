/* Tensors of random numbers: RandomUniform, RandomNormal and their Like forms,
 * which take the shape (and, unless told, the type) of a tensor. */
#include "base/memory.h"
#include "ops/common/formulas.h"

/* What is to be filled. */
typedef struct target {
  hone_dtype_t dtype;
  int rank;
  hone_dim_t shape[HONE_MAX_RANK];
} target_t;

static bool target_of_attrs(hone_lower_t* l, target_t* out) {
  int rank;
  const int64_t* shape = hone_attr_ints(l->node, "shape", &rank);
  out->dtype = hone_op_dtype_attr(l, "dtype", HONE_F32);
  out->rank = rank;
  if (rank > HONE_MAX_RANK) {
    hone_op_fail(l, "attribute shape has %d entries; hone allows %d", rank, HONE_MAX_RANK);
    return false;
  }
  for (int i = 0; i < rank; i++) out->shape[i] = hone_d(shape[i]);
  return hone_builder_ok(l->b);
}

static bool find_target(hone_lower_t* l, target_t* out) {
  const hone_value_t* like = hone_op_in(l, 0);
  if (!like) return target_of_attrs(l, out);
  out->dtype = hone_op_dtype_attr(l, "dtype", hone_dtype_of(like));
  out->rank = hone_rank(like);
  for (int i = 0; i < out->rank; i++) out->shape[i] = hone_dim(like, i);
  return hone_builder_ok(l->b);
}

static hone_value_t* draw(hone_lower_t* l, const target_t* target, int64_t salt) {
  return hone_op_uniform(l, target->dtype, target->rank, target->shape, salt);
}

static void lower_uniform(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  target_t target;
  if (!find_target(l, &target)) return;
  double low = hone_attr_float(l->node, "low", 0), high = hone_attr_float(l->node, "high", 1);
  hone_value_t* y = hone_mul_number(b, draw(l, &target, 0), high - low);
  hone_op_out(l, 0, hone_cast(b, hone_add_number(b, y, low), target.dtype));
}

/* Box and Muller, "A note on the generation of random normal deviates", 1958. */
static void lower_normal(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  target_t target;
  if (!find_target(l, &target)) return;
  hone_value_t* positive = hone_number_sub(b, 1, draw(l, &target, 0));
  hone_value_t* radius = hone_sqrt(b, hone_mul_number(b, hone_log(b, positive), -2));
  hone_value_t* angle = hone_mul_number(b, draw(l, &target, 1), 6.28318530717958647693);
  hone_value_t* y = hone_mul(b, radius, hone_unary(b, HONE_PRIM_COS, angle));
  y = hone_mul_number(b, y, hone_attr_float(l->node, "scale", 1));
  y = hone_add_number(b, y, hone_attr_float(l->node, "mean", 0));
  hone_op_out(l, 0, hone_cast(b, y, target.dtype));
}

#define ROW(op_name, inputs, names, fn)                                                \
  {                                                                                    \
    .name = (op_name), .min_opset = 1, .min_inputs = (inputs), .max_inputs = (inputs), \
    .attrs = names, .lower = (fn)                                                      \
  }

static const hone_op_t ops[] = {
    ROW("RandomNormal", 0, "dtype mean scale seed shape", lower_normal),
    ROW("RandomNormalLike", 1, "dtype mean scale seed", lower_normal),
    ROW("RandomUniform", 0, "dtype high low seed shape", lower_uniform),
    ROW("RandomUniformLike", 1, "dtype high low seed", lower_uniform),
};
HONE_OP_FAMILY(random_tensor, ops)
