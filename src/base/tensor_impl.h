/* The fields of a tensor, for the parts of hone that work on them directly.
 * Header, elements and items come from one allocation, unless the elements
 * were wrapped or are late. Invariant: bytes == count * hone_dtype_size(dtype). */
#ifndef HONE_BASE_TENSOR_IMPL_H
#define HONE_BASE_TENSOR_IMPL_H

#include <stdatomic.h>

#include "hone/tensor.h"

/* Whether the elements are there. */
typedef enum hone_lateness { HONE_THERE, HONE_LATE, HONE_BEING_FILLED } hone_lateness_t;

struct hone_tensor {
  const hone_allocator_t* allocator;
  atomic_size_t references;
  size_t allocated; /* bytes of this allocation, for the allocator */
  hone_kind_t kind;
  hone_dtype_t dtype; /* of a sequence: of its elements, UNKNOWN where that is not known */
  int rank;           /* 0 for kinds other than TENSOR */
  int64_t dims[HONE_MAX_RANK];
  int64_t count;         /* elements, or items */
  size_t bytes;          /* of data */
  void* data;            /* TENSOR: the elements; may point one past the end when count is 0. NULL
                            while it is late: then hone_tensor_data makes them */
  hone_tensor_t** items; /* SEQUENCE and MAP: each retained */
  bool wrapped;          /* data is the caller's, strings in it too */
  void (*free_data)(void* owner);
  void* owner;
  struct hone_late* late;   /* what late elements are made of; NULL: nothing any more */
  void* late_data;          /* the tensor's own, where late elements go */
  atomic_int lateness;      /* hone_lateness_t */
  hone_tensor_t* next_dead; /* links what a release has still to free */
};

/* Elements of weights: these lie where a file has them, whatever their alignment. */
typedef double hone_loose_f64_t __attribute__((aligned(1)));
typedef float hone_loose_f32_t __attribute__((aligned(1)));
typedef int32_t hone_loose_i32_t __attribute__((aligned(1)));
typedef int16_t hone_loose_i16_t __attribute__((aligned(1)));

/* As hone_tensor_create, but the elements are not set, for who writes all of them (strings are
 * empty), with sizes that only a run knows. Errors: OUT_OF_RANGE, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_tensor_create_raw(const hone_allocator_t* allocator,
                                                   hone_dtype_t dtype, int rank,
                                                   const int64_t* dims, hone_tensor_t** out_tensor);

/* As hone_tensor_create, but the elements are made when somebody first asks for them, and never
 * where nobody does: `fill` writes all of them, in whichever thread asks (others wait). It gets a
 * copy of `context`, of that many bytes; `from`, whose elements it may read, is retained till then.
 */
HONE_MUST_USE hone_status_t hone_tensor_create_late(
    const hone_allocator_t* allocator, hone_dtype_t dtype, int rank, const int64_t* dims,
    void (*fill)(void* context, void* data), const void* context, size_t context_size,
    const hone_tensor_t* from, hone_tensor_t** out_tensor);

/* Whether the elements are still to be made. */
bool hone_tensor_is_late(const hone_tensor_t* tensor);

/* The elements of a late tensor in the caller's memory, of as many bytes as the tensor's; it stays
 * late. Nobody else may ask for them meanwhile. */
void hone_tensor_fill(const hone_tensor_t* tensor, void* data);

#endif
