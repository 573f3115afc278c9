/* Evolution: the fastest so far are the parents; a child takes each choice
 * from one of two parents, and a few choices of it then change. */
#include "base/memory.h"
#include "tune/search_impl.h"

enum {
  FOUNDERS = 16,   /* random trials before there are children */
  POPULATION = 24, /* parents */
  TRIES = 16,      /* for a child that is new */
};

/* The better of two parents drawn. */
static const hone_candidate_t* choose_parent(hone_search_t* search, const int* parents,
                                             int n_parents) {
  uint64_t a = hone_draw_below(&search->draw, (uint64_t)n_parents);
  uint64_t b = hone_draw_below(&search->draw, (uint64_t)n_parents);
  return &search->trials[parents[a < b ? a : b]].candidate;
}

static bool find_child(hone_search_t* search, const int* parents, int n_parents,
                       hone_candidate_t* out_child) {
  for (int i = 0; i < TRIES; i++) {
    *out_child = hone_search_cross(search, choose_parent(search, parents, n_parents),
                                   choose_parent(search, parents, n_parents));
    hone_search_mutate(search, out_child);
    if (hone_search_is_new(search, out_child)) return true;
  }
  return false;
}

static hone_status_t take_children(hone_search_t* search, int most, const int* parents,
                                   int n_parents, hone_candidate_t* out_candidates,
                                   int* out_count) {
  hone_candidate_t child;
  while (*out_count < most && find_child(search, parents, n_parents, &child))
    HONE_TRY(hone_search_take(search, &child, out_candidates, out_count));
  return NULL;
}

static hone_status_t propose(hone_search_t* search, int most, hone_candidate_t* out_candidates,
                             int* out_count) {
  if (search->best < 0 || search->n_trials < FOUNDERS)
    return hone_search_take_random(search, most, out_candidates, out_count);
  size_t size = (size_t)search->n_trials * sizeof(int);
  int* parents = hone_alloc(search->allocator, size);
  if (!parents) return hone_oom();
  int n_parents = hone_search_fastest(search, POPULATION, parents);
  hone_status_t status = take_children(search, most, parents, n_parents, out_candidates, out_count);
  hone_free(search->allocator, parents, size);
  /* Where children are no longer new, chance goes on. */
  if (!status) status = hone_search_take_random(search, most, out_candidates, out_count);
  return status;
}

extern const hone_strategy_t hone_strategy_evolve;
const hone_strategy_t hone_strategy_evolve = {
    .name = "evolve",
    .summary = "crosses and mutates the fastest so far",
    .propose = propose,
};
