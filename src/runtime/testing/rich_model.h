/* A model for tests of sessions and engines. */
#ifndef HONE_RUNTIME_TESTING_RICH_MODEL_H
#define HONE_RUNTIME_TESTING_RICH_MODEL_H

#include "ir/model.h"

enum { TEST_RICH_TRIPS = 18 }; /* more rounds than a loop's first room for results */

/* "x" f32[n, 1, 4, 4], "shape" i64[m] and "words" string[k] go through a
 * convolution, a reshape that nothing is known of before it runs, a loop that
 * takes a value from outside, and strings; "last", "s", "t" and "greeting" come out. */
hone_model_t* test_rich_model(void);
/* Gives an input its type; `dims` has an entry too many. */
void test_declare(hone_model_t* model, hone_onnx_value_info_t* info, hone_dtype_t dtype, int rank,
                  const hone_onnx_dim_t* dims);

#endif
