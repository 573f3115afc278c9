/* Nibbles: u8 constants whose numbers have four bits, 0 to 15. Eight that follow one another lie in
 * a word of 32 bits: byte k % 4 of it has number k, the low half of it where k < 4, else the high
 * one. So both halves are four bytes side by side, as products of bytes are added up (intrinsics
 * dot16_i8_u4 and dot32_i8_u4, codegen/prelude/cpu_dot.inc). */
#ifndef HONE_LOOP_NIBBLES_H
#define HONE_LOOP_NIBBLES_H

#include "loop/quantized.h"

enum { HONE_NIBBLES = 8 /* in a word */ };

/* Sets fits_nibbles of the constants of u8 whose elements are known, and all within four bits.
 * `contents` is called for such constants alone. */
void hone_nibbles_mark(hone_kernel_t* kernel, hone_contents_fn contents, void* self);

/* The word of eight numbers. */
uint32_t hone_nibbles_word(const uint8_t numbers[HONE_NIBBLES]);

#endif
