/* Replacing symbols in dimension expressions, and looking at what is in one. */
#include "ir/dim_impl.h"

bool hone_dim_uses(hone_dim_t d, hone_dim_t symbol) {
  if (!d.expr || !symbol.expr) return false;
  if (d.expr == symbol.expr) return true;
  if (!(d.expr->symbols & symbol.expr->symbols)) return false;
  for (int i = 0; i < d.expr->n_terms; i++)
    if (hone_dim_uses((hone_dim_t){0, d.expr->terms[i].atom}, symbol)) return true;
  for (int i = 0; i < 4; i++)
    if (hone_dim_uses(d.expr->args[i], symbol)) return true;
  return false;
}

typedef struct replacing {
  hone_dims_t* dims;
  const hone_expr_t* symbol; /* the only one that is replaced, by *to; NULL: those below are */
  int n;
  const hone_dim_t* to;
  const bool* is_mapped;
  hone_dim_t (*rename)(void* self, hone_dim_t part); /* NULL: symbols only are replaced */
  void* self;
} replacing_t;

static hone_dim_t replace(const replacing_t* by, hone_dim_t d);

static hone_dim_t replace_symbol(const replacing_t* by, hone_dim_t d) {
  if (by->symbol) return d.expr == by->symbol ? *by->to : d;
  int id = d.expr->symbol.id;
  bool mapped = id < by->n && (!by->is_mapped || by->is_mapped[id]);
  return mapped ? by->to[id] : d;
}

static hone_dim_t replace_linear(const replacing_t* by, const hone_expr_t* e) {
  hone_dim_t total = hone_dim_int(e->constant);
  for (int i = 0; i < e->n_terms; i++) {
    hone_dim_t at = replace(by, (hone_dim_t){0, e->terms[i].atom});
    hone_dim_t part = hone_dim_mul(by->dims, at, hone_dim_int(e->terms[i].coefficient));
    total = hone_dim_add(by->dims, total, part);
  }
  return total;
}

static hone_dim_t replace_atom(const replacing_t* by, const hone_expr_t* e) {
  hone_dim_t a[4];
  for (int i = 0; i < 4; i++) a[i] = replace(by, e->args[i]);
  switch (e->kind) {
    case HONE_EXPR_PRODUCT:
      return hone_dim_mul(by->dims, a[0], a[1]);
    case HONE_EXPR_FLOORDIV:
      return hone_dim_is(a[1], 0) ? a[1] : hone_dim_floordiv(by->dims, a[0], a[1]);
    case HONE_EXPR_MOD:
      return hone_dim_is(a[1], 0) ? a[1] : hone_dim_mod(by->dims, a[0], a[1]);
    case HONE_EXPR_MIN:
      return hone_dim_min(by->dims, a[0], a[1]);
    case HONE_EXPR_MAX:
      return hone_dim_max(by->dims, a[0], a[1]);
    case HONE_EXPR_SELECT_LT:
      return hone_dim_select_lt(by->dims, a[0], a[1], a[2], a[3]);
    case HONE_EXPR_SELECT_EQ:
      return hone_dim_select_eq(by->dims, a[0], a[1], a[2], a[3]);
    default:
      return hone_dim_bad();
  }
}

static hone_dim_t replace(const replacing_t* by, hone_dim_t d) {
  if (!d.expr || hone_dim_is_bad(d)) return d;
  if (by->symbol && !(d.expr->symbols & by->symbol->symbols)) return d;
  if (d.expr->kind == HONE_EXPR_SYMBOL) return replace_symbol(by, d);
  if (d.expr->kind == HONE_EXPR_LINEAR) return replace_linear(by, d.expr);
  if (by->rename) {
    hone_dim_t named = by->rename(by->self, d);
    if (!hone_dim_same(named, d)) return named;
  }
  return replace_atom(by, d.expr);
}

hone_dim_t hone_dim_replace(hone_dims_t* dims, hone_dim_t d, int n, const hone_dim_t* to,
                            const bool* is_mapped) {
  replacing_t by = {.dims = dims, .n = n, .to = to, .is_mapped = is_mapped};
  return replace(&by, d);
}

hone_dim_t hone_dim_replace_symbol(hone_dims_t* dims, hone_dim_t d, hone_dim_t symbol,
                                   hone_dim_t to) {
  return replace(&(replacing_t){.dims = dims, .symbol = symbol.expr, .to = &to}, d);
}

hone_dim_t hone_dim_rename(hone_dims_t* dims, hone_dim_t d,
                           hone_dim_t (*rename)(void* self, hone_dim_t part), void* self) {
  replacing_t by = {.dims = dims, .rename = rename, .self = self};
  return replace(&by, d);
}

bool hone_dim_factor(hone_dim_t d, hone_dim_t symbol, int64_t* out_factor) {
  *out_factor = 0;
  if (hone_dim_is_bad(d)) return false;
  if (!hone_dim_uses(d, symbol)) return true;
  if (d.expr == symbol.expr) {
    *out_factor = 1;
    return true;
  }
  if (d.expr->kind != HONE_EXPR_LINEAR) return false;
  for (int i = 0; i < d.expr->n_terms; i++) {
    const hone_expr_t* at = d.expr->terms[i].atom;
    if (at == symbol.expr)
      *out_factor = d.expr->terms[i].coefficient;
    else if (hone_dim_uses((hone_dim_t){0, at}, symbol))
      return false;
  }
  return true;
}

int hone_dim_term_count(hone_dim_t d) {
  if (!d.expr) return 0;
  return d.expr->kind == HONE_EXPR_LINEAR ? d.expr->n_terms : 1;
}

hone_dim_t hone_dim_term(hone_dim_t d, int index, int64_t* out_coefficient) {
  bool is_sum = d.expr->kind == HONE_EXPR_LINEAR;
  *out_coefficient = is_sum ? d.expr->terms[index].coefficient : 1;
  return is_sum ? (hone_dim_t){0, d.expr->terms[index].atom} : d;
}

hone_dim_t hone_dim_modulus(hone_dim_t d) {
  for (int i = 0; i < hone_dim_term_count(d); i++) {
    int64_t coefficient;
    hone_dim_t term = hone_dim_term(d, i, &coefficient);
    if (coefficient == 1 && term.expr->kind == HONE_EXPR_MOD) return term.expr->args[1];
  }
  return hone_dim_int(0);
}

void hone_dim_visit_choices(hone_dim_t d, void (*visit)(void* self, hone_dim_t a, hone_dim_t b),
                            void* self) {
  if (!d.expr) return;
  for (int i = 0; i < d.expr->n_terms; i++)
    hone_dim_visit_choices((hone_dim_t){0, d.expr->terms[i].atom}, visit, self);
  for (int i = 0; i < 4; i++) hone_dim_visit_choices(d.expr->args[i], visit, self);
  if (d.expr->kind >= HONE_EXPR_MIN) visit(self, d.expr->args[0], d.expr->args[1]);
}
