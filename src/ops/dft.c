/* DFT and STFT. */
#include "ops/common/fourier.h"

static hone_dtype_t work_dtype(const hone_value_t* x) {
  return hone_dtype_of(x) == HONE_F64 ? HONE_F64 : HONE_F32;
}

/* Parts of an element: the last extent, 1 or 2; 0 after an error. */
static int count_parts(hone_lower_t* l, const hone_value_t* x) {
  hone_dim_t last = hone_dim(x, -1);
  if (hone_dim_is(last, 1)) return 1;
  if (hone_dim_is(last, 2)) return 2;
  if (!hone_dim_is_int(last))
    hone_defer(l->b, "whether the signal is real or complex is not known");
  else
    hone_op_fail(l, "the last extent is %lld; it must be 1 (real) or 2 (complex)",
                 (long long)last.k);
  return 0;
}

/* A size given as a scalar input; `fallback` when it was left out. */
static hone_dim_t size_input(hone_lower_t* l, int index, hone_dim_t fallback) {
  int count;
  if (!hone_op_in(l, index)) return fallback;
  const hone_dim_t* dims = hone_op_known_dims(l, index, &count);
  if (dims && count == 1) return dims[0];
  if (dims) hone_op_fail(l, "input %d has %d elements; it must be one number", index, count);
  return fallback;
}

/* Cuts `axis` to `extent`, or fills it up with zeros. */
static hone_value_t* fit(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t extent) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(x); i++) lo[i] = hi[i] = hone_d(0);
  hi[axis] = hone_d_max(b, hone_d_sub(b, extent, hone_dim(x, axis)), hone_d(0));
  return hone_slice_axis(b, hone_pad(b, x, lo, hi, NULL), axis, hone_d(0), extent);
}

/* The axis of the signal: an attribute until opset 19, then an input. */
static int signal_axis(hone_lower_t* l, int rank) {
  int64_t axis = l->opset < 20 ? hone_attr_int(l->node, "axis", 1) : -2;
  const hone_tensor_t* given = hone_op_known(l, 2);
  if (given && hone_tensor_count(given) == 1) axis = hone_tensor_i64(given, 0);
  int at = hone_axis(l->b, axis, rank);
  if (at == rank - 1) hone_op_fail(l, "axis is the last one, which holds the parts of a number");
  return at;
}

static void lower_dft(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x);
  if (rank < 2) {
    hone_op_fail(l, "the input has rank %d; it must have 2 or more", rank);
    return;
  }
  int axis = signal_axis(l, rank);
  hone_fourier_t f = {.parts = count_parts(l, x),
                      .inverse = hone_attr_int(l->node, "inverse", 0) != 0,
                      .onesided = hone_attr_int(l->node, "onesided", 0) != 0};
  if (!hone_builder_ok(b)) return;
  hone_dim_t length = hone_dim(x, axis);
  if (f.inverse && f.onesided) length = hone_d_mul(b, hone_d(2), hone_d_sub(b, length, hone_d(1)));
  f.length = size_input(l, 1, length);
  hone_value_t* wide = hone_cast(b, x, work_dtype(x));
  if (!wide) return;
  wide = fit(b, wide, axis, hone_fourier_inputs(b, &f));
  hone_value_t* y = hone_fourier_apply(b, &f, wide, axis, rank - 1);
  hone_op_out(l, 0, hone_cast(b, hone_move_axis(b, y, rank - 2, axis), hone_dtype_of(x)));
}

/* Length of a frame: given, or that of the window, or of the signal. */
static hone_dim_t frame_length(hone_lower_t* l, const hone_value_t* signal) {
  const hone_value_t* window = hone_op_in(l, 2);
  hone_dim_t length = size_input(l, 3, window ? hone_dim(window, 0) : hone_dim(signal, 1));
  if (window && hone_dim_is_int(length) && hone_dim_is_int(hone_dim(window, 0)) &&
      length.k != hone_dim(window, 0).k)
    hone_op_fail(l, "frame_length is %lld, the window has %lld elements", (long long)length.k,
                 (long long)hone_dim(window, 0).k);
  return length;
}

static void lower_stft(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *window = hone_op_in(l, 2);
  if (hone_rank(x) != 3 || (window && hone_rank(window) != 1)) {
    hone_op_fail(l, "the signal has rank %d and the window %d; they must have 3 and 1",
                 hone_rank(x), window ? hone_rank(window) : 1);
    return;
  }
  hone_fourier_t f = {.parts = count_parts(l, x),
                      .length = frame_length(l, x),
                      .onesided = hone_attr_int(l->node, "onesided", 1) != 0};
  hone_dim_t step = size_input(l, 1, hone_d(1)), one = hone_d(1);
  hone_dtype_t dtype = work_dtype(x);
  /* [batch, frame, part, element of the frame] */
  hone_value_t* frames =
      hone_window(b, hone_cast(b, x, dtype), 1, &(int64_t){1}, &f.length, &step, &one);
  if (window) frames = hone_mul(b, frames, hone_cast(b, window, dtype));
  hone_value_t* y = hone_fourier_apply(b, &f, frames, 3, 2);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "DFT",
     .min_opset = 17,
     .min_inputs = 1,
     .max_inputs = 3,
     .attrs = "axis inverse onesided",
     .lower = lower_dft},
    {.name = "STFT",
     .min_opset = 17,
     .min_inputs = 2,
     .max_inputs = 4,
     .attrs = "onesided",
     .lower = lower_stft},
};
HONE_OP_FAMILY(dft, ops)
