/* Values in files: what `hone run` reads inputs from and writes outputs to.
 *
 *   .npy .npz    NumPy's arrays
 *   .pb          ONNX's TensorProto, SequenceProto, OptionalProto, MapProto
 *   .raw .bin    elements as in memory, without a header
 *   .txt         numbers between blanks or commas; strings one a line
 *   .png .jpg .jpeg .ppm .pgm .pnm   pictures, see preprocess.h
 *   .bmp .webp .tif .tiff .jp2       the same, read only */
#ifndef HONE_TOOLS_VALUE_H
#define HONE_TOOLS_VALUE_H

#include "hone/tensor.h"
#include "ir/model.h"

typedef struct hone_preprocess hone_preprocess_t; /* preprocess.h */

/* What a model says about an input, as far as it says it. */
typedef struct hone_value_want {
  hone_onnx_type_kind_t kind;
  hone_dtype_t dtype;          /* HONE_UNKNOWN: any */
  int rank;                    /* -1: any */
  int64_t dims[HONE_MAX_RANK]; /* -1: any */
} hone_value_want_t;

/* Whether the name's end is one that can be written. */
bool hone_value_is_writable(const char* path);
bool hone_value_has_ending(const char* path, const char* ending); /* ".npz", any case */

/* Reads a value; from an archive the array called `name`, or its only one.
 * Pictures take `steps` (NULL: the default). Messages name the path. */
HONE_MUST_USE hone_status_t hone_value_read(const hone_allocator_t* allocator, const char* path,
                                            const char* name, const hone_value_want_t* want,
                                            const hone_preprocess_t* steps,
                                            hone_tensor_t** out_tensor);
/* Writes a value; into an archive as its only array, called `name`. Files are
 * whole or not there. */
HONE_MUST_USE hone_status_t hone_value_write(const hone_allocator_t* allocator, const char* path,
                                             const char* name, const hone_tensor_t* tensor,
                                             const hone_preprocess_t* steps);

/* ---- the formats without a shape ---- */

/* Elements of want->dtype from text. */
HONE_MUST_USE hone_status_t hone_value_parse_text(const hone_allocator_t* allocator,
                                                  const char* text, size_t size,
                                                  const hone_value_want_t* want,
                                                  hone_tensor_t** out_tensor);
/* Text of a tensor, the last axis on a line; to be freed with hone_free(…, size + 1). */
HONE_MUST_USE hone_status_t hone_value_print_text(const hone_allocator_t* allocator,
                                                  const hone_tensor_t* tensor, char** out_text,
                                                  size_t* out_size);
/* A tensor of zeros of the wanted type for `count` elements: one open extent
 * is found from the count (-1: there is no count, all must be known). */
HONE_MUST_USE hone_status_t hone_value_create(const hone_allocator_t* allocator,
                                              const hone_value_want_t* want, int64_t count,
                                              hone_tensor_t** out_tensor);

enum { HONE_NUMBER_SIZE = 64 };
/* Element `index` in the fewest digits that read back as it. Strings: "". */
void hone_value_print_number(const hone_tensor_t* tensor, int64_t index,
                             char out[HONE_NUMBER_SIZE]);

#endif
