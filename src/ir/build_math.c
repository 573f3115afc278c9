/* Builder calls for elementwise primitives, with NumPy's broadcasting, and
 * for what is made of a few of them. */
#include <math.h>

#include "base/memory.h"
#include "ir/builder.h"

/* ---- broadcasting ---- */

static hone_dim_t join(hone_builder_t* b, hone_dim_t x, hone_dim_t y) {
  if (hone_dim_same(x, y) || hone_dim_is(y, 1)) return x;
  if (hone_dim_is(x, 1)) return y;
  if (hone_dim_is_int(x) && hone_dim_is_int(y)) {
    hone_fail(b, HONE_INVALID_MODEL,
              "shapes do not broadcast: extents %lld and %lld; each must equal the other or be 1",
              (long long)x.k, (long long)y.k);
    return x;
  }
  if (hone_dim_is_int(x)) return x; /* y is x or 1: checked when it runs */
  if (hone_dim_is_int(y)) return y;
  return hone_dim_select_eq(b->graph->dims, x, hone_d(1), y, x);
}

static void join_shape(hone_builder_t* b, const hone_value_t* v, int rank, hone_dim_t* shape) {
  int offset = rank - v->type.rank;
  for (int i = 0; i < v->type.rank; i++)
    shape[offset + i] = join(b, shape[offset + i], v->type.dims[i]);
}

void hone_broadcast(hone_builder_t* b, int count, hone_value_t** values) {
  int rank = 0;
  for (int i = 0; i < count; i++) {
    if (!values[i] || !hone_builder_ok(b)) return;
    if (!hone_type_is_known(&values[i]->type)) {
      hone_defer(b, "an operand's shape is not known");
      return;
    }
    if (values[i]->type.rank > rank) rank = values[i]->type.rank;
  }
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) shape[i] = hone_d(1);
  for (int i = 0; i < count; i++) join_shape(b, values[i], rank, shape);
  for (int i = 0; i < count; i++) values[i] = hone_expand(b, values[i], rank, shape);
}

/* ---- primitives ---- */

hone_value_t* hone_unary(hone_builder_t* b, hone_prim_t prim, hone_value_t* x) {
  if (!x) return NULL;
  hone_node_t node = {.prim = prim, .n_inputs = 1, .inputs = &x};
  return hone_emit(b, &node);
}

hone_value_t* hone_binary(hone_builder_t* b, hone_prim_t prim, hone_value_t* x, hone_value_t* y) {
  hone_value_t* in[2] = {x, y};
  hone_broadcast(b, 2, in);
  if (!in[0] || !in[1]) return NULL;
  hone_node_t node = {.prim = prim, .n_inputs = 2, .inputs = in};
  return hone_emit(b, &node);
}

hone_value_t* hone_select(hone_builder_t* b, hone_value_t* condition, hone_value_t* x,
                          hone_value_t* y) {
  hone_value_t* in[3] = {condition, x, y};
  hone_broadcast(b, 3, in);
  if (!in[0] || !in[1] || !in[2]) return NULL;
  hone_node_t node = {.prim = HONE_PRIM_SELECT, .n_inputs = 3, .inputs = in};
  return hone_emit(b, &node);
}

hone_value_t* hone_cast_flags(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype,
                              int64_t flags) {
  if (!x || x->type.dtype == dtype) return x;
  hone_node_t node = {
      .prim = HONE_PRIM_CAST, .n_inputs = 1, .inputs = &x, .dtype = dtype, .flags = flags};
  return hone_emit(b, &node);
}

hone_value_t* hone_cast(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype) {
  return hone_cast_flags(b, x, dtype, 0);
}

hone_value_t* hone_bitcast(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype) {
  if (!x || x->type.dtype == dtype) return x;
  hone_node_t node = {.prim = HONE_PRIM_BITCAST, .n_inputs = 1, .inputs = &x, .dtype = dtype};
  return hone_emit(b, &node);
}

#define BINARY(name, prim)                                                         \
  hone_value_t* hone_##name(hone_builder_t* b, hone_value_t* x, hone_value_t* y) { \
    return hone_binary(b, HONE_PRIM_##prim, x, y);                                 \
  }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(div, DIV)
BINARY(rem, REM)
BINARY(pow, POW)
BINARY(min, MIN)
BINARY(max, MAX)
BINARY(and, AND)
BINARY(or, OR)
BINARY(xor, XOR)
BINARY(eq, EQ)
BINARY(lt, LT)
#undef BINARY

#define UNARY(name, prim)                                         \
  hone_value_t* hone_##name(hone_builder_t* b, hone_value_t* x) { \
    return hone_unary(b, HONE_PRIM_##prim, x);                    \
  }
UNARY(neg, NEG)
UNARY(abs, ABS)
UNARY(exp, EXP)
UNARY(log, LOG)
UNARY(sqrt, SQRT)
UNARY(tanh, TANH)
UNARY(floor, FLOOR)
UNARY(round, ROUND)
#undef UNARY

/* ---- comparisons ---- */

hone_value_t* hone_not(hone_builder_t* b, hone_value_t* x) {
  if (!x) return NULL;
  return hone_xor(b, x, hone_scalar_i64(b, x->type.dtype, x->type.dtype == HONE_BOOL ? 1 : -1));
}

hone_value_t* hone_ne(hone_builder_t* b, hone_value_t* x, hone_value_t* y) {
  return hone_not(b, hone_eq(b, x, y));
}

hone_value_t* hone_gt(hone_builder_t* b, hone_value_t* x, hone_value_t* y) {
  return hone_lt(b, y, x);
}

/* Not the negation of >, which NaN would make true. */
hone_value_t* hone_le(hone_builder_t* b, hone_value_t* x, hone_value_t* y) {
  return hone_or(b, hone_lt(b, x, y), hone_eq(b, x, y));
}

hone_value_t* hone_ge(hone_builder_t* b, hone_value_t* x, hone_value_t* y) {
  return hone_le(b, y, x);
}

hone_value_t* hone_is_nan(hone_builder_t* b, hone_value_t* x) { return hone_ne(b, x, x); }

/* ---- with a number on the right ---- */

#define NUMBER(name)                                                                 \
  hone_value_t* hone_##name##_number(hone_builder_t* b, hone_value_t* x, double y) { \
    return x ? hone_##name(b, x, hone_scalar(b, x->type.dtype, y)) : NULL;           \
  }
NUMBER(add)
NUMBER(mul)
NUMBER(div)
NUMBER(min)
NUMBER(max)
NUMBER(lt)
NUMBER(gt)
NUMBER(eq)
#undef NUMBER

/* ---- made of several ---- */

static bool has_fraction(const hone_value_t* x) { return hone_dtype_is_float(x->type.dtype); }

hone_value_t* hone_ceil(hone_builder_t* b, hone_value_t* x) {
  return hone_neg(b, hone_floor(b, hone_neg(b, x)));
}

hone_value_t* hone_trunc(hone_builder_t* b, hone_value_t* x) {
  if (!x || !has_fraction(x)) return x;
  return hone_select(b, hone_lt_number(b, x, 0), hone_ceil(b, x), hone_floor(b, x));
}

hone_value_t* hone_reciprocal(hone_builder_t* b, hone_value_t* x) {
  return x ? hone_div(b, hone_scalar(b, x->type.dtype, 1), x) : NULL;
}

/* 1 / (1 + exp(-x)): for very negative x the exponential is infinite and the
 * result 0, as it should be. */
hone_value_t* hone_sigmoid(hone_builder_t* b, hone_value_t* x) {
  return hone_reciprocal(b, hone_add_number(b, hone_exp(b, hone_neg(b, x)), 1));
}

hone_value_t* hone_square(hone_builder_t* b, hone_value_t* x) { return hone_mul(b, x, x); }
