/* Every function of the CPU prelude against the scalars of ir/scalar.h. */
#ifndef HONE_CODEGEN_TESTING_PRELUDE_CASES_H
#define HONE_CODEGEN_TESTING_PRELUDE_CASES_H

#include "base/testing/test.h"
#include "hone/dtype.h"

/* Builds, for `target` (a name as hone_target_parse takes it) with `lanes`
 * lanes (0: those of one register), one kernel for each primitive on each of
 * `dtypes` and each cast between two of them, with one element and with vectors;
 * runs them on edge values, pairs of them, and random numbers; and fails the
 * test where a result is not what the scalars give. Skips, saying so, when there
 * is no compiler for the target or code for it cannot be run here (an aarch64
 * target is run by qemu). */
void test_prelude_cases(const char* target, int lanes, int count, const hone_dtype_t* dtypes);

#endif
