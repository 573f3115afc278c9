/* BatchNormalization: (x - mean) / sqrt(variance + epsilon) * scale + bias for
 * each channel. Training takes the statistics of the batch and gives running
 * ones. What asks for training: the attribute training_mode from opset 14 on,
 * before that further outputs (and is_test = 0 before opset 7). */
#include "ops/common/formulas.h"

static bool is_training(const hone_lower_t* l) {
  if (l->opset >= 14) return hone_attr_int(l->node, "training_mode", 0) != 0;
  bool more_outputs = false;
  for (int i = 1; i < l->n_outputs; i++) more_outputs = more_outputs || hone_op_wants(l, i);
  return more_outputs && !(l->opset < 7 && hone_attr_int(l->node, "is_test", 0));
}

typedef struct batch {
  hone_lower_t* l;
  hone_value_t* x; /* in the type that is computed in */
  bool spatial;    /* statistics by channel, not by element of a sample */
  hone_value_t *mean, *variance;
} batch_t;

/* Parameter `index` so shaped that it broadcasts against x. A tensor of rank 1
 * has one channel. */
static hone_value_t* parameter(const batch_t* n, int index) {
  hone_builder_t* b = n->l->b;
  hone_value_t* value = hone_cast(b, hone_op_in(n->l, index), hone_dtype_of(n->x));
  if (!value || !n->spatial || hone_rank(n->x) < 2) return value;
  return hone_along_axis(b, value, 1, hone_rank(n->x));
}

static void batch_statistics(batch_t* n) {
  int64_t axes[HONE_MAX_RANK] = {0};
  int n_axes = 1;
  for (int i = 2; n->spatial && i < hone_rank(n->x); i++) axes[n_axes++] = i;
  n->variance = hone_variance(n->l->b, n->x, n_axes, axes, &n->mean, NULL);
}

/* Output `index`: the statistic alone, or mixed into input `running`. */
static void statistic_output(const batch_t* n, int index, hone_value_t* statistic, int running) {
  hone_builder_t* b = n->l->b;
  hone_value_t* like = hone_op_in(n->l, running);
  if (!hone_op_wants(n->l, index)) return;
  double momentum = hone_attr_float(n->l->node, "momentum", 0.9f);
  hone_value_t* value = hone_reshape_like(b, statistic, like);
  if (index <= 2) {
    hone_value_t* old = hone_cast(b, like, hone_dtype_of(n->x));
    value = hone_add(b, hone_mul_number(b, old, momentum), hone_mul_number(b, value, 1 - momentum));
  }
  hone_op_out(n->l, index, hone_cast(b, value, hone_dtype_of(like)));
}

static void lower_batch_normalization(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  batch_t n = {.l = l,
               .x = hone_widen(b, x),
               .spatial = l->opset >= 9 || hone_attr_int(l->node, "spatial", 1) != 0};
  if (!n.x) return;
  if (is_training(l)) {
    batch_statistics(&n);
  } else {
    n.mean = parameter(&n, 3);
    n.variance = parameter(&n, 4);
  }
  double epsilon = hone_attr_float(l->node, "epsilon", 1e-5f);
  hone_value_t* factor =
      hone_mul(b, parameter(&n, 1), hone_inverse_deviation(b, n.variance, epsilon));
  hone_value_t* y = hone_add(b, hone_mul(b, hone_sub(b, n.x, n.mean), factor), parameter(&n, 2));
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(x)));
  for (int i = 1; i < l->n_outputs; i++)
    statistic_output(&n, i, i % 2 ? n.mean : n.variance, i % 2 ? 3 : 4);
}

static const hone_op_t ops[] = {
    {.name = "BatchNormalization",
     .min_opset = 1,
     .min_inputs = 5,
     .max_inputs = 5,
     .attrs = "epsilon momentum is_test spatial training_mode consumed_inputs",
     .lower = lower_batch_normalization},
};
HONE_OP_FAMILY(batch_normalization, ops)
