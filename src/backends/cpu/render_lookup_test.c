/* Bytes are looked up where the interpreter of kernels finds them: rows of them, and those that
 * threads share, with a sign and without. The code is for the machine that runs the test; whether
 * whole vectors are looked up is seen in code for machines that have an instruction for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/render.h"
#include "backends/cpu/testing/render_kernel.h"
#include "codegen/testing/test_library.h"
#include "codegen/toolchain.h"
#include "loop/interpret.h"
#include "loop/text.h"

enum { NUMBERS = 256, ROWS = 5, ROW = 203, WIDE = 210, CASES = 4, TEXT = 600, LANES = 16 };

typedef void (*kernel_fn)(void* const* buffers, const long* sizes, long begin, long end);

/* Rows into wider ones, or all as one row; of numbers with a sign in odd cases. */
static hone_kernel_t* make_kernel(int number) {
  char text[TEXT];
  hone_kernel_t* kernel;
  bool is_signed = number % 2, is_whole = number / 2;
  const char *dtype = is_signed ? "i8" : "u8", *at = is_whole ? "j" : "i, j";
  int n =
      snprintf(text, TEXT, "kernel lookup%d {\n  input t: %s[%d] = 0\n", number, dtype, NUMBERS);
  if (is_whole)
    n += snprintf(text + n, TEXT - (size_t)n,
                  "  input a: %s[%d] = 1\n  output b: %s[%d] = 0\n  for j in %d parallel {\n",
                  dtype, ROWS * ROW, dtype, ROWS * ROW, ROWS * ROW);
  else
    n += snprintf(text + n, TEXT - (size_t)n,
                  "  input a: %s[%d, %d] = 1\n  output b: %s[%d, %d] = 0\n"
                  "  for i in %d parallel {\n    for j in %d {\n",
                  dtype, ROWS, ROW, dtype, ROWS, WIDE, ROWS, ROW);
  n += snprintf(text + n, TEXT - (size_t)n,
                is_signed ? "let x in 0..255 = cast.i64(cast.u8(add(cast.i32(a[%s]), i32(128))))\n"
                          : "let x in 0..255 = cast.i64(a[%s])\n",
                at);
  snprintf(text + n, TEXT - (size_t)n, "b[%s] = t[x]\n}\n}\n%s", is_whole ? "j" : "i, j + 3",
           is_whole ? "" : "}\n");
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

/* All rounds, in two parts. */
static void check(hone_kernel_t* kernel, const hone_library_t* library, long rounds) {
  static unsigned char table[NUMBERS], a[ROWS * ROW], got[ROWS * WIDE], want[ROWS * WIDE];
  void* symbol;
  kernel_fn call;
  assert_ok(hone_library_symbol(library, kernel->name, &symbol));
  memcpy(&call, &symbol, sizeof call);
  for (int i = 0; i < NUMBERS; i++) table[i] = (unsigned char)(i * 167 + 5);
  for (int i = 0; i < ROWS * ROW; i++) a[i] = (unsigned char)(i * 89 % 251 + i / 99);
  memset(got, 0x55, sizeof got);
  memset(want, 0x55, sizeof want);
  call((void*[]){table, a, got}, NULL, 0, rounds / 3);
  call((void*[]){table, a, got}, NULL, rounds / 3, rounds);
  assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){table, a, want}));
  if (memcmp(got, want, sizeof got) != 0) fail_msg("%s differs", kernel->name);
}

static void bytes_are_found(void** state) {
  hone_target_t target;
  hone_str_t text;
  hone_kernel_t* kernels[CASES];
  assert_ok(hone_target_parse(NULL, &target));
  hone_str_init(&text, NULL);
  for (int i = 0; i < CASES; i++) {
    kernels[i] = make_kernel(i);
    hone_str_appendf(&text, "%s ", HONE_KERNEL_EXPORT);
    assert_ok(hone_cpu_render(kernels[i], kernels[i]->name, LANES, &target, &text));
  }
  hone_library_t* library = test_library_build(&target, LANES, hone_str_text(&text));
  for (int i = 0; i < CASES; i++) {
    check(kernels[i], library, i / 2 ? ROWS * ROW : ROWS);
    hone_kernel_destroy(kernels[i]);
  }
  hone_library_close(library);
  hone_str_free(&text);
}

static void expect_vectors(const char* name, bool wanted) {
  for (int i = 0; i < CASES; i++) {
    hone_str_t text;
    hone_kernel_t* kernel = make_kernel(i);
    render_kernel_text(kernel, LANES, name, &text);
    assert_int_equal(strstr(hone_str_text(&text), "hone_lookup_bytes(") != NULL, wanted);
    hone_str_free(&text);
    hone_kernel_destroy(kernel);
  }
}

static void by_vectors_where_there_is_an_instruction(void** state) {
  expect_vectors("x86-64-v4+vbmi", true);
  expect_vectors("x86-64-v4", false);
  expect_vectors("x86-64-v3", false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_are_found),
      cmocka_unit_test(by_vectors_where_there_is_an_instruction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
