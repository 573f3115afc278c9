/* Walks: look-ups that take the same step again and again, as down a tree (ops/common/ml_forest.h).
 *
 *   x1 = step(x0)   x2 = step(x1)   x3 = step(x2)   …   out = found[x9]
 *
 * A step is some lets that are the same as those before them, with one step's names for those of
 * the step before, and that read no other names. So where one leads to where it began, all that
 * follow do: at a leaf, and most ways are shorter than the longest. */
#ifndef HONE_LOOP_WALK_H
#define HONE_LOOP_WALK_H

#include "loop/kernel.h"

typedef struct hone_walk {
  int n_steps; /* 0: it is no walk, or too short a one for exits */
  int step;    /* lets in a step; the last one is the place that the step leads to */
  int start;   /* the let of the place that the first step sets out from */
} hone_walk_t;

enum { HONE_WALK_FIRST_STEPS = 6 /* which are taken in any case: few ways are shorter */ };

/* The walk that a loop's rounds are. False: out of memory. */
bool hone_walk_find(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_walk_t* out_walk);
/* The let of the place where so many steps lead. */
int hone_walk_place(const hone_walk_t* walk, int steps);
/* How many steps a usual round takes. */
int hone_walk_usual_steps(const hone_walk_t* walk);

#endif
