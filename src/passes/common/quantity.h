/* Quantities: real values that are known to be (q - zero) * scale of an 8-bit
 * integer tensor q, so that arithmetic on them can be done on q. */
#ifndef HONE_PASSES_COMMON_QUANTITY_H
#define HONE_PASSES_COMMON_QUANTITY_H

#include "passes/common/rewrite.h"

typedef struct hone_quantity {
  hone_value_t* q;     /* i8 or u8, of the value's shape */
  hone_value_t* zero;  /* i32 scalar; NULL: 0 */
  hone_value_t* scale; /* float, of q's rank, each extent 1 or q's; NULL: 1 (integers) */
} hone_quantity_t;

/* Finds out what `value` (a float, or an i32) is, where it comes from a tensor of
 * 8 bits by a zero point, a scale (one number, or one for each index of an axis),
 * movement, and maxima and minima with zero or over axes. Builds what it needs
 * of that for q with r->b; false when it is no quantity. */
bool hone_quantity_read(hone_rewriter_t* r, hone_value_t* value, hone_quantity_t* out);

/* The one number that all elements are, casts of integers looked through. */
bool hone_quantity_number(const hone_value_t* value, double* out_number);
/* The one number that the scale is, if it is one and positive. */
bool hone_quantity_one_scale(const hone_quantity_t* quantity, double* out_scale);
/* The zero point as a number. */
bool hone_quantity_zero_number(const hone_quantity_t* quantity, double* out_zero);
/* The largest |q - zero| that can be. */
int64_t hone_quantity_reach(const hone_quantity_t* quantity);

#endif
