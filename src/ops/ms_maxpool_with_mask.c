/* MaxpoolWithMask (com.microsoft): MaxPool in which a zero of the mask ends the
 * scan of a window's row: it and what follows it in the row do not count. */
#include <float.h>

#include "ops/common/ms.h"
#include "ops/common/sliding.h"

/* 0 or 1; the first element of an image counts in any case, as it does in
 * onnxruntime, unless images are lines. */
static hone_value_t* counting(hone_builder_t* b, hone_value_t* mask, int spatial) {
  hone_value_t* flag = hone_not(b, hone_eq_number(b, mask, 0));
  if (spatial > 1) {
    hone_value_t* first = NULL;
    for (int i = 0; i < spatial; i++) {
      hone_value_t* at = hone_iota(b, HONE_I64, hone_rank(mask), mask->type.dims, 2 + i);
      hone_value_t* zero = hone_eq_number(b, at, 0);
      first = first ? hone_and(b, first, zero) : zero;
    }
    flag = hone_or(b, flag, first);
  }
  return hone_cast(b, flag, HONE_I32);
}

static void lower_maxpool_with_mask(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *mask = hone_op_in(l, 1);
  hone_sliding_t s;
  if (!hone_sliding_read(l, x, NULL, &s)) return;
  if (hone_rank(mask) != hone_rank(x)) {
    hone_op_fail(l, "the mask has rank %d, the input %d", hone_rank(mask), hone_rank(x));
    return;
  }
  hone_value_t* lowest = hone_scalar(b, hone_dtype_of(x), -(double)FLT_MAX);
  hone_value_t* windows = hone_sliding_view(b, &s, x, lowest);
  hone_value_t* marks =
      hone_sliding_view(b, &s, counting(b, mask, s.n), hone_scalar_i64(b, HONE_I32, 1));
  if (!marks) return;
  marks = hone_scan(b, HONE_COMBINE_MUL, marks, hone_rank(marks) - 1, false);
  hone_value_t* kept = hone_select(b, hone_gt_number(b, marks, 0), windows, lowest);
  hone_op_out(l, 0, hone_reduce_last(b, HONE_COMBINE_MAX, kept, s.n, false));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "MaxpoolWithMask",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "auto_pad kernel_shape pads storage_order strides",
     .lower = lower_maxpool_with_mask},
};
HONE_OP_FAMILY(ms_maxpool_with_mask, ops)
