/* Tokens: what is taken, what is left, and where errors are said to be. */
#include "base/text_reader.h"

#include <string.h>

#include "base/testing/test.h"

static hone_text_reader_t reader_of(const char* text) {
  return (hone_text_reader_t){
      .subject = "a text", .code = HONE_INVALID_DATA, .text = text, .at = text};
}

static void assert_failed(hone_text_reader_t* reader, const char* message) {
  assert_non_null(reader->status);
  assert_int_equal(hone_status_code(reader->status), HONE_INVALID_DATA);
  assert_string_equal(hone_status_message(reader->status), message);
  hone_status_free(reader->status);
  reader->status = NULL;
}

static void tokens(void** state) {
  (void)state;
  hone_text_reader_t r = reader_of(" # a comment\n size\t(3, -4)#end");
  assert_false(hone_text_take_word(&r, "siz"));
  assert_true(hone_text_take_word(&r, "size"));
  assert_false(hone_text_take(&r, ')'));
  assert_true(hone_text_peek(&r, '('));
  hone_text_expect(&r, '(');
  assert_int_equal(hone_text_read_small(&r, 4), 3);
  hone_text_expect(&r, ',');
  assert_int_equal(hone_text_read_int(&r), -4);
  hone_text_expect(&r, ')');
  hone_text_expect_end(&r);
  assert_null(r.status);
}

static void errors_have_a_place(void** state) {
  (void)state;
  hone_text_reader_t r = reader_of("one\n  two");
  assert_true(hone_text_take_word(&r, "one"));
  hone_text_expect(&r, '[');
  assert_false(hone_text_take_word(&r, "two")); /* nothing is taken after an error */
  assert_failed(&r, "a text, line 2, column 3: expected '['");
  hone_text_expect_end(&r);
  assert_failed(&r, "a text, line 2, column 3: something follows the end");
}

static void numbers_out_of_range(void** state) {
  (void)state;
  static const char* const bad[] = {"", "x", "99999999999999999999", "-1", "7"};
  for (size_t i = 0; i < TEST_COUNT(bad); i++) {
    hone_text_reader_t r = reader_of(bad[i]);
    assert_int_equal(hone_text_read_small(&r, 7), 0);
    assert_non_null(r.status);
    hone_status_free(r.status);
  }
}

static void the_first_error_stays(void** state) {
  (void)state;
  hone_text_reader_t r = reader_of("x");
  hone_text_fail(&r, "first");
  hone_text_fail(&r, "second");
  assert_failed(&r, "a text, line 1, column 1: first");
}

static void digits(void** state) {
  (void)state;
  for (int i = 0; i < 16; i++) {
    assert_int_equal(hone_text_hex_digit("0123456789abcdef"[i]), i);
    assert_int_equal(hone_text_hex_digit("0123456789ABCDEF"[i]), i);
  }
  assert_int_equal(hone_text_hex_digit('g'), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tokens),
      cmocka_unit_test(errors_have_a_place),
      cmocka_unit_test(numbers_out_of_range),
      cmocka_unit_test(the_first_error_stays),
      cmocka_unit_test(digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
