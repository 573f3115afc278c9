/* Search: which candidates of a space to measure next.
 *
 * A search proposes candidates in batches, each at most once and only valid
 * ones, and learns what they took. How it chooses is its strategy, a file of
 * src/tune/strategies/. The same seed, and the same answers, give the same
 * proposals. Not thread-safe. */
#ifndef HONE_TUNE_SEARCH_H
#define HONE_TUNE_SEARCH_H

#include "tune/space.h"

typedef struct hone_search hone_search_t;

/* A zero means the default. */
typedef struct hone_search_options {
  const char* strategy; /* "learned"; see hone_strategy_name */
  uint64_t seed;
  /* What is known of a candidate beside its choices, as numbers: of its
   * schedule, for example. Writes n_features of them. */
  int n_features;
  void (*features)(void* context, const hone_space_t* space, const hone_candidate_t* candidate,
                   double* out_features);
  /* Optional. Seconds that a model of cost expects: what is promising is tried
   * before anything was learned, and the learned model may lean on it. */
  double (*predict)(void* context, const hone_space_t* space, const hone_candidate_t* candidate);
  void* context;
} hone_search_options_t;

/* `space` is borrowed. Errors: NOT_FOUND (no such strategy; the message lists
 * them), OUT_OF_MEMORY. `options` may be NULL. */
HONE_MUST_USE hone_status_t hone_search_create(const hone_allocator_t* allocator,
                                               const hone_space_t* space,
                                               const hone_search_options_t* options,
                                               hone_search_t** out_search);
void hone_search_destroy(hone_search_t* search); /* NULL is allowed */

/* Writes at most `most` candidates, the space's default, and where
 * it says to start, before all others. 0:
 * there are no more (or none was found among many that the rules refuse). */
HONE_MUST_USE hone_status_t hone_search_propose(hone_search_t* search, int most,
                                                hone_candidate_t* out_candidates, int* out_count);
/* What a candidate took; INFINITY (or anything that is no positive number):
 * it failed. Candidates that were not proposed, known from before, may be
 * told too, and are then not proposed any more. */
HONE_MUST_USE hone_status_t hone_search_learn(hone_search_t* search,
                                              const hone_candidate_t* candidate, double seconds);
/* The fastest so far; false when none was learned that did not fail. */
bool hone_search_best(const hone_search_t* search, hone_candidate_t* out_candidate,
                      double* out_seconds);
/* How many were learned. */
int hone_search_learned(const hone_search_t* search);

/* The strategies there are: names in order, NULL past the last; what each does, in a line. */
const char* hone_strategy_name(int index);
const char* hone_strategy_summary(int index);

#endif
