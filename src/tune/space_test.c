#include "tune/space.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/testing/fault.h"

static const char* const axes[] = {"n", "m", "k"};
static const char* const notes[] = {"none", "unroll", "vector"};

/* One parameter of each kind. */
static hone_status_t define_all(hone_space_t* space) {
  HONE_TRY(hone_space_define_numbers(space, "tile_m", 4, (int64_t[]){1, 4, 6, -2}));
  HONE_TRY(hone_space_define_split(space, "tile_k", 12, 3, 0));
  HONE_TRY(hone_space_define_words(space, "inner", 3, notes));
  HONE_TRY(hone_space_define_order(space, "order", 3, axes));
  return hone_space_define_powers(space, "vec", 1, 16);
}

static hone_space_t* make_all(void) {
  hone_space_t* space;
  assert_ok(hone_space_create(NULL, &space));
  assert_ok(define_all(space));
  return space;
}

static void a_candidate_reads_by_name(void** state) {
  hone_space_t* space = make_all();
  hone_candidate_t candidate;
  const char* text = "tile_m=6 tile_k=2x3x2 inner=vector order=m,k,n vec=8";
  assert_ok(hone_candidate_parse(space, text, strlen(text), &candidate));
  assert_int_equal(hone_candidate_number(space, &candidate, "tile_m", 0), 6);
  assert_int_equal(hone_candidate_number(space, &candidate, "tile_k", 0), 2);
  assert_int_equal(hone_candidate_number(space, &candidate, "tile_k", 1), 3);
  assert_int_equal(hone_candidate_number(space, &candidate, "vec", 0), 8);
  assert_string_equal(hone_candidate_word(space, &candidate, "inner", 0), "vector");
  assert_string_equal(hone_candidate_word(space, &candidate, "order", 0), "m");
  assert_string_equal(hone_candidate_word(space, &candidate, "order", 2), "n");
  assert_null(hone_candidate_word(space, &candidate, "tile_m", 0));
  assert_null(hone_candidate_word(space, &candidate, "order", 3));
  assert_int_equal(hone_candidate_number(space, &candidate, "absent", 0), 0);
  hone_space_destroy(space);
}

static void splits_are_all_factorings(void** state) {
  hone_space_t* space;
  assert_ok(hone_space_create(NULL, &space));
  assert_ok(hone_space_define_split(space, "f", 64, 4, 0));
  assert_ok(hone_space_define_split(space, "limited", 64, 4, 8));
  assert_ok(hone_space_define_split(space, "prime", 13, 2, 0));
  assert_ok(hone_space_define_split(space, "square", 36, 2, 0));
  /* 2^6 into four ordered factors: 9 over 3. */
  assert_int_equal(hone_space_parameter(space, 0)->n_choices, 84);
  assert_int_equal(hone_space_parameter(space, 2)->n_choices, 2);
  assert_int_equal(hone_space_parameter(space, 3)->n_choices, 9);
  const hone_parameter_t* limited = hone_space_parameter(space, 1);
  assert_true(limited->n_choices < 84);
  for (int i = 0; i < limited->n_choices; i++) {
    const int64_t* f = limited->values + i * 4;
    assert_int_equal(f[0] * f[1] * f[2] * f[3], 64);
    assert_true(f[3] <= 8);
  }
  hone_space_destroy(space);
}

static void orders_are_all_permutations(void** state) {
  hone_space_t* space;
  static const char* const words[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  assert_ok(hone_space_create(NULL, &space));
  assert_ok(hone_space_define_order(space, "o", 8, words));
  const hone_parameter_t* order = hone_space_parameter(space, 0);
  assert_int_equal(order->n_choices, 40320);
  for (int i = 0; i < order->n_choices; i++) {
    const int64_t* value = order->values + i * 8;
    int seen = 0;
    for (int k = 0; k < 8; k++) seen |= 1 << value[k];
    assert_int_equal(seen, 255);
    if (i) assert_true(memcmp(value, value - 8, 8 * sizeof *value) != 0);
  }
  for (int k = 0; k < 8; k++) assert_int_equal(order->values[k], k);
  hone_space_destroy(space);
}

static void every_candidate_survives_its_index_and_its_text(void** state) {
  hone_space_t* space = make_all();
  uint64_t size = hone_space_size(space);
  assert_int_equal(size, 4 * 18 * 3 * 6 * 5);
  for (uint64_t i = 0; i < size; i++) {
    hone_candidate_t candidate = hone_space_at(space, i), back;
    assert_int_equal(hone_space_index(space, &candidate), i);
    assert_true(hone_space_is_valid(space, &candidate));
    hone_str_t text;
    hone_str_init(&text, NULL);
    hone_candidate_print(space, &candidate, &text);
    assert_ok(hone_candidate_parse(space, hone_str_text(&text), text.size, &back));
    assert_memory_equal(&candidate, &back, sizeof back);
    hone_str_free(&text);
  }
  hone_space_destroy(space);
}

/* A space of random parameters, drawn from `seed`. */
static hone_space_t* random_space(uint64_t seed) {
  hone_space_t* space;
  uint64_t at = 0;
  assert_ok(hone_space_create(NULL, &space));
  int count = (int)(hone_random_u32(seed, at++) % 8);
  for (int i = 0; i < count; i++) {
    char name[8];
    snprintf(name, sizeof name, "p%d", i);
    uint32_t n = 1 + hone_random_u32(seed, at++) % 3;
    switch (hone_random_u32(seed, at++) % 4) {
      case 0:
        assert_ok(hone_space_define_powers(space, name, 1, 1 << n));
        break;
      case 1:
        assert_ok(hone_space_define_words(space, name, (int)n, notes));
        break;
      case 2:
        assert_ok(hone_space_define_order(space, name, (int)n, axes));
        break;
      default:
        assert_ok(
            hone_space_define_split(space, name, 1 + hone_random_u32(seed, at++) % 60, (int)n, 0));
    }
  }
  return space;
}

static void random_spaces_keep_candidates(void** state) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    hone_space_t* space = random_space(seed);
    double features[HONE_SPACE_MOST_PARAMETERS * HONE_SPACE_MOST_PARTS];
    assert_true(hone_space_feature_count(space) <= (int)TEST_COUNT(features));
    for (uint64_t k = 0; k < 20; k++) {
      uint64_t index = hone_random_u32(seed, 1000 + k) % hone_space_size(space);
      hone_candidate_t candidate = hone_space_at(space, index), back;
      assert_int_equal(hone_space_index(space, &candidate), index);
      hone_str_t text;
      hone_str_init(&text, NULL);
      hone_candidate_print(space, &candidate, &text);
      assert_ok(hone_candidate_parse(space, hone_str_text(&text), text.size, &back));
      assert_memory_equal(&candidate, &back, sizeof back);
      hone_str_free(&text);
      hone_space_features(space, &candidate, features);
    }
    hone_space_destroy(space);
  }
}

static void features_say_what_was_chosen(void** state) {
  hone_space_t* space = make_all();
  hone_candidate_t candidate;
  const char* text = "tile_m=6 tile_k=2x3x2 inner=unroll order=m,k,n vec=8";
  assert_ok(hone_candidate_parse(space, text, strlen(text), &candidate));
  const double expected[] = {6, 2, 3, 2, 0, 1, 0, 2, 0, 1, 8};
  double features[TEST_COUNT(expected)];
  assert_int_equal(hone_space_feature_count(space), TEST_COUNT(expected));
  hone_space_features(space, &candidate, features);
  for (size_t i = 0; i < TEST_COUNT(expected); i++) assert_true(features[i] == expected[i]);
  hone_space_destroy(space);
}

static bool small_tiles(const hone_space_t* space, const hone_candidate_t* candidate,
                        void* context) {
  return hone_candidate_number(space, candidate, "tile_m", 0) <= *(int64_t*)context;
}

static void rules_decide_what_is_valid(void** state) {
  hone_space_t* space = make_all();
  int64_t most = 4;
  assert_ok(hone_space_add_rule(space, small_tiles, &most));
  hone_candidate_t candidate = hone_space_at(space, 0);
  assert_true(hone_space_is_valid(space, &candidate));
  candidate.choice[0] = 2; /* 6 */
  assert_false(hone_space_is_valid(space, &candidate));
  candidate.choice[0] = 4; /* there are four choices */
  assert_false(hone_space_is_valid(space, &candidate));
  hone_space_destroy(space);
}

static void bad_text_is_refused_with_the_place(void** state) {
  hone_space_t* space = make_all();
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "tile_m is not given"},
      {"tile_m", "byte 0: \"tile_m\" is not NAME=CHOICE"},
      {"tile_m=5", "byte 0: \"5\" is no choice of tile_m"},
      {"tile_m=", "byte 0: \"\" is no choice of tile_m"},
      {"tile_m=-", "byte 0: \"-\" is no choice of tile_m"},
      {"tile_m=99999999999999999999", "byte 0: \"99999999999999999999\" is no choice of tile_m"},
      {"tile_m=1 tile_m=1", "byte 9: tile_m is given twice"},
      {"tile_m=1 tile_k=12x1", "byte 9: \"12x1\" is no choice of tile_k"},
      {"tile_k=12x1x1x1", "byte 0: \"12x1x1x1\" is no choice of tile_k"},
      {"order=n,m", "byte 0: \"n,m\" is no choice of order"},
      {"order=n,n,m", "byte 0: \"n,n,m\" is no choice of order"},
      {"tile=1", "byte 0: there is no parameter \"tile\""},
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    hone_candidate_t candidate;
    hone_status_t status =
        hone_candidate_parse(space, cases[i].text, strlen(cases[i].text), &candidate);
    assert_int_equal(hone_status_code(status), HONE_INVALID_DATA);
    assert_string_equal(hone_status_message(status), cases[i].message);
    hone_status_free(status);
  }
  hone_space_destroy(space);
}

static void bad_definitions_leave_the_space_alone(void** state) {
  hone_space_t* space = make_all();
  uint64_t size = hone_space_size(space);
  assert_code(hone_space_define_numbers(space, "vec", 1, (int64_t[]){1}), HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_numbers(space, "a b", 1, (int64_t[]){1}), HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_numbers(space, "", 1, (int64_t[]){1}), HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_numbers(space, "a", 0, NULL), HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_numbers(space, "a", 2, (int64_t[]){3, 3}), HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_words(space, "a", 2, (const char* const[]){"x", "x"}),
              HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_words(space, "a", 1, (const char* const[]){"x,y"}),
              HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_powers(space, "a", 3, 8), HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_powers(space, "a", 8, 4), HONE_INVALID_ARGUMENT);
  assert_code(hone_space_define_split(space, "a", 0, 2, 0), HONE_OUT_OF_RANGE);
  assert_code(hone_space_define_split(space, "a", 8, 9, 0), HONE_OUT_OF_RANGE);
  assert_code(hone_space_define_split(space, "a", INT64_C(1) << 40, 8, 0), HONE_OUT_OF_RANGE);
  assert_code(hone_space_define_split(space, "a", INT64_C(1) << 40, 8, 1), HONE_OUT_OF_RANGE);
  assert_code(hone_space_define_order(space, "a", 9, notes), HONE_OUT_OF_RANGE);
  assert_int_equal(hone_space_size(space), size);
  assert_int_equal(hone_space_parameter_count(space), 5);
  hone_space_destroy(space);
}

static void a_space_has_limits(void** state) {
  hone_space_t *many, *large;
  char name[8];
  assert_ok(hone_space_create(NULL, &many));
  assert_ok(hone_space_create(NULL, &large));
  for (int i = 0; i < HONE_SPACE_MOST_PARAMETERS; i++) {
    snprintf(name, sizeof name, "p%d", i);
    assert_ok(hone_space_define_powers(many, name, 1, 2));
  }
  assert_code(hone_space_define_powers(many, "more", 1, 2), HONE_OUT_OF_RANGE);
  for (int i = 0; i < 10; i++) {
    snprintf(name, sizeof name, "p%d", i);
    assert_ok(hone_space_define_powers(large, name, 1, INT64_C(1) << 62));
  }
  assert_code(hone_space_define_powers(large, "more", 1, INT64_C(1) << 62), HONE_OUT_OF_RANGE);
  uint64_t last = hone_space_size(large) - 1;
  hone_candidate_t candidate = hone_space_at(large, last);
  assert_true(hone_space_index(large, &candidate) == last);
  hone_space_destroy(many);
  hone_space_destroy(large);
}

static hone_status_t define_and_print(const hone_allocator_t* allocator, void* context) {
  hone_space_t* space;
  HONE_TRY(hone_space_create(allocator, &space));
  hone_status_t status = define_all(space);
  hone_str_t text;
  hone_str_init(&text, allocator);
  hone_candidate_t candidate = hone_space_default(space);
  if (!status) {
    hone_candidate_print(space, &candidate, &text);
    char* taken;
    size_t size;
    status = hone_str_take(&text, &taken, &size);
    if (!status) hone_free(allocator, taken, size + 1);
  }
  hone_str_free(&text);
  hone_space_destroy(space);
  return status;
}

static void memory_may_run_out(void** state) {
  assert_true(assert_survives_faults(define_and_print, NULL) > 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_candidate_reads_by_name),
      cmocka_unit_test(splits_are_all_factorings),
      cmocka_unit_test(orders_are_all_permutations),
      cmocka_unit_test(every_candidate_survives_its_index_and_its_text),
      cmocka_unit_test(random_spaces_keep_candidates),
      cmocka_unit_test(features_say_what_was_chosen),
      cmocka_unit_test(rules_decide_what_is_valid),
      cmocka_unit_test(bad_text_is_refused_with_the_place),
      cmocka_unit_test(bad_definitions_leave_the_space_alone),
      cmocka_unit_test(a_space_has_limits),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
