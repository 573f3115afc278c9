/* The attributes of TreeEnsembleClassifier and TreeEnsembleRegressor as a
 * forest: nodes are named by tree and node ids, leaves get weights by name. */
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "ops/common/ml_forest.h"

const double* hone_forest_numbers(hone_lower_t* l, const char* name, const char* tensor_name,
                                  int* out_count) {
  const hone_onnx_tensor_t* tensor = hone_attr_tensor(l->node, tensor_name);
  int n;
  const float* floats = hone_attr_floats(l->node, name, &n);
  bool wide = tensor && tensor->dtype == HONE_F64;
  *out_count = 0;
  if (tensor && (tensor->count > INT32_MAX || (!wide && tensor->dtype != HONE_F32))) {
    hone_op_fail(l, "%s holds %s; it needs f32 or f64", tensor_name,
                 hone_dtype_name(tensor->dtype));
    return NULL;
  }
  if (tensor) n = (int)tensor->count;
  if (n == 0) return NULL;
  double* numbers = hone_arena_array(l->b->graph->arena, (size_t)n, sizeof *numbers);
  if (!numbers) {
    hone_fail_status(l->b, hone_oom());
    return NULL;
  }
  if (wide) memcpy(numbers, tensor->data, (size_t)n * sizeof *numbers);
  if (tensor && !wide) floats = tensor->data;
  for (int i = 0; i < n && !wide; i++) numbers[i] = (double)floats[i];
  *out_count = n;
  return numbers;
}

/* ---- names of nodes ---- */

/* Entries by (tree id, node id); value is the entry + 1. */
static uint64_t node_key(int64_t tree, int64_t node) {
  return ((uint64_t)tree << 32) ^ ((uint64_t)node & 0xffffffffu);
}

static int64_t find_node(const hone_map_t* map, int64_t tree, int64_t node) {
  return (int64_t)(uintptr_t)hone_map_get_u64(map, node_key(tree, node)) - 1;
}

static bool is_id(int64_t id) { return id >= 0 && id <= INT32_MAX; }

typedef struct reader {
  hone_forest_t* f;
  hone_lower_t* l;
  hone_map_t map;
  const int64_t *trees, *nodes;
} reader_t;

static bool index_nodes(reader_t* r) {
  for (int i = 0; i < r->f->n_entries; i++) {
    int64_t tree = r->trees[i], node = r->nodes[i];
    if (!is_id(tree) || !is_id(node) || find_node(&r->map, tree, node) >= 0) {
      hone_op_fail(r->l, "node %lld of tree %lld is there twice, or negative", (long long)node,
                   (long long)tree);
      return false;
    }
    hone_status_t status =
        hone_map_put_u64(&r->map, node_key(tree, node), (void*)(uintptr_t)(i + 1));
    if (status) {
      hone_fail_status(r->l->b, status);
      return false;
    }
  }
  return true;
}

/* ---- nodes ---- */

static int64_t parse_mode(const hone_string_t* mode) {
  static const char* const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (int i = 0; i < 8; i++)
    if (mode->size == strlen(names[i]) && memcmp(mode->data, names[i], mode->size) == 0) return i;
  return -1;
}

/* The list, which must have one entry for each node. */
static const int64_t* node_ints(reader_t* r, const char* name) {
  int n;
  const int64_t* values = hone_attr_ints(r->l->node, name, &n);
  if (n == r->f->n_entries) return values;
  hone_op_fail(r->l, "%s has %d entries for %d nodes", name, n, r->f->n_entries);
  return NULL;
}

static bool read_node(reader_t* r, int i, int64_t yes, int64_t no, bool* has_parent) {
  hone_forest_t* f = r->f;
  if (f->mode[i] == HONE_BRANCH_LEAF) {
    f->yes[i] = f->no[i] = i;
    return true;
  }
  f->yes[i] = find_node(&r->map, r->trees[i], yes);
  f->no[i] = find_node(&r->map, r->trees[i], no);
  if (!is_id(yes) || !is_id(no) || f->yes[i] < 0 || f->no[i] < 0) {
    hone_op_fail(r->l, "node %lld of tree %lld branches to a node that is not there",
                 (long long)r->nodes[i], (long long)r->trees[i]);
    return false;
  }
  has_parent[f->yes[i]] = has_parent[f->no[i]] = true;
  return true;
}

static bool read_modes(reader_t* r) {
  int n;
  const hone_string_t* modes = hone_attr_strings(r->l->node, "nodes_modes", &n);
  for (int i = 0; i < n && i < r->f->n_entries; i++) {
    r->f->mode[i] = parse_mode(&modes[i]);
    if (r->f->mode[i] < 0 || r->f->mode[i] == HONE_BRANCH_MEMBER) {
      hone_op_fail(r->l, "nodes_modes has '%.*s', which is unknown", (int)modes[i].size,
                   modes[i].data);
      return false;
    }
  }
  if (n != r->f->n_entries) hone_op_fail(r->l, "nodes_modes has %d entries", n);
  return n == r->f->n_entries;
}

static bool read_nodes(reader_t* r) {
  hone_forest_t* f = r->f;
  const int64_t* yes = node_ints(r, "nodes_truenodeids");
  const int64_t* no = node_ints(r, "nodes_falsenodeids");
  const int64_t* features = node_ints(r, "nodes_featureids");
  int n_splits, n_missing;
  const double* splits =
      hone_forest_numbers(r->l, "nodes_values", "nodes_values_as_tensor", &n_splits);
  const int64_t* missing =
      hone_attr_ints(r->l->node, "nodes_missing_value_tracks_true", &n_missing);
  bool* has_parent =
      hone_arena_array(r->l->b->graph->arena, (size_t)f->n_entries, sizeof *has_parent);
  if (!yes || !no || !features || !has_parent || !read_modes(r)) return false;
  if (n_splits != f->n_entries) {
    hone_op_fail(r->l, "nodes_values has %d entries for %d nodes", n_splits, f->n_entries);
    return false;
  }
  for (int i = 0; i < f->n_entries; i++) {
    f->split[i] = splits[i];
    f->feature[i] = f->mode[i] == HONE_BRANCH_LEAF ? 0 : features[i];
    f->missing_is_yes[i] = n_missing == f->n_entries && missing[i] == 1;
    if (!read_node(r, i, yes[i], no[i], has_parent)) return false;
  }
  for (int i = 0; i < f->n_entries; i++)
    if (!has_parent[i]) f->roots[f->n_trees++] = i;
  if (f->n_trees == 0) hone_op_fail(r->l, "the nodes of a tree form a cycle");
  return f->n_trees > 0;
}

/* ---- weights ---- */

static bool read_weights(reader_t* r, const hone_forest_names_t* names) {
  hone_forest_t* f = r->f;
  int n, n_nodes, n_trees, n_weights;
  const int64_t* ids = hone_attr_ints(r->l->node, names->ids, &n);
  const int64_t* nodes = hone_attr_ints(r->l->node, names->node_ids, &n_nodes);
  const int64_t* trees = hone_attr_ints(r->l->node, names->tree_ids, &n_trees);
  const double* weights =
      hone_forest_numbers(r->l, names->weights, names->weights_as_tensor, &n_weights);
  if (n != n_nodes || n != n_trees || n != n_weights) {
    hone_op_fail(r->l, "%s, %s, %s and %s differ in length", names->ids, names->node_ids,
                 names->tree_ids, names->weights);
    return false;
  }
  for (int i = 0; i < n; i++) {
    int64_t entry =
        is_id(trees[i]) && is_id(nodes[i]) ? find_node(&r->map, trees[i], nodes[i]) : -1;
    if (entry < 0 || ids[i] < 0 || ids[i] >= f->n_targets) {
      hone_op_fail(r->l, "weight %d belongs to a node or target that is not there", i);
      return false;
    }
    hone_forest_add_score(f, entry, ids[i], weights[i]);
  }
  return true;
}

bool hone_forest_read(hone_forest_t* f, hone_lower_t* l, const hone_forest_names_t* names,
                      int64_t n_targets) {
  reader_t r = {.f = f, .l = l};
  int n, n_nodes;
  f->dtype = hone_dtype_of(hone_op_in(l, 0)) == HONE_F64 ? HONE_F64 : HONE_F32;
  r.trees = hone_attr_ints(l->node, "nodes_treeids", &n);
  r.nodes = hone_attr_ints(l->node, "nodes_nodeids", &n_nodes);
  if (n != n_nodes) {
    hone_op_fail(l, "nodes_treeids has %d entries and nodes_nodeids %d", n, n_nodes);
    return false;
  }
  int n_scores;
  hone_attr_ints(l->node, names->ids, &n_scores);
  if (!hone_forest_init(f, l, n, n_targets, n_scores)) return false;
  hone_map_init_arena(&r.map, l->b->graph->arena);
  bool ok = index_nodes(&r) && read_nodes(&r) && read_weights(&r, names);
  hone_map_free(&r.map);
  return ok;
}

hone_value_t* hone_forest_add_base(hone_forest_t* f, hone_value_t* totals) {
  hone_lower_t* l = f->l;
  int n;
  const double* base = hone_forest_numbers(l, "base_values", "base_values_as_tensor", &n);
  if (n != f->n_targets) return totals;
  hone_value_t* values = hone_constant_data(l->b, HONE_F64, 1, &(int64_t){n}, base);
  return hone_add(l->b, totals, hone_cast(l->b, values, f->dtype));
}
