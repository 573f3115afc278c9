/* Elementwise functions of one operand that have no attributes. */
#include "ops/common/formulas.h"

/* One primitive, in the operand's own type: `data` says which. */
static void lower_prim(hone_lower_t* l) {
  hone_op_out(l, 0, hone_unary(l->b, (hone_prim_t)l->op->data, hone_op_in(l, 0)));
}

static hone_value_t* softsign(hone_builder_t* b, hone_value_t* x) {
  return hone_div(b, x, hone_add_number(b, hone_abs(b, x), 1));
}

static hone_value_t* hard_swish(hone_builder_t* b, hone_value_t* x) {
  return hone_mul(b, x, hone_hard_sigmoid(b, x, 1.0 / 6, 0.5));
}

typedef enum formula {
  ACOS,
  ACOSH,
  ASIN,
  ASINH,
  ATANH,
  COSH,
  HARD_SWISH,
  MISH,
  SIGMOID,
  SINH,
  SOFTPLUS,
  SOFTSIGN,
  TAN,
} formula_t;

static const hone_formula_fn formulas[] = {
    [ACOS] = hone_acos,         [ACOSH] = hone_acosh,  [ASIN] = hone_asin,
    [ASINH] = hone_asinh,       [ATANH] = hone_atanh,  [COSH] = hone_cosh,
    [MISH] = hone_mish,         [SINH] = hone_sinh,    [SIGMOID] = hone_sigmoid,
    [SOFTPLUS] = hone_softplus, [SOFTSIGN] = softsign, [TAN] = hone_tan,
    [HARD_SWISH] = hard_swish,
};

/* A formula in f32 or f64, rounded once: `data` says which. */
static void lower_formula(hone_lower_t* l) {
  hone_op_out(l, 0, hone_apply_wide(l->b, formulas[l->op->data], hone_op_in(l, 0)));
}

static void lower_ceil(hone_lower_t* l) { hone_op_out(l, 0, hone_ceil(l->b, hone_op_in(l, 0))); }

static void lower_reciprocal(hone_lower_t* l) {
  hone_op_out(l, 0, hone_reciprocal(l->b, hone_op_in(l, 0)));
}

static void lower_sign(hone_lower_t* l) { hone_op_out(l, 0, hone_sign(l->b, hone_op_in(l, 0))); }

/* Not and BitwiseNot: the operand's type tells which it is. */
static void lower_not(hone_lower_t* l) { hone_op_out(l, 0, hone_not(l->b, hone_op_in(l, 0))); }

static void lower_is_nan(hone_lower_t* l) {
  hone_op_out(l, 0, hone_is_nan(l->b, hone_op_in(l, 0)));
}

#define ROW(op_name, since, fn, number)                                        \
  {                                                                            \
    .name = (op_name), .min_opset = (since), .min_inputs = 1, .max_inputs = 1, \
    .attrs = "consumed_inputs", .data = (number), .lower = (fn)                \
  }

static const hone_op_t ops[] = {
    ROW("Abs", 1, lower_prim, HONE_PRIM_ABS),
    ROW("Acos", 7, lower_formula, ACOS),
    ROW("Acosh", 9, lower_formula, ACOSH),
    ROW("Asin", 7, lower_formula, ASIN),
    ROW("Asinh", 9, lower_formula, ASINH),
    ROW("Atan", 7, lower_prim, HONE_PRIM_ATAN),
    ROW("Atanh", 9, lower_formula, ATANH),
    ROW("BitwiseNot", 18, lower_not, 0),
    ROW("Ceil", 1, lower_ceil, 0),
    ROW("Cos", 7, lower_prim, HONE_PRIM_COS),
    ROW("Cosh", 9, lower_formula, COSH),
    ROW("Erf", 9, lower_prim, HONE_PRIM_ERF),
    ROW("Exp", 1, lower_prim, HONE_PRIM_EXP),
    ROW("Floor", 1, lower_prim, HONE_PRIM_FLOOR),
    ROW("HardSwish", 14, lower_formula, HARD_SWISH),
    ROW("IsNaN", 9, lower_is_nan, 0),
    ROW("Log", 1, lower_prim, HONE_PRIM_LOG),
    ROW("Mish", 18, lower_formula, MISH),
    ROW("Neg", 1, lower_prim, HONE_PRIM_NEG),
    ROW("Not", 1, lower_not, 0),
    ROW("Reciprocal", 1, lower_reciprocal, 0),
    ROW("Round", 11, lower_prim, HONE_PRIM_ROUND),
    ROW("Sigmoid", 1, lower_formula, SIGMOID),
    ROW("Sign", 9, lower_sign, 0),
    ROW("Sin", 7, lower_prim, HONE_PRIM_SIN),
    ROW("Sinh", 9, lower_formula, SINH),
    ROW("Softplus", 1, lower_formula, SOFTPLUS),
    ROW("Softsign", 1, lower_formula, SOFTSIGN),
    ROW("Sqrt", 1, lower_prim, HONE_PRIM_SQRT),
    ROW("Tan", 7, lower_formula, TAN),
    ROW("Tanh", 1, lower_prim, HONE_PRIM_TANH),
};
HONE_OP_FAMILY(unary_math, ops)
