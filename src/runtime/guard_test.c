/* Guards: what sizes show by themselves needs none, and the rest gets one. */
#include "runtime/guard.h"

#include "backends/ref/testing/same_results.h"

/* Guards of `lines`, which return %1, where n is 1 to 512. */
static int count_guards(const char* lines) {
  int count;
  hone_guard_t* guards;
  hone_arena_t* arena;
  hone_graph_t* graph = hone_graph_of_text("symbol \"n\" input 1 512\n", lines);
  assert_ok(hone_arena_create(hone_allocator_system(), &arena));
  assert_ok(hone_guards_of(graph->dims, arena, graph, &count, &guards));
  hone_arena_destroy(arena);
  hone_graph_destroy(graph);
  return count;
}

static void parts_within_wholes_need_none(void** state) {
  (void)state;
  assert_int_equal(count_guards("  %0 \"x\" <0 dim 0> = input : f32[n]\n"
                                "  %1 = slice %0 lo=[0] hi=[2*(n/2)] step=[1] : f32[2*(n/2)]\n"
                                "  return %1 \"y\"\n"),
                   0);
  /* Rows with one that makes them even, of which there may be none at all. */
  static const char even[] =
      "  %0 \"x\" <0 dim 0> = input : f32[n]\n"
      "  %1 = slice %0 lo=[0] hi=[lt(n, 128, 0, n)] step=[1] : f32[lt(n, 128, 0, n)]\n"
      "  %2 = constant {0} : f32[]\n"
      "  %3 = pad %1 %2 lo=[0] hi=[2*((lt(n, 128, 0, n) + 1)/2) - lt(n, 128, 0, n)]"
      " : f32[2*((lt(n, 128, 0, n) + 1)/2)]\n"
      "  %4 = slice %3 lo=[0] hi=[lt(n, 128, 0, n)] step=[1] : f32[lt(n, 128, 0, n)]\n"
      "  return %4 \"y\"\n";
  assert_int_equal(count_guards(even), 0);
}

static void what_sizes_do_not_show_gets_one(void** state) {
  (void)state;
  assert_int_equal(count_guards("  %0 \"x\" <0 dim 0> = input : f32[n]\n"
                                "  %1 = slice %0 lo=[0] hi=[8] step=[1] : f32[8]\n"
                                "  return %1 \"y\"\n"),
                   1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_within_wholes_need_none),
      cmocka_unit_test(what_sizes_do_not_show_gets_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
