/* ZipMap (ai.onnx.ml): each row of scores as a map from class labels; the
 * result is a sequence of maps. */
#include "base/memory.h"
#include "ops/common/ml_lookup.h"

static void lower_zip_map(hone_lower_t* l) {
  static const hone_type_t map = {.kind = HONE_TYPE_MAP};
  hone_type_t sequence = {.kind = HONE_TYPE_SEQUENCE, .element = &map};
  hone_ml_labels(l, "classlabels_int64s", "classlabels_strings");
  if (hone_builder_ok(l->b)) hone_op_host(l, &sequence);
}

static hone_status_t make_map(hone_host_call_t* call, hone_tensor_t* labels, int64_t row,
                              hone_tensor_t** out_map) {
  int64_t n = hone_tensor_count(labels);
  hone_tensor_t* values;
  HONE_TRY(hone_tensor_create(call->allocator, HONE_F32, 1, &n, &values));
  const float* scores = (const float*)hone_tensor_data(call->inputs[0]) + row * n;
  for (int64_t i = 0; i < n; i++) ((float*)hone_tensor_data(values))[i] = scores[i];
  hone_status_t status = hone_sequence_create(call->allocator, HONE_KIND_MAP, 2,
                                              (hone_tensor_t* const[]){labels, values}, out_map);
  hone_tensor_release(values);
  return status;
}

static hone_status_t make_maps(hone_host_call_t* call, hone_tensor_t* labels, int64_t rows,
                               hone_tensor_t** maps) {
  hone_status_t status = NULL;
  int64_t made = 0;
  for (; made < rows && !status; made++) status = make_map(call, labels, made, &maps[made]);
  if (!status)
    status =
        hone_sequence_create(call->allocator, HONE_KIND_SEQUENCE, rows, maps, &call->outputs[0]);
  for (int64_t i = 0; i < made; i++) hone_tensor_release(maps[i]);
  return status;
}

static hone_status_t zip_rows(hone_host_call_t* call, hone_tensor_t* labels) {
  const hone_tensor_t* x = call->inputs[0];
  int64_t n = labels ? hone_tensor_count(labels) : 0;
  if (hone_tensor_kind(x) != HONE_KIND_TENSOR || hone_tensor_dtype(x) != HONE_F32 || n == 0 ||
      hone_tensor_rank(x) < 1 || hone_tensor_dims(x)[hone_tensor_rank(x) - 1] != n)
    return hone_status_make(HONE_INVALID_MODEL,
                            "the scores must be f32 rows of %lld, one for each class label",
                            (long long)n);
  int64_t rows = hone_tensor_count(x) / n;
  size_t bytes = (size_t)rows * sizeof(hone_tensor_t*);
  hone_tensor_t** maps = hone_alloc(call->allocator, bytes ? bytes : 1);
  if (!maps) return hone_oom();
  hone_status_t status = make_maps(call, labels, rows, maps);
  hone_free(call->allocator, maps, bytes ? bytes : 1);
  return status;
}

static hone_status_t run_zip_map(hone_host_call_t* call) {
  hone_tensor_t* labels = NULL;
  bool strings = hone_attr_has(call->node, "classlabels_strings");
  HONE_TRY(hone_ml_attr_tensor(call->allocator, call->node,
                               strings ? "classlabels_strings" : "classlabels_int64s", &labels));
  hone_status_t status = zip_rows(call, labels);
  hone_tensor_release(labels);
  return status;
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "ZipMap",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "classlabels_int64s classlabels_strings",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_zip_map,
     .host = run_zip_map},
};
HONE_OP_FAMILY(ml_zip_map, ops)
