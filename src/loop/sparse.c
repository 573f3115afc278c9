#include "loop/sparse.h"

#include "ir/sparse.h"

/* Elements of a matrix; 0: it is none, or small. */
static int64_t count_elements(const hone_buffer_t* buffer) {
  int64_t count = buffer->rank < 2 ? 0 : hone_buffer_count_constant(buffer, HONE_I8);
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
