/* `hone info` for machines. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "info.h"

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
  json_t* made = json_pack("{s:s, s:s}", "name", value->name, "type", hone_str_text(&type));
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
    json_array_append_new(array, json_pack("{s:s, s:I, s:I}", "name", info->files[i].name,
                                           "tensors", (json_int_t)info->files[i].tensors, "bytes",
                                           (json_int_t)info->files[i].bytes));
  return array;
}

static json_t* functions_json(const hone_model_t* model) {
  json_t* array = json_array();
  for (int i = 0; i < model->n_functions; i++)
    json_array_append_new(array, json_pack("{s:s, s:s, s:I}", "domain", model->functions[i].domain,
                                           "name", model->functions[i].name, "nodes",
                                           (json_int_t)model->functions[i].n_nodes));
  return array;
}

static json_t* ops_json(const hone_info_t* info) {
  json_t* array = json_array();
  for (int64_t i = 0; i < info->n_ops; i++)
    json_array_append_new(array, json_pack("{s:s, s:s, s:I}", "op", info->ops[i].name, "domain",
                                           domain_name(info->ops[i].domain), "count",
                                           (json_int_t)info->ops[i].count));
  return array;
}

static json_t* work_json(const hone_info_work_t* work) {
  return json_pack("{s:o, s:s?, s:s?, s:I, s:s?}", "count",
                   work->failure || work->count < 0 ? json_null() : json_integer(work->count),
                   "formula", work->text, "in_bodies", work->has_bodies ? work->body_text : "0",
                   "not_counted_nodes", (json_int_t)work->unknown, "failure", work->failure);
}

static json_t* metadata_json(const hone_model_t* model) {
  json_t* object = json_object();
  for (int i = 0; i < model->n_metadata; i++)
    json_object_set_new(object, model->metadata[i].key, json_string(model->metadata[i].value));
  return object;
}

static json_t* dims_json(const hone_info_t* info) {
  json_t* array = json_array();
  for (int64_t i = 0; i < info->n_dims; i++)
    json_array_append_new(array, json_string(info->dims[i]));
  return array;
}

static json_t* origin_json(const hone_model_t* model) {
  return json_pack("{s:s, s:s, s:s, s:I, s:s, s:I, s:o, s:s, s:s}", "model", model->path,
                   "producer", model->producer_name, "producer_version", model->producer_version,
                   "ir_version", (json_int_t)model->ir_version, "domain", model->domain,
                   "model_version", (json_int_t)model->model_version, "opsets", opsets_json(model),
                   "graph", model->graph->name, "doc", model->doc);
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
  bool ok = root && rest && json_object_update(root, rest) == 0 &&
            json_dumpf(root, stdout, JSON_INDENT(2)) == 0;
  if (ok) putchar('\n');
  json_decref(rest);
  json_decref(root);
  return ok ? NULL : hone_oom();
}
