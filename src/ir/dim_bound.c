/* Bounds that are expressions: what ranges of numbers cannot tell. */
#include <stdlib.h>

#include "base/memory.h"
#include "ir/dim_impl.h"

/* x mod n as x - n * (x / n), so that it cancels out with such quotients. */
static hone_dim_t open_remainder(hone_dims_t* dims, hone_dim_t term) {
  if (!hone_dim_is_by_number(term, HONE_EXPR_MOD)) return term;
  hone_dim_t x = term.expr->args[0], n = term.expr->args[1];
  return hone_dim_sub(dims, x, hone_dim_mul(dims, n, hone_dim_floordiv(dims, x, n)));
}

/* coefficient * term: g * (x / n) is at most x / (n / g), and by less than g less. */
static hone_dim_t bound_quotient(hone_dims_t* dims, hone_dim_t term, int64_t coefficient,
                                 bool above) {
  int64_t n = term.expr->args[1].k;
  int64_t g = (int64_t)hone_u64_gcd((uint64_t)llabs(coefficient), (uint64_t)n);
  hone_dim_t wider = hone_dim_floordiv(dims, term.expr->args[0], hone_dim_int(n / g));
  if ((coefficient > 0) != above) wider = hone_dim_sub(dims, wider, hone_dim_int(g - 1));
  return hone_dim_mul(dims, wider, hone_dim_int(coefficient / g));
}

static hone_dim_t constant_of(hone_dim_t d) {
  if (hone_dim_is_int(d)) return d;
  return hone_dim_int(d.expr->kind == HONE_EXPR_LINEAR ? d.expr->constant : 0);
}

/* The sum with all remainders by numbers opened; those inside of them come next. */
static hone_dim_t open_all(hone_dims_t* dims, hone_dim_t d) {
  hone_dim_t sum = constant_of(d);
  int64_t coefficient;
  for (int i = 0; i < hone_dim_term_count(d); i++) {
    hone_dim_t term = open_remainder(dims, hone_dim_term(d, i, &coefficient));
    sum = hone_dim_add(dims, sum, hone_dim_mul(dims, term, hone_dim_int(coefficient)));
  }
  return sum;
}

/* Whether another term of the sum may cancel out with what this one is made of: else the range of
 * its numbers says more than a bound. */
static bool has_company(hone_dim_t d, int index) {
  int64_t coefficient;
  uint64_t symbols = hone_dim_symbols(hone_dim_term(d, index, &coefficient));
  for (int i = 0; i < hone_dim_term_count(d); i++)
    if (i != index && (hone_dim_symbols(hone_dim_term(d, i, &coefficient)) & symbols)) return true;
  return false;
}

/* The longest of the quotients whose bound says less than they do: what others are
 * made of stays, and may cancel out with it. -1: none. */
static int longest_quotient(hone_dim_t d) {
  int64_t coefficient, longest = 0;
  int found = -1;
  for (int i = 0; i < hone_dim_term_count(d); i++) {
    hone_dim_t term = hone_dim_term(d, i, &coefficient);
    bool counts = hone_dim_is_by_number(term, HONE_EXPR_FLOORDIV) && coefficient > -INT32_MAX &&
                  hone_u64_gcd((uint64_t)llabs(coefficient), (uint64_t)term.expr->args[1].k) > 1;
    if (!counts || hone_dim_size(term) <= longest || !has_company(d, i)) continue;
    longest = hone_dim_size(term);
    found = i;
  }
  return found;
}

hone_dim_t hone_dim_bound(hone_dims_t* dims, hone_dim_t d, bool above) {
  enum { MOST_STEPS = 8 };
  for (int i = 0; i < MOST_STEPS && !hone_dim_is_bad(d); i++) {
    hone_dim_t open = open_all(dims, d);
    while (!hone_dim_is_bad(open) && !hone_dim_same(open, d)) {
      d = open;
      open = open_all(dims, d);
    }
    int at = longest_quotient(d);
    if (at < 0) break;
    int64_t coefficient;
    hone_dim_t term = hone_dim_term(d, at, &coefficient);
    hone_dim_t rest = hone_dim_sub(dims, d, hone_dim_mul(dims, term, hone_dim_int(coefficient)));
    d = hone_dim_add(dims, rest, bound_quotient(dims, term, coefficient, above));
  }
  return d;
}
