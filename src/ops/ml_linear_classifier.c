/* LinearClassifier (ai.onnx.ml): scores are x times the coefficients plus
 * intercepts; the label is that of the largest score. With one score and two
 * labels the second label stands for a positive score, and the scores become
 * 1 - s and s. */
#include "ops/common/ml.h"

/* Number of score columns: one for each intercept. */
static int count_scores(hone_lower_t* l, const hone_ml_labels_t* labels) {
  int n, total;
  hone_attr_floats(l->node, "intercepts", &n);
  hone_attr_floats(l->node, "coefficients", &total);
  if (n == 0) n = labels->count;
  if (n == 0 || total == 0 || total % n != 0) {
    hone_op_fail(l, "%d coefficients do not make %d rows", total, n);
    return 0;
  }
  return n;
}

static hone_value_t* linear_scores(hone_lower_t* l, int n) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_ml_rows(l, hone_op_in(l, 0), HONE_F32);
  int total, n_intercepts;
  hone_attr_floats(l->node, "coefficients", &total);
  hone_attr_floats(l->node, "intercepts", &n_intercepts);
  hone_dim_t shape[2] = {hone_d(n), hone_d(total / n)};
  hone_value_t* w = hone_reshape(b, hone_ml_floats(l, "coefficients", -1), 2, shape);
  const int64_t pairs[1][2] = {{1, 1}};
  hone_value_t* scores = hone_contract(b, x, w, 1, pairs, 0, HONE_F32);
  return n_intercepts ? hone_add(b, scores, hone_ml_floats(l, "intercepts", n)) : scores;
}

static void lower_linear_classifier(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_ml_labels_t labels = hone_ml_labels(l, "classlabels_ints", "classlabels_strings");
  hone_ml_post_t post = hone_ml_post_attr(l);
  int n = count_scores(l, &labels);
  if (n == 0 || !hone_builder_ok(b)) return;
  hone_value_t* scores = linear_scores(l, n);
  if (n > 1) {
    if (n > labels.count) {
      hone_op_fail(l, "there are %d scores but %d class labels", n, labels.count);
      return;
    }
    hone_op_out(l, 0,
                hone_gather(b, labels.values, hone_arg_max(b, scores, 1, false, false, false)));
    hone_op_out(l, 1, hone_ml_post(b, scores, post));
    return;
  }
  hone_value_t* positive = hone_squeeze(b, hone_gt_number(b, scores, 0), 1);
  hone_op_out(l, 0, hone_ml_binary_label(l, &labels, positive));
  hone_op_out(l, 1,
              labels.count == 2 ? hone_ml_two_scores(b, scores, post, false)
                                : hone_ml_post_rows(b, scores, post));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "LinearClassifier",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs =
         "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform",
     .lower = lower_linear_classifier},
};
HONE_OP_FAMILY(ml_linear_classifier, ops)
