/* Sums that get the lanes, against what `ref` makes of the same graph. */
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"
#include "base/str.h"

/* A window of 3 x 5 over 7 x 30 places of 4 channels, which lie last or first, for one result each.
 */
static hone_graph_t* make_last_layer(bool channels_last) {
  enum { WEIGHTS = 4 * 3 * 5 };
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_append(&text, channels_last
                             ? "  %0 \"x\" = input : f32[7, 30, 4]\n"
                               "  %1 = window %0 axes=[0, 1] shape=[3, 5] hi=[1, 1] step=[1, 1]"
                               " : f32[5, 26, 4, 3, 5]\n"
                             : "  %0 \"x\" = input : f32[4, 7, 30]\n"
                               "  %1 = window %0 axes=[1, 2] shape=[3, 5] hi=[1, 1] step=[1, 1]"
                               " : f32[4, 5, 26, 3, 5]\n");
  hone_str_append(&text, "  %2 = constant {");
  test_schedule_numbers(&text, WEIGHTS, 7);
  hone_str_appendf(&text,
                   "} : f32[1, 4, 3, 5]\n"
                   "  %%3 = contract %%1 %%2 dtype=f32 axes=[%s] batch=0 : f32[5, 26, 1]\n"
                   "  %%4 = exp %%3 : f32[5, 26, 1]\n"
                   "  return %%4 \"y\"\n",
                   channels_last ? "2, 1, 3, 2, 4, 3" : "0, 1, 3, 2, 4, 3");
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

/* Twenty numbers lie side by side, those of five places: five times half a vector. What follows is
 * computed for a vector of results, and for the last two. */
static void short_sums_are_one_run(void** state) {
  (void)state;
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 16, .threads = 1};
  char* text = test_schedule_run(make_last_layer(true), make_last_layer(true), 1);
  test_schedule_expect(
      text, 4, (const char* const[]){"fuse k3 k", "rfactor", "split i1 8 peel", "in 4 vector"});
  test_schedule_expect(text, 2, (const char* const[]){"distribute i1.i", "distribute i1.t"});
  free(text);
}

static void what_lies_apart_is_none(void** state) {
  (void)state;
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 16, .threads = 1};
  char* text = test_schedule_run(make_last_layer(false), make_last_layer(false), 1);
  if (strstr(text, "rfactor"))
    fail_msg("lanes along a sum of numbers that lie apart in:\n%s", text);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_sums_are_one_run),
      cmocka_unit_test(what_lies_apart_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
