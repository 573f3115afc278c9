/* Which lanes products get, and how their weights are laid out; against what `ref` makes of the
 * same graph. */
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"
#include "base/testing/test.h"

/* A product of 32 rows by weights of `columns`, both of 32 numbers of bf16, on a machine with
 * instructions for matrices, and what is done to it. */
static char* scheduled(int columns, const char* lines) {
  hone_str_t text;
  hone_str_init(&text, hone_allocator_system());
  hone_str_append(&text, "  %0 \"x\" = input : f32[32, 32]\n");
  hone_str_append(&text, "  %1 = cast %0 dtype=bf16 : bf16[32, 32]\n  %2 = constant {");
  test_schedule_numbers(&text, 32 * columns, 3);
  hone_str_appendf(&text, "} : bf16[32, %d]\n", columns);
  hone_str_appendf(&text, "  %%3 = contract %%1 %%2 dtype=f32 axes=[1, 0] batch=0 : f32[32, %d]\n",
                   columns);
  hone_str_append(&text, lines);
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 16,
                                           .registers = 32,
                                           .has_dot4 = true,
                                           .has_dot2_bf16 = true,
                                           .has_block_bf16 = true};
  char* kernel = test_schedule_run(hone_graph_of_text("", hone_str_text(&text)),
                                   hone_graph_of_text("", hone_str_text(&text)), 1);
  hone_str_free(&text);
  return kernel;
}

/* Heads that are stored one behind the other are parts of the columns: each block of lanes is in
 * one of them. */
static void heads_are_parts_of_weights(void** state) {
  (void)state;
  char* text = scheduled(64,
                         "  %4 = reshape %3 shape=[32, 2, 32] : f32[32, 2, 32]\n"
                         "  %5 = permute %4 axes=[1, 0, 2] : f32[2, 32, 32]\n"
                         "  return %5 \"y\"\n");
  test_schedule_expect(text, 2,
                       (const char* const[]){"from [32, 64] by 1*32", "as block2_bf16_bf16_x16"});
  free(text);
}

/* A vector that is at least half full is worth an instruction. */
static void few_columns_are_part_of_a_vector(void** state) {
  (void)state;
  char *half = scheduled(8, "  return %3 \"y\"\n"), *less = scheduled(7, "  return %3 \"y\"\n");
  test_schedule_expect(half, 1, (const char* const[]){"as block2_bf16_bf16_x16"});
  assert_null(strstr(less, "block2"));
  free(half);
  free(less);
}

/* relu(x w) v of f32, on a machine where three products of bf16 are faster. */
static hone_graph_t* make_products(void) {
  hone_str_t text;
  hone_str_init(&text, hone_allocator_system());
  hone_str_append(&text, "  %0 \"x\" = input : f32[128, 64]\n  %1 = constant {");
  test_schedule_numbers(&text, 64 * 64, 3);
  hone_str_append(&text, "} : f32[64, 64]\n  %2 = constant {");
  test_schedule_numbers(&text, 64 * 64, 5);
  hone_str_append(&text,
                  "} : f32[64, 64]\n"
                  "  %3 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 : f32[128, 64]\n"
                  "  %4 = constant {0} : f32[1, 1]\n"
                  "  %5 = expand %4 shape=[128, 64] : f32[128, 64]\n"
                  "  %6 = max %3 %5 : f32[128, 64]\n"
                  "  %7 = contract %6 %2 dtype=f32 axes=[1, 0] batch=0 : f32[128, 64]\n"
                  "  return %7 \"y\"\n");
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

/* A step of the sum multiplies weights by one part of the data and then by the other: those of both
 * parts lie near. Results and what rounding leaves over of them are stored by the same loops, and
 * all steps of all sums ask for the lines of both. */
static void weights_serve_two_parts_of_data(void** state) {
  (void)state;
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 16,
                                           .registers = 32,
                                           .has_dot4 = true,
                                           .has_dot2_bf16 = true,
                                           .has_block_int8 = true,
                                           .has_block_bf16 = true,
                                           .second_cache = 1 << 10};
  test_schedule_passes.bf16x3 = true;
  char* text = test_schedule_run(make_products(), make_products(), 1);
  test_schedule_passes.bf16x3 = false;
  test_schedule_expect(
      text, 5,
      (const char* const[]){
          "from [2, 64, 64] by 2*32 0*1 1*2 2*1 1*1", "as block2_bf16_bf16_x16",
          "schedule \"merge i",
          "claim out0[(((32*k2 + 16*k.o.o)/3) + 32*(i1.o_i.o%4) + 5), (32*(i1.o_i.o/4) + 64)]",
          "claim out0[(((32*k2 + 16*k.o.o)/3) + 32*(i1.o_i.o%4) + 5), (32*(i1.o_i.o/4))]"});
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heads_are_parts_of_weights),
      cmocka_unit_test(few_columns_are_part_of_a_vector),
      cmocka_unit_test(weights_serve_two_parts_of_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
