/* Text with the prelude for CPUs, compiled and loaded into the test. */
#ifndef HONE_CODEGEN_TESTING_TEST_LIBRARY_H
#define HONE_CODEGEN_TESTING_TEST_LIBRARY_H

#include "base/testing/test.h"
#include "codegen/library.h"
#include "codegen/target.h"

/* Fails the test where there is no compiler, or the text does not pass it. */
hone_library_t* test_library_build(const hone_target_t* target, int lanes, const char* text);

#endif
