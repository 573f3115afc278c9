/* NumPy's files: .npy holds one array, .npz is a zip archive of them.
 *
 * Read are booleans, integers, floats and complex numbers of either byte
 * order, byte strings (S) and texts (U, which become UTF-8), in C or Fortran
 * order. NumPy has no name for bfloat16, the float8, float6 and float4 kinds and the
 * small integers: ml_dtypes writes them as raw bytes (V1, V2), which say not
 * what they are. `void_as` tells it; HONE_UNKNOWN refuses them.
 *
 * Any input gives a tensor or a status. Thread-safety: each call works on its
 * own data; an open archive may be read by several threads. */
#ifndef HONE_IMPORT_NPY_H
#define HONE_IMPORT_NPY_H

#include "base/file.h"
#include "hone/tensor.h"

/* The tensor owns its elements. Errors: INVALID_DATA, UNSUPPORTED (objects,
 * records, dates, long double, raw bytes), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_npy_load_memory(const hone_allocator_t* allocator,
                                                 const void* data, size_t size,
                                                 hone_dtype_t void_as, hone_tensor_t** out_tensor);
/* The same from a file, which the message then names; also NOT_FOUND, IO. */
HONE_MUST_USE hone_status_t hone_npy_load_file(const hone_allocator_t* allocator, const char* path,
                                               hone_dtype_t void_as, hone_tensor_t** out_tensor);

/* An array as the two pieces that make a .npy file. `body` is the tensor's own
 * memory, or made for strings. */
typedef struct hone_npy_image {
  const hone_allocator_t* allocator;
  char* header;
  size_t header_size;
  const void* body;
  size_t body_size;
  void* made; /* the body when it is not the tensor's */
} hone_npy_image_t;

/* Strings are written as texts (U). Errors: UNSUPPORTED (a sequence or map; a
 * string that is no UTF-8 or ends in a zero, which the format drops), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_npy_image_make(const hone_allocator_t* allocator,
                                                const hone_tensor_t* tensor,
                                                hone_npy_image_t* out_image);
void hone_npy_image_free(hone_npy_image_t* image); /* a zeroed one is allowed */
/* Replaces `path` once the new file is whole. */
HONE_MUST_USE hone_status_t hone_npy_save_file(const hone_allocator_t* allocator,
                                               const hone_tensor_t* tensor, const char* path);

/* ---- archives ---- */

typedef struct hone_npz hone_npz_t;

/* Members may be stored or deflated. `data` must outlive the archive. Errors:
 * INVALID_DATA, UNSUPPORTED (encryption, several disks), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_npz_open_memory(const hone_allocator_t* allocator,
                                                 const void* data, size_t size,
                                                 hone_npz_t** out_npz);
HONE_MUST_USE hone_status_t hone_npz_open_file(const hone_allocator_t* allocator, const char* path,
                                               hone_npz_t** out_npz);
void hone_npz_close(hone_npz_t* npz); /* NULL is allowed */
int hone_npz_count(const hone_npz_t* npz);
/* The member's name without ".npy"; NULL out of range. */
const char* hone_npz_name(const hone_npz_t* npz, int index);
int hone_npz_find(const hone_npz_t* npz, const char* name); /* -1: there is none */
/* Reads one array; its checksum must hold. */
HONE_MUST_USE hone_status_t hone_npz_read(const hone_npz_t* npz, int index, hone_dtype_t void_as,
                                          hone_tensor_t** out_tensor);

/* Writes the arrays uncompressed, as numpy.savez does. Names must differ. */
HONE_MUST_USE hone_status_t hone_npz_save_file(const hone_allocator_t* allocator, int count,
                                               const char* const* names,
                                               hone_tensor_t* const* tensors, const char* path);

#endif
