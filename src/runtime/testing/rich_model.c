/* A model with something of everything that a runtime meets. */
#include "runtime/testing/rich_model.h"

#include "base/testing/test.h"
#include "import/testing/sample.h"

void test_declare(hone_model_t* model, hone_onnx_value_info_t* info, hone_dtype_t dtype, int rank,
                  const hone_onnx_dim_t* dims) {
  info->type = (hone_onnx_type_t){.kind = HONE_ONNX_TYPE_TENSOR, .dtype = dtype, .rank = rank};
  info->type.dims = hone_arena_memdup(model->arena, dims, (size_t)(rank + 1) * sizeof *dims);
  assert_non_null(info->type.dims);
}

hone_model_t* test_rich_model(void) {
  static const char* const nodes[] = {
      "conv Conv x,w > c",       "flat Reshape c,shape > f",
      "- Loop trips,,f > l,s,t", "- StringConcat words,suffix > greeting",
      "relu Relu l > last",      NULL};
  static const char* const rounds[] = {"- Identity cond > again", "- Add acc,one > next",
                                       "- ReduceSum next > total", "- Abs total > size", NULL};
  static const float w[18] = {1, 1, 1, 1, 1, 1, 1, 1, 1, [13] = 2}, one[] = {1};
  static const int64_t w_dims[] = {2, 1, 3, 3}, single[] = {1}, trips[] = {TEST_RICH_TRIPS};
  static const hone_string_t suffix[] = {{"!", 1}};
  hone_model_t* model;
  assert_ok(hone_sample_model(NULL, "x shape words", "last s t greeting", nodes, &model));
  hone_onnx_graph_t* graph = model->graph;
  hone_onnx_graph_t* body =
      hone_sample_graph(model, "body", "i cond acc", "again next total size", rounds);
  assert_true(hone_sample_attach(model, graph, 2, body));
  test_declare(model, &graph->inputs[0], HONE_F32, 4,
               (hone_onnx_dim_t[]){{-1, "n"}, {1}, {4}, {4}, {0}});
  test_declare(model, &graph->inputs[1], HONE_I64, 1, (hone_onnx_dim_t[]){{-1, "m"}, {0}});
  test_declare(model, &graph->inputs[2], HONE_STRING, 1, (hone_onnx_dim_t[]){{-1, "k"}, {0}});
  const hone_onnx_tensor_t weights[] = {
      hone_sample_tensor(model, "w", HONE_F32, 4, w_dims, w),
      hone_sample_tensor(model, "trips", HONE_I64, 1, single, trips),
      hone_sample_tensor(model, "one", HONE_F32, 1, single, one),
      hone_sample_tensor(model, "suffix", HONE_STRING, 1, single, suffix),
  };
  graph->initializers = hone_arena_memdup(model->arena, weights, sizeof weights);
  assert_non_null(graph->initializers);
  graph->n_initializers = TEST_COUNT(weights);
  return model;
}
