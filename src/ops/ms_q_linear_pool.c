/* QLinearAveragePool, QLinearGlobalAveragePool and NhwcMaxPool (com.microsoft).
 * The first averages real values; the second sums integers and rescales once. */
#include "ops/common/ms.h"
#include "ops/common/quantized.h"
#include "ops/common/sliding.h"

enum { MAX_ORDERED = 256 };

static bool channels_last(const hone_lower_t* l) {
  return hone_attr_int(l->node, "channels_last", 0) != 0;
}

/* The windows' elements as one last axis. */
static hone_value_t* window_rows(hone_builder_t* b, const hone_sliding_t* s, hone_value_t* x) {
  hone_value_t* view = hone_sliding_view(b, s, x, NULL);
  if (!view) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  int kept = hone_rank(view) - s->n;
  for (int i = 0; i < kept; i++) shape[i] = hone_dim(view, i);
  shape[kept] = hone_dim_product(b->graph->dims, s->n, s->size);
  return hone_reshape(b, view, kept + 1, shape);
}

/* Sums of the last axis. Small windows are added up one element after the
 * other in f32, as onnxruntime does: it is what decides where halves go. */
static hone_value_t* sum_rows(hone_builder_t* b, hone_value_t* rows) {
  if (!rows) return NULL;
  hone_dim_t count = hone_dim(rows, -1);
  if (!hone_dim_is_int(count) || count.k < 1 || count.k > MAX_ORDERED)
    return hone_reduce_last(b, HONE_COMBINE_ADD, rows, 1, false);
  hone_value_t* sum = hone_pick(b, rows, -1, hone_d(0));
  for (int64_t i = 1; i < count.k; i++) sum = hone_add(b, sum, hone_pick(b, rows, -1, hone_d(i)));
  return sum;
}

/* How many elements each window holds. */
static hone_value_t* counts(hone_lower_t* l, const hone_sliding_t* s, const hone_value_t* x) {
  hone_builder_t* b = l->b;
  if (hone_attr_int(l->node, "count_include_pad", 0))
    return hone_dim_scalar(b, HONE_F32, hone_dim_product(b->graph->dims, s->n, s->size));
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(x); i++) shape[i] = i < 2 ? hone_d(1) : hone_dim(x, i);
  hone_value_t* ones = hone_full(b, HONE_F32, 1, hone_rank(x), shape);
  return hone_reduce_last(b, HONE_COMBINE_ADD, window_rows(b, s, ones), 1, false);
}

static void lower_average_pool(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t *x_zero = hone_op_in(l, 2), *y_zero = hone_op_in(l, 4);
  if (x_zero) x_zero = hone_ms_scalar(b, x_zero);
  hone_value_t* real = hone_ms_dequantize(b, x, hone_ms_scalar(b, hone_op_in(l, 1)), x_zero);
  if (channels_last(l)) real = hone_ms_channels_first(b, real);
  hone_sliding_t s;
  if (!real || !hone_sliding_read(l, real, NULL, &s)) return;
  hone_value_t* mean = hone_div(b, sum_rows(b, window_rows(b, &s, real)), counts(l, &s, real));
  if (channels_last(l)) mean = hone_ms_channels_last(b, mean);
  hone_value_t* y = hone_div(b, mean, hone_ms_scalar(b, hone_op_in(l, 3)));
  if (y_zero) y = hone_add(b, y, hone_cast(b, hone_ms_scalar(b, y_zero), HONE_F32));
  hone_op_out(l, 0, hone_ms_round_to(b, y, hone_dtype_of(x)));
}

static void lower_global_average_pool(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x), first = channels_last(l) ? 1 : 2;
  int64_t axes[HONE_MAX_RANK];
  hone_dim_t count = hone_d(1);
  for (int i = 0; i < rank - 2; i++) {
    axes[i] = first + i;
    count = hone_d_mul(b, count, hone_dim(x, first + i));
  }
  hone_value_t* centered = hone_quantized_centered(b, x, hone_ms_scalar(b, hone_op_in(l, 2)));
  hone_value_t* sum = hone_reduce(b, HONE_COMBINE_ADD, centered, rank - 2, axes, true);
  hone_value_t* scale =
      hone_mul(b, hone_ms_scalar(b, hone_op_in(l, 3)), hone_dim_scalar(b, HONE_F32, count));
  scale = hone_div(b, hone_ms_scalar(b, hone_op_in(l, 1)), scale);
  hone_value_t* y = hone_mul(b, hone_cast(b, sum, HONE_F32), scale);
  hone_op_out(
      l, 0,
      hone_quantized_encode(b, y, hone_ms_scalar(b, hone_op_in(l, 4)), hone_dtype_of(x), true));
}

static void lower_nhwc_max_pool(hone_lower_t* l) {
  hone_value_t* x = hone_ms_channels_first(l->b, hone_op_in(l, 0));
  hone_op_out(l, 0, hone_ms_channels_last(l->b, hone_ms_as(l, "MaxPool", 12, 1, &x)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "QLinearAveragePool",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 5,
     .attrs = "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides",
     .lower = lower_average_pool},
    {.domain = HONE_MS_DOMAIN,
     .name = "QLinearGlobalAveragePool",
     .min_opset = 1,
     .min_inputs = 5,
     .max_inputs = 5,
     .attrs = "channels_last",
     .lower = lower_global_average_pool},
    {.domain = HONE_MS_DOMAIN,
     .name = "NhwcMaxPool",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "auto_pad ceil_mode dilations kernel_shape pads strides",
     .lower = lower_nhwc_max_pool},
};
HONE_OP_FAMILY(ms_q_linear_pool, ops)
