/* Rfft and Irfft (com.microsoft): the Fourier transform of real signals along
 * the last axis, results as pairs of real and imaginary part; and back. */
#include "ops/common/fourier.h"
#include "ops/common/ms.h"

static bool is_supported(hone_lower_t* l) {
  int64_t ndim = hone_attr_int(l->node, "signal_ndim", 1);
  bool plain = ndim == 1 && hone_attr_int(l->node, "onesided", 1) == 1 &&
               hone_attr_int(l->node, "normalized", 0) == 0;
  if (!plain)
    hone_fail(l->b, HONE_UNSUPPORTED,
              "signal_ndim %lld, normalized or two-sided: only one-sided "
              "transforms of one axis are supported",
              (long long)ndim);
  return plain;
}

static void lower_rfft(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x);
  if (!is_supported(l)) return;
  if (rank < 1) {
    hone_op_fail(l, "the input is a scalar; it must be a signal");
    return;
  }
  hone_fourier_t f = {.length = hone_dim(x, -1), .parts = 1, .onesided = true};
  hone_value_t* wide = hone_unsqueeze(b, x, rank);
  hone_op_out(l, 0, hone_fourier_apply(b, &f, wide, rank - 1, rank));
}

static void lower_irfft(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x);
  if (!is_supported(l)) return;
  if (rank < 2) {
    hone_op_fail(l, "the input has rank %d; it must be pairs along a signal", rank);
    return;
  }
  hone_dim_t half = hone_d_sub(b, hone_dim(x, -2), hone_d(1));
  hone_fourier_t f = {
      .length = hone_d_mul(b, hone_d(2), half), .parts = 2, .inverse = true, .onesided = true};
  hone_value_t* y = hone_fourier_apply(b, &f, x, rank - 2, rank - 1);
  hone_op_out(l, 0, hone_pick(b, y, -1, hone_d(0)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "Rfft",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "normalized onesided signal_ndim",
     .lower = lower_rfft},
    {.domain = HONE_MS_DOMAIN,
     .name = "Irfft",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "normalized onesided signal_ndim",
     .lower = lower_irfft},
};
HONE_OP_FAMILY(ms_rfft, ops)
