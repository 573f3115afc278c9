/* Making, freeing and asking the model form. */
#include "ir/model.h"

#include <string.h>

#include "base/memory.h"

hone_status_t hone_model_create(const hone_allocator_t* allocator, hone_model_t** out_model) {
  *out_model = NULL;
  if (!allocator) allocator = hone_allocator_system();
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_model_t* model = hone_arena_alloc(arena, sizeof *model);
  if (!model) {
    hone_arena_destroy(arena);
    return hone_oom();
  }
  *model = (hone_model_t){.arena = arena,
                          .allocator = allocator,
                          .path = "",
                          .producer_name = "",
                          .producer_version = "",
                          .domain = "",
                          .doc = ""};
  *out_model = model;
  return NULL;
}

hone_status_t hone_model_on_destroy(hone_model_t* model, void (*run)(void*), void* argument) {
  hone_model_cleanup_t* cleanup = hone_arena_alloc(model->arena, sizeof *cleanup);
  if (!cleanup) return hone_oom();
  *cleanup = (hone_model_cleanup_t){.next = model->cleanups, .run = run, .argument = argument};
  model->cleanups = cleanup;
  return NULL;
}

void hone_model_destroy(hone_model_t* model) {
  if (!model) return;
  for (hone_model_cleanup_t* each = model->cleanups; each; each = each->next) {
    each->run(each->argument);
  }
  hone_arena_destroy(model->arena); /* the model itself lies in it */
}

int64_t hone_model_opset(const hone_model_t* model, const char* domain) {
  int64_t version = 0;
  for (int i = 0; i < model->n_opsets; i++) {
    const hone_onnx_opset_t* opset = &model->opsets[i];
    if (strcmp(opset->domain, domain) == 0 && opset->version > version) version = opset->version;
  }
  return version;
}

const hone_onnx_function_t* hone_model_function(const hone_model_t* model, const char* domain,
                                                const char* name, const char* overload) {
  for (int i = 0; i < model->n_functions; i++) {
    const hone_onnx_function_t* function = &model->functions[i];
    if (strcmp(function->name, name) == 0 && strcmp(function->domain, domain) == 0 &&
        strcmp(function->overload, overload) == 0) {
      return function;
    }
  }
  return NULL;
}

const hone_onnx_attr_t* hone_onnx_node_attr(const hone_onnx_node_t* node, const char* name) {
  for (int i = 0; i < node->n_attrs; i++) {
    if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
  }
  return NULL;
}

const char* hone_model_metadata(const hone_model_t* model, const char* key) {
  for (int i = 0; i < model->n_metadata; i++) {
    if (strcmp(model->metadata[i].key, key) == 0) return model->metadata[i].value;
  }
  return NULL;
}

int64_t hone_model_node_count(const hone_model_t* model) {
  return model->graph ? model->graph->n_nodes : 0;
}

bool hone_model_node_at(const hone_model_t* model, int64_t index, hone_model_node_t* out_node) {
  *out_node = (hone_model_node_t){0};
  if (index < 0 || index >= hone_model_node_count(model)) return false;
  const hone_onnx_node_t* node = &model->graph->nodes[index];
  *out_node = (hone_model_node_t){.name = node->name,
                                  .op_type = node->op_type,
                                  .domain = node->domain,
                                  .n_inputs = node->n_inputs,
                                  .inputs = node->inputs,
                                  .n_outputs = node->n_outputs,
                                  .outputs = node->outputs};
  return true;
}
