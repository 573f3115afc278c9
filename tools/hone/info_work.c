/* How much a model computes: the multiply-adds of its contract primitives, which
 * products and convolutions become. */
#include <string.h>

#include "base/memory.h"
#include "info.h"
#include "ops/lower.h"

typedef struct sum {
  hone_dim_t top;  /* of the graph itself */
  hone_dim_t body; /* of its regions */
  int64_t unknown;
} sum_t;

/* One for each element of the result and each of the sum. */
static hone_dim_t multiply_adds(const hone_node_t* node) {
  hone_dims_t* dims = node->graph->dims;
  const hone_type_t *a = &node->inputs[0]->type, *result = &node->outputs[0]->type;
  if (!hone_type_is_known(a) || !hone_type_is_known(result)) return hone_dim_bad();
  hone_dim_t count = hone_dim_product(dims, result->rank, result->dims);
  for (int i = 2 * node->n_batch; i < node->n_axes; i += 2)
    count = hone_dim_mul(dims, count, a->dims[node->axes[i]]);
  return count;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as control flow is nested */
static void add_graph(const hone_graph_t* graph, bool is_body, sum_t* sum) {
  for (int n = 0; n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    for (int r = 0; r < node->n_regions; r++) add_graph(node->regions[r], true, sum);
    sum->unknown += node->prim == HONE_PRIM_HOST && node->host->deferred;
    if (node->prim != HONE_PRIM_CONTRACT) continue;
    hone_dim_t count = multiply_adds(node);
    hone_dim_t* to = is_body ? &sum->body : &sum->top;
    if (hone_dim_is_bad(count))
      sum->unknown++;
    else
      *to = hone_dim_add(graph->dims, *to, count);
  }
}

/* NULL where it would not fit 64 bits for all sizes that are allowed. */
static hone_status_t dim_text(hone_arena_t* arena, hone_dim_t dim, const char** out_text) {
  *out_text = NULL;
  if (hone_dim_is_bad(dim)) return NULL;
  size_t size = hone_dim_print(dim, NULL, 0) + 1;
  char* text = hone_arena_alloc(arena, size);
  if (!text) return hone_oom();
  hone_dim_print(dim, text, size);
  *out_text = text;
  return NULL;
}

static hone_status_t sum_up(hone_info_t* info, const hone_graph_t* graph) {
  sum_t sum = {.top = hone_dim_int(0), .body = hone_dim_int(0)};
  add_graph(graph, false, &sum);
  hone_info_work_t* work = &info->work;
  bool is_number = hone_dim_is_int(sum.top) && !hone_dim_is_bad(sum.top);
  work->count = is_number ? sum.top.k : -1;
  work->unknown = sum.unknown;
  work->has_bodies = !hone_dim_is(sum.body, 0);
  HONE_TRY(dim_text(info->arena, sum.top, &work->text));
  return dim_text(info->arena, sum.body, &work->body_text);
}

/* Sizes up to here keep products of three of them within 64 bits. */
enum { LARGEST_SIZE = 1 << 14 };

typedef struct bindings {
  int count;
  hone_dim_option_t* items;
} bindings_t;

static bool is_bound(const bindings_t* bindings, const char* name) {
  for (int i = 0; i < bindings->count; i++)
    if (strcmp(bindings->items[i].name, name) == 0) return true;
  return false;
}

/* Dimensions that --dim leaves open are bounded, so that formulas over them exist.
 * One without a name goes by the name that lowering gives it. */
static hone_status_t bound_input(hone_arena_t* arena, const hone_onnx_value_info_t* input,
                                 bindings_t* bindings) {
  for (int i = 0; i < input->type.rank; i++) {
    const hone_onnx_dim_t* dim = &input->type.dims[i];
    bool is_named = dim->symbol && *dim->symbol && strcmp(dim->symbol, "?") != 0;
    const char* name = is_named ? dim->symbol : hone_arena_format(arena, "%s.%d", input->name, i);
    if (!name) return hone_oom();
    if (dim->value < 0 && !is_bound(bindings, name))
      bindings->items[bindings->count++] = (hone_dim_option_t){name, 0, LARGEST_SIZE};
  }
  return NULL;
}

static hone_status_t bind_dims(hone_cli_t* cli, const hone_info_t* info, bindings_t* out) {
  const hone_dim_option_t* dims;
  int count;
  HONE_TRY(hone_cli_dims(cli, &count, &dims));
  size_t room = (size_t)count;
  for (int64_t i = 0; i < info->n_inputs; i++)
    if (info->inputs[i]->type.rank > 0) room += (size_t)info->inputs[i]->type.rank;
  *out = (bindings_t){count, hone_arena_array(info->arena, room, sizeof *out->items)};
  if (!out->items) return hone_oom();
  if (count) memcpy(out->items, dims, (size_t)count * sizeof *dims);
  for (int64_t i = 0; i < info->n_inputs; i++)
    HONE_TRY(bound_input(info->arena, info->inputs[i], out));
  return NULL;
}

static hone_status_t lower(hone_cli_t* cli, const hone_info_t* info, hone_graph_t** out_graph) {
  bindings_t bindings;
  const hone_allocator_t* allocator;
  HONE_TRY(hone_cli_allocator(cli, &allocator));
  HONE_TRY(bind_dims(cli, info, &bindings));
  hone_lower_options_t options = {.n_dims = bindings.count, .dims = bindings.items};
  return hone_lower_model(info->model, &options, allocator, out_graph);
}

/* A model that does not run has other things to be told of: that is no error here. */
hone_status_t hone_info_find_work(hone_cli_t* cli, hone_info_t* info) {
  hone_graph_t* graph;
  hone_status_t status = lower(cli, info, &graph);
  if (!status) {
    status = sum_up(info, graph);
    hone_graph_destroy(graph);
    return status;
  }
  hone_code_t code = hone_status_code(status);
  if (code != HONE_UNSUPPORTED && code != HONE_INVALID_MODEL) return status;
  info->work.failure = hone_arena_strdup(info->arena, hone_status_message(status));
  hone_status_free(status);
  return info->work.failure ? NULL : hone_oom();
}
