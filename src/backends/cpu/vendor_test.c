/* Libraries for products of matrices: what is done with them when they are there, when they
 * are missing, and when they are something else. Whatever of them is not installed, the
 * schedules and the loops beside the calls are tested all the same. */
#include "backends/cpu/vendor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/testing/folder.h"
#include "codegen/toolchain.h"
#include "hone/function.h"
#include "loop/testing/kernels.h"
#include "loop/text.h"
#include "loop/verify.h"
#include "tune/space.h"
#include "tune/tactic.h"

extern const hone_tactic_t hone_tactic_openblas, hone_tactic_onednn;
static const hone_tactic_t* const tactics[] = {&hone_tactic_openblas, &hone_tactic_onednn};
static const char* const names[] = {"OpenBLAS", "oneDNN"};

/* ---- schedules ---- */

#define PRODUCT(name, inputs, output, loops, value, end)                                      \
  {                                                                                           \
    name,                                                                                     \
        "kernel " name " {\n" inputs "  output out: f32[" output                              \
        "] = 0\n  local acc: f32[]\n" loops                                                   \
        "      acc[] = f32(0)\n      for k in 24 reduction { acc[] += mul(" value ") }\n" end \
        "\n}\n",                                                                              \
    {                                                                                         \
      0                                                                                       \
    }                                                                                         \
  }

static const hone_test_kernel_t kernels[] = {
    PRODUCT("weights",
            "  input a: f32[36, 24] = 0\n  input b: f32[24, 48] = 1 constant\n  "
            "input bias: f32[48] = 2\n",
            "36, 48", "  for i in 36 { for j in 48 {\n", "a[i, k], b[k, j]",
            "      out[i, j] = max(add(acc[], bias[j]), f32(0))\n  } }"),
    PRODUCT("turned", "  input a: f32[36, 24] = 0\n  input b: f32[48, 24] = 1 constant\n", "36, 48",
            "  for i in 36 { for j in 48 {\n", "a[i, k], b[j, k]",
            "      out[i, j] = acc[]\n  } }"),
    PRODUCT("batches", "  input a: f32[3, 36, 24] = 0\n  input b: f32[3, 24, 48] = 1\n",
            "3, 36, 48", "  for n in 3 { for i in 36 { for j in 48 {\n", "b[n, k, j], a[n, i, k]",
            "      out[n, i, j] = acc[]\n  } } }"),
    PRODUCT("pixels", "  input x: f32[24, 6, 8] = 0\n  input w: f32[36, 24, 1, 1] = 1 constant\n",
            "36, 6, 8", "  for o in 36 { for y in 6 { for z in 8 {\n", "x[k, y, z], w[o, k, 0, 0]",
            "      out[o, y, z] = exp(acc[])\n  } } }"),
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static hone_device_properties_t machine(void) {
  return (hone_device_properties_t){.struct_size = sizeof(hone_device_properties_t),
                                    .compute_units = 2,
                                    .vector_bytes = 32,
                                    .vector_registers = 16};
}

static bool is_supported(const hone_tactic_t* tactic, const hone_test_kernel_t* test) {
  const hone_device_properties_t properties = machine();
  char why[HONE_DEVICE_TEXT_SIZE] = "";
  hone_kernel_t* kernel = hone_test_kernel_make(test);
  bool supports = tactic->supports(kernel, &properties, why);
  assert_true(supports || strlen(why) > 0);
  hone_kernel_destroy(kernel);
  return supports;
}

static void only_products_of_f32_are_taken(void** state) {
  static const char* const others[] = {"matmul_bytes", "matmul_sizes", "conv", "softmax", "gather"};
  for (int t = 0; t < HONE_VENDOR_COUNT; t++) {
    for (int i = 0; i < KERNELS; i++) assert_true(is_supported(tactics[t], &kernels[i]));
    assert_true(is_supported(tactics[t], hone_test_kernel("matmul")));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
      assert_false(is_supported(tactics[t], hone_test_kernel(others[i])));
  }
}

/* Kernel and space of a tactic; `plain` is as it was lowered. */
typedef struct built {
  const hone_tactic_t* tactic;
  hone_kernel_t* plain;
  hone_arena_t* arena;
  hone_space_t* space;
} built_t;

static built_t make(const hone_tactic_t* tactic, const hone_test_kernel_t* test) {
  const hone_device_properties_t properties = machine();
  built_t b = {.tactic = tactic, .plain = hone_test_kernel_make(test)};
  const void* facts;
  assert_ok(hone_arena_create(NULL, &b.arena));
  assert_ok(hone_space_create(NULL, &b.space));
  assert_ok(tactic->space(b.plain, &properties, b.arena, b.space, &facts));
  for (uint64_t i = 0; i < hone_space_size(b.space); i++) {
    hone_candidate_t candidate = hone_space_at(b.space, i);
    double cost = tactic->cost(facts, &properties, b.space, &candidate);
    assert_true(cost > 0 && cost < 1);
  }
  return b;
}

static void drop(built_t* b) {
  hone_space_destroy(b->space);
  hone_arena_destroy(b->arena);
  hone_kernel_destroy(b->plain);
}

/* The kernel as the candidate has it, with a call in it. */
static hone_kernel_t* schedule(const built_t* b, const hone_candidate_t* candidate) {
  const hone_device_properties_t properties = machine();
  hone_kernel_t* kernel;
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_kernel_clone(b->plain, &kernel));
  assert_ok(b->tactic->build(kernel, &properties, b->space, candidate));
  assert_ok(hone_kernel_verify(kernel));
  assert_ok(hone_kernel_print(kernel, &text));
  if (!strstr(hone_str_text(&text), " as sgemm_")) fail_msg("no call in\n%s", hone_str_text(&text));
  hone_str_free(&text);
  return kernel;
}

static void candidates_are_right(void** state) {
  for (int i = 0; i < KERNELS; i++)
    for (int t = 0; t < HONE_VENDOR_COUNT; t++) {
      built_t b = make(tactics[t], &kernels[i]);
      hone_test_result_t want, got;
      assert_ok(hone_test_kernel_run(b.plain, kernels[i].sizes, 1, &want));
      for (uint64_t c = 0; c < hone_space_size(b.space); c++) {
        const hone_candidate_t candidate = hone_space_at(b.space, c);
        hone_kernel_t* kernel = schedule(&b, &candidate);
        assert_ok(hone_test_kernel_run(kernel, kernels[i].sizes, 1, &got));
        if (!hone_test_result_agrees(&want, &got))
          fail_msg("%s gives another result", kernels[i].name);
        hone_test_result_free(&got);
        hone_kernel_destroy(kernel);
      }
      hone_test_result_free(&want);
      drop(&b);
    }
}

/* ---- compiled: with the libraries that are there, by loops for those that are not ---- */

enum { MOST = 4 };

static int make_tensors(const hone_kernel_t* kernel, hone_tensor_t** out) {
  int n = 0;
  for (; n < kernel->n_buffers && kernel->buffers[n]->space == HONE_SPACE_GLOBAL; n++) {
    const hone_buffer_t* buffer = kernel->buffers[n];
    int64_t dims[HONE_MAX_RANK];
    for (int i = 0; i < buffer->rank; i++) dims[i] = buffer->dims[i].k;
    assert_ok(hone_tensor_create(NULL, HONE_F32, buffer->rank, dims, &out[n]));
    float* element = hone_tensor_data(out[n]);
    for (int64_t i = 0; i < hone_tensor_count(out[n]); i++)
      element[i] = (float)(hone_random_u32((uint64_t)n, (uint64_t)i) % 2001) / 4000.0f - 0.25f;
  }
  return n;
}

static void run_on(hone_kernel_t* kernel, const char* device, hone_tensor_t** tensors) {
  hone_function_t* function;
  int n = make_tensors(kernel, tensors);
  assert_ok(hone_function_build(NULL, kernel, device, &function));
  assert_ok(hone_function_run(function, 0, NULL, n, tensors));
  hone_function_destroy(function);
}

static void compare_runs(hone_kernel_t* kernel, hone_kernel_t* plain) {
  hone_tensor_t *got[MOST], *want[MOST];
  run_on(kernel, "cpu", got);
  run_on(plain, "ref", want);
  for (int i = 0; i < MOST && i < plain->n_buffers && plain->buffers[i]->space == HONE_SPACE_GLOBAL;
       i++) {
    const float *x = hone_tensor_data(got[i]), *y = hone_tensor_data(want[i]);
    for (int64_t k = 0; k < hone_tensor_count(got[i]); k++)
      if (!(fabsf(x[k] - y[k]) <= 1e-5f * (1 + fabsf(y[k]))))
        fail_msg("%s: [%lld] is %g, not %g", kernel->name, (long long)k, (double)x[k],
                 (double)y[k]);
    hone_tensor_release(got[i]);
    hone_tensor_release(want[i]);
  }
}

/* oneDNN is missing here, by set_up. Weights stay as they lie: functions do not lay out. */
static void compiled_kernels_are_right(void** state) {
  for (int i = 0; i < KERNELS; i++)
    for (int t = 0; t < HONE_VENDOR_COUNT; t++) {
      built_t b = make(tactics[t], &kernels[i]);
      const hone_candidate_t first = hone_space_at(b.space, 0);
      hone_kernel_t* kernel = schedule(&b, &first);
      compare_runs(kernel, b.plain);
      hone_kernel_destroy(kernel);
      drop(&b);
    }
}

/* ---- what is opened ---- */

/* Each matrix as it is and turned, with room behind its rows. */
static void check_sgemm(hone_sgemm_fn sgemm, int a_turned, int b_turned) {
  enum { M = 7, N = 19, K = 33, STRIDE = 40 };
  static float a[STRIDE * STRIDE], b[STRIDE * STRIDE], c[M * STRIDE];
  for (int i = 0; i < STRIDE * STRIDE; i++) {
    a[i] = (float)(hone_random_u32(1, (uint64_t)i) % 201) / 100 - 1;
    b[i] = (float)(hone_random_u32(2, (uint64_t)i) % 201) / 100 - 1;
  }
  for (int i = 0; i < M * STRIDE; i++) c[i] = 3;
  assert_int_equal(sgemm(M, N, K, a, STRIDE, a_turned, b, STRIDE, b_turned, c, STRIDE), 0);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < STRIDE; j++) {
      double want = 3;
      for (int k = 0; k < K && j < N; k++)
        want += (double)a[a_turned ? k * STRIDE + i : i * STRIDE + k] *
                (double)b[b_turned ? j * STRIDE + k : k * STRIDE + j];
      assert_true(fabs(c[i * STRIDE + j] - want) < 1e-4);
    }
}

static void libraries_multiply(void** state) {
  for (int id = 0; id < HONE_VENDOR_COUNT; id++) {
    char why[512] = "";
    hone_sgemm_fn sgemm = hone_vendor_open((hone_vendor_id_t)id, NULL, why, sizeof why);
    if (!sgemm) {
      print_message("%s is not tested: %s\n", names[id], why);
      assert_non_null(strstr(why, "install the package"));
      continue;
    }
    for (int turned = 0; turned < 4; turned++) check_sgemm(sgemm, turned & 1, turned >> 1);
  }
}

static void missing_libraries_make_no_candidates(void** state) {
  const char* why = "";
  assert_null(hone_vendor_sgemm(HONE_VENDOR_ONEDNN, &why));
  assert_non_null(strstr(why, "/nowhere/libdnnl.so cannot be opened"));
  assert_non_null(strstr(why, "libdnnl2"));
  built_t b = make(&hone_tactic_onednn, &kernels[0]);
  for (uint64_t i = 0; i < hone_space_size(b.space); i++) {
    const hone_candidate_t candidate = hone_space_at(b.space, i);
    assert_false(hone_space_is_valid(b.space, &candidate));
  }
  drop(&b);
}

/* A library with these functions. */
static const char* fake(const test_folder_t* folder, const char* name, const char* text) {
  hone_target_t target;
  hone_compiler_t compiler;
  hone_arena_t* arena;
  char *bytes, source[1024];
  size_t size;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_target_parse(NULL, &target));
  assert_ok(hone_compiler_find(arena, &target, &compiler));
  const hone_build_options_t options = {.target = &target, .compiler = &compiler};
  snprintf(source, sizeof source, "#pragma GCC visibility push(default)\n%s", text);
  const hone_unit_t unit = {name, NULL, source};
  assert_ok(hone_toolchain_build(NULL, &options, 1, &unit, &bytes, &size, NULL));
  const char* path = test_folder_file(folder, name);
  assert_ok(hone_file_write(path, bytes, size));
  hone_free(NULL, bytes, size);
  hone_arena_destroy(arena);
  return path;
}

static void assert_refused(hone_vendor_id_t id, const char* path, const char* words) {
  char why[512] = "";
  assert_null(hone_vendor_open(id, path, why, sizeof why));
  if (!strstr(why, words)) fail_msg("'%s' does not say '%s'", why, words);
}

#define ONEDNN(major, runtime)                                                            \
  "struct v { int n[3]; const char* h; unsigned r; }; static const struct v v = {{" major \
  ", 1, 2}, \"\", " runtime                                                               \
  "};\nconst struct v* dnnl_version(void) { return &v; }\n"                               \
  "int dnnl_sgemm(void) { return 0; }\n"
#define OPENBLAS(config, kind)                                                          \
  "void cblas_sgemm(void) {}\nconst char* openblas_get_config(void) { return \"" config \
  "\"; }\nint openblas_get_parallel(void) { return " kind                               \
  "; }\nvoid openblas_set_num_threads(int n) {}\n"

static void other_versions_are_refused(void** state) {
  test_folder_t folder;
  test_folder_make(&folder);
  const char* dnnl9 = fake(&folder, "dnnl9.so", ONEDNN("9", "2"));
  assert_refused(HONE_VENDOR_ONEDNN, dnnl9, "oneDNN 9.1.2, and hone knows versions 1 to 3");
  assert_refused(HONE_VENDOR_ONEDNN, fake(&folder, "tbb.so", ONEDNN("3", "4")), "how many threads");
  assert_refused(HONE_VENDOR_ONEDNN, fake(&folder, "omp.so", ONEDNN("3", "2")), "how many threads");
  assert_refused(HONE_VENDOR_OPENBLAS, dnnl9, "not OpenBLAS");
  assert_refused(HONE_VENDOR_OPENBLAS, fake(&folder, "long.so", OPENBLAS("0.3 USE64BITINT", "1")),
                 "64 bits");
  assert_refused(HONE_VENDOR_OPENBLAS, fake(&folder, "blas.so", OPENBLAS("0.3", "2")), "OpenMP");
  assert_refused(HONE_VENDOR_ONEDNN, fake(&folder, "none.so", "int one(void) { return 1; }\n"),
                 "not oneDNN");
  test_folder_remove(&folder);
}

int main(void) {
  setenv("HONE_ONEDNN_LIBRARY", "/nowhere/libdnnl.so", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_products_of_f32_are_taken),
      cmocka_unit_test(candidates_are_right),
      cmocka_unit_test(compiled_kernels_are_right),
      cmocka_unit_test(missing_libraries_make_no_candidates),
      cmocka_unit_test(libraries_multiply),
      cmocka_unit_test(other_versions_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
