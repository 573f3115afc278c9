/* A packing moves elements by constant strides, so that packing is a copy with
 * strides, row by row along the last axis of the new array; what lies beyond an
 * extent of the old one is zero. */
#include "runtime/packing.h"

#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "runtime/context.h"

enum { GRAIN = 256 /* rows */ };

typedef struct packer {
  const hone_packing_t* packing;
  int rank; /* of the new array */
  int64_t dims[HONE_MAX_BUFFER_RANK];
  int64_t steps[HONE_MAX_BUFFER_RANK]; /* in elements of the old array, by the new one's axes */
  const char* from;
  char* to;
  size_t size; /* of an element */
} packer_t;

/* n elements `step` apart; the sizes that matter have loops of their own. */
static void copy_row(const packer_t* p, const char* from, int64_t step, int64_t n, char* to) {
  if (step == 1) {
    memcpy(to, from, (size_t)n * p->size);
  } else if (p->size == 4) {
    for (int64_t i = 0; i < n; i++) memcpy(to + 4 * i, from + 4 * i * step, 4);
  } else if (p->size == 2) {
    for (int64_t i = 0; i < n; i++) memcpy(to + 2 * i, from + 2 * i * step, 2);
  } else if (p->size == 1) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i * step];
  } else {
    int64_t size = (int64_t)p->size;
    for (int64_t i = 0; i < n; i++) memcpy(to + size * i, from + size * i * step, p->size);
  }
}

/* Row `row` of the new array: where it begins along each old axis says how many
 * of its elements there are. */
static void pack_row(const packer_t* p, int64_t row) {
  int64_t at[HONE_MAX_BUFFER_RANK] = {0}; /* along the old axes */
  int64_t offset = 0, rest = row, last = p->rank - 1, n = p->dims[last];
  for (int64_t a = last - 1; a >= 0; a--) {
    int64_t i = rest % p->dims[a];
    rest /= p->dims[a];
    at[p->packing->axes[a].source] += i * p->packing->axes[a].stride;
    offset += i * p->steps[a];
  }
  int source = p->packing->axes[last].source;
  int64_t valid = n, stride = p->packing->axes[last].stride;
  for (int d = 0; d < p->packing->rank; d++) {
    int64_t room = p->packing->dims[d] - at[d];
    int64_t fits = room <= 0 ? 0 : (d == source ? (room + stride - 1) / stride : n);
    if (fits < valid) valid = fits;
  }
  char* to = p->to + (size_t)(row * n) * p->size;
  if (valid) copy_row(p, p->from + (size_t)offset * p->size, p->steps[last], valid, to);
  memset(to + (size_t)valid * p->size, 0, (size_t)(n - valid) * p->size);
}

static void pack_rows(void* context, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; row++) pack_row(context, row);
}

static bool prepare(packer_t* p, const hone_buffer_t* buffer, const hone_tensor_t* weight) {
  const hone_packing_t* packing = buffer->packing;
  int64_t strides[HONE_MAX_BUFFER_RANK], count = 1;
  bool fits = buffer->rank > 0 && packing->rank == weight->rank && buffer->dtype == weight->dtype;
  for (int d = packing->rank - 1; fits && d >= 0; d--) {
    strides[d] = count;
    fits = packing->dims[d] == weight->dims[d] && hone_i64_mul(count, weight->dims[d], &count);
  }
  for (int a = 0; fits && a < buffer->rank; a++) {
    fits = hone_dim_is_int(buffer->dims[a]) && packing->axes[a].source < packing->rank;
    if (!fits) break;
    p->dims[a] = buffer->dims[a].k;
    p->steps[a] = packing->axes[a].stride * strides[packing->axes[a].source];
  }
  p->packing = packing;
  p->rank = buffer->rank;
  p->from = weight->data;
  p->size = hone_dtype_size(weight->dtype);
  return fits;
}

hone_status_t hone_packing_apply(const hone_buffer_t* buffer, const hone_tensor_t* from,
                                 const hone_allocator_t* allocator, hone_tensor_t** out_tensor) {
  packer_t p = {0};
  int64_t count, rows;
  *out_tensor = NULL;
  if (!prepare(&p, buffer, from) || !hone_dims_count(p.rank, p.dims, &count) ||
      !hone_dims_count(p.rank - 1, p.dims, &rows))
    return hone_status_make(HONE_INTERNAL, "the packing of '%s' does not fit its weight",
                            buffer->name);
  /* The rank may be larger than a tensor's: what counts is the bytes. */
  HONE_TRY(hone_tensor_create_raw(allocator ? allocator : hone_allocator_system(), from->dtype, 1,
                                  &count, out_tensor));
  p.to = (*out_tensor)->data;
  if (count) hone_parallel_for(hone_thread_pool_shared(), rows, GRAIN, pack_rows, &p);
  return NULL;
}
