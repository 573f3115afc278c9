/* Dimension expressions: integers that may depend on symbols ("batch",
 * "seq + 2"). Every extent, offset and pad of a graph is one, so one graph
 * serves a whole range of sizes.
 *
 * Expressions are interned in a hone_dims_t: two that are built from equal
 * parts are the same pointer. Sums of products are kept in a canonical linear
 * form, so that (h + 2) - 2 is h again. Every symbol has a range, and every
 * expression inherits one; it is what lets max(h, 0) become h.
 *
 * A plain number needs no context and no memory: see hone_dim_int. Arithmetic
 * saturates to an error mark instead of overflowing (hone_dim_is_bad); a bad
 * dimension spreads through everything made from it, also when memory ran out.
 *
 * Not thread-safe while it is being built; evaluation is. */
#ifndef HONE_IR_DIM_H
#define HONE_IR_DIM_H

#include "base/arena.h"

typedef struct hone_expr hone_expr_t;

/* A dimension by value: `expr` NULL means the number `k`. */
typedef struct hone_dim {
  int64_t k;
  const hone_expr_t* expr;
} hone_dim_t;

typedef struct hone_dims hone_dims_t;

/* Where the value of a symbol comes from when a program runs. */
typedef enum hone_symbol_origin {
  HONE_SYMBOL_INPUT,   /* a named dimension of the model's inputs */
  HONE_SYMBOL_RESULT,  /* an extent of a produced value, known once it exists */
  HONE_SYMBOL_ELEMENT, /* an element of an integer tensor, known once that exists */
} hone_symbol_origin_t;

typedef struct hone_symbol {
  int id; /* index into a run's table of symbol values */
  const char* name;
  hone_symbol_origin_t origin;
  int64_t min, max; /* inclusive range */
} hone_symbol_t;

HONE_MUST_USE hone_status_t hone_dims_create(hone_arena_t* arena, hone_dims_t** out_dims);

/* A symbol; of the same name the same symbol. `name` NULL makes a fresh one. */
hone_dim_t hone_dim_symbol(hone_dims_t* dims, const char* name, hone_symbol_origin_t origin,
                           int64_t min, int64_t max);
/* Whether memory ever ran out, which makes bad dimensions too. */
bool hone_dims_out_of_memory(const hone_dims_t* dims);
bool hone_dims_has_name(const hone_dims_t* dims, const char* name);
int hone_dims_symbol_count(const hone_dims_t* dims);
const hone_symbol_t* hone_dims_symbol(const hone_dims_t* dims, int id);
/* For each symbol the smallest value that is not zero, as sizes may be at their smallest. `out` has
 * room for all. */
void hone_dims_smallest(const hone_dims_t* dims, int64_t* out);
/* The symbol that `d` is, or NULL when it is anything else. */
const hone_symbol_t* hone_dim_as_symbol(hone_dim_t d);

static inline hone_dim_t hone_dim_int(int64_t k) { return (hone_dim_t){k, NULL}; }
static inline bool hone_dim_is_int(hone_dim_t d) { return !d.expr; }
/* The error mark. */
hone_dim_t hone_dim_bad(void);
bool hone_dim_is_bad(hone_dim_t d);
/* Equal for all values of the symbols, as far as the canonical form shows. */
static inline bool hone_dim_same(hone_dim_t a, hone_dim_t b) {
  return a.expr == b.expr && (a.expr || a.k == b.k);
}
static inline bool hone_dim_is(hone_dim_t d, int64_t k) { return !d.expr && d.k == k; }

hone_dim_t hone_dim_add(hone_dims_t* dims, hone_dim_t a, hone_dim_t b);
hone_dim_t hone_dim_sub(hone_dims_t* dims, hone_dim_t a, hone_dim_t b);
hone_dim_t hone_dim_mul(hone_dims_t* dims, hone_dim_t a, hone_dim_t b);
/* Quotients round towards minus infinity (floordiv), plus infinity (ceildiv);
 * mod has the sign of the divisor. A divisor of zero gives zero at run time
 * and a bad dimension when it is known; but what cancels out first is not seen
 * to be zero: (12 * n) / n is 12. */
hone_dim_t hone_dim_floordiv(hone_dims_t* dims, hone_dim_t a, hone_dim_t b);
hone_dim_t hone_dim_ceildiv(hone_dims_t* dims, hone_dim_t a, hone_dim_t b);
hone_dim_t hone_dim_mod(hone_dims_t* dims, hone_dim_t a, hone_dim_t b);
hone_dim_t hone_dim_min(hone_dims_t* dims, hone_dim_t a, hone_dim_t b);
hone_dim_t hone_dim_max(hone_dims_t* dims, hone_dim_t a, hone_dim_t b);
/* a < b ? x : y */
hone_dim_t hone_dim_select_lt(hone_dims_t* dims, hone_dim_t a, hone_dim_t b, hone_dim_t x,
                              hone_dim_t y);
/* a == b ? x : y */
hone_dim_t hone_dim_select_eq(hone_dims_t* dims, hone_dim_t a, hone_dim_t b, hone_dim_t x,
                              hone_dim_t y);
/* Whether `d` is such a choice, or a sum with one: it is `out_x` or `out_y`. */
bool hone_dim_is_choice(hone_dims_t* dims, hone_dim_t d, hone_dim_t* out_x, hone_dim_t* out_y);
hone_dim_t hone_dim_product(hone_dims_t* dims, int count, const hone_dim_t* list);

/* Nodes of the expression written out as a tree; 1 for a number. */
int64_t hone_dim_size(hone_dim_t d);
/* The range that follows from the symbols' ranges. */
int64_t hone_dim_min_value(hone_dim_t d);
int64_t hone_dim_max_value(hone_dim_t d);
/* An expression that is at least (else at most) `d`: a sum in which quotients and
 * remainders by numbers are taken apart, so that 16 * (n / 16) + n % 16 - n shows to be 0,
 * and n - 16 * (n / 16) not to be negative. */
hone_dim_t hone_dim_bound(hone_dims_t* dims, hone_dim_t d, bool above);

/* The value when symbol i has values[i]. Overflow wraps. */
int64_t hone_dim_eval(hone_dim_t d, const int64_t* values);
/* Calls visit for each symbol of `d`. */
void hone_dim_visit_symbols(hone_dim_t d, void (*visit)(void*, const hone_symbol_t*), void* self);

/* Bit i: there may be symbols whose ids are i modulo 64. */
uint64_t hone_dim_symbols(hone_dim_t d);
/* Whether the symbol occurs in `d`. */
bool hone_dim_uses(hone_dim_t d, hone_dim_t symbol);
/* `d` with symbol i replaced by to[i], for i < n where is_mapped[i] (NULL:
 * everywhere), rebuilt and simplified in `dims`; d itself may be of another
 * hone_dims_t when all its symbols are replaced. A divisor that turns out to be
 * zero gives zero, as it does at run time. */
hone_dim_t hone_dim_replace(hone_dims_t* dims, hone_dim_t d, int n, const hone_dim_t* to,
                            const bool* is_mapped);
/* The same for one symbol; `d` is of `dims`. */
hone_dim_t hone_dim_replace_symbol(hone_dims_t* dims, hone_dim_t d, hone_dim_t symbol,
                                   hone_dim_t to);
/* `d` with expressions other than sums, symbols and numbers replaced by what `rename` gives for
 * them; it is asked from the outside in, and gives `part` itself for what is to stay, into which
 * it is asked further. */
hone_dim_t hone_dim_rename(hone_dims_t* dims, hone_dim_t d,
                           hone_dim_t (*rename)(void* self, hone_dim_t part), void* self);
/* When d is base + factor * symbol with a base free of the symbol, gives the
 * factor (0 where it does not occur); false otherwise. */
bool hone_dim_factor(hone_dim_t d, hone_dim_t symbol, int64_t* out_factor);
/* The terms of a sum; of anything else the one term, with coefficient 1. A number has none. */
int hone_dim_term_count(hone_dim_t d);
hone_dim_t hone_dim_term(hone_dim_t d, int index, int64_t* out_coefficient);
/* The divisor of a remainder that is a term of `d` with coefficient 1; 0: there is none. */
hone_dim_t hone_dim_modulus(hone_dim_t d);
/* Calls visit for each two expressions that a min, max or select in `d` compares. */
void hone_dim_visit_choices(hone_dim_t d, void (*visit)(void* self, hone_dim_t a, hone_dim_t b),
                            void* self);

/* Text: "64", "batch", "(h + 2) / 2", "min(a, 3)", "lt(a, b, x, y)". Writes
 * at most `size` bytes including the 0 and returns the full length. */
size_t hone_dim_print(hone_dim_t d, char* buffer, size_t size);
/* Parses what print writes; symbols not yet known are made as inputs with the
 * range 0 … INT32_MAX. *text moves behind the expression. A bad dimension on a
 * syntax error. */
hone_dim_t hone_dim_parse(hone_dims_t* dims, const char** text);

#endif
