/* Reshape: the same elements under another shape, in which 0 stands for the
 * input's extent (unless allowzero) and -1 for what is left.
 *
 * The shape may hold expressions. One that cannot be negative is an extent of
 * its own; one that could be anything gets all three meanings, to be chosen
 * when it runs. */
#include "ops/op.h"

typedef struct target {
  hone_lower_t* l;
  hone_dims_t* d;
  const hone_value_t* x;
  int count;
  const hone_dim_t* wanted;
  bool allow_zero;
  int rest; /* index of the literal -1; -1 when there is none */
} target_t;

static bool may_be(hone_dim_t d, int64_t value) {
  return hone_dim_min_value(d) <= value && hone_dim_max_value(d) >= value;
}

/* True when the sign of an expression tells nothing, so that its 0 or -1 may
 * be one of the special marks. */
static bool is_open(hone_dim_t d) { return !hone_dim_is_int(d) && hone_dim_min_value(d) < 0; }

/* Entry `i` with the meaning of 0 put in. */
static hone_dim_t copied(const target_t* t, int i) {
  hone_dim_t want = t->wanted[i];
  bool inside = i < t->x->type.rank;
  if (t->allow_zero || !may_be(want, 0)) return want;
  if (hone_dim_is_int(want)) {
    if (inside) return t->x->type.dims[i];
    hone_op_fail(t->l, "shape[%d] is 0 but the input has only %d axes", i, t->x->type.rank);
    return want;
  }
  if (!inside || !is_open(want)) return want;
  return hone_dim_select_eq(t->d, want, hone_d(0), t->x->type.dims[i], want);
}

/* Elements left for the entry that is -1. */
static hone_dim_t left_over(const target_t* t) {
  hone_dim_t known = hone_d(1), minus = hone_d(-1);
  for (int i = 0; i < t->count; i++) {
    if (i == t->rest) continue;
    hone_dim_t extent = copied(t, i);
    if (t->rest < 0 && is_open(t->wanted[i]))
      extent = hone_dim_select_eq(t->d, t->wanted[i], minus, hone_d(1), extent);
    known = hone_dim_mul(t->d, known, extent);
  }
  if (hone_dim_is(known, 0)) return hone_d(0);
  return hone_dim_floordiv(t->d, hone_elements(t->l->b, t->x), known);
}

static hone_dim_t extent(const target_t* t, int i) {
  if (i == t->rest) return left_over(t);
  hone_dim_t plain = copied(t, i);
  if (t->rest >= 0 || !is_open(t->wanted[i])) return plain;
  return hone_dim_select_eq(t->d, t->wanted[i], hone_d(-1), left_over(t), plain);
}

/* Finds the literal -1; false on a second one or another negative number. */
static bool check(target_t* t) {
  t->rest = -1;
  for (int i = 0; i < t->count; i++) {
    if (!hone_dim_is_int(t->wanted[i]) || t->wanted[i].k >= 0) continue;
    if (t->wanted[i].k != -1 || t->rest >= 0) {
      hone_op_fail(t->l, "shape[%d] is %lld; only one entry may be -1 and none less", i,
                   (long long)t->wanted[i].k);
      return false;
    }
    t->rest = i;
  }
  if (t->count > HONE_MAX_RANK)
    hone_fail(t->l->b, HONE_UNSUPPORTED, "%d axes; hone allows %d", t->count, HONE_MAX_RANK);
  return t->count <= HONE_MAX_RANK;
}

static void lower_reshape(hone_lower_t* l) {
  target_t t = {.l = l,
                .d = l->b->graph->dims,
                .x = hone_op_in(l, 0),
                .allow_zero = hone_attr_int(l->node, "allowzero", 0) != 0};
  t.wanted = hone_op_list(l, "shape", 1, &t.count);
  if (!t.wanted) {
    if (hone_builder_ok(l->b)) hone_op_fail(l, "no shape is given");
    return;
  }
  if (!check(&t)) return;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < t.count; i++) shape[i] = extent(&t, i);
  hone_op_out(l, 0, hone_reshape(l->b, hone_op_in(l, 0), t.count, shape));
}

static const hone_op_t ops[] = {
    {.name = "Reshape",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 2,
     .attrs = "shape consumed_inputs allowzero",
     .lower = lower_reshape},
};
HONE_OP_FAMILY(reshape, ops)
