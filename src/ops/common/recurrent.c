/* The frame of a recurrent layer: attributes, weights of each direction, the
 * loop, and the layout of the outputs. */
#include "ops/common/recurrent.h"

#include <string.h>

#include "ops/common/recurrent_impl.h"

typedef struct layer {
  hone_lower_t* l;
  const hone_recurrent_kind_t* kind;
  hone_activation_t functions[HONE_RECURRENT_MAX_FUNCTIONS];
  int directions;      /* 1 or 2 */
  bool first_backward; /* direction 0 goes from the last step to the first */
  bool batch_first;
  double clip;
  hone_dtype_t dtype; /* computed in */
  hone_dim_t steps, batch, hidden;
  hone_value_t* x;       /* [steps, batch, inputs] */
  hone_value_t* lengths; /* [batch] i64; NULL: all are full */
} layer_t;

/* What one direction gives. */
typedef struct result {
  hone_value_t *y, *h, *c; /* [steps, batch, hidden], [batch, hidden] twice */
} result_t;

/* ---- attributes ---- */

static bool read_direction(layer_t* r) {
  const char* direction = hone_attr_string(r->l->node, "direction", "forward");
  bool forward = strcmp(direction, "forward") == 0;
  r->first_backward = strcmp(direction, "reverse") == 0;
  r->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
  if (forward || r->first_backward || r->directions == 2) return true;
  hone_op_fail(r->l, "direction is '%s'; it must be forward, reverse or bidirectional", direction);
  return false;
}

/* Functions that take numbers consume them in order; the rest keep defaults. */
static bool read_functions(layer_t* r) {
  hone_lower_t* l = r->l;
  int n_names, n_alphas, n_betas, alpha = 0, beta = 0, count = r->kind->functions * r->directions;
  const hone_string_t* names = hone_attr_strings(l->node, "activations", &n_names);
  const float* alphas = hone_attr_floats(l->node, "activation_alpha", &n_alphas);
  const float* betas = hone_attr_floats(l->node, "activation_beta", &n_betas);
  if (n_names && n_names < count) {
    hone_op_fail(l, "%d activations are named where %d are needed", n_names, count);
    return false;
  }
  for (int i = 0; i < count; i++) {
    const char* name = n_names ? names[i].data : r->kind->defaults[i % r->kind->functions];
    const hone_activation_row_t* row = hone_activation_find(name);
    if (!row) {
      hone_op_fail(l, "unknown activation '%s'", name);
      return false;
    }
    r->functions[i] = row->function;
    if (row->numbers > 0 && alpha < n_alphas) r->functions[i].alpha = (double)alphas[alpha++];
    if (row->numbers > 1 && beta < n_betas) r->functions[i].beta = (double)betas[beta++];
  }
  return true;
}

static hone_value_t* widened(const layer_t* r, int input) {
  hone_value_t* x = hone_op_in(r->l, input);
  return x ? hone_cast(r->l->b, x, r->dtype) : NULL;
}

/* Axes of the weights: kinds with a product of their own have them transposed. */
static int gates_axis(const hone_recurrent_kind_t* kind) { return kind->multiply ? 2 : 1; }
static int inner_axis(const hone_recurrent_kind_t* kind) { return kind->multiply ? 1 : 2; }

/* The weights have `gates` times the hidden size. */
static bool check_weights(hone_lower_t* l, const hone_recurrent_kind_t* kind) {
  hone_dim_t hidden = hone_dim(hone_op_in(l, 2), inner_axis(kind));
  for (int i = 1; i <= 2; i++) {
    hone_dim_t size = hone_dim(hone_op_in(l, i), gates_axis(kind));
    if (!hone_dim_is_int(hidden) || !hone_dim_is_int(size) || size.k == kind->gates * hidden.k)
      continue;
    hone_op_fail(l, "input %d has extent %lld at axis %d; %d gates of %lld need %lld", i,
                 (long long)size.k, gates_axis(kind), kind->gates, (long long)hidden.k,
                 (long long)(kind->gates * hidden.k));
    return false;
  }
  return true;
}

static bool read_layer(hone_lower_t* l, const hone_recurrent_kind_t* kind, layer_t* r) {
  static const int ranks[8] = {3, 3, 3, 2, 1, 3, 3, 2};
  *r = (layer_t){.l = l, .kind = kind};
  for (int i = 0; i < 8; i++) {
    hone_value_t* in = hone_op_in(l, i);
    if (!in || hone_rank(in) == ranks[i]) continue;
    hone_op_fail(l, "input %d has rank %d; it must have %d", i, hone_rank(in), ranks[i]);
    return false;
  }
  if (!check_weights(l, kind)) return false;
  r->dtype = hone_dtype_of(hone_op_in(l, 0)) == HONE_F64 ? HONE_F64 : HONE_F32;
  r->clip = hone_attr_float(l->node, "clip", 0);
  r->batch_first = hone_attr_int(l->node, "layout", 0) != 0;
  r->x = widened(r, 0);
  if (r->batch_first) r->x = hone_move_axis(l->b, r->x, 0, 1);
  if (!r->x) return false;
  r->steps = hone_dim(r->x, 0);
  r->batch = hone_dim(r->x, 1);
  r->hidden = hone_dim(hone_op_in(l, 2), inner_axis(kind));
  hone_value_t* lengths = hone_op_in(l, 4);
  if (lengths) r->lengths = hone_cast(l->b, lengths, HONE_I64);
  int64_t size = hone_attr_int(l->node, "hidden_size", -1);
  if (size >= 0 && hone_dim_is_int(r->hidden) && size != r->hidden.k) {
    hone_op_fail(l, "hidden_size is %lld, the recurrent weights have %lld", (long long)size,
                 (long long)r->hidden.k);
    return false;
  }
  if (!read_direction(r) || !read_functions(r)) return false;
  hone_dim_t directions = hone_dim(hone_op_in(l, 1), 0);
  if (!hone_dim_is_int(directions) || directions.k == r->directions) return true;
  hone_op_fail(l, "the weights are of %lld directions, the attribute says %d",
               (long long)directions.k, r->directions);
  return false;
}

/* ---- what cells use ---- */

static hone_value_t* slice_parts(const hone_recurrent_step_t* s, hone_value_t* x, int axis,
                                 int from, int to) {
  hone_dim_t lo = hone_d_mul(s->b, hone_d(from), s->hidden);
  return hone_slice_axis(s->b, x, axis, lo, hone_d_mul(s->b, hone_d(to), s->hidden));
}

hone_value_t* hone_recurrent_part(const hone_recurrent_step_t* s, hone_value_t* x, int index) {
  return x ? slice_parts(s, x, -1, index, index + 1) : NULL;
}

hone_value_t* hone_recurrent_rows(const hone_recurrent_step_t* s, hone_value_t* x, int from,
                                  int to) {
  return x ? slice_parts(s, x, 0, from, to) : NULL;
}

hone_value_t* hone_recurrent_product(const hone_recurrent_step_t* s, hone_value_t* h,
                                     hone_value_t* weights, hone_value_t* bias) {
  static const int64_t pairs[1][2] = {{1, 1}};
  hone_value_t* y = s->kind->multiply ? s->kind->multiply(s->l, s->b, h, weights, 2, s->direction)
                                      : hone_contract(s->b, h, weights, 1, pairs, 0, HONE_UNKNOWN);
  return bias ? hone_add(s->b, y, bias) : y;
}

hone_value_t* hone_recurrent_activate(const hone_recurrent_step_t* s, int index, hone_value_t* x) {
  const hone_activation_t* f = &s->functions[index];
  if (s->clip > 0) x = hone_min_number(s->b, hone_max_number(s->b, x, -s->clip), s->clip);
  return f->apply(s->b, x, f->alpha, f->beta);
}

/* ---- one direction ---- */

/* Row `direction` of input `index`; NULL when it was left out. */
static hone_value_t* of_direction(const layer_t* r, int index, int direction) {
  hone_value_t* x = widened(r, index);
  return x ? hone_pick(r->l->b, x, 0, hone_d(direction)) : NULL;
}

/* Weights of input `index`, as the products take them. */
static hone_value_t* weights_of(const layer_t* r, int index, int direction) {
  if (r->kind->prepare) return r->kind->prepare(r->l, index, direction);
  return of_direction(r, index, direction);
}

/* Inputs of all steps times their weights, with the input half of the bias:
 * [steps, batch, gates * hidden]. The recurrent half goes to *out_bias. */
static hone_value_t* input_part(const layer_t* r, int direction, hone_value_t** out_bias) {
  hone_builder_t* b = r->l->b;
  static const int64_t pairs[1][2] = {{2, 1}};
  hone_value_t* weights = weights_of(r, 1, direction);
  hone_value_t* x = r->kind->multiply ? r->kind->multiply(r->l, b, r->x, weights, 1, direction)
                                      : hone_contract(b, r->x, weights, 1, pairs, 0, r->dtype);
  hone_value_t* bias = of_direction(r, 3, direction);
  *out_bias = NULL;
  if (!bias) return x;
  hone_dim_t width = hone_d_mul(b, hone_d(r->kind->gates), r->hidden);
  *out_bias = hone_slice_axis(b, bias, 0, width, hone_d_mul(b, hone_d(2), width));
  return hone_add(b, x, hone_slice_axis(b, bias, 0, hone_d(0), width));
}

/* The state before the first step: [batch, hidden]. */
static hone_value_t* initial_state(const layer_t* r, int input, int direction) {
  hone_builder_t* b = r->l->b;
  hone_value_t* given = widened(r, input);
  if (given) return hone_pick(b, given, r->batch_first ? 1 : 0, hone_d(direction));
  return hone_full(b, r->dtype, 0, 2, (hone_dim_t[]){r->batch, r->hidden});
}

/* True where the sequence reaches step `round`: [batch, 1]; NULL: everywhere. */
static hone_value_t* reached(const layer_t* r, hone_builder_t* body, hone_value_t* round,
                             bool backward) {
  if (!r->lengths) return NULL;
  if (backward)
    round = hone_sub(body, hone_dim_scalar(body, HONE_I64, hone_d_sub(body, r->steps, hone_d(1))),
                     round);
  return hone_unsqueeze(body, hone_lt(body, round, r->lengths), 1);
}

static hone_value_t* where(hone_builder_t* b, hone_value_t* mask, hone_value_t* x,
                           hone_value_t* otherwise) {
  return mask ? hone_select(b, mask, x, otherwise) : x;
}

/* One round: the cell, and states that stand still behind a sequence's end,
 * where the output is zero. */
static void round_body(const layer_t* r, hone_recurrent_step_t* s, hone_value_t* round,
                       bool backward, hone_value_t** next, hone_value_t** out_y) {
  hone_builder_t* b = s->b;
  hone_value_t *mask = reached(r, b, round, backward), *h = NULL, *c = NULL;
  s->x = hone_gather(b, s->x, round);
  r->kind->cell(s, &h, &c);
  next[0] = where(b, mask, h, s->h);
  if (r->kind->has_cells) next[1] = where(b, mask, c, s->c);
  *out_y = mask ? where(b, mask, h, hone_scalar(b, r->dtype, 0)) : h;
}

static result_t run_direction(const layer_t* r, int direction) {
  hone_builder_t *b = r->l->b, body;
  bool backward = direction == 1 || r->first_backward;
  int n = r->kind->has_cells ? 2 : 1;
  hone_value_t *round, *carried[2] = {NULL}, *next[2] = {NULL}, *y = NULL, *outputs[3] = {NULL};
  hone_recurrent_step_t s = {.b = &body, .l = r->l, .clip = r->clip, .hidden = r->hidden};
  s.kind = r->kind;
  s.direction = direction;
  s.functions = r->functions + direction * r->kind->functions;
  s.x = input_part(r, direction, &s.bias);
  if (backward) s.x = hone_flip(b, s.x, 0);
  s.weights = weights_of(r, 2, direction);
  s.peepholes = n == 2 ? of_direction(r, 7, direction) : NULL;
  hone_value_t* initial[2] = {initial_state(r, 5, direction),
                              n == 2 ? initial_state(r, 6, direction) : NULL};
  hone_dim_t shape[2] = {r->batch, r->hidden};
  hone_type_t types[2] = {hone_type_tensor(r->dtype, 2, shape),
                          hone_type_tensor(r->dtype, 2, shape)};
  hone_loop_open(b, "steps", n, types, &body, &round, carried);
  s.h = carried[0];
  s.c = carried[1];
  round_body(r, &s, round, backward, next, &y);
  hone_loop_close(b, &body, hone_dim_scalar(b, HONE_I64, r->steps), NULL, n, initial, NULL, next, 1,
                  &y, outputs);
  y = outputs[n];
  return (result_t){backward ? hone_flip(b, y, 0) : y, outputs[0], n == 2 ? outputs[1] : NULL};
}

/* ---- outputs ---- */

/* Joins what the directions give along a new axis `at`; the batch axis goes to
 * the front where the layout asks for it. */
static void put_out(const layer_t* r, int index, hone_value_t** parts, int at) {
  hone_builder_t* b = r->l->b;
  hone_value_t* rows[2];
  for (int i = 0; i < r->directions; i++) rows[i] = hone_unsqueeze(b, parts[i], at);
  hone_value_t* y = hone_concat(b, r->directions, rows, at);
  if (r->batch_first) y = hone_move_axis(b, y, at + 1, 0);
  if (y) hone_op_out(r->l, index, hone_cast(b, y, hone_dtype_of(hone_op_in(r->l, 0))));
}

void hone_recurrent_lower(hone_lower_t* l, const hone_recurrent_kind_t* kind) {
  layer_t r;
  if (!read_layer(l, kind, &r)) return;
  result_t results[2] = {{NULL}};
  for (int i = 0; i < r.directions; i++) results[i] = run_direction(&r, i);
  put_out(&r, 0, (hone_value_t*[]){results[0].y, results[1].y}, 1);
  put_out(&r, 1, (hone_value_t*[]){results[0].h, results[1].h}, 0);
  if (kind->has_cells) put_out(&r, 2, (hone_value_t*[]){results[0].c, results[1].c}, 0);
}
