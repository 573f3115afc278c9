/* Primitives: all that a backend has to know how to compute.
 *
 * This file is the one place that says what each computes. `ref` is the
 * plainest program that does just that.
 *
 * General rules
 * - Elementwise primitives take operands of one shape and one dtype (select's
 *   condition is bool); nothing broadcasts but `expand`.
 * - Floating point: the exact result is rounded once, to nearest even, to the
 *   dtype. For the transcendental ones the "exact" result is that of the C
 *   library in double. NaN propagates through everything, min and max included;
 *   which NaN is unspecified. -0 < +0 is false, but min(-0, +0) is -0 and
 *   max(-0, +0) is +0. Overflow gives infinity in types that have one and
 *   otherwise what `cast` without saturation gives.
 * - Integers wrap (two's complement). Division truncates towards zero; x / 0
 *   and x rem 0 are 0. min / -1 wraps.
 * - bool arithmetic: add is or, mul and min are and, max is or.
 * - Complex: add, sub, mul, div, neg, abs (real result), exp, eq, select,
 *   movement, reduce by add or mul, contract.
 * - Strings: eq, select, movement, gather, concat.
 * - Reductions and contractions over floats accumulate in at least the dtype's
 *   precision; `ref` uses double and rounds once at the end. The order of
 *   accumulation is unspecified. Integer ones are exact modulo 2^bits.
 * - Where the largest of many (reduce, scan by max), or of a number and a
 *   constant 0 (max), is a zero, its sign is unspecified.
 *
 * Elementwise, two operands
 *   add sub mul div   div on integers truncates
 *   rem               x - trunc(x / y) * y, exact: the sign of x (C fmod, C %)
 *   pow               C pow; on integers exact modulo 2^bits, and for a negative
 *                     exponent 1, -1 or 0 as the truncated true value
 *   min max
 *   eq lt             result bool; any comparison with NaN is false
 *   and or xor        bitwise on integers, logical on bool
 *   shl shr           shr is logical for unsigned and arithmetic for signed;
 *                     amounts outside [0, bits) give 0 (-1 for negative shr)
 * Elementwise, one operand
 *   neg abs exp log sqrt sin cos atan tanh erf
 *   floor round       round: to nearest, halves to even
 * Elementwise, others
 *   select(c, x, y)   c ? x : y
 *   cast(x) dtype     float to float rounds to nearest even; SATURATE clamps to
 *                     the largest finite (f8 types), else overflow gives inf or
 *                     NaN. f8e8m0 rounds as ROUND_UP, ROUND_DOWN or to nearest.
 *                     Float to integer truncates; for what does not fit (and
 *                     NaN) base/float_convert.h has the rule. To bool: != 0.
 *                     Integers to integers wrap. Strings parse and print as
 *                     Python does.
 *   bitcast(x) dtype  same bits, type of the same size
 *
 * Sources
 *   input             a parameter of its graph; type as declared
 *   constant          `constant`
 *   iota              shape, dtype, axes[0]: the index along that axis
 *   dims              `shape` as a 1-D i64 tensor: dimension expressions as data
 *   random            uniform in [0, 1), shape, dtype (f32, f64): Philox4x32-10 keyed
 *                     by `seed`, the round of each loop around it and the
 *                     element's index; UNSEEDED mixes a number of the run in
 *
 * Movement: no arithmetic, any dtype
 *   reshape           to `shape`, same count, row-major order
 *   permute           axes[i] is the input's axis that becomes axis i
 *   expand            to `shape`, same rank; each extent is equal or 1
 *   slice             lo, hi, step per axis: lo <= index < hi, step >= 1, and
 *                     0 <= lo <= hi <= extent
 *   pad(x, v)         lo and hi >= 0 new elements per axis, of the scalar v
 *   flip              reverses `axes`
 *   concat(x, …)      along axes[0]
 *   window            for each axes[i] a sliding window: extent n becomes
 *                     (n - (size-1)*dilation - 1) / step + 1 and an axis of
 *                     `size` is appended. shape: sizes, step: strides, hi:
 *                     dilations, one entry per axes[i]. Without room for one
 *                     window the extent is 0.
 *
 * Whole-tensor
 *   reduce(x)         by `combine` over `axes`, which vanish; over nothing the
 *                     neutral element (add 0, mul 1, min/max the type's ends:
 *                     infinities where it has them)
 *   contract(a, b)    sum of products. axes holds pairs (axis of a, axis of b):
 *                     first n_batch batch pairs, then those summed over.
 *                     Result: batch axes, free axes of a, free axes of b; dtype
 *                     is `dtype`: operands are cast to it, sums made in it
 *   gather(x, i)      x[i, …]: i an integer tensor of any shape, indexing axis
 *                     0 of x; result shape i.shape + x.shape[1:]. An index
 *                     outside [0, n) is a run-time error
 *   scatter(x, i, u)  x with x[i[k], …] combined with u[k, …], k in row-major
 *                     order; combine set, add, mul, min or max
 *   scan(x)           cumulative `combine` along axes[0]; EXCLUSIVE leaves out
 *                     the element itself
 *   sort(x)           along axes[0], stable; DESCENDING. Results: the first
 *                     shape[0] of the sorted values, and their i64 indices.
 *                     NaN is larger than everything
 *
 * Control
 *   if(c, …)          regions[0] when the bool scalar c holds, else regions[1];
 *                     inputs after c: captures of region 0, then of region 1
 *   loop(n, c, …)     inputs: trip count i64, condition bool, n_carried values,
 *                     captures. The region's parameters: round i64, condition,
 *                     carried values, captures; its results: condition, carried
 *                     values, then one value a round for each stacked output.
 *                     Outputs: carried values, then stacked ones (new axis 0).
 *                     Runs while the condition holds and round < n
 *   call(…) label     runs regions[0]: its parameters are the inputs, its results
 *                     the outputs. `label` is a word that says what the group is
 *                     ("softmax", "kernel"); the meaning is in the region alone.
 *                     Results are values that nodes of the region make, each
 *                     once (no parameter, none twice), and values inside bind
 *                     no symbols: what binds one stays outside, or is an output
 *                     of the call itself
 *   host(…)           an operator that no loop can express: `host` */
#ifndef HONE_IR_PRIM_H
#define HONE_IR_PRIM_H

#include "hone/status.h"

/* Fields of a node that a primitive uses. */
enum {
  HONE_USES_DTYPE = 1 << 0,
  HONE_USES_COMBINE = 1 << 1,
  HONE_USES_AXES = 1 << 2,
  HONE_USES_BATCH = 1 << 3,
  HONE_USES_SHAPE = 1 << 4,
  HONE_USES_LO = 1 << 5,
  HONE_USES_HI = 1 << 6,
  HONE_USES_STEP = 1 << 7,
  HONE_USES_FLAGS = 1 << 8,
  HONE_USES_SEED = 1 << 9,
  HONE_USES_CARRIED = 1 << 10,
  HONE_USES_CONSTANT = 1 << 11,
  HONE_USES_HOST = 1 << 12,
  HONE_USES_LABEL = 1 << 13,
};

/* Families share shape rules and ways to be executed. */
typedef enum hone_prim_family {
  HONE_FAMILY_SOURCE,
  HONE_FAMILY_UNARY,
  HONE_FAMILY_BINARY,
  HONE_FAMILY_SELECT,
  HONE_FAMILY_CAST,
  HONE_FAMILY_MOVEMENT,
  HONE_FAMILY_WHOLE,
  HONE_FAMILY_CONTROL,
} hone_prim_family_t;

/* name, text, family, least and most inputs (-1: any), outputs (-1: any), fields, regions */
#define HONE_PRIMS(X)                                                                      \
  X(INPUT, "input", SOURCE, 0, 0, 1, 0, 0)                                                 \
  X(CONSTANT, "constant", SOURCE, 0, 0, 1, HONE_USES_CONSTANT, 0)                          \
  X(IOTA, "iota", SOURCE, 0, 0, 1, HONE_USES_SHAPE | HONE_USES_DTYPE | HONE_USES_AXES, 0)  \
  X(DIMS, "dims", SOURCE, 0, 0, 1, HONE_USES_SHAPE, 0)                                     \
  X(RANDOM, "random", SOURCE, 0, 0, 1,                                                     \
    HONE_USES_SHAPE | HONE_USES_DTYPE | HONE_USES_SEED | HONE_USES_FLAGS, 0)               \
  X(ADD, "add", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(SUB, "sub", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(MUL, "mul", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(DIV, "div", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(REM, "rem", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(POW, "pow", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(MIN, "min", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(MAX, "max", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(EQ, "eq", BINARY, 2, 2, 1, 0, 0)                                                       \
  X(LT, "lt", BINARY, 2, 2, 1, 0, 0)                                                       \
  X(AND, "and", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(OR, "or", BINARY, 2, 2, 1, 0, 0)                                                       \
  X(XOR, "xor", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(SHL, "shl", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(SHR, "shr", BINARY, 2, 2, 1, 0, 0)                                                     \
  X(NEG, "neg", UNARY, 1, 1, 1, 0, 0)                                                      \
  X(ABS, "abs", UNARY, 1, 1, 1, 0, 0)                                                      \
  X(EXP, "exp", UNARY, 1, 1, 1, 0, 0)                                                      \
  X(LOG, "log", UNARY, 1, 1, 1, 0, 0)                                                      \
  X(SQRT, "sqrt", UNARY, 1, 1, 1, 0, 0)                                                    \
  X(SIN, "sin", UNARY, 1, 1, 1, 0, 0)                                                      \
  X(COS, "cos", UNARY, 1, 1, 1, 0, 0)                                                      \
  X(ATAN, "atan", UNARY, 1, 1, 1, 0, 0)                                                    \
  X(TANH, "tanh", UNARY, 1, 1, 1, 0, 0)                                                    \
  X(ERF, "erf", UNARY, 1, 1, 1, 0, 0)                                                      \
  X(FLOOR, "floor", UNARY, 1, 1, 1, 0, 0)                                                  \
  X(ROUND, "round", UNARY, 1, 1, 1, 0, 0)                                                  \
  X(SELECT, "select", SELECT, 3, 3, 1, 0, 0)                                               \
  X(CAST, "cast", CAST, 1, 1, 1, HONE_USES_DTYPE | HONE_USES_FLAGS, 0)                     \
  X(BITCAST, "bitcast", CAST, 1, 1, 1, HONE_USES_DTYPE, 0)                                 \
  X(RESHAPE, "reshape", MOVEMENT, 1, 1, 1, HONE_USES_SHAPE, 0)                             \
  X(PERMUTE, "permute", MOVEMENT, 1, 1, 1, HONE_USES_AXES, 0)                              \
  X(EXPAND, "expand", MOVEMENT, 1, 1, 1, HONE_USES_SHAPE, 0)                               \
  X(SLICE, "slice", MOVEMENT, 1, 1, 1, HONE_USES_LO | HONE_USES_HI | HONE_USES_STEP, 0)    \
  X(PAD, "pad", MOVEMENT, 2, 2, 1, HONE_USES_LO | HONE_USES_HI, 0)                         \
  X(FLIP, "flip", MOVEMENT, 1, 1, 1, HONE_USES_AXES, 0)                                    \
  X(CONCAT, "concat", MOVEMENT, 1, -1, 1, HONE_USES_AXES, 0)                               \
  X(WINDOW, "window", MOVEMENT, 1, 1, 1,                                                   \
    HONE_USES_AXES | HONE_USES_SHAPE | HONE_USES_STEP | HONE_USES_HI, 0)                   \
  X(REDUCE, "reduce", WHOLE, 1, 1, 1, HONE_USES_COMBINE | HONE_USES_AXES, 0)               \
  X(CONTRACT, "contract", WHOLE, 2, 2, 1,                                                  \
    HONE_USES_AXES | HONE_USES_BATCH | HONE_USES_DTYPE | HONE_USES_FLAGS, 0)               \
  X(GATHER, "gather", WHOLE, 2, 2, 1, 0, 0)                                                \
  X(SCATTER, "scatter", WHOLE, 3, 3, 1, HONE_USES_COMBINE, 0)                              \
  X(SCAN, "scan", WHOLE, 1, 1, 1, HONE_USES_COMBINE | HONE_USES_AXES | HONE_USES_FLAGS, 0) \
  X(SORT, "sort", WHOLE, 1, 1, 2, HONE_USES_AXES | HONE_USES_SHAPE | HONE_USES_FLAGS, 0)   \
  X(IF, "if", CONTROL, 1, -1, -1, 0, 2)                                                    \
  X(LOOP, "loop", CONTROL, 2, -1, -1, HONE_USES_CARRIED, 1)                                \
  X(CALL, "call", CONTROL, 0, -1, -1, HONE_USES_LABEL, 1)                                  \
  X(HOST, "host", CONTROL, 0, -1, -1, HONE_USES_HOST, 0)

typedef enum hone_prim {
#define HONE_PRIM_ENUM(name, text, family, least, most, outputs, fields, regions) HONE_PRIM_##name,
  HONE_PRIMS(HONE_PRIM_ENUM)
#undef HONE_PRIM_ENUM
      HONE_PRIM_COUNT
} hone_prim_t;

typedef enum hone_combine {
  HONE_COMBINE_SET,
  HONE_COMBINE_ADD,
  HONE_COMBINE_MUL,
  HONE_COMBINE_MIN,
  HONE_COMBINE_MAX,
  HONE_COMBINE_COUNT
} hone_combine_t;

enum {
  HONE_FLAG_SATURATE = 1 << 0,   /* cast */
  HONE_FLAG_ROUND_UP = 1 << 1,   /* cast to f8e8m0 */
  HONE_FLAG_ROUND_DOWN = 1 << 2, /* cast to f8e8m0 */
  HONE_FLAG_EXCLUSIVE = 1 << 3,  /* scan */
  HONE_FLAG_DESCENDING = 1 << 4, /* sort */
  HONE_FLAG_UNSEEDED = 1 << 5,   /* random */
  HONE_FLAG_STAYS = 1 << 6,      /* cast: kernels compute it, also of constants */
  HONE_FLAG_FLUSHES = 1 << 7,    /* cast to bf16: numbers below 2^-126 may become 0 */
  HONE_FLAG_BY_PARTS = 1 << 8,   /* contract: long sums are added up part by part, to lose less */
};

typedef struct hone_prim_info {
  const char* name;
  hone_prim_family_t family;
  int min_inputs, max_inputs; /* -1: any number */
  int outputs;                /* -1: any number */
  int fields;                 /* HONE_USES_… */
  int regions;
} hone_prim_info_t;

const hone_prim_info_t* hone_prim_info(hone_prim_t prim);
/* HONE_PRIM_COUNT when there is none of that name. */
hone_prim_t hone_prim_parse(const char* name);
/* exp, log, pow and their like: they cost a lot more than a load, so that results
 * are worth keeping, and devices compute them to a few units in the last place. */
bool hone_prim_is_transcendental(hone_prim_t prim);
/* Whether each element is computed from those of the operands at its place. */
bool hone_prim_is_elementwise(hone_prim_t prim);
const char* hone_combine_name(hone_combine_t combine);
hone_combine_t hone_combine_parse(const char* name); /* HONE_COMBINE_COUNT: none */

#endif
