/* Repair of texts that are not quite UTF-8. */
#include "import/utf8.h"

#include <stdint.h>

/* Bytes of the character that starts at `at`; 0 when none does. */
static size_t character(const uint8_t* at, size_t left) {
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  uint8_t first = at[0];
  if (first < 0x80) return 1;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > left) return 0;
  uint32_t code = first & (0x7f >> length);
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (at[i] & 0x3f);
  }
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < smallest[length] || code > 0x10ffff || surrogate ? 0 : length;
}

static bool is_control(uint8_t byte) { return byte < 0x20 || byte == 0x7f; }

void hone_utf8_repair(char* text, size_t size, bool printable) {
  for (size_t i = 0; i < size;) {
    uint8_t* at = (uint8_t*)text + i;
    size_t length = character(at, size - i);
    if (!length || (printable && is_control(*at))) *at = '?';
    i += length ? length : 1;
  }
}
