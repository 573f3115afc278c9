/* Libraries of the system that multiply matrices, opened when a kernel first wants
 * one and never needed: such a kernel has its own loops beside the call.
 *
 * Calls run on the thread that makes them: hone shares work out among its own
 * threads. OpenBLAS is told so once for the whole process; libraries that use
 * OpenMP are told for the thread, during the call. */
#ifndef HONE_BACKENDS_CPU_VENDOR_H
#define HONE_BACKENDS_CPU_VENDOR_H

#include "codegen/library.h"

/* c += a * b, of `rows` by `columns` results that are sums of `sums` products. Elements of
 * a row lie side by side, or of a column where the matrix is turned; rows (columns) lie
 * `_stride` elements apart. Anything but 0: nothing was done. */
typedef int (*hone_sgemm_fn)(long rows, long columns, long sums, const float* a, long a_stride,
                             int a_turned, const float* b, long b_stride, int b_turned, float* c,
                             long c_stride);

typedef enum hone_vendor_id {
  HONE_VENDOR_OPENBLAS,
  HONE_VENDOR_ONEDNN,
  HONE_VENDOR_COUNT
} hone_vendor_id_t;

/* Opened once; NULL: not to be had, and *out_why says why not and what to do. Thread-safe. */
hone_sgemm_fn hone_vendor_sgemm(hone_vendor_id_t vendor, const char** out_why);
/* Gives the kernels of a library that was just loaded the functions that they ask for, and
 * warns, once for each, of what is not to be had. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_vendor_bind(const hone_library_t* library);

/* ---- for tests ---- */

/* Opens that file instead, whatever was opened before. */
hone_sgemm_fn hone_vendor_open(hone_vendor_id_t vendor, const char* file, char* out_why,
                               size_t size);

#endif
