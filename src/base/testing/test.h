/* What every test includes: cmocka, whose header wants others before it in an
 * order that sorting would break. */
#ifndef HONE_BASE_TESTING_TEST_H
#define HONE_BASE_TESTING_TEST_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "hone/status.h"

/* 1 under ThreadSanitizer, which does not follow threads made after a fork. */
#if defined(__SANITIZE_THREAD__)
#define TEST_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_UNDER_TSAN 1
#endif
#endif
#ifndef TEST_UNDER_TSAN
#define TEST_UNDER_TSAN 0
#endif

#define TEST_COUNT(array) (sizeof(array) / sizeof *(array))

/* Fails the test, with the message, when `expr` is not success. */
#define assert_ok(expr)                                       \
  do {                                                        \
    hone_status_t test_status_ = (expr);                      \
    if (test_status_) {                                       \
      print_error("%s\n", hone_status_message(test_status_)); \
      hone_status_free(test_status_);                         \
      fail_msg("%s", #expr);                                  \
    }                                                         \
  } while (0)

/* Fails the test when `expr` does not give a status of `expected`. */
#define assert_code(expr, expected)                          \
  do {                                                       \
    hone_status_t test_status_ = (expr);                     \
    hone_code_t test_code_ = hone_status_code(test_status_); \
    hone_status_free(test_status_);                          \
    assert_int_equal(test_code_, expected);                  \
  } while (0)

#endif
