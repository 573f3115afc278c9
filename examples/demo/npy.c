/* NumPy's file format, version 1: a magic, a header padded to 64 bytes, the data. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

enum { PREFIX = 10, HEADER_ROOM = 512, ALIGNMENT = 64 };

/* Writes the header's text and gives its length, or 0 when it is too long. */
static int header_text(const hone_tensor_t* tensor, char text[HEADER_ROOM]) {
  int n = snprintf(text, HEADER_ROOM, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
  for (int i = 0; i < hone_tensor_rank(tensor) && n < HEADER_ROOM - 80; i++) {
    n += snprintf(text + n, (size_t)(HEADER_ROOM - n), "%lld, ",
                  (long long)hone_tensor_dims(tensor)[i]);
  }
  n += snprintf(text + n, (size_t)(HEADER_ROOM - n), "), }");
  while ((PREFIX + n + 1) % ALIGNMENT) text[n++] = ' ';
  text[n++] = '\n';
  return n;
}

static bool write_all(FILE* file, const hone_tensor_t* tensor) {
  char text[HEADER_ROOM];
  int n = header_text(tensor, text);
  const unsigned char prefix[PREFIX] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
  size_t bytes = hone_tensor_bytes(tensor);
  return fwrite(prefix, 1, PREFIX, file) == PREFIX &&
         fwrite(text, 1, (size_t)n, file) == (size_t)n &&
         (!bytes || fwrite(hone_tensor_data(tensor), 1, bytes, file) == bytes);
}

hone_status_t npy_write(const char* path, const hone_tensor_t* tensor) {
  if (hone_tensor_kind(tensor) != HONE_KIND_TENSOR || hone_tensor_dtype(tensor) != HONE_F32) {
    return hone_status_make(HONE_UNSUPPORTED, "%s: only f32 tensors are written", path);
  }
  FILE* file = fopen(path, "wb");
  if (!file) return hone_status_make(HONE_IO, "%s: cannot create: %s", path, strerror(errno));
  bool ok = write_all(file, tensor);
  ok = fclose(file) == 0 && ok;
  if (ok) return NULL;
  remove(path);
  return hone_status_make(HONE_IO, "%s: cannot write: %s", path, strerror(errno));
}
