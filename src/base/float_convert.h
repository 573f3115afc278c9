/* Numbers of every element type to and from double and int64.
 *
 * Every float format here embeds in double, so reading is exact and writing
 * rounds once, to nearest even. Rules where a value does not fit are those of
 * ONNX's Cast:
 *   f32 f16 bf16   overflow to infinity
 *   float8 kinds   with `saturate` the largest finite value, infinities too;
 *                  else infinity, or NaN where the format has none
 *   f4 f6 kinds    always the largest value; NaN becomes zero
 *   f8e8m0         powers of two, away from zero (see hone_f8e8m0_from_double)
 *   integers       toward zero; ONNX leaves what does not fit undefined, here it is
 *                  what x86 does: the type's minimum for i64 and i32, and the low
 *                  bits of that conversion for narrower types
 *   bool           whether the value is not zero (NaN is not)
 * Of a complex number the real part is read; written, it has no imaginary
 * part. A string reads as zero and is never written.
 *
 * Elements may be unaligned. All functions are pure. */
#ifndef HONE_BASE_FLOAT_CONVERT_H
#define HONE_BASE_FLOAT_CONVERT_H

#include "hone/dtype.h"

typedef enum hone_round {
  HONE_ROUND_UP,      /* away from zero */
  HONE_ROUND_DOWN,    /* toward zero */
  HONE_ROUND_NEAREST, /* ties up */
} hone_round_t;

double hone_to_double(hone_dtype_t dtype, const void* element);
void hone_from_double(hone_dtype_t dtype, double value, bool saturate, void* element);

/* A row of `n` elements, `stride_bytes` apart (0 repeats one, negative walks back). */
void hone_load_f64(hone_dtype_t dtype, const void* src, int64_t stride_bytes, int64_t n,
                   double* out);
/* Into a dense row; float8 saturates. */
void hone_store_f64(hone_dtype_t dtype, const double* in, int64_t n, void* dst);
/* The same through int64: exact for all integers and bool (u64 keeps its
 * bits); stores wrap around (two's complement), bool stores != 0, floats round once. */
void hone_load_i64(hone_dtype_t dtype, const void* src, int64_t stride_bytes, int64_t n,
                   int64_t* out);
void hone_store_i64(hone_dtype_t dtype, const int64_t* in, int64_t n, void* dst);

/* The code of the power of two for |value|. Out of range (zero, above 2^127,
 * infinite) with `saturate`: the nearest end; without: NaN (0xff). */
uint8_t hone_f8e8m0_from_double(double value, bool saturate, hone_round_t mode);

/* Elements from elsewhere become what hone keeps: a bool is 0 or 1, a type of
 * fewer than 8 bits has nothing above them but an integer's sign. */
void hone_normalise_elements(hone_dtype_t dtype, void* elements, int64_t n);

/* The one rule of this library for a float that becomes an integer. */
int64_t hone_double_to_i64(double value);

#endif
