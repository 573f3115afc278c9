/* `hone info` for machines. */
#include <string.h>

#include "base/memory.h"
#include "info.h"
#include "json.h"

static const char* domain_name(const char* domain) { return *domain ? domain : "ai.onnx"; }

static json_t* opsets_json(const hone_model_t* model) {
  json_t* object = json_object();
  for (int i = 0; i < model->n_opsets; i++)
    json_object_set_new(object, domain_name(model->opsets[i].domain),
                        json_integer(model->opsets[i].version));
  return object;
}

static json_t* value_json(const hone_onnx_value_info_t* value) {
  hone_str_t type;
  hone_str_init(&type, NULL);
  hone_info_print_type(&value->type, &type);
  json_t* made = json_pack("{s:o, s:o}", "name", hone_json_string(value->name), "type",
                           hone_json_string(hone_str_text(&type)));
  hone_str_free(&type);
  return made;
}

static json_t* inputs_json(const hone_info_t* info) {
  json_t* array = json_array();
  for (int64_t i = 0; i < info->n_inputs; i++)
    json_array_append_new(array, value_json(info->inputs[i]));
  return array;
}

static json_t* outputs_json(const hone_onnx_graph_t* graph) {
  json_t* array = json_array();
  for (int64_t i = 0; i < graph->n_outputs; i++)
    json_array_append_new(array, value_json(&graph->outputs[i]));
  return array;
}

static json_t* weights_json(const hone_info_weights_t* weights) {
  return json_pack("{s:I, s:I, s:I, s:I}", "tensors", (json_int_t)weights->tensors, "elements",
                   (json_int_t)weights->elements, "file_bytes", (json_int_t)weights->file_bytes,
                   "memory_bytes", (json_int_t)weights->memory_bytes);
}

static json_t* all_weights_json(const hone_info_t* info) {
  json_t* made = weights_json(&info->total);
  json_t* kinds = json_object();
  for (int i = 0; i < HONE_DTYPE_COUNT; i++)
    if (info->weights[i].tensors)
      json_object_set_new(kinds, hone_dtype_name((hone_dtype_t)i), weights_json(&info->weights[i]));
  json_object_set_new(made, "mapped_bytes", json_integer((json_int_t)info->mapped_bytes));
  json_object_set_new(made, "by_type", kinds);
  return made;
}

static json_t* files_json(const hone_info_t* info) {
  json_t* array = json_array();
  for (int64_t i = 0; i < info->n_files; i++)
    json_array_append_new(
        array,
        json_pack("{s:o, s:I, s:I}", "name", hone_json_string(info->files[i].name), "tensors",
                  (json_int_t)info->files[i].tensors, "bytes", (json_int_t)info->files[i].bytes));
  return array;
}

static json_t* functions_json(const hone_model_t* model) {
  json_t* array = json_array();
  for (int i = 0; i < model->n_functions; i++)
    json_array_append_new(
        array, json_pack("{s:o, s:o, s:I}", "domain", hone_json_string(model->functions[i].domain),
                         "name", hone_json_string(model->functions[i].name), "nodes",
                         (json_int_t)model->functions[i].n_nodes));
  return array;
}

static json_t* ops_json(const hone_info_t* info) {
  json_t* array = json_array();
  for (int64_t i = 0; i < info->n_ops; i++)
    json_array_append_new(
        array, json_pack("{s:o, s:o, s:I}", "op", hone_json_string(info->ops[i].name), "domain",
                         hone_json_string(domain_name(info->ops[i].domain)), "count",
                         (json_int_t)info->ops[i].count));
  return array;
}

static json_t* work_json(const hone_info_work_t* work) {
  return json_pack("{s:o, s:o, s:o, s:I, s:o}", "count",
                   work->failure || work->count < 0 ? json_null() : json_integer(work->count),
                   "formula", hone_json_string(work->text), "in_bodies",
                   hone_json_string(work->has_bodies ? work->body_text : "0"), "not_counted_nodes",
                   (json_int_t)work->unknown, "failure", hone_json_string(work->failure));
}

static json_t* metadata_json(const hone_model_t* model) {
  json_t* object = json_object();
  for (int i = 0; i < model->n_metadata; i++)
    json_object_set_new(object, model->metadata[i].key, hone_json_string(model->metadata[i].value));
  return object;
}

static json_t* dims_json(const hone_info_t* info) {
  json_t* array = json_array();
  for (int64_t i = 0; i < info->n_dims; i++)
    json_array_append_new(array, hone_json_string(info->dims[i]));
  return array;
}

static json_t* origin_json(const hone_model_t* model) {
  return json_pack(
      "{s:o, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o}", "model", hone_json_string(model->path),
      "producer", hone_json_string(model->producer_name), "producer_version",
      hone_json_string(model->producer_version), "ir_version", (json_int_t)model->ir_version,
      "domain", hone_json_string(model->domain), "model_version", (json_int_t)model->model_version,
      "opsets", opsets_json(model), "graph", hone_json_string(model->graph->name), "doc",
      hone_json_string(model->doc));
}

hone_status_t hone_info_print_json(const hone_info_t* info) {
  const hone_model_t* model = info->model;
  json_t* root = origin_json(model);
  json_t* rest = json_pack(
      "{s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:b, s:s, s:o, s:o, s:o}", "inputs",
      inputs_json(info), "outputs", outputs_json(model->graph), "dimensions", dims_json(info),
      "nodes", (json_int_t)info->n_nodes, "inner_nodes", (json_int_t)info->n_inner_nodes,
      "inner_graphs", (json_int_t)info->n_inner_graphs, "functions", functions_json(model),
      "weights", all_weights_json(info), "data_files", files_json(info), "quantized",
      info->n_qdq || info->n_integer, "quantization", hone_info_quantization(info), "multiply_adds",
      work_json(&info->work), "metadata", metadata_json(model), "operators", ops_json(info));
  bool ok = root && rest && json_object_update(root, rest) == 0;
  json_decref(rest);
  if (ok) return hone_json_print(root);
  json_decref(root);
  return hone_oom();
}
