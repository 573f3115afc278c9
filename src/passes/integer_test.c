/* Integer arithmetic against the floats that it stands for: results that were
 * next to a half may be one step off, and no other is off at all. */
#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "passes/pass.h"

/* x, quantized by 0.02 and 128, times weights by 0.01, quantized by 0.05 and 120:
 * sums of products times 0.004, of which every 250th is next to a half. */
static const char* const lines[] = {
    "%0 = input : f32[64, 8] %1 = input : i8[8, 16]",
    "%2 = constant {0.02} : f32[1, 1] %3 = expand %2 shape=[64, 8] : f32[64, 8]",
    "%4 = div %0 %3 : f32[64, 8] %5 = round %4 : f32[64, 8]",
    "%6 = constant {128} : f32[1, 1] %7 = expand %6 shape=[64, 8] : f32[64, 8]",
    "%8 = add %5 %7 : f32[64, 8]",
    "%9 = constant {0} : f32[1, 1] %10 = expand %9 shape=[64, 8] : f32[64, 8]",
    "%11 = max %8 %10 : f32[64, 8]",
    "%12 = constant {255} : f32[1, 1] %13 = expand %12 shape=[64, 8] : f32[64, 8]",
    "%14 = min %11 %13 : f32[64, 8] %15 = cast %14 dtype=u8 : u8[64, 8]",
    "%16 = cast %15 dtype=i32 : i32[64, 8]",
    "%17 = constant {128} : i32[1, 1] %18 = expand %17 shape=[64, 8] : i32[64, 8]",
    "%19 = sub %16 %18 : i32[64, 8] %20 = cast %19 dtype=f32 : f32[64, 8]",
    "%21 = mul %20 %3 : f32[64, 8]",
    "%22 = cast %1 dtype=f32 : f32[8, 16]",
    "%23 = constant {0.01} : f32[1, 1] %24 = expand %23 shape=[8, 16] : f32[8, 16]",
    "%25 = mul %22 %24 : f32[8, 16]",
    "%26 = contract %21 %25 dtype=f32 axes=[1, 0] batch=0 : f32[64, 16]",
    "%27 = constant {0.05} : f32[1, 1] %28 = expand %27 shape=[64, 16] : f32[64, 16]",
    "%29 = div %26 %28 : f32[64, 16] %30 = round %29 : f32[64, 16]",
    "return %26 %30",
};

static hone_graph_t* make_graph(void) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  for (size_t i = 0; i < TEST_COUNT(lines); i++) hone_str_appendf(&text, "%s\n", lines[i]);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static void results_are_a_step_off_at_most(void** state) {
  hone_graph_t *before = make_graph(), *after = make_graph();
  const char* only = "integer";
  hone_pass_options_t options = {.n_only = 1, .only = &only, .verify = true};
  assert_ok(hone_passes_run(after, &options, NULL));
  int products = 0;
  for (int n = 0; n < after->n_nodes; n++)
    if (after->nodes[n]->prim == HONE_PRIM_CONTRACT) {
      products++;
      assert_int_equal(after->nodes[n]->dtype, HONE_I32);
      assert_int_equal(after->nodes[n]->inputs[0]->type.dtype, HONE_U8);
      assert_int_equal(after->nodes[n]->inputs[1]->type.dtype, HONE_I8);
    }
  assert_int_equal(products, 1);
  for (uint64_t seed = 0; seed < 50; seed++) assert_same_results(before, after, seed, 1);
  after->n_outputs = before->n_outputs = 1; /* before it is rounded to steps */
  for (uint64_t seed = 0; seed < 50; seed++) assert_same_results(before, after, seed, 1e-6);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_a_step_off_at_most)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
