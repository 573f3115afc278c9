#include "top_k.h"

#include <math.h>
#include <string.h>

#include "base/testing/fault.h"
#include "base/testing/folder.h"

static hone_arena_t* arena;

static int set_up(void** state) {
  (void)state;
  assert_ok(hone_arena_create(NULL, &arena));
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  hone_arena_destroy(arena);
  return 0;
}

static const hone_labels_t none = {0};

static hone_top_t top_of(int rank, const int64_t* dims, const float* values, int64_t k) {
  hone_tensor_t* tensor;
  hone_top_t top;
  assert_ok(hone_tensor_create(NULL, HONE_F32, rank, dims, &tensor));
  memcpy(hone_tensor_data(tensor), values, hone_tensor_bytes(tensor));
  assert_ok(hone_top_find(arena, tensor, k, &none, &top));
  hone_tensor_release(tensor);
  return top;
}

static void probabilities_are_taken_as_they_are(void** state) {
  (void)state;
  hone_top_t top = top_of(2, (int64_t[]){1, 4}, (float[]){0.125f, 0.5f, 0.25f, 0.125f}, 3);
  assert_false(top.softmax);
  assert_int_equal(top.rows, 1);
  assert_int_equal(top.size, 3);
  assert_int_equal(top.entries[0].index, 1);
  assert_true(top.entries[0].probability == 0.5);
  assert_int_equal(top.entries[1].index, 2);
  assert_int_equal(top.entries[2].index, 0); /* of equal ones the first */
  assert_null(top.entries[0].label);
}

static void other_values_go_through_softmax(void** state) {
  (void)state;
  hone_top_t top = top_of(1, (int64_t[]){3}, (float[]){1000, 1001, 999}, 9);
  assert_true(top.softmax);
  assert_int_equal(top.size, 3);
  assert_int_equal(top.entries[0].index, 1);
  double sum = 1 + exp(-1) + exp(-2);
  assert_true(fabs(top.entries[0].probability - 1 / sum) < 1e-12);
  assert_true(fabs(top.entries[2].probability - exp(-2) / sum) < 1e-12);
}

static void classes_lie_along_the_last_axis_longer_than_1(void** state) {
  (void)state;
  hone_top_t top = top_of(4, (int64_t[]){2, 2, 1, 1}, (float[]){5, 1, 1, 5}, 1);
  assert_int_equal(top.rows, 2);
  assert_int_equal(top.entries[0].index, 0);
  assert_int_equal(top.entries[1].index, 1);
  top = top_of(0, NULL, (float[]){5}, 2);
  assert_int_equal(top.size, 1);
  top = top_of(2, (int64_t[]){1, 1}, (float[]){5}, 2);
  assert_int_equal(top.size, 1);
}

static void no_number_comes_last(void** state) {
  (void)state;
  hone_top_t top = top_of(1, (int64_t[]){2}, (float[]){NAN, 1}, 2);
  assert_int_equal(top.size, 2); /* softmax of it is NaN throughout: by index */
  assert_int_equal(top.entries[0].index, 0);
}

static void labels_must_be_as_many_as_classes(void** state) {
  (void)state;
  test_folder_t folder;
  hone_labels_t labels;
  hone_tensor_t* tensor;
  hone_top_t top;
  test_folder_make(&folder);
  test_folder_write(&folder, "labels", "cat\r\ndog\n");
  test_folder_write(&folder, "empty", "");
  assert_code(hone_labels_read(arena, test_folder_file(&folder, "empty"), &labels),
              HONE_INVALID_DATA);
  assert_ok(hone_labels_read(arena, test_folder_file(&folder, "labels"), &labels));
  test_folder_remove(&folder);
  assert_int_equal(labels.count, 2);
  assert_ok(hone_tensor_create(NULL, HONE_I32, 1, (int64_t[]){2}, &tensor));
  ((int32_t*)hone_tensor_data(tensor))[1] = 3;
  assert_ok(hone_top_find(arena, tensor, 1, &labels, &top));
  assert_string_equal(top.entries[0].label, "dog");
  hone_tensor_release(tensor);
  assert_ok(hone_tensor_create(NULL, HONE_I32, 1, (int64_t[]){3}, &tensor));
  assert_code(hone_top_find(arena, tensor, 1, &labels, &top), HONE_INVALID_ARGUMENT);
  hone_tensor_release(tensor);
}

static void what_has_no_numbers_is_refused(void** state) {
  (void)state;
  hone_tensor_t* tensor;
  hone_top_t top;
  assert_ok(hone_tensor_create(NULL, HONE_STRING, 1, (int64_t[]){2}, &tensor));
  assert_code(hone_top_find(arena, tensor, 1, &none, &top), HONE_INVALID_ARGUMENT);
  hone_tensor_release(tensor);
  assert_ok(hone_tensor_create(NULL, HONE_F32, 2, (int64_t[]){0, 3}, &tensor));
  assert_code(hone_top_find(arena, tensor, 1, &none, &top), HONE_INVALID_ARGUMENT);
  hone_tensor_release(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(probabilities_are_taken_as_they_are, set_up, tear_down),
      cmocka_unit_test_setup_teardown(other_values_go_through_softmax, set_up, tear_down),
      cmocka_unit_test_setup_teardown(classes_lie_along_the_last_axis_longer_than_1, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(no_number_comes_last, set_up, tear_down),
      cmocka_unit_test_setup_teardown(labels_must_be_as_many_as_classes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_has_no_numbers_is_refused, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
