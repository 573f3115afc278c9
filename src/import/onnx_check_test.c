/* The order of nodes and the structural checks. */
#include <stdio.h>
#include <string.h>

#include "base/testing/fault.h"
#include "import/onnx.h"
#include "import/testing/sample.h"

#define NODES(...) ((const char* const[]){__VA_ARGS__, NULL})

static hone_model_t* model_of(const char* inputs, const char* outputs, const char* const* nodes) {
  hone_model_t* model = NULL;
  assert_ok(hone_sample_model(NULL, inputs, outputs, nodes, &model));
  return model;
}

/* Sorts, checks and destroys the model; demands exactly one problem, which
 * says each of the words (up to a NULL). */
static void assert_problem(hone_model_t* model, const char* const* words) {
  hone_onnx_problems_t problems;
  assert_ok(hone_onnx_sort(model));
  assert_ok(hone_onnx_check(model, &problems));
  if (problems.count != 1) {
    for (int64_t i = 0; i < problems.count; i++) {
      print_error("%s: %s\n", problems.items[i].where, problems.items[i].message);
    }
  }
  assert_int_equal(problems.count, 1);
  char text[2000];
  snprintf(text, sizeof text, "%s: %s", problems.items[0].where, problems.items[0].message);
  for (; *words; words++) {
    if (!strstr(text, *words)) print_error("'%s' is not in: %s\n", *words, text);
    assert_non_null(strstr(text, *words));
  }
  hone_onnx_problems_destroy(&problems);
  hone_model_destroy(model);
}

static void assert_sound(hone_model_t* model) {
  hone_onnx_problems_t problems;
  assert_ok(hone_onnx_sort(model));
  assert_ok(hone_onnx_check(model, &problems));
  if (problems.count) print_error("%s: %s\n", problems.items->where, problems.items->message);
  assert_int_equal(problems.count, 0);
  hone_onnx_problems_destroy(&problems);
  hone_model_destroy(model);
}

static void sound_models_pass(void** state) {
  assert_sound(model_of("x", "y", NODES("a Relu x > b", "c Add b,,x > y")));
  assert_sound(model_of("x", "x", NODES("a Relu x > ")));
  hone_model_t* rich;
  assert_ok(hone_sample_rich_model(NULL, &rich));
  assert_sound(rich);
}

static void each_problem_is_named(void** state) {
  assert_problem(model_of("x", "y", NODES("a Relu q > y")),
                 NODES("node 'a' (Relu)", "input 0", "'q'"));
  assert_problem(model_of("x", "y", NODES("- Relu q > y")), NODES("node 0 (Relu)"));
  assert_problem(model_of("x", "z", NODES("a Relu x > y")), NODES("graph 'main'", "output 'z'"));
  assert_problem(model_of("x x", "x", NODES("a Relu x > y")), NODES("input 'x'", "taken"));
  assert_problem(model_of("x", "y", NODES("a Relu x > y", "b Abs x > y")),
                 NODES("'b' (Abs)", "'y'"));
  assert_problem(model_of("x", "x", NODES("a Relu x > x")), NODES("'a'", "'x'", "taken"));
}

static void headers_are_checked(void** state) {
  hone_model_t* model = model_of("x", "x", NODES("a Relu x > y"));
  model->graph = NULL;
  assert_problem(model, NODES("no graph"));
  model = model_of("x", "x", NODES("a Relu x > y"));
  model->n_opsets = 0;
  assert_problem(model, NODES("no opset"));
  model = model_of("x", "x", NODES("a Relu x > y"));
  model->ir_version = 0;
  assert_problem(model, NODES("IR version"));
  hone_onnx_opset_t bad = {.domain = "d", .version = -1};
  model = model_of("x", "x", NODES("a Relu x > y"));
  model->opsets = &bad;
  assert_problem(model, NODES("version -1", "'d'"));
}

static void initializers_are_checked(void** state) {
  static const float one = 1;
  const char* const names[][2] = {{"w", "w"}, {"", "v"}};
  const char* const words[] = {"taken", "no name"};
  for (int i = 0; i < 2; i++) {
    hone_model_t* model = model_of("x", "x", NODES("a Relu x > y"));
    hone_onnx_tensor_t tensors[2];
    for (int j = 0; j < 2; j++) {
      tensors[j] = hone_sample_tensor(model, names[i][j], HONE_F32, 0, NULL, &one);
    }
    model->graph->initializers = tensors;
    model->graph->n_initializers = 2;
    assert_problem(model, NODES("initializer", words[i]));
  }
  hone_model_t* model = model_of("x w", "y", NODES("a Add x,w > y"));
  hone_onnx_tensor_t default_value = hone_sample_tensor(model, "w", HONE_F32, 0, NULL, &one);
  model->graph->initializers = &default_value;
  model->graph->n_initializers = 1;
  assert_sound(model);
}

static void attributes_must_differ(void** state) {
  float one = 1;
  hone_onnx_attr_t attrs[2] = {
      {.name = "alpha", .kind = HONE_ATTR_FLOAT, .count = 1, .floats = &one},
      {.name = "alpha", .kind = HONE_ATTR_FLOAT, .count = 1, .floats = &one}};
  hone_model_t* model = model_of("x", "y", NODES("a Elu x > y"));
  model->graph->nodes[0].attrs = attrs;
  model->graph->nodes[0].n_attrs = 2;
  assert_problem(model, NODES("node 'a' (Elu)", "'alpha'", "twice"));
}

static void cycles_list_their_nodes(void** state) {
  assert_problem(model_of("x", "y", NODES("a Add x,c > b", "d Relu b > c", "e Neg c > y")),
                 NODES("2 nodes", "'a' (Add)", "'d' (Relu)", "cycle"));
  assert_problem(model_of("x", "y", NODES("a Add x,y > y")), NODES("1 node", "'a'"));
}

static void nodes_are_sorted(void** state) {
  hone_model_t* model =
      model_of("x", "y", NODES("d Relu c > y", "a Relu x > b", "c Relu b > c", "z Abs x > q"));
  assert_ok(hone_onnx_sort(model));
  const char* const order[] = {"a", "c", "d", "z"};
  for (int i = 0; i < 4; i++) assert_string_equal(model->graph->nodes[i].name, order[i]);
  assert_sound(model);
}

/* A chain of `length` nodes, last first, of which recursion would die. */
static void long_chains_are_sorted(void** state) {
  enum { LENGTH = 20000 };
  hone_model_t* model = model_of("x", "v0", NODES("a Relu x > y"));
  hone_onnx_node_t* nodes = hone_arena_array(model->arena, LENGTH, sizeof *nodes);
  const char** names = hone_arena_array(model->arena, LENGTH + 1, sizeof *names);
  assert_true(nodes && names);
  for (int i = 0; i < LENGTH; i++) names[i] = hone_arena_format(model->arena, "v%d", i);
  names[LENGTH] = "x";
  for (int i = 0; i < LENGTH; i++) {
    nodes[i] = model->graph->nodes[0];
    nodes[i].inputs = &names[i + 1];
    nodes[i].outputs = &names[i];
  }
  model->graph->nodes = nodes;
  model->graph->n_nodes = LENGTH;
  assert_ok(hone_onnx_sort(model));
  assert_string_equal(nodes[0].inputs[0], "x");
  assert_string_equal(nodes[LENGTH - 1].outputs[0], "v0");
  assert_sound(model);
}

/* An If whose inner graph is made of `inner`. */
static hone_model_t* nested(const char* inner_outputs, const char* const* inner,
                            const char* const* outer) {
  hone_model_t* model = model_of("x", "y", outer);
  hone_onnx_graph_t* graph = hone_sample_graph(model, "sub", "", inner_outputs, inner);
  assert_true(hone_sample_attach(model, model->graph, 0, graph));
  return model;
}

static void inner_graphs_see_outer_names(void** state) {
  assert_sound(nested("s", NODES("i Add x,b > s"), NODES("if If x > y", "a Relu x > b")));
  assert_sound(nested("x", NODES("i Abs x > s"), NODES("if If x > y")));
  /* A name that is made inside is not the one of outside. */
  assert_sound(nested("y", NODES("i Abs x > y"), NODES("if If x > y")));
  assert_problem(
      nested("s", NODES("i Add x,nix > s"), NODES("if If x > y")),
      NODES("graph 'main': node 'if' (If): attribute 'body': graph 'sub': node 'i' (Add)",
            "'nix'"));
  assert_problem(nested("nix", NODES("i Abs x > s"), NODES("if If x > y")),
                 NODES("graph 'sub'", "output 'nix'"));
  assert_problem(nested("s", NODES("i Abs b > s"), NODES("if If x > y", "a Relu y > b")),
                 NODES("2 nodes", "'if' (If)", "'a' (Relu)"));
}

static hone_onnx_function_t function_of(hone_model_t* model, const char* name,
                                        const char* const* nodes) {
  static const char *in = "a", *out = "b";
  hone_onnx_graph_t* graph = hone_sample_graph(model, "", "", "", nodes);
  return (hone_onnx_function_t){.name = name,
                                .domain = "",
                                .overload = "",
                                .n_inputs = 1,
                                .inputs = &in,
                                .n_outputs = 1,
                                .outputs = &out,
                                .n_nodes = graph->n_nodes,
                                .nodes = graph->nodes,
                                .doc = ""};
}

static void functions_are_checked(void** state) {
  const char* const* bodies[][2] = {
      {NODES("n G a > b"), NODES("n F a > b")},      /* each other */
      {NODES("n F a > b"), NODES("n Abs a > b")},    /* itself */
      {NODES("n Abs x > b"), NODES("n Abs a > b")},  /* a name of the main graph */
      {NODES("n Abs a > c"), NODES("n Abs a > b")},  /* an output that is not made */
      {NODES("n Add a,b > b"), NODES("n Abs a > b")} /* a cycle */
  };
  const char* const words[][2] = {{"'F' -> 'G' -> 'F'", "call themselves"},
                                  {"'F' -> 'F'", "call themselves"},
                                  {"function 'F': node 'n' (Abs)", "'x'"},
                                  {"function 'F'", "output 'b'"},
                                  {"function 'F'", "cycle"}};
  for (size_t i = 0; i < TEST_COUNT(bodies); i++) {
    hone_model_t* model = model_of("x", "y", NODES("f F x > y"));
    hone_onnx_function_t functions[2] = {function_of(model, "F", bodies[i][0]),
                                         function_of(model, "G", bodies[i][1])};
    model->functions = functions;
    model->n_functions = 2;
    assert_problem(model, NODES(words[i][0], words[i][1]));
  }
}

static void functions_must_differ(void** state) {
  hone_model_t* model = model_of("x", "y", NODES("f F x > y"));
  hone_onnx_function_t functions[2] = {function_of(model, "F", NODES("n Abs a > b")),
                                       function_of(model, "F", NODES("n Abs a > b"))};
  model->functions = functions;
  model->n_functions = 2;
  assert_problem(model, NODES("'F'", "twice"));
}

static void all_problems_are_collected(void** state) {
  hone_model_t* model = model_of("x", "y z", NODES("a Relu p > b", "c Relu q > b"));
  hone_onnx_problems_t problems;
  assert_ok(hone_onnx_check(model, &problems));
  assert_int_equal(problems.count, 5); /* p, q, b twice, y, z */
  hone_onnx_problems_destroy(&problems);
  hone_model_destroy(model);
}

static void messages_can_be_printed(void** state) {
  hone_model_t* model = model_of("x", "y", NODES("a\x1b[2J Relu p\x07 > y"));
  assert_problem(model, NODES("node 'a?[2J'", "'p?'"));
}

static hone_status_t sort_and_check(const hone_allocator_t* allocator, void* context) {
  hone_model_t* model;
  HONE_TRY(hone_sample_model(allocator, "x", "y", NODES("b F c > y", "a Add x,q > c"), &model));
  hone_onnx_problems_t problems;
  hone_status_t status = hone_onnx_sort(model);
  if (!status) status = hone_onnx_check(model, &problems);
  if (!status) {
    assert_int_equal(problems.count, 1);
    hone_onnx_problems_destroy(&problems);
  }
  hone_model_destroy(model);
  return status;
}

static void survives_faults(void** state) { assert_survives_faults(sort_and_check, NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_models_pass),
      cmocka_unit_test(each_problem_is_named),
      cmocka_unit_test(headers_are_checked),
      cmocka_unit_test(initializers_are_checked),
      cmocka_unit_test(attributes_must_differ),
      cmocka_unit_test(cycles_list_their_nodes),
      cmocka_unit_test(nodes_are_sorted),
      cmocka_unit_test(long_chains_are_sorted),
      cmocka_unit_test(inner_graphs_see_outer_names),
      cmocka_unit_test(functions_are_checked),
      cmocka_unit_test(functions_must_differ),
      cmocka_unit_test(all_problems_are_collected),
      cmocka_unit_test(messages_can_be_printed),
      cmocka_unit_test(survives_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
