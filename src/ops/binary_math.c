/* Elementwise functions of two operands. */
#include <string.h>

#include "ops/common/broadcast.h"
#include "ops/common/formulas.h"

typedef hone_value_t* (*binary_fn)(hone_builder_t* b, hone_value_t* x, hone_value_t* y);

typedef enum function {
  ADD,
  AND,
  DIV,
  EQUAL,
  GREATER,
  GREATER_OR_EQUAL,
  LESS,
  LESS_OR_EQUAL,
  MUL,
  OR,
  SUB,
  XOR,
} function_t;

static const binary_fn functions[] = {
    [ADD] = hone_add,  [AND] = hone_and,          [DIV] = hone_div,
    [EQUAL] = hone_eq, [GREATER] = hone_gt,       [GREATER_OR_EQUAL] = hone_ge,
    [LESS] = hone_lt,  [LESS_OR_EQUAL] = hone_le, [MUL] = hone_mul,
    [OR] = hone_or,    [SUB] = hone_sub,          [XOR] = hone_xor,
};

static void lower_function(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* y = hone_op_broadcast_operand(l, x, hone_op_in(l, 1));
  hone_op_out(l, 0, functions[l->op->data](l->b, x, y));
}

/* ---- Pow ---- */

/* The type in which base and exponent of different types meet. */
static hone_dtype_t pow_dtype(hone_dtype_t base, hone_dtype_t exponent) {
  if (base == exponent) return base;
  if (base == HONE_F64 || exponent == HONE_F64) return HONE_F64;
  if (hone_dtype_is_float(base)) return HONE_F32;
  return hone_dtype_is_float(exponent) ? HONE_F64 : HONE_I64;
}

/* The result has the type of the base. */
static void lower_pow(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* y = hone_op_broadcast_operand(l, x, hone_op_in(l, 1));
  if (!x || !y) return;
  hone_dtype_t dtype = pow_dtype(hone_dtype_of(x), hone_dtype_of(y));
  hone_value_t* power = hone_pow(b, hone_cast(b, x, dtype), hone_cast(b, y, dtype));
  hone_op_out(l, 0, hone_cast(b, power, hone_dtype_of(x)));
}

/* ---- Mod ---- */

/* The remainder with the sign of the divisor, from that with the sign of the
 * dividend. */
static hone_value_t* floor_remainder(hone_builder_t* b, hone_value_t* r, hone_value_t* y) {
  if (!r || hone_dtype_is_unsigned(hone_dtype_of(r))) return r;
  hone_value_t* y_below = hone_lt_number(b, y, 0);
  hone_value_t* differ = hone_xor(b, hone_lt_number(b, r, 0), y_below);
  hone_value_t* is_zero = hone_eq_number(b, r, 0);
  hone_value_t* zero = hone_scalar(b, hone_dtype_of(r), 0);
  if (hone_dtype_is_float(hone_dtype_of(r)))
    zero = hone_select(b, y_below, hone_neg(b, zero), zero);
  return hone_select(b, is_zero, zero, hone_select(b, differ, hone_add(b, r, y), r));
}

static void lower_mod(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* xy[2] = {hone_op_in(l, 0), hone_op_in(l, 1)};
  hone_broadcast(b, 2, xy);
  hone_value_t* r = hone_rem(b, xy[0], xy[1]);
  hone_op_out(l, 0, hone_attr_int(l->node, "fmod", 0) ? r : floor_remainder(b, r, xy[1]));
}

/* ---- BitShift ---- */

static void lower_bit_shift(hone_lower_t* l) {
  const char* direction = hone_attr_string(l->node, "direction", "");
  bool left = strcmp(direction, "LEFT") == 0;
  if (!left && strcmp(direction, "RIGHT") != 0)
    hone_op_fail(l, "attribute direction is '%s'; it must be LEFT or RIGHT", direction);
  hone_op_out(
      l, 0,
      hone_binary(l->b, left ? HONE_PRIM_SHL : HONE_PRIM_SHR, hone_op_in(l, 0), hone_op_in(l, 1)));
}

#define ROW(op_name, since, names, fn, number)                                                 \
  {                                                                                            \
    .name = (op_name), .min_opset = (since), .min_inputs = 2, .max_inputs = 2, .attrs = names, \
    .data = (number), .lower = (fn)                                                            \
  }
#define OLD "axis broadcast consumed_inputs"

static const hone_op_t ops[] = {
    ROW("Add", 1, OLD, lower_function, ADD),
    ROW("And", 1, OLD, lower_function, AND),
    ROW("BitShift", 11, "direction", lower_bit_shift, 0),
    ROW("BitwiseAnd", 18, "", lower_function, AND),
    ROW("BitwiseOr", 18, "", lower_function, OR),
    ROW("BitwiseXor", 18, "", lower_function, XOR),
    ROW("Div", 1, OLD, lower_function, DIV),
    ROW("Equal", 1, OLD, lower_function, EQUAL),
    ROW("Greater", 1, OLD, lower_function, GREATER),
    ROW("GreaterOrEqual", 12, "", lower_function, GREATER_OR_EQUAL),
    ROW("Less", 1, OLD, lower_function, LESS),
    ROW("LessOrEqual", 12, "", lower_function, LESS_OR_EQUAL),
    ROW("Mod", 10, "fmod", lower_mod, 0),
    ROW("Mul", 1, OLD, lower_function, MUL),
    ROW("Or", 1, OLD, lower_function, OR),
    ROW("Pow", 1, OLD, lower_pow, 0),
    ROW("Sub", 1, OLD, lower_function, SUB),
    ROW("Xor", 1, OLD, lower_function, XOR),
};
HONE_OP_FAMILY(binary_math, ops)
