#include "base/map.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/testing/fault.h"

static int values[16];

static void a_key_leads_to_its_value(void** state) {
  (void)state;
  hone_map_t map;
  hone_map_init(&map, NULL);
  assert_null(hone_map_get(&map, "a"));
  assert_ok(hone_map_put(&map, "a", &values[0]));
  assert_ok(hone_map_put(&map, "b", &values[1]));
  assert_ok(hone_map_put(&map, "a", &values[2]));
  assert_int_equal(hone_map_count(&map), 2);
  assert_ptr_equal(hone_map_get(&map, "a"), &values[2]);
  assert_ptr_equal(hone_map_get(&map, "b"), &values[1]);
  assert_null(hone_map_get(&map, "ab"));
  hone_map_free(&map);
  assert_int_equal(hone_map_count(&map), 0);
}

static void a_null_value_is_not_an_absent_key(void** state) {
  (void)state;
  hone_map_t map = {0};
  assert_ok(hone_map_put(&map, "a", NULL));
  assert_null(hone_map_get(&map, "a"));
  assert_non_null(hone_map_find(&map, "a"));
  assert_null(hone_map_find(&map, "b"));
  hone_map_free(&map);
}

static void text_and_numbers_are_different_keys(void** state) {
  (void)state;
  hone_map_t map = {0};
  assert_ok(hone_map_put(&map, "", &values[0]));
  assert_ok(hone_map_put_n(&map, NULL, 0, &values[1]));
  assert_ok(hone_map_put_u64(&map, 0, &values[2]));
  assert_ok(hone_map_put_u64(&map, UINT64_MAX, &values[3]));
  assert_ok(hone_map_put_n(&map, "a\0b", 3, &values[4]));
  assert_ok(hone_map_put_n(&map, "a\0c", 3, &values[5]));
  assert_ok(hone_map_put(&map, "a", &values[6]));
  assert_int_equal(hone_map_count(&map), 6);
  assert_ptr_equal(hone_map_get(&map, ""), &values[1]);
  assert_ptr_equal(hone_map_get_u64(&map, 0), &values[2]);
  assert_ptr_equal(hone_map_get_u64(&map, UINT64_MAX), &values[3]);
  assert_ptr_equal(hone_map_get_n(&map, "a\0b", 3), &values[4]);
  assert_ptr_equal(hone_map_get_n(&map, "a\0c", 3), &values[5]);
  assert_ptr_equal(hone_map_get(&map, "a"), &values[6]);
  hone_map_free(&map);
}

static void iteration_follows_insertion(void** state) {
  (void)state;
  static const char* const keys[] = {"z", "a", "m", "b", "y"};
  static const char* const left[] = {"z", "m", "y", "a"};
  hone_map_t map = {0};
  for (size_t i = 0; i < TEST_COUNT(keys); i++) assert_ok(hone_map_put(&map, keys[i], NULL));
  assert_true(hone_map_remove(&map, "a"));
  assert_true(hone_map_remove_n(&map, "b", 1));
  assert_false(hone_map_remove(&map, "b"));
  assert_ok(hone_map_put(&map, "a", NULL)); /* again, and so at the end */
  assert_ok(hone_map_put(&map, "z", NULL)); /* replaced where it is */
  size_t cursor = 0;
  for (size_t i = 0; i < TEST_COUNT(left); i++)
    assert_string_equal(hone_map_next(&map, &cursor)->text, left[i]);
  assert_null(hone_map_next(&map, &cursor));
  assert_null(hone_map_next(&map, &cursor));
  hone_map_free(&map);
}

/* A map of numbers below 200 against a plain array, through random changes. */
static void random_changes_match_an_array(void** state) {
  (void)state;
  enum { KEYS = 200, STEPS = 20000 };
  void* model[KEYS] = {0};
  size_t count = 0;
  hone_map_t map = {0};
  for (int i = 0; i < STEPS; i++) {
    uint32_t key = hone_random_u32(1, 2 * (uint64_t)i) % KEYS;
    if (hone_random_u32(1, 2 * (uint64_t)i + 1) % 2) {
      count += !model[key];
      model[key] = &values[i % 16];
      assert_ok(hone_map_put_u64(&map, key, model[key]));
    } else {
      assert_int_equal(hone_map_remove_u64(&map, key), model[key] != NULL);
      count -= model[key] != NULL;
      model[key] = NULL;
    }
    assert_int_equal(hone_map_count(&map), count);
    assert_ptr_equal(hone_map_get_u64(&map, key), model[key]);
  }
  for (uint32_t key = 0; key < KEYS; key++)
    assert_ptr_equal(hone_map_get_u64(&map, key), model[key]);
  assert_true(map.capacity <= 1024); /* removed entries do not pile up */
  hone_map_free(&map);
}

static void many_names_are_kept_apart(void** state) {
  (void)state;
  enum { NAMES = 3000 };
  static char names[NAMES][24];
  hone_map_t map = {0};
  for (int i = 0; i < NAMES; i++) {
    snprintf(names[i], sizeof names[i], "layer.%d", i);
    assert_ok(hone_map_put(&map, names[i], names[i]));
  }
  for (int i = 0; i < NAMES; i++) assert_ptr_equal(hone_map_get(&map, names[i]), names[i]);
  assert_null(hone_map_get(&map, "layer.3000"));
  hone_map_free(&map);
}

static hone_status_t fill(hone_map_t* map) {
  for (uint64_t i = 0; i < 100; i++) HONE_TRY(hone_map_put_u64(map, i, &values[i % 16]));
  return NULL;
}

/* A map that could not grow still holds what it held. */
static hone_status_t fill_and_check(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_map_t map;
  hone_map_init(&map, allocator);
  hone_status_t status = fill(&map);
  for (uint64_t i = 0; i < hone_map_count(&map); i++)
    assert_ptr_equal(hone_map_get_u64(&map, i), &values[i % 16]);
  hone_map_free(&map);
  return status;
}

static hone_status_t fill_in_arena(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_arena_t* arena;
  hone_map_t map;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_map_init_arena(&map, arena);
  hone_status_t status = fill(&map);
  hone_map_free(&map);
  hone_arena_destroy(arena);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_true(assert_survives_faults(fill_and_check, NULL) >= 4);
  assert_true(assert_survives_faults(fill_in_arena, NULL) >= 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_key_leads_to_its_value),
      cmocka_unit_test(a_null_value_is_not_an_absent_key),
      cmocka_unit_test(text_and_numbers_are_different_keys),
      cmocka_unit_test(iteration_follows_insertion),
      cmocka_unit_test(random_changes_match_an_array),
      cmocka_unit_test(many_names_are_kept_apart),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
