/* Patterns: what a subgraph of primitives must look like, in a short text.
 *
 *   div(e=exp(sub(x, top(x))), sum(e))                  softmax
 *
 *   name(p, …)   a node of that primitive. Operands of commutative ones may stand
 *                in any order; mul and add with more than two operands are trees
 *                of those in any association
 *   sum top      reduce by add, by max
 *   label(p, …)  a call of that label (the first inputs of it), where nothing
 *                else has the name
 *   mean(p)      a sum over how many there are, divided or multiplied
 *   sq(p) rsqrt(p) sigmoid(p) …   further words that the table in pattern.c
 *                spells out
 *   moved(p)     p behind any number of reshapes, permutes and expands
 *   (p | q)      p or else q
 *   2.5          all elements are this number, up to the rounding of its dtype
 *   x            any value; where the name stands again, the same value
 *   ~x           any value, without what only moves it: permutes, expands,
 *                reshapes that add or drop extents of 1, casts between floats
 *   #x           the same, with one element
 *   *x           the same, without any reshape
 *   x=p          a name for what p matches
 *   a := p; …    in front of all: from there on `a` is short for p
 *
 * Between the nodes of a pattern the same is looked through. That the pieces fit
 * each other is checked:
 * every axis of a named value must be where it was when the name was first met,
 * and all reductions of a pattern go over the same axes.
 *
 * All ways of matching are tried, operands as they are written first, up to a
 * bound on the work.
 *
 * A pattern is parsed once for a run of a pass and is immutable from then on. */
#ifndef HONE_PASSES_COMMON_PATTERN_H
#define HONE_PASSES_COMMON_PATTERN_H

#include "ir/graph.h"

typedef struct hone_pattern hone_pattern_t;

enum { HONE_PATTERN_NAMES = 16, HONE_MATCH_NODES = 96 };

/* What was found. */
typedef struct hone_pattern_match {
  const hone_pattern_t* pattern;
  int n_nodes; /* those of the pattern and those looked through, each once, in no order */
  hone_node_t* nodes[HONE_MATCH_NODES];
  hone_value_t* values[HONE_PATTERN_NAMES]; /* by name; NULL: did not occur */
  uint32_t varies[HONE_PATTERN_NAMES]; /* by name: axes of the root that it is not equal along */
  bool straight[HONE_PATTERN_NAMES];   /* by name: axis i of it is axis i of the root */
  uint32_t reduced;                    /* axes of the root that reductions go along */
  int n_axes;                          /* of the reductions, in their inputs */
  int64_t axes[HONE_MAX_RANK];
} hone_pattern_match_t;

/* Parses `text`. The pattern lives in `arena`. Errors: INTERNAL for a text that
 * is no pattern, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_pattern_parse(hone_arena_t* arena, const char* text,
                                               const hone_pattern_t** out_pattern);
/* Whether output 0 of `root` is what the pattern says. */
bool hone_pattern_match(const hone_pattern_t* pattern, hone_node_t* root,
                        hone_pattern_match_t* out_match);
/* The value of that name; NULL when there is none. */
hone_value_t* hone_pattern_value(const hone_pattern_match_t* match, const char* name);
/* Whether the value of that name, if there is one, is the same along all axes but
 * those of the reductions. */
bool hone_pattern_only_along_reduced(const hone_pattern_match_t* match, const char* name);
/* Whether that value, if the pattern has it, has the axes of the root. */
bool hone_pattern_is_straight(const hone_pattern_match_t* match, const char* name);

#endif
