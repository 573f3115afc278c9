/* Patterns: what they match, what they do not, and what they say of it. */
#include "passes/common/pattern.h"

#include <string.h>

#include "backends/ref/testing/same_results.h"

typedef struct fixture {
  hone_arena_t* arena;
  hone_graph_t* graph;
  hone_pattern_match_t match;
} fixture_t;

/* Matches `pattern` with the last node of a graph. */
static bool matches(fixture_t* f, const char* lines, const char* pattern) {
  const hone_pattern_t* parsed;
  assert_ok(hone_arena_create(NULL, &f->arena));
  f->graph = hone_graph_of_text("", lines);
  assert_ok(hone_pattern_parse(f->arena, pattern, &parsed));
  return hone_pattern_match(parsed, f->graph->nodes[f->graph->n_nodes - 1], &f->match);
}

static void close_fixture(fixture_t* f) {
  hone_graph_destroy(f->graph);
  hone_arena_destroy(f->arena);
}

static bool only_matches(const char* lines, const char* pattern) {
  fixture_t f;
  bool result = matches(&f, lines, pattern);
  close_fixture(&f);
  return result;
}

/* (x * y) * (2 * exp(x)) */
static const char products[] =
    "%0 = input : f32[2, 3] %1 = input : f32[2, 3]\n"
    "%2 = constant {2} : f32[1, 1] %3 = expand %2 shape=[2, 3] : f32[2, 3]\n"
    "%4 = exp %0 : f32[2, 3] %5 = mul %0 %1 : f32[2, 3]\n"
    "%6 = mul %3 %4 : f32[2, 3] %7 = mul %5 %6 : f32[2, 3] return %7\n";

static void products_match_in_any_order(void** state) {
  fixture_t f;
  assert_true(matches(&f, products, "mul(exp(x), 2, y, x)"));
  assert_ptr_equal(hone_pattern_value(&f.match, "x"), f.graph->values[0]);
  assert_ptr_equal(hone_pattern_value(&f.match, "y"), f.graph->values[1]);
  assert_null(hone_pattern_value(&f.match, "z"));
  assert_int_equal(f.match.n_nodes, 4);
  close_fixture(&f);
  assert_true(only_matches(products, "mul(mul(x, y), mul(2, exp(x)))"));
  assert_false(only_matches(products, "mul(mul(x, 2), mul(y, exp(x)))"));
  assert_false(only_matches(products, "mul(exp(x), 3, y, x)"));
  assert_false(only_matches(products, "mul(exp(x), 2, y, y)"));
  assert_false(only_matches(products, "mul(exp(x), 2, x)"));
  assert_false(only_matches(products, "add(x, y)"));
}

static void choices_leave_nothing_behind(void** state) {
  fixture_t f;
  assert_true(
      matches(&f, products, "(mul(a, a) | mul(log(b), c) | mul(mul(d, 5), _e) | mul(u, v))"));
  assert_null(hone_pattern_value(&f.match, "a"));
  assert_null(hone_pattern_value(&f.match, "c"));
  assert_non_null(hone_pattern_value(&f.match, "u"));
  assert_int_equal(f.match.n_nodes, 1);
  close_fixture(&f);
  assert_true(only_matches(products, "pair := mul(2, e); mul(pair, mul(x, y))"));
  assert_true(only_matches(products, "mul(mul(x, ~y), mul(#two, e=exp(x)))"));
  assert_false(only_matches(products, "mul(mul(a, #y), mul(b, #z))"));
}

static void what_repeats_is_looked_through(void** state) {
  static const char lines[] =
      "%0 = input : f32[2, 3] %1 = input : f16[3]\n"
      "%2 = cast %1 dtype=f32 : f32[3] %3 = reshape %2 shape=[1, 3] : f32[1, 3]\n"
      "%4 = expand %3 shape=[2, 3] : f32[2, 3] %5 = sub %0 %4 : f32[2, 3]\n"
      "%6 = permute %5 axes=[1, 0] : f32[3, 2] %7 = abs %6 : f32[3, 2] return %7\n";
  fixture_t f;
  assert_true(matches(&f, lines, "abs(moved(sub(x, ~y)))"));
  assert_ptr_equal(hone_pattern_value(&f.match, "y"), f.graph->values[1]);
  close_fixture(&f);
  assert_true(only_matches(lines, "abs(*all)"));
  assert_true(only_matches(lines, "abs(sub(x, y))"));
  assert_false(only_matches(lines, "abs(sub(x, x))"));
}

/* The mean of rows, taken from the transpose; subtracted there as a row. */
static void permuted_axes_are_followed(void** state) {
#define TRANSPOSED                                                   \
  "%0 = input : f32[3, 3] %1 = permute %0 axes=[1, 0] : f32[3, 3]\n" \
  "%2 = reduce %1 combine=max axes=[0] : f32[3]\n"
  fixture_t f;
  assert_true(matches(&f,
                      TRANSPOSED
                      "%3 = reshape %2 shape=[3, 1] : f32[3, 1]\n"
                      "%4 = expand %3 shape=[3, 3] : f32[3, 3] %5 = sub %0 %4 : f32[3, 3]\n"
                      "return %5\n",
                      "sub(x, top(x))"));
  assert_int_equal(f.match.reduced, 1u << 1);
  close_fixture(&f);
  assert_false(only_matches(TRANSPOSED "%3 = reshape %2 shape=[1, 3] : f32[1, 3]\n"
                                       "%4 = expand %3 shape=[3, 3] : f32[3, 3]\n"
                                       "%5 = sub %0 %4 : f32[3, 3] return %5\n",
                            "sub(x, top(x))"));
}

#define MEAN_OF_ROWS                                                      \
  "%0 = input : f32[3, 3] %1 = reduce %0 combine=add axes=[1] : f32[3]\n" \
  "%2 = constant {3} : f32[] %3 = reshape %2 shape=[1] : f32[1]\n"        \
  "%4 = expand %3 shape=[3] : f32[3] %5 = div %1 %4 : f32[3]\n"
#define MINUS "%7 = expand %6 shape=[3, 3] : f32[3, 3] %8 = sub %0 %7 : f32[3, 3] return %8\n"

static void axes_must_be_where_they_were(void** state) {
  fixture_t f;
  assert_true(matches(&f, MEAN_OF_ROWS "%6 = reshape %5 shape=[3, 1] : f32[3, 1]\n" MINUS,
                      "sub(x, mean(x))"));
  assert_int_equal(f.match.reduced, 1u << 1);
  close_fixture(&f);
  assert_false(only_matches(MEAN_OF_ROWS "%6 = reshape %5 shape=[1, 3] : f32[1, 3]\n" MINUS,
                            "sub(x, mean(x))"));
  assert_true(only_matches(MEAN_OF_ROWS "%6 = reshape %5 shape=[1, 3] : f32[1, 3]\n" MINUS,
                           "sub(x, mean(y))"));
}

static void values_know_along_what_they_vary(void** state) {
  static const char lines[] =
      "%0 = input : f32[3, 4] %1 = input : f32[3] %2 = reshape %1 shape=[3, 1] : f32[3, 1]\n"
      "%3 = expand %2 shape=[3, 4] : f32[3, 4] %4 = reduce %0 combine=max axes=[1] : f32[3]\n"
      "%5 = reshape %4 shape=[3, 1] : f32[3, 1] %6 = expand %5 shape=[3, 4] : f32[3, 4]\n"
      "%7 = sub %0 %6 : f32[3, 4] %8 = mul %7 %3 : f32[3, 4] return %8\n";
  fixture_t f;
  assert_true(matches(&f, lines, "mul(sub(x, top(x)), ~scale)"));
  assert_false(hone_pattern_only_along_reduced(&f.match, "scale"));
  assert_false(hone_pattern_only_along_reduced(&f.match, "x"));
  assert_true(hone_pattern_only_along_reduced(&f.match, "nothing"));
  close_fixture(&f);
}

static void calls_match_by_label(void** state) {
  static const char lines[] =
      "%0 = input : f32[3] %1 = call %0 label=piece : f32[3]\n"
      "region \"piece\" { %0 = input : f32[3] %1 = exp %0 : f32[3] return %1 }\n"
      "%2 = neg %1 : f32[3] return %2\n";
  assert_true(only_matches(lines, "neg(piece(x))"));
  assert_false(only_matches(lines, "neg(whole(x))"));
  assert_false(only_matches(lines, "neg(piece(x, y))"));
}

static void bad_texts_are_refused(void** state) {
  static const char* const texts[] = {
      "",
      "mul(x",
      "mul(x,)",
      "mul(x, y) z",
      "(a | b",
      "~",
      "X",
      "a := mul(x, y)",
      "1.5.2",
      "mul(,x)",
      "mul(a,b,c,d,e,f)",
      "x=",
      "sq(a, b)",
      "a_name_that_is_far_too_long_for_a_name",
  };
  hone_arena_t* arena;
  assert_ok(hone_arena_create(NULL, &arena));
  for (size_t i = 0; i < TEST_COUNT(texts); i++) {
    const hone_pattern_t* pattern;
    hone_status_t status = hone_pattern_parse(arena, texts[i], &pattern);
    if (!status) fail_msg("accepted: %s", texts[i]);
    assert_int_equal(hone_status_code(status), HONE_INTERNAL);
    hone_status_free(status);
  }
  hone_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_match_in_any_order),
      cmocka_unit_test(choices_leave_nothing_behind),
      cmocka_unit_test(what_repeats_is_looked_through),
      cmocka_unit_test(permuted_axes_are_followed),
      cmocka_unit_test(axes_must_be_where_they_were),
      cmocka_unit_test(values_know_along_what_they_vary),
      cmocka_unit_test(calls_match_by_label),
      cmocka_unit_test(bad_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
