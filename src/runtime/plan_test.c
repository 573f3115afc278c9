/* Memory plans: known cases, and random lifetimes on which no two values that
 * live together may share a byte unless they asked to. */
#include "runtime/plan.h"

#include <string.h>

#include "base/memory.h"
#include "base/testing/draw.h"
#include "base/testing/fault.h"

enum { MOST_VALUES = 200, MOST_STEPS = 60 };

static hone_plan_value_t value(size_t bytes, int first, int last) {
  return (hone_plan_value_t){
      .bytes = bytes, .first = first, .last = last, .view_of = -1, .in_place_of = -1};
}

static hone_plan_t make(int count, hone_plan_value_t* values) {
  hone_plan_t plan = {.n_values = count, .values = values};
  assert_ok(hone_plan_make(&plan, NULL));
  return plan;
}

/* ---- known cases ---- */

static void a_chain_needs_two_places(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(1024, 0, 1), value(1024, 1, 2), value(1024, 2, 3),
                                value(1024, 3, 4)};
  hone_plan_t plan = make(4, values);
  assert_int_equal(plan.bytes, 2048);
  assert_int_equal(plan.lower_bound, 2048);
  assert_int_equal(plan.unshared_bytes, 4096);
  assert_float_equal(hone_plan_savings(&plan), 0.5, 1e-9);
  assert_int_equal(values[0].offset, values[2].offset);
  assert_int_equal(values[1].offset, values[3].offset);
}

static void outputs_take_the_place_of_dying_inputs(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(1000, 0, 1), value(1000, 1, 2), value(1000, 2, 3)};
  values[1].in_place_of = 0;
  values[2].in_place_of = 1;
  hone_plan_t plan = make(3, values);
  assert_int_equal(plan.bytes, 1024);
  assert_int_equal(plan.n_in_place, 2);
  assert_true(values[1].took_place && values[2].took_place);
}

static void an_input_that_lives_on_keeps_its_place(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(64, 0, 2), value(64, 1, 2), value(64, 0, 1)};
  values[1].in_place_of = 0; /* read again in step 2 */
  hone_plan_t plan = make(3, values);
  assert_false(values[1].took_place);
  assert_int_equal(plan.bytes, 192);
}

static void sizes_stay_apart_where_bytes_are_spare(void** state) {
  (void)state;
  enum { SMALL = 256 * 1024, LARGE = 512 * 1024 };
  hone_plan_value_t values[] = {value(SMALL, 0, 0), value(LARGE, 1, 1), value(SMALL, 2, 2),
                                value(LARGE, 3, 3)};
  hone_plan_t plan = {.n_values = 4, .values = values, .spare = SMALL - 64};
  assert_ok(hone_plan_make(&plan, NULL));
  assert_int_equal(plan.bytes, LARGE); /* too few for both */
  assert_false(plan.keeps_apart);
  plan.spare = SMALL;
  assert_ok(hone_plan_make(&plan, NULL));
  assert_int_equal(plan.bytes, SMALL + LARGE);
  assert_true(plan.keeps_apart);
  assert_int_equal(plan.lower_bound, LARGE);
  assert_int_equal(values[0].offset, values[2].offset);
  assert_int_equal(values[1].offset, values[3].offset);
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_plan_print(&plan, &text);
  assert_non_null(strstr(hone_str_text(&text), ", sizes apart;"));
  hone_str_free(&text);
}

static void small_sizes_share_all_the_same(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(1024, 0, 0), value(2048, 1, 1), value(1024, 2, 2)};
  hone_plan_t plan = {.n_values = 3, .values = values, .spare = 1 << 20};
  assert_ok(hone_plan_make(&plan, NULL));
  assert_int_equal(plan.bytes, 2048);
}

static void one_place_is_taken_once(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(64, 0, 1), value(64, 1, 1), value(64, 1, 2)};
  values[1].in_place_of = values[2].in_place_of = 0;
  hone_plan_t plan = make(3, values);
  assert_int_equal(plan.n_in_place, 1);
  assert_int_not_equal(values[1].offset, values[2].offset);
}

static void a_larger_output_finds_no_room_in_place(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(64, 0, 1), value(65, 1, 2)};
  values[1].in_place_of = 0;
  make(2, values);
  assert_false(values[1].took_place);
}

static void a_view_keeps_its_base_alive(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(256, 0, 1), value(128, 1, 4), value(256, 2, 3)};
  values[1].view_of = 0;
  values[1].view_offset = 128;
  hone_plan_t plan = make(3, values);
  assert_int_equal(values[1].offset, values[0].offset + 128);
  assert_int_equal(plan.bytes, 512);
  assert_int_equal(plan.unshared_bytes, 512);
}

static void nonsense_is_refused(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(64, 3, 2), value(64, 0, 0)};
  hone_plan_t plan = {.n_values = 2, .values = values};
  assert_code(hone_plan_make(&plan, NULL), HONE_INVALID_ARGUMENT);
  values[0] = value(64, 0, 1);
  values[0].view_of = 1;
  values[0].view_offset = 1;
  assert_code(hone_plan_make(&plan, NULL), HONE_INVALID_ARGUMENT);
  values[0].view_offset = 0;
  values[1].view_of = 0; /* each of the other */
  assert_code(hone_plan_make(&plan, NULL), HONE_INVALID_ARGUMENT);
  values[0] = value(SIZE_MAX / 2, 0, 1);
  values[1] = value(SIZE_MAX / 2, 0, 1);
  assert_code(hone_plan_make(&plan, NULL), HONE_OUT_OF_RANGE);
}

static void nothing_takes_nothing(void** state) {
  (void)state;
  hone_plan_t plan = make(0, NULL);
  assert_int_equal(plan.bytes, 0);
  hone_plan_value_t empty[] = {value(0, 0, 3)};
  plan = make(1, empty);
  assert_int_equal(plan.bytes, 0);
  assert_float_equal(hone_plan_savings(&plan), 0, 0);
}

static void the_report_names_values(void** state) {
  (void)state;
  hone_plan_value_t values[] = {value(64, 0, 1), value(64, 1, 2)};
  values[0].name = "conv_out";
  values[1].name = "relu_out";
  values[1].in_place_of = 0;
  hone_plan_t plan = make(2, values);
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_plan_print(&plan, &text);
  assert_non_null(strstr(hone_str_text(&text), "relu_out  (in place of conv_out)"));
  assert_non_null(strstr(hone_str_text(&text), "(50.0 % saved)"));
  hone_str_free(&text);
}

/* ---- random lifetimes ---- */

/* Values in the order in which they are made, as in a program. */
static int draw_values(test_draw_t* draw, hone_plan_value_t* values) {
  int count = 1 + test_draw_below(draw, MOST_VALUES), steps = 1 + test_draw_below(draw, MOST_STEPS);
  for (int v = 0; v < count; v++) {
    int first = (int)((int64_t)v * steps / count);
    values[v] = value((size_t)test_draw_below(draw, 5000), first,
                      first + test_draw_below(draw, 1 + test_draw_below(draw, 12)));
    if (v && test_draw_below(draw, 3) == 0) values[v].in_place_of = test_draw_below(draw, v);
    int base = v ? test_draw_below(draw, v) : 0;
    if (v && values[v].in_place_of < 0 && test_draw_below(draw, 6) == 0 && values[base].bytes) {
      values[v].view_of = base;
      values[v].view_offset = (size_t)test_draw_below(draw, (int)values[base].bytes);
      values[v].bytes = values[base].bytes - values[v].view_offset;
    }
  }
  return count;
}

static int root_of(const hone_plan_value_t* values, int v) {
  while (values[v].view_of >= 0) v = values[v].view_of;
  return v;
}

/* Whether v lies in place of u or of what u lies in place of, and so on, and
 * was made when the last reader of that was done. */
static bool allowed_in_place(const hone_plan_value_t* values, int count, int u, int v) {
  int at = root_of(values, v);
  bool linked = false;
  while (!linked && values[at].took_place) {
    at = root_of(values, values[at].in_place_of);
    linked = at == root_of(values, u);
  }
  if (!linked) return false;
  for (int w = 0; w < count; w++) /* all that share the bytes of u */
    if (root_of(values, w) == at && values[w].last > values[root_of(values, v)].first) return false;
  return true;
}

static bool overlap(const hone_plan_value_t* a, const hone_plan_value_t* b) {
  return a->bytes && b->bytes && a->first <= b->last && b->first <= a->last &&
         a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static void check_plan(const hone_plan_t* plan) {
  const hone_plan_value_t* values = plan->values;
  assert_true(plan->bytes >= plan->lower_bound);
  assert_true(plan->bytes <= plan->unshared_bytes);
  for (int v = 0; v < plan->n_values; v++) {
    assert_true(values[v].offset + values[v].bytes <= plan->bytes);
    if (values[v].view_of < 0) assert_int_equal(values[v].offset % plan->alignment, 0);
    for (int u = 0; u < v; u++)
      if (overlap(&values[u], &values[v]) && root_of(values, u) != root_of(values, v))
        assert_true(allowed_in_place(values, plan->n_values, u, v) ||
                    allowed_in_place(values, plan->n_values, v, u));
  }
}

static void random_values_never_overlap(void** state) {
  (void)state;
  static hone_plan_value_t values[MOST_VALUES];
  double excess = 0;
  enum { CASES = 300 };
  for (uint64_t seed = 0; seed < CASES; seed++) {
    test_draw_t draw = {.seed = seed};
    int count = draw_values(&draw, values);
    hone_plan_t plan = make(count, values);
    check_plan(&plan);
    if (plan.lower_bound) excess += (double)plan.bytes / (double)plan.lower_bound - 1;
  }
  assert_true(excess / CASES < 0.03); /* of the bound, on average */
}

static void random_values_keep_apart_within_what_is_spare(void** state) {
  (void)state;
  static hone_plan_value_t values[MOST_VALUES];
  enum { CASES = 200 };
  int apart = 0;
  for (uint64_t seed = 0; seed < CASES; seed++) {
    test_draw_t draw = {.seed = seed};
    int count = draw_values(&draw, values);
    for (int v = 0; v < count; v++) {
      values[v].bytes *= 100;
      values[v].view_offset *= 100;
    }
    size_t least = make(count, values).bytes;
    hone_plan_t plan = {.n_values = count, .values = values, .spare = least / 2};
    assert_ok(hone_plan_make(&plan, NULL));
    check_plan(&plan);
    assert_true(plan.bytes <= least + (plan.keeps_apart ? plan.spare : 0));
    apart += plan.keeps_apart;
  }
  assert_in_range(apart, 1, CASES - 1);
}

static hone_status_t plan_once(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_plan_value_t values[] = {value(64, 0, 1), value(64, 1, 2)};
  hone_plan_t plan = {.n_values = 2, .values = values, .spare = 1024};
  return hone_plan_make(&plan, allocator);
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_survives_faults(plan_once, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_needs_two_places),
      cmocka_unit_test(outputs_take_the_place_of_dying_inputs),
      cmocka_unit_test(an_input_that_lives_on_keeps_its_place),
      cmocka_unit_test(sizes_stay_apart_where_bytes_are_spare),
      cmocka_unit_test(small_sizes_share_all_the_same),
      cmocka_unit_test(one_place_is_taken_once),
      cmocka_unit_test(a_larger_output_finds_no_room_in_place),
      cmocka_unit_test(a_view_keeps_its_base_alive),
      cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(nothing_takes_nothing),
      cmocka_unit_test(the_report_names_values),
      cmocka_unit_test(random_values_never_overlap),
      cmocka_unit_test(random_values_keep_apart_within_what_is_spare),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
