/* What the operators of ai.onnx.ml share: rows of features, lists of class
 * labels, constants from attributes, and the transforms of scores. */
#ifndef HONE_OPS_COMMON_ML_H
#define HONE_OPS_COMMON_ML_H

#include "ops/op.h"

#define HONE_ML_DOMAIN "ai.onnx.ml"

/* The order of the numbers is that of TreeEnsemble's attribute. */
typedef enum hone_ml_post {
  HONE_ML_NONE,
  HONE_ML_SOFTMAX,
  HONE_ML_LOGISTIC,
  HONE_ML_SOFTMAX_ZERO,
  HONE_ML_PROBIT,
} hone_ml_post_t;

/* The attribute post_transform; an unknown one is an error. */
hone_ml_post_t hone_ml_post_attr(hone_lower_t* l);
/* Applies the transform along the last axis. */
hone_value_t* hone_ml_post(hone_builder_t* b, hone_value_t* scores, hone_ml_post_t post);
hone_value_t* hone_ml_logistic(hone_builder_t* b, hone_value_t* x);
/* Scores of one column: only PROBIT does something to them. */
hone_value_t* hone_ml_post_rows(hone_builder_t* b, hone_value_t* scores, hone_ml_post_t post);

/* Scores of one column that stand for two classes, [n, 1], as [n, 2]: s counts
 * against -s when `mixed`, otherwise against 1 - s. */
hone_value_t* hone_ml_two_scores(hone_builder_t* b, hone_value_t* s, hone_ml_post_t post,
                                 bool mixed);

/* x as [rows, features] of `dtype`; a single row may come without its axis. */
hone_value_t* hone_ml_rows(hone_lower_t* l, hone_value_t* x, hone_dtype_t dtype);
/* [n, 1] and [n, 1] as [n, 2]. */
hone_value_t* hone_ml_pair(hone_builder_t* b, hone_value_t* first, hone_value_t* second);

/* The attribute `name` as a constant of `count` elements (-1: as many as there are). */
hone_value_t* hone_ml_floats(hone_lower_t* l, const char* name, int64_t count);
hone_value_t* hone_ml_ints(hone_lower_t* l, const char* name);
hone_value_t* hone_ml_strings(hone_lower_t* l, const char* name);

/* Class labels: a 1-D tensor of int64 or strings. */
typedef struct hone_ml_labels {
  hone_value_t* values;
  int count;
} hone_ml_labels_t;
hone_ml_labels_t hone_ml_labels(hone_lower_t* l, const char* ints, const char* strings);
/* The labels of `positive` (bool [n]): the second label where it holds, else
 * the first; without two labels 1 and 0. */
hone_value_t* hone_ml_binary_label(hone_lower_t* l, const hone_ml_labels_t* labels,
                                   hone_value_t* positive);

#endif
