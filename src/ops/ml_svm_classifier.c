/* SVMClassifier (ai.onnx.ml).
 *
 * With support vectors (libsvm): one classifier for each pair of classes i < j.
 * Its score is a weighted sum of the kernels of x with the support vectors of
 * the two classes, so all scores are one product of the kernels [n, vectors]
 * with a matrix [vectors, pairs] that is put together here from the
 * coefficients. Each pair votes; prob_a and prob_b turn the scores into
 * pairwise probabilities, and those into one for each class by the second
 * method of Wu, Lin and Weng, "Probability estimates for multi-class
 * classification by pairwise coupling" (2004).
 *
 * Without (liblinear): one linear score for each class. */
#include "base/memory.h"
#include "ops/common/ml_svm.h"

typedef struct svm {
  hone_lower_t* l;
  hone_ml_labels_t labels;
  int classes, pairs, vectors;
  const int64_t* per_class;
  const float* coefficients;
  const float* rho;
  bool has_proba;
} svm_t;

static hone_value_t* constant(svm_t* svm, hone_dtype_t dtype, int64_t rows, int64_t columns,
                              const void* data) {
  const int64_t dims[2] = {rows, columns};
  return data ? hone_constant_data(svm->l->b, dtype, 2, dims, data)
              : hone_fail_status(svm->l->b, hone_oom());
}

/* ---- scores ---- */

/* [vectors, pairs]: what each vector's kernel counts in each pair. The rows of
 * coefficients leave out a class against itself: row j - 1 of a vector of
 * class i < j, row i of one of class j. */
static float* pair_weights(svm_t* svm) {
  size_t total = (size_t)svm->vectors * (size_t)svm->pairs;
  float* w = hone_arena_array(svm->l->b->graph->arena, total, sizeof *w);
  int64_t start_i = 0;
  int pair = 0;
  for (int i = 0; w && i < svm->classes; start_i += svm->per_class[i++]) {
    int64_t start_j = start_i + svm->per_class[i];
    for (int j = i + 1; j < svm->classes; start_j += svm->per_class[j++], pair++) {
      const float* row_i = svm->coefficients + (int64_t)(j - 1) * svm->vectors;
      const float* row_j = svm->coefficients + (int64_t)i * svm->vectors;
      for (int64_t v = start_i; v < start_i + svm->per_class[i]; v++)
        w[v * svm->pairs + pair] = row_i[v];
      for (int64_t v = start_j; v < start_j + svm->per_class[j]; v++)
        w[v * svm->pairs + pair] = row_j[v];
    }
  }
  return w;
}

/* f64 [n, pairs] */
static hone_value_t* pair_scores(svm_t* svm, hone_value_t* x) {
  hone_lower_t* l = svm->l;
  hone_builder_t* b = l->b;
  int total;
  hone_attr_floats(l->node, "support_vectors", &total);
  if (total % svm->vectors != 0) {
    hone_op_fail(l, "%d numbers in support_vectors do not make %d vectors", total, svm->vectors);
    return NULL;
  }
  hone_dim_t shape[2] = {hone_d(svm->vectors), hone_d(total / svm->vectors)};
  hone_value_t* vectors = hone_reshape(b, hone_ml_floats(l, "support_vectors", -1), 2, shape);
  hone_value_t* kernel = hone_svm_apply(l, hone_svm_kernel_attr(l), x, vectors);
  hone_value_t* w = constant(svm, HONE_F32, svm->vectors, svm->pairs, pair_weights(svm));
  hone_value_t* rho = constant(svm, HONE_F32, 1, svm->pairs, svm->rho);
  return hone_add(b, hone_matmul(b, kernel, w, HONE_F64), hone_cast(b, rho, HONE_F64));
}

/* The class with the most votes, the first of equals. */
static hone_value_t* most_votes(svm_t* svm, hone_value_t* scores) {
  hone_builder_t* b = svm->l->b;
  size_t total = (size_t)svm->classes * (size_t)svm->pairs;
  int32_t* first = hone_arena_array(b->graph->arena, total, sizeof *first);
  int32_t* second = hone_arena_array(b->graph->arena, total, sizeof *second);
  int64_t pair = 0;
  for (int i = 0; first && second && i < svm->classes; i++)
    for (int j = i + 1; j < svm->classes; j++, pair++)
      first[pair * svm->classes + i] = second[pair * svm->classes + j] = 1;
  hone_value_t* won = hone_gt_number(b, scores, 0);
  hone_value_t* lost = hone_not(b, won);
  hone_value_t* votes =
      hone_add(b,
               hone_matmul(b, hone_cast(b, won, HONE_I32),
                           constant(svm, HONE_I32, svm->pairs, svm->classes, first), HONE_I32),
               hone_matmul(b, hone_cast(b, lost, HONE_I32),
                           constant(svm, HONE_I32, svm->pairs, svm->classes, second), HONE_I32));
  return hone_arg_max(b, votes, 1, false, false, false);
}

/* ---- probabilities ---- */

/* r [n, classes, classes]: r[i][j] is the chance of i where i or j is right;
 * the diagonal is 0. */
static hone_value_t* pairwise_chances(svm_t* svm, hone_value_t* scores) {
  hone_builder_t* b = svm->l->b;
  int c = svm->classes, pair = 0;
  int64_t* which = hone_arena_array(b->graph->arena, (size_t)c * (size_t)c, sizeof *which);
  float* sign = hone_arena_array(b->graph->arena, (size_t)c * (size_t)c, sizeof *sign);
  for (int i = 0; which && sign && i < c; i++)
    for (int j = i + 1; j < c; j++, pair++) {
      which[i * c + j] = which[j * c + i] = pair;
      sign[i * c + j] = 1;
      sign[j * c + i] = -1;
    }
  hone_value_t* a = hone_ml_floats(svm->l, "prob_a", svm->pairs);
  hone_value_t* offset = hone_ml_floats(svm->l, "prob_b", svm->pairs);
  hone_value_t* x = hone_add(b, hone_mul(b, hone_cast(b, scores, HONE_F32), a), offset);
  hone_value_t* one = hone_scalar(b, HONE_F32, 1);
  hone_value_t* p = hone_sub(b, one, hone_ml_logistic(b, x));
  p = hone_min_number(b, hone_max_number(b, p, 1.0e-7), (double)(1 - 1.0e-7f));
  hone_value_t* all = hone_take(b, p, constant(svm, HONE_I64, c, c, which), 1);
  hone_value_t* kind = constant(svm, HONE_F32, c, c, sign);
  hone_value_t* r = hone_select(b, hone_lt_number(b, kind, 0), hone_sub(b, one, all), all);
  return hone_select(b, hone_eq_number(b, kind, 0), hone_scalar(b, HONE_F32, 0), r);
}

/* Q of the method: its diagonal sums the squares of r[j][i], elsewhere it is
 * -r[j][i] r[i][j]. */
static hone_value_t* coupling_matrix(svm_t* svm, hone_value_t* r) {
  hone_builder_t* b = svm->l->b;
  hone_value_t* turned = hone_transpose(b, r);
  hone_value_t* diagonal = hone_reduce_last(b, HONE_COMBINE_ADD, hone_square(b, turned), 1, true);
  hone_dim_t square[2] = {hone_d(svm->classes), hone_d(svm->classes)};
  hone_value_t* eye =
      hone_eq(b, hone_iota(b, HONE_I64, 2, square, 0), hone_iota(b, HONE_I64, 2, square, 1));
  return hone_select(b, eye, diagonal, hone_neg(b, hone_mul(b, turned, r)));
}

/* What a sweep over the classes works on; values of one region. */
typedef struct sweep {
  hone_value_t *p, *qp, *pqp; /* [n, c], [n, c], [n, 1] */
} sweep_t;

static hone_value_t* dot_rows(hone_builder_t* b, hone_value_t* x, hone_value_t* y) {
  return hone_reduce_last(b, HONE_COMBINE_ADD, hone_mul(b, x, y), 1, true);
}

/* Moves p along class `i` (i64 scalar) to where the gradient vanishes. */
static sweep_t step_class(hone_builder_t* b, sweep_t s, hone_value_t* q, hone_value_t* i) {
  if (!s.p || !i) return (sweep_t){0};
  hone_value_t* hot =
      hone_cast(b, hone_eq(b, hone_iota(b, HONE_I64, 2, s.p->type.dims, 1), i), HONE_F32);
  hone_value_t* row = hone_take(b, q, i, 1);
  hone_value_t* qii = dot_rows(b, row, hot);
  hone_value_t* qpi = dot_rows(b, s.qp, hot);
  hone_value_t* diff = hone_div(b, hone_sub(b, s.pqp, qpi), qii);
  hone_value_t* grown = hone_add_number(b, diff, 1);
  hone_value_t* inner = hone_add(b, hone_mul(b, diff, qii), hone_mul_number(b, qpi, 2));
  hone_value_t* pqp = hone_add(b, s.pqp, hone_mul(b, diff, inner));
  return (sweep_t){
      .p = hone_div(b, hone_add(b, s.p, hone_mul(b, hot, diff)), grown),
      .qp = hone_div(b, hone_add(b, s.qp, hone_mul(b, diff, row)), grown),
      .pqp = hone_div(b, hone_div(b, pqp, grown), grown),
  };
}

static hone_value_t* sweep_classes(svm_t* svm, hone_builder_t* b, sweep_t s, hone_value_t* q) {
  if (!s.p || !s.qp || !s.pqp) return NULL;
  hone_type_t types[3] = {s.p->type, s.qp->type, s.pqp->type};
  hone_builder_t body;
  hone_value_t *i, *carried[3], *out[3];
  hone_loop_open(b, "coupling_sweep", 3, types, &body, &i, carried);
  sweep_t next = step_class(&body, (sweep_t){carried[0], carried[1], carried[2]}, q, i);
  hone_loop_close(b, &body, hone_scalar_i64(b, HONE_I64, svm->classes), NULL, 3,
                  (hone_value_t* const[]){s.p, s.qp, s.pqp}, NULL,
                  (hone_value_t* const[]){next.p, next.qp, next.pqp}, 0, NULL, out);
  return out[0];
}

/* One round; a row whose gradient is small enough stays as it is. */
static hone_value_t* couple_round(svm_t* svm, hone_builder_t* b, hone_value_t* p, hone_value_t* q) {
  hone_value_t* qp =
      hone_reduce_last(b, HONE_COMBINE_ADD, hone_mul(b, q, hone_unsqueeze(b, p, 1)), 1, false);
  hone_value_t* pqp = dot_rows(b, p, qp);
  hone_value_t* error =
      hone_reduce_last(b, HONE_COMBINE_MAX, hone_abs(b, hone_sub(b, qp, pqp)), 1, true);
  hone_value_t* done = hone_lt_number(b, error, (double)(0.005f / (float)svm->classes));
  return hone_select(b, done, p, sweep_classes(svm, b, (sweep_t){p, qp, pqp}, q));
}

static hone_value_t* class_chances(svm_t* svm, hone_value_t* scores) {
  enum { ROUNDS = 100 };
  hone_builder_t* b = svm->l->b;
  hone_value_t* r = pairwise_chances(svm, scores);
  hone_value_t* q = coupling_matrix(svm, r);
  if (!q) return NULL;
  hone_value_t* p = hone_full(b, HONE_F32, 1.0 / svm->classes, 2, q->type.dims);
  if (!p) return NULL;
  hone_builder_t body;
  hone_value_t *round, *carried, *out;
  hone_loop_open(b, "coupling", 1, &p->type, &body, &round, &carried);
  hone_value_t* next = couple_round(svm, &body, carried, q);
  hone_loop_close(b, &body, hone_scalar_i64(b, HONE_I64, ROUNDS), NULL, 1, &p, NULL, &next, 0, NULL,
                  &out);
  return out;
}

/* ---- outputs ---- */

static void lower_libsvm(svm_t* svm, hone_value_t* x, hone_ml_post_t post) {
  hone_lower_t* l = svm->l;
  hone_builder_t* b = l->b;
  hone_value_t* scores = pair_scores(svm, x);
  hone_op_out(l, 0, hone_gather(b, svm->labels.values, most_votes(svm, scores)));
  if (svm->has_proba) {
    hone_op_out(l, 1, hone_ml_post(b, class_chances(svm, scores), post));
    return;
  }
  scores = hone_cast(b, scores, HONE_F32);
  if (svm->pairs > 1) {
    hone_op_out(l, 1, hone_ml_post(b, scores, post));
    return;
  }
  hone_op_out(l, 1, hone_ml_two_scores(b, scores, post, post == HONE_ML_NONE));
}

/* Two classes without probabilities: the second also wins where the largest
 * score says so by itself. */
static hone_value_t* linear_choice(svm_t* svm, hone_value_t* scores, int n_coefficients) {
  hone_builder_t* b = svm->l->b;
  hone_value_t* best = hone_arg_max(b, scores, 1, false, false, false);
  if (svm->classes != 2 || svm->has_proba) return best;
  bool all_positive = true;
  for (int i = 0; i < n_coefficients; i++) all_positive &= svm->coefficients[i] >= 0;
  hone_value_t* top = hone_reduce_last(b, HONE_COMBINE_MAX, scores, 1, false);
  hone_value_t* sure =
      all_positive ? hone_not(b, hone_lt_number(b, top, 0.5)) : hone_gt_number(b, top, 0);
  return hone_select(b, sure, hone_scalar_i64(b, HONE_I64, 1), best);
}

static void lower_liblinear(svm_t* svm, hone_value_t* x, hone_ml_post_t post) {
  hone_lower_t* l = svm->l;
  hone_builder_t* b = l->b;
  int total;
  hone_attr_floats(l->node, "coefficients", &total);
  if (total % svm->classes != 0) {
    hone_op_fail(l, "%d coefficients do not make %d rows", total, svm->classes);
    return;
  }
  hone_dim_t shape[2] = {hone_d(svm->classes), hone_d(total / svm->classes)};
  hone_value_t* w = hone_reshape(b, hone_ml_floats(l, "coefficients", -1), 2, shape);
  hone_value_t* scores = hone_svm_apply(l, HONE_SVM_LINEAR, x, w);
  scores = hone_add_number(b, scores, (double)svm->rho[0]);
  hone_op_out(l, 0, hone_gather(b, svm->labels.values, linear_choice(svm, scores, total)));
  hone_op_out(
      l, 1, svm->classes > 1 ? hone_ml_post(b, scores, post) : hone_ml_post_rows(b, scores, post));
}

/* Counts and checks the lists; false after an error. */
static bool read_svm(svm_t* svm) {
  hone_lower_t* l = svm->l;
  int n_classes, n_coefficients, n_rho, n_a, n_b;
  svm->labels = hone_ml_labels(l, "classlabels_ints", "classlabels_strings");
  svm->per_class = hone_attr_ints(l->node, "vectors_per_class", &n_classes);
  svm->coefficients = hone_attr_floats(l->node, "coefficients", &n_coefficients);
  svm->rho = hone_attr_floats(l->node, "rho", &n_rho);
  hone_attr_floats(l->node, "prob_a", &n_a);
  hone_attr_floats(l->node, "prob_b", &n_b);
  svm->classes = svm->labels.count;
  if (svm->classes > 4096) {
    hone_op_fail(l, "%d classes; more than 4096 are not supported", svm->classes);
    return false;
  }
  svm->pairs = svm->classes * (svm->classes - 1) / 2;
  svm->has_proba = n_a > 0;
  int64_t vectors = 0;
  for (int i = 0; i < n_classes; i++)
    if (svm->per_class[i] < 0 || !hone_i64_add(vectors, svm->per_class[i], &vectors)) vectors = -1;
  bool fits = hone_builder_ok(l->b) && n_a == n_b && n_rho >= 1 && vectors >= 0 &&
              vectors <= n_coefficients;
  if (fits && vectors > 0)
    fits = n_classes == svm->classes && n_rho >= svm->pairs && svm->classes > 1 &&
           n_coefficients >= (svm->classes - 1) * vectors;
  if (!fits)
    hone_op_fail(l,
                 "the lengths of rho, coefficients, vectors_per_class and prob_a do not fit %d "
                 "classes",
                 svm->classes);
  svm->vectors = (int)vectors;
  return fits;
}

static void lower_svm_classifier(hone_lower_t* l) {
  svm_t svm = {.l = l};
  hone_ml_post_t post = hone_ml_post_attr(l);
  hone_value_t* x = hone_ml_rows(l, hone_op_in(l, 0), HONE_F32);
  if (!read_svm(&svm) || !hone_builder_ok(l->b)) return;
  if (svm.vectors > 0)
    lower_libsvm(&svm, x, post);
  else
    lower_liblinear(&svm, x, post);
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "SVMClassifier",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "classlabels_ints classlabels_strings coefficients kernel_params kernel_type "
              "post_transform prob_a prob_b rho support_vectors vectors_per_class",
     .lower = lower_svm_classifier},
};
HONE_OP_FAMILY(ml_svm_classifier, ops)
