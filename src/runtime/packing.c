/* Rows along the last new axis are copied one after the other: along them one
 * index of the old array moves by a fixed step. */
#include "runtime/packing.h"

#include <string.h>

#include "base/memory.h"

typedef struct packer {
  const hone_packing_t* packing;
  int rank; /* of the new array */
  int64_t dims[HONE_MAX_BUFFER_RANK];
  int64_t strides[HONE_MAX_BUFFER_RANK]; /* of the old array, in elements */
  size_t size;                           /* of an element */
  const char* from;
  char* to;
} packer_t;

/* The old index that belongs to the new one; false outside the old array. The
 * axis `moving` of the old array is not looked at. */
static bool find_old(const packer_t* p, const int64_t* index, int moving, int64_t* out_offset,
                     int64_t* out_moving) {
  int64_t old[HONE_MAX_BUFFER_RANK] = {0};
  for (int i = 0; i < p->rank; i++)
    old[p->packing->axes[i].source] += index[i] * p->packing->axes[i].stride;
  *out_offset = 0;
  for (int i = 0; i < p->packing->rank; i++) {
    if (i != moving && old[i] >= p->packing->dims[i]) return false;
    *out_offset += old[i] * p->strides[i];
  }
  *out_moving = old[moving];
  return true;
}

static void copy_row(packer_t* p, const int64_t* index) {
  const hone_packing_axis_t* last = &p->packing->axes[p->rank - 1];
  int64_t n = p->dims[p->rank - 1], offset, at;
  char* row = p->to;
  p->to += (size_t)n * p->size;
  if (!find_old(p, index, last->source, &offset, &at)) return;
  int64_t step = last->stride * p->strides[last->source];
  for (int64_t i = 0; i < n && at < p->packing->dims[last->source]; i++) {
    memcpy(row + (size_t)i * p->size, p->from + (size_t)offset * p->size, p->size);
    offset += step;
    at += last->stride;
  }
}

/* The next index over all axes but the last; false after the last one. */
static bool advance(const packer_t* p, int64_t* index) {
  for (int i = p->rank - 2; i >= 0; i--) {
    if (++index[i] < p->dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

static void pack(packer_t* p) {
  int64_t index[HONE_MAX_BUFFER_RANK] = {0};
  do {
    copy_row(p, index);
  } while (advance(p, index));
}

hone_status_t hone_packing_apply(const hone_buffer_t* buffer, const hone_tensor_t* from,
                                 const hone_allocator_t* allocator, hone_tensor_t** out_tensor) {
  packer_t p = {.packing = buffer->packing,
                .rank = buffer->rank,
                .size = hone_dtype_size(buffer->dtype),
                .from = hone_tensor_data(from)};
  int64_t count = 1;
  for (int i = 0; i < p.rank; i++) {
    p.dims[i] = buffer->dims[i].k;
    if (!hone_i64_mul(count, p.dims[i], &count)) return hone_oom();
  }
  int64_t stride = 1;
  for (int i = p.packing->rank - 1; i >= 0; i--) {
    p.strides[i] = stride;
    stride *= p.packing->dims[i];
  }
  /* The rank may be larger than a tensor's: what counts is the bytes. */
  HONE_TRY(hone_tensor_create(allocator, buffer->dtype, 1, &count, out_tensor));
  p.to = hone_tensor_data(*out_tensor);
  if (count) pack(&p);
  return NULL;
}
