/* See ml.h. The formulas of the transforms are those that onnxruntime uses
 * where the specification leaves them open. */
#include "ops/common/ml.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---- transforms ---- */

hone_ml_post_t hone_ml_post_attr(hone_lower_t* l) {
  static const char* const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const char* name = hone_attr_string(l->node, "post_transform", "NONE");
  for (int i = 0; i < 5; i++)
    if (strcmp(name, names[i]) == 0) return (hone_ml_post_t)i;
  hone_op_fail(l,
               "post_transform '%s' is unknown; it is NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or "
               "PROBIT",
               name);
  return HONE_ML_NONE;
}

/* From the exponential of a negative number, so that nothing overflows. */
hone_value_t* hone_ml_logistic(hone_builder_t* b, hone_value_t* x) {
  if (!x) return NULL;
  hone_value_t* v = hone_sigmoid(b, hone_abs(b, x));
  hone_value_t* rest = hone_sub(b, hone_scalar(b, x->type.dtype, 1), v);
  return hone_select(b, hone_lt_number(b, x, 0), rest, v);
}

/* sqrt(2) * erfinv(2x - 1), with Winitzki's closed form for erfinv. */
static hone_value_t* probit(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* y = hone_add_number(b, hone_mul_number(b, x, 2), -1);
  if (!y) return NULL;
  hone_value_t* one = hone_scalar(b, y->type.dtype, 1);
  hone_value_t* log = hone_log(b, hone_mul(b, hone_sub(b, one, y), hone_add(b, one, y)));
  double a = (double)(2 / (3.14159f * 0.147f));
  hone_value_t* v = hone_add_number(b, hone_mul_number(b, log, 0.5), a);
  hone_value_t* v2 = hone_mul_number(b, log, (double)(1 / 0.147f));
  hone_value_t* root = hone_sqrt(b, hone_sub(b, hone_square(b, v), v2));
  hone_value_t* size = hone_sqrt(b, hone_sub(b, root, v));
  hone_value_t* value = hone_select(b, hone_lt_number(b, y, 0), hone_neg(b, size), size);
  return hone_mul_number(b, value, (double)1.41421356f);
}

/* A softmax to which scores of zero contribute nothing. */
static hone_value_t* softmax_zero(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* top = hone_reduce_last(b, HONE_COMBINE_MAX, x, 1, true);
  hone_value_t* counts = hone_gt_number(b, hone_abs(b, x), 0.0000001);
  hone_value_t* e = hone_exp(b, hone_sub(b, x, top));
  hone_value_t* zero = x ? hone_scalar(b, x->type.dtype, 0) : NULL;
  hone_value_t* sum =
      hone_reduce_last(b, HONE_COMBINE_ADD, hone_select(b, counts, e, zero), 1, true);
  hone_value_t* small = hone_mul(b, x, hone_exp(b, hone_neg(b, top)));
  return hone_div(b, hone_select(b, counts, e, small), sum);
}

hone_value_t* hone_ml_post(hone_builder_t* b, hone_value_t* scores, hone_ml_post_t post) {
  switch (post) {
    case HONE_ML_SOFTMAX:
      return hone_softmax(b, scores, -1);
    case HONE_ML_LOGISTIC:
      return hone_ml_logistic(b, scores);
    case HONE_ML_SOFTMAX_ZERO:
      return softmax_zero(b, scores);
    case HONE_ML_PROBIT:
      return probit(b, scores);
    default:
      return scores;
  }
}

hone_value_t* hone_ml_post_rows(hone_builder_t* b, hone_value_t* scores, hone_ml_post_t post) {
  return post == HONE_ML_PROBIT ? probit(b, scores) : scores;
}

/* Of the transforms, only these two apply to a single score. */
hone_value_t* hone_ml_two_scores(hone_builder_t* b, hone_value_t* s, hone_ml_post_t post,
                                 bool mixed) {
  if (!s) return NULL;
  if (post == HONE_ML_PROBIT) return hone_ml_pair(b, probit(b, s), hone_mul_number(b, s, 0));
  hone_value_t* minus = hone_neg(b, s);
  if (post == HONE_ML_LOGISTIC)
    return hone_ml_pair(b, hone_ml_logistic(b, minus), hone_ml_logistic(b, s));
  return hone_ml_pair(b, mixed ? minus : hone_add_number(b, minus, 1), s);
}

/* ---- shapes ---- */

hone_value_t* hone_ml_rows(hone_lower_t* l, hone_value_t* x, hone_dtype_t dtype) {
  if (!hone_is_known(l->b, x)) return NULL;
  int rank = hone_rank(x);
  if (rank == 1) x = hone_unsqueeze(l->b, x, 0);
  if (rank != 1 && rank != 2) {
    hone_op_fail(l, "the input has rank %d; rows of features are needed (rank 1 or 2)", rank);
    return NULL;
  }
  return hone_cast(l->b, x, dtype);
}

hone_value_t* hone_ml_pair(hone_builder_t* b, hone_value_t* first, hone_value_t* second) {
  hone_value_t* parts[2] = {first, second};
  return hone_concat(b, 2, parts, 1);
}

/* ---- constants ---- */

hone_value_t* hone_ml_floats(hone_lower_t* l, const char* name, int64_t count) {
  int n;
  const float* values = hone_attr_floats(l->node, name, &n);
  if (count >= 0 && n != count) {
    hone_op_fail(l, "attribute %s has %d entries; it needs %lld", name, n, (long long)count);
    return NULL;
  }
  return hone_constant_data(l->b, HONE_F32, 1, &(int64_t){n}, values);
}

hone_value_t* hone_ml_ints(hone_lower_t* l, const char* name) {
  int n;
  const int64_t* values = hone_attr_ints(l->node, name, &n);
  return hone_list_i64(l->b, n, values);
}

hone_value_t* hone_ml_strings(hone_lower_t* l, const char* name) {
  hone_builder_t* b = l->b;
  if (!hone_builder_ok(b)) return NULL;
  int n;
  const hone_string_t* strings = hone_attr_strings(l->node, name, &n);
  hone_tensor_t* tensor;
  hone_status_t status =
      hone_tensor_create(b->graph->allocator, HONE_STRING, 1, &(int64_t){n}, &tensor);
  if (status) return hone_fail_status(b, status);
  for (int i = 0; i < n; i++) {
    status = hone_tensor_set_string(tensor, i, strings[i].data, strings[i].size);
    if (!status) continue;
    hone_tensor_release(tensor);
    return hone_fail_status(b, status);
  }
  return hone_constant(b, tensor);
}

hone_ml_labels_t hone_ml_labels(hone_lower_t* l, const char* ints, const char* strings) {
  int n_ints, n_strings;
  hone_attr_ints(l->node, ints, &n_ints);
  hone_attr_strings(l->node, strings, &n_strings);
  if (n_ints == 0 && n_strings == 0) {
    hone_op_fail(l, "neither %s nor %s lists class labels", ints, strings);
    return (hone_ml_labels_t){0};
  }
  if (n_strings) return (hone_ml_labels_t){hone_ml_strings(l, strings), n_strings};
  return (hone_ml_labels_t){hone_ml_ints(l, ints), n_ints};
}

/* "0" and "1" as a constant. */
static hone_value_t* digit_strings(hone_builder_t* b) {
  if (!hone_builder_ok(b)) return NULL;
  hone_tensor_t* tensor;
  hone_status_t status =
      hone_tensor_create(b->graph->allocator, HONE_STRING, 1, &(int64_t){2}, &tensor);
  if (status) return hone_fail_status(b, status);
  for (int i = 0; i < 2 && !status; i++) status = hone_tensor_set_string(tensor, i, &"01"[i], 1);
  if (!status) return hone_constant(b, tensor);
  hone_tensor_release(tensor);
  return hone_fail_status(b, status);
}

hone_value_t* hone_ml_binary_label(hone_lower_t* l, const hone_ml_labels_t* labels,
                                   hone_value_t* positive) {
  hone_builder_t* b = l->b;
  if (!labels->values) return NULL;
  hone_value_t* names = labels->values;
  if (labels->count != 2)
    names = names->type.dtype == HONE_STRING ? digit_strings(b)
                                             : hone_list_i64(b, 2, (const int64_t[]){0, 1});
  return hone_gather(b, names, hone_cast(b, positive, HONE_I64));
}
