/* Tactics: any candidate computes what the kernel computes, on machines of several
 * shapes, and defaults are what the recipes do by themselves. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/schedule.h"
#include "base/memory.h"
#include "loop/testing/kernels.h"
#include "loop/text.h"
#include "loop/verify.h"
#include "tune/draw.h"
#include "tune/tactic_set.h"

enum { CANDIDATES = 24, TRIES = 400 };

extern const hone_tactic_t* const hone_tactics_common[];
extern const int hone_tactic_count_common;
extern const hone_tactic_t* const hone_tactics_grid[];
extern const int hone_tactic_count_grid;
extern const hone_tactic_t hone_tactic_contract, hone_tactic_rows;

/* Those of CPUs, then those of other devices. */
static const hone_tactic_t* tactic(const hone_device_t* device, int index) {
  if (index < hone_tactic_count_common) return hone_tactics_common[index];
  index -= hone_tactic_count_common;
  return index < hone_tactic_count_grid ? hone_tactics_grid[index] : NULL;
}

static hone_device_properties_t machine(int number) {
  static const int bytes[] = {16, 32, 64, 32}, registers[] = {32, 16, 32, 8};
  return (hone_device_properties_t){.struct_size = sizeof(hone_device_properties_t),
                                    .compute_units = 2 + number,
                                    .vector_bytes = bytes[number % 4],
                                    .vector_registers = registers[number % 4],
                                    .max_group_size = 256,
                                    .has_dot4 = number % 2 == 1,
                                    .has_dot_apart = bytes[number % 4] == 64,
                                    .has_dot2_i16 = number % 2 == 1,
                                    .has_dot_nibbles = number % 2 == 1,
                                    .has_dot8 = number % 2 == 1};
}

static hone_tactic_set_t* make_set(hone_kernel_t* kernel, int number) {
  hone_device_properties_t properties = machine(number);
  hone_tactic_set_t* set;
  assert_ok(
      hone_tactic_set_create(hone_allocator_system(), kernel, &properties, tactic, NULL, &set));
  return set;
}

static char* text_of(const hone_kernel_t* kernel) {
  hone_str_t text;
  char* data;
  size_t size;
  hone_str_init(&text, NULL);
  assert_ok(hone_kernel_print(kernel, &text));
  assert_ok(hone_str_take(&text, &data, &size));
  return data;
}

static void free_text(char* text) { hone_free(NULL, text, strlen(text) + 1); }

static void fail_candidate(const hone_tactic_set_t* set, const hone_candidate_t* candidate,
                           const hone_kernel_t* kernel, const char* what) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_candidate_print(set->space, candidate, &text);
  fail_msg("%s: %s\n%s", hone_str_text(&text), what, text_of(kernel));
}

/* Builds a candidate, runs it, and compares with the kernel as it was. */
static void check(const hone_test_kernel_t* test, const hone_tactic_set_t* set,
                  const hone_kernel_t* plain, const hone_candidate_t* candidate,
                  const hone_test_result_t* want) {
  hone_kernel_t* kernel;
  hone_test_result_t got;
  assert_ok(hone_kernel_clone(plain, &kernel));
  assert_ok(hone_tactic_set_build(set, kernel, candidate));
  hone_status_t status = hone_kernel_verify(kernel);
  if (!status) status = hone_test_kernel_run(kernel, test->sizes, 1, &got);
  if (status) fail_candidate(set, candidate, kernel, hone_status_message(status));
  if (!hone_test_result_agrees(want, &got))
    fail_candidate(set, candidate, kernel, "another result");
  double cost = hone_tactic_set_cost(set, candidate);
  if (!(cost > 0 && cost < 1e6)) fail_candidate(set, candidate, kernel, "no cost");
  hone_test_result_free(&got);
  hone_kernel_destroy(kernel);
}

static void check_kernel(const hone_test_kernel_t* test, int number) {
  hone_kernel_t* kernel = hone_test_kernel_make(test);
  hone_tactic_set_t* set = make_set(kernel, number);
  hone_test_result_t want;
  hone_draw_t draw = {.seed = (uint64_t)number};
  assert_ok(hone_test_kernel_run(kernel, test->sizes, 1, &want));
  hone_candidate_t first = hone_space_default(set->space);
  assert_true(hone_space_is_valid(set->space, &first));
  check(test, set, kernel, &first, &want);
  for (int i = 0, checked = 0; i < TRIES && checked < CANDIDATES; i++) {
    hone_candidate_t candidate =
        hone_space_at(set->space, hone_draw_below(&draw, hone_space_size(set->space)));
    hone_space_settle(set->space, &candidate);
    if (!hone_space_is_valid(set->space, &candidate)) continue;
    check(test, set, kernel, &candidate, &want);
    checked++;
  }
  hone_test_result_free(&want);
  hone_tactic_set_destroy(set);
  hone_kernel_destroy(kernel);
}

static void all_candidates_are_right(void** state) {
  for (int i = 0; i < hone_test_kernel_count; i++)
    for (int number = 0; number < 4; number++) check_kernel(&hone_test_kernels[i], number);
}

/* ---- defaults ---- */

static char* built_by(const hone_tactic_t* by, const hone_test_kernel_t* test, int number) {
  hone_device_properties_t properties = machine(number);
  hone_kernel_t* kernel = hone_test_kernel_make(test);
  hone_arena_t* arena;
  hone_space_t* space;
  const void* facts;
  char why[HONE_DEVICE_TEXT_SIZE], *text = NULL;
  if (by->supports(kernel, &properties, why)) {
    assert_ok(hone_arena_create(NULL, &arena));
    assert_ok(hone_space_create(NULL, &space));
    assert_ok(by->space(kernel, &properties, arena, space, &facts));
    hone_candidate_t first = hone_space_default(space);
    assert_ok(by->build(kernel, &properties, space, &first));
    text = text_of(kernel);
    hone_space_destroy(space);
    hone_arena_destroy(arena);
  }
  hone_kernel_destroy(kernel);
  return text;
}

static char* built_as(const hone_cpu_choice_t* choice, const hone_test_kernel_t* test, int number) {
  hone_device_properties_t properties = machine(number);
  hone_cpu_shape_t shape = hone_cpu_shape(&properties);
  hone_kernel_t* kernel = hone_test_kernel_make(test);
  assert_ok(hone_cpu_schedule(kernel, &shape, choice));
  char* text = text_of(kernel);
  hone_kernel_destroy(kernel);
  return text;
}

static int compare_defaults(const hone_tactic_t* by, const hone_cpu_choice_t* choice) {
  int supported = 0;
  for (int i = 0; i < hone_test_kernel_count; i++)
    for (int number = 0; number < 4; number++) {
      char* text = built_by(by, &hone_test_kernels[i], number);
      if (!text) continue;
      char* want = built_as(choice, &hone_test_kernels[i], number);
      assert_string_equal(text, want);
      free_text(text);
      free_text(want);
      supported++;
    }
  return supported;
}

static void defaults_are_the_recipes(void** state) {
  static const hone_cpu_choice_t by_itself = {0}, no_tile = {.no_tile = true};
  assert_true(compare_defaults(&hone_tactic_contract, &by_itself) > 0);
  assert_true(compare_defaults(&hone_tactic_rows, &no_tile) > 0);
}

/* ---- the model of cost ---- */

static const char* untuned(const char* kernel_text) {
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, kernel_text, strlen(kernel_text), &kernel));
  hone_tactic_set_t* set = make_set(kernel, 2);
  hone_candidate_t first = hone_space_default(set->space);
  const char* name = hone_tactic_set_chosen(set, &first)->name;
  hone_tactic_set_destroy(set);
  hone_kernel_destroy(kernel);
  return name;
}

static void products_are_tiled_and_maps_are_rows(void** state) {
  assert_string_equal(untuned("kernel matmul {\n"
                              "  input a: f32[256, 512] = 0\n"
                              "  input b: f32[512, 256] = 1 constant\n"
                              "  output out: f32[256, 256] = 0\n"
                              "  local acc: f32[]\n"
                              "  for i in 256 {\n"
                              "    for j in 256 {\n"
                              "      acc[] = f32(0)\n"
                              "      for k in 512 reduction {\n"
                              "        acc[] += mul(a[i, k], b[k, j])\n"
                              "      }\n"
                              "      out[i, j] = acc[]\n"
                              "    }\n"
                              "  }\n"
                              "}\n"),
                      "contract");
  assert_string_equal(untuned("kernel relu {\n"
                              "  input a: f32[4096, 64] = 0\n"
                              "  output out: f32[4096, 64] = 0\n"
                              "  for i in 4096 {\n"
                              "    for j in 64 {\n"
                              "      out[i, j] = max(a[i, j], f32(0))\n"
                              "    }\n"
                              "  }\n"
                              "}\n"),
                      "rows");
}

/* Sums of products of small numbers, in groups where the machine adds them up so. */
static void expect_groups(const char* kernel, const char* intrinsic) {
  static const hone_cpu_choice_t by_itself = {0};
  for (int number = 0; number < 4; number++) {
    char* text = built_as(&by_itself, hone_test_kernel(kernel), number);
    char line[64];
    snprintf(line, sizeof line, "as %s_x%d", intrinsic, machine(number).vector_bytes / 4);
    assert_int_equal(strstr(text, line) != NULL, machine(number).has_dot4);
    /* What blocks of lanes leave over is no exception. */
    if (machine(number).has_dot4) assert_null(strstr(text, "acc[] +="));
    free_text(text);
  }
}

static void bytes_are_multiplied_in_fours(void** state) {
  (void)state;
  expect_groups("matmul_bytes", "dot4_u8_i8");
}

static void slight_weights_are_multiplied_in_eights(void** state) {
  (void)state;
  expect_groups("matmul_slight", "dot8_u8_i8");
}

static void shorts_are_multiplied_in_twos(void** state) {
  (void)state;
  expect_groups("matmul_shorts", "dot2_i16_i16");
}

/* Fewer lanes than a vector has are part of one. */
static void few_lanes_are_multiplied_in_twos(void** state) {
  static const hone_cpu_choice_t by_itself = {0};
  (void)state;
  char* text = built_as(&by_itself, hone_test_kernel("few_shorts"), 1);
  assert_non_null(strstr(text, "as dot2_i16_i16_x8"));
  free_text(text);
}

/* Of windows a column of each lane's own bytes at once. */
static void lanes_multiply_bytes_of_their_own(void** state) {
  static const hone_cpu_choice_t by_itself = {0};
  (void)state;
  char* text = built_as(&by_itself, hone_test_kernel("depthwise_bytes"), 2);
  assert_non_null(strstr(text, " in 16 as dot3_apart_u8_i8_x16"));
  assert_non_null(strstr(text, " in 8 as dot3_apart_u8_i8_x16"));
  assert_null(strstr(text, "acc[] +="));
  free_text(text);
}

/* What whole vectors leave over is part of one too. */
static void lanes_left_over_are_multiplied_in_fours(void** state) {
  static const hone_cpu_choice_t by_itself = {0};
  (void)state;
  char* text = built_as(&by_itself, hone_test_kernel("some_bytes"), 1);
  assert_non_null(strstr(text, " in 8 as dot4_u8_i8_x8"));
  assert_non_null(strstr(text, " in 3 as dot4_u8_i8_x8"));
  free_text(text);
}

/* Of a product, a tile costs less than one sum after the other, and more threads
 * less than one. */
static void cost_knows_what_is_better(void** state) {
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("matmul"));
  hone_tactic_set_t* set = make_set(kernel, 2);
  hone_candidate_t tiled = hone_space_default(set->space), plain = tiled;
  assert_string_equal(hone_tactic_set_chosen(set, &tiled)->name, "contract");
  for (int i = 0; i < set->n_entries; i++)
    if (strcmp(set->entries[i].tactic->name, "plain") == 0) plain.choice[0] = (uint16_t)i;
  hone_space_settle(set->space, &plain);
  assert_true(hone_space_is_valid(set->space, &plain));
  assert_true(hone_tactic_set_cost(set, &tiled) < hone_tactic_set_cost(set, &plain));
  hone_tactic_set_destroy(set);
  hone_kernel_destroy(kernel);
  hone_device_properties_t p = machine(2);
  assert_true(hone_cost_share(&p, 1, 100) < hone_cost_share(&p, 1, 0));
  assert_true(hone_cost_share(&p, 1, 4) < hone_cost_share(&p, 1, 5));
  assert_true(hone_cost_traffic(&p, 1e6, 1e4) < hone_cost_traffic(&p, 1e6, 1e9));
}

/* What is done before another thread is awake stays with its caller; nobody gets less than that. */
static void threads_are_woken_for_work_that_lasts(void** state) {
  hone_device_properties_t p = machine(2);
  const int64_t groups[] = {4, 10, 1};
  hone_work_amount_t work = {.arithmetic = 1000, .read = 100, .written = 100};
  assert_int_equal(hone_cost_grain(&p, &work, groups), 40);
  work.read = 1e9;
  assert_int_equal(hone_cost_grain(&p, &work, groups), 1);
  work = (hone_work_amount_t){.transcendental = 20000, .read = 100};
  assert_true(hone_cost_grain(&p, &work, groups) < 40);
  work = (hone_work_amount_t){.written = 1};
  int64_t most = 0, least = 40;
  for (int i = 0; i < 150; i++) {
    work.arithmetic = 1e3 * pow(1.1, i);
    int64_t grain = hone_cost_grain(&p, &work, groups);
    assert_true(grain == 40 || (grain <= 20 && grain >= 1));
    if (grain < 40 && grain > most) most = grain;
    assert_true(grain <= least);
    least = grain;
  }
  assert_int_equal(least, 1);
  assert_true(most > 1);
  work = (hone_work_amount_t){0};
  assert_int_equal(hone_cost_grain(&p, &work, groups), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_candidates_are_right),
      cmocka_unit_test(defaults_are_the_recipes),
      cmocka_unit_test(products_are_tiled_and_maps_are_rows),
      cmocka_unit_test(bytes_are_multiplied_in_fours),
      cmocka_unit_test(lanes_left_over_are_multiplied_in_fours),
      cmocka_unit_test(slight_weights_are_multiplied_in_eights),
      cmocka_unit_test(shorts_are_multiplied_in_twos),
      cmocka_unit_test(lanes_multiply_bytes_of_their_own),
      cmocka_unit_test(few_lanes_are_multiplied_in_twos),
      cmocka_unit_test(cost_knows_what_is_better),
      cmocka_unit_test(threads_are_woken_for_work_that_lasts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
