#include "tune/search.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/testing/fault.h"

/* ---- landscapes: made-up costs whose least is known ---- */

/* Like a blocked matrix product: tiles that fit a cache and a vector, with the
 * parameters depending on each other. The least cost is 1. */
static double tiles_cost(const hone_space_t* space, const hone_candidate_t* c) {
  double m = (double)hone_candidate_number(space, c, "tile_m", 0);
  double n = (double)hone_candidate_number(space, c, "tile_n", 0);
  double k = (double)hone_candidate_number(space, c, "split_k", 1);
  double vec = (double)hone_candidate_number(space, c, "vec", 0);
  const char* inner = hone_candidate_word(space, c, "inner", 0);
  double cost = 1 + fabs(log2(m * n / 128)) * 0.5 + fabs(log2(m / 8)) * 0.3;
  cost += fabs(log2(vec / 8)) * 0.6 + fabs(log2(k / 64)) * 0.4;
  if (strcmp(inner, "vector") != 0) cost *= strcmp(inner, "unroll") == 0 ? 1.5 : 2.5;
  if (strcmp(hone_candidate_word(space, c, "order", 2), "n") != 0) cost *= 1.7;
  if (m * n > 1024) cost = INFINITY; /* does not build */
  return cost;
}

static hone_status_t define_tiles(hone_space_t* space) {
  HONE_TRY(hone_space_define_powers(space, "tile_m", 1, 256));
  HONE_TRY(hone_space_define_powers(space, "tile_n", 1, 256));
  HONE_TRY(hone_space_define_split(space, "split_k", 1024, 3, 0));
  HONE_TRY(hone_space_define_powers(space, "vec", 1, 32));
  HONE_TRY(hone_space_define_words(space, "inner", 3,
                                   (const char* const[]){"none", "unroll", "vector"}));
  return hone_space_define_order(space, "order", 3, (const char* const[]){"n", "m", "k"});
}

static hone_space_t* make_tiles(void) {
  hone_space_t* space;
  assert_ok(hone_space_create(NULL, &space));
  assert_ok(define_tiles(space));
  return space;
}

/* Runs a search for `trials`; gives the least cost found. Checks that no
 * candidate comes twice and that all are valid. */
static hone_status_t run(const hone_allocator_t* allocator, const hone_space_t* space,
                         const char* strategy, uint64_t seed, int trials, double* out_best,
                         int* out_trials) {
  enum { BATCH = 8 };
  hone_search_t* search;
  hone_search_options_t options = {.strategy = strategy, .seed = seed};
  HONE_TRY(hone_search_create(allocator, space, &options, &search));
  hone_candidate_t batch[BATCH];
  hone_status_t status = NULL;
  int count = 1, done = 0;
  while (done < trials && count > 0 && !status) {
    status = hone_search_propose(search, BATCH, batch, &count);
    for (int i = 0; i < count && !status; i++, done++)
      status = hone_search_learn(search, &batch[i], tiles_cost(space, &batch[i]));
  }
  hone_candidate_t best;
  *out_best = INFINITY;
  hone_search_best(search, &best, out_best);
  if (!status && isfinite(*out_best)) assert_true(tiles_cost(space, &best) == *out_best);
  if (!status) assert_int_equal(hone_search_learned(search), done);
  *out_trials = done;
  hone_search_destroy(search);
  return status;
}

/* Mean of the best cost over five seeds. */
static double mean_best(const hone_space_t* space, const char* strategy, int trials) {
  double sum = 0, best;
  int done;
  for (uint64_t seed = 0; seed < 5; seed++) {
    assert_ok(run(NULL, space, strategy, seed, trials, &best, &done));
    sum += best;
  }
  return sum / 5;
}

static void searching_beats_chance(void** state) {
  hone_space_t* space = make_tiles();
  double random = mean_best(space, "random", 160);
  double evolve = mean_best(space, "evolve", 160);
  double learned = mean_best(space, "learned", 160);
  print_message("mean best of 160 trials: random %.3f, evolve %.3f, learned %.3f\n", random, evolve,
                learned);
  assert_true(random > 1.3); /* otherwise this shows nothing */
  assert_true(evolve - 1 < 0.6 * (random - 1));
  assert_true(learned - 1 < 0.3 * (random - 1));
  hone_space_destroy(space);
}

/* ---- what every strategy must do ---- */

static void small_spaces_are_searched_whole(void** state) {
  hone_space_t* space;
  assert_ok(hone_space_create(NULL, &space));
  assert_ok(hone_space_define_powers(space, "tile_m", 1, 16));
  assert_ok(hone_space_define_powers(space, "tile_n", 8, 16));
  assert_ok(hone_space_define_split(space, "split_k", 16, 2, 0));
  assert_ok(hone_space_define_numbers(space, "vec", 3, (int64_t[]){4, 8, 16}));
  assert_ok(hone_space_define_words(space, "inner", 1, (const char* const[]){"vector"}));
  assert_ok(hone_space_define_order(space, "order", 3, (const char* const[]){"m", "k", "n"}));
  for (int i = 0; hone_strategy_name(i); i++) {
    double best;
    int done;
    assert_ok(run(NULL, space, hone_strategy_name(i), 3, 1 << 20, &best, &done));
    assert_int_equal(done, hone_space_size(space));
  }
  hone_space_destroy(space);
}

static bool one_in_many(const hone_space_t* space, const hone_candidate_t* candidate,
                        void* context) {
  return hone_space_index(space, candidate) % 1009 == 7;
}

/* Learns a batch, after a check that all of it obeys the rule and is new. */
static void take_batch(hone_search_t* search, const hone_space_t* space, int count,
                       const hone_candidate_t* batch, hone_map_t* seen) {
  assert_true(count > 0);
  for (int k = 0; k < count; k++) {
    uint64_t index = hone_space_index(space, &batch[k]);
    assert_int_equal(index % 1009, 7);
    assert_null(hone_map_get_u64(seen, index));
    assert_ok(hone_map_put_u64(seen, index, seen));
    assert_ok(hone_search_learn(search, &batch[k], tiles_cost(space, &batch[k])));
  }
}

static void candidates_are_valid_and_new(void** state) {
  hone_space_t* space = make_tiles();
  assert_ok(hone_space_add_rule(space, one_in_many, NULL));
  for (int i = 0; hone_strategy_name(i); i++) {
    hone_search_t* search;
    hone_search_options_t options = {.strategy = hone_strategy_name(i)};
    assert_ok(hone_search_create(NULL, space, &options, &search));
    hone_map_t seen = {0};
    for (int round = 0; round < 12; round++) {
      hone_candidate_t batch[5];
      int count;
      assert_ok(hone_search_propose(search, 5, batch, &count));
      take_batch(search, space, count, batch, &seen);
    }
    hone_map_free(&seen);
    hone_search_destroy(search);
  }
  hone_space_destroy(space);
}

static void the_default_comes_first(void** state) {
  hone_space_t* space = make_tiles();
  hone_candidate_t first = hone_space_at(space, 12345), got;
  hone_space_set_default(space, &first);
  for (int i = 0; hone_strategy_name(i); i++) {
    assert_true(strlen(hone_strategy_summary(i)) > 0);
    hone_search_t* search;
    hone_search_options_t options = {.strategy = hone_strategy_name(i)};
    int count;
    assert_ok(hone_search_create(NULL, space, &options, &search));
    assert_ok(hone_search_propose(search, 1, &got, &count));
    assert_int_equal(count, 1);
    assert_memory_equal(&got, &first, sizeof first);
    hone_search_destroy(search);
  }
  hone_space_destroy(space);
}

static void what_is_known_is_not_proposed(void** state) {
  hone_space_t* space;
  assert_ok(hone_space_create(NULL, &space));
  assert_ok(hone_space_define_powers(space, "a", 1, 128));
  for (int i = 0; hone_strategy_name(i); i++) {
    hone_search_t* search;
    hone_search_options_t options = {.strategy = hone_strategy_name(i)};
    assert_ok(hone_search_create(NULL, space, &options, &search));
    hone_candidate_t batch[8];
    int count;
    for (uint64_t k = 0; k < 8; k++) {
      if (k == 5) continue;
      hone_candidate_t known = hone_space_at(space, k);
      assert_ok(hone_search_learn(search, &known, k == 3 ? NAN : 1.0 + (double)k));
    }
    assert_ok(hone_search_propose(search, 8, batch, &count));
    assert_int_equal(count, 1);
    assert_int_equal(hone_space_index(space, &batch[0]), 5);
    hone_search_destroy(search);
  }
  hone_space_destroy(space);
}

static void without_parameters_there_is_one_candidate(void** state) {
  hone_space_t* space;
  assert_ok(hone_space_create(NULL, &space));
  for (int i = 0; hone_strategy_name(i); i++) {
    hone_search_t* search;
    hone_search_options_t options = {.strategy = hone_strategy_name(i)};
    hone_candidate_t batch[3];
    double seconds;
    int count;
    assert_ok(hone_search_create(NULL, space, &options, &search));
    assert_false(hone_search_best(search, &batch[0], &seconds));
    assert_ok(hone_search_propose(search, 3, batch, &count));
    assert_int_equal(count, 1);
    assert_ok(hone_search_learn(search, &batch[0], 1));
    assert_ok(hone_search_propose(search, 3, batch, &count));
    assert_int_equal(count, 0);
    hone_search_destroy(search);
  }
  hone_space_destroy(space);
}

static void an_unknown_strategy_names_those_there_are(void** state) {
  hone_space_t* space = make_tiles();
  hone_search_t* search;
  hone_search_options_t options = {.strategy = "guess"};
  hone_status_t status = hone_search_create(NULL, space, &options, &search);
  assert_int_equal(hone_status_code(status), HONE_NOT_FOUND);
  assert_non_null(strstr(hone_status_message(status), "evolve grid learned random"));
  hone_status_free(status);
  hone_space_destroy(space);
}

static void the_seed_decides(void** state) {
  hone_space_t* space = make_tiles();
  double first, second;
  int done;
  for (int i = 0; hone_strategy_name(i); i++) {
    assert_ok(run(NULL, space, hone_strategy_name(i), 7, 60, &first, &done));
    assert_ok(run(NULL, space, hone_strategy_name(i), 7, 60, &second, &done));
    assert_true(first == second);
  }
  hone_space_destroy(space);
}

/* A feature that gives the answer away. */
static void tell(void* context, const hone_space_t* space, const hone_candidate_t* candidate,
                 double* out_features) {
  *out_features = tiles_cost(space, candidate);
  ++*(int*)context;
}

static void features_of_the_driver_are_used(void** state) {
  hone_space_t* space = make_tiles();
  int calls = 0;
  hone_search_options_t options = {.n_features = 1, .features = tell, .context = &calls};
  hone_search_t* search;
  assert_ok(hone_search_create(NULL, space, &options, &search));
  hone_candidate_t batch[8];
  double best;
  int count;
  for (int i = 0; i < 10; i++) {
    assert_ok(hone_search_propose(search, 8, batch, &count));
    for (int k = 0; k < count; k++)
      assert_ok(hone_search_learn(search, &batch[k], tiles_cost(space, &batch[k])));
  }
  assert_true(calls > 1000);
  assert_true(hone_search_best(search, &batch[0], &best));
  assert_true(best < 1.4);
  hone_search_destroy(search);
  hone_space_destroy(space);
}

static hone_status_t search_all(const hone_allocator_t* allocator, void* context) {
  hone_space_t* space;
  HONE_TRY(hone_space_create(allocator, &space));
  hone_status_t status = hone_space_define_powers(space, "tile_m", 1, 8);
  if (!status) status = hone_space_define_powers(space, "tile_n", 1, 8);
  if (!status) status = hone_space_define_split(space, "split_k", 4096, 2, 0);
  if (!status) status = hone_space_define_powers(space, "vec", 1, 8);
  if (!status)
    status = hone_space_define_words(space, "inner", 2, (const char* const[]){"none", "vector"});
  if (!status)
    status = hone_space_define_order(space, "order", 3, (const char* const[]){"n", "m", "k"});
  double best;
  int done;
  for (int i = 0; hone_strategy_name(i) && !status; i++)
    status = run(allocator, space, hone_strategy_name(i), 1, 18, &best, &done);
  hone_space_destroy(space);
  return status;
}

static void memory_may_run_out(void** state) {
  assert_true(assert_survives_faults(search_all, NULL) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(searching_beats_chance),
      cmocka_unit_test(small_spaces_are_searched_whole),
      cmocka_unit_test(candidates_are_valid_and_new),
      cmocka_unit_test(the_default_comes_first),
      cmocka_unit_test(what_is_known_is_not_proposed),
      cmocka_unit_test(without_parameters_there_is_one_candidate),
      cmocka_unit_test(an_unknown_strategy_names_those_there_are),
      cmocka_unit_test(the_seed_decides),
      cmocka_unit_test(features_of_the_driver_are_used),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
