/* Dimension expressions and names in C. */
#include "codegen/c_text.h"

#include <ctype.h>
#include <inttypes.h>

#include "ir/dim_impl.h"

void hone_c_indent(hone_str_t* out, int depth) {
  for (int i = 0; i < depth; i++) hone_str_append(out, "  ");
}

static void put_name(hone_str_t* out, const char* name, int id) {
  if (!isalpha((unsigned char)name[0])) hone_str_append_char(out, 's');
  for (const char* c = name; *c; c++)
    hone_str_append_char(out, isalnum((unsigned char)*c) ? *c : '_');
  hone_str_appendf(out, "_%d", id);
}

/* What a model calls its sizes is left out: kernels that differ in it alone have one text. */
void hone_c_symbol(hone_str_t* out, const hone_symbol_t* symbol) {
  bool is_size = symbol->origin == HONE_SYMBOL_INPUT;
  put_name(out, is_size ? "n" : symbol->name, symbol->id);
}

void hone_c_buffer(hone_str_t* out, const hone_buffer_t* buffer) {
  put_name(out, buffer->name, buffer->id);
}

static void put_number(hone_str_t* out, int64_t k) {
  if (k >= INT32_MIN && k <= INT32_MAX)
    hone_str_appendf(out, "%" PRId64, k);
  else if (k == INT64_MIN)
    hone_str_append(out, "(-9223372036854775807l - 1)");
  else
    hone_str_appendf(out, "%" PRId64 "l", k);
}

static void put_sum(hone_str_t* out, const hone_expr_t* e) {
  hone_str_append_char(out, '(');
  for (int i = 0; i < e->n_terms; i++) {
    int64_t c = e->terms[i].coefficient;
    if (i) hone_str_append(out, " + ");
    hone_c_dim(out, (hone_dim_t){0, e->terms[i].atom});
    if (c == 1) continue;
    hone_str_append(out, " * ");
    put_number(out, c);
  }
  if (e->constant) {
    hone_str_append(out, " + ");
    put_number(out, e->constant);
  }
  hone_str_append_char(out, ')');
}

static void put_infix(hone_str_t* out, const hone_dim_t* args, const char* op) {
  hone_str_append_char(out, '(');
  hone_c_dim(out, args[0]);
  hone_str_append(out, op);
  hone_c_dim(out, args[1]);
  hone_str_append_char(out, ')');
}

static void put_call(hone_str_t* out, const hone_dim_t* args, const char* function) {
  hone_str_append(out, function);
  hone_str_append_char(out, '(');
  hone_c_dim(out, args[0]);
  hone_str_append(out, ", ");
  hone_c_dim(out, args[1]);
  hone_str_append_char(out, ')');
}

/* x / c or x % c where x is a sum with a number 0 < j < c at its end, as rows of a tile have: from
 * the quotient and remainder of the rest, which all of them share. The rest is written twice, so
 * that it must be short. False: it is not so. */
static bool put_stepped(hone_str_t* out, const hone_dim_t* args, bool is_quotient) {
  enum { SHORT = 32 };
  int64_t c = args[1].k;
  if (args[1].expr || !args[0].expr || args[0].expr->kind != HONE_EXPR_LINEAR ||
      (c & (c - 1)) == 0 || args[0].expr->size > SHORT)
    return false;
  hone_expr_t rest = *args[0].expr;
  int64_t j = rest.constant;
  if (j <= 0 || j >= c || hone_dim_min_value(args[0]) < j) return false;
  rest.constant = 0;
  hone_str_append_char(out, '(');
  put_sum(out, &rest);
  hone_str_appendf(out, " %c %" PRId64 " %s (", is_quotient ? '/' : '%', c,
                   is_quotient ? "+" : "-");
  put_sum(out, &rest);
  hone_str_appendf(out, " %% %" PRId64 " >= %" PRId64 ")", c, c - j);
  if (!is_quotient) hone_str_appendf(out, " * %" PRId64 " + %" PRId64, c, j);
  hone_str_append_char(out, ')');
  return true;
}

/* C's / and % are those of dimensions where nothing is negative. */
static void put_quotient(hone_str_t* out, const hone_dim_t* args, const char* op,
                         const char* function) {
  if (hone_dim_min_value(args[0]) < 0 || hone_dim_min_value(args[1]) <= 0)
    put_call(out, args, function);
  else if (!put_stepped(out, args, op[1] == '/'))
    put_infix(out, args, op);
}

static void put_choice(hone_str_t* out, const hone_dim_t* args, const char* op) {
  hone_str_append_char(out, '(');
  put_infix(out, args, op);
  hone_str_append(out, " ? ");
  hone_c_dim(out, args[2]);
  hone_str_append(out, " : ");
  hone_c_dim(out, args[3]);
  hone_str_append_char(out, ')');
}

void hone_c_dim(hone_str_t* out, hone_dim_t d) {
  if (!d.expr) {
    put_number(out, d.k);
    return;
  }
  const hone_dim_t* args = d.expr->args;
  switch (d.expr->kind) {
    case HONE_EXPR_SYMBOL:
      hone_c_symbol(out, &d.expr->symbol);
      break;
    case HONE_EXPR_LINEAR:
      put_sum(out, d.expr);
      break;
    case HONE_EXPR_PRODUCT:
      put_infix(out, args, " * ");
      break;
    case HONE_EXPR_FLOORDIV:
      put_quotient(out, args, " / ", "hone_floordiv");
      break;
    case HONE_EXPR_MOD:
      put_quotient(out, args, " % ", "hone_mod");
      break;
    case HONE_EXPR_MIN:
      put_call(out, args, "hone_imin");
      break;
    case HONE_EXPR_MAX:
      put_call(out, args, "hone_imax");
      break;
    case HONE_EXPR_SELECT_LT:
      put_choice(out, args, " < ");
      break;
    case HONE_EXPR_SELECT_EQ:
      put_choice(out, args, " == ");
      break;
    case HONE_EXPR_BAD:
      hone_str_append(out, "bad");
      break;
  }
}
