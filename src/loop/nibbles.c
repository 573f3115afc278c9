#include "loop/nibbles.h"

enum { MOST = 15, BITS = 4, BYTE = 8, WORD = 4 };

void hone_nibbles_mark(hone_kernel_t* kernel, hone_contents_fn contents, void* self) {
  for (int i = 0; i < kernel->n_buffers; i++) {
    hone_buffer_t* buffer = kernel->buffers[i];
    int64_t count = hone_buffer_count_constant(buffer, HONE_U8);
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
