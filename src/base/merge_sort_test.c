/* Sorting: the order, ties, and nothing beyond the items. */
#include "base/merge_sort.h"

#include <stdint.h>
#include <string.h>

#include "base/random.h"
#include "base/testing/fault.h"

enum { MOST = 300, GUARD = 7777 };

typedef struct item {
  int32_t key, place;
} item_t;

static int by_key(const void* a, const void* b) {
  const item_t *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

static void items_are_in_order(void** state) {
  (void)state;
  static item_t items[MOST + 1], spare[MOST + 1];
  for (int n = 0; n <= MOST; n++) {
    uint32_t keys = 1 + (uint32_t)n / 3;
    for (int i = 0; i < n; i++)
      items[i] = (item_t){(int32_t)(hone_random_u32((uint64_t)n, (uint64_t)i) % keys), i};
    items[n] = spare[n] = (item_t){GUARD, GUARD};
    hone_merge_sort(items, spare, (size_t)n, sizeof *items, by_key);
    for (int i = 1; i < n; i++) {
      int order = by_key(&items[i - 1], &items[i]);
      assert_true(order < 0 || (order == 0 && items[i - 1].place < items[i].place));
    }
    assert_int_equal(items[n].key, GUARD);
    assert_int_equal(spare[n].key, GUARD);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(items_are_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
