/* Quantizing to bytes, as a term: cast.u8(min(max(add(round(div(x, s)), z), 0), high)), or of i8
 * with -128 for 0.
 *
 * A backend may compute x / s as x * high + x * low, where high + low is 1 / s to twice the digits.
 * That is rounded as a quotient is but for few x of few s. Rounding to whole numbers then differs
 * only if x is a few units of its last place from half a whole number times s; those are all tried,
 * for the numbers that occur in the term when it is written, and for those that the kernel reads
 * (is_proven of a buffer) when their contents are known. */
#ifndef HONE_LOOP_QUANTIZED_H
#define HONE_LOOP_QUANTIZED_H

#include "loop/kernel.h"

typedef struct hone_quantized {
  const hone_term_t* x;        /* what is rounded */
  const hone_term_t* dividend; /* x is dividend / scale; NULL: x is no quotient by one number */
  const hone_term_t* scale;    /* a number, or one that is read once (below) */
  const hone_term_t* zero;     /* the same of what is added to the whole number; NULL: nothing is */
  hone_dtype_t dtype;          /* u8 or i8 */
  double low, high;            /* of the sum: the least byte and at most the greatest */
} hone_quantized_t;

/* Whether the term, a cast to u8 or i8, is one. */
bool hone_quantized_match(const hone_term_t* term, hone_quantized_t* out);
/* Whether an i32 is the zero point. */
bool hone_quantized_is_zero(const hone_quantized_t* q, const hone_term_t* term);

/* The byte that a term is as a wider number, or the term; *out_less: what is subtracted from it, an
 * i32, or NULL. */
const hone_term_t* hone_quantized_byte(const hone_term_t* term, const hone_term_t** out_less);

typedef struct hone_divisor {
  float scale, high, low; /* high + low is 1 / scale */
} hone_divisor_t;

/* False: some x / scale between the whole numbers `least` and `greatest` would be rounded to
 * another whole number, or something under- or overflows. */
bool hone_divisor_make(float scale, double least, double greatest, hone_divisor_t* out);

/* Whether it is a number of a constant list, a single constant, or a cast of such: the same in
 * all loops. */
bool hone_term_is_read_once(const hone_term_t* term);

/* Elements of a constant that is a parameter; NULL: they are not known. */
typedef const void* (*hone_contents_fn)(void* self, const hone_buffer_t* buffer);
/* Sets is_proven of the constants that quantizations read numbers from, where all of them may be
 * computed without dividing, and add bytes; and is_bounded of those that what is quantized is
 * computed with. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_quantized_prove(hone_kernel_t* kernel, hone_contents_fn contents,
                                                 void* self);

/* Sums of bytes times constants, as layers of quantized models have them, are so near to zero that
 * the whole number of each, its zero point included, fits an i32. It need not be held below the
 * greatest byte, which takes a comparison and a register, before it is converted: what packs i32s
 * to bytes does that. */
typedef struct hone_reach {
  double most;       /* the magnitude; INFINITY: not known */
  bool has_constant; /* a constant list of numbers is in it */
  bool is_known;     /* the others are set */
} hone_reach_t;

typedef struct hone_reaching {
  hone_kernel_t* kernel;
  hone_contents_fn contents; /* NULL: of constants only is_bounded is known */
  void* self;
  void (*found)(void* self, const hone_buffer_t* constant); /* told of each that is read; or NULL */
  hone_reach_t* sums; /* by buffer id: of scratch, kept from call to call; or NULL */
  int depth;          /* 0 */
} hone_reaching_t;
hone_reach_t hone_quantized_reach(const hone_reaching_t* r, const hone_term_t* term);
/* Whether what is quantized fits an i32, by what was proven of the constants in it. */
bool hone_quantized_is_bounded(hone_kernel_t* kernel, hone_reach_t* sums,
                               const hone_quantized_t* q);

#endif
