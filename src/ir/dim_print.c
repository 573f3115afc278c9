/* Dimension expressions in text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/dim_impl.h"

typedef struct writer {
  char* buffer;
  size_t size, length;
} writer_t;

static void put(writer_t* w, const char* text) {
  for (; *text; text++) {
    if (w->length + 1 < w->size) w->buffer[w->length] = *text;
    w->length++;
  }
}

/* Names that are not plain words stand in quotes. */
static void put_name(writer_t* w, const char* name) {
  bool plain = name[0] && !(name[0] >= '0' && name[0] <= '9');
  for (const char* c = name; *c && plain; c++)
    plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
            *c == '_' || *c == '.';
  if (plain) {
    put(w, name);
    return;
  }
  put(w, "\"");
  for (const char* c = name; *c; c++) {
    char text[3] = {*c == '"' || *c == '\\' ? '\\' : *c, *c == '"' || *c == '\\' ? *c : 0, 0};
    put(w, text);
  }
  put(w, "\"");
}

static void put_int(writer_t* w, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, value);
  put(w, text);
}

static void put_dim(writer_t* w, hone_dim_t d);

static void put_call(writer_t* w, const char* name, const hone_dim_t* args, int count) {
  put(w, name);
  for (int i = 0; i < count; i++) {
    put(w, i ? ", " : "(");
    put_dim(w, args[i]);
  }
  put(w, ")");
}

/* The sign of a term that is not the first. The most negative number has no
 * magnitude, so it is added. */
static const char* sign(int64_t c) { return c < 0 && c != INT64_MIN ? " - " : " + "; }
static int64_t magnitude(int64_t c) { return c < 0 && c != INT64_MIN ? -c : c; }

/* "2*h - w + 3": the first term without a plus. */
static void put_linear(writer_t* w, const hone_expr_t* e) {
  put(w, "(");
  for (int i = 0; i < e->n_terms; i++) {
    int64_t c = e->terms[i].coefficient;
    if (i) put(w, sign(c));
    if (!i && magnitude(c) != c) put(w, "-");
    if (c != 1 && c != -1) {
      put_int(w, magnitude(c));
      put(w, "*");
    }
    put_dim(w, (hone_dim_t){0, e->terms[i].atom});
  }
  if (e->constant) {
    put(w, sign(e->constant));
    put_int(w, magnitude(e->constant));
  }
  put(w, ")");
}

static void put_infix(writer_t* w, const hone_dim_t* args, const char* operation) {
  put(w, "(");
  put_dim(w, args[0]);
  put(w, operation);
  put_dim(w, args[1]);
  put(w, ")");
}

static void put_dim(writer_t* w, hone_dim_t d) {
  if (!d.expr) {
    put_int(w, d.k);
    return;
  }
  const hone_dim_t* args = d.expr->args;
  switch (d.expr->kind) {
    case HONE_EXPR_BAD:
      put(w, "bad");
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
  writer_t w = {.buffer = buffer, .size = size};
  put_dim(&w, d);
  if (size) buffer[w.length < size ? w.length : size - 1] = 0;
  return w.length;
}
