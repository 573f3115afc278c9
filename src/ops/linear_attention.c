/* LinearAttention: a state [B, G, D, E] for each key head, which forgets, is
 * corrected and written by each key and value, and is read by the queries.
 *
 * B batch, T steps, G key heads, R query heads for each, D, E elements of a
 * key and of a value. All is computed in f32. */
#include <string.h>

#include "ops/common/heads.h"

typedef struct linear {
  hone_lower_t* l;
  int64_t heads, groups;
  hone_value_t *q, *k, *v; /* [T, B, G, R, D], [T, B, G, D], [T, B, G, E] */
  hone_value_t* decay;     /* [T, B, G, 1 or D]; NULL: nothing is forgotten */
  hone_value_t* rate;      /* [T, B, 1 or G, 1]; NULL: nothing is corrected */
  hone_value_t* state;     /* [B, G, D, E] */
} linear_t;

/* [B, T, heads * n] as [T, B, heads, n] in f32. */
static hone_value_t* by_steps(hone_lower_t* l, hone_value_t* x, int64_t heads) {
  x = hone_heads_split(l, x, heads);
  static const int64_t axes[4] = {2, 0, 1, 3};
  return x ? hone_cast(l->b, hone_permute(l->b, x, axes), HONE_F32) : NULL;
}

/* [B, T, n] as [T, B, n, 1] in f32: n is 1 or the number of heads. */
static hone_value_t* rates(hone_lower_t* l, hone_value_t* x) {
  if (hone_rank(x) != 3) {
    hone_op_fail(l, "beta has rank %d; it must have 3", hone_rank(x));
    return NULL;
  }
  x = hone_cast(l->b, hone_move_axis(l->b, x, 0, 1), HONE_F32);
  return hone_unsqueeze(l->b, x, -1);
}

static bool check_rule(hone_lower_t* l) {
  static const struct {
    const char* name;
    bool decays, corrects;
  } rules[] = {{"linear", false, false},
               {"gated", true, false},
               {"delta", false, true},
               {"gated_delta", true, true}};
  const char* rule = hone_attr_string(l->node, "update_rule", "gated_delta");
  for (int i = 0; i < 4; i++) {
    if (strcmp(rule, rules[i].name) != 0) continue;
    if (rules[i].decays == (hone_op_in(l, 4) != NULL) &&
        rules[i].corrects == (hone_op_in(l, 5) != NULL))
      return true;
    hone_op_fail(l, "update_rule '%s' takes %s decay and %s beta", rule,
                 rules[i].decays ? "a" : "no", rules[i].corrects ? "a" : "no");
    return false;
  }
  hone_op_fail(l, "update_rule is '%s'; it must be linear, gated, delta or gated_delta", rule);
  return false;
}

static bool read_inputs(hone_lower_t* l, linear_t* a) {
  hone_builder_t* b = l->b;
  *a = (linear_t){.l = l,
                  .heads = hone_attr_int(l->node, "q_num_heads", 0),
                  .groups = hone_attr_int(l->node, "kv_num_heads", 0)};
  if (a->heads < 1 || a->groups < 1 || a->heads % a->groups != 0) {
    hone_op_fail(l, "q_num_heads is %lld; it must be a multiple of kv_num_heads, %lld",
                 (long long)a->heads, (long long)a->groups);
    return false;
  }
  hone_value_t *decay = hone_op_in(l, 4), *rate = hone_op_in(l, 5);
  hone_value_t* q = by_steps(l, hone_op_in(l, 0), a->heads);
  a->k = by_steps(l, hone_op_in(l, 1), a->groups);
  a->v = by_steps(l, hone_op_in(l, 2), a->groups);
  if (decay) a->decay = by_steps(l, decay, a->groups);
  if (rate) a->rate = rates(l, rate);
  if (!q || !a->k || !a->v || (decay && !a->decay) || (rate && !a->rate)) return false;
  hone_dim_t grouped[5] = {hone_dim(q, 0), hone_dim(q, 1), hone_d(a->groups),
                           hone_d(a->heads / a->groups), hone_dim(q, 3)};
  a->q = hone_reshape(b, q, 5, grouped);
  hone_value_t* past = hone_op_in(l, 3);
  if (past && hone_rank(past) != 4) {
    hone_op_fail(l, "past_state has rank %d; it must have 4", hone_rank(past));
    return false;
  }
  hone_dim_t shape[4] = {hone_dim(q, 1), hone_d(a->groups), hone_dim(a->k, 3), hone_dim(a->v, 3)};
  a->state = past ? hone_cast(b, past, HONE_F32) : hone_full(b, HONE_F32, 0, 4, shape);
  return a->q && a->state;
}

/* One step: the next state and what the queries read, [B, G, R, E]. */
static void step(const linear_t* a, hone_builder_t* b, hone_value_t* round, hone_value_t* state,
                 hone_value_t** out_state, hone_value_t** out_read) {
  static const int64_t recall[3][2] = {{0, 0}, {1, 1}, {2, 2}}; /* [B, G, D, E] by [B, G, D] */
  static const int64_t ask[3][2] = {{0, 0}, {1, 1}, {3, 2}};    /* [B, G, R, D] by [B, G, D, E] */
  hone_value_t *k = hone_gather(b, a->k, round), *v = hone_gather(b, a->v, round);
  if (a->decay)
    state = hone_mul(b, state, hone_unsqueeze(b, hone_exp(b, hone_gather(b, a->decay, round)), -1));
  if (a->rate) {
    hone_value_t* known = hone_contract(b, state, k, 3, recall, 2, HONE_F32);
    v = hone_mul(b, hone_gather(b, a->rate, round), hone_sub(b, v, known));
  }
  state = hone_add(b, state, hone_mul(b, hone_unsqueeze(b, k, -1), hone_unsqueeze(b, v, -2)));
  *out_state = state;
  *out_read = hone_contract(b, hone_gather(b, a->q, round), state, 3, ask, 2, HONE_F32);
}

/* [T, B, G, R, E] as [B, T, heads * E]. */
static hone_value_t* packed(const linear_t* a, hone_value_t* x) {
  hone_builder_t* b = a->l->b;
  x = hone_move_axis(b, x, 0, 1);
  if (!x) return NULL;
  hone_dim_t width = hone_d_mul(b, hone_d(a->heads), hone_dim(x, 4));
  return hone_reshape(b, x, 3, (hone_dim_t[]){hone_dim(x, 0), hone_dim(x, 1), width});
}

static void lower_linear_attention(hone_lower_t* l) {
  hone_builder_t *b = l->b, body;
  linear_t a;
  if (!check_rule(l) || !read_inputs(l, &a)) return;
  hone_value_t *round, *state, *next = NULL, *read = NULL, *outputs[2];
  hone_loop_open(b, "steps", 1, &a.state->type, &body, &round, &state);
  step(&a, &body, round, state, &next, &read);
  hone_loop_close(b, &body, hone_dim_scalar(b, HONE_I64, hone_dim(a.q, 0)), NULL, 1, &a.state, NULL,
                  &next, 1, &read, outputs);
  double given = hone_attr_float(l->node, "scale", 0);
  hone_value_t* scale =
      given != 0 ? hone_scalar(b, HONE_F32, given) : hone_heads_scale(b, a.q, HONE_F32);
  hone_value_t *y = packed(&a, hone_mul(b, outputs[1], scale)), *past = hone_op_in(l, 3);
  hone_dtype_t dtype = hone_dtype_of(hone_op_in(l, 0));
  hone_op_out(l, 0, hone_cast(b, y, dtype));
  hone_op_out(l, 1, hone_cast(b, outputs[0], past ? hone_dtype_of(past) : dtype));
}

static const hone_op_t ops[] = {
    {.name = "LinearAttention",
     .min_opset = 27,
     .min_inputs = 3,
     .max_inputs = 6,
     .attrs = "chunk_size kv_num_heads q_num_heads scale update_rule",
     .lower = lower_linear_attention},
};
HONE_OP_FAMILY(linear_attention, ops)
