/* TreeEnsembleClassifier (ai.onnx.ml, opsets 1 and 3).
 *
 * With three classes or more, the label is that of the largest total. With two
 * the specification is vague, and models rely on what onnxruntime does: when
 * all weights belong to one class, a single score stands for both; otherwise
 * the sign of the second decides. */
#include <math.h>

#include "base/memory.h"
#include "ops/common/ml_forest.h"

typedef struct classifier {
  hone_lower_t* l;
  hone_forest_t forest;
  hone_ml_labels_t labels;
  hone_ml_post_t post;
  bool one_class_id; /* every weight belongs to the same class */
  bool all_positive; /* no weight is below 0 */
  int n_base;
  const double* base;
} classifier_t;

static void read_weights_kind(classifier_t* c) {
  int n, n_weights;
  const int64_t* ids = hone_attr_ints(c->l->node, "class_ids", &n);
  const double* weights =
      hone_forest_numbers(c->l, "class_weights", "class_weights_as_tensor", &n_weights);
  c->one_class_id = n > 0;
  c->all_positive = true;
  for (int i = 0; i < n; i++) c->one_class_id &= ids[i] == ids[0];
  for (int i = 0; i < n_weights; i++) c->all_positive &= !(weights[i] < 0);
}

static hone_value_t* column(hone_builder_t* b, hone_value_t* x, int index) {
  return hone_slice_axis(b, x, 1, hone_d(index), hone_d(index + 1));
}

/* ---- three classes or more ---- */

/* The base values, with zeros for the classes that have none, and which have. */
static hone_value_t* base_constant(classifier_t* c, bool* has) {
  double* base = hone_arena_array(c->l->b->graph->arena, (size_t)c->labels.count, sizeof *base);
  if (!base) return hone_fail_status(c->l->b, hone_oom());
  for (int i = 0; i < c->labels.count && i < c->n_base; i++) {
    base[i] = c->base[i];
    has[i] = true;
  }
  return hone_constant_data(c->l->b, HONE_F64, 1, &(int64_t){c->labels.count}, base);
}

static void write_many(classifier_t* c, hone_value_t* leaves, hone_value_t* totals) {
  hone_lower_t* l = c->l;
  hone_builder_t* b = l->b;
  int64_t n = c->labels.count;
  bool* has_base = hone_arena_array(b->graph->arena, (size_t)n, sizeof *has_base);
  if (!has_base) {
    hone_fail_status(b, hone_oom());
    return;
  }
  hone_value_t* base = hone_cast(b, base_constant(c, has_base), c->forest.dtype);
  hone_value_t* has = hone_or(b, hone_forest_has_score(&c->forest, leaves),
                              hone_constant_data(b, HONE_BOOL, 1, &n, has_base));
  totals = hone_add(b, totals, base);
  hone_value_t* never = hone_scalar(b, c->forest.dtype, -(double)INFINITY);
  hone_value_t* best = hone_arg_max(b, hone_select(b, has, totals, never), 1, false, false, false);
  hone_op_out(l, 0, hone_gather(b, c->labels.values, best));
  totals = hone_select(b, has, totals, hone_scalar(b, c->forest.dtype, 0));
  hone_op_out(l, 1, hone_cast(b, hone_ml_post(b, totals, c->post), HONE_F32));
}

/* ---- two classes ---- */

/* Both scores out of the first, where the second class has none. */
static hone_value_t* expand_one(classifier_t* c, hone_value_t* s) {
  hone_builder_t* b = c->l->b;
  if (!c->one_class_id && c->n_base > 0)
    return hone_ml_pair(b, hone_ml_post_rows(b, s, c->post), hone_mul_number(b, s, 0));
  return hone_ml_two_scores(b, s, c->post, !c->one_class_id || !c->all_positive);
}

typedef struct two {
  hone_value_t *first, *second;
} two_t;

/* One base value goes to the first class. Of two, the second counts for both
 * where the second class has a score of its own. */
static two_t with_base(classifier_t* c, two_t s, hone_value_t* has_second) {
  hone_builder_t* b = c->l->b;
  if (c->n_base == 1) s.first = hone_add_number(b, s.first, c->base[0]);
  if (c->n_base != 2) return s;
  hone_value_t* merged = hone_add_number(b, s.first, c->base[1]);
  hone_value_t* alone = hone_add_number(b, s.first, c->base[0]);
  return (two_t){
      .first = hone_select(b, has_second, hone_neg(b, merged), alone),
      .second = hone_select(b, has_second, merged, s.second),
  };
}

static void write_two(classifier_t* c, hone_value_t* leaves, hone_value_t* totals) {
  hone_lower_t* l = c->l;
  hone_builder_t* b = l->b;
  hone_value_t* has = hone_forest_has_score(&c->forest, leaves);
  hone_value_t *has_first = column(b, has, 0), *has_second = column(b, has, 1);
  hone_value_t* zero = hone_scalar(b, c->forest.dtype, 0);
  two_t s = with_base(c, (two_t){column(b, totals, 0), column(b, totals, 1)}, has_second);
  s.first = hone_select(b, has_first, s.first, zero);
  hone_value_t* decides = hone_select(b, has_second, s.second, s.first);
  double limit = c->one_class_id && c->all_positive ? 0.5 : 0;
  hone_value_t* positive = hone_squeeze(b, hone_gt_number(b, decides, limit), 1);
  hone_ml_labels_t labels = c->labels;
  if (!c->one_class_id && labels.values && labels.values->type.dtype != HONE_STRING)
    labels.count = 0; /* 1 and 0, whatever the labels are */
  hone_op_out(l, 0, hone_ml_binary_label(l, &labels, positive));
  hone_value_t* scores = hone_ml_post(b, hone_ml_pair(b, s.first, s.second), c->post);
  if (c->n_base != 2) scores = hone_select(b, has_second, scores, expand_one(c, s.first));
  hone_op_out(l, 1, hone_cast(b, scores, HONE_F32));
}

/* ---- one class ---- */

static void write_one(classifier_t* c, hone_value_t* totals) {
  hone_lower_t* l = c->l;
  hone_builder_t* b = l->b;
  if (c->n_base == 1) totals = hone_add_number(b, totals, c->base[0]);
  hone_value_t* positive = hone_squeeze(b, hone_gt_number(b, totals, 0), 1);
  hone_op_out(l, 0, hone_ml_binary_label(l, &c->labels, positive));
  hone_op_out(l, 1, hone_cast(b, hone_ml_post_rows(b, totals, c->post), HONE_F32));
}

static void lower_tree_ensemble_classifier(hone_lower_t* l) {
  static const hone_forest_names_t names = {"class_ids", "class_nodeids", "class_treeids",
                                            "class_weights", "class_weights_as_tensor"};
  classifier_t c = {.l = l};
  c.labels = hone_ml_labels(l, "classlabels_int64s", "classlabels_strings");
  c.post = hone_ml_post_attr(l);
  c.base = hone_forest_numbers(l, "base_values", "base_values_as_tensor", &c.n_base);
  read_weights_kind(&c);
  if (!hone_builder_ok(l->b) || !hone_forest_read(&c.forest, l, &names, c.labels.count)) return;
  hone_value_t* x = hone_ml_rows(l, hone_op_in(l, 0), c.forest.dtype);
  hone_value_t* leaves = hone_forest_walk(&c.forest, x);
  hone_value_t* totals = hone_forest_total(&c.forest, leaves, HONE_AGGREGATE_SUM);
  if (c.labels.count > 2)
    write_many(&c, leaves, totals);
  else if (c.labels.count == 2)
    write_two(&c, leaves, totals);
  else
    write_one(&c, totals);
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "TreeEnsembleClassifier",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "base_values base_values_as_tensor class_ids class_nodeids class_treeids "
              "class_weights class_weights_as_tensor classlabels_int64s classlabels_strings "
              "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_hitrates_as_tensor "
              "nodes_missing_value_tracks_true nodes_modes nodes_nodeids nodes_treeids "
              "nodes_truenodeids nodes_values nodes_values_as_tensor post_transform",
     .lower = lower_tree_ensemble_classifier},
};
HONE_OP_FAMILY(ml_tree_ensemble_classifier, ops)
