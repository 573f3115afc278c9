/* Reads dimension expressions from text: the grammar of dim_print.c.
 *
 *   sum     = product {("+" | "-") product}
 *   product = factor {("*" | "/" | "%") factor}
 *   factor  = number | "-" factor | name | function "(" sum {"," sum} ")" | "(" sum ")"
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ir/dim_impl.h"

enum { MAX_DEPTH = 256, MAX_NAME = 1024 };

typedef struct reader {
  hone_dims_t* dims;
  const char* at;
  int depth;
  bool failed;
} reader_t;

static hone_dim_t read_sum(reader_t* r);

static hone_dim_t fail(reader_t* r) {
  r->failed = true;
  return hone_dim_int(0);
}

static void skip_blanks(reader_t* r) {
  while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n') r->at++;
}

static bool take(reader_t* r, char c) {
  skip_blanks(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

typedef struct function {
  const char* name;
  int n_args;
  hone_dim_t (*two)(hone_dims_t*, hone_dim_t, hone_dim_t);
  hone_dim_t (*four)(hone_dims_t*, hone_dim_t, hone_dim_t, hone_dim_t, hone_dim_t);
} function_t;

static const function_t functions[] = {
    {"min", 2, hone_dim_min, NULL},
    {"max", 2, hone_dim_max, NULL},
    {"lt", 4, NULL, hone_dim_select_lt},
    {"eq", 4, NULL, hone_dim_select_eq},
};

static const function_t* find_function(const char* name, size_t length) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (strlen(functions[i].name) == length && strncmp(functions[i].name, name, length) == 0)
      return &functions[i];
  return NULL;
}

static hone_dim_t read_call(reader_t* r, const function_t* f) {
  hone_dim_t args[4];
  for (int i = 0; i < f->n_args; i++) {
    if (!take(r, i ? ',' : '(')) return fail(r);
    args[i] = read_sum(r);
  }
  if (!take(r, ')') || r->failed) return fail(r);
  return f->two ? f->two(r->dims, args[0], args[1])
                : f->four(r->dims, args[0], args[1], args[2], args[3]);
}

static hone_dim_t symbol(reader_t* r, const char* name) {
  return hone_dim_symbol(r->dims, name, HONE_SYMBOL_INPUT, 0, INT32_MAX);
}

static hone_dim_t read_quoted(reader_t* r) {
  char name[MAX_NAME];
  size_t length = 0;
  for (r->at++; *r->at && *r->at != '"'; r->at++) {
    if (*r->at == '\\' && r->at[1]) r->at++;
    if (length + 1 == sizeof name) return fail(r);
    name[length++] = *r->at;
  }
  if (*r->at != '"') return fail(r);
  r->at++;
  name[length] = 0;
  return symbol(r, name);
}

static hone_dim_t read_name(reader_t* r) {
  const char* start = r->at;
  char name[MAX_NAME];
  while (is_word(*r->at)) r->at++;
  size_t length = (size_t)(r->at - start);
  skip_blanks(r);
  const function_t* f = *r->at == '(' ? find_function(start, length) : NULL;
  if (f) return read_call(r, f);
  if (length + 1 > sizeof name) return fail(r);
  memcpy(name, start, length);
  name[length] = 0;
  return symbol(r, name);
}

static hone_dim_t read_number(reader_t* r) {
  char* end;
  errno = 0;
  long long value = strtoll(r->at, &end, 10);
  if (errno || is_word(*end)) return fail(r);
  r->at = end;
  return hone_dim_int(value);
}

static hone_dim_t read_parenthesis(reader_t* r) {
  r->at++;
  hone_dim_t inner = read_sum(r);
  return take(r, ')') ? inner : fail(r);
}

static hone_dim_t read_factor(reader_t* r) {
  skip_blanks(r);
  if (r->failed || r->depth >= MAX_DEPTH) return fail(r);
  r->depth++;
  hone_dim_t out;
  char c = *r->at;
  if ((c >= '0' && c <= '9') || (c == '-' && r->at[1] >= '0' && r->at[1] <= '9')) {
    out = read_number(r);
  } else if (c == '-') {
    r->at++;
    out = hone_dim_mul(r->dims, read_factor(r), hone_dim_int(-1));
  } else if (c == '(') {
    out = read_parenthesis(r);
  } else if (c == '"') {
    out = read_quoted(r);
  } else {
    out = is_word(c) ? read_name(r) : fail(r);
  }
  r->depth--;
  return out;
}

static hone_dim_t read_product(reader_t* r) {
  hone_dim_t out = read_factor(r);
  while (!r->failed) {
    if (take(r, '*'))
      out = hone_dim_mul(r->dims, out, read_factor(r));
    else if (take(r, '/'))
      out = hone_dim_floordiv(r->dims, out, read_factor(r));
    else if (take(r, '%'))
      out = hone_dim_mod(r->dims, out, read_factor(r));
    else
      break;
  }
  return out;
}

static hone_dim_t read_sum(reader_t* r) {
  hone_dim_t out = read_product(r);
  while (!r->failed) {
    if (take(r, '+'))
      out = hone_dim_add(r->dims, out, read_product(r));
    else if (take(r, '-'))
      out = hone_dim_sub(r->dims, out, read_product(r));
    else
      break;
  }
  return out;
}

hone_dim_t hone_dim_parse(hone_dims_t* dims, const char** text) {
  reader_t r = {.dims = dims, .at = *text};
  hone_dim_t out = read_sum(&r);
  *text = r.at;
  return r.failed ? hone_dim_bad() : out;
}
