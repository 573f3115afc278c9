/* Quantizing a sum of two bytes that count differently, as what skips layers of a quantized network
 * is added: round(((x - zx) * sx + (y - zy) * sy) / s).
 *
 * Two fused multiply-adds give the same whole number, round(fx * x + (fy * y + shift)), if the two
 * factors and the shift are chosen well. x and y are bytes, so all pairs of them are tried: those
 * whose sum is far from half a whole number are rounded alike in any case. Where the nearest
 * numbers to sx / s, sy / s and -(zx * sx + zy * sy) / s do not agree for one of the others,
 * numbers beside them are tried. */
#ifndef HONE_LOOP_QUANTIZED_SUM_H
#define HONE_LOOP_QUANTIZED_SUM_H

#include "loop/quantized.h"

/* (number - zero) * scale, for 256 whole numbers from `least` on, |number| at most 511. */
typedef struct hone_addend {
  int least, zero;
  float scale;
} hone_addend_t;

typedef struct hone_quantized_sum {
  float factors[2], shift;
} hone_quantized_sum_t;

/* The same whole number once both are held between `low` and `high`, for all pairs. False: no such
 * numbers were found. Takes about 0.2 ms. */
bool hone_quantized_sum_make(const hone_addend_t addends[2], float scale, double low, double high,
                             hone_quantized_sum_t* out);

/* A term of f32 that is a byte of u8 or i8, less a whole number, times another number. */
typedef struct hone_scaled_byte {
  const hone_term_t* number; /* the byte less that, as f32 */
  const hone_term_t* byte;
  int zero;
  float scale;
} hone_scaled_byte_t;

/* Whether a term adds two of them. */
bool hone_quantized_sum_match(const hone_term_t* term, hone_scaled_byte_t out[2]);

#endif
