/* The elements of a .npy file: byte order, Fortran order and texts made into a tensor. */
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/str.h"
#include "import/npy.h"
#include "import/npy_header.h"
#include "ops/common/text.h"

/* What the elements become. */
static hone_dtype_t header_dtype(const hone_npy_header_t* header, hone_dtype_t void_as) {
  static const struct {
    char kind;
    size_t size;
    hone_dtype_t dtype;
  } rows[] = {{'b', 1, HONE_BOOL}, {'i', 1, HONE_I8},   {'i', 2, HONE_I16}, {'i', 4, HONE_I32},
              {'i', 8, HONE_I64},  {'u', 1, HONE_U8},   {'u', 2, HONE_U16}, {'u', 4, HONE_U32},
              {'u', 8, HONE_U64},  {'f', 2, HONE_F16},  {'f', 4, HONE_F32}, {'f', 8, HONE_F64},
              {'c', 8, HONE_C64},  {'c', 16, HONE_C128}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].kind == header->kind && rows[i].size == header->item_size) return rows[i].dtype;
  if (header->kind != 'V') return HONE_STRING;
  bool fits = void_as != HONE_STRING && hone_dtype_size(void_as) == header->item_size;
  return fits ? void_as : HONE_UNKNOWN;
}

/* Bytes that change places under another byte order: half a complex number. */
static size_t swap_width(const hone_npy_header_t* header) {
  bool native_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  if (header->big_endian == native_is_big || header->kind == 'S') return 1;
  if (header->kind == 'U') return 4;
  return header->kind == 'c' ? header->item_size / 2 : header->item_size;
}

static void swap_bytes(unsigned char* data, size_t bytes, size_t width) {
  for (size_t at = 0; width > 1 && at + width <= bytes; at += width)
    for (size_t i = 0; i < width / 2; i++) {
      unsigned char other = data[at + i];
      data[at + i] = data[at + width - 1 - i];
      data[at + width - 1 - i] = other;
    }
}

/* Where elements lie in the file, walked in row-major order. */
typedef struct walk {
  const hone_npy_header_t* header;
  int64_t index[HONE_MAX_RANK];
  int64_t strides[HONE_MAX_RANK]; /* in elements */
  int64_t offset;
} walk_t;

static walk_t walk_start(const hone_npy_header_t* header) {
  walk_t walk = {.header = header};
  int64_t stride = 1;
  for (int i = 0; i < header->rank; i++) {
    int axis = header->fortran_order ? i : header->rank - 1 - i;
    walk.strides[axis] = stride;
    stride *= header->dims[axis];
  }
  return walk;
}

static void walk_next(walk_t* walk) {
  for (int axis = walk->header->rank - 1; axis >= 0; axis--) {
    walk->offset += walk->strides[axis];
    if (++walk->index[axis] < walk->header->dims[axis]) return;
    walk->offset -= walk->strides[axis] * walk->header->dims[axis];
    walk->index[axis] = 0;
  }
}

static void gather(const hone_npy_header_t* header, const unsigned char* body, unsigned char* out) {
  size_t size = header->item_size;
  walk_t walk = walk_start(header);
  for (int64_t i = 0; i < header->count; i++, walk_next(&walk))
    memcpy(out + (size_t)i * size, body + (size_t)walk.offset * size, size);
}

static void read_numbers(const hone_npy_header_t* header, const unsigned char* body,
                         hone_tensor_t* tensor) {
  unsigned char* out = hone_tensor_data(tensor);
  size_t bytes = hone_tensor_bytes(tensor);
  if (!bytes) return;
  if (header->fortran_order)
    gather(header, body, out);
  else
    memcpy(out, body, bytes);
  swap_bytes(out, bytes, swap_width(header));
  hone_normalise_elements(hone_tensor_dtype(tensor), out, hone_tensor_count(tensor));
}

/* ---- texts ---- */

static hone_status_t set_bytes(const hone_npy_header_t* header, const unsigned char* element,
                               hone_tensor_t* tensor, int64_t index) {
  size_t length = header->item_size;
  while (length && !element[length - 1]) length--;
  return hone_tensor_set_string(tensor, index, (const char*)element, length);
}

static uint32_t read_character(const unsigned char* at, size_t swap) {
  unsigned char bytes[4];
  uint32_t character;
  memcpy(bytes, at, sizeof bytes);
  swap_bytes(bytes, sizeof bytes, swap);
  memcpy(&character, bytes, sizeof character);
  return character;
}

static hone_status_t set_text(const hone_npy_header_t* header, const unsigned char* element,
                              hone_str_t* text, hone_tensor_t* tensor, int64_t index) {
  size_t swap = swap_width(header), length = header->item_size;
  while (length && !read_character(element + length - 4, swap)) length -= 4;
  text->size = 0;
  for (size_t i = 0; i < length; i += 4) {
    uint32_t character = read_character(element + i, swap);
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
      return hone_status_make(HONE_INVALID_DATA, "text %lld holds 0x%x, which is no character",
                              (long long)index, character);
    hone_text_append(text, (int32_t)character);
  }
  if (text->failed) return hone_oom();
  return hone_tensor_set_string(tensor, index, hone_str_text(text), text->size);
}

static hone_status_t read_strings(const hone_npy_header_t* header, const unsigned char* body,
                                  const hone_allocator_t* allocator, hone_tensor_t* tensor) {
  hone_str_t text;
  hone_str_init(&text, allocator);
  hone_status_t status = NULL;
  walk_t walk = walk_start(header);
  for (int64_t i = 0; i < header->count && !status; i++, walk_next(&walk)) {
    const unsigned char* element = body + (size_t)walk.offset * header->item_size;
    status = header->kind == 'S' ? set_bytes(header, element, tensor, i)
                                 : set_text(header, element, &text, tensor, i);
  }
  hone_str_free(&text);
  return status;
}

/* ---- whole files ---- */

hone_status_t hone_npy_load_memory(const hone_allocator_t* allocator, const void* data, size_t size,
                                   hone_dtype_t void_as, hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  hone_npy_header_t header;
  HONE_TRY(hone_npy_header_read(data, size, &header));
  hone_dtype_t dtype = header_dtype(&header, void_as);
  if (dtype == HONE_UNKNOWN)
    return hone_status_make(HONE_UNSUPPORTED,
                            "the elements are raw bytes (V%zu), which several types are written "
                            "as; save them as a .pb file, which names its type",
                            header.item_size);
  hone_tensor_t* tensor;
  HONE_TRY(hone_tensor_create(allocator, dtype, header.rank, header.dims, &tensor));
  const unsigned char* body = (const unsigned char*)data + header.body;
  hone_status_t status = NULL;
  if (dtype == HONE_STRING)
    status = read_strings(&header, body, allocator, tensor);
  else
    read_numbers(&header, body, tensor);
  if (status)
    hone_tensor_release(tensor);
  else
    *out_tensor = tensor;
  return status;
}

hone_status_t hone_npy_load_file(const hone_allocator_t* allocator, const char* path,
                                 hone_dtype_t void_as, hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  hone_file_map_t map;
  HONE_TRY(hone_file_map_open(path, &map));
  hone_status_t status = hone_npy_load_memory(allocator, map.data, map.size, void_as, out_tensor);
  hone_file_map_close(&map);
  return hone_status_annotate(status, "%s", path);
}
