/* Sets of tactics: their joint space, the default, and what a database says. */
#include "tune/tactic_set.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "loop/testing/kernels.h"
#include "loop/text.h"
#include "tune/kernel_key.h"
#include "tune/search.h"

/* ---- two tactics that do nothing, at prices of their own ---- */

static double price[2]; /* of the default; twice that with speed 2 */

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* p, char* why) {
  return true;
}

static bool refuses(hone_kernel_t* kernel, const hone_device_properties_t* p, char* why) {
  snprintf(why, HONE_DEVICE_TEXT_SIZE, "no tubes");
  return false;
}

static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* p,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  static const int64_t speeds[] = {2, 1, 4};
  hone_candidate_t first = {.choice = {1}};
  HONE_TRY(hone_space_define_numbers(space, "speed", 3, speeds));
  HONE_TRY(hone_space_define_powers(space, "size", 1, 8));
  hone_space_set_default(space, &first);
  *out_facts = NULL;
  return NULL;
}

static const void* which[2] = {&price[0], &price[1]};

static hone_status_t space_of_a(hone_kernel_t* kernel, const hone_device_properties_t* p,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  HONE_TRY(make_space(kernel, p, arena, space, out_facts));
  *out_facts = which[0];
  return NULL;
}

static hone_status_t space_of_b(hone_kernel_t* kernel, const hone_device_properties_t* p,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  HONE_TRY(make_space(kernel, p, arena, space, out_facts));
  *out_facts = which[1];
  return NULL;
}

static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* p,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  return hone_candidate_number(space, candidate, "size", 0) == 8 ? hone_oom() : NULL;
}

static double cost(const void* facts, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  return *(const double*)facts * (double)hone_candidate_number(space, candidate, "speed", 0);
}

static const hone_tactic_t a = {"a", "", 1, supports, space_of_a, build, cost};
static const hone_tactic_t b = {"b", "", 2, supports, space_of_b, build, cost};
static const hone_tactic_t never = {"never", "", 0, refuses, space_of_a, build, cost};

static const hone_tactic_t* both(const hone_device_t* device, int index) {
  static const hone_tactic_t* const list[] = {&b, &never, &a}; /* in no order */
  return index < 3 ? list[index] : NULL;
}

static const hone_tactic_t* none(const hone_device_t* device, int index) {
  return index == 0 ? &never : NULL;
}

static const hone_device_properties_t properties = {.struct_size = sizeof properties,
                                                    .target = "x86",
                                                    .model = "a processor",
                                                    .driver = "1.0",
                                                    .compiler = "cc 12",
                                                    .compute_units = 4};

typedef struct fixture {
  hone_kernel_t* kernel;
  hone_tactic_set_t* set;
  hone_tune_db_t* db; /* in memory; NULL: none is wanted */
  hone_tune_key_t key;
  char device[HONE_TUNE_DEVICE_SIZE];
} fixture_t;

static fixture_t open_set(double of_a, double of_b) {
  fixture_t f = {0};
  price[0] = of_a;
  price[1] = of_b;
  f.kernel = hone_test_kernel_make(hone_test_kernel("softmax"));
  assert_ok(
      hone_tactic_set_create(hone_allocator_system(), f.kernel, &properties, both, NULL, &f.set));
  return f;
}

/* With a database, in which the set's kernel has a key. */
static void open_tuned(fixture_t* f) {
  *f = open_set(1, 1);
  f->key = hone_tactic_set_key(f->set, "d1", f->device);
  assert_ok(hone_tune_db_open(NULL, NULL, HONE_TUNE_DB_WRITE, &f->db));
}

static void close_set(fixture_t* f) {
  hone_tune_db_close(f->db);
  hone_tactic_set_destroy(f->set);
  hone_kernel_destroy(f->kernel);
}

static hone_candidate_t parse(const hone_tactic_set_t* set, const char* text) {
  hone_candidate_t candidate;
  assert_ok(hone_candidate_parse(set->space, text, strlen(text), &candidate));
  return candidate;
}

/* ---- spaces ---- */

static void spaces_are_joined(void** state) {
  fixture_t f = open_set(1, 1);
  assert_string_equal(f.set->name, "a+b");
  assert_int_equal(hone_space_parameter_count(f.set->space), 5);
  assert_int_equal(hone_space_find(f.set->space, "b.size"), 4);
  hone_candidate_t candidate = parse(f.set, "tactic=b a.speed=1 a.size=1 b.speed=4 b.size=2");
  assert_true(hone_space_is_valid(f.set->space, &candidate));
  assert_string_equal(hone_tactic_set_chosen(f.set, &candidate)->name, "b");
  assert_true(hone_tactic_set_cost(f.set, &candidate) == 4);
  assert_ok(hone_tactic_set_build(f.set, f.kernel, &candidate));
  close_set(&f);
}

static void what_is_not_chosen_is_settled(void** state) {
  fixture_t f = open_set(1, 1);
  hone_candidate_t loose = parse(f.set, "tactic=b a.speed=4 a.size=8 b.speed=4 b.size=2");
  hone_candidate_t settled = parse(f.set, "tactic=b a.speed=1 a.size=1 b.speed=4 b.size=2");
  assert_false(hone_space_is_valid(f.set->space, &loose));
  hone_space_settle(f.set->space, &loose);
  assert_memory_equal(&loose, &settled, sizeof settled);
  close_set(&f);
}

/* How many candidates a strategy proposes in all. */
static int count_proposals(const hone_tactic_set_t* set, const char* strategy) {
  const hone_search_options_t options = {.strategy = strategy, .seed = 3};
  hone_search_t* search;
  hone_candidate_t batch[8];
  int count = 1, found = 0;
  assert_ok(hone_search_create(NULL, set->space, &options, &search));
  while (count) {
    assert_ok(hone_search_propose(search, 8, batch, &count));
    for (int k = 0; k < count; k++, found++) {
      assert_true(hone_space_is_valid(set->space, &batch[k]));
      assert_ok(hone_search_learn(search, &batch[k], hone_tactic_set_cost(set, &batch[k])));
    }
  }
  hone_search_destroy(search);
  return found;
}

/* Each strategy finds all 24 candidates, each once. */
static void searches_propose_settled_ones_only(void** state) {
  fixture_t f = open_set(1, 1);
  const char* name;
  for (int i = 0; (name = hone_strategy_name(i)); i++)
    assert_int_equal(count_proposals(f.set, name), 24);
  close_set(&f);
}

static double predicted(void* context, const hone_space_t* space,
                        const hone_candidate_t* candidate) {
  return hone_tactic_set_cost(context, candidate);
}

/* The default comes first, then what is expected to be fast. */
static void what_is_promising_is_tried_early(void** state) {
  fixture_t f = open_set(1, 100);
  const hone_search_options_t options = {.seed = 3, .predict = predicted, .context = f.set};
  hone_search_t* search;
  hone_candidate_t batch[3];
  int count, slow = 0;
  assert_ok(hone_search_create(NULL, f.set->space, &options, &search));
  assert_ok(hone_search_propose(search, 3, batch, &count));
  assert_int_equal(count, 3);
  for (int i = 0; i < 2; i++) slow += hone_tactic_set_cost(f.set, &batch[i]) > 4;
  assert_int_equal(slow, 0);
  hone_search_destroy(search);
  close_set(&f);
}

/* ---- the default ---- */

static const char* chosen_for(double of_a, double of_b) {
  fixture_t f = open_set(of_a, of_b);
  hone_candidate_t first = hone_space_default(f.set->space);
  const char* name = hone_tactic_set_chosen(f.set, &first)->name;
  assert_true(hone_space_is_valid(f.set->space, &first));
  close_set(&f);
  return name;
}

static void the_first_in_order_wins_unless_another_promises_much_more(void** state) {
  assert_string_equal(chosen_for(1, 1), "a");
  assert_string_equal(chosen_for(1, 0.8), "a");
  assert_string_equal(chosen_for(1, 0.1), "b");
}

static void no_tactic_is_said_so(void** state) {
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("softmax"));
  hone_tactic_set_t* set;
  hone_status_t status =
      hone_tactic_set_create(hone_allocator_system(), kernel, &properties, none, NULL, &set);
  assert_int_equal(hone_status_code(status), HONE_UNSUPPORTED);
  assert_non_null(strstr(hone_status_message(status), "never: no tubes"));
  hone_status_free(status);
  hone_kernel_destroy(kernel);
}

/* ---- what was tuned ---- */

static void put_ruled(const fixture_t* f, const char* parameters, double seconds,
                      hone_verdict_t verdict) {
  const hone_tune_record_t record = {.key = f->key,
                                     .label = "softmax",
                                     .parameters = parameters,
                                     .outcome = HONE_OUTCOME_OK,
                                     .verdict = verdict,
                                     .seconds = seconds,
                                     .message = ""};
  assert_ok(hone_tune_db_put(f->db, &record, NULL));
}

static void put(const fixture_t* f, const char* parameters, double seconds) {
  put_ruled(f, parameters, seconds, HONE_VERDICT_CONFIRMED);
}

static hone_tuned_t ask(const fixture_t* f) {
  hone_tuned_t tuned;
  assert_ok(hone_tactic_set_tuned(f->set, f->db, &f->key, &tuned));
  return tuned;
}

static void the_database_decides(void** state) {
  fixture_t f;
  open_tuned(&f);
  assert_string_equal(f.device, "a processor, x86, 4 units");
  hone_tuned_t tuned = ask(&f);
  assert_false(tuned.found);
  put(&f, "tactic=a a.speed=1 a.size=1 b.speed=1 b.size=1", 1e-3); /* the default */
  put(&f, "tactic=b a.speed=1 a.size=1 b.speed=4 b.size=2", 5e-4);
  put(&f, "tactic=b a.speed=1 a.size=1 b.speed=9 b.size=2", 1e-9); /* of another space */
  put(&f, "tactic=b a.speed=4 a.size=1 b.speed=1 b.size=2", 1e-9); /* not settled */
  tuned = ask(&f);
  assert_true(tuned.found && tuned.trials == 2);
  assert_true(tuned.seconds == 5e-4 && tuned.default_seconds == 1e-3);
  assert_string_equal(hone_tactic_set_chosen(f.set, &tuned.candidate)->name, "b");
  f.key = hone_tactic_set_key(f.set, "d2", f.device);
  assert_false(ask(&f).found);
  close_set(&f);
}

#define FIRST "tactic=a a.speed=1 a.size=1 b.speed=1 b.size=1"
#define B2 "tactic=b a.speed=1 a.size=1 b.speed=4 b.size=2"
#define B4 "tactic=b a.speed=1 a.size=1 b.speed=4 b.size=4"

static void only_what_was_confirmed_is_used(void** state) {
  fixture_t f;
  open_tuned(&f);
  hone_candidate_t first = hone_space_default(f.set->space);
  put_ruled(&f, FIRST, 1e-3, HONE_VERDICT_NONE);
  put_ruled(&f, B2, 1e-4, HONE_VERDICT_REFUSED);
  put_ruled(&f, B4, 2e-4, HONE_VERDICT_NONE);
  hone_tuned_t tuned = ask(&f);
  assert_true(tuned.found && tuned.trials == 3 && tuned.refused == 1 && tuned.seconds == 1e-3);
  assert_true(tuned.untested == 2e-4);
  assert_memory_equal(&tuned.candidate, &first, sizeof first);
  assert_ok(hone_tune_db_rule(f.db, &f.key, B4, HONE_VERDICT_CONFIRMED));
  tuned = ask(&f);
  assert_true(tuned.seconds == 2e-4 && tuned.untested == 0);
  close_set(&f);
}

static void what_may_be_worth_it_is_offered(void** state) {
  fixture_t f;
  hone_arena_t* arena;
  hone_offers_t offers;
  open_tuned(&f);
  assert_ok(hone_arena_create(NULL, &arena));
  put_ruled(&f, FIRST, 1e-3, HONE_VERDICT_CONFIRMED);
  put_ruled(&f, B2, 5e-4, HONE_VERDICT_NONE);
  put_ruled(&f, B4, 4.95e-4, HONE_VERDICT_NONE);
  assert_ok(hone_tactic_set_offers(f.set, f.db, &f.key, false, arena, &offers));
  assert_null(offers.confirmed.parameters);
  assert_string_equal(offers.untested.parameters, B4);
  assert_true(offers.untested.seconds == 4.95e-4 && offers.default_seconds == 1e-3);
  assert_ok(hone_tune_db_rule(f.db, &f.key, B2, HONE_VERDICT_CONFIRMED));
  assert_ok(hone_tactic_set_offers(f.set, f.db, &f.key, false, arena, &offers));
  assert_string_equal(offers.confirmed.parameters, B2);
  assert_null(offers.untested.parameters); /* hardly faster than what is in use */
  assert_ok(hone_tune_db_rule(f.db, &f.key, B2, HONE_VERDICT_REFUSED));
  assert_ok(hone_tune_db_rule(f.db, &f.key, B4, HONE_VERDICT_REFUSED));
  assert_ok(hone_tactic_set_offers(f.set, f.db, &f.key, false, arena, &offers));
  assert_null(offers.untested.parameters);
  assert_ok(hone_tactic_set_offers(f.set, f.db, &f.key, true, arena, &offers));
  assert_string_equal(offers.untested.parameters, B4);
  hone_arena_destroy(arena);
  close_set(&f);
}

/* What is faster by no more than measurements stray is not worth it. */
static void the_default_stays_where_little_is_gained(void** state) {
  fixture_t f;
  open_tuned(&f);
  hone_candidate_t first = hone_space_default(f.set->space);
  put(&f, "tactic=a a.speed=1 a.size=1 b.speed=1 b.size=1", 1e-3);
  put(&f, "tactic=b a.speed=1 a.size=1 b.speed=4 b.size=2", 0.99e-3);
  hone_tuned_t tuned = ask(&f);
  assert_true(tuned.found && tuned.seconds == 1e-3);
  assert_memory_equal(&tuned.candidate, &first, sizeof first);
  close_set(&f);
}

/* ---- digests ---- */

static void digest_text(const char* text, char out[HONE_KERNEL_DIGEST_SIZE]) {
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  assert_ok(hone_kernel_digest(kernel, out));
  hone_kernel_destroy(kernel);
}

static void digests_leave_out_names(void** state) {
  static const char form[] =
      "kernel %s {\n  origin \"%s\"\n  input a: f32[%d] = 0\n"
      "  input i: i64[] = 1\n  output out: f32[] = 0\n  checks 1\n"
      "  check 0 \"%s\" lt(i[], i64(4))\n  out[] = a[0]\n}\n";
  char text[4][512], digests[4][HONE_KERNEL_DIGEST_SIZE];
  snprintf(text[0], sizeof text[0], form, "one", "Gather_1", 8, "Gather_1: no \\\"such\\\" row");
  snprintf(text[1], sizeof text[1], form, "two", "Gather_2", 8, "Gather_2: none");
  snprintf(text[2], sizeof text[2], form, "one", "Gather_1", 9, "Gather_1: none");
  for (int i = 0; i < 3; i++) digest_text(text[i], digests[i]);
  assert_string_equal(digests[0], digests[1]);
  assert_string_not_equal(digests[0], digests[2]);
}

/* ---- memory ---- */

static hone_status_t make_once(const hone_allocator_t* allocator, void* context) {
  hone_tactic_set_t* set;
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("matmul"));
  hone_status_t status = hone_tactic_set_create(allocator, kernel, &properties, both, NULL, &set);
  if (!status) hone_tactic_set_destroy(set);
  hone_kernel_destroy(kernel);
  return status;
}

static void running_out_of_memory_is_an_error(void** state) {
  price[0] = price[1] = 1;
  assert_true(assert_survives_faults(make_once, NULL) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spaces_are_joined),
      cmocka_unit_test(what_is_not_chosen_is_settled),
      cmocka_unit_test(searches_propose_settled_ones_only),
      cmocka_unit_test(what_is_promising_is_tried_early),
      cmocka_unit_test(the_first_in_order_wins_unless_another_promises_much_more),
      cmocka_unit_test(no_tactic_is_said_so),
      cmocka_unit_test(the_database_decides),
      cmocka_unit_test(only_what_was_confirmed_is_used),
      cmocka_unit_test(what_may_be_worth_it_is_offered),
      cmocka_unit_test(the_default_stays_where_little_is_gained),
      cmocka_unit_test(digests_leave_out_names),
      cmocka_unit_test(running_out_of_memory_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
