/* A learned model of cost: boosted trees over the features of what was
 * measured say which of many candidates to measure next. Of every batch a
 * share is drawn at random, so that the model also hears of what it thinks
 * little of. Small spaces are predicted whole; in large ones the candidates
 * come from chance, from changes to the fastest trials, and from a few
 * generations bred by the predictions. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "tune/boost.h"
#include "tune/search_impl.h"

enum {
  FOUNDERS = 16,      /* trials before the model is asked */
  DRAWN = 48,         /* candidates of which the most promising is a founder */
  MOST_ROWS = 2048,   /* the latest trials that the model learns from */
  WHOLE_SPACE = 2048, /* up to this size every candidate is predicted */
  POOL = 512,
  ELITE = 128, /* of the pool, the parents of the next generation */
  GENERATIONS = 4,
};

static const double epsilon = 0.15; /* share of a batch that is random */

typedef struct scored {
  double score; /* higher: predicted faster */
  int order;    /* breaks ties, so that sorting has one result */
  hone_candidate_t candidate;
} scored_t;

typedef struct learner {
  hone_search_t* search;
  hone_arena_t* arena;
  hone_boost_t* boost;
  int n_features;
  double* row; /* [n_features] */
  scored_t* pool;
  int n_pool;
} learner_t;

static void find_features(learner_t* learner, const hone_candidate_t* candidate, double* out) {
  const hone_search_t* search = learner->search;
  hone_space_features(search->space, candidate, out);
  if (search->options.features)
    search->options.features(search->options.context, search->space, candidate,
                             out + hone_space_feature_count(search->space));
  if (search->options.predict)
    out[learner->n_features - 1] =
        log(search->options.predict(search->options.context, search->space, candidate));
}

/* Targets: larger is better; a failure is a bit worse than the slowest. */
static void find_targets(const hone_trial_t* trials, int rows, double* out_targets) {
  double worst = INFINITY;
  for (int i = 0; i < rows; i++) {
    out_targets[i] = isfinite(trials[i].seconds) ? -log(trials[i].seconds) : INFINITY;
    if (out_targets[i] < worst) worst = out_targets[i];
  }
  for (int i = 0; i < rows; i++)
    if (!isfinite(out_targets[i])) out_targets[i] = isfinite(worst) ? worst - 1 : 0;
}

static hone_status_t fit(learner_t* learner) {
  hone_search_t* search = learner->search;
  int rows = search->n_trials < MOST_ROWS ? search->n_trials : MOST_ROWS;
  const hone_trial_t* trials = search->trials + (search->n_trials - rows);
  size_t n = (size_t)learner->n_features;
  double* features = hone_arena_array(learner->arena, (size_t)rows * n, sizeof *features);
  double* targets = hone_arena_array(learner->arena, (size_t)rows, sizeof *targets);
  if (!features || !targets) return hone_oom();
  for (int i = 0; i < rows; i++)
    find_features(learner, &trials[i].candidate, features + (size_t)i * n);
  find_targets(trials, rows, targets);
  hone_boost_options_t options = {.seed = hone_draw_u64(&search->draw)};
  return hone_boost_fit(search->allocator, &options, rows, learner->n_features, features, targets,
                        &learner->boost);
}

/* ---- the pool ---- */

/* Puts a candidate in place `at` of the pool when it is new. */
static bool put(learner_t* learner, int at, const hone_candidate_t* candidate) {
  if (!hone_search_is_new(learner->search, candidate)) return false;
  find_features(learner, candidate, learner->row);
  learner->pool[at] = (scored_t){hone_boost_predict(learner->boost, learner->row), at, *candidate};
  return true;
}

static int compare_scored(const void* left, const void* right) {
  const scored_t *a = left, *b = right;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

static void sort_pool(learner_t* learner) {
  qsort(learner->pool, (size_t)learner->n_pool, sizeof *learner->pool, compare_scored);
  for (int i = 0; i < learner->n_pool; i++) learner->pool[i].order = i;
}

static void fill_with_all(learner_t* learner) {
  const hone_space_t* space = learner->search->space;
  for (uint64_t i = 0; i < hone_space_size(space); i++) {
    hone_candidate_t candidate = hone_space_at(space, i);
    learner->n_pool += put(learner, learner->n_pool, &candidate);
  }
}

/* Chance, and changes to the fastest trials, half and half. */
static hone_status_t fill_with_some(learner_t* learner) {
  hone_search_t* search = learner->search;
  int* fastest = hone_arena_array(learner->arena, (size_t)search->n_trials, sizeof *fastest);
  if (!fastest) return hone_oom();
  int n_fastest = hone_search_fastest(search, ELITE, fastest);
  for (int i = 0; i < 4 * POOL && learner->n_pool < POOL; i++) {
    hone_candidate_t candidate = hone_search_random(search);
    if (i % 2 && n_fastest) {
      uint64_t parent = hone_draw_below(&search->draw, (uint64_t)n_fastest);
      candidate = search->trials[fastest[parent]].candidate;
      hone_search_mutate(search, &candidate);
    }
    learner->n_pool += put(learner, learner->n_pool, &candidate);
  }
  return NULL;
}

/* Children of the best of the pool take the place of the others. */
static void breed(learner_t* learner) {
  hone_search_t* search = learner->search;
  int elite = learner->n_pool < ELITE ? learner->n_pool : ELITE;
  for (int i = elite; i < learner->n_pool; i++) {
    uint64_t a = hone_draw_below(&search->draw, (uint64_t)elite);
    uint64_t b = hone_draw_below(&search->draw, (uint64_t)elite);
    hone_candidate_t child =
        hone_search_cross(search, &learner->pool[a].candidate, &learner->pool[b].candidate);
    hone_search_mutate(search, &child);
    put(learner, i, &child);
  }
}

static hone_status_t fill_pool(learner_t* learner) {
  bool whole = hone_space_size(learner->search->space) <= WHOLE_SPACE;
  learner->pool =
      hone_arena_array(learner->arena, whole ? WHOLE_SPACE : POOL, sizeof *learner->pool);
  learner->row =
      hone_arena_array(learner->arena, (size_t)learner->n_features, sizeof *learner->row);
  if (!learner->pool || !learner->row) return hone_oom();
  if (whole)
    fill_with_all(learner);
  else
    HONE_TRY(fill_with_some(learner));
  sort_pool(learner);
  for (int i = 0; i < GENERATIONS && !whole; i++) {
    breed(learner);
    sort_pool(learner);
  }
  return NULL;
}

/* ---- proposing ---- */

static hone_status_t propose_by_model(learner_t* learner, int most,
                                      hone_candidate_t* out_candidates, int* out_count) {
  hone_search_t* search = learner->search;
  HONE_TRY(fit(learner));
  HONE_TRY(fill_pool(learner));
  int by_model = most;
  for (int i = *out_count; i < most; i++) by_model -= hone_draw_unit(&search->draw) < epsilon;
  for (int i = 0; i < learner->n_pool && *out_count < by_model; i++) {
    const hone_candidate_t* candidate = &learner->pool[i].candidate;
    if (hone_search_is_new(search, candidate)) /* the pool may hold it twice */
      HONE_TRY(hone_search_take(search, candidate, out_candidates, out_count));
  }
  return hone_search_take_random(search, most, out_candidates, out_count);
}

/* Before there is anything to learn from: the most promising of some drawn, but
 * for every third, since predictions may be wrong all in the same way. */
static hone_status_t propose_promising(hone_search_t* search, int most,
                                       hone_candidate_t* out_candidates, int* out_count) {
  while (*out_count < most && *out_count % 3 < 2) {
    hone_candidate_t best = {{0}};
    double least = INFINITY;
    for (int i = 0; i < DRAWN; i++) {
      hone_candidate_t candidate = hone_search_random(search);
      if (!hone_search_is_new(search, &candidate)) continue;
      double seconds = search->options.predict(search->options.context, search->space, &candidate);
      if (!(seconds < least)) continue;
      best = candidate;
      least = seconds;
    }
    if (!isfinite(least)) break;
    HONE_TRY(hone_search_take(search, &best, out_candidates, out_count));
  }
  int until = *out_count < most ? *out_count + 1 : most;
  HONE_TRY(hone_search_take_random(search, until, out_candidates, out_count));
  bool is_done = *out_count >= most || *out_count < until;
  return is_done ? NULL : propose_promising(search, most, out_candidates, out_count);
}

static hone_status_t propose(hone_search_t* search, int most, hone_candidate_t* out_candidates,
                             int* out_count) {
  int n_features = hone_space_feature_count(search->space) + search->options.n_features +
                   (search->options.predict != NULL);
  if (search->n_trials < FOUNDERS || search->best < 0 || n_features == 0)
    return search->options.predict
               ? propose_promising(search, most, out_candidates, out_count)
               : hone_search_take_random(search, most, out_candidates, out_count);
  learner_t learner = {.search = search, .n_features = n_features};
  HONE_TRY(hone_arena_create(search->allocator, &learner.arena));
  hone_status_t status = propose_by_model(&learner, most, out_candidates, out_count);
  hone_boost_destroy(learner.boost);
  hone_arena_destroy(learner.arena);
  return status;
}

extern const hone_strategy_t hone_strategy_learned;
const hone_strategy_t hone_strategy_learned = {
    .name = "learned",
    .summary = "boosted trees, learned from what was measured, say what to measure next",
    .propose = propose,
};
