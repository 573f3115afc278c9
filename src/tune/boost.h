/* Gradient-boosted regression trees: learns to predict a number from a few
 * features, out of tens to thousands of examples. The tuner's model of cost.
 *
 * Each tree is grown level by level by exact splits and Newton steps on the
 * loss, as in T. Chen, C. Guestrin, "XGBoost: A Scalable Tree Boosting System"
 * (KDD 2016). The ranking loss is the logistic one over pairs of C. Burges et
 * al., "Learning to Rank using Gradient Descent" (ICML 2005). The same seed
 * and examples give the same trees. Not thread-safe while fitting; predicting is. */
#ifndef HONE_TUNE_BOOST_H
#define HONE_TUNE_BOOST_H

#include "hone/allocator.h"

typedef enum hone_boost_loss {
  HONE_BOOST_RANK,    /* only the order of predictions matters */
  HONE_BOOST_SQUARED, /* predictions are near the targets */
} hone_boost_loss_t;

/* A zero means the default. */
typedef struct hone_boost_options {
  hone_boost_loss_t loss;
  int trees;     /* 48 */
  int depth;     /* 5; at most 12 */
  int min_leaf;  /* examples on either side of a split: 2 */
  double rate;   /* share of each tree's step that is taken: 0.25 */
  double sample; /* share of the examples that each tree sees: 0.8 */
  uint64_t seed;
} hone_boost_options_t;

typedef struct hone_boost hone_boost_t;

/* Fits to `rows` examples: `features` [rows][n_features], `targets` [rows].
 * A feature that is not a number counts as infinite. Time grows with
 * trees * depth * rows * n_features. Errors: INVALID_ARGUMENT (no rows or
 * features, or a target that is not finite), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_boost_fit(const hone_allocator_t* allocator,
                                           const hone_boost_options_t* options, int rows,
                                           int n_features, const double* features,
                                           const double* targets, hone_boost_t** out_boost);
void hone_boost_destroy(hone_boost_t* boost); /* NULL is allowed */
/* The prediction for one example of n_features. */
double hone_boost_predict(const hone_boost_t* boost, const double* features);

#endif
