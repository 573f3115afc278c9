/* Writes graphs as text; graph_text.h gives the form. */
#include <inttypes.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "import/graph_text.h"
#include "import/onnx.h"
#include "ir/type_text.h"
#include "ops/lower.h"

enum { MAX_LISTED = 64 }; /* elements of a constant written as numbers */

typedef struct printer {
  hone_str_t* out;
  int flags;
  int indent;
  const hone_allocator_t* allocator;
  hone_status_t status;
} printer_t;

static void put(printer_t* p, const char* text) { hone_str_append(p->out, text); }

static void put_quoted(printer_t* p, const char* text) {
  hone_str_append_json(p->out, text, strlen(text));
}

static void put_bytes(printer_t* p, const void* data, size_t size) {
  static const char digits[] = "0123456789abcdef";
  const unsigned char* bytes = data;
  if (p->flags & HONE_TEXT_SHORT) {
    put(p, "...");
    return;
  }
  put(p, "x\"");
  for (size_t i = 0; i < size; i++) {
    hone_str_append_char(p->out, digits[bytes[i] >> 4]);
    hone_str_append_char(p->out, digits[bytes[i] & 15]);
  }
  put(p, "\"");
}

/* ---- types and dimensions ---- */

static void put_dim(printer_t* p, hone_dim_t dim) {
  size_t length = hone_dim_print(dim, NULL, 0);
  char* text = hone_alloc(p->allocator, length + 1);
  if (!text) {
    p->out->failed = true;
    return;
  }
  hone_dim_print(dim, text, length + 1);
  put(p, text);
  hone_free(p->allocator, text, length + 1);
}

static void put_type(printer_t* p, const hone_type_t* type) {
  size_t length = hone_type_print(type, NULL, 0);
  char* text = hone_alloc(p->allocator, length + 1);
  if (!text) {
    p->out->failed = true;
    return;
  }
  hone_type_print(type, text, length + 1);
  put(p, text);
  hone_free(p->allocator, text, length + 1);
}

static void put_dims(printer_t* p, const char* name, int count, const hone_dim_t* dims) {
  hone_str_appendf(p->out, " %s=[", name);
  for (int i = 0; i < count; i++) {
    if (i) put(p, ", ");
    put_dim(p, dims[i]);
  }
  put(p, "]");
}

/* ---- constants ---- */

static void put_element(printer_t* p, hone_dtype_t dtype, const char* at) {
  if (dtype == HONE_STRING) {
    hone_string_t string;
    memcpy(&string, at, sizeof string);
    hone_str_append_json(p->out, string.data, string.size);
  } else if (hone_dtype_is_float(dtype)) {
    hone_str_append_double(p->out, hone_to_double(dtype, at));
  } else if (dtype == HONE_U64) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    hone_str_appendf(p->out, "%" PRIu64, value);
  } else {
    int64_t value = 0;
    hone_load_i64(dtype, at, 0, 1, &value);
    hone_str_appendf(p->out, "%" PRId64, value);
  }
}

static void put_constant(printer_t* p, const hone_tensor_t* tensor) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  int64_t count = hone_tensor_count(tensor);
  const char* data = hone_tensor_data(tensor);
  bool listed = dtype == HONE_STRING || (count <= MAX_LISTED && !hone_dtype_is_complex(dtype));
  put(p, " ");
  if (hone_tensor_kind(tensor) != HONE_KIND_TENSOR || !listed) {
    put_bytes(p, data, hone_tensor_bytes(tensor));
    return;
  }
  put(p, "{");
  for (int64_t i = 0; i < count; i++) {
    if (i) put(p, ", ");
    put_element(p, dtype, data + (size_t)i * hone_dtype_size(dtype));
  }
  put(p, "}");
}

/* ---- host nodes ---- */

/* The node as an ONNX model of its own. */
static void put_host(printer_t* p, const hone_host_t* host) {
  hone_str_appendf(p->out, " op=\"%s%s%s\" opset=%" PRId64, host->node->domain,
                   host->node->domain[0] ? "::" : "", host->node->op_type, host->opset);
  if (host->deferred) {
    put(p, " deferred=");
    put_quoted(p, host->reason ? host->reason : "");
  }
  put(p, " captures=[");
  for (int i = 0; i < host->n_captures; i++) {
    if (i) put(p, ", ");
    put_quoted(p, host->capture_names[i]);
  }
  put(p, "] node=");
  hone_onnx_node_t node = *host->node;
  hone_onnx_graph_t graph = {.name = "host", .doc = "", .n_nodes = 1, .nodes = &node};
  hone_model_t model = *host->model;
  model.graph = &graph;
  model.opsets = (hone_onnx_opset_t*)(uintptr_t)host->opsets;
  model.n_opsets = host->n_opsets;
  model.n_metadata = 0;
  if (p->flags & HONE_TEXT_SHORT) {
    put(p, "...");
    return;
  }
  void* data;
  size_t size;
  p->status = hone_onnx_save_memory(&model, &data, &size);
  if (p->status) return;
  put_bytes(p, data, size);
  hone_free(model.allocator, data, size);
}

/* ---- nodes ---- */

static const struct {
  int64_t flag;
  const char* name;
} flag_names[] = {
    {HONE_FLAG_SATURATE, "saturate"},     {HONE_FLAG_ROUND_UP, "round_up"},
    {HONE_FLAG_ROUND_DOWN, "round_down"}, {HONE_FLAG_EXCLUSIVE, "exclusive"},
    {HONE_FLAG_DESCENDING, "descending"}, {HONE_FLAG_UNSEEDED, "unseeded"},
    {HONE_FLAG_STAYS, "stays"},           {HONE_FLAG_FLUSHES, "flushes"},
    {HONE_FLAG_BY_PARTS, "by_parts"},
};

static void put_flags(printer_t* p, int64_t flags) {
  for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++)
    if (flags & flag_names[i].flag) hone_str_appendf(p->out, " %s", flag_names[i].name);
}

static void put_attributes(printer_t* p, const hone_node_t* node) {
  int fields = hone_prim_info(node->prim)->fields;
  if (fields & HONE_USES_COMBINE)
    hone_str_appendf(p->out, " combine=%s", hone_combine_name(node->combine));
  if (fields & HONE_USES_DTYPE) hone_str_appendf(p->out, " dtype=%s", hone_dtype_name(node->dtype));
  if (fields & HONE_USES_AXES) {
    put(p, " axes=[");
    for (int i = 0; i < node->n_axes; i++)
      hone_str_appendf(p->out, "%s%" PRId64, i ? ", " : "", node->axes[i]);
    put(p, "]");
  }
  if (fields & HONE_USES_BATCH) hone_str_appendf(p->out, " batch=%d", node->n_batch);
  if (fields & HONE_USES_CARRIED) hone_str_appendf(p->out, " carried=%d", node->n_carried);
  if (fields & HONE_USES_LABEL) hone_str_appendf(p->out, " label=%s", node->label);
  if (fields & HONE_USES_SEED) hone_str_appendf(p->out, " seed=%" PRId64, node->seed);
  if (fields & HONE_USES_SHAPE) put_dims(p, "shape", node->n_dims, node->shape);
  if (fields & HONE_USES_LO) put_dims(p, "lo", node->n_dims, node->lo);
  if (fields & HONE_USES_HI) put_dims(p, "hi", node->n_dims, node->hi);
  if (fields & HONE_USES_STEP) put_dims(p, "step", node->n_dims, node->step);
  if (fields & HONE_USES_FLAGS) put_flags(p, node->flags);
  if (fields & HONE_USES_CONSTANT) put_constant(p, node->constant);
  if (fields & HONE_USES_HOST) put_host(p, node->host);
}

static void put_result(printer_t* p, const hone_value_t* value) {
  hone_str_appendf(p->out, "%%%d ", value->id);
  if (value->name) {
    put_quoted(p, value->name);
    put(p, " ");
  }
  if (!value->binds) return;
  put(p, "<");
  for (const hone_bind_t* bind = value->binds; bind; bind = bind->next)
    hone_str_appendf(p->out, "%s%d %s %" PRId64, bind == value->binds ? "" : ", ", bind->symbol,
                     bind->is_dim ? "dim" : "element", bind->index);
  put(p, "> ");
}

static void put_indent(printer_t* p) {
  for (int i = 0; i < p->indent; i++) put(p, "  ");
}

static void put_graph(printer_t* p, const char* keyword, const hone_graph_t* graph);

static void put_node(printer_t* p, const hone_node_t* node) {
  put_indent(p);
  for (int i = 0; i < node->n_outputs; i++) put_result(p, node->outputs[i]);
  hone_str_appendf(p->out, "= %s", hone_prim_info(node->prim)->name);
  for (int i = 0; i < node->n_inputs; i++) {
    if (node->inputs[i])
      hone_str_appendf(p->out, " %%%d", node->inputs[i]->id);
    else
      put(p, " _");
  }
  put_attributes(p, node);
  put(p, " :");
  for (int i = 0; i < node->n_outputs; i++) {
    put(p, i ? ", " : " ");
    put_type(p, &node->outputs[i]->type);
  }
  if (node->origin) {
    put(p, " @ ");
    put_quoted(p, node->origin);
  }
  put(p, "\n");
  p->indent++;
  for (int i = 0; i < node->n_regions; i++) put_graph(p, "region", node->regions[i]);
  p->indent--;
}

static void put_graph(printer_t* p, const char* keyword, const hone_graph_t* graph) {
  put_indent(p);
  hone_str_appendf(p->out, "%s ", keyword);
  put_quoted(p, graph->name);
  put(p, " {\n");
  p->indent++;
  for (int n = 0; n < graph->n_nodes && !p->status; n++) put_node(p, graph->nodes[n]);
  put_indent(p);
  put(p, "return");
  for (int i = 0; i < graph->n_outputs; i++) {
    hone_str_appendf(p->out, " %%%d", graph->outputs[i]->id);
    if (graph->output_names && graph->output_names[i]) {
      put(p, " ");
      put_quoted(p, graph->output_names[i]);
    }
  }
  p->indent--;
  put(p, "\n");
  put_indent(p);
  put(p, "}\n");
}

static const char* const origins[] = {[HONE_SYMBOL_INPUT] = "input",
                                      [HONE_SYMBOL_RESULT] = "result",
                                      [HONE_SYMBOL_ELEMENT] = "element"};

hone_status_t hone_graph_print(const hone_graph_t* graph, int flags, hone_str_t* out) {
  printer_t p = {.out = out, .flags = flags, .allocator = graph->allocator};
  put(&p, "hone-graph 1\n");
  for (int i = 0; i < hone_dims_symbol_count(graph->dims); i++) {
    const hone_symbol_t* symbol = hone_dims_symbol(graph->dims, i);
    put(&p, "symbol ");
    put_quoted(&p, symbol->name);
    hone_str_appendf(out, " %s %" PRId64 " %" PRId64 "\n", origins[symbol->origin], symbol->min,
                     symbol->max);
  }
  put_graph(&p, "graph", graph);
  if (!p.status && out->failed) p.status = hone_oom();
  return p.status;
}
