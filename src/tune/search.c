/* Searches: what all strategies share. */
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tune/search_impl.h"

enum {
  RANDOM_TRIES = 64,
  SCAN_TRIES = 1 << 16, /* candidates looked at in order once drawing finds nothing new */
};

const char* hone_strategy_name(int index) {
  return index >= 0 && index < hone_strategy_count ? hone_strategies[index]->name : NULL;
}

const char* hone_strategy_summary(int index) {
  return index >= 0 && index < hone_strategy_count ? hone_strategies[index]->summary : NULL;
}

static hone_status_t find_strategy(const char* name, const hone_strategy_t** out_strategy) {
  hone_str_t names;
  hone_str_init(&names, NULL);
  for (int i = 0; i < hone_strategy_count; i++) {
    *out_strategy = hone_strategies[i];
    if (strcmp(hone_strategies[i]->name, name) == 0) {
      hone_str_free(&names);
      return NULL;
    }
    hone_str_appendf(&names, " %s", hone_strategies[i]->name);
  }
  hone_status_t status =
      hone_status_make(HONE_NOT_FOUND, "there is no search strategy \"%s\"; there are:%s", name,
                       hone_str_text(&names));
  hone_str_free(&names);
  return status;
}

hone_status_t hone_search_create(const hone_allocator_t* allocator, const hone_space_t* space,
                                 const hone_search_options_t* options, hone_search_t** out_search) {
  *out_search = NULL;
  hone_search_options_t full = {0};
  if (options) full = *options;
  if (!full.strategy) full.strategy = "learned";
  if (!full.features) full.n_features = 0;
  const hone_strategy_t* strategy = NULL;
  HONE_TRY(find_strategy(full.strategy, &strategy));
  hone_search_t* search = hone_alloc(allocator, sizeof *search);
  if (!search) return hone_oom();
  search->allocator = allocator;
  search->space = space;
  search->strategy = strategy;
  search->options = full;
  search->draw.seed = full.seed;
  search->best = -1;
  hone_map_init(&search->seen, allocator);
  *out_search = search;
  return NULL;
}

void hone_search_destroy(hone_search_t* search) {
  if (!search) return;
  hone_map_free(&search->seen);
  hone_free(search->allocator, search->trials, (size_t)search->capacity * sizeof *search->trials);
  hone_free(search->allocator, search, sizeof *search);
}

hone_status_t hone_search_propose(hone_search_t* search, int most, hone_candidate_t* out_candidates,
                                  int* out_count) {
  *out_count = 0;
  hone_candidate_t first = hone_space_default(search->space);
  if (most > 0 && hone_search_is_new(search, &first))
    HONE_TRY(hone_search_take(search, &first, out_candidates, out_count));
  const hone_candidate_t* start;
  for (int i = 0; *out_count < most && (start = hone_space_start(search->space, i)); i++)
    if (hone_search_is_new(search, start))
      HONE_TRY(hone_search_take(search, start, out_candidates, out_count));
  if (*out_count == most) return NULL;
  return search->strategy->propose(search, most, out_candidates, out_count);
}

static hone_status_t mark_seen(hone_search_t* search, const hone_candidate_t* candidate) {
  return hone_map_put_u64(&search->seen, hone_space_index(search->space, candidate), search);
}

static hone_status_t grow_trials(hone_search_t* search) {
  if (search->n_trials < search->capacity) return NULL;
  int capacity = search->capacity ? search->capacity * 2 : 64;
  hone_trial_t* trials =
      hone_realloc(search->allocator, search->trials, (size_t)search->capacity * sizeof *trials,
                   (size_t)capacity * sizeof *trials);
  if (!trials) return hone_oom();
  search->trials = trials;
  search->capacity = capacity;
  return NULL;
}

hone_status_t hone_search_learn(hone_search_t* search, const hone_candidate_t* candidate,
                                double seconds) {
  HONE_TRY(grow_trials(search));
  HONE_TRY(mark_seen(search, candidate));
  if (!(seconds > 0)) seconds = INFINITY;
  int trial = search->n_trials++;
  search->trials[trial] = (hone_trial_t){*candidate, seconds};
  if (isfinite(seconds) && (search->best < 0 || seconds < search->trials[search->best].seconds))
    search->best = trial;
  return NULL;
}

bool hone_search_best(const hone_search_t* search, hone_candidate_t* out_candidate,
                      double* out_seconds) {
  if (search->best < 0) return false;
  *out_candidate = search->trials[search->best].candidate;
  *out_seconds = search->trials[search->best].seconds;
  return true;
}

int hone_search_learned(const hone_search_t* search) { return search->n_trials; }

/* ---- for strategies ---- */

bool hone_search_is_new(const hone_search_t* search, const hone_candidate_t* candidate) {
  uint64_t index = hone_space_index(search->space, candidate);
  return !hone_map_get_u64(&search->seen, index) && hone_space_is_valid(search->space, candidate);
}

hone_status_t hone_search_take(hone_search_t* search, const hone_candidate_t* candidate,
                               hone_candidate_t* out_candidates, int* out_count) {
  HONE_TRY(mark_seen(search, candidate));
  out_candidates[(*out_count)++] = *candidate;
  return NULL;
}

hone_candidate_t hone_search_random(hone_search_t* search) {
  hone_candidate_t candidate =
      hone_space_at(search->space, hone_draw_below(&search->draw, hone_space_size(search->space)));
  hone_space_settle(search->space, &candidate);
  return candidate;
}

/* A new candidate: drawn, or else the next one from a random place on. */
static bool find_new(hone_search_t* search, hone_candidate_t* out_candidate) {
  for (int i = 0; i < RANDOM_TRIES; i++) {
    *out_candidate = hone_search_random(search);
    if (hone_search_is_new(search, out_candidate)) return true;
  }
  uint64_t size = hone_space_size(search->space);
  uint64_t start = hone_draw_below(&search->draw, size);
  for (uint64_t i = 0; i < size && i < SCAN_TRIES; i++) {
    *out_candidate = hone_space_at(search->space, (start + i) % size);
    if (hone_search_is_new(search, out_candidate)) return true;
  }
  return false;
}

hone_status_t hone_search_take_random(hone_search_t* search, int count,
                                      hone_candidate_t* out_candidates, int* out_count) {
  hone_candidate_t candidate;
  while (*out_count < count && find_new(search, &candidate))
    HONE_TRY(hone_search_take(search, &candidate, out_candidates, out_count));
  return NULL;
}

hone_candidate_t hone_search_cross(hone_search_t* search, const hone_candidate_t* one,
                                   const hone_candidate_t* other) {
  hone_candidate_t child = *one;
  uint64_t bits = hone_draw_u64(&search->draw);
  for (int i = 0; i < hone_space_parameter_count(search->space); i++)
    if (bits >> i & 1) child.choice[i] = other->choice[i];
  hone_space_settle(search->space, &child);
  return child;
}

/* In how many parts two choices differ. */
static int distance(const hone_parameter_t* parameter, int one, int other) {
  int count = 0;
  for (int i = 0; i < parameter->parts; i++)
    count += parameter->values[(int64_t)one * parameter->parts + i] !=
             parameter->values[(int64_t)other * parameter->parts + i];
  return count;
}

/* A choice near `choice`: the one before or after it for numbers; for splits
 * and orders, of a few drawn the one that differs in the fewest parts. */
static int neighbour(hone_search_t* search, const hone_parameter_t* parameter, int choice) {
  enum { DRAWS = 8 };
  uint64_t n = (uint64_t)parameter->n_choices;
  if (parameter->kind == HONE_PARAMETER_NUMBER) {
    int step = hone_draw_below(&search->draw, 2) ? 1 : -1;
    int next = choice + step;
    return next < 0 || next >= parameter->n_choices ? choice - step : next;
  }
  int best = (int)hone_draw_below(&search->draw, n), least = INT32_MAX;
  for (int i = 0; i < DRAWS; i++) {
    int other = (int)hone_draw_below(&search->draw, n);
    int far = distance(parameter, choice, other);
    if (other == choice || far >= least) continue;
    least = far;
    best = other;
  }
  return best;
}

static void mutate_one(hone_search_t* search, hone_candidate_t* candidate, int index) {
  const hone_parameter_t* parameter = hone_space_parameter(search->space, index);
  if (parameter->n_choices == 1) return;
  int choice = candidate->choice[index];
  if (hone_draw_below(&search->draw, 3))
    choice = neighbour(search, parameter, choice);
  else
    choice = (int)hone_draw_below(&search->draw, (uint64_t)parameter->n_choices);
  candidate->choice[index] = (uint16_t)choice;
}

void hone_search_mutate(hone_search_t* search, hone_candidate_t* candidate) {
  int count = hone_space_parameter_count(search->space);
  if (count == 0) return;
  do {
    mutate_one(search, candidate, (int)hone_draw_below(&search->draw, (uint64_t)count));
  } while (hone_draw_below(&search->draw, 3) == 0);
  hone_space_settle(search->space, candidate);
}

static int compare_trials(const void* left, const void* right, void* context) {
  const hone_trial_t* trials = context;
  int a = *(const int*)left, b = *(const int*)right;
  if (trials[a].seconds != trials[b].seconds) return trials[a].seconds < trials[b].seconds ? -1 : 1;
  return a < b ? -1 : 1;
}

int hone_search_fastest(const hone_search_t* search, int most, int* out_trials) {
  int count = 0;
  for (int i = 0; i < search->n_trials; i++)
    if (isfinite(search->trials[i].seconds)) out_trials[count++] = i;
  qsort_r(out_trials, (size_t)count, sizeof *out_trials, compare_trials, search->trials);
  return count < most ? count : most;
}
