/* MelWeightMatrix: triangles that overlap, equally wide on the mel scale of
 * pitch, as a matrix from spectrogram bins to mel bins. */
#include <math.h>

#include "base/memory.h"
#include "ops/op.h"

typedef struct mel {
  int64_t bins, length, rate;
  double low, high; /* hertz */
} mel_t;

enum { MAX_BINS = 1 << 20, MAX_CELLS = 1 << 28 };

static double to_mel(double hertz) { return 2595 * log10(1 + hertz / 700); }
static double to_hertz(double mel) { return 700 * (pow(10, mel / 2595) - 1); }

/* The spectrogram bin of edge `i` of the triangles. */
static int64_t edge(const mel_t* m, int64_t i) {
  double low = to_mel(m->low), step = (to_mel(m->high) - low) / (double)(m->bins + 2);
  return (int64_t)floor((double)(m->length + 1) * to_hertz((double)i * step + low) /
                        (double)m->rate);
}

/* How much spectrogram bin `at` counts in the triangle with these corners. */
static double weight(int64_t at, int64_t left, int64_t top, int64_t right) {
  if (at == top && (left == top || right == top)) return 1;
  if (at >= left && at < top) return (double)(at - left) / (double)(top - left);
  if (at >= top && at < right) return (double)(right - at) / (double)(right - top);
  return 0;
}

static hone_value_t* build(hone_lower_t* l, const mel_t* m) {
  hone_builder_t* b = l->b;
  int64_t dims[2] = {m->length / 2 + 1, m->bins};
  hone_tensor_t* tensor;
  hone_status_t status = hone_tensor_create(b->graph->allocator, HONE_F64, 2, dims, &tensor);
  if (status) return hone_fail_status(b, status);
  double* data = hone_tensor_data(tensor);
  for (int64_t i = 0; i < m->bins; i++) {
    int64_t left = edge(m, i), top = edge(m, i + 1), right = edge(m, i + 2);
    for (int64_t at = 0; at < dims[0]; at++) data[at * m->bins + i] = weight(at, left, top, right);
  }
  return hone_constant(b, tensor);
}

static void lower_mel(hone_lower_t* l) {
  const hone_tensor_t* in[5];
  for (int i = 0; i < 5; i++) {
    in[i] = hone_op_known(l, i);
    if (!in[i]) return;
    if (hone_tensor_count(in[i]) == 1) continue;
    hone_op_fail(l, "input %d must be one number", i);
    return;
  }
  mel_t m = {hone_tensor_i64(in[0], 0), hone_tensor_i64(in[1], 0), hone_tensor_i64(in[2], 0),
             hone_tensor_f64(in[3], 0), hone_tensor_f64(in[4], 0)};
  int64_t dtype = hone_attr_int(l->node, "output_datatype", HONE_F32);
  bool sizes_ok = m.bins >= 0 && m.bins <= MAX_BINS && m.length >= 0 && m.length <= INT32_MAX &&
                  (m.length / 2 + 1) * m.bins <= MAX_CELLS;
  if (!sizes_ok || m.rate <= 0 || !(m.low >= 0) || !(m.high >= m.low) || !(m.high < 1e12) ||
      dtype <= 0 || dtype >= HONE_DTYPE_COUNT) {
    hone_op_fail(l,
                 "%lld mel bins of a transform of %lld at rate %lld from %g to %g hertz: "
                 "negative, out of order or too large",
                 (long long)m.bins, (long long)m.length, (long long)m.rate, m.low, m.high);
    return;
  }
  hone_op_out(l, 0, hone_cast(l->b, build(l, &m), (hone_dtype_t)dtype));
}

static const hone_op_t ops[] = {
    {.name = "MelWeightMatrix",
     .min_opset = 17,
     .min_inputs = 5,
     .max_inputs = 5,
     .attrs = "output_datatype",
     .lower = lower_mel},
};
HONE_OP_FAMILY(mel_weight_matrix, ops)
