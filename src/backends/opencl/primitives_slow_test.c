/* Kernels as OpenCL C, run on the device: every elementwise primitive and cast
 * on every type, one element and many lanes at a time, against ir/scalar.h on
 * numbers that are chosen to be difficult. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/testing/device.h"
#include "ir/scalar.h"
#include "loop/kernel.h"

enum { VALUES = 16, COUNT = VALUES * VALUES, LANES = 8, MAX_BUFFERS = 64 };

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

/* ---- running a kernel on host arrays, in the order of its buffers ---- */

static void run_kernel(const hone_kernel_t* kernel, void** data, int64_t groups, int64_t locals) {
  hone_blob_t source, binary;
  hone_module_t* module;
  const char* name = "test_kernel";
  hone_argument_t arguments[MAX_BUFFERS];
  size_t sizes[MAX_BUFFERS];
  assert_ok(be->render(device, kernel, name, &source));
  if (getenv("HONE_SHOW")) print_message("%s\n", (const char*)source.data);
  assert_ok(be->build(device, 1, &name, (const char* const*)&source.data, &binary));
  assert_ok(be->load(device, &binary, 1, &name, &module));
  int n = 0;
  for (; n < kernel->n_buffers && kernel->buffers[n]->space == HONE_SPACE_GLOBAL; n++) {
    const hone_buffer_t* buffer = kernel->buffers[n];
    sizes[n] = hone_dtype_size(buffer->dtype);
    for (int i = 0; i < buffer->rank; i++) sizes[n] *= (size_t)buffer->dims[i].k;
    arguments[n] = (hone_argument_t){NULL, 64};
    assert_ok(be->alloc(device, HONE_MEMORY_DEVICE, sizes[n] + 64, &arguments[n].memory));
    assert_ok(be->copy_in(stream, arguments[n].memory, 64, data[n], sizes[n]));
  }
  hone_launch_t launch = {.struct_size = sizeof launch,
                          .module = module,
                          .n_buffers = n,
                          .buffers = arguments,
                          .groups = {groups, 1, 1},
                          .locals = {locals, 1, 1}};
  assert_ok(be->launch(stream, &launch));
  for (int i = 0; i < n; i++)
    assert_ok(be->copy_out(stream, data[i], arguments[i].memory, 64, sizes[i]));
  assert_ok(be->synchronize(stream));
  for (int i = 0; i < n; i++) be->free(device, arguments[i].memory);
  be->unload(device, module);
  free(source.data);
  free(binary.data);
}

/* ---- every primitive ---- */

static const hone_dtype_t dtypes[] = {HONE_F32, HONE_F64, HONE_F16, HONE_BF16, HONE_BOOL,
                                      HONE_I8,  HONE_I16, HONE_I32, HONE_I64,  HONE_U8,
                                      HONE_U16, HONE_U32, HONE_U64};

static const double float_values[VALUES] = {0,   -0.0, 1,    -1,   0.5, -2.5, 3.75,   -7,
                                            NAN, 6e4,  -6e4, 1e-3, 129, -0.3, 300.25, 2};

static double float_value(hone_dtype_t dtype, int i) {
  if (i == 9) return INFINITY;
  if (i == 10) return dtype == HONE_F16 ? -6e4 : -3e9;
  if (i == 15 && dtype == HONE_F64) return 1 + 0x1p-11 + 0x1p-40; /* f16 by way of f32: 1 */
  return float_values[i];
}

static int64_t int_value(hone_dtype_t dtype, int i) {
  static const int64_t values[VALUES] = {0, 1, -1, 2, 3, 7, -7, 5, 100, -100, 31, 33, 64, 6, 0, 0};
  int bits = hone_dtype_bits(dtype);
  if (i == 14) return (int64_t)((uint64_t)1 << (bits - 1));
  if (i == 15) return (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
  if (i == 13 && bits >= 32) return 0x1010001; /* bf16 by way of f32: 0x1000000 */
  return values[i];
}

static void fill(hone_dtype_t dtype, bool fast, char* out) {
  for (int k = 0; k < COUNT; k++) {
    int i = fast ? k % VALUES : k / VALUES;
    char* element = out + (size_t)k * hone_dtype_size(dtype);
    int64_t value = dtype == HONE_BOOL ? i & 1 : 0;
    if (hone_dtype_is_int(dtype)) value = int_value(dtype, i);
    if (hone_dtype_is_float(dtype))
      hone_from_double(dtype, float_value(dtype, i), false, element);
    else
      memcpy(element, &value, hone_dtype_size(dtype));
  }
}

/* What the test's kernel computes into one of its outputs. */
typedef struct result {
  hone_prim_t prim;
  hone_dtype_t dtype;
  bool exact;
} result_t;

static int list_results(hone_dtype_t dtype, result_t* out) {
  hone_scalar_class_t class = hone_scalar_class(dtype);
  int n = 0;
  for (int p = 0; p < HONE_PRIM_COUNT; p++) {
    hone_prim_t prim = (hone_prim_t)p;
    bool is_arithmetic = p != HONE_PRIM_AND && p != HONE_PRIM_OR && p != HONE_PRIM_XOR &&
                         p != HONE_PRIM_SHL && p != HONE_PRIM_SHR;
    if (dtype == HONE_BOOL && p != HONE_PRIM_EQ && p != HONE_PRIM_LT && p != HONE_PRIM_ADD &&
        p != HONE_PRIM_MUL && p != HONE_PRIM_MIN && p != HONE_PRIM_MAX && is_arithmetic)
      continue;
    if (dtype == HONE_BOOL && (p == HONE_PRIM_SHL || p == HONE_PRIM_SHR)) continue;
    hone_prim_family_t family = hone_prim_info(prim)->family;
    bool is_there = (family == HONE_FAMILY_BINARY && hone_scalar_binary(prim, class)) ||
                    (family == HONE_FAMILY_UNARY && hone_scalar_unary(prim, class) &&
                     (class == HONE_SCALAR_F64 || !hone_prim_is_transcendental(prim)) &&
                     prim != HONE_PRIM_SQRT) ||
                    (prim == HONE_PRIM_SQRT && class == HONE_SCALAR_F64);
    bool to_bool = p == HONE_PRIM_EQ || p == HONE_PRIM_LT;
    if (is_there)
      out[n++] = (result_t){prim, to_bool ? HONE_BOOL : dtype,
                            !hone_prim_is_transcendental(prim) || class != HONE_SCALAR_F64};
  }
  for (size_t i = 0; i < TEST_COUNT(dtypes); i++)
    out[n++] = (result_t){HONE_PRIM_CAST, dtypes[i], true};
  return n;
}

static const hone_term_t* make_term(hone_kernel_t* kernel, const result_t* result,
                                    const hone_term_t* const* args) {
  int n = hone_prim_info(result->prim)->max_inputs;
  return hone_term_prim(kernel, result->prim, result->dtype, 0, n, args);
}

/* for i in rounds parallel { for v in LANES (vector or serial) { out = prim(x, y) … } } */
static hone_kernel_t* make_kernel(hone_dtype_t dtype, int n, const result_t* results,
                                  hone_loop_kind_t inner) {
  hone_kernel_t* kernel;
  hone_dim_t count = hone_dim_int(COUNT);
  assert_ok(hone_kernel_create(NULL, "all", &kernel));
  hone_buffer_t* buffers[MAX_BUFFERS];
  for (int i = 0; i < n + 2; i++)
    buffers[i] =
        hone_kernel_buffer(kernel, i < 2 ? "in" : "out", i < 2 ? dtype : results[i - 2].dtype, 1,
                           &count, HONE_SPACE_GLOBAL, i < 2 ? HONE_ROLE_INPUT : HONE_ROLE_OUTPUT);
  hone_stmt_t* outer =
      hone_stmt_loop(kernel, NULL, "i", hone_dim_int(COUNT / LANES), HONE_LOOP_PARALLEL);
  for (int i = 0; i < n; i++) {
    hone_stmt_t* lane = hone_stmt_loop(kernel, outer, "v", hone_dim_int(LANES), inner);
    hone_dim_t scaled = hone_dim_mul(kernel->dims, outer->var, hone_dim_int(LANES));
    hone_dim_t at = hone_dim_add(kernel->dims, scaled, lane->var);
    const hone_term_t* args[2] = {hone_term_load(kernel, buffers[0], &at),
                                  hone_term_load(kernel, buffers[1], &at)};
    const hone_term_t* value = make_term(kernel, &results[i], args);
    assert_non_null(hone_stmt_store(kernel, lane, buffers[i + 2], &at, HONE_COMBINE_SET, value));
  }
  return kernel;
}

static void expect(hone_dtype_t dtype, const result_t* result, const char* x, const char* y,
                   char* out) {
  hone_scalar_class_t class = hone_scalar_class(dtype);
  size_t size = hone_dtype_size(dtype);
  hone_scalar_t a, b, c;
  hone_scalar_load(dtype, x, (int64_t)size, 1, &a);
  hone_scalar_load(dtype, y, (int64_t)size, 1, &b);
  if (result->prim == HONE_PRIM_CAST) {
    hone_scalar_cast_t cast = hone_scalar_cast_of(dtype, result->dtype, 0);
    hone_scalar_cast(&cast, &a, 1, out);
    return;
  }
  if (hone_prim_info(result->prim)->family == HONE_FAMILY_UNARY)
    c = hone_scalar_unary(result->prim, class)(a);
  else
    c = hone_scalar_binary(result->prim, class)(a, b, hone_dtype_bits(dtype));
  hone_scalar_store(result->dtype, &c, 1, out);
}

static bool is_near(const result_t* result, const char* got, const char* wanted) {
  if (memcmp(got, wanted, hone_dtype_size(result->dtype)) == 0) return true;
  if (!hone_dtype_is_float(result->dtype)) return false;
  double a = hone_to_double(result->dtype, got), b = hone_to_double(result->dtype, wanted);
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (result->exact) return false;
  double most = result->dtype == HONE_BF16 ? 0.01 : result->dtype == HONE_F16 ? 2e-3 : 2e-6;
  return fabs(a - b) <= most * (fabs(b) > 1e-30 ? fabs(b) : 1);
}

static void check_dtype(hone_dtype_t dtype, hone_loop_kind_t inner) {
  result_t results[MAX_BUFFERS];
  int n = list_results(dtype, results), wrong = 0;
  void* data[MAX_BUFFERS];
  for (int i = 0; i < n + 2; i++) data[i] = calloc(COUNT, 8);
  fill(dtype, false, data[0]);
  fill(dtype, true, data[1]);
  hone_kernel_t* kernel = make_kernel(dtype, n, results, inner);
  run_kernel(kernel, data, COUNT / LANES, 1);
  size_t size = hone_dtype_size(dtype);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < COUNT; k++) {
      char wanted[16];
      const char *x = (char*)data[0] + (size_t)k * size, *y = (char*)data[1] + (size_t)k * size;
      const char* got = (char*)data[i + 2] + (size_t)k * hone_dtype_size(results[i].dtype);
      expect(dtype, &results[i], x, y, wanted);
      if (is_near(&results[i], got, wanted)) continue;
      if (wrong++ < 20)
        print_error("%s of %s to %s: x %g y %g gives %g, not %g\n",
                    hone_prim_info(results[i].prim)->name, hone_dtype_name(dtype),
                    hone_dtype_name(results[i].dtype), hone_to_double(dtype, x),
                    hone_to_double(dtype, y), hone_to_double(results[i].dtype, got),
                    hone_to_double(results[i].dtype, wanted));
    }
  hone_kernel_destroy(kernel);
  for (int i = 0; i < n + 2; i++) free(data[i]);
  assert_int_equal(wrong, 0);
}

static void test_one_element(void** state) {
  (void)state;
  if (!device) skip();
  for (size_t i = 0; i < TEST_COUNT(dtypes); i++) check_dtype(dtypes[i], HONE_LOOP_SERIAL);
}

static void test_lanes(void** state) {
  (void)state;
  if (!device) skip();
  for (size_t i = 0; i < TEST_COUNT(dtypes); i++) check_dtype(dtypes[i], HONE_LOOP_VECTOR);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_element),
      cmocka_unit_test(test_lanes),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
