/* Whether two values are the same, and where they differ most. */
#ifndef HONE_TOOLS_DIFFERENCE_H
#define HONE_TOOLS_DIFFERENCE_H

#include "base/str.h"
#include "hone/tensor.h"

/* |actual - expected| may be absolute + relative * (the largest finite |expected|
 * of the tensor). Negative: not given. Integers must then be the same, and
 * floats may differ by 1e-7, and by 1e-4 of the largest, or as much as two
 * steps of their format where that is more. */
typedef struct hone_tolerance {
  double absolute, relative;
} hone_tolerance_t;

typedef enum hone_difference_kind {
  HONE_DIFFERENCE_NONE,
  HONE_DIFFERENCE_TYPE, /* element type, shape, kind, or how many items */
  HONE_DIFFERENCE_VALUES,
} hone_difference_kind_t;

/* Of sequences and maps: of the first item that differs. */
typedef struct hone_difference {
  hone_difference_kind_t kind;
  const hone_tensor_t *expected, *actual; /* what was compared, borrowed */
  int64_t count, wrong;                   /* elements, and those out of tolerance */
  double max_error;                       /* infinite where NaN or infinity is on one side */
  double bound;                           /* what was allowed */
  int64_t worst;                          /* index of the element with the largest error */
} hone_difference_t;

/* Never fails, and needs no memory. */
hone_difference_t hone_difference_find(const hone_tensor_t* expected, const hone_tensor_t* actual,
                                       hone_tolerance_t tolerance);
/* "12 of 64 wrong, by up to 0.25 (allowed 1e-4) at [0, 3]: 0.5, expected 0.25". */
void hone_difference_print(const hone_difference_t* difference, hone_str_t* line);
/* Element `index` as coordinates: "[0, 3]". */
void hone_difference_print_place(const hone_tensor_t* tensor, int64_t index, hone_str_t* line);

#endif
