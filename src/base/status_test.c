#include "hone/status.h"

#include <string.h>

#include "base/memory.h"
#include "base/testing/test.h"

static void success_is_null(void** state) {
  (void)state;
  assert_int_equal(hone_status_code(NULL), HONE_OK);
  assert_string_equal(hone_status_message(NULL), "");
  assert_null(hone_status_annotate(NULL, "context"));
  hone_status_free(NULL);
}

static void a_status_has_a_code_and_a_message(void** state) {
  (void)state;
  hone_status_t status = hone_status_make(HONE_INVALID_MODEL, "node %s at byte %d", "conv", 7);
  assert_int_equal(hone_status_code(status), HONE_INVALID_MODEL);
  assert_string_equal(hone_status_message(status), "node conv at byte 7");
  hone_status_free(status);
}

static void context_goes_before_the_message(void** state) {
  (void)state;
  hone_status_t status = hone_status_make(HONE_IO, "disk %s", "full");
  status = hone_status_annotate(status, "file %d", 3);
  status = hone_status_annotate(status, "100%%");
  assert_int_equal(hone_status_code(status), HONE_IO);
  assert_string_equal(hone_status_message(status), "100%: file 3: disk full");
  hone_status_free(status);
}

static void out_of_memory_needs_none(void** state) {
  (void)state;
  hone_status_t status = hone_oom();
  assert_int_equal(hone_status_code(status), HONE_OUT_OF_MEMORY);
  assert_string_equal(hone_status_message(status), "out of memory");
  assert_ptr_equal(hone_status_annotate(status, "context"), status);
  hone_status_free(status);
  assert_ptr_equal(hone_oom(), status);
}

static void every_code_explains_itself(void** state) {
  (void)state;
  for (int i = 0; i < HONE_CODE_COUNT; i++) {
    hone_code_t code = (hone_code_t)i;
    assert_true(strlen(hone_code_name(code)) > 1);
    assert_true(strlen(hone_code_text(code)) > 4);
    assert_true(strlen(hone_code_advice(code)) > 4);
    for (int j = 0; j < i; j++)
      assert_string_not_equal(hone_code_name(code), hone_code_name((hone_code_t)j));
  }
  assert_string_equal(hone_code_name(HONE_INVALID_MODEL), "INVALID_MODEL");
  assert_string_equal(hone_code_name((hone_code_t)999), "INTERNAL");
}

static hone_status_t fails_when(bool fails) {
  HONE_TRY(fails ? hone_status_make(HONE_CANCELLED, "stop") : NULL);
  return hone_status_make(HONE_NOT_FOUND, "went on");
}

static void try_returns_early(void** state) {
  (void)state;
  assert_code(fails_when(true), HONE_CANCELLED);
  assert_code(fails_when(false), HONE_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(success_is_null),
      cmocka_unit_test(a_status_has_a_code_and_a_message),
      cmocka_unit_test(context_goes_before_the_message),
      cmocka_unit_test(out_of_memory_needs_none),
      cmocka_unit_test(every_code_explains_itself),
      cmocka_unit_test(try_returns_early),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
