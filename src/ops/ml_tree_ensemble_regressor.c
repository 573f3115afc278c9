/* TreeEnsembleRegressor (ai.onnx.ml, opsets 1 and 3): totals of the weights of
 * the leaves reached. */
#include <string.h>

#include "ops/common/ml_forest.h"

static hone_aggregate_t aggregate_attr(hone_lower_t* l) {
  static const char* const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const char* name = hone_attr_string(l->node, "aggregate_function", "SUM");
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) return (hone_aggregate_t)i;
  hone_op_fail(l, "aggregate_function '%s' is unknown; it is AVERAGE, SUM, MIN or MAX", name);
  return HONE_AGGREGATE_SUM;
}

static void lower_tree_ensemble_regressor(hone_lower_t* l) {
  static const hone_forest_names_t names = {"target_ids", "target_nodeids", "target_treeids",
                                            "target_weights", "target_weights_as_tensor"};
  hone_builder_t* b = l->b;
  hone_forest_t f = {0};
  hone_ml_post_t post = hone_ml_post_attr(l);
  hone_aggregate_t how = aggregate_attr(l);
  if (!hone_forest_read(&f, l, &names, hone_attr_int(l->node, "n_targets", 1))) return;
  hone_value_t* leaves = hone_forest_walk(&f, hone_ml_rows(l, hone_op_in(l, 0), f.dtype));
  hone_value_t* y = hone_forest_add_base(&f, hone_forest_total(&f, leaves, how));
  if (f.n_targets > 1) y = hone_forest_mask(&f, leaves, y);
  y = f.n_targets == 1 ? hone_ml_post_rows(b, y, post) : hone_ml_post(b, y, post);
  hone_op_out(l, 0, hone_cast(b, y, HONE_F32));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "TreeEnsembleRegressor",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "aggregate_function base_values base_values_as_tensor n_targets nodes_falsenodeids "
              "nodes_featureids nodes_hitrates nodes_hitrates_as_tensor "
              "nodes_missing_value_tracks_true nodes_modes nodes_nodeids nodes_treeids "
              "nodes_truenodeids nodes_values nodes_values_as_tensor post_transform target_ids "
              "target_nodeids target_treeids target_weights target_weights_as_tensor",
     .lower = lower_tree_ensemble_regressor},
};
HONE_OP_FAMILY(ml_tree_ensemble_regressor, ops)
