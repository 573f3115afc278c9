/* What is measured for limits: kernels that are what they claim to be, and sums of what was found.
 */
#include "runtime/limits.h"

#include <string.h>

#include "base/str.h"
#include "base/testing/fault.h"
#include "loop/text.h"
#include "runtime/limits_kernels.h"

typedef struct machine {
  const char* name;
  hone_device_properties_t properties;
  int products;     /* beside those of f32 */
  const char* text; /* a part of one of them */
} machine_t;

static const machine_t machines[] = {
    {"scalars", {0}, 0, "f32[12, 2, 4]"},
    {"AVX2",
     {.vector_bytes = 32, .vector_registers = 16, .has_dot4 = true, .has_dot8 = true},
     2,
     "for l in 8 as dot8_u8_i8_x8"},
    {"VNNI and BF16",
     {.vector_bytes = 64, .vector_registers = 32, .has_dot4 = true, .has_dot2_bf16 = true},
     2,
     "for l in 16 as dot2_bf16_bf16_x16"},
    {"tiles",
     {.vector_bytes = 64,
      .vector_registers = 32,
      .has_dot4 = true,
      .has_dot2_bf16 = true,
      .has_block_int8 = true,
      .has_block_bf16 = true},
     2,
     "for s in 16 reduction as block4_u8_i8_x16"},
    {"aarch64 with i8mm",
     {.vector_bytes = 16,
      .vector_registers = 32,
      .has_dot4 = true,
      .has_block_int8 = true,
      .has_block_bf16 = true},
     2,
     "for s in 2 reduction as block4_u8_i8_x4"},
};

/* Operations of a round, which has to be what the kernel's work says. */
static double operations(const hone_limit_product_t* x) {
  return 2.0 * x->rows * x->vectors * x->lanes * x->halves * x->group * HONE_LIMIT_DEPTH;
}

static hone_work_amount_t work_of(hone_kernel_t* kernel) {
  hone_work_t work;
  int64_t symbols[16] = {0};
  assert_ok(hone_kernel_work(kernel, &work));
  for (int i = 0; i < kernel->n_sizes; i++) symbols[hone_dim_as_symbol(kernel->sizes[i])->id] = 1;
  return hone_work_eval(&work, symbols);
}

/* A parsed kernel is a verified one: its loops are what its intrinsic computes. */
static void check_product(const hone_limit_product_t* product, const char* part, bool* has_part) {
  hone_str_t text;
  hone_kernel_t* kernel;
  hone_str_init(&text, NULL);
  hone_limit_put_product(product, &text);
  assert_false(text.failed);
  assert_ok(hone_kernel_parse(NULL, text.data, text.size, &kernel));
  *has_part |= strstr(text.data, part) != NULL;
  hone_str_free(&text);
  hone_work_amount_t work = work_of(kernel);
  assert_float_equal(work.arithmetic, operations(product), 0);
  assert_float_equal(work.bf16, product->peak == HONE_PEAK_BF16 ? work.arithmetic : 0, 0);
  assert_float_equal(work.int8, product->peak == HONE_PEAK_INT8 ? work.arithmetic : 0, 0);
  hone_kernel_destroy(kernel);
}

static void products_are_by_the_machines_instructions(void** state) {
  for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
    hone_limit_product_t products[HONE_LIMIT_PRODUCTS];
    int n = hone_limit_products(&machines[m].properties, products), floats = 0;
    bool has_text = false;
    for (int i = 0; i < n; i++) {
      check_product(&products[i], machines[m].text, &has_text);
      floats += products[i].peak == HONE_PEAK_F32;
    }
    if (n - floats != machines[m].products || !has_text)
      fail_msg("%s: %d products", machines[m].name, n - floats);
    assert_true(floats > 0);
  }
}

static void reading_is_all_that_the_other_kernel_does(void** state) {
  hone_str_t text;
  hone_kernel_t* kernel;
  hone_str_init(&text, NULL);
  hone_limit_put_read(8, &text);
  assert_ok(hone_kernel_parse(NULL, text.data, text.size, &kernel));
  hone_str_free(&text);
  hone_work_amount_t work = work_of(kernel);
  assert_float_equal(work.read, HONE_LIMIT_UNITS * 8 * 4, 0);
  hone_kernel_destroy(kernel);
}

static void each_type_has_its_peak(void** state) {
  const hone_limits_t limits = {.gflops = {100, 200, 400}};
  const hone_work_amount_t work = {
      .arithmetic = 7e9, .bf16 = 2e9, .int8 = 4e9, .transcendental = 1e9};
  double floats = 1e9 + HONE_TRANSCENDENTAL_COST * 1e9;
  assert_float_equal(hone_limits_compute_seconds(&limits, &work), floats / 100e9 + 0.01 + 0.01,
                     1e-9);
  const hone_limits_t unknown = {0};
  assert_float_equal(hone_limits_compute_seconds(&unknown, &work), 0, 0);
}

static void bytes_go_by_the_size_of_the_set(void** state) {
  const hone_limits_t limits = {.levels = {{1e6, 100}, {0, 0}, {0, 10}}};
  const hone_work_amount_t small = {.read = 6e5, .written = 4e5}, large = {.read = 2e6};
  assert_float_equal(hone_limits_memory_seconds(&limits, &small), 1e-5, 1e-12);
  assert_float_equal(hone_limits_memory_seconds(&limits, &large), 2e-4, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_by_the_machines_instructions),
      cmocka_unit_test(reading_is_all_that_the_other_kernel_does),
      cmocka_unit_test(each_type_has_its_peak),
      cmocka_unit_test(bytes_go_by_the_size_of_the_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
