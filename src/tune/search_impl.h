/* What strategies see of a search. */
#ifndef HONE_TUNE_SEARCH_IMPL_H
#define HONE_TUNE_SEARCH_IMPL_H

#include "base/map.h"
#include "tune/draw.h"
#include "tune/search.h"

typedef struct hone_trial {
  hone_candidate_t candidate;
  double seconds; /* INFINITY: it failed */
} hone_trial_t;

/* One way of searching; `const hone_strategy_t hone_strategy_NAME` in strategies/NAME.c. */
typedef struct hone_strategy {
  const char* name;
  const char* summary; /* one line */
  /* Takes at most `most` new candidates by hone_search_take. */
  hone_status_t (*propose)(hone_search_t* search, int most, hone_candidate_t* out_candidates,
                           int* out_count);
} hone_strategy_t;

/* Made by the build's scan. */
extern const hone_strategy_t* const hone_strategies[];
extern const int hone_strategy_count;

struct hone_search {
  const hone_allocator_t* allocator;
  const hone_space_t* space;
  const hone_strategy_t* strategy;
  hone_search_options_t options;
  hone_draw_t draw;
  hone_map_t seen;      /* indices of candidates proposed or learned */
  hone_trial_t* trials; /* in the order in which they were learned */
  int n_trials, capacity;
  int best;        /* trial; -1: none */
  uint64_t cursor; /* for the strategy; 0 at first */
};

/* Whether the candidate is valid and was neither proposed nor learned. */
bool hone_search_is_new(const hone_search_t* search, const hone_candidate_t* candidate);
/* Proposes a new candidate: appends it and sees to it that it is not proposed again. */
HONE_MUST_USE hone_status_t hone_search_take(hone_search_t* search,
                                             const hone_candidate_t* candidate,
                                             hone_candidate_t* out_candidates, int* out_count);
/* Takes random new candidates until there are `count` in all, or none is found. */
HONE_MUST_USE hone_status_t hone_search_take_random(hone_search_t* search, int count,
                                                    hone_candidate_t* out_candidates,
                                                    int* out_count);
/* Any candidate, valid or not, seen or not. */
hone_candidate_t hone_search_random(hone_search_t* search);
/* A candidate that takes each choice from one of two. */
hone_candidate_t hone_search_cross(hone_search_t* search, const hone_candidate_t* one,
                                   const hone_candidate_t* other);
/* Changes one choice or a few, more often to one near by than to any. */
void hone_search_mutate(hone_search_t* search, hone_candidate_t* candidate);
/* The indices of the fastest trials that did not fail, at most `most`, fastest
 * first; returns how many. `out_trials` has room for n_trials. */
int hone_search_fastest(const hone_search_t* search, int most, int* out_trials);

#endif
