/* Replacing symbols in dimension expressions. */
#include "ir/dim_impl.h"

static hone_dim_t of_symbol(const hone_expr_t* e, int count, const hone_dim_t* by) {
  int id = e->symbol.id;
  return id < count && !hone_dim_is_bad(by[id]) ? by[id] : (hone_dim_t){0, e};
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the expression */
static hone_dim_t of_linear(hone_dims_t* dims, const hone_expr_t* e, int count,
                            const hone_dim_t* by) {
  hone_dim_t sum = hone_dim_int(e->constant);
  for (int i = 0; i < e->n_terms; i++) {
    hone_dim_t atom = hone_dim_substitute(dims, (hone_dim_t){0, e->terms[i].atom}, count, by);
    hone_dim_t factor = hone_dim_int(e->terms[i].coefficient);
    sum = hone_dim_add(dims, sum, hone_dim_mul(dims, atom, factor));
  }
  return sum;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the expression */
static hone_dim_t of_atom(hone_dims_t* dims, const hone_expr_t* e, int count,
                          const hone_dim_t* by) {
  bool selects = e->kind == HONE_EXPR_SELECT_LT || e->kind == HONE_EXPR_SELECT_EQ;
  hone_dim_t a[4];
  for (int i = 0; i < (selects ? 4 : 2); i++)
    a[i] = hone_dim_substitute(dims, e->args[i], count, by);
  switch (e->kind) {
    case HONE_EXPR_PRODUCT:
      return hone_dim_mul(dims, a[0], a[1]);
    case HONE_EXPR_FLOORDIV:
      return hone_dim_is(a[1], 0) ? a[1] : hone_dim_floordiv(dims, a[0], a[1]);
    case HONE_EXPR_MOD:
      return hone_dim_is(a[1], 0) ? a[1] : hone_dim_mod(dims, a[0], a[1]);
    case HONE_EXPR_MIN:
      return hone_dim_min(dims, a[0], a[1]);
    case HONE_EXPR_MAX:
      return hone_dim_max(dims, a[0], a[1]);
    case HONE_EXPR_SELECT_LT:
      return hone_dim_select_lt(dims, a[0], a[1], a[2], a[3]);
    case HONE_EXPR_SELECT_EQ:
      return hone_dim_select_eq(dims, a[0], a[1], a[2], a[3]);
    default:
      return hone_dim_bad();
  }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the expression */
hone_dim_t hone_dim_substitute(hone_dims_t* dims, hone_dim_t d, int count, const hone_dim_t* by) {
  if (!d.expr || hone_dim_is_bad(d)) return d;
  if (d.expr->kind == HONE_EXPR_SYMBOL) return of_symbol(d.expr, count, by);
  if (d.expr->kind == HONE_EXPR_LINEAR) return of_linear(dims, d.expr, count, by);
  return of_atom(dims, d.expr, count, by);
}
