/* The loss of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#ifndef HONE_OPS_COMMON_LABEL_LOSS_H
#define HONE_OPS_COMMON_LABEL_LOSS_H

#include "ops/op.h"

/* Minus the log-probability (n, classes, …) of each label (n, …), weighted and
 * reduced as the node's attributes and its inputs 1 (labels) and 2 (weights) say. */
hone_value_t* hone_op_label_loss(hone_lower_t* l, hone_value_t* log_probability);

#endif
