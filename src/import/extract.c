#include "import/extract.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "import/names.h"
#include "import/onnx_taken.h"

/* ---- what both ways share ---- */

/* A model with all that stands around the graph of `model`, and a copy of the
 * graph's top in its own arena. */
static hone_status_t copy_frame(const hone_model_t* model, hone_model_t** out_model) {
  *out_model = NULL;
  if (!model->graph) return hone_status_make(HONE_INVALID_MODEL, "the model has no graph");
  hone_model_t* copy;
  HONE_TRY(hone_model_create(model->allocator, &copy));
  hone_arena_t* arena = copy->arena;
  *copy = *model;
  copy->arena = arena;
  copy->cleanups = NULL;
  copy->graph = hone_arena_memdup(arena, model->graph, sizeof *model->graph);
  if (!copy->graph) {
    hone_model_destroy(copy);
    return hone_oom();
  }
  *out_model = copy;
  return NULL;
}

/* Gives the model, or destroys it when there is an error. */
static hone_status_t finish(hone_status_t status, hone_model_t* model, hone_model_t** out_model) {
  *out_model = status ? NULL : model;
  if (status) hone_model_destroy(model);
  return status;
}

/* What the main graph holds, by name. */
typedef struct index {
  const hone_onnx_graph_t* graph;
  hone_names_t makers;       /* to the node's number */
  hone_names_t initializers; /* to their number; sparse ones behind the others */
  hone_names_t infos;        /* to their number: inputs, outputs, then value_infos */
} index_t;

static hone_status_t add_name(hone_names_t* names, const char* name, int64_t number) {
  int64_t old;
  return *name ? hone_names_add(names, name, number, &old) : NULL;
}

static const hone_onnx_value_info_t* info_at(const hone_onnx_graph_t* graph, int64_t number) {
  if (number < graph->n_inputs) return &graph->inputs[number];
  number -= graph->n_inputs;
  if (number < graph->n_outputs) return &graph->outputs[number];
  number -= graph->n_outputs;
  return number < graph->n_value_infos ? &graph->value_infos[number] : NULL;
}

static hone_status_t index_make(hone_arena_t* arena, const hone_onnx_graph_t* graph, index_t* out) {
  *out = (index_t){graph, hone_names_in(arena), hone_names_in(arena), hone_names_in(arena)};
  for (int64_t n = 0; n < graph->n_nodes; n++) {
    for (int i = 0; i < graph->nodes[n].n_outputs; i++)
      HONE_TRY(add_name(&out->makers, graph->nodes[n].outputs[i], n));
  }
  for (int64_t i = 0; i < graph->n_initializers; i++)
    HONE_TRY(add_name(&out->initializers, graph->initializers[i].name, i));
  for (int64_t i = 0; i < graph->n_sparse; i++)
    HONE_TRY(add_name(&out->initializers, graph->sparse[i].values.name, graph->n_initializers + i));
  const hone_onnx_value_info_t* info;
  for (int64_t i = 0; (info = info_at(graph, i)); i++)
    HONE_TRY(add_name(&out->infos, info->name, i));
  return NULL;
}

static hone_onnx_value_info_t declared(const index_t* index, const char* name) {
  int64_t number = hone_names_get(&index->infos, name);
  if (number >= 0) return *info_at(index->graph, number);
  return (hone_onnx_value_info_t){.name = name, .type = {.rank = -1}, .doc = ""};
}

/* ---- further outputs ---- */

static bool is_known(const index_t* index, const char* name) {
  return hone_names_get(&index->makers, name) >= 0 || hone_names_get(&index->infos, name) >= 0 ||
         hone_names_get(&index->initializers, name) >= 0;
}

static hone_status_t add_outputs(hone_model_t* model, const index_t* index, int64_t count,
                                 const char* const* names) {
  hone_onnx_graph_t* graph = model->graph;
  size_t room;
  if (!hone_size_add((size_t)graph->n_outputs, (size_t)count, &room)) return hone_oom();
  hone_onnx_value_info_t* outputs = hone_arena_array(model->arena, room, sizeof *outputs);
  if (!outputs) return hone_oom();
  hone_names_t there = hone_names_in(model->arena);
  int64_t old, n = 0;
  for (; n < graph->n_outputs; n++) {
    outputs[n] = graph->outputs[n];
    HONE_TRY(hone_names_add(&there, outputs[n].name, n, &old));
  }
  for (int64_t i = 0; i < count; i++) {
    if (!is_known(index, names[i]))
      return hone_status_make(HONE_NOT_FOUND, "the graph has no value '%s'", names[i]);
    HONE_TRY(hone_names_add(&there, names[i], n, &old));
    if (old < 0) outputs[n++] = declared(index, names[i]);
  }
  graph->outputs = outputs;
  graph->n_outputs = n;
  return NULL;
}

hone_status_t hone_extract_expose(const hone_model_t* model, int64_t count,
                                  const char* const* names, hone_model_t** out_model) {
  hone_model_t* copy;
  index_t index;
  HONE_TRY(copy_frame(model, &copy));
  hone_status_t status = index_make(copy->arena, model->graph, &index);
  if (!status) status = add_outputs(copy, &index, count, names);
  return finish(status, copy, out_model);
}

/* ---- some nodes ---- */

typedef struct cut {
  const hone_model_t* model;
  hone_model_t* out;
  hone_arena_t* arena; /* of the result */
  index_t index;
  bool* inside;        /* by node of the model */
  hone_names_t taken;  /* by nodes inside */
  hone_names_t wanted; /* by nodes outside, and as outputs of the graph */
} cut_t;

static hone_status_t note_name(void* self, const char* name) { return add_name(self, name, 0); }

static bool is_constant(const hone_onnx_node_t* node) {
  return strcmp(node->op_type, "Constant") == 0 && !*node->domain;
}

static hone_status_t mark_nodes(cut_t* cut, int64_t count, const int64_t* nodes) {
  const hone_onnx_graph_t* graph = cut->model->graph;
  cut->inside = hone_arena_array(cut->arena, (size_t)graph->n_nodes, sizeof *cut->inside);
  if (!cut->inside) return hone_oom();
  for (int64_t i = 0; i < count; i++) {
    if (nodes[i] < 0 || nodes[i] >= graph->n_nodes)
      return hone_status_make(HONE_OUT_OF_RANGE, "node %" PRId64 " of %" PRId64, nodes[i],
                              graph->n_nodes);
    cut->inside[nodes[i]] = true;
  }
  for (int64_t n = 0; n < graph->n_nodes; n++)
    HONE_TRY(hone_onnx_visit_taken(cut->arena, &graph->nodes[n], note_name,
                                   cut->inside[n] ? &cut->taken : &cut->wanted));
  for (int64_t i = 0; i < graph->n_outputs; i++)
    HONE_TRY(note_name(&cut->wanted, graph->outputs[i].name));
  return NULL;
}

/* Constant nodes take nothing themselves, so that one round is enough. They are
 * there for the others: what they make is no output. */
static hone_status_t take_constants(cut_t* cut, hone_names_t* made_by_constants) {
  size_t cursor = 0;
  for (const hone_map_entry_t* each; (each = hone_map_next(&cut->taken.map, &cursor));) {
    int64_t maker = hone_names_get(&cut->index.makers, each->text);
    if (maker < 0 || cut->inside[maker] || !is_constant(&cut->model->graph->nodes[maker])) continue;
    cut->inside[maker] = true;
    HONE_TRY(add_name(made_by_constants, each->text, maker));
  }
  return NULL;
}

static hone_status_t copy_nodes(cut_t* cut) {
  const hone_onnx_graph_t* from = cut->model->graph;
  hone_onnx_graph_t* to = cut->out->graph;
  to->n_nodes = 0;
  to->nodes = hone_arena_array(cut->arena, (size_t)from->n_nodes, sizeof *to->nodes);
  if (!to->nodes) return hone_oom();
  for (int64_t n = 0; n < from->n_nodes; n++)
    if (cut->inside[n]) to->nodes[to->n_nodes++] = from->nodes[n];
  return NULL;
}

/* Where what is taken comes from: a node, an initializer, or an input. */
static hone_status_t make_inputs(cut_t* cut) {
  const hone_onnx_graph_t* from = cut->model->graph;
  hone_onnx_graph_t* to = cut->out->graph;
  size_t most = hone_map_count(&cut->taken.map), cursor = 0;
  to->inputs = hone_arena_array(cut->arena, most, sizeof *to->inputs);
  to->initializers = hone_arena_array(cut->arena, most, sizeof *to->initializers);
  to->sparse = hone_arena_array(cut->arena, most, sizeof *to->sparse);
  if (!to->inputs || !to->initializers || !to->sparse) return hone_oom();
  to->n_inputs = to->n_initializers = to->n_sparse = 0;
  for (const hone_map_entry_t* each; (each = hone_map_next(&cut->taken.map, &cursor));) {
    int64_t maker = hone_names_get(&cut->index.makers, each->text);
    int64_t initializer = hone_names_get(&cut->index.initializers, each->text);
    if (maker >= 0 && cut->inside[maker]) continue;
    if (initializer < 0)
      to->inputs[to->n_inputs++] = declared(&cut->index, each->text);
    else if (initializer < from->n_initializers)
      to->initializers[to->n_initializers++] = from->initializers[initializer];
    else
      to->sparse[to->n_sparse++] = from->sparse[initializer - from->n_initializers];
  }
  return NULL;
}

static bool is_result(const cut_t* cut, const hone_names_t* made_by_constants, const char* name) {
  if (!*name || hone_names_get(made_by_constants, name) >= 0) return false;
  return hone_names_get(&cut->taken, name) < 0 || hone_names_get(&cut->wanted, name) >= 0;
}

static hone_status_t make_outputs(cut_t* cut, const hone_names_t* made_by_constants) {
  hone_onnx_graph_t* to = cut->out->graph;
  size_t most = 0;
  for (int64_t n = 0; n < to->n_nodes; n++) most += (size_t)to->nodes[n].n_outputs;
  to->n_outputs = 0;
  to->outputs = hone_arena_array(cut->arena, most, sizeof *to->outputs);
  if (!to->outputs) return hone_oom();
  for (int64_t n = 0; n < to->n_nodes; n++) {
    for (int i = 0; i < to->nodes[n].n_outputs; i++) {
      const char* name = to->nodes[n].outputs[i];
      if (is_result(cut, made_by_constants, name))
        to->outputs[to->n_outputs++] = declared(&cut->index, name);
    }
  }
  return NULL;
}

static hone_status_t cut_out(cut_t* cut, int64_t count, const int64_t* nodes) {
  hone_names_t made_by_constants = hone_names_in(cut->arena);
  cut->taken = cut->wanted = hone_names_in(cut->arena);
  HONE_TRY(index_make(cut->arena, cut->model->graph, &cut->index));
  HONE_TRY(mark_nodes(cut, count, nodes));
  HONE_TRY(take_constants(cut, &made_by_constants));
  HONE_TRY(copy_nodes(cut));
  HONE_TRY(make_inputs(cut));
  HONE_TRY(make_outputs(cut, &made_by_constants));
  cut->out->graph->n_value_infos = 0;
  cut->out->graph->value_infos = NULL;
  return NULL;
}

hone_status_t hone_extract_nodes(const hone_model_t* model, int64_t count, const int64_t* nodes,
                                 hone_model_t** out_model) {
  cut_t cut = {.model = model};
  HONE_TRY(copy_frame(model, &cut.out));
  cut.arena = cut.out->arena;
  return finish(cut_out(&cut, count, nodes), cut.out, out_model);
}

/* ---- types ---- */

static hone_status_t type_of(hone_arena_t* arena, const hone_tensor_t* tensor,
                             hone_onnx_type_t* out);

/* A sequence's element is of no shape in particular, an empty one of no kind. */
static hone_status_t sequence_type(hone_arena_t* arena, const hone_tensor_t* tensor,
                                   hone_onnx_type_t* out) {
  hone_onnx_type_t* element = hone_arena_alloc(arena, sizeof *element);
  if (!element) return hone_oom();
  *element = (hone_onnx_type_t){
      .kind = HONE_ONNX_TYPE_TENSOR, .dtype = hone_tensor_dtype(tensor), .rank = -1};
  const hone_tensor_t* first = hone_sequence_item(tensor, 0);
  if (first) HONE_TRY(type_of(arena, first, element));
  element->rank = -1;
  *out = (hone_onnx_type_t){.kind = HONE_ONNX_TYPE_SEQUENCE, .rank = -1, .element = element};
  return NULL;
}

static hone_status_t map_type(hone_arena_t* arena, const hone_tensor_t* tensor,
                              hone_onnx_type_t* out) {
  const hone_tensor_t* values = hone_sequence_item(tensor, 1);
  hone_onnx_type_t* element = hone_arena_alloc(arena, sizeof *element);
  if (!element) return hone_oom();
  HONE_TRY(type_of(arena, values, element));
  element->rank = 0; /* one value for each key */
  *out = (hone_onnx_type_t){.kind = HONE_ONNX_TYPE_MAP,
                            .dtype = hone_tensor_dtype(hone_sequence_item(tensor, 0)),
                            .rank = -1,
                            .element = element};
  return NULL;
}

static hone_status_t type_of(hone_arena_t* arena, const hone_tensor_t* tensor,
                             hone_onnx_type_t* out) {
  hone_kind_t kind = hone_tensor_kind(tensor);
  if (kind == HONE_KIND_SEQUENCE) return sequence_type(arena, tensor, out);
  if (kind == HONE_KIND_MAP) return map_type(arena, tensor, out);
  if (kind == HONE_KIND_NONE) return NULL; /* says nothing about what it could hold */
  int rank = hone_tensor_rank(tensor);
  hone_onnx_dim_t* dims = hone_arena_array(arena, (size_t)rank, sizeof *dims);
  if (!dims) return hone_oom();
  for (int i = 0; i < rank; i++) dims[i].value = hone_tensor_dims(tensor)[i];
  *out = (hone_onnx_type_t){.kind = HONE_ONNX_TYPE_TENSOR,
                            .dtype = hone_tensor_dtype(tensor),
                            .rank = rank,
                            .dims = dims};
  return NULL;
}

hone_status_t hone_extract_declare(hone_model_t* extracted, const char* name,
                                   const hone_tensor_t* tensor) {
  hone_onnx_graph_t* graph = extracted->graph;
  for (int64_t i = 0; i < graph->n_inputs; i++)
    if (strcmp(graph->inputs[i].name, name) == 0)
      HONE_TRY(type_of(extracted->arena, tensor, &graph->inputs[i].type));
  for (int64_t i = 0; i < graph->n_outputs; i++)
    if (strcmp(graph->outputs[i].name, name) == 0)
      HONE_TRY(type_of(extracted->arena, tensor, &graph->outputs[i].type));
  return NULL;
}
