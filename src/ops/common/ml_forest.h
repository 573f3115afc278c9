/* A forest of decision trees, the form to which the three TreeEnsemble
 * operators bring their attributes, and its evaluation as primitives.
 *
 * All trees share one list of entries; a leaf is an entry whose two branches
 * are itself. Where each row of x stands in each tree is a tensor [rows,
 * trees] that starts at the roots and takes one step towards the leaves in
 * each round of a loop; rows that arrived early stay where they are.
 *
 * A step must not wait for a guess: the walk brings the entries to pairs first
 * (ml_forest_pairs.c), and a step is next[at] plus whether the second is it. */
#ifndef HONE_OPS_COMMON_ML_FOREST_H
#define HONE_OPS_COMMON_ML_FOREST_H

#include "ops/common/ml.h"

/* The numbers are those of TreeEnsemble's nodes_modes. */
typedef enum hone_branch {
  HONE_BRANCH_LEQ,
  HONE_BRANCH_LT,
  HONE_BRANCH_GTE,
  HONE_BRANCH_GT,
  HONE_BRANCH_EQ,
  HONE_BRANCH_NEQ,
  HONE_BRANCH_MEMBER,
  HONE_BRANCH_COUNT,
  HONE_BRANCH_LEAF = HONE_BRANCH_COUNT,
} hone_branch_t;

typedef enum hone_aggregate {
  HONE_AGGREGATE_AVERAGE,
  HONE_AGGREGATE_SUM,
  HONE_AGGREGATE_MIN,
  HONE_AGGREGATE_MAX,
} hone_aggregate_t;

typedef struct hone_forest {
  hone_lower_t* l;
  hone_dtype_t dtype; /* of the arithmetic: f32 or f64 */
  int n_entries;
  int64_t* feature;
  double* split;
  int64_t* mode; /* HONE_BRANCH_… */
  int64_t* yes;  /* entry to go to when the test holds; not after hone_forest_pair */
  int64_t* no;
  int64_t* next; /* made by it: the first entry that this one leads to; the second is behind it */
  bool by_key;   /* the walk compares keys (ml_forest_keys.c) */
  bool* missing_is_yes;  /* NaN passes the test */
  int n_trees, n_blanks; /* blanks: the last of them, which say nothing; made by the walk */
  int64_t* roots;
  int32_t* depth; /* of each tree, the deepest first: so the walk orders them */
  int n_targets;
  int n_scores; /* what the leaves say: a weight for a target, any number a leaf */
  int64_t* score_entry;
  int64_t* score_target;
  double* score_weight;
  int n_members;   /* of the largest set */
  double* members; /* [n_entries, n_members], filled up with NaN */
  /* Of each tree, when all of its leaves score one and the same target: that
   * target, as gradient boosting has it. NULL otherwise. Made by the walk. */
  int64_t* tree_target;
} hone_forest_t;

/* Room for everything but members; false when memory is out or the sizes are
 * absurd. There may be at most `n_scores` scores. */
bool hone_forest_init(hone_forest_t* f, hone_lower_t* l, int64_t n_entries, int64_t n_targets,
                      int64_t n_scores);
void hone_forest_add_score(hone_forest_t* f, int64_t entry, int64_t target, double weight);
/* Must come before what follows. Entry of the leaf that each row [n, features] reaches in each
 * tree: i64 [n, trees]. Branches to entries that are not there and cycles are errors. */
hone_value_t* hone_forest_walk(hone_forest_t* f, hone_value_t* x);

/* ---- parts of the walk ---- */

/* Whether rows of so many columns can be compared by keys: all tests are of order. */
bool hone_forest_can_use_keys(const hone_forest_t* f, hone_dim_t columns);
/* Of paired entries: keys of the rows, unsigned [n, features or twice as many], and the key of an
 * entry's split, a number as wide as the rows'. */
hone_value_t* hone_forest_keys(hone_forest_t* f, hone_value_t* x);
int64_t hone_forest_split_key(const hone_forest_t* f, int entry);
/* Brings checked entries to pairs, roots first; false when memory is out. */
bool hone_forest_pair(hone_forest_t* f);

/* ---- results ---- */

/* Weights of the leaves over all trees: [n, targets]; where none counts 0. */
hone_value_t* hone_forest_total(hone_forest_t* f, hone_value_t* leaves, hone_aggregate_t how);
/* bool [n, targets]: some leaf says something about the target. */
hone_value_t* hone_forest_has_score(hone_forest_t* f, hone_value_t* leaves);

/* ---- the attributes of opsets 1 and 3 ---- */

/* Which attributes hold the leaves' weights. */
typedef struct hone_forest_names {
  const char *ids, *node_ids, *tree_ids, *weights, *weights_as_tensor;
} hone_forest_names_t;

/* Fills `f` from nodes_… and the weights; false after an error. */
bool hone_forest_read(hone_forest_t* f, hone_lower_t* l, const hone_forest_names_t* names,
                      int64_t n_targets);
/* A list of numbers given as floats or, under `tensor_name`, as a tensor of
 * f32 or f64; NULL and 0 when there is none. */
const double* hone_forest_numbers(hone_lower_t* l, const char* name, const char* tensor_name,
                                  int* out_count);
/* Adds base_values[i] to column i where there is one for each column. */
hone_value_t* hone_forest_add_base(hone_forest_t* f, hone_value_t* totals);
/* 0 for the targets of which no leaf says something. */
hone_value_t* hone_forest_mask(hone_forest_t* f, hone_value_t* leaves, hone_value_t* totals);

#endif
