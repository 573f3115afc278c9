/* Dimension expressions in text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/dim_impl.h"
#include "ir/text_writer.h"

/* Names that are not plain words stand in quotes. */
static void put_name(hone_text_writer_t* w, const char* name) {
  bool plain = name[0] && !(name[0] >= '0' && name[0] <= '9');
  for (const char* c = name; *c && plain; c++)
    plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
            *c == '_' || *c == '.';
  if (plain) {
    hone_text_put(w, name);
    return;
  }
  hone_text_put(w, "\"");
  for (const char* c = name; *c; c++) {
    char text[3] = {*c == '"' || *c == '\\' ? '\\' : *c, *c == '"' || *c == '\\' ? *c : 0, 0};
    hone_text_put(w, text);
  }
  hone_text_put(w, "\"");
}

static void put_int(hone_text_writer_t* w, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, value);
  hone_text_put(w, text);
}

static void put_dim(hone_text_writer_t* w, hone_dim_t d);

static void put_call(hone_text_writer_t* w, const char* name, const hone_dim_t* args, int count) {
  hone_text_put(w, name);
  for (int i = 0; i < count; i++) {
    hone_text_put(w, i ? ", " : "(");
    put_dim(w, args[i]);
  }
  hone_text_put(w, ")");
}

/* The sign of a term that is not the first. The most negative number has no
 * magnitude, so it is added. */
static const char* sign(int64_t c) { return c < 0 && c != INT64_MIN ? " - " : " + "; }
static int64_t magnitude(int64_t c) { return c < 0 && c != INT64_MIN ? -c : c; }

/* "2*h - w + 3": the first term without a plus. */
static void put_linear(hone_text_writer_t* w, const hone_expr_t* e) {
  hone_text_put(w, "(");
  for (int i = 0; i < e->n_terms; i++) {
    int64_t c = e->terms[i].coefficient;
    if (i) hone_text_put(w, sign(c));
    if (!i && magnitude(c) != c) hone_text_put(w, "-");
    if (c != 1 && c != -1) {
      put_int(w, magnitude(c));
      hone_text_put(w, "*");
    }
    put_dim(w, (hone_dim_t){0, e->terms[i].atom});
  }
  if (e->constant) {
    hone_text_put(w, sign(e->constant));
    put_int(w, magnitude(e->constant));
  }
  hone_text_put(w, ")");
}

static void put_infix(hone_text_writer_t* w, const hone_dim_t* args, const char* operation) {
  hone_text_put(w, "(");
  put_dim(w, args[0]);
  hone_text_put(w, operation);
  put_dim(w, args[1]);
  hone_text_put(w, ")");
}

static void put_dim(hone_text_writer_t* w, hone_dim_t d) {
  if (!d.expr) {
    put_int(w, d.k);
    return;
  }
  const hone_dim_t* args = d.expr->args;
  switch (d.expr->kind) {
    case HONE_EXPR_BAD:
      hone_text_put(w, "bad");
      break;
    case HONE_EXPR_SYMBOL:
      put_name(w, d.expr->symbol.name);
      break;
    case HONE_EXPR_LINEAR:
      put_linear(w, d.expr);
      break;
    case HONE_EXPR_PRODUCT:
      put_infix(w, args, "*");
      break;
    case HONE_EXPR_FLOORDIV:
      put_infix(w, args, "/");
      break;
    case HONE_EXPR_MOD:
      put_infix(w, args, "%");
      break;
    case HONE_EXPR_MIN:
      put_call(w, "min", args, 2);
      break;
    case HONE_EXPR_MAX:
      put_call(w, "max", args, 2);
      break;
    case HONE_EXPR_SELECT_LT:
      put_call(w, "lt", args, 4);
      break;
    case HONE_EXPR_SELECT_EQ:
      put_call(w, "eq", args, 4);
      break;
  }
}

size_t hone_dim_print(hone_dim_t d, char* buffer, size_t size) {
  hone_text_writer_t w = {.buffer = buffer, .size = size};
  put_dim(&w, d);
  return hone_text_finish(&w);
}
