/* Runs a kernel on host memory, one statement after the other: slow, plain,
 * and what schedules are checked against.
 *
 * Every access is checked against its buffer. Rounds of loops that may run in
 * any order are run backwards, and scratch buffers start each of their lives
 * with bytes that make nonsense, so that a kernel which breaks these rules of
 * kernel.h gives another result. Elements are rounded to their dtype after each
 * operation. */
#ifndef HONE_LOOP_INTERPRET_H
#define HONE_LOOP_INTERPRET_H

#include "loop/kernel.h"

/* `sizes` are the values of the kernel's run-time sizes and `parameters` the
 * memory of its parameters, dense, in order; of a sparse packing the array as it was,
 * of nibbles a byte for each. A check that
 * fails ends the run and sets the error word, 1 + its number, where there is one. Errors:
 * OUT_OF_RANGE for a size outside its range, an access outside a buffer or a check that fails
 * without an error word; UNSUPPORTED for complex numbers; OUT_OF_MEMORY. The kernel must have
 * passed the verifier. */
HONE_MUST_USE hone_status_t hone_kernel_interpret(hone_kernel_t* kernel, const int64_t* sizes,
                                                  void* const* parameters);

#endif
