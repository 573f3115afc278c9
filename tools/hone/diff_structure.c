#include "diff_structure.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "import/names.h"

typedef struct finder {
  hone_arena_t* arena;
  hone_changes_t* changes;
  int64_t room;
} finder_t;

static hone_status_t report(finder_t* finder, char sign, const char* what, const char* name,
                            const char* detail) {
  hone_changes_t* changes = finder->changes;
  if (!detail) return hone_oom();
  if (changes->count == finder->room) {
    int64_t room = finder->room ? finder->room * 2 : 16;
    hone_change_t* wider = hone_arena_array(finder->arena, (size_t)room, sizeof *wider);
    if (!wider) return hone_oom();
    if (changes->count) memcpy(wider, changes->items, (size_t)changes->count * sizeof *wider);
    changes->items = wider;
    finder->room = room;
  }
  changes->items[changes->count++] = (hone_change_t){sign, what, name, detail};
  return NULL;
}

/* ---- equality ---- */

static bool same_strings(int64_t count, const hone_string_t* a, const hone_string_t* b) {
  for (int64_t i = 0; i < count; i++)
    if (a[i].size != b[i].size || (a[i].size && memcmp(a[i].data, b[i].data, a[i].size) != 0))
      return false;
  return true;
}

static bool same_shape(const hone_onnx_tensor_t* a, const hone_onnx_tensor_t* b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         (!a->rank || !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims));
}

static bool same_tensor(const hone_onnx_tensor_t* a, const hone_onnx_tensor_t* b) {
  if (!same_shape(a, b)) return false;
  if (a->dtype == HONE_STRING) return same_strings(a->count, a->data, b->data);
  return a->bytes == b->bytes && (!a->bytes || !memcmp(a->data, b->data, a->bytes));
}

static bool same_names(int64_t count, const char* const* a, const char* const* b) {
  for (int64_t i = 0; i < count; i++)
    if (strcmp(a[i], b[i]) != 0) return false;
  return true;
}

static bool same_type(const hone_onnx_type_t* a, const hone_onnx_type_t* b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++) {
    const char *x = a->dims[i].symbol, *y = b->dims[i].symbol;
    if (a->dims[i].value != b->dims[i].value || strcmp(x ? x : "", y ? y : "") != 0) return false;
  }
  return !a->element == !b->element && (!a->element || same_type(a->element, b->element));
}

static bool same_graph(const hone_onnx_graph_t* a, const hone_onnx_graph_t* b);

static bool same_sparse(const hone_onnx_sparse_t* a, const hone_onnx_sparse_t* b) {
  return same_tensor(&a->values, &b->values) && same_tensor(&a->indices, &b->indices) &&
         a->rank == b->rank &&
         (!a->rank || !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims));
}

/* Item `i` of two lists of tensors, graphs, sparse tensors or types. */
static bool same_item(const hone_onnx_attr_t* a, const hone_onnx_attr_t* b, int64_t i) {
  switch (a->kind) {
    case HONE_ATTR_TENSOR:
    case HONE_ATTR_TENSORS:
      return same_tensor(&a->tensors[i], &b->tensors[i]);
    case HONE_ATTR_GRAPH:
    case HONE_ATTR_GRAPHS:
      return same_graph(a->graphs[i], b->graphs[i]);
    case HONE_ATTR_SPARSE_TENSOR:
    case HONE_ATTR_SPARSE_TENSORS:
      return same_sparse(&a->sparse[i], &b->sparse[i]);
    default:
      return same_type(&a->types[i], &b->types[i]);
  }
}

static bool same_attr(const hone_onnx_attr_t* a, const hone_onnx_attr_t* b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  if (strcmp(a->ref ? a->ref : "", b->ref ? b->ref : "") != 0) return false;
  size_t count = (size_t)a->count;
  if (!count) return true;
  if (a->kind == HONE_ATTR_FLOAT || a->kind == HONE_ATTR_FLOATS)
    return !memcmp(a->floats, b->floats, count * sizeof *a->floats);
  if (a->kind == HONE_ATTR_INT || a->kind == HONE_ATTR_INTS)
    return !memcmp(a->ints, b->ints, count * sizeof *a->ints);
  if (a->kind == HONE_ATTR_STRING || a->kind == HONE_ATTR_STRINGS)
    return same_strings(a->count, a->strings, b->strings);
  for (int64_t i = 0; i < a->count; i++)
    if (!same_item(a, b, i)) return false;
  return true;
}

/* The name of an attribute that only one has, or that differs; NULL: none. */
static const char* other_attr(const hone_onnx_node_t* a, const hone_onnx_node_t* b) {
  for (int i = 0; i < a->n_attrs; i++) {
    const hone_onnx_attr_t* twin = hone_onnx_node_attr(b, a->attrs[i].name);
    if (!twin || !same_attr(&a->attrs[i], twin)) return a->attrs[i].name;
  }
  for (int i = 0; i < b->n_attrs; i++)
    if (!hone_onnx_node_attr(a, b->attrs[i].name)) return b->attrs[i].name;
  return NULL;
}

static bool same_op(const hone_onnx_node_t* a, const hone_onnx_node_t* b) {
  return strcmp(a->op_type, b->op_type) == 0 && strcmp(a->domain, b->domain) == 0 &&
         strcmp(a->overload, b->overload) == 0;
}

static bool same_node(const hone_onnx_node_t* a, const hone_onnx_node_t* b) {
  return same_op(a, b) && a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs &&
         same_names(a->n_inputs, a->inputs, b->inputs) &&
         same_names(a->n_outputs, a->outputs, b->outputs) && !other_attr(a, b);
}

static bool same_infos(int64_t count, const hone_onnx_value_info_t* a,
                       const hone_onnx_value_info_t* b) {
  for (int64_t i = 0; i < count; i++)
    if (strcmp(a[i].name, b[i].name) != 0) return false;
  return true;
}

/* Of graphs inside nodes. */
static bool same_graph(const hone_onnx_graph_t* a, const hone_onnx_graph_t* b) {
  if (a->n_nodes != b->n_nodes || a->n_initializers != b->n_initializers ||
      a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs || a->n_sparse != b->n_sparse)
    return false;
  for (int64_t i = 0; i < a->n_nodes; i++)
    if (!same_node(&a->nodes[i], &b->nodes[i])) return false;
  for (int64_t i = 0; i < a->n_initializers; i++)
    if (strcmp(a->initializers[i].name, b->initializers[i].name) != 0 ||
        !same_tensor(&a->initializers[i], &b->initializers[i]))
      return false;
  for (int64_t i = 0; i < a->n_sparse; i++)
    if (!same_sparse(&a->sparse[i], &b->sparse[i])) return false;
  return same_infos(a->n_inputs, a->inputs, b->inputs) &&
         same_infos(a->n_outputs, a->outputs, b->outputs);
}

/* ---- nodes ---- */

/* What a node is known by; "" when it makes nothing. */
static const char* key_of(const hone_onnx_node_t* node) {
  for (int i = 0; i < node->n_outputs; i++)
    if (*node->outputs[i]) return node->outputs[i];
  return "";
}

static const char* name_of(const hone_onnx_node_t* node) {
  return *node->name ? node->name : key_of(node);
}

static hone_status_t compare_nodes(finder_t* finder, const hone_onnx_node_t* a,
                                   const hone_onnx_node_t* b) {
  const char* attr = other_attr(a, b);
  if (!same_op(a, b))
    return report(finder, '~', "node", name_of(b),
                  hone_arena_format(finder->arena, "%s became %s", a->op_type, b->op_type));
  if (attr)
    return report(finder, '~', "node", name_of(b),
                  hone_arena_format(finder->arena, "%s: attribute '%s'", b->op_type, attr));
  if (a->n_inputs != b->n_inputs || !same_names(a->n_inputs, a->inputs, b->inputs))
    return report(finder, '~', "node", name_of(b),
                  hone_arena_format(finder->arena, "%s: other inputs", b->op_type));
  if (a->n_outputs == b->n_outputs) return NULL;
  return report(finder, '~', "node", name_of(b),
                hone_arena_format(finder->arena, "%s: other outputs", b->op_type));
}

static hone_status_t index_nodes(const hone_onnx_graph_t* graph, hone_names_t* names) {
  int64_t old;
  for (int64_t i = 0; i < graph->n_nodes; i++)
    HONE_TRY(hone_names_add(names, key_of(&graph->nodes[i]), i, &old));
  return NULL;
}

static hone_status_t compare_all_nodes(finder_t* finder, const hone_onnx_graph_t* a,
                                       const hone_onnx_graph_t* b) {
  hone_names_t in_a = hone_names_in(finder->arena), in_b = in_a;
  HONE_TRY(index_nodes(a, &in_a));
  HONE_TRY(index_nodes(b, &in_b));
  for (int64_t i = 0; i < a->n_nodes; i++) {
    const hone_onnx_node_t* node = &a->nodes[i];
    if (hone_names_get(&in_b, key_of(node)) < 0)
      HONE_TRY(report(finder, '-', "node", name_of(node), node->op_type));
  }
  for (int64_t i = 0; i < b->n_nodes; i++) {
    const hone_onnx_node_t* node = &b->nodes[i];
    int64_t twin = hone_names_get(&in_a, key_of(node));
    HONE_TRY(twin < 0 ? report(finder, '+', "node", name_of(node), node->op_type)
                      : compare_nodes(finder, &a->nodes[twin], node));
  }
  return NULL;
}

/* ---- weights ---- */

static const char* shape_text(hone_arena_t* arena, const hone_onnx_tensor_t* tensor) {
  const char* text = hone_arena_format(arena, "%s[", hone_dtype_name(tensor->dtype));
  for (int i = 0; i < tensor->rank && text; i++)
    text = hone_arena_format(arena, "%s%s%" PRId64, text, i ? ", " : "", tensor->dims[i]);
  return text ? hone_arena_format(arena, "%s]", text) : NULL;
}

static hone_status_t compare_weight(finder_t* finder, const hone_onnx_tensor_t* a,
                                    const hone_onnx_tensor_t* b) {
  if (same_tensor(a, b)) return NULL;
  const char *from = shape_text(finder->arena, a), *to = shape_text(finder->arena, b);
  if (!from || !to) return hone_oom();
  const char* detail = same_shape(a, b)
                           ? hone_arena_format(finder->arena, "%s: other values", to)
                           : hone_arena_format(finder->arena, "%s became %s", from, to);
  return report(finder, '~', "weight", b->name, detail);
}

static hone_status_t compare_weights(finder_t* finder, const hone_onnx_graph_t* a,
                                     const hone_onnx_graph_t* b) {
  hone_names_t in_a = hone_names_in(finder->arena), in_b = in_a;
  int64_t old;
  for (int64_t i = 0; i < a->n_initializers; i++)
    HONE_TRY(hone_names_add(&in_a, a->initializers[i].name, i, &old));
  for (int64_t i = 0; i < b->n_initializers; i++)
    HONE_TRY(hone_names_add(&in_b, b->initializers[i].name, i, &old));
  for (int64_t i = 0; i < a->n_initializers; i++) {
    const hone_onnx_tensor_t* tensor = &a->initializers[i];
    if (hone_names_get(&in_b, tensor->name) < 0)
      HONE_TRY(report(finder, '-', "weight", tensor->name, shape_text(finder->arena, tensor)));
  }
  for (int64_t i = 0; i < b->n_initializers; i++) {
    const hone_onnx_tensor_t* tensor = &b->initializers[i];
    int64_t twin = hone_names_get(&in_a, tensor->name);
    HONE_TRY(twin < 0
                 ? report(finder, '+', "weight", tensor->name, shape_text(finder->arena, tensor))
                 : compare_weight(finder, &a->initializers[twin], tensor));
  }
  return NULL;
}

/* ---- the rest ---- */

typedef struct infos {
  const hone_onnx_value_info_t* items;
  int64_t count;
} infos_t;

static const hone_onnx_value_info_t* find_info(infos_t infos, const char* name) {
  for (int64_t i = 0; i < infos.count; i++)
    if (strcmp(infos.items[i].name, name) == 0) return &infos.items[i];
  return NULL;
}

static hone_status_t compare_infos(finder_t* finder, const char* what, infos_t a, infos_t b) {
  for (int64_t i = 0; i < a.count; i++)
    if (!find_info(b, a.items[i].name)) HONE_TRY(report(finder, '-', what, a.items[i].name, ""));
  for (int64_t i = 0; i < b.count; i++) {
    const hone_onnx_value_info_t* twin = find_info(a, b.items[i].name);
    if (!twin)
      HONE_TRY(report(finder, '+', what, b.items[i].name, ""));
    else if (!same_type(&twin->type, &b.items[i].type))
      HONE_TRY(report(finder, '~', what, b.items[i].name, "other type"));
  }
  return NULL;
}

static const char* domain_name(const char* domain) { return *domain ? domain : "ai.onnx"; }

static hone_status_t compare_opsets(finder_t* finder, const hone_model_t* a,
                                    const hone_model_t* b) {
  for (int i = 0; i < b->n_opsets; i++) {
    const hone_onnx_opset_t* opset = &b->opsets[i];
    int64_t old = hone_model_opset(a, opset->domain);
    if (old == opset->version) continue;
    const char* detail =
        old ? hone_arena_format(finder->arena, "%" PRId64 " became %" PRId64, old, opset->version)
            : hone_arena_format(finder->arena, "version %" PRId64, opset->version);
    HONE_TRY(report(finder, old ? '~' : '+', "opset", domain_name(opset->domain), detail));
  }
  for (int i = 0; i < a->n_opsets; i++)
    if (!hone_model_opset(b, a->opsets[i].domain))
      HONE_TRY(report(finder, '-', "opset", domain_name(a->opsets[i].domain), ""));
  return NULL;
}

hone_status_t hone_diff_structure(hone_arena_t* arena, const hone_model_t* a, const hone_model_t* b,
                                  hone_changes_t* out_changes) {
  *out_changes = (hone_changes_t){0};
  finder_t finder = {.arena = arena, .changes = out_changes};
  const hone_onnx_graph_t *x = a->graph, *y = b->graph;
  HONE_TRY(compare_opsets(&finder, a, b));
  HONE_TRY(compare_infos(&finder, "input", (infos_t){x->inputs, x->n_inputs},
                         (infos_t){y->inputs, y->n_inputs}));
  HONE_TRY(compare_infos(&finder, "output", (infos_t){x->outputs, x->n_outputs},
                         (infos_t){y->outputs, y->n_outputs}));
  HONE_TRY(compare_all_nodes(&finder, x, y));
  return compare_weights(&finder, x, y);
}
