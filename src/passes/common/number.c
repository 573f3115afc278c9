#include "passes/common/number.h"

#include <math.h>

#include "base/float_convert.h"
#include "passes/common/match.h"

enum { MAX_DEPTH = 8 };

static bool not_negative(const hone_value_t* value, int depth);

static bool all_not_negative(const hone_node_t* node, int first, int depth) {
  for (int i = first; i < node->n_inputs; i++)
    if (!not_negative(node->inputs[i], depth)) return false;
  return true;
}

static bool any_not_negative(const hone_node_t* node, int depth) {
  return not_negative(node->inputs[0], depth) || not_negative(node->inputs[1], depth);
}

static bool not_negative(const hone_value_t* value, int depth) {
  double number;
  if (depth > MAX_DEPTH) return false;
  if (hone_match_number(value, &number)) return !signbit(number) && !isnan(number);
  const hone_node_t* node = value->node;
  hone_dtype_t dtype = value->type.dtype;
  if (dtype == HONE_BOOL || hone_dtype_is_unsigned(dtype)) return true;
  bool is_float = hone_dtype_is_float(dtype);
  switch (node->prim) {
    case HONE_PRIM_ABS:
      return is_float;
    case HONE_PRIM_EXP:
      return true;
    case HONE_PRIM_MAX:
      return any_not_negative(node, depth + 1);
    case HONE_PRIM_MUL:
      if (is_float && node->inputs[0] == node->inputs[1]) return true;
      return is_float && all_not_negative(node, 0, depth + 1);
    case HONE_PRIM_ADD:
    case HONE_PRIM_DIV:
      return is_float && all_not_negative(node, 0, depth + 1);
    case HONE_PRIM_MIN:
    case HONE_PRIM_SQRT:
    case HONE_PRIM_RESHAPE:
    case HONE_PRIM_PERMUTE:
    case HONE_PRIM_EXPAND:
    case HONE_PRIM_SLICE:
    case HONE_PRIM_WINDOW:
    case HONE_PRIM_PAD:
      return all_not_negative(node, 0, depth + 1);
    case HONE_PRIM_SELECT:
      return all_not_negative(node, 1, depth + 1);
    case HONE_PRIM_REDUCE:
      return is_float && node->combine == HONE_COMBINE_ADD && all_not_negative(node, 0, depth + 1);
    default:
      return false;
  }
}

bool hone_number_not_negative(const hone_value_t* value) { return not_negative(value, 0); }

/* ---- types ---- */

/* Bits of the significand, the hidden one too, and the range of exponents. */
typedef struct format {
  int digits, min_exponent, max_exponent;
} format_t;

static bool float_format(hone_dtype_t dtype, format_t* out) {
  switch (dtype) {
    case HONE_F16:
      *out = (format_t){11, -24, 15};
      return true;
    case HONE_BF16:
      *out = (format_t){8, -133, 127};
      return true;
    case HONE_F32:
      *out = (format_t){24, -149, 127};
      return true;
    case HONE_F64:
      *out = (format_t){53, -1074, 1023};
      return true;
    default:
      return false;
  }
}

/* Bits of the magnitude of an integer type. */
static int integer_digits(hone_dtype_t dtype) {
  if (dtype == HONE_BOOL) return 1;
  if (hone_dtype_is_int(dtype) && hone_dtype_size(dtype) > 0) {
    int bits = 8 * (int)hone_dtype_size(dtype);
    return hone_dtype_is_unsigned(dtype) ? bits : bits - 1;
  }
  return -1;
}

bool hone_number_fits(hone_dtype_t from, hone_dtype_t to) {
  if (from == to) return true;
  format_t f, t;
  int digits = integer_digits(from), room = integer_digits(to);
  bool from_float = float_format(from, &f), to_float = float_format(to, &t);
  if (from_float && to_float)
    return f.digits <= t.digits && f.min_exponent >= t.min_exponent &&
           f.max_exponent <= t.max_exponent;
  if (digits < 0 || to == HONE_BOOL) return false;
  if (to_float) return digits <= t.digits && digits <= t.max_exponent;
  bool signed_to_unsigned =
      from != HONE_BOOL && !hone_dtype_is_unsigned(from) && hone_dtype_is_unsigned(to);
  return room >= digits && !signed_to_unsigned;
}

bool hone_number_has_inverse(hone_dtype_t dtype, double x) {
  format_t f;
  int exponent;
  if (!float_format(dtype, &f) || x == 0 || !isfinite(x)) return false;
  if (fabs(frexp(x, &exponent)) != 0.5) return false;
  int inverse = 1 - exponent; /* of 1 / x, whose significand is 1 */
  return inverse <= f.max_exponent && inverse >= f.min_exponent + f.digits - 1;
}
