/* Losses of labels: the common part of two operators. */
#include "ops/common/label_loss.h"

#include <string.h>

typedef struct loss {
  hone_value_t* ignored; /* bool like the labels; NULL: none is */
  hone_value_t* labels;  /* i64, 0 where ignored */
  hone_value_t* weights; /* of each label; NULL: 1 */
} loss_t;

/* `value`, or zero where a label is ignored. */
static hone_value_t* unless_ignored(hone_builder_t* b, const loss_t* loss, hone_value_t* value) {
  if (!loss->ignored || !value) return value;
  return hone_select(b, loss->ignored, hone_scalar(b, hone_dtype_of(value), 0), value);
}

static void find_labels(hone_lower_t* l, loss_t* loss) {
  hone_builder_t* b = l->b;
  loss->labels = hone_cast(b, hone_op_in(l, 1), HONE_I64);
  if (!hone_attr_has(l->node, "ignore_index")) return;
  hone_value_t* ignore = hone_scalar_i64(b, HONE_I64, hone_attr_int(l->node, "ignore_index", 0));
  loss->ignored = hone_eq(b, loss->labels, ignore);
  loss->labels = unless_ignored(b, loss, loss->labels);
}

static void find_weights(hone_lower_t* l, loss_t* loss, hone_dtype_t dtype) {
  hone_builder_t* b = l->b;
  hone_value_t* weights = hone_cast(b, hone_op_in(l, 2), dtype);
  if (weights)
    weights = hone_take(b, weights, loss->labels, 0);
  else if (loss->ignored)
    weights = hone_scalar(b, dtype, 1);
  loss->weights = unless_ignored(b, loss, weights);
}

static hone_value_t* sum_all(hone_builder_t* b, hone_value_t* x) {
  return x ? hone_reduce_last(b, HONE_COMBINE_ADD, x, hone_rank(x), false) : NULL;
}

static hone_value_t* mean_all(hone_builder_t* b, hone_value_t* each, hone_value_t* weights) {
  hone_value_t* total = sum_all(b, each);
  if (weights) return hone_div(b, total, sum_all(b, weights));
  if (!total) return NULL;
  return hone_div(b, total, hone_dim_scalar(b, hone_dtype_of(total), hone_elements(b, each)));
}

hone_value_t* hone_op_label_loss(hone_lower_t* l, hone_value_t* log_probability) {
  hone_builder_t* b = l->b;
  loss_t loss = {0};
  if (!log_probability) return NULL;
  find_labels(l, &loss);
  find_weights(l, &loss, hone_dtype_of(log_probability));
  hone_value_t* at = hone_unsqueeze(b, loss.labels, 1);
  hone_value_t* picked = hone_squeeze(b, hone_take_along(b, log_probability, at, 1), 1);
  hone_value_t* each = hone_neg(b, picked);
  if (loss.weights) each = hone_mul(b, each, loss.weights);
  const char* reduction = hone_attr_string(l->node, "reduction", "mean");
  if (strcmp(reduction, "none") == 0) return each;
  if (strcmp(reduction, "sum") == 0) return sum_all(b, each);
  if (strcmp(reduction, "mean") != 0)
    hone_op_fail(l, "attribute reduction is '%s'; use none, sum or mean", reduction);
  return mean_all(b, each, loss.weights);
}
