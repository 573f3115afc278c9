/* The header of a .npy file, taken apart and checked against the file's size. */
#ifndef HONE_IMPORT_NPY_HEADER_H
#define HONE_IMPORT_NPY_HEADER_H

#include "hone/tensor.h"

typedef struct hone_npy_header {
  char kind; /* of NumPy's type: b i u f c S U V */
  bool big_endian;
  bool fortran_order;
  size_t item_size; /* bytes an element takes in the file */
  int rank;
  int64_t dims[HONE_MAX_RANK];
  int64_t count;
  size_t body; /* where the elements start; count * item_size bytes follow, and no more */
} hone_npy_header_t;

HONE_MUST_USE hone_status_t hone_npy_header_read(const void* data, size_t size,
                                                 hone_npy_header_t* out_header);

#endif
