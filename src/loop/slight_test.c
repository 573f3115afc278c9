/* Which kernels' weights are marked as slight. */
#include "loop/slight.h"

#include <stdio.h>
#include <string.h>

#include "base/testing/test.h"
#include "loop/text.h"

static const void* give(void* self, const hone_buffer_t* buffer) { return self; }

/* What the weights of out[i, j] += a[i, k] b[k, j] are marked as. */
static int mark(const char* a, const char* sum, const int8_t* weights) {
  char text[512];
  snprintf(text, sizeof text,
           "kernel k {\n  input a: %s[4, 16] = 0\n  input b: i8[16, 3] = 1 constant\n"
           "  output out: i32[4, 3] = 0\n  local acc: i32[]\n  for i in 4 { for j in 3 {\n"
           "    acc[] = i32(0)\n    for k in 16 reduction {\n      acc[] += %s\n    }\n"
           "    out[i, j] = acc[]\n  } }\n}\n",
           a, sum);
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  hone_slight_mark(kernel, give, (void*)(uintptr_t)weights);
  int slight = kernel->buffers[1]->slight;
  hone_kernel_destroy(kernel);
  return slight;
}

static void products_of_bytes_are_marked(void** state) {
  static const char* const product = "mul(cast.i32(a[i, k]), cast.i32(b[k, j]))";
  int8_t weights[16 * 3] = {0};
  assert_int_equal(mark("u8", product, weights), 1);
  assert_int_equal(mark("u8", "mul(cast.i32(b[k, j]), cast.i32(a[i, k]))", weights), 1);
  assert_int_equal(mark("i8", product, weights), 0);
  assert_int_equal(mark("u8", "cast.i32(b[k, j])", weights), 0);
  weights[0] = weights[3] = 100;
  assert_int_equal(mark("u8", product, weights), 0);
}

static void marks_are_part_of_the_text(void** state) {
  static const char text[] =
      "kernel k {\n  input b: i8[2, 8] = 0 constant slight 1\n  output out: i8[] = 0\n"
      "  out[] = b[0, 0]\n}\n";
  hone_kernel_t* kernel;
  hone_str_t printed;
  hone_str_init(&printed, NULL);
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  assert_int_equal(kernel->buffers[0]->slight, 2);
  assert_ok(hone_kernel_print(kernel, &printed));
  assert_non_null(strstr(hone_str_text(&printed), "constant slight 1"));
  hone_str_free(&printed);
  hone_kernel_destroy(kernel);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_bytes_are_marked),
      cmocka_unit_test(marks_are_part_of_the_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
