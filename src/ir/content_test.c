/* What is known of small integer tensors before a run, however they are moved about. */
#include "ir/content.h"

#include "base/testing/test.h"
#include "ir/builder.h"

enum { ROWS = 2, COLUMNS = 3 };

typedef struct fixture {
  hone_graph_t* graph;
  hone_builder_t b;
  hone_value_t* table; /* 0 1 2, 3 4 5 */
} fixture_t;

static int set_up(void** state) {
  static fixture_t fixture;
  static const int64_t numbers[] = {0, 1, 2, 3, 4, 5}, dims[] = {ROWS, COLUMNS};
  assert_ok(hone_graph_create(NULL, "main", &fixture.graph));
  fixture.b = (hone_builder_t){.graph = fixture.graph};
  fixture.table = hone_constant_data(&fixture.b, HONE_I64, 2, dims, numbers);
  assert_non_null(fixture.table);
  *state = &fixture;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  hone_graph_destroy(f->graph);
  return 0;
}

static void assert_content(const hone_value_t* value, int count, const int64_t* wanted) {
  assert_non_null(value);
  assert_non_null(value->content);
  for (int i = 0; i < count; i++) {
    assert_true(hone_dim_is_int(value->content[i]));
    assert_int_equal(value->content[i].k, wanted[i]);
  }
}

#define ASSERT_CONTENT(value, ...)                                         \
  assert_content(value, (int)TEST_COUNT(((const int64_t[]){__VA_ARGS__})), \
                 (const int64_t[]){__VA_ARGS__})

static void axes_change_places(void** state) {
  fixture_t* f = *state;
  static const int64_t turned[] = {1, 0};
  ASSERT_CONTENT(hone_permute(&f->b, f->table, turned), 0, 3, 1, 4, 2, 5);
}

static void axes_are_flipped(void** state) {
  fixture_t* f = *state;
  ASSERT_CONTENT(hone_flip(&f->b, f->table, 0), 3, 4, 5, 0, 1, 2);
  ASSERT_CONTENT(hone_flip(&f->b, hone_flip(&f->b, f->table, 0), 1), 5, 4, 3, 2, 1, 0);
}

static void parts_are_taken(void** state) {
  fixture_t* f = *state;
  hone_value_t* right = hone_slice_axis(&f->b, f->table, 1, hone_d(1), hone_d(3));
  ASSERT_CONTENT(right, 1, 2, 4, 5);
  ASSERT_CONTENT(hone_slice_axis(&f->b, right, 0, hone_d(1), hone_d(2)), 4, 5);
}

static void axes_repeat(void** state) {
  fixture_t* f = *state;
  const hone_dim_t shape[] = {hone_d(ROWS), hone_d(ROWS)};
  hone_value_t* column = hone_slice_axis(&f->b, f->table, 1, hone_d(1), hone_d(2));
  ASSERT_CONTENT(hone_expand(&f->b, column, 2, shape), 1, 1, 4, 4);
}

static void tables_are_joined(void** state) {
  fixture_t* f = *state;
  hone_value_t* column = hone_slice_axis(&f->b, f->table, 1, hone_d(2), hone_d(3));
  hone_value_t* parts[] = {column, f->table};
  ASSERT_CONTENT(hone_concat(&f->b, 2, parts, 1), 2, 0, 1, 2, 5, 3, 4, 5);
}

static void rows_are_looked_up(void** state) {
  fixture_t* f = *state;
  static const int64_t rows[] = {1, 0, 1}, dims[] = {3}, far[] = {0, 2, 0};
  hone_value_t* index = hone_constant_data(&f->b, HONE_I64, 1, dims, rows);
  ASSERT_CONTENT(hone_gather(&f->b, f->table, index), 3, 4, 5, 0, 1, 2, 3, 4, 5);
  hone_value_t* outside = hone_constant_data(&f->b, HONE_I64, 1, dims, far);
  assert_null(hone_gather(&f->b, f->table, outside)->content);
}

/* As PyTorch writes the pads of its models. */
static void pads_are_turned_over(void** state) {
  fixture_t* f = *state;
  static const int64_t numbers[] = {1, 2, 3, 4, 0, 0, 0, 0}, dims[] = {8}, turned[] = {1, 0};
  const hone_dim_t pairs[] = {hone_d(4), hone_d(2)}, list[] = {hone_d(8)};
  hone_value_t* pads = hone_constant_data(&f->b, HONE_I64, 1, dims, numbers);
  pads = hone_flip(&f->b, hone_reshape(&f->b, pads, 2, pairs), 0);
  pads = hone_reshape(&f->b, hone_permute(&f->b, pads, turned), 1, list);
  ASSERT_CONTENT(pads, 0, 0, 3, 1, 0, 0, 4, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(axes_change_places, set_up, tear_down),
      cmocka_unit_test_setup_teardown(axes_are_flipped, set_up, tear_down),
      cmocka_unit_test_setup_teardown(parts_are_taken, set_up, tear_down),
      cmocka_unit_test_setup_teardown(axes_repeat, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tables_are_joined, set_up, tear_down),
      cmocka_unit_test_setup_teardown(rows_are_looked_up, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pads_are_turned_over, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
