/* Weights as slight ones and a rest: they add up to what they were, whatever that was. */
#include "passes/common/slight.h"

#include "base/random.h"
#include "base/testing/fault.h"
#include "base/testing/test.h"
#include "ir/slight.h"

/* Normally small, now and then all as large as there are. */
static int8_t number(uint64_t seed, int64_t i) {
  uint32_t word = hone_random_u32(seed, (uint64_t)i);
  if (seed == 0) return INT8_MIN;
  if (seed == 1) return INT8_MAX;
  if (seed == 2) return i % 2 ? INT8_MIN : INT8_MAX;
  return (int8_t)((int)(word % 256) - 128) / (int8_t)(1 + seed % 4);
}

static int64_t count_numbers(const hone_slight_weights_t* w, const int8_t* rest) {
  int64_t numbers = 0;
  for (int64_t i = 0; i < hone_tensor_count(w->tensor); i++) numbers += rest[i] != 0;
  return numbers;
}

static void check(const hone_slight_weights_t* w) {
  hone_slight_split_t split;
  assert_ok(hone_slight_split(NULL, w, &split));
  const int8_t *whole = hone_tensor_data(w->tensor), *slight = hone_tensor_data(split.slight),
               *rest = hone_tensor_data(split.rest);
  for (int64_t i = 0; i < hone_tensor_count(w->tensor); i++)
    assert_int_equal(whole[i], slight[i] + rest[i]);
  assert_true(hone_slight_is(slight, w->outer, w->extent, w->inner));
  assert_int_equal(split.numbers, count_numbers(w, rest));
  assert_int_equal(split.numbers == 0, hone_slight_is(whole, w->outer, w->extent, w->inner));
  hone_tensor_release(split.slight);
  hone_tensor_release(split.rest);
}

static void parts_add_up(void** state) {
  static const int64_t shapes[][3] = {{1, 8, 1}, {7, 40, 1}, {1, 64, 130}, {3, 16, 5}, {2, 8, 64}};
  for (uint64_t seed = 0; seed < 40; seed++)
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
      hone_tensor_t* tensor;
      assert_ok(hone_tensor_create(NULL, HONE_I8, 3, shapes[i], &tensor));
      int8_t* data = hone_tensor_data(tensor);
      for (int64_t k = 0; k < hone_tensor_count(tensor); k++) data[k] = number(seed, k);
      check(&(hone_slight_weights_t){.side = 1,
                                     .tensor = tensor,
                                     .outer = shapes[i][0],
                                     .extent = shapes[i][1],
                                     .inner = shapes[i][2]});
      hone_tensor_release(tensor);
    }
}

/* Releases both parts, as the pass does whatever happened. */
static hone_status_t split(const hone_allocator_t* allocator, void* context) {
  hone_slight_split_t parts;
  hone_status_t status = hone_slight_split(allocator, context, &parts);
  hone_tensor_release(parts.slight);
  hone_tensor_release(parts.rest);
  return status;
}

static void memory_may_run_out(void** state) {
  const int64_t dims[] = {64, 3};
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_I8, 2, dims, &tensor));
  hone_slight_weights_t w = {.side = 1, .tensor = tensor, .outer = 1, .extent = 64, .inner = 3};
  assert_true(assert_survives_faults(split, &w) >= 2);
  hone_tensor_release(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_add_up),
                                     cmocka_unit_test(memory_may_run_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
