/* Sums of a tile that are added up part by part, where contractions say so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"

/* A product of rows by weights. */
static char* scheduled(const char* symbols, const char* rows, const char* sums, int columns,
                       const char* flag) {
  char lines[600];
  snprintf(lines, sizeof lines,
           "  %%0 \"x\"%s = input : f32[%s, %s]\n"
           "  %%1 \"w\"%s = input : f32[%s, %d]\n"
           "  %%2 = contract %%0 %%1 dtype=f32 axes=[1, 0] batch=0%s : f32[%s, %d]\n"
           "  return %%2 \"y\"\n",
           *symbols ? " <0 dim 1>" : "", rows, sums, "", sums, columns, flag, rows, columns);
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 16};
  return test_schedule_run(hone_graph_of_text(symbols, lines), hone_graph_of_text(symbols, lines),
                           1);
}

static void expect(const char* sums, int columns, const char* flag, const char* const* words,
                   int n_words) {
  char* text = scheduled("", "12", sums, columns, flag);
  if (n_words)
    test_schedule_expect(text, n_words, words);
  else
    assert_null(strstr(text, "subtotal"));
  free(text);
}

static void long_sums_are(void** state) {
  expect("150", 16, " by_parts",
         (const char* const[]){"by_parts", "split k 15 peel", "subtotal k.i"}, 3);
  expect("131", 16, " by_parts", (const char* const[]){"split k 16 peel", "subtotal k.i"}, 2);
}

static void a_tile_has_sums_of_a_part(void** state) {
  expect("128", 16, " by_parts",
         (const char* const[]){"acc3.s: f32[6, 2, 8]", "in 6 unroll", "+= acc3.s["}, 3);
}

static void short_sums_are_not(void** state) { expect("16", 16, " by_parts", NULL, 0); }

static void others_are_not(void** state) { expect("160", 16, "", NULL, 0); }

static void open_sums_are(void** state) {
  char* text = scheduled("symbol \"n\" input 0 400\n", "12", "n", 16, " by_parts");
  test_schedule_expect(text, 2, (const char* const[]){"split k 16 peel", "subtotal k.i"});
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_sums_are),      cmocka_unit_test(a_tile_has_sums_of_a_part),
      cmocka_unit_test(short_sums_are_not), cmocka_unit_test(others_are_not),
      cmocka_unit_test(open_sums_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
