/* What is UTF-8 stays; what is none becomes '?'. */
#include "import/utf8.h"

#include <stdio.h>
#include <string.h>

#include "base/testing/test.h"

static void assert_repaired(const char* text, bool printable, const char* expected) {
  char copy[64];
  snprintf(copy, sizeof copy, "%s", text);
  hone_utf8_repair(copy, strlen(copy), printable);
  assert_string_equal(copy, expected);
}

static void characters_stay(void** state) {
  const char* const texts[] = {"", "conv1/weight", "é", "日本", "😀", "\x7e", "\xf4\x8f\xbf\xbf"};
  for (size_t i = 0; i < TEST_COUNT(texts); i++) assert_repaired(texts[i], true, texts[i]);
  assert_repaired("a\n\tb", false, "a\n\tb");
}

static void other_bytes_are_replaced(void** state) {
  assert_repaired("a\x80z", false, "a?z");            /* a tail alone */
  assert_repaired("a\xc3", false, "a?");              /* a head alone */
  assert_repaired("\xe6\x97", false, "??");           /* cut */
  assert_repaired("\xc0\x80", false, "??");           /* longer than needed */
  assert_repaired("\xe0\x80\x80", false, "???");      /* so too */
  assert_repaired("\xed\xa0\x80", false, "???");      /* half a pair */
  assert_repaired("\xf4\x90\x80\x80", false, "????"); /* beyond the last */
  assert_repaired("\xff\xfe", false, "??");
  assert_repaired("\xc3\xc3\xa9", false, "?é");
  assert_repaired("a\x1b[2J\x7f", true, "a?[2J?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(characters_stay),
      cmocka_unit_test(other_bytes_are_replaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
