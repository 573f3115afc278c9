/* Precision: what a caller asks for by the words "fp32", "bf16x3", "bf16", "fp16",
 * "int8" and "mixed", as an element type that contractions take their operands in. */
#ifndef HONE_RUNTIME_PRECISION_H
#define HONE_RUNTIME_PRECISION_H

#include "hone/dtype.h"
#include "hone/model.h"

typedef struct hone_precision {
  hone_dtype_t dtype; /* HONE_UNKNOWN: as the model has them */
  bool bf16x3;        /* products of f32 may be made of three of bf16 */
} hone_precision_t;

/* `name` NULL is "fp32"; `model` NULL takes any word. HONE_UNKNOWN is given where operands stay
 * as they are: for "fp32", and for "int8" where the model says itself how it is quantized. Errors:
 * INVALID_ARGUMENT for another word, UNSUPPORTED for "int8" of a model in floats and for "mixed",
 * which says nothing of single contractions. */
HONE_MUST_USE hone_status_t hone_precision_parse(const char* name, const hone_model_t* model,
                                                 hone_precision_t* out_precision);
/* The word of the table that `name` is, which lives forever; "fp32" for NULL. */
const char* hone_precision_name(const char* name);

#endif
