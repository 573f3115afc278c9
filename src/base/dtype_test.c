#include "hone/dtype.h"

#include "base/testing/test.h"

static void every_name_parses_back(void** state) {
  (void)state;
  for (int i = 1; i < HONE_DTYPE_COUNT; i++) {
    hone_dtype_t dtype = (hone_dtype_t)i;
    assert_true(hone_dtype_is_valid(i));
    assert_int_equal(hone_dtype_parse(hone_dtype_name(dtype)), dtype);
    assert_true(hone_dtype_size(dtype) > 0);
    assert_true((size_t)hone_dtype_bits(dtype) <= 8 * hone_dtype_size(dtype));
  }
}

static void onnx_spelling_parses(void** state) {
  (void)state;
  static const struct {
    const char* name;
    hone_dtype_t dtype;
  } cases[] = {{"float", HONE_F32},         {"double", HONE_F64},
               {"float16", HONE_F16},       {"bfloat16", HONE_BF16},
               {"int64", HONE_I64},         {"uint8", HONE_U8},
               {"bool", HONE_BOOL},         {"string", HONE_STRING},
               {"complex64", HONE_C64},     {"FLOAT8E4M3FN", HONE_F8E4M3FN},
               {"float8e8m0", HONE_F8E8M0}, {"INT4", HONE_I4},
               {"float4e2m1", HONE_F4E2M1}, {"FLOAT6E2M3", HONE_F6E2M3},
               {"float6e3m2", HONE_F6E3M2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(hone_dtype_parse(cases[i].name), cases[i].dtype);
}

static void what_is_no_type_is_unknown(void** state) {
  (void)state;
  static const char* const names[] = {"",         "f",       "f33",          "float1",
                                      "float166", "unknown", "tensor(float)"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_int_equal(hone_dtype_parse(names[i]), HONE_UNKNOWN);
  assert_string_equal(hone_dtype_name((hone_dtype_t)99), "unknown");
  assert_int_equal(hone_dtype_size((hone_dtype_t)-1), 0);
  assert_false(hone_dtype_is_valid(0));
  assert_false(hone_dtype_is_valid(-1));
  assert_false(hone_dtype_is_valid(HONE_DTYPE_COUNT));
}

static void each_type_has_one_class(void** state) {
  (void)state;
  int floats = 0, ints = 0, complexes = 0, unsigneds = 0;
  for (int i = 1; i < HONE_DTYPE_COUNT; i++) {
    hone_dtype_t dtype = (hone_dtype_t)i;
    bool is[] = {hone_dtype_is_float(dtype), hone_dtype_is_int(dtype),
                 hone_dtype_is_complex(dtype)};
    assert_true(is[0] + is[1] + is[2] == (dtype != HONE_STRING && dtype != HONE_BOOL));
    floats += is[0], ints += is[1], complexes += is[2];
    unsigneds += hone_dtype_is_unsigned(dtype);
  }
  assert_int_equal(floats, 12);
  assert_int_equal(ints, 12);
  assert_int_equal(complexes, 2);
  assert_int_equal(unsigneds, 7);
  assert_true(hone_dtype_is_unsigned(HONE_BOOL) && !hone_dtype_is_int(HONE_BOOL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_name_parses_back), cmocka_unit_test(onnx_spelling_parses),
      cmocka_unit_test(what_is_no_type_is_unknown), cmocka_unit_test(each_type_has_one_class)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
