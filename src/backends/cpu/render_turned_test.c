/* Vectors that are turned on the way to memory, or from there, put everything where the
 * interpreter of kernels does: of each type, with as many lanes as some machine has, whole blocks
 * and parts of them. The code is for the machine that runs the test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/render.h"
#include "base/float_convert.h"
#include "base/memory.h"
#include "codegen/testing/test_library.h"
#include "codegen/toolchain.h"
#include "loop/interpret.h"
#include "loop/text.h"

/* The first of them differ most. */
static const hone_dtype_t dtypes[] = {HONE_F32, HONE_BF16, HONE_U8,  HONE_F16, HONE_F8E5M2,
                                      HONE_I8,  HONE_I16,  HONE_U16, HONE_I32, HONE_U32};
enum { FEW = 3 };

/* Of a block: vectors that are written out, and lanes that the loop has, in quarters of a
 * vector. Negative ones are numbers of a point that are read by turns. */
static const int shapes[][2] = {{4, 4}, {6, 4}, {4, 3}, {-2, 4}, {-3, 4}, {-4, 4}};

enum { FORMS = 4, EACH = TEST_COUNT(shapes) * FORMS, MOST = 24 * 17, TEXT = 400 };
enum { CASES = TEST_COUNT(dtypes) * EACH };

typedef void (*kernel_fn)(void* const* buffers, const long* sizes, long begin, long end);

/* Number `number` of all, with so many lanes. */
static hone_kernel_t* make_kernel(int number, int lanes) {
  char text[TEXT];
  hone_kernel_t* kernel;
  const char* dtype = hone_dtype_name(dtypes[number / EACH]);
  const int* shape = shapes[number / FORMS % (int)TEST_COUNT(shapes)];
  bool is_point = shape[0] < 0, loads = is_point || number % 2;
  int vectors = is_point ? -shape[0] : shape[0] * lanes / 4, rows = shape[1] * lanes / 4;
  bool computes = number / 2 % 2;
  int a_rows = loads ? rows : vectors, b_rows = loads ? vectors : rows;
  int n = snprintf(text, TEXT, "kernel turn%d {\n  input a: %s[%d, %d] = 0\n", number, dtype,
                   a_rows, loads ? vectors : rows);
  n += snprintf(text + n, TEXT - (size_t)n, "  output b: %s[%d, %d] = 0\n", dtype, b_rows,
                loads ? rows : vectors);
  snprintf(text + n, TEXT - (size_t)n,
           "  for j in %d unroll {\n    for i in %d vector { b[%s] = %sa[%s]%s }\n  }\n}\n",
           vectors, rows, loads ? "j, i" : "i, j", computes ? "add(" : "", loads ? "i, j" : "j, i",
           computes ? ", a[1, 0])" : "");
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

/* Rows of pairs that become columns, with or without a pair between columns. */
enum { PAIRS = 4 };

static hone_kernel_t* make_pairs(int number, int lanes) {
  char text[TEXT];
  hone_kernel_t* kernel;
  const char* dtype = hone_dtype_name(number % 2 ? HONE_F16 : HONE_BF16);
  int n = snprintf(text, TEXT,
                   "kernel pairs%d {\n  input a: %s[%d, %d] = 0\n  output b: %s[%d, %d, 2] = 0\n"
                   "  for j in %d unroll {\n    for i in %d vector { b[i / 2, j, i %% 2] = a[j, i] "
                   "}\n  }\n}\n",
                   number, dtype, lanes, lanes, dtype, lanes / 2, lanes + number / 2, lanes, lanes);
  assert_ok(hone_kernel_parse(NULL, text, (size_t)n, &kernel));
  return kernel;
}

static void put_source(hone_str_t* text, const hone_kernel_t* kernel, int lanes,
                       const hone_target_t* target) {
  size_t before = text->size;
  hone_str_appendf(text, "%s ", HONE_KERNEL_EXPORT);
  assert_ok(hone_cpu_render(kernel, kernel->name, lanes, target, text));
  if (!strstr(hone_str_text(text) + before, "hone_turn_") &&
      !strstr(hone_str_text(text) + before, "hone_apart"))
    fail_msg("nothing is turned in %s", hone_str_text(text) + before);
}

static void fill(const hone_buffer_t* buffer, char* bytes) {
  size_t size = hone_dtype_size(buffer->dtype);
  for (int i = 0; i < MOST; i++)
    hone_from_double(buffer->dtype, i % 113, false, bytes + (size_t)i * size);
}

/* What both write must be the same, and the rest as it was. */
static void check(hone_kernel_t* kernel, const hone_library_t* library) {
  static char a[4 * MOST], got[4 * MOST], want[4 * MOST];
  void* symbol;
  kernel_fn call;
  assert_ok(hone_library_symbol(library, kernel->name, &symbol));
  memcpy(&call, &symbol, sizeof call);
  fill(kernel->buffers[0], a);
  memset(got, 0x55, sizeof got);
  memset(want, 0x55, sizeof want);
  call((void*[]){a, got}, NULL, 0, 1);
  assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){a, want}));
  if (memcmp(got, want, sizeof got) != 0) fail_msg("%s differs", kernel->name);
}

static void check_lanes(int lanes, int count) {
  hone_target_t target;
  hone_str_t text;
  hone_kernel_t* kernels[CASES + PAIRS];
  assert_ok(hone_target_parse(NULL, &target));
  hone_str_init(&text, NULL);
  for (int i = 0; i < count + PAIRS; i++) {
    kernels[i] = i < count ? make_kernel(i, lanes) : make_pairs(i - count, lanes);
    put_source(&text, kernels[i], lanes, &target);
  }
  hone_library_t* library = test_library_build(&target, lanes, hone_str_text(&text));
  for (int i = 0; i < count + PAIRS; i++) {
    check(kernels[i], library);
    hone_kernel_destroy(kernels[i]);
  }
  hone_library_close(library);
  hone_str_free(&text);
}

static void of_four_lanes(void** state) { check_lanes(4, FEW * EACH); }
static void of_eight_lanes(void** state) { check_lanes(8, CASES); }
static void of_sixteen_lanes(void** state) { check_lanes(16, FEW * EACH); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_four_lanes),
      cmocka_unit_test(of_eight_lanes),
      cmocka_unit_test(of_sixteen_lanes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
