/* Asking a model for its metadata and its nodes. */
#include "ir/model.h"

#include <string.h>

#include "base/testing/test.h"

static void no_graph_has_no_nodes(void** state) {
  hone_model_t* model;
  assert_ok(hone_model_create(NULL, &model));
  hone_model_node_t node;
  assert_int_equal(hone_model_node_count(model), 0);
  assert_false(hone_model_node_at(model, 0, &node));
  assert_null(hone_model_metadata(model, "character"));
  hone_model_destroy(model);
}

static void nodes_are_as_in_the_file(void** state) {
  hone_model_t* model;
  assert_ok(hone_model_create(NULL, &model));
  const char* inputs[] = {"x", ""};
  const char* outputs[] = {"y"};
  hone_onnx_node_t file_node = {.name = "",
                                .op_type = "Clip",
                                .domain = "",
                                .n_inputs = 2,
                                .inputs = inputs,
                                .n_outputs = 1,
                                .outputs = outputs};
  hone_onnx_graph_t graph = {.n_nodes = 1, .nodes = &file_node};
  model->graph = &graph;

  hone_model_node_t node;
  assert_int_equal(hone_model_node_count(model), 1);
  assert_true(hone_model_node_at(model, 0, &node));
  assert_string_equal(node.op_type, "Clip");
  assert_int_equal(node.n_inputs, 2);
  assert_string_equal(node.inputs[0], "x");
  assert_string_equal(node.inputs[1], "");
  assert_string_equal(node.outputs[0], "y");
  assert_false(hone_model_node_at(model, -1, &node));
  assert_false(hone_model_node_at(model, 1, &node));
  assert_null(node.op_type);
  hone_model_destroy(model);
}

static void metadata_is_found_by_its_key(void** state) {
  hone_model_t* model;
  assert_ok(hone_model_create(NULL, &model));
  hone_onnx_metadata_t entries[] = {{"author", "a"}, {"character", "!\n\""}};
  model->metadata = entries;
  model->n_metadata = 2;
  assert_string_equal(hone_model_metadata(model, "character"), "!\n\"");
  assert_null(hone_model_metadata(model, "charact"));
  hone_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_graph_has_no_nodes),
      cmocka_unit_test(nodes_are_as_in_the_file),
      cmocka_unit_test(metadata_is_found_by_its_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
