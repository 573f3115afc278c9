/* UTF-8: texts in model files are meant to be, and not all are. */
#ifndef HONE_IMPORT_UTF8_H
#define HONE_IMPORT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Puts '?' for each byte that is not part of UTF-8 and, when `printable`, for
 * control characters, which a terminal might obey. In place; all `size` bytes. */
void hone_utf8_repair(char* text, size_t size, bool printable);

#endif
