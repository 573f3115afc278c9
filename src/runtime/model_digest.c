#include "runtime/model_digest.h"

#include "base/memory.h"

typedef struct list {
  hone_arena_t* arena;
  int count, room;
  hone_piece_t* pieces;
  bool failed;
} list_t;

static void add(list_t* list, const void* data, size_t size) {
  if (list->count == list->room) {
    int room = list->room ? 2 * list->room : 16;
    hone_piece_t* pieces = hone_arena_array(list->arena, (size_t)room, sizeof *pieces);
    list->failed = list->failed || !pieces;
    if (!pieces) return;
    for (int i = 0; i < list->count; i++) pieces[i] = list->pieces[i];
    list->pieces = pieces;
    list->room = room;
  }
  list->pieces[list->count++] = (hone_piece_t){data, size};
}

static void add_tensor(list_t* list, const hone_onnx_tensor_t* tensor) {
  if (tensor->external_file) add(list, tensor->data, tensor->bytes);
}

static void add_sparse(list_t* list, const hone_onnx_sparse_t* sparse) {
  add_tensor(list, &sparse->values);
  add_tensor(list, &sparse->indices);
}

static void add_nodes(list_t* list, int64_t count, const hone_onnx_node_t* nodes);

static void add_graph(list_t* list, const hone_onnx_graph_t* graph) {
  for (int64_t i = 0; i < graph->n_initializers; i++) add_tensor(list, &graph->initializers[i]);
  for (int64_t i = 0; i < graph->n_sparse; i++) add_sparse(list, &graph->sparse[i]);
  add_nodes(list, graph->n_nodes, graph->nodes);
}

static void add_attr(list_t* list, const hone_onnx_attr_t* attr) {
  bool has_tensors = attr->kind == HONE_ATTR_TENSOR || attr->kind == HONE_ATTR_TENSORS;
  bool has_sparse = attr->kind == HONE_ATTR_SPARSE_TENSOR || attr->kind == HONE_ATTR_SPARSE_TENSORS;
  bool has_graphs = attr->kind == HONE_ATTR_GRAPH || attr->kind == HONE_ATTR_GRAPHS;
  if (attr->ref) return; /* stands for another's */
  for (int64_t i = 0; i < attr->count; i++) {
    if (has_tensors) add_tensor(list, &attr->tensors[i]);
    if (has_sparse) add_sparse(list, &attr->sparse[i]);
    if (has_graphs) add_graph(list, attr->graphs[i]);
  }
}

static void add_attrs(list_t* list, int count, const hone_onnx_attr_t* attrs) {
  for (int i = 0; i < count; i++) add_attr(list, &attrs[i]);
}

static void add_nodes(list_t* list, int64_t count, const hone_onnx_node_t* nodes) {
  for (int64_t i = 0; i < count; i++) add_attrs(list, nodes[i].n_attrs, nodes[i].attrs);
}

static void add_function(list_t* list, const hone_onnx_function_t* function) {
  add_attrs(list, function->n_attr_defaults, function->attr_defaults);
  add_nodes(list, function->n_nodes, function->nodes);
}

hone_status_t hone_model_digest(const hone_model_t* model, hone_digest_t* out_digest) {
  *out_digest = (hone_digest_t){0, 0};
  if (!model->file) return NULL;
  list_t list = {0};
  HONE_TRY(hone_arena_create(NULL, &list.arena));
  add(&list, model->file, model->file_size);
  add_graph(&list, model->graph);
  for (int i = 0; i < model->n_functions; i++) add_function(&list, &model->functions[i]);
  hone_status_t status = list.failed ? hone_oom()
                                     : hone_pieces_digest(hone_thread_pool_shared(), list.count,
                                                          list.pieces, out_digest);
  hone_arena_destroy(list.arena);
  return status;
}
