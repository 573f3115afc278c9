/* Keys of numbers: whole numbers without a sign in the order of the numbers that they stand for.
 *
 * Where all tests are of order, rows and splits are compared by their keys. One comparison serves
 * the four kinds of test, NaN takes the key that sends it where it belongs, and a step down a tree
 * takes few instructions: it adds the carry of a subtraction.
 *
 * The key of a number is its bits, all of them turned where it is negative, and the sign alone
 * where it is not. An entry has the least key that does not send a number to the second of its
 * pair, the side of the smaller numbers; a leaf has 0, which is below all, and stays. */
#include <math.h>
#include <string.h>

#include "ops/common/ml_forest.h"

typedef enum fill { FILL_SMALL, FILL_LARGE, FILL_COUNT } fill_t;

static bool is_less_test(int64_t mode) { return mode == HONE_BRANCH_LEQ || mode == HONE_BRANCH_LT; }

static bool is_order_test(int64_t mode) {
  return is_less_test(mode) || mode == HONE_BRANCH_GTE || mode == HONE_BRANCH_GT;
}

/* Whether NaN goes where the small numbers go, or the large ones. */
static fill_t fill_of(const hone_forest_t* f, int entry) {
  return f->missing_is_yes[entry] == is_less_test(f->mode[entry]) ? FILL_SMALL : FILL_LARGE;
}

static bool is_leaf(const hone_forest_t* f, int entry) {
  return f->mode[entry] == HONE_BRANCH_LEAF;
}

static void find_fills(const hone_forest_t* f, bool* used) {
  for (int i = 0; i < f->n_entries; i++)
    if (!is_leaf(f, i)) used[fill_of(f, i)] = true;
}

/* Rows that are there twice are asked for columns that must be known to be there. */
static bool columns_are_there(const hone_forest_t* f, hone_dim_t columns) {
  bool ok = hone_dim_is_int(columns) && columns.k <= INT32_MAX / FILL_COUNT;
  for (int i = 0; ok && i < f->n_entries; i++)
    ok = is_leaf(f, i) || (f->feature[i] >= 0 && f->feature[i] < columns.k);
  return ok;
}

bool hone_forest_can_use_keys(const hone_forest_t* f, hone_dim_t columns) {
  bool used[FILL_COUNT] = {false};
  for (int i = 0; i < f->n_entries; i++)
    if (!is_leaf(f, i) && (!is_order_test(f->mode[i]) || isnan(f->split[i]))) return false;
  find_fills(f, used);
  return !(used[FILL_SMALL] && used[FILL_LARGE]) || columns_are_there(f, columns);
}

/* ---- of splits ---- */

static uint64_t key_of_f64(double number) {
  uint64_t bits, sign = (uint64_t)1 << 63;
  memcpy(&bits, &number, sizeof bits);
  return bits & sign ? ~bits : bits ^ sign;
}

static uint32_t key_of_f32(float number) {
  uint32_t bits, sign = (uint32_t)1 << 31;
  memcpy(&bits, &number, sizeof bits);
  return bits & sign ? ~bits : bits ^ sign;
}

/* The split itself is on the side of the smaller numbers or not; so are both zeros. */
int64_t hone_forest_split_key(const hone_forest_t* f, int entry) {
  int64_t mode = f->mode[entry];
  bool is_small = mode == HONE_BRANCH_LEQ || mode == HONE_BRANCH_GT;
  double split = f->split[entry] != 0 ? f->split[entry] : is_small ? 0.0 : -0.0;
  if (is_leaf(f, entry)) return 0;
  return f->dtype == HONE_F32 ? (int32_t)(key_of_f32((float)split) + is_small)
                              : (int64_t)(key_of_f64(split) + (uint64_t)is_small);
}

/* ---- of rows ---- */

static hone_value_t* keys_of(hone_builder_t* b, hone_value_t* x, fill_t fill) {
  bool wide = hone_dtype_of(x) == HONE_F64;
  hone_dtype_t whole = wide ? HONE_I64 : HONE_I32;
  hone_value_t* bits = hone_bitcast(b, x, whole);
  hone_value_t* sign = hone_scalar_i64(b, whole, wide ? INT64_MIN : INT32_MIN);
  hone_value_t* is_negative = hone_lt(b, bits, hone_scalar_i64(b, whole, 0));
  hone_value_t* key = hone_select(b, is_negative, hone_not(b, bits), hone_xor(b, bits, sign));
  hone_value_t* of_nan = hone_scalar_i64(b, whole, fill == FILL_LARGE ? -1 : 0);
  return hone_bitcast(b, hone_select(b, hone_is_nan(b, x), of_nan, key),
                      wide ? HONE_U64 : HONE_U32);
}

hone_value_t* hone_forest_keys(hone_forest_t* f, hone_value_t* x) {
  hone_builder_t* b = f->l->b;
  hone_value_t* parts[FILL_COUNT];
  bool used[FILL_COUNT] = {false};
  int n_parts = 0;
  find_fills(f, used);
  for (int fill = 0; fill < FILL_COUNT; fill++)
    if (used[fill]) parts[n_parts++] = keys_of(b, x, (fill_t)fill);
  for (int i = 0; n_parts == FILL_COUNT && i < f->n_entries; i++)
    if (!is_leaf(f, i) && fill_of(f, i) == FILL_LARGE) f->feature[i] += hone_dim(x, 1).k;
  return n_parts == FILL_COUNT ? hone_concat(b, n_parts, parts, 1) : parts[0];
}
