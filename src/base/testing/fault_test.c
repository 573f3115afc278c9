/* The fault harness must see what it is there to see. */
#include "base/testing/fault.h"

#include "base/memory.h"

static hone_status_t two_blocks(const hone_allocator_t* allocator, void* context) {
  (void)context;
  void* a = hone_alloc(allocator, 10);
  void* b = a ? hone_alloc(allocator, 20) : NULL;
  bool done = a && b;
  hone_free(allocator, a, 10);
  hone_free(allocator, b, 20);
  return done ? NULL : hone_oom();
}

static void counts_the_allocations(void** state) {
  (void)state;
  assert_int_equal(assert_survives_faults(two_blocks, NULL), 2);
}

static void fails_the_one_it_was_told(void** state) {
  (void)state;
  hone_fault_t fault;
  hone_fault_init(&fault, 2, false);
  void* a = hone_alloc(&fault.allocator, 1);
  assert_non_null(a);
  assert_false(hone_fault_fired(&fault));
  assert_null(hone_alloc(&fault.allocator, 1));
  assert_true(hone_fault_fired(&fault));
  void* b = hone_alloc(&fault.allocator, 1);
  assert_non_null(b);
  assert_int_equal(atomic_load(&fault.blocks), 2);
  hone_free(&fault.allocator, a, 1);
  hone_free(&fault.allocator, b, 1);
  assert_int_equal(atomic_load(&fault.blocks), 0);
  assert_int_equal(atomic_load(&fault.bytes), 0);
}

static void a_failed_resize_keeps_the_block(void** state) {
  (void)state;
  hone_fault_t fault;
  hone_fault_init(&fault, 2, true);
  char* a = hone_alloc(&fault.allocator, 1);
  a[0] = 'x';
  assert_null(hone_realloc(&fault.allocator, a, 1, 100));
  assert_int_equal(a[0], 'x');
  hone_free(&fault.allocator, a, 1);
  assert_int_equal(atomic_load(&fault.blocks), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(counts_the_allocations),
                                     cmocka_unit_test(fails_the_one_it_was_told),
                                     cmocka_unit_test(a_failed_resize_keeps_the_block)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
