/* Products by weights that are mostly zero: the table that packing makes of them and the function
 * of the prelude that reads it, against a plain product; and the tactic, with all candidates. */
#include "loop/sparse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/render.h"
#include "base/float_convert.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/testing/fault.h"
#include "codegen/testing/test_library.h"
#include "codegen/toolchain.h"
#include "hone/function.h"
#include "hone/schedule.h"
#include "loop/product.h"
#include "loop/testing/kernels.h"
#include "loop/text.h"
#include "loop/verify.h"
#include "runtime/kernel_source.h"
#include "runtime/packing.h"
#include "tune/space.h"
#include "tune/tactic.h"

extern const hone_tactic_t hone_tactic_sparse;

/* ---- the function ---- */

typedef void (*sparse_fn)(long rows, long columns, long sums, const uint8_t* a, long a_stride,
                          uint8_t* turned, const uint8_t** turned_of, const int8_t* b, long first,
                          int32_t* c, long c_stride);

typedef struct function {
  hone_library_t* library;
  sparse_fn call; /* NULL: this machine has no AVX2 */
} function_t;

static function_t make_function(void) {
  static const char text[] = HONE_KERNEL_EXPORT
      " void sparse(long rows, long columns, long sums, const hone_u8* a, long a_stride, hone_u8* "
      "t,"
      " const hone_u8** of, const hone_i8* b, long first, hone_i32* c, long c_stride) {\n"
      "  hone_sparse_u8_i8(rows, columns, sums, a, a_stride, t, of, b, first, c, c_stride);\n}\n";
  hone_target_t target;
  function_t f = {0};
  void* symbol;
  assert_ok(hone_target_parse(NULL, &target));
  if (!hone_target_has(&target, "sparse_u8_i8")) return f;
  f.library = test_library_build(&target, target.vector_bytes / 4, text);
  assert_ok(hone_library_symbol(f.library, "sparse", &symbol));
  memcpy(&f.call, &symbol, sizeof f.call);
  return f;
}

/* How a case is filled. */
typedef enum numbers {
  NUMBERS_FEW,   /* one in twenty, of any size */
  NUMBERS_LARGE, /* 127 and -128, half of them, in pairs of one sign, by data of 255 */
  NUMBERS_NONE,
  NUMBERS_KINDS
} numbers_t;

typedef struct shape {
  int64_t rows, sums, columns;
  bool is_turned; /* weights are [columns, sums, 1], else [sums, columns] */
  numbers_t numbers;
  uint64_t seed;
} shape_t;

static int8_t number_at(const shape_t* s, int64_t sum, int64_t column) {
  uint32_t random = hone_random_u32(s->seed, (uint64_t)(sum * s->columns + column));
  if (s->numbers == NUMBERS_NONE) return 0;
  if (s->numbers == NUMBERS_FEW) return random % 20 ? 0 : (int8_t)(random >> 8);
  random = hone_random_u32(s->seed, (uint64_t)(sum / 2 * s->columns + column)); /* as its partner */
  return random & 1 ? 0 : random & 2 ? 127 : -128;
}

static hone_tensor_t* make_weights(const shape_t* s) {
  int64_t dims[] = {s->is_turned ? s->columns : s->sums, s->is_turned ? s->sums : s->columns, 1};
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_I8, s->is_turned ? 3 : 2, dims, &tensor));
  int8_t* to = hone_tensor_data(tensor);
  for (int64_t k = 0; k < s->sums; k++)
    for (int64_t n = 0; n < s->columns; n++)
      to[s->is_turned ? n * s->sums + k : k * s->columns + n] = number_at(s, k, n);
  return tensor;
}

static hone_status_t make_table(const shape_t* s, const hone_allocator_t* allocator,
                                hone_tensor_t* weights, hone_tensor_t** out) {
  hone_packing_axis_t axes[] = {{0, 1}, {1, 1}, {2, 1}};
  hone_dim_t extents[3];
  int64_t dims[3];
  int rank = hone_tensor_rank(weights);
  for (int i = 0; i < rank; i++) extents[i] = hone_dim_int(dims[i] = hone_tensor_dims(weights)[i]);
  const hone_packing_t packing = {.rank = rank,
                                  .dims = dims,
                                  .axes = axes,
                                  .is_sparse = true,
                                  .sums = s->is_turned,
                                  .columns = !s->is_turned};
  const hone_buffer_t buffer = {
      .name = "w", .dtype = HONE_I8, .rank = rank, .dims = extents, .packing = &packing};
  return hone_packing_apply(&buffer, weights, allocator, out);
}

static uint8_t data_at(const shape_t* s, int64_t row, int64_t sum) {
  if (s->numbers == NUMBERS_LARGE) return 255;
  return (uint8_t)hone_random_u32(s->seed + 1, (uint64_t)(row * s->sums + sum));
}

/* a[row] times the column of the weights. */
static int32_t expected(const shape_t* s, const uint8_t* row, const int8_t* weights,
                        int64_t column) {
  int64_t step = s->is_turned ? 1 : s->columns;
  int32_t sum = 0;
  weights += s->is_turned ? column * s->sums : column;
  for (int64_t k = 0; k < s->sums; k++) sum += row[k] * weights[k * step];
  return sum;
}

/* Blocks of 32 rows by `block` columns, of matrices with room behind their rows. */
static void check_shape(const function_t* f, const shape_t* s, int64_t block) {
  enum { ROOM = 3, BEFORE = 7 };
  hone_tensor_t *weights = make_weights(s), *table;
  int64_t a_stride = s->sums + ROOM, c_stride = s->columns + ROOM;
  uint8_t* a = calloc((size_t)(s->rows * a_stride), 1);
  uint8_t* turned = malloc((size_t)(HONE_SPARSE_ROWS * s->sums));
  int32_t* c = malloc((size_t)(s->rows * c_stride) * sizeof *c);
  const uint8_t* turned_of = NULL;
  assert_ok(make_table(s, NULL, weights, &table));
  for (int64_t i = 0; i < s->rows * c_stride; i++) c[i] = BEFORE;
  for (int64_t i = 0; i < s->rows; i++)
    for (int64_t k = 0; k < s->sums; k++) a[i * a_stride + k] = data_at(s, i, k);
  for (int64_t i = 0; i < s->rows; i += HONE_SPARSE_ROWS)
    for (int64_t n = 0; n < s->columns; n += block) {
      long rows = s->rows - i < HONE_SPARSE_ROWS ? s->rows - i : HONE_SPARSE_ROWS;
      long columns = s->columns - n < block ? s->columns - n : block;
      f->call(rows, columns, s->sums, a + i * a_stride, a_stride, turned, &turned_of,
              hone_tensor_data(table), n, c + i * c_stride + n, c_stride);
    }
  for (int64_t i = 0; i < s->rows; i++)
    for (int64_t n = 0; n < c_stride; n++) {
      const int8_t* numbers = hone_tensor_data(weights);
      int32_t want = BEFORE + (n < s->columns ? expected(s, a + i * a_stride, numbers, n) : 0);
      if (c[i * c_stride + n] != want)
        fail_msg("%d x %d x %d, numbers %d: [%d, %d] is %d, not %d", (int)s->rows, (int)s->sums,
                 (int)s->columns, (int)s->numbers, (int)i, (int)n, c[i * c_stride + n], want);
    }
  free(c);
  free(turned);
  free(a);
  hone_tensor_release(table);
  hone_tensor_release(weights);
}

static void products_are_exact(void** state) {
  enum { CASES = 80 };
  static const shape_t some[] = {
      {1, 1, 1}, {130, 500, 49}, {32, 15, 16}, {33, 16, 17}, {17, 17, 64}};
  function_t f = make_function();
  (void)state;
  if (!f.call) print_message("the function is not tried: this machine has no AVX2\n");
  for (uint64_t i = 0; f.call && i < CASES; i++) {
    shape_t s = {1 + hone_random_u32(1, i) % 130, 1 + hone_random_u32(2, i) % 500,
                 1 + hone_random_u32(3, i) % 70};
    if (i < TEST_COUNT(some)) s = some[i];
    s.seed = 100 + i;
    s.is_turned = i % 2;
    for (s.numbers = 0; s.numbers < NUMBERS_KINDS; s.numbers++)
      check_shape(&f, &s, i % 3 ? 16 * (1 + (int64_t)i % 4) : s.columns);
  }
  hone_library_close(f.library);
}

static hone_status_t make_and_drop(const hone_allocator_t* allocator, void* context) {
  const shape_t s = {1, 64, 40, false, NUMBERS_FEW, 1};
  hone_tensor_t* table;
  HONE_TRY(make_table(&s, allocator, context, &table));
  hone_tensor_release(table);
  return NULL;
}

static void memory_may_run_out(void** state) {
  const shape_t s = {1, 64, 40, false, NUMBERS_FEW, 1};
  hone_tensor_t* weights = make_weights(&s);
  (void)state;
  assert_true(assert_survives_faults(make_and_drop, weights) > 3);
  hone_tensor_release(weights);
}

/* ---- which weights are sparse ---- */

static const void* contents(void* self, const hone_buffer_t* buffer) { return self; }

static void one_number_in_ten_is_not_zero(void** state) {
  static const char text[] =
      "kernel sums {\n  input a: u8[16, 32] = 0\n  input b: i8[32, 32] = 1 constant\n"
      "  output out: i32[16, 32] = 0\n  for i in 16 { for j in 32 { out[i, j] = i32(0) } }\n}\n";
  int8_t numbers[32 * 32] = {0};
  hone_kernel_t* kernel;
  (void)state;
  assert_ok(hone_kernel_parse(NULL, text, sizeof text - 1, &kernel));
  for (int count = 0; count < 110; count++) {
    hone_sparse_mark(kernel, contents, numbers);
    assert_int_equal(kernel->buffers[1]->is_sparse, count <= 102);
    assert_false(kernel->buffers[0]->is_sparse);
    numbers[(count * 37) % 1024] = -1;
  }
  hone_kernel_destroy(kernel);
}

/* ---- the tactic ---- */

#define PRODUCT(name, data, weights, output, rows, sums, value, end)                    \
  {                                                                                     \
    name,                                                                               \
        "kernel " name " {\n  input a: u8[" data "] = 0\n  input b: i8[" weights        \
        "] = 1 constant sparse\n  input c: i32[64] = 2\n  output out: i32[" output      \
        "] = 0\n  local acc: i32[]\n" rows "      acc[] = i32(0)\n      for k in " sums \
        " reduction { acc[] += mul(cast.i32(a[" value ")) }\n      out[" end "\n",      \
    {                                                                                   \
      0                                                                                 \
    }                                                                                   \
  }

static const hone_test_kernel_t kernels[] = {
    PRODUCT("weights", "64, 40", "40, 64", "64, 64", "  for i in 64 { for j in 64 {\n", "40",
            "i, k]), cast.i32(b[k, j]", "i, j] = max(add(acc[], c[j]), i32(0))\n  } }\n}"),
    PRODUCT("turned", "49, 40", "48, 40", "49, 48", "  for i in 49 { for j in 48 {\n", "40",
            "i, k]), cast.i32(b[j, k]", "i, j] = acc[]\n  } }\n}"),
    PRODUCT("pixels", "2, 5, 7, 24", "33, 24, 1, 1", "2, 5, 7, 33",
            "  for n in 2 { for y in 5 { for x in 7 { for o in 33 {\n", "24",
            "n, y, x, k]), cast.i32(b[o, k, 0, 0]", "n, y, x, o] = acc[]\n  } } } }\n}"),
    PRODUCT("few", "16, 128", "128, 20", "16, 20", "  for i in 16 { for j in 20 {\n", "128",
            "i, k]), cast.i32(b[k, j]", "i, j] = acc[]\n  } }\n}"),
    PRODUCT("odd", "64, 41", "41, 64", "64, 64", "  for i in 64 { for j in 64 {\n", "41",
            "i, k]), cast.i32(b[k, j]", "i, j] = acc[]\n  } }\n}"),
};

static const hone_test_kernel_t others[] = {
    PRODUCT("few_rows", "5, 40", "40, 64", "5, 64", "  for i in 5 { for j in 64 {\n", "40",
            "i, k]), cast.i32(b[k, j]", "i, j] = acc[]\n  } }\n}"),
    PRODUCT("columns_of_data", "40, 64", "40, 64", "64, 64", "  for i in 64 { for j in 64 {\n",
            "40", "k, i]), cast.i32(b[k, j]", "i, j] = acc[]\n  } }\n}"),
    PRODUCT("batches", "3, 64, 40", "3, 40, 64", "3, 64, 64",
            "  for n in 3 { for i in 64 { for j in 64 {\n", "40", "n, i, k]), cast.i32(b[n, k, j]",
            "n, i, j] = acc[]\n  } } }\n}"),
};

static hone_device_properties_t machine(bool has_sparse_int8) {
  return (hone_device_properties_t){.struct_size = sizeof(hone_device_properties_t),
                                    .compute_units = 2,
                                    .vector_bytes = 32,
                                    .vector_registers = 16,
                                    .has_sparse_int8 = has_sparse_int8};
}

static bool is_supported(const hone_test_kernel_t* test, bool has_sparse_int8, bool is_sparse) {
  const hone_device_properties_t properties = machine(has_sparse_int8);
  char why[HONE_DEVICE_TEXT_SIZE] = "";
  hone_kernel_t* kernel = hone_test_kernel_make(test);
  for (int i = 0; i < kernel->n_buffers; i++) kernel->buffers[i]->is_sparse &= is_sparse;
  bool supports = hone_tactic_sparse.supports(kernel, &properties, why);
  assert_true(supports || strlen(why) > 0);
  hone_kernel_destroy(kernel);
  return supports;
}

static void only_sparse_products_are_taken(void** state) {
  (void)state;
  for (size_t i = 0; i < TEST_COUNT(kernels); i++) {
    assert_true(is_supported(&kernels[i], true, true));
    assert_false(is_supported(&kernels[i], false, true));
    assert_false(is_supported(&kernels[i], true, false));
  }
  for (size_t i = 0; i < TEST_COUNT(others); i++)
    assert_false(is_supported(&others[i], true, true));
  assert_false(is_supported(hone_test_kernel("matmul_bytes"), true, true));
}

typedef struct built {
  hone_kernel_t* plain; /* as it was lowered */
  hone_arena_t* arena;
  hone_space_t* space;
} built_t;

static built_t make(const hone_test_kernel_t* test) {
  const hone_device_properties_t properties = machine(true);
  built_t b = {.plain = hone_test_kernel_make(test)};
  const void* facts;
  assert_ok(hone_arena_create(NULL, &b.arena));
  assert_ok(hone_space_create(NULL, &b.space));
  assert_ok(hone_tactic_sparse.space(b.plain, &properties, b.arena, b.space, &facts));
  for (uint64_t i = 0; i < hone_space_size(b.space); i++) {
    hone_candidate_t candidate = hone_space_at(b.space, i);
    double cost = hone_tactic_sparse.cost(facts, &properties, b.space, &candidate);
    assert_true(cost > 0 && cost < 1);
  }
  return b;
}

static void drop(built_t* b) {
  hone_space_destroy(b->space);
  hone_arena_destroy(b->arena);
  hone_kernel_destroy(b->plain);
}

/* The candidate's kernel, with a call in it. */
static hone_kernel_t* schedule(const built_t* b, uint64_t index) {
  const hone_device_properties_t properties = machine(true);
  const hone_candidate_t candidate = hone_space_at(b->space, index);
  hone_kernel_t* kernel;
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_kernel_clone(b->plain, &kernel));
  assert_ok(hone_tactic_sparse.build(kernel, &properties, b->space, &candidate));
  assert_ok(hone_kernel_verify(kernel));
  assert_ok(hone_kernel_print(kernel, &text));
  if (!strstr(hone_str_text(&text), " as sparse_u8_i8") ||
      !strstr(hone_str_text(&text), " sparse from ["))
    fail_msg("no call in\n%s", hone_str_text(&text));
  hone_str_free(&text);
  return kernel;
}

static void candidates_are_right(void** state) {
  (void)state;
  for (size_t i = 0; i < TEST_COUNT(kernels); i++) {
    built_t b = make(&kernels[i]);
    hone_test_result_t want, got;
    assert_ok(hone_test_kernel_run(b.plain, kernels[i].sizes, 1, &want));
    for (uint64_t c = 0; c < hone_space_size(b.space); c++) {
      hone_kernel_t* kernel = schedule(&b, c);
      assert_ok(hone_test_kernel_run(kernel, kernels[i].sizes, 1, &got));
      if (!hone_test_result_agrees(&want, &got)) fail_msg("%s: other results", kernels[i].name);
      hone_test_result_free(&got);
      hone_kernel_destroy(kernel);
    }
    hone_test_result_free(&want);
    drop(&b);
  }
}

/* ---- compiled ---- */

enum { MOST = 4 };

static int make_tensors(const hone_kernel_t* kernel, hone_tensor_t** out) {
  int n = 0;
  for (; n < kernel->n_buffers && kernel->buffers[n]->space == HONE_SPACE_GLOBAL; n++) {
    const hone_buffer_t* buffer = kernel->buffers[n];
    int64_t dims[HONE_MAX_RANK];
    for (int i = 0; i < buffer->rank; i++) dims[i] = buffer->dims[i].k;
    assert_ok(hone_tensor_create(NULL, buffer->dtype, buffer->rank, dims, &out[n]));
    for (int64_t i = 0; i < hone_tensor_count(out[n]); i++) {
      uint32_t random = hone_random_u32((uint64_t)n, (uint64_t)i);
      int64_t value = buffer->dtype != HONE_I8 || random % 20 == 0 ? random / 20 % 256 : 0;
      hone_store_i64(buffer->dtype, &value, 1,
                     (char*)hone_tensor_data(out[n]) + (size_t)i * hone_dtype_size(buffer->dtype));
    }
  }
  return n;
}

static int run_on(hone_kernel_t* kernel, const char* device, hone_tensor_t** tensors) {
  hone_function_t* function;
  int n = make_tensors(kernel, tensors);
  assert_ok(hone_function_build(NULL, kernel, device, &function));
  assert_ok(hone_function_run(function, 0, NULL, n, tensors));
  hone_function_destroy(function);
  return n;
}

/* The tensors of weights are dense; functions make a table of them where one is wanted. */
static void compiled_kernels_are_right(void** state) {
  hone_target_t target;
  (void)state;
  assert_ok(hone_target_parse(NULL, &target));
  const char* device = hone_target_has(&target, "sparse_u8_i8") ? "cpu" : "ref";
  if (*device == 'r') print_message("calls are not tried: this machine has no AVX2\n");
  for (size_t i = 0; i < TEST_COUNT(kernels); i++) {
    built_t b = make(&kernels[i]);
    hone_kernel_t* kernel = schedule(&b, 0);
    hone_tensor_t *got[MOST], *interpreted[MOST], *want[MOST];
    int n = run_on(kernel, device, got);
    run_on(kernel, "ref", interpreted);
    run_on(b.plain, "ref", want);
    size_t bytes = hone_tensor_bytes(want[n - 1]);
    assert_memory_equal(hone_tensor_data(got[n - 1]), hone_tensor_data(want[n - 1]), bytes);
    assert_memory_equal(hone_tensor_data(interpreted[n - 1]), hone_tensor_data(want[n - 1]), bytes);
    for (int k = 0; k < n; k++) {
      hone_tensor_release(got[k]);
      hone_tensor_release(interpreted[k]);
      hone_tensor_release(want[k]);
    }
    /* What it turns lies on the stack, too. */
    assert_true(hone_kernel_stack_bytes(kernel) > HONE_SPARSE_ROWS * 24);
    hone_kernel_destroy(kernel);
    drop(&b);
  }
}

/* ---- what else could be made of such a kernel ---- */

static void assert_refused(hone_kernel_t* kernel, const char* target, const char* words) {
  hone_target_t to;
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_target_parse(target, &to));
  hone_status_t status = hone_cpu_render(kernel, "k", 8, &to, &text);
  assert_int_equal(hone_status_code(status), HONE_UNSUPPORTED);
  assert_non_null(strstr(hone_status_message(status), words));
  hone_status_free(status);
  hone_str_free(&text);
}

static void tables_are_for_the_call_alone(void** state) {
  built_t b = make(&kernels[0]);
  hone_kernel_t* kernel = schedule(&b, 0);
  (void)state;
  assert_refused(kernel, "x86-64-v2", "needs AVX2");
  assert_refused(kernel, "aarch64", "needs AVX2");
  assert_ok(hone_schedule_apply(kernel, "split k 2 exact"));
  assert_refused(kernel, "x86-64-v3", "elements of a sparse packing");
  hone_kernel_destroy(kernel);
  drop(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_exact),
      cmocka_unit_test(memory_may_run_out),
      cmocka_unit_test(one_number_in_ten_is_not_zero),
      cmocka_unit_test(only_sparse_products_are_taken),
      cmocka_unit_test(candidates_are_right),
      cmocka_unit_test(compiled_kernels_are_right),
      cmocka_unit_test(tables_are_for_the_call_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
