/* The manager and the rewriter: which passes run, what they report, and that a
 * rewrite keeps names, symbols and order. */
#include "passes/pass.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/test.h"
#include "import/graph_text.h"
#include "ir/verify.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

static const char text[] =
    "hone-graph 1\n"
    "graph \"main\" {\n"
    "  %0 \"x\" = input : f32[2]\n"
    "  %1 = neg %0 : f32[2] @ \"a (Neg)\"\n"
    "  %2 = neg %1 : f32[2] @ \"b (Neg)\"\n"
    "  %3 = exp %1 : f32[2] @ \"dead (Exp)\"\n"
    "  %4 \"y\" = abs %2 : f32[2] @ \"c (Abs)\"\n"
    "  return %4 \"y\"\n"
    "}\n";

static hone_graph_t* parse(const hone_allocator_t* allocator, const char* source) {
  hone_graph_t* graph;
  assert_ok(hone_graph_parse(allocator, source, strlen(source), &graph));
  return graph;
}

/* abs(neg(neg(x))) becomes floor(x): wrong, but easy to see. */
static hone_value_t* floor_rule(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* outer =
      node->prim == HONE_PRIM_ABS ? hone_match_prim_once(node->inputs[0], HONE_PRIM_NEG) : NULL;
  hone_node_t* inner = outer ? hone_match_prim(outer->inputs[0], HONE_PRIM_NEG) : NULL;
  if (!inner) return NULL;
  hone_pass_did(r->context, node, "floored");
  return hone_floor(r->b, inner->inputs[0]);
}

static void a_rewrite_moves_names_and_drops_the_dead(void** state) {
  hone_graph_t* graph = parse(NULL, text);
  hone_pass_options_t options = {0};
  hone_pass_context_t context = {.options = &options};
  assert_ok(hone_rewrite(&context, graph, floor_rule, NULL));
  assert_ok(hone_graph_verify(graph));
  assert_int_equal(context.count, 1);
  assert_int_equal(graph->n_nodes, 2);
  assert_int_equal(graph->nodes[1]->prim, HONE_PRIM_FLOOR);
  assert_string_equal(graph->outputs[0]->name, "y");
  assert_string_equal(graph->nodes[1]->origin, "c (Abs)");
  hone_graph_destroy(graph);
}

static hone_value_t* wrong_rule(hone_rewriter_t* r, hone_node_t* node) {
  return node->prim == HONE_PRIM_ABS ? hone_cast(r->b, node->inputs[0], HONE_F64) : NULL;
}

static void a_value_of_another_type_is_refused(void** state) {
  hone_graph_t* graph = parse(NULL, text);
  hone_pass_options_t options = {0};
  hone_pass_context_t context = {.options = &options};
  assert_code(hone_rewrite(&context, graph, wrong_rule, NULL), HONE_INTERNAL);
  hone_graph_destroy(graph);
}

static void the_report_says_what_was_done(void** state) {
  hone_graph_t* graph = parse(NULL, text);
  hone_pass_report_t report;
  assert_ok(hone_pass_report_create(NULL, &report));
  const char* only[] = {"dce"};
  hone_pass_options_t options = {.n_only = 1, .only = only};
  assert_ok(hone_passes_run(graph, &options, &report));
  assert_string_equal(report.first->pass, "dce");
  assert_int_equal(report.first->count, 1);
  assert_int_equal(report.first->nodes_before - report.first->nodes_after, 1);
  hone_str_t out;
  hone_str_init(&out, NULL);
  hone_pass_report_print(&report, &out);
  assert_non_null(strstr(hone_str_text(&out), "dropped 1 node"));
  hone_str_free(&out);
  hone_pass_report_destroy(&report);
  hone_graph_destroy(graph);
}

static void passes_can_be_switched_off(void** state) {
  hone_graph_t* graph = parse(NULL, text);
  hone_pass_report_t report;
  assert_ok(hone_pass_report_create(NULL, &report));
  const char *only[] = {"dce"}, *wrong[] = {"no-such"};
  hone_pass_options_t options = {.n_only = 1, .only = only, .n_off = 1, .off = only};
  assert_ok(hone_passes_run(graph, &options, &report));
  assert_null(report.first);
  options.off = wrong;
  assert_code(hone_passes_run(graph, &options, &report), HONE_NOT_FOUND);
  hone_pass_report_destroy(&report);
  hone_graph_destroy(graph);
}

/* Each size is computed, by way of floats, from the one before. */
static const char sizes_in_turn[] =
    "hone-graph 1\n"
    "symbol \"s0\" element 0 8\n"
    "symbol \"s1\" element 0 8\n"
    "symbol \"s2\" element 0 8\n"
    "symbol \"s3\" element 0 8\n"
    "symbol \"s4\" element 0 8\n"
    "symbol \"n\" input 4 8\n"
    "graph \"main\" {\n"
    "  %0 \"x\" <5 dim 0> = input : f32[n]\n"
    "  %1 <0 element 0> = constant {3} : i64[1]\n"
    "  %2 = slice %0 lo=[0] hi=[s0] step=[1] : f32[s0]\n"
    "  %3 = dims shape=[s0] : i64[1]\n"
    "  %4 = cast %3 dtype=f32 : f32[1]\n"
    "  %5 <1 element 0> = cast %4 dtype=i64 : i64[1]\n"
    "  %6 = slice %2 lo=[0] hi=[s1] step=[1] : f32[s1]\n"
    "  %7 = dims shape=[s1] : i64[1]\n"
    "  %8 = cast %7 dtype=f32 : f32[1]\n"
    "  %9 <2 element 0> = cast %8 dtype=i64 : i64[1]\n"
    "  %10 = slice %6 lo=[0] hi=[s2] step=[1] : f32[s2]\n"
    "  %11 = dims shape=[s2] : i64[1]\n"
    "  %12 = cast %11 dtype=f32 : f32[1]\n"
    "  %13 <3 element 0> = cast %12 dtype=i64 : i64[1]\n"
    "  %14 = slice %10 lo=[0] hi=[s3] step=[1] : f32[s3]\n"
    "  %15 = dims shape=[s3] : i64[1]\n"
    "  %16 = cast %15 dtype=f32 : f32[1]\n"
    "  %17 <4 element 0> = cast %16 dtype=i64 : i64[1]\n"
    "  %18 = slice %14 lo=[0] hi=[s4] step=[1] : f32[s4]\n"
    "  %19 \"y\" = neg %18 : f32[s4]\n"
    "  return %19 \"y\"\n"
    "}\n";

static void sizes_that_follow_from_sizes_become_known(void** state) {
  hone_graph_t* graph = parse(NULL, sizes_in_turn);
  const char* only[] = {"fold", "sizes"};
  hone_pass_options_t options = {.n_only = 2, .only = only, .verify = true};
  assert_ok(hone_passes_run(graph, &options, NULL));
  assert_true(hone_dim_is_int(graph->outputs[0]->type.dims[0]));
  assert_int_equal(graph->outputs[0]->type.dims[0].k, 3);
  hone_graph_destroy(graph);
}

static void every_pass_is_described(void** state) {
  assert_true(hone_pass_total() > 0);
  for (int i = 0; i < hone_pass_total(); i++) {
    const hone_pass_t* pass = hone_pass_at(i);
    assert_ptr_equal(hone_pass_find(pass->name), pass);
    assert_true(strlen(pass->summary) > 10);
    assert_true(pass->phases[0] > 0);
    assert_non_null(pass->run);
    assert_true(!pass->repeats || hone_pass_find(pass->repeats));
  }
  assert_null(hone_pass_at(-1));
  assert_null(hone_pass_find("no-such"));
}

/* A golden case, parsed and sent through all passes. */
static hone_status_t run_all(const hone_allocator_t* allocator, void* context) {
  char* source;
  size_t size;
  HONE_TRY(hone_file_read(allocator, context, 0, &source, &size));
  hone_graph_t* graph = NULL;
  hone_pass_report_t report = {0};
  hone_status_t status = hone_graph_parse(allocator, source, size, &graph);
  if (!status) status = hone_pass_report_create(allocator, &report);
  hone_pass_options_t options = {.details = true};
  if (!status) status = hone_passes_run(graph, &options, &report);
  hone_pass_report_destroy(&report);
  hone_graph_destroy(graph);
  hone_free(allocator, source, size + 1);
  return status;
}

static void passes_survive_running_out_of_memory(void** state) {
  static char paths[][40] = {"tests/passes/movement/conv_chain.hg",
                             "tests/passes/branches/known.hg", "tests/passes/fold/weights.hg",
                             "tests/passes/bn_fold/channels.hg"};
  for (size_t i = 0; i < TEST_COUNT(paths); i++) assert_survives_faults(run_all, paths[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rewrite_moves_names_and_drops_the_dead),
      cmocka_unit_test(a_value_of_another_type_is_refused),
      cmocka_unit_test(the_report_says_what_was_done),
      cmocka_unit_test(passes_can_be_switched_off),
      cmocka_unit_test(sizes_that_follow_from_sizes_become_known),
      cmocka_unit_test(every_pass_is_described),
      cmocka_unit_test(passes_survive_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
