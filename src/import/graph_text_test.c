/* Graphs in text: what is printed reads back as the same. */
#include "import/graph_text.h"

#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/test.h"
#include "ir/builder.h"
#include "ir/verify.h"

/* A graph with symbols, a constant, a reduction and a loop. */
static hone_graph_t* make_graph(const hone_allocator_t* allocator, hone_status_t* out_status) {
  hone_graph_t* graph;
  *out_status = hone_graph_create(allocator, "main \"quoted\"", &graph);
  if (*out_status) return NULL;
  hone_builder_t b = {.graph = graph, .origin = "n (Op)"};
  hone_dim_t dims[2] = {
      hone_dim_symbol(graph->dims, "batch", HONE_SYMBOL_INPUT, 1, 64),
      hone_dim_symbol(graph->dims, "odd name", HONE_SYMBOL_INPUT, 0, 100),
  };
  hone_type_t type = hone_type_tensor(HONE_F32, 2, dims);
  hone_value_t* x = hone_input(&b, "x", &type);
  hone_value_t* y = hone_mul_number(&b, x, 0.1);
  int64_t axis = 1;
  hone_value_t* sum = hone_reduce(&b, HONE_COMBINE_ADD, y, 1, &axis, false);
  hone_builder_t body;
  hone_value_t *round = NULL, *carried = NULL, *outputs[2] = {NULL, NULL};
  if (sum) {
    hone_loop_open(&b, "body", 1, &sum->type, &body, &round, &carried);
    hone_value_t* next = hone_add(&body, carried, sum);
    hone_value_t* stacked[1] = {round};
    hone_loop_close(&b, &body, hone_scalar_i64(&b, HONE_I64, 3), NULL, 1, &sum, NULL, &next, 1,
                    stacked, outputs);
  }
  const char* names[2] = {"y", "rounds"};
  if (!b.status) b.status = hone_graph_set_outputs(graph, 2, outputs, names);
  *out_status = b.status;
  if (!b.status) return graph;
  hone_graph_destroy(graph);
  return NULL;
}

static hone_status_t round_trip(const hone_allocator_t* allocator) {
  hone_status_t status;
  hone_graph_t *graph = make_graph(allocator, &status), *back = NULL;
  if (status) return status;
  hone_str_t first, second;
  hone_str_init(&first, allocator);
  hone_str_init(&second, allocator);
  status = hone_graph_verify(graph);
  if (!status) status = hone_graph_print(graph, 0, &first);
  if (!status) status = hone_graph_parse(allocator, hone_str_text(&first), first.size, &back);
  if (!status) status = hone_graph_print(back, 0, &second);
  if (!status) assert_string_equal(hone_str_text(&first), hone_str_text(&second));
  hone_str_free(&first);
  hone_str_free(&second);
  hone_graph_destroy(graph);
  hone_graph_destroy(back);
  return status;
}

static void test_round_trip(void** state) {
  (void)state;
  hone_status_t status = round_trip(hone_allocator_system());
  assert_string_equal(hone_status_message(status), "");
}

static hone_status_t faulty_round_trip(const hone_allocator_t* allocator, void* context) {
  (void)context;
  return round_trip(allocator);
}

static void test_survives_faults(void** state) {
  (void)state;
  assert_survives_faults(faulty_round_trip, NULL);
}

static void test_errors(void** state) {
  (void)state;
  static const char* const texts[] = {
      "",
      "hone-graph 2",
      "hone-graph 1",
      "hone-graph 1\ngraph \"g\" {\n  return %0\n}\n",
      "hone-graph 1\ngraph \"g\" {\n  %0 = add %0 %0 : f32[]\n  return %0\n}\n",
      "hone-graph 1\ngraph \"g\" {\n  %0 = input : f32[q]\n  return %0\n}\n",
      "hone-graph 1 graph \"g\" { %0 = input : f32[2] %1 = add %0 %0 : f32[3] return %1 }",
      "hone-graph 1\ngraph \"g\" {\n  %0 = constant {1, 2} : f32[3]\n  return %0\n}\n",
      "hone-graph 1\ngraph \"g\" {\n  %0 = constant ... : f32[3]\n  return %0\n}\n",
      "hone-graph 1\ngraph \"g\" {\n  %0 = constant {} : f32[9999999999999]\n  return %0\n}\n",
      "hone-graph 1\ngraph \"g\" {\n  return\n} more",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    hone_graph_t* graph;
    hone_status_t status = hone_graph_parse(NULL, texts[i], strlen(texts[i]), &graph);
    if (!status) print_message("accepted: %s\n", texts[i]);
    assert_non_null(status);
    assert_int_equal(hone_status_code(status), HONE_INVALID_MODEL);
    assert_null(graph);
    hone_status_free(status);
  }
}

/* Every prefix of a good text is an error, and none crashes. */
static void test_truncations(void** state) {
  (void)state;
  hone_status_t status;
  hone_graph_t* graph = make_graph(NULL, &status);
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_null(hone_graph_print(graph, 0, &text));
  for (size_t size = 0; size + 2 < text.size; size++) {
    hone_graph_t* back;
    hone_status_t cut = hone_graph_parse(NULL, hone_str_text(&text), size, &back);
    assert_non_null(cut);
    hone_status_free(cut);
  }
  hone_str_free(&text);
  hone_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_survives_faults),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_truncations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
