/* Functions: kernels built and called, interpreted and on the CPU. */
#include "hone/function.h"

#include <stdio.h>
#include <string.h>

#include "base/testing/fault.h"
#include "hone/schedule.h"
#include "loop/testing/kernels.h"
#include "loop/text.h"

/* ---- helpers ---- */

static hone_tensor_t* tensor(hone_dtype_t dtype, int rank, const int64_t* dims, void* data) {
  hone_tensor_t* made;
  assert_ok(hone_tensor_wrap(NULL, dtype, rank, dims, data, NULL, NULL, &made));
  return made;
}

/* Elements of the widest vectors of the CPU's kernels. */
static int cpu_lanes(void) {
  const hone_backend_t* cpu = hone_backend_find("cpu");
  hone_open_options_t options = {.struct_size = sizeof options,
                                 .allocator = hone_allocator_system()};
  hone_device_properties_t properties = {.struct_size = sizeof properties};
  hone_device_t* device;
  assert_ok(cpu->open(0, &options, &device));
  cpu->properties(device, &properties);
  cpu->close(device);
  return properties.vector_bytes < 16 ? 4 : properties.vector_bytes / 4;
}

static float a[12][20], b[20][16], out[12][16], want[12][16];

static void set_up(void) {
  for (int i = 0; i < 12 * 20; i++) a[i / 20][i % 20] = (float)(i % 7 - 3);
  for (int i = 0; i < 20 * 16; i++) b[i / 16][i % 16] = (float)(i % 5 - 2);
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 16; j++) {
      float sum = 0;
      for (int k = 0; k < 20; k++) sum += a[i][k] * b[k][j];
      want[i][j] = sum > 0 ? sum : 0;
    }
}

/* Twice, since the second run finds what the first has packed. */
static void assert_product(const char* device, const char* schedule) {
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("matmul"));
  hone_function_t* f;
  assert_ok(hone_schedule_apply(kernel, schedule));
  assert_ok(hone_function_build(NULL, kernel, device, &f));
  hone_kernel_destroy(kernel);
  hone_tensor_t* tensors[3] = {tensor(HONE_F32, 2, (int64_t[]){12, 20}, a),
                               tensor(HONE_F32, 2, (int64_t[]){20, 16}, b),
                               tensor(HONE_F32, 2, (int64_t[]){12, 16}, out)};
  for (int i = 0; i < 2; i++) {
    memset(out, 0, sizeof out);
    assert_ok(hone_function_run(f, 0, NULL, 3, tensors));
    assert_memory_equal(out, want, sizeof out);
  }
  for (int i = 0; i < 3; i++) hone_tensor_release(tensors[i]);
  hone_function_destroy(f);
}

/* ---- tests ---- */

static void schedules_run_interpreted(void** state) {
  set_up();
  assert_product("ref", "");
  assert_product("ref", "tile i j 4 8\npack b 1/8 0 1%8\nparallel i.o");
}

static void schedules_run_on_the_cpu(void** state) {
  char schedule[512];
  int lanes = cpu_lanes();
  set_up();
  assert_product("cpu", "");
  assert_product("cpu", "split i 5 peel\nparallel i.o");
  snprintf(schedule, sizeof schedule,
           "tile i j 4 %d\npack b 1/%d 0 1%%%d\ndistribute j.i\ndistribute i.i\n"
           "reorder k i.i.1 j.i.1\nvectorize j.i.0\nvectorize j.i.1\nvectorize j.i.2\n"
           "unroll i.i.0\nunroll i.i.1\nunroll i.i.2\nparallel i.o",
           lanes, lanes, lanes);
  if (16 % lanes == 0) assert_product("cpu", schedule);
  snprintf(schedule, sizeof schedule, "split k %d peel\nrfactor k.i\nvectorize k.i\nparallel i",
           lanes);
  if (lanes <= 20) assert_product("cpu", schedule);
}

/* A run-time size, and a check that fails. */
static void sizes_and_checks_are_told(const char* device) {
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("gather"));
  hone_function_t* f;
  float x[10][4] = {{0}}, y[2][4];
  int64_t at[2] = {3, 9}, n = 2;
  x[9][2] = 5;
  assert_ok(hone_function_build(NULL, kernel, device, &f));
  hone_tensor_t* tensors[3] = {tensor(HONE_F32, 2, (int64_t[]){10, 4}, x),
                               tensor(HONE_I64, 1, (int64_t[]){2}, at),
                               tensor(HONE_F32, 2, (int64_t[]){2, 4}, y)};
  assert_ok(hone_function_run(f, 1, &n, 3, tensors));
  assert_true(y[1][2] == 5);
  at[1] = 10;
  hone_status_t status = hone_function_run(f, 1, &n, 3, tensors);
  assert_int_equal(hone_status_code(status), HONE_OUT_OF_RANGE);
  assert_non_null(strstr(hone_status_message(status), "index out of range (Gather_3)"));
  hone_status_free(status);
  at[1] = 0;
  assert_ok(hone_function_run(f, 1, &n, 3, tensors));
  assert_code(hone_function_run(f, 0, NULL, 3, tensors), HONE_INVALID_ARGUMENT);
  assert_code(hone_function_run(f, 1, &n, 2, tensors), HONE_INVALID_ARGUMENT);
  assert_code(hone_function_run(f, 1, (int64_t[]){3}, 3, tensors), HONE_INVALID_ARGUMENT);
  assert_code(hone_function_run(f, 1, (int64_t[]){51}, 3, tensors), HONE_OUT_OF_RANGE);
  assert_code(hone_function_run(f, 1, &n, 4,
                                (hone_tensor_t*[]){tensors[0], tensors[1], tensors[2], tensors[2]}),
              HONE_INVALID_ARGUMENT);
  assert_code(
      hone_function_run(f, 1, &n, 3, (hone_tensor_t*[]){tensors[1], tensors[1], tensors[2]}),
      HONE_INVALID_ARGUMENT);
  for (int i = 0; i < 3; i++) hone_tensor_release(tensors[i]);
  hone_function_destroy(f);
  hone_kernel_destroy(kernel);
}

static void arguments_are_checked(void** state) {
  sizes_and_checks_are_told("ref");
  sizes_and_checks_are_told("cpu");
}

static void devices_are_checked(void** state) {
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("concat"));
  hone_function_t* f;
  assert_code(hone_function_build(NULL, kernel, "abacus", &f), HONE_NOT_FOUND);
  assert_code(hone_function_build(NULL, kernel, "null", &f), HONE_UNSUPPORTED);
  hone_kernel_destroy(kernel);
}

static hone_status_t build_and_run(const hone_allocator_t* allocator, void* context) {
  const char* text = hone_test_kernel("matmul")->text;
  hone_kernel_t* kernel;
  hone_function_t* f = NULL;
  HONE_TRY(hone_kernel_parse(allocator, text, strlen(text), &kernel));
  hone_status_t status = hone_schedule_apply(kernel, "pack b 1/8 0 1%8");
  if (!status) status = hone_function_build(allocator, kernel, "ref", &f);
  if (!status) status = hone_function_run(f, 0, NULL, 3, context);
  hone_function_destroy(f);
  hone_kernel_destroy(kernel);
  return status;
}

static void memory_may_run_out(void** state) {
  hone_tensor_t* tensors[3] = {tensor(HONE_F32, 2, (int64_t[]){12, 20}, a),
                               tensor(HONE_F32, 2, (int64_t[]){20, 16}, b),
                               tensor(HONE_F32, 2, (int64_t[]){12, 16}, out)};
  assert_survives_faults(build_and_run, tensors);
  for (int i = 0; i < 3; i++) hone_tensor_release(tensors[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_run_interpreted), cmocka_unit_test(schedules_run_on_the_cpu),
      cmocka_unit_test(arguments_are_checked),     cmocka_unit_test(devices_are_checked),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
