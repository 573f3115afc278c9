/* All of the prelude, for each target that can be run here. */
#include "codegen/testing/prelude_cases.h"

static const hone_dtype_t all[] = {
    HONE_F32,        HONE_F64,    HONE_F16,        HONE_BF16,   HONE_F8E4M3FN,
    HONE_F8E4M3FNUZ, HONE_F8E5M2, HONE_F8E5M2FNUZ, HONE_F8E8M0, HONE_F4E2M1,
    HONE_F6E2M3,     HONE_F6E3M2, HONE_I8,         HONE_I16,    HONE_I32,
    HONE_I64,        HONE_U8,     HONE_U16,        HONE_U32,    HONE_U64,
    HONE_BOOL,       HONE_I4,     HONE_U4,         HONE_I2,     HONE_U2};

/* For a second machine: one of each kind, and what differs by machine. */
static const hone_dtype_t many[] = {HONE_F32,        HONE_F64, HONE_F16, HONE_BF16,
                                    HONE_F8E5M2FNUZ, HONE_I8,  HONE_I32, HONE_I64,
                                    HONE_U16,        HONE_U64, HONE_BOOL};

static void native(void** state) {
  (void)state;
  test_prelude_cases("native", 0, TEST_COUNT(all), all);
}

static void generic_with_few_lanes(void** state) {
  (void)state;
  test_prelude_cases("generic", 2, TEST_COUNT(many), many);
}

static void avx512(void** state) {
  (void)state;
  test_prelude_cases("x86-64-v4", 0, TEST_COUNT(many), many);
}

static void aarch64(void** state) {
  (void)state;
  test_prelude_cases("aarch64", 0, TEST_COUNT(many), many);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(native),
      cmocka_unit_test(generic_with_few_lanes),
      cmocka_unit_test(avx512),
      cmocka_unit_test(aarch64),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
