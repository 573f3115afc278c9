/* Functions of f32 that are no primitive, but that the prelude has whole: powers that are made of
 * products and roots, 1 / (1 + e^-x), GELU, and rough exponents.
 *
 * GELU in a kernel all of whose results are rounded to bf16 behind it, and summed up at most
 * before, may be off by a small part of what that rounding takes anyway. */
#include <math.h>

#include "backends/cpu/render_impl.h"
#include "base/float_convert.h"

static bool is_prim(const hone_term_t* term, hone_prim_t prim) {
  return term->kind == HONE_TERM_PRIM && term->prim == prim && term->dtype == HONE_F32;
}

static bool is_number(const hone_term_t* term, double number) {
  return term->kind == HONE_TERM_CONST && term->dtype == HONE_F32 &&
         hone_to_double(HONE_F32, term->bits) == number;
}

/* What a number is added to, or multiplied by; NULL: the term is no such thing. */
static const hone_term_t* other_of(const hone_term_t* term, hone_prim_t prim, double number) {
  if (!is_prim(term, prim)) return NULL;
  for (int i = 0; i < 2; i++)
    if (is_number(term->args[i], number)) return term->args[1 - i];
  return NULL;
}

/* ---- which they are ---- */

/* Powers that are made of products and roots; NULL: it is none of them. */
static const char* power_name(const hone_term_t* term) {
  static const struct {
    double exponent;
    const char* name;
  } powers[] = {{3, "cube"},           {0.5, "root"},
                {0.25, "fourth_root"}, {0.75, "three_quarters"},
                {1.5, "three_halves"}, {-0.5, "inverse_root"}};
  const hone_term_t* power = term->prim == HONE_PRIM_POW ? term->args[1] : NULL;
  if (!power || term->dtype != HONE_F32 || power->kind != HONE_TERM_CONST) return NULL;
  double exponent = hone_to_double(HONE_F32, power->bits);
  for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
    if (powers[i].exponent == exponent) return powers[i].name;
  return NULL;
}

/* x, of 1 / (1 + e^-x); NULL: it is something else. */
static const hone_term_t* of_logistic(const hone_term_t* term) {
  if (!is_prim(term, HONE_PRIM_DIV) || !is_number(term->args[0], 1)) return NULL;
  const hone_term_t* power = other_of(term->args[1], HONE_PRIM_ADD, 1);
  if (!power || !is_prim(power, HONE_PRIM_EXP)) return NULL;
  return is_prim(power->args[0], HONE_PRIM_NEG) ? power->args[0]->args[0] : NULL;
}

/* x, of 1 + erf(x / sqrt 2); NULL: it is something else. */
static const hone_term_t* of_bell(const hone_term_t* term) {
  const float root_half = 0.70710678f;
  const hone_term_t* erf = other_of(term, HONE_PRIM_ADD, 1);
  return erf && is_prim(erf, HONE_PRIM_ERF) ? other_of(erf->args[0], HONE_PRIM_MUL, root_half)
                                            : NULL;
}

/* The factors of a product of three; false: it is none. */
static bool find_factors(const hone_term_t* term, const hone_term_t* out[3]) {
  if (!is_prim(term, HONE_PRIM_MUL)) return false;
  for (int i = 0; i < 2; i++) {
    const hone_term_t* pair = term->args[i];
    if (!is_prim(pair, HONE_PRIM_MUL)) continue;
    out[0] = pair->args[0];
    out[1] = pair->args[1];
    out[2] = term->args[1 - i];
    return true;
  }
  return false;
}

/* x, of x (1 + erf(x / sqrt 2)) / 2, whatever is multiplied first; NULL: it is something else. */
static const hone_term_t* of_gelu(const hone_term_t* term) {
  const hone_term_t* factors[3];
  if (!find_factors(term, factors)) return NULL;
  for (int i = 0; i < 3; i++) {
    const hone_term_t *x = of_bell(factors[i]), *a = factors[(i + 1) % 3],
                      *b = factors[(i + 2) % 3];
    if (x && ((a == x && is_number(b, 0.5)) || (b == x && is_number(a, 0.5)))) return x;
  }
  return NULL;
}

/* ---- what is rounded ---- */

typedef struct look {
  hone_renderer_t* r;
  hone_map_t seen; /* terms by id, twice: rounded behind, and not */
} look_t;

/* Whether it is what rounding a number leaves over of it. */
static bool is_rest(const hone_term_t* term) {
  if (!is_prim(term, HONE_PRIM_SUB) || !is_prim(term->args[1], HONE_PRIM_CAST)) return false;
  const hone_term_t* rounded = term->args[1]->args[0];
  return hone_term_flushes(rounded) && rounded->args[0] == term->args[0];
}

/* Whether an error stays as large beside what the primitive is taken of. */
static bool keeps_errors(const hone_term_t* term) {
  if (is_rest(term)) return false;
  static const hone_prim_t prims[] = {HONE_PRIM_ADD, HONE_PRIM_SUB, HONE_PRIM_MUL, HONE_PRIM_NEG,
                                      HONE_PRIM_SELECT};
  for (size_t i = 0; i < sizeof prims / sizeof *prims; i++)
    if (is_prim(term, prims[i])) return true;
  return false;
}

/* Notes where a function is taken whose value is more than rounded. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static void look_at_term(look_t* look, const hone_term_t* term, bool is_rounded) {
  uint64_t key = 2 * (uint64_t)term->id + is_rounded;
  if (look->r->status || look->r->rounding == HONE_ROUNDING_SOME ||
      hone_map_get_u64(&look->seen, key))
    return;
  look->r->status = hone_map_put_u64(&look->seen, key, look);
  if (is_prim(term, HONE_PRIM_ERF) && !is_rounded) look->r->rounding = HONE_ROUNDING_SOME;
  bool is_next = hone_term_flushes(term) || (is_rounded && keeps_errors(term));
  for (int i = 0; i < term->n_args; i++) look_at_term(look, term->args[i], is_next);
}

static bool look_at_stmt(void* self, hone_stmt_t* stmt) {
  if (stmt->value) look_at_term(self, stmt->value, false);
  return true;
}

static bool is_rounded(hone_renderer_t* r) {
  if (r->rounding == HONE_ROUNDING_UNKNOWN) {
    look_t look = {.r = r};
    hone_map_init(&look.seen, r->kernel->allocator);
    r->rounding = HONE_ROUNDING_ALL;
    hone_stmt_walk(r->kernel->root, look_at_stmt, &look);
    hone_map_free(&look.seen);
  }
  return r->rounding == HONE_ROUNDING_ALL;
}

/* ---- writing them ---- */

/* What a function is taken of; NULL: the term is none. */
static const hone_term_t* of_function(hone_renderer_t* r, const hone_term_t* term,
                                      const char** out_name) {
  const hone_term_t* x = of_gelu(term);
  if (x) {
    *out_name = is_rounded(r) ? "gelu_rough" : "gelu";
    return x;
  }
  if (hone_render_is_rough_exponent(r, term)) {
    *out_name = "exp_rough";
    return term->args[0];
  }
  *out_name = power_name(term);
  if (*out_name) return term->args[0];
  *out_name = "logistic";
  return of_logistic(term);
}

bool hone_render_function(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done,
                          hone_operand_t* out) {
  const char* name;
  const hone_term_t* argument = of_function(r, term, &name);
  if (!argument) return false;
  hone_operand_t x = hone_render_term(r, argument, done);
  *out = hone_render_fresh(r, HONE_F32, x.is_vector);
  hone_str_appendf(r->out, " = hone_%s_f32%s(t%d);\n", name, x.is_vector ? "v" : "", x.temporary);
  return true;
}
