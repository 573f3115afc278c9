/* The work of kernels, counted. */
#include "loop/work.h"

#include <stdio.h>
#include <string.h>

#include "base/testing/fault.h"
#include "loop/testing/kernels.h"
#include "loop/text.h"

static hone_work_amount_t work_of(const char* text, const int64_t* sizes) {
  hone_kernel_t* kernel;
  hone_work_t work;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  assert_ok(hone_kernel_work(kernel, &work));
  int64_t values[16] = {0};
  for (int i = 0; i < kernel->n_sizes; i++)
    values[hone_dim_as_symbol(kernel->sizes[i])->id] = sizes[i];
  hone_work_amount_t amount = hone_work_eval(&work, values);
  hone_kernel_destroy(kernel);
  return amount;
}

static void assert_work(const char* text, const int64_t* sizes, double arithmetic,
                        double transcendental, double read, double written) {
  hone_work_amount_t amount = work_of(text, sizes);
  assert_float_equal(amount.arithmetic, arithmetic, 0);
  assert_float_equal(amount.transcendental, transcendental, 0);
  assert_float_equal(amount.read, read, 0);
  assert_float_equal(amount.written, written, 0);
}

static void assert_work_of(const char* name, double arithmetic, double transcendental, double read,
                           double written) {
  const hone_test_kernel_t* kernel = hone_test_kernel(name);
  assert_work(kernel->text, kernel->sizes, arithmetic, transcendental, read, written);
}

static void a_multiply_add_is_two(void** state) {
  assert_work_of("matmul", 12 * 16 * (20 * 2 + 1), 0, 4 * (12 * 20 + 20 * 16), 4 * 12 * 16);
  assert_work_of("matmul_sizes", 7 * 10 * 6 * 2, 0, 4 * (7 * 6 + 10 * 6), 4 * 7 * 10);
}

/* Sums of products of bf16 or of small integers; what is added to them, and products of wider
 * numbers beside them, are of neither. */
static void narrow_products_are_counted_apart(void** state) {
  static const char* const format =
      "kernel k { input x: %s[8, 4] = 0 input y: %s[4] = 1 output out: %s[8] = 0\n"
      "for i in 8 { for k in 4 reduction { out[i] += mul(cast.%s(x[i, k]), cast.%s(y[k])) } } }";
  static const struct {
    const char *x, *y, *sum;
    double bf16, int8;
  } cases[] = {{"bf16", "bf16", "f32", 64, 0}, {"u8", "i8", "i32", 0, 64},
               {"i16", "i16", "i32", 0, 64},   {"bf16", "f32", "f32", 0, 0},
               {"u8", "i32", "i32", 0, 0},     {"bf16", "i8", "f32", 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    snprintf(text, sizeof text, format, cases[i].x, cases[i].y, cases[i].sum, cases[i].sum,
             cases[i].sum);
    hone_work_amount_t amount = work_of(text, NULL);
    assert_float_equal(amount.arithmetic, 64, 0);
    assert_float_equal(amount.bf16, cases[i].bf16, 0);
    assert_float_equal(amount.int8, cases[i].int8, 0);
  }
}

/* Padding is a matter of indices, and windows read an element more than once. */
static void windows_are_touched_once(void** state) {
  double outs = 8 * 9 * 10, sums = 4 * 3 * 3;
  assert_work_of("conv", outs * (sums * 2 + 1), 0, 4 * (4 * 9 * 10 + 8 * sums), 4 * outs);
}

static void transcendental_is_counted_apart(void** state) {
  double n = 5 * 24;
  assert_work_of("softmax", n * (1 + 2 + 2), 2 * n, 4 * n, 4 * n);
  assert_work_of("two_nests", 16 * 12, 16 * 12, 4 * (16 * 12 + 16 * 12 + 16), 4 * (16 * 12 + 16));
}

static void sizes_stay_sizes(void** state) {
  const char* text = hone_test_kernel("sum_all")->text;
  for (int64_t n = 0; n < 1000; n += 111)
    assert_work(text, (int64_t[]){n}, (double)n * 8, 0, (double)n * 32 + 4, 4);
}

/* The last element of each row: no more than is asked for. */
static void parts_of_buffers_count_as_parts(void** state) {
  assert_work(
      "kernel k { input x: f16[100, 50] = 0 output out: f16[100] = 0\n"
      "for i in 100 { out[i] = neg(x[i, 49]) } }",
      NULL, 100, 0, 200, 200);
}

static void lookups_read_what_they_look_up(void** state) {
  const char* text =
      "kernel k { size n 1..64 input x: f32[30000, 16] = 0 input at: i64[n] = 1\n"
      "output out: f32[n, 16] = 0\n"
      "for i in n { let q in 0..29999 = at[i]\n"
      "for j in 16 { out[i, j] = x[q, j] } } }";
  assert_work(text, (int64_t[]){5}, 0, 0, 5 * 16 * 4 + 5 * 8, 5 * 16 * 4);
}

static const char triangle[] =
    "kernel k { size n 1..64 input x: f32[n, n] = 0 output out: f32[n] = 0\n"
    "for i in n { out[i] = f32(0)\n"
    "for j in i + 1 reduction { out[i] += x[i, j] } } }";

static void triangles_are_exact(void** state) {
  for (int64_t n = 1; n < 64; n += 9) {
    double sum = (double)n * (double)(n + 1) / 2;
    assert_work(triangle, (int64_t[]){n}, sum, 0, 4 * sum + 4 * (double)n, 4 * (double)n);
  }
}

/* Weights are not read where there is nothing to multiply them with. */
static void loops_without_rounds_do_nothing(void** state) {
  const char* text =
      "kernel k { size n 0..64 input x: f32[n, 8] = 0 input w: f32[8] = 1 output out: f32[n] = 0\n"
      "for i in n { out[i] = f32(0)\n"
      "for j in 8 reduction { out[i] += mul(x[i, j], w[j]) } } }";
  assert_work(text, (int64_t[]){0}, 0, 0, 0, 0);
  assert_work(text, (int64_t[]){2}, 32, 0, 4 * (16 + 8 + 2), 8);
}

/* Beyond 2^63 nothing is claimed of operations; bytes are those of the buffers. */
static void huge_counts_are_not_known(void** state) {
  const char* text =
      "kernel k { input x: f32[8] = 0 output out: f32[] = 0 out[] = f32(0)\n"
      "for a in 4000000000 reduction { for b in 4000000000 reduction {\n"
      "out[] += mul(x[min(a, 7)], x[min(b, 7)]) } } }";
  assert_work(text, NULL, 0, 0, 32 + 4, 4);
}

static void counting_leaves_kernels_alone(void** state) {
  for (int i = 0; i < hone_test_kernel_count; i++) {
    hone_kernel_t* kernel = hone_test_kernel_make(&hone_test_kernels[i]);
    hone_str_t before, after;
    hone_work_t work;
    hone_str_init(&before, NULL);
    hone_str_init(&after, NULL);
    assert_ok(hone_kernel_print(kernel, &before));
    assert_ok(hone_kernel_work(kernel, &work));
    assert_ok(hone_kernel_print(kernel, &after));
    assert_string_equal(hone_str_text(&before), hone_str_text(&after));
    hone_str_free(&before);
    hone_str_free(&after);
    hone_kernel_destroy(kernel);
  }
}

/* Of six terms and a store, those in loops over lanes cost a vector what others cost each element.
 */
static void singles_are_what_no_vector_does(void** state) {
  (void)state;
  static const char format[] =
      "kernel k {\n"
      "  input a: f32[6, 16] = 0\n"
      "  output b: f32[6, 16] = 0\n"
      "  for i in 6 parallel {\n"
      "    for j in 16%s {\n"
      "      b[i, j] = add(mul(a[i, j], a[i, j]), neg(abs(a[i, j])))\n"
      "    }\n"
      "  }\n"
      "}\n";
  for (int has_lanes = 0; has_lanes < 2; has_lanes++) {
    char text[512];
    hone_kernel_t* kernel;
    hone_work_t work = {0};
    snprintf(text, sizeof text, format, has_lanes ? " vector" : "");
    assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
    assert_ok(hone_kernel_count_singles(kernel, &work));
    assert_true(hone_dim_is_int(work.single));
    assert_int_equal(work.single.k, has_lanes ? 0 : 6 * 16 * (4 + 1 + 1));
    hone_kernel_destroy(kernel);
  }
}

/* Of ten steps down a tree a usual round takes eight, each of a load and a cast. */
static void walks_end_early(void** state) {
  (void)state;
  enum { ROUNDS = 4, STEPS = 10, USUAL = 8, BYTES = 4 };
  char text[2048];
  int n = snprintf(text, sizeof text,
                   "kernel k {\n  input at: i32[4] = 0\n  input next: i32[900] = 1\n"
                   "  output out: i32[4] = 0\n  for r in 4 {\n    let x0 in 0..899 = "
                   "cast.i64(at[r])\n");
  for (int i = 0; i < STEPS; i++)
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "    let x%d in 0..899 = cast.i64(next[x%d])\n", i + 1, i);
  snprintf(text + n, sizeof text - (size_t)n, "    out[r] = at[r]\n  }\n}\n");
  hone_kernel_t* kernel;
  hone_work_t work;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  assert_ok(hone_kernel_work(kernel, &work));
  assert_ok(hone_kernel_count_singles(kernel, &work));
  assert_int_equal(work.read.k, ROUNDS * (1 + USUAL) * BYTES);
  assert_int_equal(work.single.k, ROUNDS * (2 * (1 + USUAL) + 2));
  hone_kernel_destroy(kernel);
}

static hone_status_t count(const hone_allocator_t* allocator, void* context) {
  const char* text = context;
  hone_kernel_t* kernel;
  hone_work_t work;
  HONE_TRY(hone_kernel_parse(allocator, text, strlen(text), &kernel));
  hone_status_t status = hone_kernel_work(kernel, &work);
  if (!status) status = hone_kernel_count_singles(kernel, &work);
  hone_kernel_destroy(kernel);
  return status;
}

static void memory_may_run_out(void** state) {
  assert_survives_faults(count, (void*)(uintptr_t)hone_test_kernel("matmul_sizes")->text);
  assert_survives_faults(count, (void*)(uintptr_t)triangle);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_multiply_add_is_two),
      cmocka_unit_test(narrow_products_are_counted_apart),
      cmocka_unit_test(windows_are_touched_once),
      cmocka_unit_test(transcendental_is_counted_apart),
      cmocka_unit_test(sizes_stay_sizes),
      cmocka_unit_test(parts_of_buffers_count_as_parts),
      cmocka_unit_test(lookups_read_what_they_look_up),
      cmocka_unit_test(triangles_are_exact),
      cmocka_unit_test(loops_without_rounds_do_nothing),
      cmocka_unit_test(huge_counts_are_not_known),
      cmocka_unit_test(singles_are_what_no_vector_does),
      cmocka_unit_test(counting_leaves_kernels_alone),
      cmocka_unit_test(walks_end_early),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
