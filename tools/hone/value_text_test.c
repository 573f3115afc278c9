#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "value.h"

static hone_status_t parse(const char* text, hone_dtype_t dtype, int rank, const int64_t* dims,
                           hone_tensor_t** out) {
  hone_value_want_t want = {.dtype = dtype, .rank = rank};
  if (rank > 0) memcpy(want.dims, dims, (size_t)rank * sizeof *dims);
  *out = NULL;
  return hone_value_parse_text(NULL, text, strlen(text), &want, out);
}

static void numbers_fill_the_shape(void** state) {
  (void)state;
  hone_tensor_t* tensor;
  assert_ok(parse("1 2,3\n\t4  5 6\n", HONE_F32, 2, (int64_t[]){-1, 3}, &tensor));
  assert_int_equal(hone_tensor_dims(tensor)[0], 2);
  assert_memory_equal(hone_tensor_data(tensor), ((float[]){1, 2, 3, 4, 5, 6}), 24);
  hone_tensor_release(tensor);
  assert_ok(parse("7", HONE_I64, 0, NULL, &tensor));
  assert_int_equal(hone_tensor_rank(tensor), 0);
  hone_tensor_release(tensor);
  assert_ok(parse("", HONE_I64, -1, NULL, &tensor));
  assert_int_equal(hone_tensor_rank(tensor), 1);
  assert_int_equal(hone_tensor_count(tensor), 0);
  hone_tensor_release(tensor);
}

static void the_ends_of_integer_types_are_exact(void** state) {
  (void)state;
  static const struct {
    hone_dtype_t dtype;
    const char* text;
    bool ok;
  } rows[] = {{HONE_I8, "-128", true},
              {HONE_I8, "128", false},
              {HONE_U8, "255", true},
              {HONE_U8, "-1", false},
              {HONE_I4, "-8", true},
              {HONE_I4, "8", false},
              {HONE_U2, "3", true},
              {HONE_U2, "4", false},
              {HONE_I64, "-9223372036854775808", true},
              {HONE_I64, "9223372036854775808", false},
              {HONE_U64, "18446744073709551615", true},
              {HONE_U64, "18446744073709551616", false},
              {HONE_U64, "-1", false},
              {HONE_U32, "4294967295", true},
              {HONE_U32, "4294967296", false},
              {HONE_BOOL, "True", true},
              {HONE_BOOL, "2", false},
              {HONE_I32, "1.5", false},
              {HONE_I32, "x", false},
              {HONE_F32, "1.5.2", false},
              {HONE_F16, "nan", true},
              {HONE_F32, "-inf", true}};
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    hone_tensor_t* tensor;
    hone_status_t status = parse(rows[i].text, rows[i].dtype, 0, NULL, &tensor);
    if ((status == NULL) != rows[i].ok) print_error("row %zu: %s\n", i, rows[i].text);
    assert_int_equal(hone_status_code(status), rows[i].ok ? HONE_OK : HONE_INVALID_DATA);
    if (tensor && hone_dtype_is_int(rows[i].dtype)) {
      char number[HONE_NUMBER_SIZE];
      hone_value_print_number(tensor, 0, number);
      assert_string_equal(number, rows[i].text);
    }
    hone_status_free(status);
    hone_tensor_release(tensor);
  }
}

static void shapes_that_do_not_fit_are_refused(void** state) {
  (void)state;
  hone_tensor_t* tensor;
  assert_code(parse("1 2 3", HONE_F32, 1, (int64_t[]){2}, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(parse("1 2 3", HONE_F32, 2, (int64_t[]){-1, 2}, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(parse("1 2 3", HONE_F32, 2, (int64_t[]){-1, -1}, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(parse("1", HONE_F32, 2, (int64_t[]){-1, 0}, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(parse("1", HONE_F32, 2, (int64_t[]){INT64_MAX, 2}, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(parse("1", HONE_UNKNOWN, -1, NULL, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(parse("1", HONE_C64, -1, NULL, &tensor), HONE_UNSUPPORTED);
}

static void strings_are_lines(void** state) {
  (void)state;
  hone_tensor_t* tensor;
  assert_ok(parse("a b\n\nlast, one", HONE_STRING, -1, NULL, &tensor));
  const hone_string_t* strings = hone_tensor_data(tensor);
  assert_int_equal(hone_tensor_count(tensor), 3);
  assert_int_equal(strings[1].size, 0);
  assert_int_equal(strings[2].size, 9);
  assert_memory_equal(strings[2].data, "last, one", 9);
  hone_tensor_release(tensor);
  assert_ok(parse("a\r\nb\n", HONE_STRING, -1, NULL, &tensor));
  assert_int_equal(hone_tensor_count(tensor), 2);
  assert_int_equal(((const hone_string_t*)hone_tensor_data(tensor))[0].size, 1);
  hone_tensor_release(tensor);
}

/* Every pattern of two bytes, in each type of that many or fewer. */
static void what_is_printed_reads_back(void** state) {
  (void)state;
  static const hone_dtype_t dtypes[] = {HONE_F16, HONE_BF16,       HONE_F8E4M3FN,  HONE_F8E5M2,
                                        HONE_I16, HONE_F8E4M3FNUZ, HONE_F8E5M2FNUZ};
  for (size_t d = 0; d < TEST_COUNT(dtypes); d++) {
    hone_tensor_t *tensor, *back;
    int64_t count = hone_dtype_size(dtypes[d]) == 1 ? 256 : 65536;
    assert_ok(hone_tensor_create(NULL, dtypes[d], 1, &count, &tensor));
    for (int64_t i = 0; i < count; i++)
      if (count == 256)
        ((uint8_t*)hone_tensor_data(tensor))[i] = (uint8_t)i;
      else
        ((uint16_t*)hone_tensor_data(tensor))[i] = (uint16_t)i;
    char *text, *again;
    size_t size, again_size;
    assert_ok(hone_value_print_text(NULL, tensor, &text, &size));
    assert_ok(parse(text, dtypes[d], 1, &count, &back));
    assert_ok(hone_value_print_text(NULL, back, &again, &again_size));
    assert_string_equal(text, again); /* the text, since NaN has many patterns */
    hone_free(NULL, text, size + 1);
    hone_free(NULL, again, again_size + 1);
    hone_tensor_release(tensor);
    hone_tensor_release(back);
  }
}

static void the_last_axis_is_a_line(void** state) {
  (void)state;
  hone_tensor_t* tensor;
  char* text;
  size_t size;
  assert_ok(parse("1 0.1 10 -4e9 1e30 1e-9", HONE_F32, 2, (int64_t[]){2, 3}, &tensor));
  assert_ok(hone_value_print_text(NULL, tensor, &text, &size));
  assert_string_equal(text, "1 0.1 10\n-4000000000 1e+30 1e-09\n");
  hone_free(NULL, text, size + 1);
  hone_tensor_release(tensor);
}

static hone_status_t text_body(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_value_want_t want = {.dtype = HONE_STRING, .rank = -1};
  hone_tensor_t* tensor;
  char* text;
  size_t size;
  HONE_TRY(hone_value_parse_text(allocator, "a\nb", 3, &want, &tensor));
  hone_status_t status = hone_value_print_text(allocator, tensor, &text, &size);
  if (!status) hone_free(allocator, text, size + 1);
  hone_tensor_release(tensor);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_true(assert_survives_faults(text_body, NULL) >= 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_fill_the_shape),
      cmocka_unit_test(the_ends_of_integer_types_are_exact),
      cmocka_unit_test(shapes_that_do_not_fit_are_refused),
      cmocka_unit_test(strings_are_lines),
      cmocka_unit_test(what_is_printed_reads_back),
      cmocka_unit_test(the_last_axis_is_a_line),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
