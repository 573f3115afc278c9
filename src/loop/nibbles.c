#include "loop/nibbles.h"

#include "base/memory.h"

enum { MOST = 15, BITS = 4, BYTE = 8, WORD = 4 };

/* Elements; 0: it is no such constant. */
static int64_t count_elements(const hone_buffer_t* buffer) {
  int64_t count = 1;
  if (buffer->role != HONE_ROLE_INPUT || !buffer->is_constant || buffer->dtype != HONE_U8) return 0;
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_dim_is_int(buffer->dims[i]) || !hone_i64_mul(count, buffer->dims[i].k, &count))
      return 0;
  return count;
}

void hone_nibbles_mark(hone_kernel_t* kernel, hone_contents_fn contents, void* self) {
  for (int i = 0; i < kernel->n_buffers; i++) {
    hone_buffer_t* buffer = kernel->buffers[i];
    int64_t count = count_elements(buffer);
    const uint8_t* numbers = count ? contents(self, buffer) : NULL;
    buffer->fits_nibbles = numbers != NULL;
    for (int64_t k = 0; k < count && buffer->fits_nibbles; k++)
      buffer->fits_nibbles = numbers[k] <= MOST;
  }
}

uint32_t hone_nibbles_word(const uint8_t numbers[HONE_NIBBLES]) {
  uint32_t word = 0;
  for (int k = 0; k < HONE_NIBBLES; k++)
    word |= (uint32_t)numbers[k] << (BYTE * (k % WORD) + BITS * (k / WORD));
  return word;
}
