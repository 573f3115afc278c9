#include "base/str.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"

static void text_grows_at_its_end(void** state) {
  (void)state;
  hone_str_t str;
  char* text;
  size_t size;
  hone_str_init(&str, NULL);
  assert_string_equal(hone_str_text(&str), "");
  hone_str_append(&str, "ab");
  hone_str_append_char(&str, 'c');
  hone_str_append_n(&str, "\0d", 2);
  hone_str_appendf(&str, "%d-%s", 42, "e");
  assert_int_equal(str.size, 9);
  assert_memory_equal(hone_str_text(&str), "abc\0d42-e", 10);
  assert_ok(hone_str_take(&str, &text, &size));
  assert_int_equal(size, 9);
  assert_memory_equal(text, "abc\0d42-e", 10);
  hone_free(NULL, text, size + 1);
  assert_string_equal(hone_str_text(&str), "");
  hone_str_free(&str);
}

static void taking_nothing_gives_an_empty_text(void** state) {
  (void)state;
  hone_str_t str;
  char* text;
  hone_str_init(&str, NULL);
  assert_ok(hone_str_take(&str, &text, NULL));
  assert_string_equal(text, "");
  hone_free(NULL, text, 1);
}

static void long_texts_keep_every_byte(void** state) {
  (void)state;
  hone_str_t str;
  hone_str_init(&str, NULL);
  for (int i = 0; i < 1000; i++) hone_str_appendf(&str, "%04d", i);
  assert_int_equal(str.size, 4000);
  for (int i = 0; i < 1000; i++) {
    char number[5] = {0};
    memcpy(number, hone_str_text(&str) + 4 * i, 4);
    assert_int_equal(strtol(number, NULL, 10), i);
  }
  hone_str_free(&str);
}

static void assert_double(double value, const char* expected) {
  hone_str_t str;
  hone_str_init(&str, NULL);
  hone_str_append_double(&str, value);
  assert_string_equal(hone_str_text(&str), expected);
  hone_str_free(&str);
}

static void doubles_are_short_and_read_back(void** state) {
  (void)state;
  assert_double(0, "0");
  assert_double(-0.0, "-0");
  assert_double(0.1, "0.1");
  assert_double(1.0 / 3, "0.3333333333333333");
  assert_double(0.1 + 0.2, "0.30000000000000004");
  assert_double(DBL_MAX, "1.7976931348623157e+308");
  assert_double(NAN, "nan");
  assert_double(-NAN, "nan");
  assert_double(INFINITY, "inf");
  assert_double(-INFINITY, "-inf");
}

static void doubles_ignore_the_locale(void** state) {
  (void)state;
  static const char* const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
  bool found = false;
  for (size_t i = 0; i < TEST_COUNT(names) && !found; i++)
    found = setlocale(LC_NUMERIC, names[i]) != NULL;
  if (!found) skip();
  assert_double(1.5, "1.5");
  setlocale(LC_NUMERIC, "C");
}

static void json_text_is_escaped(void** state) {
  (void)state;
  hone_str_t str;
  hone_str_init(&str, NULL);
  hone_str_append_json(&str, "a\"b\\c\n\0\x7f\xc3\xa9", 10);
  assert_string_equal(hone_str_text(&str), "\"a\\\"b\\\\c\\u000a\\u0000\\u007f\xc3\xa9\"");
  hone_str_free(&str);
}

static void a_failure_sticks(void** state) {
  (void)state;
  hone_fault_t fault;
  hone_str_t str;
  char* text;
  hone_fault_init(&fault, 1, false);
  hone_str_init(&str, &fault.allocator);
  hone_str_append(&str, "lost");
  hone_str_append(&str, "not written although there is memory again");
  assert_true(str.failed);
  assert_code(hone_str_take(&str, &text, NULL), HONE_OUT_OF_MEMORY);
  assert_null(text);
  assert_int_equal(atomic_load(&fault.blocks), 0);
}

static hone_status_t build(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_str_t str;
  char* text;
  size_t size;
  hone_str_init(&str, allocator);
  for (int i = 0; i < 50; i++) {
    hone_str_appendf(&str, "%d ", i);
    hone_str_append_double(&str, i / 3.0);
    hone_str_append_json(&str, "\n", 1);
  }
  HONE_TRY(hone_str_take(&str, &text, &size));
  hone_free(allocator, text, size + 1);
  return NULL;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_true(assert_survives_faults(build, NULL) >= 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_grows_at_its_end),
      cmocka_unit_test(taking_nothing_gives_an_empty_text),
      cmocka_unit_test(long_texts_keep_every_byte),
      cmocka_unit_test(doubles_are_short_and_read_back),
      cmocka_unit_test(doubles_ignore_the_locale),
      cmocka_unit_test(json_text_is_escaped),
      cmocka_unit_test(a_failure_sticks),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
