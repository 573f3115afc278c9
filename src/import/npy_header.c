/* Format: "\x93NUMPY", version (major, minor), length of the header (2 bytes
 * in version 1, 4 later), and a Python dictionary in text:
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 * after numpy.lib.format. Only what such a dictionary can hold is understood. */
#include "import/npy_header.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MAGIC_SIZE = 6, VERSION_END = 8, DESCR_SIZE = 32 };

typedef struct cursor {
  const char* at;
  const char* end;
} cursor_t;

typedef struct fields {
  char descr[DESCR_SIZE];
  bool has_descr, has_order, has_shape;
} fields_t;

static hone_status_t damaged(const char* what) {
  return hone_status_make(HONE_INVALID_DATA, "damaged .npy header: %s", what);
}

/* ---- reading the dictionary ---- */

static void skip_blanks(cursor_t* c) {
  while (c->at < c->end && memchr(" \t\n\r", *c->at, 4)) c->at++;
}

/* Steps over `symbol` and blanks; false when something else comes. */
static bool take(cursor_t* c, char symbol) {
  skip_blanks(c);
  if (c->at == c->end || *c->at != symbol) return false;
  c->at++;
  skip_blanks(c);
  return true;
}

static bool take_word(cursor_t* c, const char* word) {
  size_t length = strlen(word);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
  c->at += length;
  return true;
}

/* A quoted text without escapes. */
static hone_status_t read_text(cursor_t* c, char* out, size_t room) {
  char quote = c->at < c->end ? *c->at : 0;
  if (quote != '\'' && quote != '"') return damaged("a text in quotes is missing");
  const char* start = ++c->at;
  const char* stop = memchr(start, quote, (size_t)(c->end - start));
  if (!stop) return damaged("a text in quotes does not end");
  size_t length = (size_t)(stop - start);
  if (length >= room || memchr(start, 0, length)) return damaged("a text is too long");
  memcpy(out, start, length);
  out[length] = 0;
  c->at = stop + 1;
  return NULL;
}

static hone_status_t read_bool(cursor_t* c, bool* out) {
  *out = take_word(c, "True");
  return *out || take_word(c, "False") ? NULL : damaged("fortran_order is neither True nor False");
}

static hone_status_t read_extent(cursor_t* c, int64_t* out) {
  int64_t value = 0;
  const char* start = c->at;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
    if (!hone_i64_mul(value, 10, &value) || !hone_i64_add(value, *c->at - '0', &value))
      return damaged("a dimension is too large");
  if (c->at == start) return damaged("a dimension is no number");
  take_word(c, "L"); /* Python 2 wrote long integers so */
  *out = value;
  return NULL;
}

static hone_status_t read_shape(cursor_t* c, hone_npy_header_t* header) {
  if (!take(c, '(')) return damaged("the shape is no tuple");
  bool more = true;
  while (!take(c, ')')) {
    if (!more) return damaged("the shape lacks a comma");
    if (header->rank == HONE_MAX_RANK)
      return hone_status_make(HONE_UNSUPPORTED, "the array has more than %d dimensions",
                              HONE_MAX_RANK);
    HONE_TRY(read_extent(c, &header->dims[header->rank++]));
    more = take(c, ',');
  }
  return NULL;
}

static hone_status_t read_descr(cursor_t* c, fields_t* fields) {
  if (c->at < c->end && *c->at == '[')
    return hone_status_make(HONE_UNSUPPORTED,
                            "an array of records; save each of its fields by itself");
  return read_text(c, fields->descr, sizeof fields->descr);
}

/* Notes that a key was met; false when it was met before. */
static bool first_time(bool* seen) {
  bool first = !*seen;
  *seen = true;
  return first;
}

static hone_status_t read_field(cursor_t* c, fields_t* fields, hone_npy_header_t* header) {
  char key[DESCR_SIZE];
  HONE_TRY(read_text(c, key, sizeof key));
  if (!take(c, ':')) return damaged("a ':' is missing");
  if (strcmp(key, "descr") == 0 && first_time(&fields->has_descr)) return read_descr(c, fields);
  if (strcmp(key, "fortran_order") == 0 && first_time(&fields->has_order))
    return read_bool(c, &header->fortran_order);
  if (strcmp(key, "shape") == 0 && first_time(&fields->has_shape)) return read_shape(c, header);
  return damaged("a key is unknown or comes twice");
}

static hone_status_t read_dictionary(cursor_t* c, fields_t* fields, hone_npy_header_t* header) {
  if (!take(c, '{')) return damaged("it is no dictionary");
  bool more = true;
  while (!take(c, '}')) {
    if (!more) return damaged("a ',' is missing");
    HONE_TRY(read_field(c, fields, header));
    more = take(c, ',');
  }
  if (!fields->has_descr || !fields->has_order || !fields->has_shape)
    return damaged("descr, fortran_order or shape is missing");
  return c->at == c->end ? NULL : damaged("text follows the dictionary");
}

/* ---- what it says ---- */

/* The sizes in bytes that elements of each kind may have; texts have any. */
static const struct {
  char kind;
  size_t sizes[4];
} kinds[] = {{'b', {1}},       {'i', {1, 2, 4, 8}}, {'u', {1, 2, 4, 8}},
             {'f', {2, 4, 8}}, {'c', {8, 16}},      {'V', {1, 2}}};

static bool type_is_known(char kind, size_t size) {
  if (kind == 'S' || kind == 'U') return true;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (int i = 0; i < 4; i++)
      if (kinds[k].kind == kind && size && kinds[k].sizes[i] == size) return true;
  return false;
}

static hone_status_t unsupported(const char* descr) {
  char kind = descr[0] ? descr[1] : 0;
  const char* what = kind == 'O'                  ? "it holds pickled Python objects"
                     : kind == 'M' || kind == 'm' ? "it holds dates or times"
                                                  : "no tensor has it";
  return hone_status_make(HONE_UNSUPPORTED,
                          "NumPy's type '%s': %s; convert the array with .astype()", descr, what);
}

/* At most 9 digits and nothing else. */
static bool parse_size(const char* text, size_t* out) {
  size_t length = strspn(text, "0123456789");
  *out = 0;
  for (size_t i = 0; i < length && i < 9; i++) *out = *out * 10 + (size_t)(text[i] - '0');
  return length >= 1 && length <= 9 && !text[length];
}

/* "<f4": byte order, kind, size; the size of U is in characters of 4 bytes. */
static hone_status_t read_type(const char* descr, hone_npy_header_t* header) {
  if (!descr[0] || !strchr("<>|=", descr[0]) || !descr[1]) return unsupported(descr);
  if (!parse_size(descr + 2, &header->item_size)) return unsupported(descr);
  header->kind = descr[1] == 'a' ? 'S' : descr[1];
  /* How ml_dtypes writes one of its float8 kinds: as raw as the others. */
  if (header->kind == 'f' && header->item_size == 1) header->kind = 'V';
  if (header->kind == 'U') header->item_size *= 4;
  header->big_endian = descr[0] == '>';
  return type_is_known(header->kind, header->item_size) ? NULL : unsupported(descr);
}

/* The bytes after the header must be the elements, all of them and no others. */
static hone_status_t check_size(size_t size, hone_npy_header_t* header) {
  size_t bytes;
  if (!hone_dims_count(header->rank, header->dims, &header->count) ||
      !hone_size_mul((size_t)header->count, header->item_size, &bytes))
    return damaged("the shape has more elements than can be addressed");
  if (bytes != size - header->body)
    return hone_status_make(HONE_INVALID_DATA,
                            "its shape needs %zu bytes of elements, but %zu follow the header",
                            bytes, size - header->body);
  if (!header->item_size && header->count > 1 << 20)
    return damaged("more than a million texts without a character");
  return NULL;
}

/* Where the dictionary lies. */
static hone_status_t find_dictionary(const unsigned char* data, size_t size, cursor_t* out) {
  if (size < VERSION_END || memcmp(data, "\x93NUMPY", MAGIC_SIZE) != 0)
    return hone_status_make(HONE_INVALID_DATA,
                            "not a .npy file: it does not start with \\x93NUMPY");
  int major = data[MAGIC_SIZE];
  if (major < 1 || major > 3)
    return hone_status_make(HONE_UNSUPPORTED, "version %d.%d of the .npy format", major,
                            data[MAGIC_SIZE + 1]);
  size_t width = major == 1 ? 2 : 4, length = 0;
  if (size - VERSION_END < width) return damaged("it is cut off");
  for (size_t i = 0; i < width; i++) length |= (size_t)data[VERSION_END + i] << (8 * i);
  size_t start = VERSION_END + width;
  if (length > size - start) return damaged("it is cut off");
  const char* text = (const char*)data + start;
  *out = (cursor_t){text, text + length};
  return NULL;
}

hone_status_t hone_npy_header_read(const void* data, size_t size, hone_npy_header_t* out_header) {
  *out_header = (hone_npy_header_t){0};
  cursor_t c;
  fields_t fields = {0};
  HONE_TRY(find_dictionary(data, size, &c));
  HONE_TRY(read_dictionary(&c, &fields, out_header));
  HONE_TRY(read_type(fields.descr, out_header));
  out_header->body = (size_t)(c.end - (const char*)data);
  return check_size(size, out_header);
}
