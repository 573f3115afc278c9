#include "loop/sparse.h"

#include "base/memory.h"
#include "ir/sparse.h"

/* Elements of a matrix; 0: it is none, or small. */
static int64_t count_elements(const hone_buffer_t* buffer) {
  int64_t count = 1;
  if (buffer->role != HONE_ROLE_INPUT || !buffer->is_constant || buffer->dtype != HONE_I8 ||
      buffer->rank < 2)
    return 0;
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_dim_is_int(buffer->dims[i]) || !hone_i64_mul(count, buffer->dims[i].k, &count))
      return 0;
  return count < HONE_SPARSE_FEWEST ? 0 : count;
}

void hone_sparse_mark(hone_kernel_t* kernel, hone_contents_fn contents, void* self) {
  for (int i = 0; i < kernel->n_buffers; i++) {
    hone_buffer_t* buffer = kernel->buffers[i];
    int64_t count = count_elements(buffer);
    const int8_t* numbers = count ? contents(self, buffer) : NULL;
    buffer->is_sparse = numbers && hone_sparse_is(numbers, count);
  }
}
