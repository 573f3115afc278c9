/* Scalars: the elementwise primitives on one element, as ir/prim.h defines
 * them. `ref` and the interpreter of kernels compute with these, so that they
 * exist once.
 *
 * Numbers are computed with in the widest type of their class, double or 64-bit
 * integers, and rounded to their dtype when they are stored. Pure functions. */
#ifndef HONE_IR_SCALAR_H
#define HONE_IR_SCALAR_H

#include "base/float_convert.h"
#include "ir/prim.h"

/* How numbers of a dtype are computed with. */
typedef enum hone_scalar_class {
  HONE_SCALAR_F64, /* all float types */
  HONE_SCALAR_I64, /* bool and integers but u64 */
  HONE_SCALAR_U64,
  HONE_SCALAR_COMPLEX, /* pairs of double: not in this file */
  HONE_SCALAR_STRING,  /* nor these */
} hone_scalar_class_t;

hone_scalar_class_t hone_scalar_class(hone_dtype_t dtype);

/* One number as it is computed with. */
typedef union hone_scalar {
  double f;
  int64_t i;
  uint64_t u;
} hone_scalar_t;

/* n elements, `stride` bytes apart, as numbers of the dtype's class. */
void hone_scalar_load(hone_dtype_t dtype, const char* data, int64_t stride, int64_t n,
                      hone_scalar_t* out);
/* Into a dense row, rounded. */
void hone_scalar_store(hone_dtype_t dtype, const hone_scalar_t* in, int64_t n, char* data);

/* The following are NULL where the primitive is not defined for the class. */

typedef hone_scalar_t (*hone_scalar_combine_fn)(hone_scalar_t a, hone_scalar_t b);
hone_scalar_combine_fn hone_scalar_combine(hone_combine_t combine, hone_scalar_class_t class);
/* The neutral element of `combine` for `dtype`. */
hone_scalar_t hone_scalar_neutral(hone_combine_t combine, hone_dtype_t dtype);

/* `bits` of the operands' dtype, which shifts depend on. */
typedef hone_scalar_t (*hone_scalar_binary_fn)(hone_scalar_t a, hone_scalar_t b, int bits);
hone_scalar_binary_fn hone_scalar_binary(hone_prim_t prim, hone_scalar_class_t class);

typedef hone_scalar_t (*hone_scalar_unary_fn)(hone_scalar_t a);
hone_scalar_unary_fn hone_scalar_unary(hone_prim_t prim, hone_scalar_class_t class);

typedef struct hone_scalar_cast {
  hone_dtype_t from, to; /* numbers, not complex */
  bool saturate;
  hone_round_t e8m0_round;
} hone_scalar_cast_t;

/* By the flags of a `cast` (HONE_FLAG_…). */
hone_scalar_cast_t hone_scalar_cast_of(hone_dtype_t from, hone_dtype_t to, int64_t flags);
/* n numbers of the class of `from` into a dense row of `to`. */
void hone_scalar_cast(const hone_scalar_cast_t* cast, const hone_scalar_t* row, int64_t n,
                      char* to);

#endif
