/* Packings: each element of the new array is the one that the rule names. */
#include "runtime/packing.h"

#include <string.h>

#include "base/testing/fault.h"
#include "loop/kernel.h"

/* Packs a matrix of its own positions (modulo a prime, and none is zero), and asks the rule. */
enum { ROWS = 5, COLUMNS = 7, PRIME = 113 };

static hone_tensor_t* positions(hone_dtype_t dtype, const int64_t* dims) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, dtype, 2, dims, &tensor));
  size_t size = hone_dtype_size(dtype);
  for (int i = 0; i < dims[0] * dims[1]; i++)
    ((char*)hone_tensor_data(tensor))[(size_t)i * size] = (char)(i % PRIME + 1); /* little end */
  return tensor;
}

static void check_sized(hone_dtype_t dtype, int64_t rows, int64_t columns, int n,
                        const hone_packing_axis_t* axes, const int64_t* dims) {
  int64_t old[] = {rows, columns};
  hone_packing_axis_t copy[4];
  memcpy(copy, axes, (size_t)n * sizeof *axes);
  const hone_packing_t packing = {2, old, copy};
  hone_dim_t extents[4];
  int64_t count = 1;
  for (int i = 0; i < n; i++) {
    extents[i] = hone_dim_int(dims[i]);
    count *= dims[i];
  }
  const hone_buffer_t buffer = {
      .name = "w", .dtype = dtype, .rank = n, .dims = extents, .packing = &packing};
  hone_tensor_t *from = positions(dtype, old), *to;
  assert_ok(hone_packing_apply(&buffer, from, NULL, &to));
  assert_int_equal(hone_tensor_count(to), count);
  for (int64_t e = 0; e < count; e++) {
    int64_t at[2] = {0, 0}, rest = e;
    for (int i = n - 1; i >= 0; i--) {
      at[axes[i].source] += rest % dims[i] * axes[i].stride;
      rest /= dims[i];
    }
    bool is_there = at[0] < rows && at[1] < columns;
    int64_t want = is_there ? (at[0] * columns + at[1]) % PRIME + 1 : 0;
    size_t size = hone_dtype_size(dtype);
    assert_int_equal(((char*)hone_tensor_data(to))[(size_t)e * size], want);
  }
  hone_tensor_release(from);
  hone_tensor_release(to);
}

static void check(hone_dtype_t dtype, int n, const hone_packing_axis_t* axes, const int64_t* dims) {
  check_sized(dtype, ROWS, COLUMNS, n, axes, dims);
}

static void elements_go_where_the_rule_says(void** state) {
  (void)state;
  static const hone_dtype_t dtypes[] = {HONE_I8, HONE_F16, HONE_F32, HONE_F64};
  for (size_t i = 0; i < TEST_COUNT(dtypes); i++) {
    check(dtypes[i], 2, (hone_packing_axis_t[]){{1, 1}, {0, 1}}, (int64_t[]){COLUMNS, ROWS});
    check(dtypes[i], 3, (hone_packing_axis_t[]){{1, 4}, {0, 1}, {1, 1}},
          (int64_t[]){2, ROWS, 4}); /* the last block is not full */
    check(dtypes[i], 4, (hone_packing_axis_t[]){{0, 2}, {1, 3}, {1, 1}, {0, 1}},
          (int64_t[]){3, 3, 3, 2});
  }
}

/* More than one tile along each axis, the last ones not full. */
static void weights_of_many_tiles_too(void** state) {
  (void)state;
  static const hone_dtype_t dtypes[] = {HONE_I8, HONE_BF16, HONE_F32, HONE_F64};
  enum { TALL = 150, WIDE = 300 };
  for (size_t i = 0; i < TEST_COUNT(dtypes); i++) {
    check_sized(dtypes[i], TALL, WIDE, 3, (hone_packing_axis_t[]){{1, 8}, {0, 1}, {1, 1}},
                (int64_t[]){38, TALL, 8});
    check_sized(dtypes[i], TALL, WIDE, 3, (hone_packing_axis_t[]){{0, 16}, {1, 1}, {0, 1}},
                (int64_t[]){10, WIDE, 16});
    check_sized(dtypes[i], TALL, WIDE, 4, (hone_packing_axis_t[]){{0, 8}, {1, 1}, {1, 3}, {0, 1}},
                (int64_t[]){19, 3, 100, 8});
    check_sized(dtypes[i], 1, WIDE, 1, (hone_packing_axis_t[]){{1, 1}}, (int64_t[]){WIDE});
  }
}

static void what_does_not_fit_is_refused(void** state) {
  (void)state;
  int64_t old[] = {ROWS, COLUMNS + 1};
  hone_packing_axis_t axes[] = {{1, 1}, {0, 1}};
  const hone_packing_t packing = {2, old, axes};
  hone_dim_t extents[] = {hone_dim_int(COLUMNS + 1), hone_dim_int(ROWS)};
  const hone_buffer_t buffer = {
      .name = "w", .dtype = HONE_F32, .rank = 2, .dims = extents, .packing = &packing};
  hone_tensor_t *from = positions(HONE_F32, (int64_t[]){ROWS, COLUMNS}), *to;
  assert_code(hone_packing_apply(&buffer, from, NULL, &to), HONE_INTERNAL);
  assert_null(to);
  hone_tensor_release(from);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_go_where_the_rule_says),
      cmocka_unit_test(weights_of_many_tiles_too),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
