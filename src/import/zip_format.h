/* The records of a zip archive, after PKWARE's APPNOTE: signatures, sizes and
 * offsets of the fields used here. All numbers are little-endian. */
#ifndef HONE_IMPORT_ZIP_FORMAT_H
#define HONE_IMPORT_ZIP_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum {
  ZIP_LOCAL = 0x04034b50,   /* before a member's bytes */
  ZIP_CENTRAL = 0x02014b50, /* a member in the list at the end */
  ZIP_END = 0x06054b50,     /* where the list is */
  ZIP_END64 = 0x06064b50,   /* the same in 64 bits */
  ZIP_LOCATOR = 0x07064b50, /* where that is */
  ZIP_EXTRA64 = 1,          /* an extra field with sizes in 64 bits */
  ZIP_LOCAL_SIZE = 30,      /* then name and extra fields */
  ZIP_CENTRAL_SIZE = 46,    /* then name, extra fields and a comment */
  ZIP_END_SIZE = 22,        /* then a comment */
  ZIP_END64_SIZE = 56,
  ZIP_LOCATOR_SIZE = 20,
  ZIP_STORED = 0,
  ZIP_DEFLATED = 8,
  ZIP_ENCRYPTED = 1,       /* a flag */
  ZIP_UTF8 = 1 << 11,      /* a flag: the name is UTF-8 */
  ZIP_VERSION = 45,        /* of the format, for 64-bit sizes */
  ZIP_DATE = (1 << 5) | 1, /* the first of January 1980: the same bytes every time */
};

static inline uint64_t zip_get(const unsigned char* at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; i++) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

static inline void zip_put(unsigned char* at, size_t width, uint64_t value) {
  for (size_t i = 0; i < width; i++) at[i] = (unsigned char)(value >> (8 * i));
}

#endif
