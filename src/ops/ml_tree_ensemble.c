/* TreeEnsemble (ai.onnx.ml, opset 5): inner nodes and leaves have lists of
 * their own, and a node may test whether a feature is a member of a set. */
#include <math.h>

#include "base/memory.h"
#include "ops/common/ml_forest.h"

/* A list attribute as int64, from ints or from a tensor; exactly `count`
 * entries unless that is negative. NULL after an error. */
static const int64_t* list(hone_lower_t* l, const char* name, int count, int* out_count) {
  int n;
  const int64_t* values = hone_attr_ints(l->node, name, &n);
  if (count >= 0 && n != count) {
    hone_op_fail(l, "%s has %d entries; it needs %d", name, n, count);
    return NULL;
  }
  if (out_count) *out_count = n;
  if (!values) hone_op_fail(l, "%s is missing or empty", name);
  return values;
}

/* A tensor attribute of `count` elements (-1: any number) as a run-time
 * tensor, kept by the graph; NULL after an error, or when it is absent. */
static const hone_tensor_t* tensor(hone_lower_t* l, const char* name, int64_t count) {
  const hone_onnx_tensor_t* attr = hone_attr_tensor(l->node, name);
  if (!attr || !hone_builder_ok(l->b)) return NULL;
  if (count >= 0 && attr->count != count) {
    hone_op_fail(l, "%s has %lld entries; it needs %lld", name, (long long)attr->count,
                 (long long)count);
    return NULL;
  }
  if (!hone_dtype_is_float(attr->dtype) && !hone_dtype_is_int(attr->dtype)) {
    hone_op_fail(l, "%s holds %s; numbers are needed", name, hone_dtype_name(attr->dtype));
    return NULL;
  }
  return hone_known_tensor(l->b, hone_onnx_tensor_constant(l->b, attr));
}

static bool read_leaves(hone_forest_t* f, int n_nodes, int n_leaves) {
  hone_lower_t* l = f->l;
  const int64_t* targets = list(l, "leaf_targetids", n_leaves, NULL);
  const hone_tensor_t* weights = tensor(l, "leaf_weights", n_leaves);
  if (!targets || !weights) return false;
  for (int i = 0; i < n_leaves; i++) {
    int entry = n_nodes + i;
    f->mode[entry] = HONE_BRANCH_LEAF;
    f->yes[entry] = f->no[entry] = entry;
    if (targets[i] < 0 || targets[i] >= f->n_targets) {
      hone_op_fail(l, "leaf_targetids has %lld; there are %d targets", (long long)targets[i],
                   f->n_targets);
      return false;
    }
    hone_forest_add_score(f, entry, targets[i], hone_tensor_f64(weights, i));
  }
  return true;
}

/* The entry of branch `id`: leaves come behind the nodes. */
static int64_t branch(const hone_forest_t* f, int n_nodes, int64_t id, int64_t is_leaf) {
  int64_t n = is_leaf ? f->n_entries - n_nodes : n_nodes;
  return id < 0 || id >= n ? -1 : is_leaf ? n_nodes + id : id;
}

static bool read_nodes(hone_forest_t* f, int n_nodes) {
  hone_lower_t* l = f->l;
  const int64_t* features = list(l, "nodes_featureids", n_nodes, NULL);
  const int64_t* yes = list(l, "nodes_truenodeids", n_nodes, NULL);
  const int64_t* no = list(l, "nodes_falsenodeids", n_nodes, NULL);
  const int64_t* yes_leaf = list(l, "nodes_trueleafs", n_nodes, NULL);
  const int64_t* no_leaf = list(l, "nodes_falseleafs", n_nodes, NULL);
  const hone_tensor_t* modes = tensor(l, "nodes_modes", n_nodes);
  const hone_tensor_t* splits = tensor(l, "nodes_splits", n_nodes);
  int n_missing;
  const int64_t* missing = hone_attr_ints(l->node, "nodes_missing_value_tracks_true", &n_missing);
  if (!features || !yes || !no || !yes_leaf || !no_leaf || !modes || !splits) {
    hone_op_fail(l, "an attribute of the nodes is missing");
    return false;
  }
  for (int i = 0; i < n_nodes; i++) {
    f->feature[i] = features[i];
    f->mode[i] = hone_tensor_i64(modes, i);
    f->split[i] = hone_tensor_f64(splits, i);
    f->yes[i] = branch(f, n_nodes, yes[i], yes_leaf[i]);
    f->no[i] = branch(f, n_nodes, no[i], no_leaf[i]);
    f->missing_is_yes[i] = n_missing == n_nodes && missing[i] == 1;
    if (f->mode[i] < 0 || f->mode[i] >= HONE_BRANCH_COUNT) {
      hone_op_fail(l, "nodes_modes has %lld; it goes from 0 to 6", (long long)f->mode[i]);
      return false;
    }
  }
  return true;
}

static bool read_roots(hone_forest_t* f) {
  int n;
  const int64_t* roots = list(f->l, "tree_roots", -1, &n);
  f->roots =
      roots ? hone_arena_memdup(f->l->b->graph->arena, roots, (size_t)n * sizeof *roots) : NULL;
  if (roots && !f->roots) hone_fail_status(f->l->b, hone_oom());
  f->n_trees = f->roots ? n : 0;
  return f->roots != NULL;
}

/* Sets follow one another in the order of the nodes that test them, each
 * ended by NaN. */
static bool read_members(hone_forest_t* f, int n_nodes) {
  hone_lower_t* l = f->l;
  const hone_tensor_t* values = tensor(l, "membership_values", -1);
  if (!hone_builder_ok(l->b) || !values) return hone_builder_ok(l->b);
  int64_t count = hone_tensor_count(values), longest = 0;
  for (int64_t i = 0, run = 0; i < count; i++) {
    run = isnan(hone_tensor_f64(values, i)) ? 0 : run + 1;
    if (run > longest) longest = run;
  }
  size_t total;
  if (longest == 0 || longest > INT32_MAX) return true;
  if (!hone_size_mul((size_t)longest, (size_t)f->n_entries, &total)) total = SIZE_MAX;
  f->members = hone_arena_array(l->b->graph->arena, total, sizeof *f->members);
  if (!f->members) {
    hone_fail_status(l->b, hone_oom());
    return false;
  }
  for (size_t i = 0; i < total; i++) f->members[i] = (double)NAN;
  f->n_members = (int)longest;
  int64_t at = 0;
  for (int i = 0; i < n_nodes; i++) {
    if (f->mode[i] != HONE_BRANCH_MEMBER) continue;
    for (int64_t k = 0; at < count && !isnan(hone_tensor_f64(values, at)); k++, at++)
      f->members[i * longest + k] = hone_tensor_f64(values, at);
    at++;
  }
  return true;
}

static void lower_tree_ensemble(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_forest_t f = {.dtype = hone_dtype_of(x) == HONE_F64 ? HONE_F64 : HONE_F32};
  int64_t how = hone_attr_int(l->node, "aggregate_function", HONE_AGGREGATE_SUM);
  int64_t post = hone_attr_int(l->node, "post_transform", HONE_ML_NONE);
  if (how < 0 || how > HONE_AGGREGATE_MAX || post < 0 || post > HONE_ML_PROBIT) {
    hone_op_fail(l, "aggregate_function is %lld (0 to 3) and post_transform %lld (0 to 4)",
                 (long long)how, (long long)post);
    return;
  }
  int n_nodes, n_leaves;
  if (!list(l, "nodes_featureids", -1, &n_nodes) || !list(l, "leaf_targetids", -1, &n_leaves))
    return;
  if (!hone_forest_init(&f, l, (int64_t)n_nodes + n_leaves, hone_attr_int(l->node, "n_targets", 1),
                        n_leaves))
    return;
  if (!read_nodes(&f, n_nodes) || !read_leaves(&f, n_nodes, n_leaves) || !read_roots(&f) ||
      !read_members(&f, n_nodes))
    return;
  hone_value_t* leaves = hone_forest_walk(&f, hone_ml_rows(l, x, f.dtype));
  hone_value_t* y = hone_forest_total(&f, leaves, (hone_aggregate_t)how);
  y = f.n_targets == 1 ? hone_ml_post_rows(b, y, (hone_ml_post_t)post)
                       : hone_ml_post(b, y, (hone_ml_post_t)post);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "TreeEnsemble",
     .min_opset = 5,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "aggregate_function leaf_targetids leaf_weights membership_values n_targets "
              "nodes_falseleafs nodes_falsenodeids nodes_featureids nodes_hitrates "
              "nodes_missing_value_tracks_true nodes_modes nodes_splits nodes_trueleafs "
              "nodes_truenodeids post_transform tree_roots",
     .lower = lower_tree_ensemble},
};
HONE_OP_FAMILY(ml_tree_ensemble, ops)
