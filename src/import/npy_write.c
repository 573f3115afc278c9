/* A tensor as a .npy file of format version 1. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "import/npy.h"
#include "ops/common/text.h"

/* NumPy's kind of a type; 'V' for those it has no name for. */
static char dtype_kind(hone_dtype_t dtype) {
  if (dtype == HONE_BOOL) return 'b';
  if (dtype == HONE_STRING) return 'U';
  if (hone_dtype_is_complex(dtype)) return 'c';
  if (dtype == HONE_F16 || dtype == HONE_F32 || dtype == HONE_F64) return 'f';
  if (hone_dtype_is_float(dtype) || hone_dtype_bits(dtype) < 8) return 'V';
  return hone_dtype_is_unsigned(dtype) ? 'u' : 'i';
}

/* ---- texts: rows of equally many characters of 4 bytes ---- */

/* Characters of a string; a format error where U cannot hold it. */
static hone_status_t count_characters(const hone_string_t* string, int64_t index, size_t* out) {
  *out = 0;
  int32_t character = 1;
  for (size_t at = 0; at < string->size; ++*out) {
    character = hone_text_next(string->data, string->size, &at);
    if (character == HONE_NO_CHAR)
      return hone_status_make(HONE_UNSUPPORTED,
                              "string %" PRId64 " is not UTF-8; write a .pb file instead", index);
  }
  if (string->size && !character)
    return hone_status_make(HONE_UNSUPPORTED,
                            "string %" PRId64
                            " ends in a zero, which .npy drops; write a .pb file "
                            "instead",
                            index);
  return NULL;
}

static hone_status_t widest(const hone_tensor_t* tensor, size_t* out_width) {
  const hone_string_t* strings = hone_tensor_data(tensor);
  *out_width = 1;
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    size_t characters;
    HONE_TRY(count_characters(&strings[i], i, &characters));
    if (characters > *out_width) *out_width = characters;
  }
  return NULL;
}

static void put_text(const hone_string_t* string, int32_t* out) {
  for (size_t at = 0; at < string->size;) *out++ = hone_text_next(string->data, string->size, &at);
}

static hone_status_t make_texts(const hone_tensor_t* tensor, size_t width,
                                hone_npy_image_t* image) {
  size_t count = (size_t)hone_tensor_count(tensor);
  if (!hone_size_mul(count, width, &image->body_size) ||
      !hone_size_mul(image->body_size, sizeof(int32_t), &image->body_size))
    return hone_oom();
  int32_t* rows = hone_alloc(image->allocator, image->body_size);
  if (!rows) return hone_oom();
  const hone_string_t* strings = hone_tensor_data(tensor);
  for (size_t i = 0; i < count; i++) put_text(&strings[i], rows + i * width);
  image->made = rows;
  image->body = rows;
  return NULL;
}

/* ---- header ---- */

static void put_dictionary(const hone_tensor_t* tensor, size_t size, hone_str_t* out) {
  char order = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
  char kind = dtype_kind(hone_tensor_dtype(tensor));
  if (size == 1 && kind != 'U') order = '|';
  hone_str_appendf(out, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", order, kind,
                   size);
  int rank = hone_tensor_rank(tensor);
  for (int i = 0; i < rank; i++)
    hone_str_appendf(out, "%s%" PRId64 "%s", i ? " " : "", hone_tensor_dims(tensor)[i],
                     i + 1 < rank || rank == 1 ? "," : "");
  hone_str_append(out, "), }");
}

/* `size` is that of an element: in bytes, of texts in characters. The elements
 * start at a multiple of 64 bytes, and a line ends before them. */
static hone_status_t make_header(const hone_tensor_t* tensor, size_t size,
                                 hone_npy_image_t* image) {
  enum { PREFIX = 10, ALIGNMENT = 64 };
  hone_str_t text;
  hone_str_init(&text, image->allocator);
  hone_str_append_n(&text, "\x93NUMPY\1\0\0\0", PREFIX);
  put_dictionary(tensor, size, &text);
  while (!text.failed && (text.size + 1) % ALIGNMENT) hone_str_append_char(&text, ' ');
  hone_str_append_char(&text, '\n');
  HONE_TRY(hone_str_take(&text, &image->header, &image->header_size));
  size_t length = image->header_size - PREFIX;
  image->header[PREFIX - 2] = (char)(length & 0xff);
  image->header[PREFIX - 1] = (char)(length >> 8);
  return NULL;
}

static hone_status_t make_image(const hone_tensor_t* tensor, hone_npy_image_t* image) {
  if (hone_tensor_kind(tensor) != HONE_KIND_TENSOR)
    return hone_status_make(HONE_UNSUPPORTED,
                            "a .npy file holds one array, no sequence, map or optional; write a "
                            ".pb file instead");
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  if (dtype != HONE_STRING) {
    image->body = hone_tensor_data(tensor);
    image->body_size = hone_tensor_bytes(tensor);
    return make_header(tensor, hone_dtype_size(dtype), image);
  }
  size_t width;
  HONE_TRY(widest(tensor, &width));
  HONE_TRY(make_texts(tensor, width, image));
  return make_header(tensor, width, image);
}

hone_status_t hone_npy_image_make(const hone_allocator_t* allocator, const hone_tensor_t* tensor,
                                  hone_npy_image_t* out_image) {
  *out_image = (hone_npy_image_t){.allocator = allocator};
  hone_status_t status = make_image(tensor, out_image);
  if (status) hone_npy_image_free(out_image);
  return status;
}

void hone_npy_image_free(hone_npy_image_t* image) {
  if (image->header) hone_free(image->allocator, image->header, image->header_size + 1);
  hone_free(image->allocator, image->made, image->made ? image->body_size : 0);
  *image = (hone_npy_image_t){0};
}

hone_status_t hone_npy_save_file(const hone_allocator_t* allocator, const hone_tensor_t* tensor,
                                 const char* path) {
  hone_npy_image_t image;
  HONE_TRY(hone_status_annotate(hone_npy_image_make(allocator, tensor, &image), "%s", path));
  hone_file_writer_t* writer;
  hone_status_t status = hone_file_writer_create(allocator, path, &writer);
  if (!status) {
    hone_file_writer_write(writer, image.header, image.header_size);
    hone_file_writer_write(writer, image.body, image.body_size);
    status = hone_file_writer_commit(writer);
  }
  hone_npy_image_free(&image);
  return status;
}
