/* Text of C-like languages: what the renderers of C, OpenCL C, CUDA C … share. */
#ifndef HONE_CODEGEN_C_TEXT_H
#define HONE_CODEGEN_C_TEXT_H

#include "base/str.h"
#include "loop/kernel.h"

/* Writes `d` as a C expression of 64-bit integers, in parentheses where it is
 * more than a name or a number. Symbols are written by hone_c_symbol. Quotients
 * of what may be negative, min and max call hone_floordiv, hone_mod, hone_imin
 * and hone_imax, which the language's prelude must have. */
void hone_c_dim(hone_str_t* out, hone_dim_t d);
/* "i_o_7": the symbol's name made a C name, with its number to tell it apart; "n_0": a size. */
void hone_c_symbol(hone_str_t* out, const hone_symbol_t* symbol);
/* "acc_3": the same for a buffer. */
void hone_c_buffer(hone_str_t* out, const hone_buffer_t* buffer);
/* Two spaces a level. */
void hone_c_indent(hone_str_t* out, int depth);

/* Every UNROLL loop of the kernel becomes copies of its body, so that indices
 * in there are numbers. */
HONE_MUST_USE hone_status_t hone_kernel_expand_unrolled(hone_kernel_t* kernel);

/* Long expressions of the kernel's sizes alone become integers that are bound at its top, each
 * once: written out at every access they would make sources that no compiler gets through. */
HONE_MUST_USE hone_status_t hone_kernel_name_sizes(hone_kernel_t* kernel);

/* The innermost body that holds all uses of a buffer that is no parameter:
 * where it is declared. NULL when nobody uses it. */
const hone_stmt_t* hone_buffer_scope(const hone_kernel_t* kernel, const hone_buffer_t* buffer);

#endif
