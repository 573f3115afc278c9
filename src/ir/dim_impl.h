/* The inside of dimension expressions, for those who print and change them. */
#ifndef HONE_IR_DIM_IMPL_H
#define HONE_IR_DIM_IMPL_H

#include "base/map.h"
#include "ir/dim.h"

typedef enum hone_expr_kind {
  HONE_EXPR_BAD,
  HONE_EXPR_SYMBOL,
  HONE_EXPR_LINEAR,
  HONE_EXPR_PRODUCT,
  HONE_EXPR_FLOORDIV,
  HONE_EXPR_MOD,
  HONE_EXPR_MIN,
  HONE_EXPR_MAX,
  HONE_EXPR_SELECT_LT,
  HONE_EXPR_SELECT_EQ
} hone_expr_kind_t;

typedef struct hone_expr_term {
  const hone_expr_t* atom;
  int64_t coefficient;
} hone_expr_term_t;

struct hone_expr {
  hone_expr_kind_t kind;
  int id;       /* order of making; sorts the terms of a sum */
  int64_t size; /* nodes when written out as a tree; bounds printing and evaluating */
  uint64_t hash;
  uint64_t symbols;        /* bit i: there may be symbols whose ids are i modulo 64 */
  int64_t min, max;        /* range; INT64_MIN and INT64_MAX stand for unbounded */
  const hone_expr_t* next; /* in its bucket */
  hone_symbol_t symbol;    /* SYMBOL */
  hone_dim_t args[4];      /* of the other atoms */
  int64_t constant;        /* LINEAR */
  int n_terms;
  const hone_expr_term_t* terms;
};

struct hone_dims {
  hone_arena_t* arena;
  int n_exprs;
  size_t n_buckets;
  const hone_expr_t** buckets;
  bool out_of_memory; /* some bad dimension comes from this */
  int n_symbols, symbols_room;
  const hone_expr_t** symbols;
  hone_map_t names; /* of symbols, to these */
};

/* Whether the term is a quotient or a remainder, as `kind` says, by a number above zero. */
static inline bool hone_dim_is_by_number(hone_dim_t term, hone_expr_kind_t kind) {
  return term.expr && term.expr->kind == kind && hone_dim_is_int(term.expr->args[1]) &&
         term.expr->args[1].k > 0;
}

#endif
