/* Calls: what outlining and inlining make of a graph, and that both leave what
 * it computes alone. */
#include "ir/outline.h"

#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/str.h"
#include "base/testing/fault.h"
#include "import/graph_text.h"
#include "ir/builder.h"
#include "ir/gradient.h"
#include "ir/verify.h"

/* %2 = constant, %3 = expand of it, %4 … %7: a chain. */
static const char chain[] =
    "  %0 \"x\" = input : f32[2, 3]\n"
    "  %1 \"y\" = input : f32[2, 3]\n"
    "  %2 = constant {2} : f32[]\n"
    "  %3 = reshape %2 shape=[1, 1] : f32[1, 1]\n"
    "  %4 = expand %3 shape=[2, 3] : f32[2, 3]\n"
    "  %5 = mul %0 %4 : f32[2, 3] @ \"a (Mul)\"\n"
    "  %6 = add %5 %1 : f32[2, 3] @ \"b (Add)\"\n"
    "  %7 \"out\" = exp %6 : f32[2, 3] @ \"c (Exp)\"\n"
    "  %8 = sub %5 %7 : f32[2, 3] @ \"d (Sub)\"\n"
    "  return %7 %8 %4\n";

static hone_graph_t* copy_of(const hone_graph_t* graph) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_graph_t* copy;
  assert_ok(hone_graph_print(graph, 0, &text));
  assert_ok(hone_graph_parse(NULL, hone_str_text(&text), text.size, &copy));
  hone_str_free(&text);
  return copy;
}

/* Outlines the nodes that make the values of these numbers. */
static hone_node_t* outline(hone_graph_t* graph, hone_group_t group, int count, const int* values) {
  int group_of[64];
  for (int n = 0; n < graph->n_nodes; n++) group_of[n] = -1;
  for (int i = 0; i < count; i++)
    for (int n = 0; n < graph->n_nodes; n++)
      if (graph->nodes[n] == graph->values[values[i]]->node) group_of[n] = 0;
  assert_ok(hone_graph_outline(graph, 1, &group, group_of));
  assert_ok(hone_graph_verify(graph));
  return group.call;
}

static void a_group_becomes_a_call(void** state) {
  hone_graph_t *before = hone_graph_of_text("", chain), *graph = hone_graph_of_text("", chain);
  hone_value_t *x = graph->values[0], *y = graph->values[1], *exp = graph->values[7];
  hone_value_t* first[] = {y, x};
  hone_group_t group = {.label = "part", .n_first = 2, .first = first};
  hone_node_t* call = outline(graph, group, 3, (int[]){5, 6, 7});
  assert_graph_text(graph,
                    "  %0 \"x\" = input : f32[2, 3]\n"
                    "  %1 \"y\" = input : f32[2, 3]\n"
                    "  %2 = constant {2} : f32[]\n"
                    "  %3 = reshape %2 shape=[1, 1] : f32[1, 1]\n"
                    "  %4 = expand %3 shape=[2, 3] : f32[2, 3]\n"
                    "  %5 %6 \"out\" = call %1 %0 label=part : f32[2, 3], f32[2, 3] @ \"c (Exp)\"\n"
                    "    region \"part\" {\n"
                    "      %0 \"y\" = input : f32[2, 3]\n"
                    "      %1 \"x\" = input : f32[2, 3]\n"
                    "      %2 = constant {2} : f32[]\n"
                    "      %3 = reshape %2 shape=[1, 1] : f32[1, 1]\n"
                    "      %4 = expand %3 shape=[2, 3] : f32[2, 3]\n"
                    "      %5 = mul %1 %4 : f32[2, 3] @ \"a (Mul)\"\n"
                    "      %6 = add %5 %0 : f32[2, 3] @ \"b (Add)\"\n"
                    "      %7 \"out\" = exp %6 : f32[2, 3] @ \"c (Exp)\"\n"
                    "      return %5 %7\n"
                    "    }\n"
                    "  %7 = sub %5 %6 : f32[2, 3] @ \"d (Sub)\"\n"
                    "  return %6 %7 %4\n"
                    "}\n");
  assert_ptr_equal(exp->node, call);
  assert_same_results(before, graph, 1, 0);
  hone_graph_t* reread = copy_of(graph);
  assert_same_results(before, reread, 1, 0);
  hone_graph_drop_dead(graph);
  assert_int_equal(hone_graph_node_count(graph), 12);
  hone_graph_destroy(before);
  hone_graph_destroy(reread);
  hone_graph_destroy(graph);
}

static void inlining_is_the_reverse(void** state) {
  hone_graph_t *before = hone_graph_of_text("", chain), *graph = hone_graph_of_text("", chain);
  outline(graph, (hone_group_t){.label = "inner"}, 2, (int[]){5, 6});
  assert_int_equal(graph->values[6]->node->prim, HONE_PRIM_CALL);
  outline(graph, (hone_group_t){.label = "outer"}, 2, (int[]){6, 7});
  assert_same_results(before, graph, 2, 0);
  hone_graph_t* opened = copy_of(graph);
  assert_ok(hone_graph_inline(opened, "outer"));
  assert_same_results(before, opened, 2, 0);
  assert_ok(hone_graph_inline(graph, NULL));
  assert_same_results(before, graph, 2, 0);
  int n_labelled = 0;
  for (int n = 0; n < graph->n_nodes; n++) { /* the outermost says what they were */
    const char* label = graph->nodes[n]->label;
    if (label) assert_string_equal(label, "outer");
    n_labelled += label != NULL;
  }
  assert_in_range(n_labelled, 3, graph->n_nodes - 1);
  for (int n = 0; n < graph->n_nodes; n++)
    assert_int_not_equal(graph->nodes[n]->prim, HONE_PRIM_CALL);
  hone_graph_destroy(opened);
  hone_graph_destroy(before);
  hone_graph_destroy(graph);
}

static void what_leaves_and_comes_back_stays(void** state) {
  hone_graph_t* graph = hone_graph_of_text("", chain);
  assert_null(outline(graph, (hone_group_t){.label = "part"}, 2, (int[]){5, 7}));
  assert_null(outline(graph, (hone_group_t){.label = "part"}, 2, (int[]){0, 4}));
  assert_int_equal(graph->n_nodes, 9);
  hone_graph_destroy(graph);
}

/* Two groups that need each other: one is given up. */
static void circles_of_groups_are_broken(void** state) {
  hone_graph_t* graph = hone_graph_of_text("",
                                           "  %0 = input : f32[2]\n"
                                           "  %1 = exp %0 : f32[2]\n"
                                           "  %2 = neg %0 : f32[2]\n"
                                           "  %3 = abs %2 : f32[2]\n"
                                           "  %4 = sin %1 : f32[2]\n"
                                           "  return %3 %4\n");
  hone_graph_t* before = copy_of(graph);
  hone_group_t groups[] = {{.label = "p"}, {.label = "q"}};
  assert_ok(hone_graph_outline(graph, 2, groups, (int[]){-1, 0, 1, 0, 1}));
  assert_int_equal(!groups[0].call + !groups[1].call, 1);
  assert_same_results(before, graph, 3, 0);
  hone_graph_destroy(before);
  hone_graph_destroy(graph);
}

static const char sized[] =
    "  %0 <0 dim 0> = input : f32[n]\n"
    "  %1 = input : i64[1]\n"
    "  %2 <1 element 0> = abs %1 : i64[1]\n"
    "  %3 = exp %0 : f32[n]\n"
    "  %4 = reshape %1 shape=[1] : i64[1]\n"
    "  %5 = slice %3 lo=[0] hi=[min(k, n)] step=[1] : f32[min(k, n)]\n"
    "  return %5 %2 %4\n";
static const char sized_symbols[] =
    "symbol \"n\" input 1 9\n"
    "symbol \"k\" element 0 9\n";

static void what_binds_stays_outside_and_before(void** state) {
  hone_graph_t* graph = hone_graph_of_text(sized_symbols, sized);
  hone_graph_t* before = copy_of(graph);
  assert_null(outline(graph, (hone_group_t){.label = "part"}, 2, (int[]){2, 3}));
  hone_node_t* call = outline(graph, (hone_group_t){.label = "part"}, 2, (int[]){3, 5});
  assert_non_null(call);
  assert_int_equal(call->outputs[0]->id, 4); /* behind %2, which binds k */
  assert_same_results(before, graph, 4, 0);
  hone_graph_destroy(before);
  hone_graph_destroy(graph);
}

/* An expand that two groups use is in both, and its source is passed. */
static void expands_are_copied(void** state) {
  hone_graph_t* graph = hone_graph_of_text("",
                                           "  %0 = input : f32[3]\n"
                                           "  %1 = input : f32[2, 3]\n"
                                           "  %2 = exp %0 : f32[3]\n"
                                           "  %3 = reshape %2 shape=[1, 3] : f32[1, 3]\n"
                                           "  %4 = expand %3 shape=[2, 3] : f32[2, 3]\n"
                                           "  %5 = add %1 %4 : f32[2, 3]\n"
                                           "  %6 = mul %5 %4 : f32[2, 3]\n"
                                           "  return %6\n");
  hone_graph_t* before = copy_of(graph);
  hone_group_t groups[] = {{.label = "p"}, {.label = "q", .n_first = 1, .first = NULL}};
  hone_value_t* first[] = {graph->values[2]};
  groups[1].first = first;
  assert_ok(hone_graph_outline(graph, 2, groups, (int[]){-1, -1, -1, -1, -1, 0, 1}));
  assert_same_results(before, graph, 7, 0);
  hone_graph_drop_dead(graph);
  assert_graph_text(graph,
                    "  %0 = input : f32[3]\n"
                    "  %1 = input : f32[2, 3]\n"
                    "  %2 = exp %0 : f32[3]\n"
                    "  %3 = call %1 %2 label=p : f32[2, 3]\n"
                    "    region \"p\" {\n"
                    "      %0 = input : f32[2, 3]\n"
                    "      %1 = input : f32[3]\n"
                    "      %2 = reshape %1 shape=[1, 3] : f32[1, 3]\n"
                    "      %3 = expand %2 shape=[2, 3] : f32[2, 3]\n"
                    "      %4 = add %0 %3 : f32[2, 3]\n"
                    "      return %4\n"
                    "    }\n"
                    "  %4 = call %2 %3 label=q : f32[2, 3]\n"
                    "    region \"q\" {\n"
                    "      %0 = input : f32[3]\n"
                    "      %1 = input : f32[2, 3]\n"
                    "      %2 = reshape %0 shape=[1, 3] : f32[1, 3]\n"
                    "      %3 = expand %2 shape=[2, 3] : f32[2, 3]\n"
                    "      %4 = mul %1 %3 : f32[2, 3]\n"
                    "      return %4\n"
                    "    }\n"
                    "  return %4\n"
                    "}\n");
  hone_graph_destroy(before);
  hone_graph_destroy(graph);
}

/* ---- random graphs ---- */

enum { N_INPUTS = 3, N_NODES = 24 };

typedef struct dice {
  uint64_t seed, at;
} dice_t;

static int roll(dice_t* dice, int sides) {
  return (int)(hone_random_u32(dice->seed, dice->at++) % (uint32_t)sides);
}

/* A value of f32[n, 3] from two others, by one or two nodes. */
static hone_value_t* random_step(hone_builder_t* b, dice_t* dice, hone_value_t* x,
                                 hone_value_t* y) {
  static const hone_prim_t unary[] = {HONE_PRIM_NEG, HONE_PRIM_TANH, HONE_PRIM_SIN};
  switch (roll(dice, 6)) {
    case 0:
      return hone_unary(b, unary[roll(dice, 3)], x);
    case 1:
      return hone_sub(b, x, hone_reduce_last(b, HONE_COMBINE_MAX, y, 1, true));
    case 2:
      return hone_mul_number(b, x, roll(dice, 3));
    case 3:
      return hone_flip(b, x, 1);
    default:
      return hone_add(b, x, y);
  }
}

static hone_graph_t* random_graph(dice_t* dice) {
  hone_graph_t* graph;
  assert_ok(hone_graph_create(NULL, "main", &graph));
  hone_builder_t b = {.graph = graph};
  hone_dim_t dims[] = {hone_dim_symbol(graph->dims, "n", HONE_SYMBOL_INPUT, 1, 5), hone_d(3)};
  hone_type_t type = hone_type_tensor(HONE_F32, 2, dims);
  hone_value_t* made[N_INPUTS + N_NODES];
  for (int i = 0; i < N_INPUTS; i++) made[i] = hone_input(&b, NULL, &type);
  assert_ok(hone_value_bind(graph, made[0], 0, true, 0));
  for (int i = N_INPUTS; i < N_INPUTS + N_NODES; i++)
    made[i] = random_step(&b, dice, made[roll(dice, i)], made[roll(dice, i)]);
  assert_true(hone_builder_ok(&b));
  hone_value_t* outputs[] = {made[N_INPUTS + N_NODES - 1], made[N_INPUTS + roll(dice, N_NODES)]};
  assert_ok(hone_graph_set_outputs(graph, 2, outputs, NULL));
  return graph;
}

/* Any groups at all: neighbours are likelier to be together. */
static void random_outline(hone_graph_t* graph, dice_t* dice) {
  hone_group_t groups[4] = {{.label = "a"}, {.label = "b"}, {.label = "c"}, {.label = "d"}};
  int group_of[256], current = -1;
  assert_true(graph->n_nodes <= 256);
  for (int n = 0; n < graph->n_nodes; n++) {
    if (roll(dice, 3) == 0) current = roll(dice, 5) - 1;
    group_of[n] = current;
  }
  assert_ok(hone_graph_outline(graph, 4, groups, group_of));
}

static void random_groups_change_no_result(void** state) {
  int64_t calls = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    dice_t dice = {.seed = seed};
    hone_graph_t *graph = random_graph(&dice), *before = copy_of(graph);
    for (int round = 0; round < 3; round++) {
      random_outline(graph, &dice);
      if (round == 1) hone_graph_drop_dead(graph);
      assert_same_results(before, graph, seed, 0);
    }
    for (int n = 0; n < graph->n_nodes; n++) calls += graph->nodes[n]->prim == HONE_PRIM_CALL;
    hone_graph_t* reread = copy_of(graph);
    assert_same_results(before, reread, seed, 0);
    assert_ok(hone_graph_inline(reread, NULL));
    assert_same_results(before, reread, seed, 0);
    assert_ok(hone_graph_inline(graph, "a"));
    assert_same_results(before, graph, seed, 0);
    hone_graph_destroy(before);
    hone_graph_destroy(reread);
    hone_graph_destroy(graph);
  }
  assert_true(calls > 300);
}

static hone_status_t outline_and_inline(const hone_allocator_t* allocator, void* context) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "hone-graph 1\ngraph \"main\" {\n%s}\n", chain);
  hone_graph_t* graph;
  hone_status_t status = hone_graph_parse(allocator, hone_str_text(&text), text.size, &graph);
  hone_str_free(&text);
  if (status) return status;
  hone_group_t groups[] = {{.label = "a"}, {.label = "b"}};
  status = hone_graph_outline(graph, 2, groups, (int[]){-1, -1, 0, 0, 0, 0, 0, 1, 1});
  if (!status) status = hone_graph_verify(graph);
  if (!status) status = hone_graph_inline(graph, NULL);
  if (!status) status = hone_graph_verify(graph);
  hone_graph_destroy(graph);
  return status;
}

static void failing_allocations_are_survived(void** state) {
  assert_survives_faults(outline_and_inline, NULL);
}

/* ---- calls built by hand ---- */

static hone_graph_t* graph_with_call(hone_value_t** out_x, hone_value_t** out_y,
                                     hone_builder_t* b) {
  hone_graph_t* graph;
  assert_ok(hone_graph_create(NULL, "main", &graph));
  *b = (hone_builder_t){.graph = graph};
  hone_dim_t dims[] = {hone_d(2)};
  hone_type_t type = hone_type_tensor(HONE_F64, 1, dims);
  hone_value_t* x = hone_input(b, "x", &type);
  hone_builder_t body;
  hone_call_open(b, "square", &body);
  hone_value_t *square = hone_mul(&body, x, x), *results[] = {square, x, square, NULL};
  results[3] = hone_tanh(&body, square);
  hone_value_t* outputs[4];
  hone_call_close(b, &body, 4, results, outputs);
  assert_true(hone_builder_ok(b));
  assert_ptr_equal(outputs[0], outputs[2]);
  assert_ptr_equal(outputs[1], x);
  assert_int_equal(outputs[3]->node->n_outputs, 2);
  *out_x = x;
  *out_y = outputs[3];
  return graph;
}

static void calls_are_built_and_differentiated(void** state) {
  hone_builder_t b;
  hone_value_t *x, *y, *g;
  hone_graph_t* graph = graph_with_call(&x, &y, &b);
  assert_ok(hone_graph_set_outputs(graph, 1, &y, NULL));
  assert_ok(hone_graph_verify(graph));
  hone_graph_t* flat = copy_of(graph);
  assert_ok(hone_graph_inline(flat, NULL));
  assert_same_results(flat, graph, 5, 0);
  hone_gradient(&b, y, 1, &x, &g);
  assert_true(hone_builder_ok(&b));
  assert_ok(hone_graph_set_outputs(graph, 1, &g, NULL));
  hone_builder_t c = {.graph = flat};
  hone_gradient(&c, flat->outputs[0], 1, flat->inputs, &g);
  assert_ok(hone_graph_set_outputs(flat, 1, &g, NULL));
  assert_same_results(flat, graph, 6, 0);
  hone_graph_destroy(flat);
  hone_graph_destroy(graph);
}

/* The graph is refused, with `text` in the message; destroys it. */
static void close_refused(hone_graph_t* graph, const char* text) {
  hone_status_t status = hone_graph_verify(graph);
  assert_int_equal(hone_status_code(status), HONE_INVALID_MODEL);
  if (!strstr(hone_status_message(status), text))
    fail_msg("'%s' is not in '%s'", text, hone_status_message(status));
  hone_status_free(status);
  hone_graph_destroy(graph);
}

static void broken_calls_are_refused(void** state) {
  for (int which = 0; which < 7; which++) {
    hone_builder_t b;
    hone_value_t *x, *y;
    hone_graph_t *graph = graph_with_call(&x, &y, &b), *region = y->node->regions[0];
    static const char* const messages[] = {
        "not a word",           "do not fit",     "a parameter is a result",
        "a result twice",       "binds a symbol", "has another type than",
        "has another type than"};
    hone_dim_symbol(graph->dims, "s", HONE_SYMBOL_ELEMENT, 0, 9);
    if (which == 0) y->node->label = "A b";
    if (which == 1) y->node->n_inputs = 0;
    if (which == 2) region->outputs[0] = region->inputs[0];
    if (which == 3) region->outputs[1] = region->outputs[0];
    if (which == 4) assert_ok(hone_value_bind(region, region->values[1], 0, false, 0));
    if (which == 5) region->inputs[0]->type.dtype = HONE_F32;
    if (which == 6) y->type.dims = NULL, y->type.rank = 0;
    if (which == 5) region->values[1]->type.dtype = region->values[2]->type.dtype = HONE_F32;
    close_refused(graph, messages[which]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_group_becomes_a_call),
      cmocka_unit_test(inlining_is_the_reverse),
      cmocka_unit_test(what_leaves_and_comes_back_stays),
      cmocka_unit_test(circles_of_groups_are_broken),
      cmocka_unit_test(what_binds_stays_outside_and_before),
      cmocka_unit_test(expands_are_copied),
      cmocka_unit_test(random_groups_change_no_result),
      cmocka_unit_test(failing_allocations_are_survived),
      cmocka_unit_test(calls_are_built_and_differentiated),
      cmocka_unit_test(broken_calls_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
