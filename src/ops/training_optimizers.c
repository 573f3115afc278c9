/* One step of an optimizer, for any number of tensors at once: Adagrad, Adam
 * and Momentum of ai.onnx.preview.training. Inputs: learning rate R, update
 * count T, then all tensors X, all their gradients G, and the state that each
 * method keeps (in one or two further groups). */
#include <string.h>

#include "ops/op.h"

/* What all three are given, for one tensor. */
typedef struct step {
  hone_lower_t* l;
  hone_builder_t* b;
  hone_value_t *r, *t;         /* scalars: R, and T in R's dtype */
  hone_value_t *x, *g, *v, *h; /* h: of Adam only */
  hone_value_t* out[3];
} step_t;

static hone_value_t* scaled(step_t* s, hone_value_t* x, const char* attribute, double fallback) {
  return hone_mul_number(s->b, x, hone_attr_float(s->l->node, attribute, fallback));
}

/* The gradient with that of the regularization term. */
static hone_value_t* regularized(step_t* s) {
  return hone_add(s->b, scaled(s, s->x, "norm_coefficient", 0), s->g);
}

/* Computed in the dtype of the tensor, which may not be the learning rate's. */
static hone_value_t* like_x(step_t* s, hone_value_t* scalar) {
  return s->x ? hone_cast(s->b, scalar, hone_dtype_of(s->x)) : NULL;
}

static hone_value_t* root(step_t* s, hone_value_t* h) {
  return hone_add_number(s->b, hone_sqrt(s->b, h), hone_attr_float(s->l->node, "epsilon", 1e-6));
}

static void step_adagrad(step_t* s) {
  hone_builder_t* b = s->b;
  hone_value_t* g = regularized(s);
  hone_value_t* rate = hone_div(b, s->r, hone_add_number(b, scaled(s, s->t, "decay_factor", 0), 1));
  s->out[1] = hone_add(b, s->v, hone_square(b, g));
  hone_value_t* change = hone_div(b, hone_mul(b, like_x(s, rate), g), root(s, s->out[1]));
  s->out[0] = hone_sub(b, s->x, change);
}

/* 1 - base^T */
static hone_value_t* bias(step_t* s, double base) {
  hone_value_t* one = hone_scalar(s->b, hone_dtype_of(s->t), 1);
  return hone_sub(s->b, one, hone_pow(s->b, hone_scalar(s->b, hone_dtype_of(s->t), base), s->t));
}

static void step_adam(step_t* s) {
  hone_builder_t* b = s->b;
  double alpha = hone_attr_float(s->l->node, "alpha", 0.9f);
  double beta = hone_attr_float(s->l->node, "beta", 0.999f);
  double after = hone_attr_float(s->l->node, "norm_coefficient_post", 0);
  hone_value_t* g = regularized(s);
  hone_value_t* v = hone_add(b, hone_mul_number(b, s->v, alpha), hone_mul_number(b, g, 1 - alpha));
  hone_value_t* h =
      hone_add(b, hone_mul_number(b, s->h, beta), hone_mul_number(b, hone_square(b, g), 1 - beta));
  hone_value_t* corrected =
      hone_div(b, hone_mul(b, s->r, hone_sqrt(b, bias(s, beta))), bias(s, alpha));
  hone_value_t* rate = hone_select(b, hone_gt_number(b, s->t, 0), corrected, s->r);
  hone_value_t* x = hone_sub(b, s->x, hone_div(b, hone_mul(b, like_x(s, rate), v), root(s, h)));
  s->out[0] = hone_mul_number(b, x, 1 - after);
  s->out[1] = v;
  s->out[2] = h;
}

static void step_momentum(step_t* s) {
  hone_builder_t* b = s->b;
  const char* mode = hone_attr_string(s->l->node, "mode", "");
  bool nesterov = strcmp(mode, "nesterov") == 0;
  if (!nesterov && strcmp(mode, "standard") != 0) {
    hone_op_fail(s->l, "attribute mode is '%s'; it may be standard or nesterov", mode);
    return;
  }
  hone_value_t* g = regularized(s);
  hone_dtype_t dtype = hone_dtype_of(s->t);
  hone_value_t* beta = hone_select(b, hone_gt_number(b, s->t, 0),
                                   hone_scalar(b, dtype, hone_attr_float(s->l->node, "beta", 1)),
                                   hone_scalar(b, dtype, 1));
  hone_value_t* v = hone_add(b, scaled(s, s->v, "alpha", 0), hone_mul(b, like_x(s, beta), g));
  hone_value_t* way = nesterov ? hone_add(b, g, scaled(s, v, "alpha", 0)) : v;
  s->out[0] = hone_sub(b, s->x, hone_mul(b, like_x(s, s->r), way));
  s->out[1] = v;
}

typedef struct optimizer {
  void (*step)(step_t* s);
  int n_groups; /* of inputs behind R and T: tensors, gradients, state */
} optimizer_t;

enum { ADAGRAD, ADAM, MOMENTUM };

static const optimizer_t optimizers[] = {
    [ADAGRAD] = {step_adagrad, 3}, [ADAM] = {step_adam, 4}, [MOMENTUM] = {step_momentum, 3}};

static hone_value_t* scalar_of(hone_lower_t* l, hone_value_t* value) {
  return hone_rank(value) == 0 ? value : hone_reshape(l->b, value, 0, NULL);
}

static void lower_optimizer(hone_lower_t* l) {
  const optimizer_t* optimizer = &optimizers[l->op->data];
  int n_groups = optimizer->n_groups, count = (l->n_inputs - 2) / n_groups;
  if ((l->n_inputs - 2) % n_groups != 0 || l->n_outputs > count * (n_groups - 1)) {
    hone_op_fail(l, "%d inputs and %d outputs; needed are R, T and %d groups of equal size",
                 l->n_inputs, l->n_outputs, n_groups);
    return;
  }
  for (int i = 0; i < l->n_inputs; i++)
    if (!l->inputs[i]) {
      hone_op_fail(l, "input %d is missing", i);
      return;
    }
  hone_value_t* r = scalar_of(l, l->inputs[0]);
  hone_value_t* t = scalar_of(l, l->inputs[1]);
  if (r) t = hone_cast(l->b, t, hone_dtype_of(r));
  for (int i = 0; i < count && hone_builder_ok(l->b); i++) {
    hone_value_t** in = l->inputs + 2 + i;
    step_t s = {.l = l, .b = l->b, .r = r, .t = t, .x = in[0], .g = in[count], .v = in[2 * count]};
    if (n_groups == 4) s.h = in[3 * count];
    optimizer->step(&s);
    for (int k = 0; k < n_groups - 1; k++) hone_op_out(l, k * count + i, s.out[k]);
  }
}

static const hone_op_t ops[] = {
    {.domain = "ai.onnx.preview.training",
     .name = "Adagrad",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = -1,
     .attrs = "decay_factor epsilon norm_coefficient",
     .data = ADAGRAD,
     .lower = lower_optimizer},
    {.domain = "ai.onnx.preview.training",
     .name = "Adam",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = -1,
     .attrs = "alpha beta epsilon norm_coefficient norm_coefficient_post",
     .data = ADAM,
     .lower = lower_optimizer},
    {.domain = "ai.onnx.preview.training",
     .name = "Momentum",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = -1,
     .attrs = "alpha beta mode norm_coefficient",
     .data = MOMENTUM,
     .lower = lower_optimizer},
};
HONE_OP_FAMILY(training_optimizers, ops)
