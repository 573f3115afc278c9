/* Regular expressions: tables of patterns with what they match and what not. */
#include "ops/common/regex.h"

#include <string.h>

#include "base/testing/fault.h"
#include "base/testing/test.h"

typedef struct example {
  const char* pattern;
  const char* text;
  bool matches;
} example_t;

static const example_t examples[] = {
    {"", "", true},
    {"", "a", false},
    {"abc", "abc", true},
    {"abc", "abcd", false},
    {"a|bc|", "bc", true},
    {"a|bc|", "", true},
    {"a|bc|", "b", false},
    {"(a|ab)(c|bcd)", "abcd", true},
    {"a*b+c?", "bbb", true},
    {"a*b+c?", "aac", false},
    {"a*?b", "aab", true},
    {"(a*)*b", "aaab", true},
    {"(a*)*", "aaac", false},
    {"(|a)+", "aaa", true},
    {"a{3}", "aaa", true},
    {"a{3}", "aaaa", false},
    {"a{2,}", "aaaa", true},
    {"a{2,}", "a", false},
    {"a{0,2}b", "aab", true},
    {"a{0,2}b", "aaab", false},
    {"a{,2}", "a{,2}", true},
    {"a{", "a{", true},
    {".", "\n", false},
    {"(?s).", "\n", true},
    {".", "\xc3\xa9", true},
    {"..", "\xc3\xa9", false},
    {"\xc3\xa9+", "\xc3\xa9\xc3\xa9", true},
    {"[\xc3\xa0-\xc3\xbf]+", "\xc3\xa9\xc3\xa0", true},
    {".", "\xff", false},
    {"[^a]", "\xff", false},
    {".*", "ab\xff", false},
    {"[a-c]+", "abcab", true},
    {"[^a-c]+", "xyz\n", true},
    {"[^a-c]+", "xay", false},
    {"[]a]+", "]a", true},
    {"[^]a]", "b", true},
    {"[a-]+", "a-a", true},
    {"[\\w.-]+", "ab_9.-", true},
    {"[\\]\\\\]+", "]\\", true},
    {"[\\D]", "5", false},
    {"[^\\D]", "5", true},
    {"[[:alpha:]_]+", "aZ_", true},
    {"[[:^alpha:]]", "a", false},
    {"[[:^alpha:]]", "4", true},
    {"[[:cntrl:]]", "\x1f", true},
    {"[[:^cntrl:]]", "\x1f", false},
    {"[[:^ascii:]]", "\xc3\xa9", true},
    {"[[:^ascii:]]", "a", false},
    {"[:a]+", ":a:", true},
    {"\\d{3}-\\d{4}", "555-1234", true},
    {"\\s\\S", " x", true},
    {"\\s", "\v", false},
    {"\\W", "_", false},
    {"\\x41\\x{1F600}\\101",
     "A\xf0\x9f\x98\x80"
     "A",
     true},
    {"\\.\\*", ".*", true},
    {"\\Qa.b*\\E+", "a.b***", true},
    {"\\Q(|\\E", "(|", true},
    {"\\a\\f\\t\\n\\r\\v", "\a\f\t\n\r\v", true},
    {"(?i)straSSe", "STRASSE", true},
    {"(?i)\xc3\x89t\xc3\xa9", "\xc3\xa9T\xc3\x89", true},
    {"(?i)[^a]", "A", false},
    {"a(?i)b", "aB", true},
    {"a(?i)b", "AB", false},
    {"a(?i:b)c", "aBc", true},
    {"a(?i:b)c", "aBC", false},
    {"(?i)a(?-i)b", "Ab", true},
    {"(?i)a(?-i)b", "AB", false},
    {"(?P<name>a)(?<other>b)(?:c)", "abc", true},
    {"^a$", "a", true},
    {"a^b", "ab", false},
    {"a\n^b", "a\nb", false},
    {"(?m)a\n^b$", "a\nb", true},
    {"(?m)a$\nb", "a\nb", true},
    {"\\Aa\\z", "a", true},
    {"\\bab\\b", "ab", true},
    {"a\\bb", "ab", false},
    {"a\\Bb", "ab", true},
    {"www\\.[\\w.-]+\\.\\bcom\\b", "www.google.com", true},
    {"www\\.[\\w.-]+\\.\\bcom\\b", "www.bbc.co.uk", false},
    {"(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)", "account@gmail.com", true},
    {"(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)", "account@hotmail.com", false},
};

static bool full_match(const char* pattern, const char* text) {
  hone_regex_t* regex;
  bool matches;
  assert_ok(hone_regex_create(NULL, pattern, strlen(pattern), &regex));
  assert_ok(hone_regex_full_match(regex, text, strlen(text), &matches));
  hone_regex_destroy(regex);
  return matches;
}

static void test_examples(void** state) {
  for (size_t i = 0; i < TEST_COUNT(examples); i++)
    if (full_match(examples[i].pattern, examples[i].text) != examples[i].matches)
      fail_msg("'%s' on '%s'", examples[i].pattern, examples[i].text);
}

static void test_bad_patterns(void** state) {
  static const char* const bad[] = {
      "(",
      ")",
      "a)",
      "(?",
      "(?z)",
      "(?i",
      "(?P<>a)",
      "(?P<a",
      "[a",
      "[]",
      "[b-a]",
      "*",
      "a|*",
      "a**",
      "a{2}*",
      "a{3,2}",
      "a{1001}",
      "\\",
      "\\1",
      "\\8",
      "\\y",
      "\\x4",
      "\\x{}",
      "\\x{110000}",
      "[[:foo:]]",
      "\xff",
      "(?=a)",
      "(?-)",
      "[\\",
      "\\x{41",
      "(?i-",
      "(a",
      "((((a{1000}){1000}){1000}){1000})",
      "(((({1000}){1000}){1000}){1000}){1000}",
      "(?:(?:(?:(?:){1000}){1000}){1000}){1000}",
  };
  for (size_t i = 0; i < TEST_COUNT(bad); i++) {
    hone_regex_t* regex;
    hone_status_t status = hone_regex_create(NULL, bad[i], strlen(bad[i]), &regex);
    if (hone_status_code(status) != HONE_INVALID_ARGUMENT) fail_msg("'%s' was taken", bad[i]);
    assert_null(regex);
    hone_status_free(status);
  }
}

static void test_unsupported(void** state) {
  hone_regex_t* regex;
  assert_code(hone_regex_create(NULL, "\\pL", 3, &regex), HONE_UNSUPPORTED);
  assert_code(hone_regex_create(NULL, "\\C", 2, &regex), HONE_UNSUPPORTED);
}

static void test_deep_nesting(void** state) {
  char pattern[2001];
  memset(pattern, '(', 1000);
  memset(pattern + 1000, ')', 1000);
  hone_regex_t* regex;
  assert_code(hone_regex_create(NULL, pattern, 2000, &regex), HONE_INVALID_ARGUMENT);
  assert_ok(hone_regex_create(NULL, pattern + 800, 400, &regex));
  hone_regex_destroy(regex);
}

/* A long pattern must not need a deep stack, nor a hard one much time. */
static void test_hard_patterns(void** state) {
  static char text[20001];
  memset(text, 'a', 20000);
  assert_true(full_match(text, text));
  assert_false(full_match("(a|aa|a*)*b", text));
  assert_true(full_match("(a?){500}a{500}(a|a*)*", text));
}

static void test_zero_bytes(void** state) {
  hone_regex_t* regex;
  bool matches;
  assert_ok(hone_regex_create(NULL, "a\0b", 3, &regex));
  assert_ok(hone_regex_full_match(regex, "a\0b", 3, &matches));
  assert_true(matches);
  assert_ok(hone_regex_full_match(regex, "a", 1, &matches));
  assert_false(matches);
  hone_regex_destroy(regex);
}

static hone_status_t create_and_match(const hone_allocator_t* allocator, void* context) {
  const char* pattern = "(?i)^(a[b-d\\w]{2,3}|x+y?)*$";
  hone_regex_t* regex;
  bool matches;
  HONE_TRY(hone_regex_create(allocator, pattern, strlen(pattern), &regex));
  hone_status_t status = hone_regex_full_match(regex, "abcxx", 5, &matches);
  if (!status) assert_true(matches);
  hone_regex_destroy(regex);
  return status;
}

static void test_faults(void** state) { assert_survives_faults(create_and_match, NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_examples),      cmocka_unit_test(test_bad_patterns),
      cmocka_unit_test(test_unsupported),   cmocka_unit_test(test_deep_nesting),
      cmocka_unit_test(test_hard_patterns), cmocka_unit_test(test_zero_bytes),
      cmocka_unit_test(test_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
