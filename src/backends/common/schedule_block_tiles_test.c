/* Sums of blocks of many rows, against what `ref` makes of the same graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"
#include "base/str.h"

enum { BLOCKS = 3, BLOCK = 8, COLUMNS = 32 };

static hone_graph_t* make_graph(int rows) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text,
                   "  %%0 \"x\" = input : i16[%d, %d, %d]\n  %%1 \"t\" = input : f32[%d, %d, 1]\n"
                   "  %%2 = constant {",
                   BLOCKS, rows, BLOCK, BLOCKS, rows);
  test_schedule_numbers(&text, BLOCKS * BLOCK * COLUMNS, 127);
  hone_str_appendf(&text, "} : i16[%d, %d, %d]\n  %%3 = constant {", BLOCKS, BLOCK, COLUMNS);
  test_schedule_numbers(&text, BLOCKS * COLUMNS, 9);
  hone_str_appendf(&text, "} : f32[%d, 1, %d]\n", BLOCKS, COLUMNS);
  hone_str_appendf(&text, "  %%4 = contract %%0 %%2 dtype=i32 axes=[0, 0, 2, 1] batch=1 : ");
  hone_str_appendf(&text, "i32[%d, %d, %d]\n", BLOCKS, rows, COLUMNS);
  static const char* const steps[] = {"%5 = cast %4 dtype=f32", "%6 = expand %1 shape=[S]",
                                      "%7 = mul %5 %6", "%8 = expand %3 shape=[S]",
                                      "%9 = mul %7 %8"};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    const char* shape = strchr(steps[i], 'S');
    int before = shape ? (int)(shape - steps[i]) : (int)strlen(steps[i]);
    hone_str_appendf(&text, "  %.*s", before, steps[i]);
    if (shape) hone_str_appendf(&text, "%d, %d, %d]", BLOCKS, rows, COLUMNS);
    hone_str_appendf(&text, " : f32[%d, %d, %d]\n", BLOCKS, rows, COLUMNS);
  }
  hone_str_appendf(&text, "  %%10 = reduce %%9 combine=add axes=[0] : f32[%d, %d]\n", rows,
                   COLUMNS);
  hone_str_append(&text, "  return %10 \"y\"\n");
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static char* scheduled(int rows, int lanes, int registers, int vectors) {
  test_schedule_shape = (hone_cpu_shape_t){
      .lanes = lanes, .registers = registers, .has_dot2_i16 = true, .fast_int8 = true};
  test_schedule_choice.vectors = vectors;
  char* text = test_schedule_run(make_graph(rows), make_graph(rows), 1);
  test_schedule_choice.vectors = 0;
  return text;
}

/* One kernel, whose blocks go around tiles; of 17 rows two tiles of six, and one of five. */
static void sums_stay_in_registers(void** state) {
  char* few = scheduled(5, 8, 16, 1);
  char* many = scheduled(17, 8, 16, 1);
  test_schedule_expect(few, 3,
                       (const char* const[]){"as dot2_i16_i16_x8", "in 5 unroll", "prefetch"});
  test_schedule_expect(many, 3, (const char* const[]){"in 2 {", "in 6 unroll", "in 5 unroll"});
  free(few);
  free(many);
}

static void tiles_are_of_several_vectors(void** state) {
  char* text = scheduled(14, 16, 32, 2);
  test_schedule_expect(text, 3,
                       (const char* const[]){"as dot2_i16_i16_x16", "f32[7, 32]", "i32[7, 32]"});
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_stay_in_registers),
      cmocka_unit_test(tiles_are_of_several_vectors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
