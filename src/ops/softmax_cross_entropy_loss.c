/* SoftmaxCrossEntropyLoss: the loss of labels under the softmax of scores. */
#include "ops/common/formulas.h"
#include "ops/common/label_loss.h"

static void lower_softmax_cross_entropy_loss(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* log_probability = hone_log_softmax(b, hone_widen(b, x), 1);
  hone_value_t* loss = hone_op_label_loss(l, log_probability);
  hone_op_out(l, 0, hone_cast(b, loss, hone_dtype_of(x)));
  hone_op_out(l, 1, hone_cast(b, log_probability, hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "SoftmaxCrossEntropyLoss",
     .min_opset = 12,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "ignore_index reduction",
     .lower = lower_softmax_cross_entropy_loss},
};
HONE_OP_FAMILY(softmax_cross_entropy_loss, ops)
