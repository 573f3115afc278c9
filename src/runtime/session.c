/* Sessions: model to graph to program, and checked runs of it. */
#include "hone/session.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "ir/graph.h"
#include "ir/type_text.h"
#include "ops/lower.h"

struct hone_session {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_graph_t* graph;
  hone_program_t* program;
  atomic_uint_fast64_t runs; /* so far; each draws other random numbers */
};

/* ---- making ---- */

static hone_status_t find_backend(const char* device, const hone_backend_t** out_backend) {
  *out_backend = hone_backend_find(device);
  if (*out_backend) return NULL;
  return hone_status_make(HONE_NOT_FOUND, "there is no device '%s'; see `hone devices`", device);
}

static hone_status_t lower(const hone_model_t* model, const hone_session_options_t* options,
                           hone_session_t* session) {
  size_t bytes = (size_t)options->n_dims * sizeof(hone_dim_binding_t);
  hone_dim_binding_t* bindings = hone_alloc(session->allocator, bytes);
  if (!bindings) return hone_oom();
  for (int i = 0; i < options->n_dims; i++)
    bindings[i] =
        (hone_dim_binding_t){options->dims[i].name, options->dims[i].min, options->dims[i].max};
  hone_lower_options_t lowering = {.n_bindings = options->n_dims, .bindings = bindings};
  hone_status_t status = hone_lower_model(model, &lowering, session->allocator, &session->graph);
  hone_free(session->allocator, bindings, bytes);
  return status;
}

static hone_status_t build(const hone_model_t* model, const hone_session_options_t* options,
                           hone_session_t* session) {
  HONE_TRY(find_backend(options->device ? options->device : "ref", &session->backend));
  HONE_TRY(lower(model, options, session));
  hone_compile_options_t compile = {.struct_size = sizeof compile, .allocator = session->allocator};
  return session->backend->compile(session->graph, &compile, &session->program);
}

hone_status_t hone_session_create(const hone_model_t* model, const hone_session_options_t* options,
                                  hone_session_t** out_session) {
  static const hone_session_options_t defaults = {0};
  if (!options) options = &defaults;
  *out_session = NULL;
  const hone_allocator_t* allocator =
      options->allocator ? options->allocator : hone_allocator_system();
  hone_session_t* session = hone_alloc(allocator, sizeof *session);
  if (!session) return hone_oom();
  session->allocator = allocator;
  hone_status_t status = build(model, options, session);
  if (status)
    hone_session_destroy(session);
  else
    *out_session = session;
  return status;
}

void hone_session_destroy(hone_session_t* session) {
  if (!session) return;
  if (session->program) session->backend->destroy(session->program);
  hone_graph_destroy(session->graph);
  hone_free(session->allocator, session, sizeof *session);
}

/* ---- looking ---- */

int hone_session_input_count(const hone_session_t* session) { return session->graph->n_inputs; }
int hone_session_output_count(const hone_session_t* session) { return session->graph->n_outputs; }

static const hone_value_t* input_at(const hone_session_t* session, int index) {
  return index >= 0 && index < session->graph->n_inputs ? session->graph->inputs[index] : NULL;
}

static const hone_value_t* output_at(const hone_session_t* session, int index) {
  return index >= 0 && index < session->graph->n_outputs ? session->graph->outputs[index] : NULL;
}

const char* hone_session_input_name(const hone_session_t* session, int index) {
  const hone_value_t* value = input_at(session, index);
  return value ? value->name : NULL;
}

const char* hone_session_output_name(const hone_session_t* session, int index) {
  return output_at(session, index) ? session->graph->output_names[index] : NULL;
}

static size_t print_type(const hone_value_t* value, char* buffer, size_t size) {
  if (value) return hone_type_print(&value->type, buffer, size);
  if (size) buffer[0] = 0;
  return 0;
}

size_t hone_session_input_type(const hone_session_t* session, int index, char* buffer,
                               size_t size) {
  return print_type(input_at(session, index), buffer, size);
}

size_t hone_session_output_type(const hone_session_t* session, int index, char* buffer,
                                size_t size) {
  return print_type(output_at(session, index), buffer, size);
}

hone_dtype_t hone_session_input_dtype(const hone_session_t* session, int index) {
  const hone_value_t* value = input_at(session, index);
  return value && value->type.kind == HONE_TYPE_TENSOR ? value->type.dtype : HONE_UNKNOWN;
}

int hone_session_input_shape(const hone_session_t* session, int index, int64_t* out_dims) {
  const hone_value_t* value = input_at(session, index);
  if (!value || value->type.kind != HONE_TYPE_TENSOR) return -1;
  for (int i = 0; i < value->type.rank; i++) {
    hone_dim_t dim = value->type.dims[i];
    out_dims[i] = dim.expr ? -1 : dim.k;
  }
  return value->type.rank;
}

/* ---- running ---- */

static hone_status_t wrong_input(const hone_value_t* want, const hone_tensor_t* got) {
  char wanted[256], given[256];
  hone_type_print(&want->type, wanted, sizeof wanted);
  hone_tensor_type_print(got, given, sizeof given);
  return hone_status_make(HONE_INVALID_ARGUMENT, "input '%s' is %s, but the model takes %s",
                          want->name, given, wanted);
}

/* What symbols of the inputs stand for, so that equal names get equal sizes. */
typedef struct symbol_table {
  int64_t* values; /* -1: not yet seen */
} symbol_table_t;

static hone_status_t check_extent(const hone_value_t* want, const hone_tensor_t* got, int axis,
                                  symbol_table_t* table) {
  hone_dim_t dim = want->type.dims[axis];
  int64_t extent = hone_tensor_dims(got)[axis];
  const hone_symbol_t* symbol = hone_dim_as_symbol(dim);
  if (!symbol) return dim.expr || dim.k == extent ? NULL : wrong_input(want, got);
  if (extent < symbol->min || extent > symbol->max)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "input '%s': axis %d is %" PRId64 ", but '%s' is limited to %" PRId64
                            " to %" PRId64,
                            want->name, axis, extent, symbol->name, symbol->min, symbol->max);
  int64_t* known = &table->values[symbol->id];
  if (*known >= 0 && *known != extent)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "input '%s': axis %d is %" PRId64 ", but '%s' is %" PRId64
                            " in an earlier input",
                            want->name, axis, extent, symbol->name, *known);
  *known = extent;
  return NULL;
}

static bool kind_fits(const hone_type_t* want, const hone_tensor_t* got) {
  switch (want->kind) {
    case HONE_TYPE_TENSOR:
      return hone_tensor_kind(got) == HONE_KIND_TENSOR;
    case HONE_TYPE_SEQUENCE:
      return hone_tensor_kind(got) == HONE_KIND_SEQUENCE;
    case HONE_TYPE_MAP:
      return hone_tensor_kind(got) == HONE_KIND_MAP;
    default:
      return true;
  }
}

static hone_status_t check_input(const hone_value_t* want, const hone_tensor_t* got,
                                 symbol_table_t* table) {
  if (!got) return hone_status_make(HONE_INVALID_ARGUMENT, "input '%s' is missing", want->name);
  const hone_type_t* type = &want->type;
  if (!kind_fits(type, got)) return wrong_input(want, got);
  if (type->kind != HONE_TYPE_TENSOR) return NULL;
  bool dtype_ok = type->dtype == HONE_UNKNOWN || type->dtype == hone_tensor_dtype(got);
  if (!dtype_ok || (type->rank >= 0 && type->rank != hone_tensor_rank(got)))
    return wrong_input(want, got);
  for (int i = 0; i < type->rank; i++) HONE_TRY(check_extent(want, got, i, table));
  return NULL;
}

static hone_status_t check_inputs(const hone_session_t* session, int n_inputs,
                                  hone_tensor_t* const* inputs) {
  const hone_graph_t* graph = session->graph;
  if (n_inputs != graph->n_inputs)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%d inputs given; the model takes %d", n_inputs,
                            graph->n_inputs);
  size_t count = (size_t)hone_dims_symbol_count(graph->dims);
  symbol_table_t table = {hone_alloc(session->allocator, count * sizeof(int64_t))};
  if (!table.values) return hone_oom();
  memset(table.values, 0xff, count * sizeof(int64_t));
  hone_status_t status = NULL;
  for (int i = 0; i < n_inputs && !status; i++)
    status = check_input(graph->inputs[i], inputs[i], &table);
  hone_free(session->allocator, table.values, count * sizeof(int64_t));
  return status;
}

hone_status_t hone_session_run(hone_session_t* session, const hone_run_options_t* options,
                               int n_inputs, hone_tensor_t* const* inputs, int n_outputs,
                               hone_tensor_t** out_outputs) {
  hone_run_options_t full = options ? *options : (hone_run_options_t){.struct_size = sizeof full};
  if (!full.seed) full.seed = atomic_fetch_add(&session->runs, 1) + 1;
  memset(out_outputs, 0, (size_t)n_outputs * sizeof *out_outputs);
  if (n_outputs != session->graph->n_outputs)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%d outputs wanted; the model has %d", n_outputs,
                            session->graph->n_outputs);
  HONE_TRY(check_inputs(session, n_inputs, inputs));
  return session->backend->run(session->program, &full, n_inputs, inputs, n_outputs, out_outputs);
}
