/* Values made visible, and nodes cut out of a graph. */
#include "import/extract.h"

#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "import/onnx.h"
#include "import/testing/sample.h"

static const float weight[] = {1, 2};
static const int64_t two[] = {2};

/* x -> a -> b, c -> y, with the initializer w and a constant k. */
static hone_status_t make_chain(const hone_allocator_t* allocator, hone_model_t** out_model) {
  static const char* const nodes[] = {"- Constant > k",     "first Mul x,w > a",
                                      "second Add a,k > b", "third Split b > c,d",
                                      "last Mul c,b > y",   NULL};
  HONE_TRY(hone_sample_model(allocator, "x", "y", nodes, out_model));
  hone_model_t* model = *out_model;
  hone_onnx_graph_t* graph = model->graph;
  graph->initializers = hone_arena_alloc(model->arena, sizeof *graph->initializers);
  if (!graph->initializers) {
    hone_model_destroy(model);
    return hone_oom();
  }
  graph->n_initializers = 1;
  graph->initializers[0] = (hone_onnx_tensor_t){.name = "w",
                                                .dtype = HONE_F32,
                                                .rank = 1,
                                                .dims = (int64_t*)(uintptr_t)two,
                                                .count = 2,
                                                .data = weight,
                                                .bytes = 8,
                                                .doc = ""};
  return NULL;
}

/* "x y" of values. */
static const char* names_of(const hone_onnx_value_info_t* infos, int64_t count) {
  static char text[200];
  text[0] = 0;
  for (int64_t i = 0; i < count; i++) {
    strncat(text, i ? " " : "", sizeof text - strlen(text) - 1);
    strncat(text, infos[i].name, sizeof text - strlen(text) - 1);
  }
  return text;
}

#define INPUTS(model) names_of((model)->graph->inputs, (model)->graph->n_inputs)
#define OUTPUTS(model) names_of((model)->graph->outputs, (model)->graph->n_outputs)

static void assert_sound(const hone_model_t* model) {
  hone_onnx_problems_t problems;
  assert_ok(hone_onnx_check(model, &problems));
  for (int64_t i = 0; i < problems.count; i++) print_error("%s\n", problems.items[i].message);
  assert_int_equal(problems.count, 0);
  hone_onnx_problems_destroy(&problems);
}

static void values_become_outputs_once(void** state) {
  hone_model_t *model, *exposed;
  assert_ok(make_chain(NULL, &model));
  assert_ok(hone_extract_expose(model, 5, (const char*[]){"b", "y", "a", "b", "x"}, &exposed));
  assert_string_equal(OUTPUTS(exposed), "y b a x");
  assert_int_equal(exposed->graph->n_nodes, 5);
  assert_int_equal(model->graph->n_outputs, 1);
  assert_sound(exposed);
  hone_model_destroy(exposed);
  hone_model_destroy(model);
}

static void unknown_values_are_named(void** state) {
  hone_model_t *model, *exposed;
  assert_ok(make_chain(NULL, &model));
  hone_status_t status = hone_extract_expose(model, 1, (const char*[]){"nothing"}, &exposed);
  assert_int_equal(hone_status_code(status), HONE_NOT_FOUND);
  assert_non_null(strstr(hone_status_message(status), "nothing"));
  assert_null(exposed);
  hone_status_free(status);
  hone_model_destroy(model);
}

static void one_node_with_what_it_takes(void** state) {
  hone_model_t *model, *cut;
  assert_ok(make_chain(NULL, &model));
  assert_ok(hone_extract_nodes(model, 1, (int64_t[]){1}, &cut));
  assert_string_equal(INPUTS(cut), "x");
  assert_string_equal(OUTPUTS(cut), "a");
  assert_int_equal(cut->graph->n_nodes, 1);
  assert_int_equal(cut->graph->n_initializers, 1);
  assert_string_equal(cut->graph->initializers[0].name, "w");
  assert_sound(cut);
  hone_model_destroy(cut);
  hone_model_destroy(model);
}

static void constants_come_along(void** state) {
  hone_model_t *model, *cut;
  assert_ok(make_chain(NULL, &model));
  assert_ok(hone_extract_nodes(model, 1, (int64_t[]){2}, &cut));
  assert_string_equal(INPUTS(cut), "a");
  assert_string_equal(OUTPUTS(cut), "b");
  assert_int_equal(cut->graph->n_nodes, 2);
  assert_string_equal(cut->graph->nodes[0].op_type, "Constant");
  assert_int_equal(cut->graph->n_initializers, 0);
  assert_sound(cut);
  hone_model_destroy(cut);
  hone_model_destroy(model);
}

/* b is used up inside, but the last node wants it too; d is wanted by nobody. */
static void several_nodes_keep_what_others_want(void** state) {
  hone_model_t *model, *cut;
  assert_ok(make_chain(NULL, &model));
  assert_ok(hone_extract_nodes(model, 2, (int64_t[]){3, 2}, &cut));
  assert_string_equal(INPUTS(cut), "a");
  assert_string_equal(OUTPUTS(cut), "b c d");
  assert_sound(cut);
  hone_model_destroy(cut);
  assert_ok(hone_extract_nodes(model, 4, (int64_t[]){1, 2, 3, 4}, &cut));
  assert_string_equal(INPUTS(cut), "x");
  assert_string_equal(OUTPUTS(cut), "d y");
  assert_sound(cut);
  hone_model_destroy(cut);
  assert_code(hone_extract_nodes(model, 1, (int64_t[]){5}, &cut), HONE_OUT_OF_RANGE);
  assert_code(hone_extract_nodes(model, 1, (int64_t[]){-1}, &cut), HONE_OUT_OF_RANGE);
  hone_model_destroy(model);
}

/* What a graph inside the node takes from outside becomes an input; what it
 * makes or is given does not. */
static void captured_values_become_inputs(void** state) {
  hone_model_t *model, *cut;
  static const char* const nodes[] = {"- Relu x > a", "- Relu x > b", "loop Loop n,c,a > y", NULL};
  static const char* const inner[] = {"- Add carried,b > s", "- Mul s,w > t", NULL};
  assert_ok(hone_sample_model(NULL, "x n c", "y", nodes, &model));
  hone_onnx_graph_t* body = hone_sample_graph(model, "body", "i carried", "c t", inner);
  assert_non_null(body);
  assert_true(hone_sample_attach(model, model->graph, 2, body));
  model->graph->initializers = hone_arena_alloc(model->arena, sizeof(hone_onnx_tensor_t));
  model->graph->initializers[0] = hone_sample_tensor(model, "w", HONE_F32, 1, two, weight);
  model->graph->n_initializers = 1;
  assert_ok(hone_extract_nodes(model, 1, (int64_t[]){2}, &cut));
  assert_string_equal(INPUTS(cut), "n c a b");
  assert_string_equal(OUTPUTS(cut), "y");
  assert_int_equal(cut->graph->n_initializers, 1);
  assert_sound(cut);
  hone_model_destroy(cut);
  hone_model_destroy(model);
}

static void types_come_from_tensors(void** state) {
  hone_model_t *model, *cut, *again;
  hone_tensor_t *tensor, *list;
  void* data;
  size_t size;
  assert_ok(make_chain(NULL, &model));
  assert_ok(hone_extract_nodes(model, 1, (int64_t[]){1}, &cut));
  assert_ok(hone_tensor_create(NULL, HONE_F16, 2, (int64_t[]){3, 2}, &tensor));
  assert_ok(hone_sequence_create(NULL, HONE_KIND_SEQUENCE, 1, &tensor, &list));
  assert_ok(hone_extract_declare(cut, "x", tensor));
  assert_ok(hone_extract_declare(cut, "a", list));
  assert_ok(hone_extract_declare(cut, "elsewhere", tensor));
  assert_ok(hone_onnx_save_memory(cut, &data, &size));
  assert_ok(hone_onnx_load_memory(NULL, data, size, NULL, NULL, &again));
  const hone_onnx_type_t* in = &again->graph->inputs[0].type;
  assert_int_equal(in->kind, HONE_ONNX_TYPE_TENSOR);
  assert_int_equal(in->dtype, HONE_F16);
  assert_int_equal(in->rank, 2);
  assert_int_equal(in->dims[0].value, 3);
  const hone_onnx_type_t* out = &again->graph->outputs[0].type;
  assert_int_equal(out->kind, HONE_ONNX_TYPE_SEQUENCE);
  assert_int_equal(out->element->dtype, HONE_F16);
  assert_memory_equal(again->graph->initializers[0].data, weight, sizeof weight);
  hone_model_destroy(again);
  hone_free(cut->allocator, data, size);
  hone_tensor_release(list);
  hone_tensor_release(tensor);
  hone_model_destroy(cut);
  hone_model_destroy(model);
}

static hone_status_t cut_and_expose(const hone_allocator_t* allocator, void* context) {
  hone_model_t *model, *cut = NULL, *exposed = NULL;
  HONE_TRY(make_chain(allocator, &model));
  hone_status_t status = hone_extract_nodes(model, 2, (int64_t[]){2, 4}, &cut);
  if (!status) status = hone_extract_expose(model, 2, (const char*[]){"a", "b"}, &exposed);
  hone_model_destroy(exposed);
  hone_model_destroy(cut);
  hone_model_destroy(model);
  return status;
}

static void survives_faults(void** state) {
  assert_true(assert_survives_faults(cut_and_expose, NULL) >= 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_become_outputs_once),
      cmocka_unit_test(unknown_values_are_named),
      cmocka_unit_test(one_node_with_what_it_takes),
      cmocka_unit_test(constants_come_along),
      cmocka_unit_test(several_nodes_keep_what_others_want),
      cmocka_unit_test(captured_values_become_inputs),
      cmocka_unit_test(types_come_from_tensors),
      cmocka_unit_test(survives_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
