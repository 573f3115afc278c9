/* See ms.h. */
#include "ops/common/ms.h"

#include <string.h>

#include "base/memory.h"
#include "ops/common/formulas.h"
#include "ops/common/quantized.h"
#include "ops/common/recurrent_impl.h"

/* ---- as another operator ---- */

/* A node like l's with `n_outputs` outputs, all wanted. */
static const hone_onnx_node_t* pose(hone_lower_t* l, int n_outputs) {
  hone_arena_t* arena = l->b->graph->arena;
  hone_onnx_node_t* node = hone_arena_memdup(arena, l->node, sizeof *node);
  const char** names = hone_arena_array(arena, (size_t)n_outputs, sizeof *names);
  if (!node || !names) {
    hone_fail_status(l->b, hone_oom());
    return NULL;
  }
  for (int i = 0; i < n_outputs; i++) names[i] = "result";
  node->n_outputs = n_outputs;
  node->outputs = names;
  return node;
}

/* A host operator without a lowering: nothing is known of its outputs. */
static void lower_as_host(hone_lower_t* l) {
  hone_type_t types[8];
  for (int i = 0; i < 8; i++) types[i] = hone_type_any();
  if (l->n_outputs <= 8) hone_op_host(l, types);
}

bool hone_ms_delegate(hone_lower_t* l, const char* name, int64_t opset, int n_inputs,
                      hone_value_t* const* inputs, int n_outputs, hone_value_t** outputs) {
  for (int i = 0; i < n_outputs; i++) outputs[i] = NULL;
  if (!hone_builder_ok(l->b)) return false;
  hone_lower_t inner = *l;
  inner.op = hone_op_find("", name, opset, NULL);
  inner.opset = opset;
  inner.node = pose(l, n_outputs);
  inner.n_inputs = n_inputs;
  inner.inputs = (hone_value_t**)(uintptr_t)inputs;
  inner.n_outputs = n_outputs;
  inner.outputs = outputs;
  if (!inner.op)
    hone_fail(l->b, HONE_UNSUPPORTED, "operator %s, of which this is a variant, is not there",
              name);
  if (!inner.op || !inner.node) return false;
  if (inner.op->lower)
    inner.op->lower(&inner);
  else
    lower_as_host(&inner);
  return hone_builder_ok(l->b);
}

hone_value_t* hone_ms_as(hone_lower_t* l, const char* name, int64_t opset, int n_inputs,
                         hone_value_t* const* inputs) {
  hone_value_t* output;
  return hone_ms_delegate(l, name, opset, n_inputs, inputs, 1, &output) ? output : NULL;
}

/* ---- activations ---- */

hone_value_t* hone_ms_activate(hone_lower_t* l, hone_value_t* x, const char* name, int n_params,
                               const double* params) {
  if (!name || !name[0]) return x;
  if (strcmp(name, "Clip") == 0) {
    if (n_params > 0) x = hone_max_number(l->b, x, params[0]);
    return n_params > 1 ? hone_min_number(l->b, x, params[1]) : x;
  }
  const hone_activation_row_t* row = hone_activation_find(name);
  if (!row) {
    hone_op_fail(l, "activation '%s' is unknown", name);
    return NULL;
  }
  double alpha = n_params > 0 ? params[0] : row->function.alpha;
  double beta = n_params > 1 ? params[1] : row->function.beta;
  return row->function.apply(l->b, x, alpha, beta);
}

/* ---- layout ---- */

hone_value_t* hone_ms_channels_first(hone_builder_t* b, hone_value_t* x) {
  if (!hone_is_known(b, x)) return NULL;
  return hone_rank(x) < 3 ? x : hone_move_axis(b, x, hone_rank(x) - 1, 1);
}

hone_value_t* hone_ms_channels_last(hone_builder_t* b, hone_value_t* x) {
  if (!hone_is_known(b, x)) return NULL;
  return hone_rank(x) < 3 ? x : hone_move_axis(b, x, 1, hone_rank(x) - 1);
}

hone_value_t* hone_ms_scalar(hone_builder_t* b, hone_value_t* x) {
  return hone_is_known(b, x) ? hone_reshape(b, x, 0, NULL) : NULL;
}

/* ---- quantized numbers ---- */

/* In f64 the product is exact, and rounding the sum to f32 again hardly ever
 * differs from rounding it once. */
hone_value_t* hone_ms_fma(hone_builder_t* b, hone_value_t* x, hone_value_t* y, hone_value_t* z) {
  hone_value_t* product = hone_mul(b, hone_cast(b, x, HONE_F64), hone_cast(b, y, HONE_F64));
  return hone_cast(b, hone_add(b, product, hone_cast(b, z, HONE_F64)), HONE_F32);
}

hone_value_t* hone_ms_dequantize(hone_builder_t* b, hone_value_t* x, hone_value_t* scale,
                                 hone_value_t* zero) {
  hone_value_t* centered = hone_cast(b, hone_quantized_centered(b, x, zero), HONE_F32);
  return hone_mul(b, centered, hone_cast(b, scale, HONE_F32));
}

hone_value_t* hone_ms_quantize(hone_builder_t* b, hone_value_t* x, hone_value_t* scale,
                               hone_value_t* zero, hone_dtype_t dtype) {
  return hone_quantized_encode(b, hone_div(b, x, scale), zero, dtype, true);
}

hone_value_t* hone_ms_round_to(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype) {
  return hone_quantized_encode(b, x, NULL, dtype, true);
}

/* ---- normalization ---- */

hone_ms_norm_t hone_ms_normalize(hone_builder_t* b, hone_value_t* x, hone_value_t* gamma,
                                 hone_value_t* beta, double epsilon, bool simplified) {
  hone_ms_norm_t out = {0};
  if (!hone_is_known(b, x)) return out;
  const int64_t last[1] = {hone_rank(x) - 1};
  hone_value_t *wide = hone_widen(b, x), *centered = wide;
  hone_value_t* variance = simplified ? hone_mean(b, hone_square(b, wide), 1, last, true)
                                      : hone_variance(b, wide, 1, last, &out.mean, &centered);
  out.inverse = hone_inverse_deviation(b, variance, epsilon);
  hone_value_t* y = hone_mul(b, centered, out.inverse);
  if (gamma) y = hone_mul(b, y, hone_cast(b, gamma, hone_wide_dtype(hone_dtype_of(x))));
  if (beta) y = hone_add(b, y, hone_cast(b, beta, hone_wide_dtype(hone_dtype_of(x))));
  out.y = hone_cast(b, y, hone_dtype_of(x));
  return out;
}
