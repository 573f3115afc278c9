/* Kernels that tests share, as texts, and running them on made-up inputs. */
#ifndef HONE_LOOP_TESTING_KERNELS_H
#define HONE_LOOP_TESTING_KERNELS_H

#include "base/testing/test.h"
#include "loop/kernel.h"

typedef struct hone_test_kernel {
  const char* name;
  const char* text;
  int64_t sizes[2]; /* what its run-time sizes are when it is run */
} hone_test_kernel_t;

extern const hone_test_kernel_t hone_test_kernels[];
extern const int hone_test_kernel_count;

/* The one of that name. */
const hone_test_kernel_t* hone_test_kernel(const char* name);
/* Parsed; fails the test when that fails. */
hone_kernel_t* hone_test_kernel_make(const hone_test_kernel_t* kernel);

/* What a run wrote: all outputs, one behind the other, as doubles. */
typedef struct hone_test_result {
  int64_t count;
  double* values;
} hone_test_result_t;

/* Interprets the kernel on inputs that depend only on their number, the
 * position of the element and the seed. A packed input is laid out as it asks for. */
HONE_MUST_USE hone_status_t hone_test_kernel_run(hone_kernel_t* kernel, const int64_t* sizes,
                                                 uint64_t seed, hone_test_result_t* out);
void hone_test_result_free(hone_test_result_t* result);
/* Whether they agree but for the rounding of sums in another order. */
bool hone_test_result_agrees(const hone_test_result_t* a, const hone_test_result_t* b);

#endif
