/* NegativeLogLikelihoodLoss: the loss of labels under given log-probabilities. */
#include "ops/common/formulas.h"
#include "ops/common/label_loss.h"

static void lower_negative_log_likelihood_loss(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* loss = hone_op_label_loss(l, hone_widen(l->b, x));
  hone_op_out(l, 0, hone_cast(l->b, loss, hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "NegativeLogLikelihoodLoss",
     .min_opset = 12,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "ignore_index reduction",
     .lower = lower_negative_log_likelihood_loss},
};
HONE_OP_FAMILY(negative_log_likelihood_loss, ops)
