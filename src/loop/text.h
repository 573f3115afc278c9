/* Kernels in text, which reads back as the same kernel.
 *
 *   kernel conv_12 {
 *     origin "Conv_3, Relu_4"
 *     size batch 0..64
 *     input x: f32[batch, 768] = 0
 *     input w: f32[768] = 1 constant
 *     output out: f32[batch] = 0
 *     local acc: f32[]
 *     for i in batch parallel {
 *       acc[] = f32(0)
 *       for k in 768 reduction {
 *         acc[] += mul(x[i, k], w[k])
 *       }
 *       %1 = max(acc[], f32(0))
 *       out[i] = mul(%1, %1)
 *     }
 *     schedule "parallel i"
 *   }
 *
 * Buffers: how they are used, name, type, and for a parameter which input or
 * output of the graph's node it is; "proven", "bounded": see kernel.h, where
 * "from [768, 8] by 0*24 1*1 0*1", packed, is explained too. Terms: f32(1.5) and f32(x"0000c07f")
 * are constants, index(i + 1) a dimension as an i64, the rest loads and primitives;
 * cast.f16.saturate(…) has its type and flags in the name. A term that is used several times or
 * deep inside stands in lines %n = … before the statement that it belongs to.
 * Stores: =, +=, *=, min=, max=. Statements else: for NAME in EXTENT [kind]
 * [reduction] [as INTRINSIC] {…}, if TERM {…}, let NAME in MIN..MAX = TERM,
 * check NUMBER "message" TERM, barrier, prefetch BUFFER[…] [near]. Comments run from # to the
 * line's end. Names that are not plain words stand in quotes. */
#ifndef HONE_LOOP_TEXT_H
#define HONE_LOOP_TEXT_H

#include "base/str.h"
#include "loop/kernel.h"

/* Appends the text. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_kernel_print(const hone_kernel_t* kernel, hone_str_t* out);
/* Appends a dimension expression. */
void hone_dim_append(hone_dim_t dim, hone_str_t* out);
/* Appends "x[i, 3]". */
void hone_access_print(const hone_buffer_t* buffer, const hone_dim_t* index, hone_str_t* out);

/* Reads a kernel back. `text` need not end in 0. The result has passed
 * hone_kernel_verify. Errors: INVALID_DATA with line and column, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_kernel_parse(const hone_allocator_t* allocator, const char* text,
                                              size_t size, hone_kernel_t** out_kernel);

/* Word of the text, by enum value: "serial", "parallel", … */
const char* hone_loop_kind_name(hone_loop_kind_t kind);

#endif
