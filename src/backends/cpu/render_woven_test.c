/* Four vectors that go to memory by turns put everything where the interpreter of kernels does: of
 * each type and number of lanes that there are, copied and computed. The code is for the machine
 * that runs the test. */
#include <stdio.h>
#include <string.h>

#include "backends/cpu/render.h"
#include "base/float_convert.h"
#include "codegen/testing/test_library.h"
#include "codegen/toolchain.h"
#include "loop/interpret.h"
#include "loop/text.h"

static const hone_dtype_t dtypes[] = {HONE_BF16, HONE_U8, HONE_I8};
enum { CASES = TEST_COUNT(dtypes) * 2, MOST = 5 * 16, TEXT = 400 };

typedef void (*kernel_fn)(void* const* buffers, const long* sizes, long begin, long end);

/* The last channel is the first one again. */
static hone_kernel_t* make_kernel(int number, int lanes) {
  char text[TEXT];
  hone_kernel_t* kernel;
  const char* dtype = hone_dtype_name(dtypes[number / 2]);
  bool computes = number % 2;
  int n = snprintf(text, TEXT,
                   "kernel four%d {\n  input a: %s[3, %d] = 0\n  output b: %s[%d, 4] = 0\n"
                   "  for j in 4 unroll {\n    for i in %d vector { b[i, j] = %sa[j %% 3, i]%s }\n"
                   "  }\n}\n",
                   number, dtype, lanes, dtype, lanes + 1, lanes, computes ? "add(" : "",
                   computes ? ", a[1, 0])" : "");
  assert_ok(hone_kernel_parse(NULL, text, (size_t)n, &kernel));
  return kernel;
}

static void put_source(hone_str_t* text, const hone_kernel_t* kernel, int lanes,
                       const hone_target_t* target) {
  size_t before = text->size;
  hone_str_appendf(text, "%s ", HONE_KERNEL_EXPORT);
  assert_ok(hone_cpu_render(kernel, kernel->name, lanes, target, text));
  if (!strstr(hone_str_text(text) + before, "hone_store_four_"))
    fail_msg("nothing goes by turns in %s", hone_str_text(text) + before);
}

/* What both write must be the same, and the rest as it was. */
static void check(hone_kernel_t* kernel, const hone_library_t* library) {
  static char a[2 * MOST], got[2 * MOST], want[2 * MOST];
  void* symbol;
  kernel_fn call;
  hone_dtype_t dtype = kernel->buffers[0]->dtype;
  assert_ok(hone_library_symbol(library, kernel->name, &symbol));
  memcpy(&call, &symbol, sizeof call);
  for (size_t i = 0; i < MOST; i++)
    hone_from_double(dtype, (double)(i % 53), false, a + i * hone_dtype_size(dtype));
  memset(got, 0x55, sizeof got);
  memset(want, 0x55, sizeof want);
  call((void*[]){a, got}, NULL, 0, 1);
  assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){a, want}));
  if (memcmp(got, want, sizeof got) != 0) fail_msg("%s differs", kernel->name);
}

static void check_lanes(int lanes) {
  hone_target_t target;
  hone_str_t text;
  hone_kernel_t* kernels[CASES];
  assert_ok(hone_target_parse(NULL, &target));
  hone_str_init(&text, NULL);
  for (int i = 0; i < (int)CASES; i++) {
    kernels[i] = make_kernel(i, lanes);
    put_source(&text, kernels[i], lanes, &target);
  }
  hone_library_t* library = test_library_build(&target, lanes, hone_str_text(&text));
  for (int i = 0; i < (int)CASES; i++) {
    check(kernels[i], library);
    hone_kernel_destroy(kernels[i]);
  }
  hone_library_close(library);
  hone_str_free(&text);
}

static void of_eight_lanes(void** state) { check_lanes(8); }
static void of_sixteen_lanes(void** state) { check_lanes(16); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_eight_lanes),
      cmocka_unit_test(of_sixteen_lanes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
