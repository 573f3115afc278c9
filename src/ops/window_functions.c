/* BlackmanWindow, HammingWindow, HannWindow: a0 + a1 cos(t) + a2 cos(2 t) where
 * t makes one turn over the window. */
#include "ops/op.h"

static const double two_pi = 6.283185307179586476925286766559;

enum { BLACKMAN, HAMMING, HANN };

static const double terms[][3] = {
    [BLACKMAN] = {0.42, -0.5, 0.08},
    [HAMMING] = {25.0 / 46, -21.0 / 46, 0},
    [HANN] = {0.5, -0.5, 0},
};

/* t at each of `size` points; `turn`: points in one turn. */
static hone_value_t* phases(hone_builder_t* b, hone_dim_t size, hone_dim_t turn) {
  hone_value_t* at = hone_mul_number(b, hone_iota(b, HONE_F64, 1, &size, 0), two_pi);
  return hone_div(b, at, hone_dim_scalar(b, HONE_F64, hone_d_max(b, turn, hone_d(1))));
}

static void lower_window(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  int count;
  const hone_dim_t* size = hone_op_known_dims(l, 0, &count);
  int64_t dtype = hone_attr_int(l->node, "output_datatype", HONE_F32);
  if (!size) return;
  if (count != 1 || dtype <= 0 || dtype >= HONE_DTYPE_COUNT) {
    hone_op_fail(l,
                 "size has %d elements and output_datatype is %lld; it must be one number, and "
                 "an element type",
                 count, (long long)dtype);
    return;
  }
  bool periodic = hone_attr_int(l->node, "periodic", 1) != 0;
  hone_value_t* t = phases(b, *size, periodic ? *size : hone_d_sub(b, *size, hone_d(1)));
  const double* a = terms[l->op->data];
  hone_value_t* y = hone_mul_number(b, hone_unary(b, HONE_PRIM_COS, t), a[1]);
  y = hone_add_number(b, y, a[0]);
  if (a[2] != 0) {
    hone_value_t* twice = hone_unary(b, HONE_PRIM_COS, hone_mul_number(b, t, 2));
    y = hone_add(b, y, hone_mul_number(b, twice, a[2]));
  }
  hone_op_out(l, 0, hone_cast(b, y, (hone_dtype_t)dtype));
}

#define WINDOW(text, which)                                                             \
  {                                                                                     \
    .name = (text), .min_opset = 17, .min_inputs = 1, .max_inputs = 1, .data = (which), \
    .attrs = "output_datatype periodic", .lower = lower_window                          \
  }

static const hone_op_t ops[] = {
    WINDOW("BlackmanWindow", BLACKMAN),
    WINDOW("HammingWindow", HAMMING),
    WINDOW("HannWindow", HANN),
};
HONE_OP_FAMILY(window_functions, ops)
