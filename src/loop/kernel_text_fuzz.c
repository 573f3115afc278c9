/* Fuzzes the reader of kernels in text. What is accepted must print, and that
 * must read back and print as the same text. */
#include <stdlib.h>
#include <string.h>

#include "loop/text.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/* The text of a kernel, read once more. */
static void print_again(const hone_str_t* text, hone_str_t* out) {
  hone_kernel_t* kernel = NULL;
  hone_status_t status = hone_kernel_parse(NULL, hone_str_text(text), text->size, &kernel);
  if (!status) status = hone_kernel_print(kernel, out);
  if (status) abort();
  hone_kernel_destroy(kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone_kernel_t* kernel;
  hone_status_t status = hone_kernel_parse(NULL, (const char*)data, size, &kernel);
  if (!status) {
    hone_str_t texts[3];
    for (int i = 0; i < 3; i++) hone_str_init(&texts[i], NULL);
    status = hone_kernel_print(kernel, &texts[0]);
    if (status) abort();
    print_again(&texts[0], &texts[1]); /* expressions are in another order at most here */
    print_again(&texts[1], &texts[2]);
    if (strcmp(hone_str_text(&texts[1]), hone_str_text(&texts[2])) != 0) abort();
    for (int i = 0; i < 3; i++) hone_str_free(&texts[i]);
  }
  hone_status_free(status);
  hone_kernel_destroy(kernel);
  return 0;
}
