/* Fuzzes regular expressions: the first byte says how long the pattern is, the
 * rest is the text. */
#include "ops/common/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const char* pattern = (const char*)data + 1;
  size_t pattern_size = data[0] < size - 1 ? data[0] : size - 1;
  hone_regex_t* regex;
  hone_status_t status = hone_regex_create(NULL, pattern, pattern_size, &regex);
  if (!status) {
    bool matches;
    status =
        hone_regex_full_match(regex, pattern + pattern_size, size - 1 - pattern_size, &matches);
    hone_regex_destroy(regex);
  }
  hone_status_free(status);
  return 0;
}
