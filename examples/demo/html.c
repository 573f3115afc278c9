/* Writing text and bytes into HTML. */
#include <stdlib.h>

#include "report.h"

void html_data(FILE* file, const char* media_type, const unsigned char* bytes, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  fprintf(file, "data:%s;base64,", media_type);
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i;
    unsigned group = (unsigned)bytes[i] << 16;
    if (left > 1) group |= (unsigned)bytes[i + 1] << 8;
    if (left > 2) group |= bytes[i + 2];
    fputc(digits[group >> 18], file);
    fputc(digits[group >> 12 & 63], file);
    fputc(left > 1 ? digits[group >> 6 & 63] : '=', file);
    fputc(left > 2 ? digits[group & 63] : '=', file);
  }
}

hone_status_t html_image(FILE* file, const image_t* image) {
  unsigned char* bytes;
  size_t size;
  HONE_TRY(image_encode(image, &bytes, &size));
  html_data(file, "image/jpeg", bytes, size);
  free(bytes);
  return NULL;
}
