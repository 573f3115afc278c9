/* The text of a candidate: whatever parses prints to a text that parses to the
 * same candidate. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tune/space.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void must(hone_status_t status) {
  if (status) abort();
}

static hone_space_t* make_space(void) {
  hone_space_t* space;
  must(hone_space_create(NULL, &space));
  must(hone_space_define_numbers(space, "n", 3, (int64_t[]){1, 24, -3}));
  must(hone_space_define_split(space, "s", 24, 3, 0));
  must(hone_space_define_words(space, "w", 2, (const char* const[]){"on", "off"}));
  must(hone_space_define_order(space, "o", 3, (const char* const[]){"x", "y", "z"}));
  return space;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone_space_t* space = make_space();
  hone_candidate_t candidate, back;
  hone_status_t status = hone_candidate_parse(space, (const char*)data, size, &candidate);
  if (!status) {
    hone_str_t text;
    hone_str_init(&text, NULL);
    hone_candidate_print(space, &candidate, &text);
    must(hone_candidate_parse(space, hone_str_text(&text), text.size, &back));
    if (memcmp(&candidate, &back, sizeof back) != 0) abort();
    hone_str_free(&text);
  }
  hone_status_free(status);
  hone_space_destroy(space);
  return 0;
}
