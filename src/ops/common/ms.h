/* What the operators of com.microsoft share. These are the ones that
 * onnxruntime's quantizer and transformer optimizer write into models; what
 * they compute follows its documentation and its CPU kernels. */
#ifndef HONE_OPS_COMMON_MS_H
#define HONE_OPS_COMMON_MS_H

#include "ops/op.h"

#define HONE_MS_DOMAIN "com.microsoft"

/* Lowers as operator `name` of ai.onnx at `opset`, with these inputs and the
 * node's attributes; false (with an error noted) when there is no such one. */
bool hone_ms_delegate(hone_lower_t* l, const char* name, int64_t opset, int n_inputs,
                      hone_value_t* const* inputs, int n_outputs, hone_value_t** outputs);
/* The same for one output. */
hone_value_t* hone_ms_as(hone_lower_t* l, const char* name, int64_t opset, int n_inputs,
                         hone_value_t* const* inputs);

/* The activation function `name` (Relu, LeakyRelu, Clip …); NULL or "" is none.
 * `params` are its numbers in order; an unknown name is an error. */
hone_value_t* hone_ms_activate(hone_lower_t* l, hone_value_t* x, const char* name, int n_params,
                               const double* params);

/* Channels from the last axis to axis 1, and back. */
hone_value_t* hone_ms_channels_first(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_ms_channels_last(hone_builder_t* b, hone_value_t* x);

/* Normalization of rows (the last axis), in f32 or wider. */
typedef struct hone_ms_norm {
  hone_value_t *y, *mean, *inverse; /* mean is NULL when `simplified` */
} hone_ms_norm_t;
/* (x - mean) / deviation * gamma + beta; `simplified`: x / root mean square *
 * gamma. gamma and beta may be NULL. y has the dtype of x. */
hone_ms_norm_t hone_ms_normalize(hone_builder_t* b, hone_value_t* x, hone_value_t* gamma,
                                 hone_value_t* beta, double epsilon, bool simplified);

/* x * y + z, all f32, rounded once. */
hone_value_t* hone_ms_fma(hone_builder_t* b, hone_value_t* x, hone_value_t* y, hone_value_t* z);
/* scale * (x - zero) in f32; scale and zero broadcast, zero may be NULL. */
hone_value_t* hone_ms_dequantize(hone_builder_t* b, hone_value_t* x, hone_value_t* scale,
                                 hone_value_t* zero);
/* Elements of an 8- or 16-bit type: round(x / scale) + zero, saturated. */
hone_value_t* hone_ms_quantize(hone_builder_t* b, hone_value_t* x, hone_value_t* scale,
                               hone_value_t* zero, hone_dtype_t dtype);
/* f32 saturated to the range of `dtype` after rounding, without a zero point. */
hone_value_t* hone_ms_round_to(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype);

/* The only element of `x` as a scalar of x's dtype. */
hone_value_t* hone_ms_scalar(hone_builder_t* b, hone_value_t* x);

#endif
