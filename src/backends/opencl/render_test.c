/* Whole kernels: tests/kernels/opencl/CASE.kernel as OpenCL C must be CASE.cl
 * (HONE_UPDATE_GOLDEN=1 in the environment writes it), and must compute on the
 * device what the interpreter of kernels computes. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/testing/device.h"
#include "base/file.h"
#include "base/float_convert.h"
#include "loop/interpret.h"
#include "loop/text.h"
#include "runtime/routine.h"

enum { SIZE = 5, MAX_BUFFERS = 8, MAX_ELEMENTS = 4096 };

static const hone_backend_t* be;
static hone_device_t* device; /* NULL: there is none */
static hone_stream_t* stream;

static int open_device(void** state) {
  (void)state;
  test_device_t opened = test_device_open();
  be = opened.backend;
  device = opened.device;
  stream = opened.stream;
  return 0;
}

static int close_device(void** state) {
  (void)state;
  test_device_close(&(test_device_t){be, device, stream});
  return 0;
}

/* Terminated; NULL when there is no such file. */
static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  char* text = calloc(1, 1 << 16);
  size_t size = fread(text, 1, (1 << 16) - 1, file);
  text[size] = 0;
  fclose(file);
  return text;
}

static void check_source(const char* path, const char* source) {
  char golden_path[512];
  snprintf(golden_path, sizeof golden_path, "%.*s.cl", (int)(strrchr(path, '.') - path), path);
  if (getenv("HONE_UPDATE_GOLDEN")) assert_ok(hone_file_write(golden_path, source, strlen(source)));
  char* golden = read_text(golden_path);
  assert_non_null(golden);
  assert_string_equal(source, golden);
  free(golden);
}

/* ---- running ---- */

typedef struct memory {
  int n;
  void* data[MAX_BUFFERS];
  size_t bytes[MAX_BUFFERS];
} memory_t;

static void fill(const hone_kernel_t* kernel, memory_t* m) {
  int64_t sizes[256];
  for (int i = 0; i < 256; i++) sizes[i] = SIZE;
  for (m->n = 0; m->n < kernel->n_buffers; m->n++) {
    const hone_buffer_t* buffer = kernel->buffers[m->n];
    if (buffer->space != HONE_SPACE_GLOBAL) break;
    size_t size = hone_dtype_size(buffer->dtype), count = 1;
    for (int i = 0; i < buffer->rank; i++) count *= (size_t)hone_dim_eval(buffer->dims[i], sizes);
    assert_true(count <= MAX_ELEMENTS);
    m->bytes[m->n] = count * size;
    m->data[m->n] = calloc(count, size);
    for (size_t k = 0; k < count && buffer->role == HONE_ROLE_INPUT; k++)
      hone_from_double(buffer->dtype, (double)((k * 7 + (size_t)m->n) % 5), true,
                       (char*)m->data[m->n] + k * size);
  }
}

static void set_grid(const hone_kernel_t* kernel, hone_launch_t* launch) {
  hone_dim_t groups[3], locals[3];
  int64_t sizes[256];
  for (int i = 0; i < 256; i++) sizes[i] = SIZE;
  hone_kernel_grid(kernel, groups, locals);
  for (int i = 0; i < 3; i++) {
    launch->groups[i] = hone_dim_eval(groups[i], sizes);
    launch->locals[i] = hone_dim_eval(locals[i], sizes);
  }
}

static void run_device(const hone_kernel_t* kernel, const char* source, memory_t* m) {
  hone_blob_t binary;
  hone_module_t* module;
  hone_argument_t arguments[MAX_BUFFERS];
  const char* name = kernel->name;
  int64_t sizes[8] = {SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE};
  assert_ok(be->build(device, 1, &name, &source, &binary));
  assert_ok(be->load(device, &binary, 1, &name, &module));
  for (int i = 0; i < m->n; i++) {
    arguments[i] = (hone_argument_t){NULL, 64};
    assert_ok(be->alloc(device, HONE_MEMORY_DEVICE, m->bytes[i] + 64, &arguments[i].memory));
    assert_ok(be->copy_in(stream, arguments[i].memory, 64, m->data[i], m->bytes[i]));
  }
  hone_launch_t launch = {.struct_size = sizeof launch,
                          .module = module,
                          .n_buffers = m->n,
                          .buffers = arguments,
                          .n_sizes = kernel->n_sizes,
                          .sizes = sizes};
  set_grid(kernel, &launch);
  assert_ok(be->launch(stream, &launch));
  for (int i = 0; i < m->n; i++)
    assert_ok(be->copy_out(stream, m->data[i], arguments[i].memory, 64, m->bytes[i]));
  assert_ok(be->synchronize(stream));
  for (int i = 0; i < m->n; i++) be->free(device, arguments[i].memory);
  be->unload(device, module);
  free(binary.data);
}

static void check_run(hone_kernel_t* kernel, const char* source) {
  memory_t wanted, got;
  const int64_t sizes[8] = {SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE};
  fill(kernel, &wanted);
  fill(kernel, &got);
  assert_ok(hone_kernel_interpret(kernel, sizes, wanted.data));
  run_device(kernel, source, &got);
  for (int i = 0; i < got.n; i++) {
    hone_dtype_t dtype = kernel->buffers[i]->dtype;
    size_t size = hone_dtype_size(dtype);
    for (size_t k = 0; k < got.bytes[i] / size; k++) {
      double a = hone_to_double(dtype, (char*)got.data[i] + k * size);
      double b = hone_to_double(dtype, (char*)wanted.data[i] + k * size);
      if (fabs(a - b) > 1e-5 * (1 + fabs(b)))
        fail_msg("%s: %s[%zu] is %g, not %g", kernel->name, kernel->buffers[i]->name, k, a, b);
    }
    free(got.data[i]);
    free(wanted.data[i]);
  }
}

/* ---- tests ---- */

static hone_kernel_t* parse(const char* text) {
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(hone_allocator_system(), text, strlen(text), &kernel));
  return kernel;
}

static void test_cases(void** state) {
  (void)state;
  if (!device) skip();
  glob_t cases;
  assert_int_equal(glob("tests/kernels/opencl/*.kernel", 0, NULL, &cases), 0);
  for (size_t i = 0; i < cases.gl_pathc; i++) {
    char* text = read_text(cases.gl_pathv[i]);
    hone_kernel_t* kernel = parse(text);
    char why[HONE_DEVICE_TEXT_SIZE];
    hone_blob_t source;
    assert_true(be->supports(device, kernel, why));
    assert_ok(be->render(device, kernel, kernel->name, &source));
    check_source(cases.gl_pathv[i], source.data);
    check_run(kernel, source.data);
    free(source.data);
    hone_kernel_destroy(kernel);
    free(text);
  }
  globfree(&cases);
}

static void check_refused(const char* text, const char* reason) {
  hone_kernel_t* kernel = parse(text);
  char why[HONE_DEVICE_TEXT_SIZE] = "";
  assert_false(be->supports(device, kernel, why));
  assert_non_null(strstr(why, reason));
  hone_kernel_destroy(kernel);
}

static void test_what_is_refused(void** state) {
  (void)state;
  if (!device) skip();
  check_refused(
      "kernel a {\n  input x: c64[4] = 0\n  output y: c64[4] = 0\n"
      "  for i in 4 {\n    y[i] = x[i]\n  }\n}\n",
      "elements of type c64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),
      cmocka_unit_test(test_what_is_refused),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
