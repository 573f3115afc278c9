/* Arithmetic that the quantized operators share: y = saturate(round(x / scale) + zero point). */
#ifndef HONE_OPS_COMMON_QUANTIZED_H
#define HONE_OPS_COMMON_QUANTIZED_H

#include "ops/op.h"

/* A scale or zero point shaped to broadcast against x: one number, one for
 * each element of `axis`, or (block > 0) one for each block of so many along
 * it. NULL gives NULL. */
hone_value_t* hone_quantized_spread(hone_lower_t* l, hone_value_t* parameter, const hone_value_t* x,
                                    int64_t axis, int64_t block);
/* x - zero as i32; `zero` may be NULL and must broadcast against x. */
hone_value_t* hone_quantized_centered(hone_builder_t* b, hone_value_t* x, hone_value_t* zero);
/* Whether numbers of this type have zero points: those of the f8 types are zero
 * by definition. */
bool hone_quantized_has_offset(hone_dtype_t dtype);
/* A real number (already divided by its scale) as an element of `dtype`, with
 * `zero` (may be NULL) added; integers saturate always, f8 when asked to. */
hone_value_t* hone_quantized_encode(hone_builder_t* b, hone_value_t* x, hone_value_t* zero,
                                    hone_dtype_t dtype, bool saturate);
/* x_scale * w_scale / y_scale in f32. */
hone_value_t* hone_quantized_multiplier(hone_builder_t* b, hone_value_t* x_scale,
                                        hone_value_t* w_scale, hone_value_t* y_scale);
/* A list of several numbers as [count, 1], for the rows of a matrix; anything
 * else as it is, one number as a scalar. */
hone_value_t* hone_quantized_rows(hone_builder_t* b, hone_value_t* parameter);
/* One number in a list becomes a scalar. */
hone_value_t* hone_quantized_scalar(hone_builder_t* b, hone_value_t* parameter);

#endif
