/* Sessions: model to graph to program, and checked runs of it. */
#include "hone/session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "ir/graph.h"
#include "ir/type_text.h"
#include "ir/verify.h"
#include "ops/lower.h"
#include "runtime/device.h"
#include "runtime/engine_cache.h"
#include "runtime/engine_impl.h"
#include "runtime/precision.h"
#include "runtime/session_graph.h"
#include "runtime/session_impl.h"

/* The model in one reading of its dimension names. */
typedef struct variant {
  hone_graph_t* graph;
  hone_program_t* program;
  hone_pass_report_t notes; /* no arena where none are kept */
  hone_shared_file_t* file; /* of the engine cache, which the program was found in; may be NULL */
  hone_engine_keeping_t* keeping; /* there, for the next one; may be NULL */
  int n_deferred;                 /* nodes that wait for a run, and are interpreted */
} variant_t;

/* Sizes of which each gets a variant of its own, where that pays. */
enum { MOST_EXACT = 4 };

struct hone_session {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;          /* of a backend that runs kernels; NULL otherwise */
  hone_engine_t* engine;          /* whose session it is; owns device, graph and program then */
  const hone_model_t* model;      /* NULL: there is an engine */
  hone_session_options_t options; /* dims and what is said of tuning, copied */
  hone_precision_t precision;
  const char* precision_name;
  int n_dims_room;  /* entries that they were made for */
  variant_t strict; /* equal names are equal sizes */
  /* Equal names of different inputs may differ, as models in the wild have it;
   * made when a run first asks for it. */
  variant_t loose;
  /* Of either, for sizes as runs had them: made where nodes waited for the sizes. */
  variant_t exact[MOST_EXACT];
  int n_exact;
  bool exact_is_vain;            /* what waits does so for more than sizes */
  pthread_mutex_t variants_lock; /* of loose and exact */
  atomic_uint_fast64_t runs;     /* so far; each draws other random numbers */
};

/* ---- making ---- */

/* How names of dimensions are read. */
typedef struct reading {
  bool loose;
  hone_tensor_t* const* inputs; /* of exactly these sizes; NULL: of any */
} reading_t;

static hone_status_t lower(const hone_session_t* session, const reading_t* reading,
                           hone_graph_t** out_graph) {
  const hone_session_options_t* options = &session->options;
  hone_lower_options_t lowering = {.n_dims = options->n_dims,
                                   .dims = options->dims,
                                   .names_are_per_input = reading->loose,
                                   .inputs = reading->inputs};
  return hone_lower_model(session->model, &lowering, session->allocator, out_graph);
}

static void drop_variant(const hone_session_t* session, variant_t* variant) {
  if (session->engine) return;
  hone_engine_keeping_finish(variant->keeping);
  if (session->device)
    hone_program_destroy(variant->program);
  else if (variant->program)
    session->backend->destroy(variant->program);
  hone_graph_destroy(variant->graph);
  hone_shared_file_release(variant->file);
  hone_pass_report_destroy(&variant->notes);
  *variant = (variant_t){0};
}

/* A backend that takes whole graphs gets the model's own arithmetic, but for the
 * precision that was asked for, rounded where other backends round. */
static hone_status_t narrow(const hone_session_t* session, hone_graph_t* graph) {
  static const char* const only[] = {"precision", "reread"};
  const hone_pass_options_t options = {
      .n_only = 2, .only = only, .precision = session->precision.dtype};
  return session->precision.dtype == HONE_UNKNOWN ? NULL : hone_passes_run(graph, &options, NULL);
}

static hone_status_t compile(hone_session_t* session, variant_t* variant) {
  if (session->device) {
    bool has_notes = session->options.explain;
    const hone_pass_options_t passes = {.precision = session->precision.dtype,
                                        .bf16x3 = session->precision.bf16x3,
                                        .exact = session->options.exact,
                                        .details = has_notes};
    hone_compile_settings_t settings = {.allocator = session->allocator,
                                        .passes = &passes,
                                        .spends_constants = true,
                                        .no_tuned = session->options.no_tuned,
                                        .tuned_database = session->options.tuned_database};
    if (has_notes) {
      HONE_TRY(hone_pass_report_create(session->allocator, &variant->notes));
      settings.pass_report = &variant->notes;
    }
    return hone_compile(variant->graph, session->backend, session->device, &settings, NULL,
                        &variant->program);
  }
  HONE_TRY(narrow(session, variant->graph));
  hone_compile_options_t options = {.struct_size = sizeof options, .allocator = session->allocator};
  return session->backend->compile(variant->graph, &options, &variant->program);
}

/* The graph is lowered from the model where there is one; otherwise it is there. */
static hone_status_t build_new(hone_session_t* session, const reading_t* reading, variant_t* out) {
  if (session->model) HONE_TRY(lower(session, reading, &out->graph));
#ifndef NDEBUG
  HONE_TRY(hone_graph_verify(out->graph));
#endif
  hone_status_t status = compile(session, out);
  if (status) drop_variant(session, out);
  out->n_deferred = status ? 0 : hone_lower_deferred_count(out->graph);
  return status;
}

/* From the engine cache if it is there; else it is kept there, for the next one. */
static hone_status_t build_kept(hone_session_t* session, const reading_t* reading,
                                const hone_engine_request_t* request, hone_cache_key_t key,
                                variant_t* out) {
  hone_engine_found_t found;
  if (hone_engine_cache_find(request, key, &found)) {
    *out = (variant_t){.graph = found.graph, .program = found.program, .file = found.file};
    return NULL;
  }
  HONE_TRY(build_new(session, reading, out));
  out->keeping = hone_engine_cache_keep(request, key, out->program, out->graph);
  return NULL;
}

static hone_status_t build(hone_session_t* session, const reading_t* reading, variant_t* out) {
  const hone_session_options_t* options = &session->options;
  const hone_pass_options_t passes = {.precision = session->precision.dtype,
                                      .bf16x3 = session->precision.bf16x3,
                                      .exact = options->exact};
  hone_engine_request_t request = {.allocator = session->allocator,
                                   .model = session->model,
                                   .backend = session->backend,
                                   .device = session->device,
                                   .n_dims = options->n_dims,
                                   .dims = options->dims,
                                   .names_are_per_input = reading->loose,
                                   .passes = &passes,
                                   .precision = session->precision_name,
                                   .no_tuned = options->no_tuned,
                                   .tuned_database = options->tuned_database};
  hone_cache_key_t key;
  bool may_be_kept = session->model && session->device && !reading->inputs && !options->explain &&
                     !options->no_engine_cache;
  if (may_be_kept && hone_engine_cache_key(&request, &key))
    return build_kept(session, reading, &request, key, out);
  return build_new(session, reading, out);
}

/* "cpu:1" is the second device of its backend, "cpu" the first. */
static hone_status_t open_device(hone_session_t* session, const hone_session_options_t* options) {
  if (!hone_backend_runs_kernels(session->backend)) return NULL;
  hone_open_options_t open = {.struct_size = sizeof open,
                              .allocator = session->allocator,
                              .threads = options->threads,
                              .deterministic = options->deterministic,
                              .guard = options->guard};
  return hone_device_open(options->device, &open, &session->backend, &session->device);
}

static hone_status_t copy_text(const hone_session_t* session, const char* text, const char** out) {
  size_t length = strlen(text) + 1;
  char* copy = hone_alloc(session->allocator, length);
  if (!copy) return hone_oom();
  memcpy(copy, text, length);
  *out = copy;
  return NULL;
}

static void drop_text(const hone_session_t* session, const char* text) {
  if (text) hone_free(session->allocator, (void*)(uintptr_t)text, strlen(text) + 1);
}

/* Copies the sizes and their names, which the caller may free. */
static hone_status_t copy_dims(hone_session_t* session, const hone_session_options_t* from) {
  size_t count = (size_t)from->n_dims;
  hone_dim_option_t* dims = hone_alloc(session->allocator, count * sizeof *dims);
  if (!dims) return hone_oom();
  session->options.dims = dims;
  for (size_t i = 0; i < count; i++) {
    const char* name = NULL;
    HONE_TRY(copy_text(session, from->dims[i].name, &name));
    dims[i] = (hone_dim_option_t){name, from->dims[i].min, from->dims[i].max};
    session->options.n_dims++;
  }
  return NULL;
}

static hone_status_t copy_tuning(hone_session_t* session, const hone_session_options_t* from) {
  session->options.no_tuned = from->no_tuned;
  session->options.exact = from->exact;
  session->options.explain = from->explain;
  session->options.no_engine_cache = from->no_engine_cache;
  if (!from->tuned_database) return NULL;
  return copy_text(session, from->tuned_database, &session->options.tuned_database);
}

static void drop_options(hone_session_t* session, int room) {
  const hone_dim_option_t* dims = session->options.dims;
  drop_text(session, session->options.tuned_database);
  if (!dims) return;
  for (int i = 0; i < session->options.n_dims; i++) drop_text(session, dims[i].name);
  hone_free(session->allocator, (void*)(uintptr_t)dims, (size_t)room * sizeof *dims);
}

/* Of a model, or of a graph, which it takes over. */
static hone_status_t create(const hone_model_t* model, hone_graph_t* graph,
                            const hone_session_options_t* given, hone_session_t** out_session) {
  hone_session_options_t taken;
  const hone_session_options_t* options = &taken;
  hone_options_take(given, sizeof taken, &taken);
  const hone_allocator_t* allocator =
      options->allocator ? options->allocator : hone_allocator_system();
  const hone_backend_t* backend;
  hone_status_t status = hone_device_backend(options->device ? options->device : "ref", &backend);
  hone_session_t* session = status ? NULL : hone_alloc(allocator, sizeof *session);
  if (!session) {
    hone_graph_destroy(graph);
    return status ? status : hone_oom();
  }
  session->allocator = allocator;
  session->backend = backend;
  session->model = model;
  session->strict.graph = graph;
  session->n_dims_room = options->n_dims;
  pthread_mutex_init(&session->variants_lock, NULL);
  session->precision_name = hone_precision_name(options->precision);
  status = hone_precision_parse(options->precision, model, &session->precision);
  if (!status) status = copy_dims(session, options);
  if (!status) status = copy_tuning(session, options);
  if (!status) status = open_device(session, options);
  if (!status) status = build(session, &(reading_t){0}, &session->strict);
  if (status)
    hone_session_destroy(session);
  else
    *out_session = session;
  return status;
}

hone_status_t hone_session_create(const hone_model_t* model, const hone_session_options_t* options,
                                  hone_session_t** out_session) {
  *out_session = NULL;
  return create(model, NULL, options, out_session);
}

hone_status_t hone_session_create_from_graph(hone_graph_t* graph,
                                             const hone_session_options_t* options,
                                             hone_session_t** out_session) {
  *out_session = NULL;
  return create(NULL, graph, options, out_session);
}

void hone_session_destroy(hone_session_t* session) {
  if (!session) return;
  drop_variant(session, &session->strict);
  drop_variant(session, &session->loose);
  for (int i = 0; i < session->n_exact; i++) drop_variant(session, &session->exact[i]);
  if (session->device && !session->engine) session->backend->close(session->device);
  drop_options(session, session->n_dims_room);
  pthread_mutex_destroy(&session->variants_lock);
  hone_free(session->allocator, session, sizeof *session);
}

hone_status_t hone_session_create_from_engine(hone_engine_t* engine, hone_session_t** out_session) {
  *out_session = NULL;
  if (!engine->runs_here)
    return hone_status_make(HONE_UNAVAILABLE,
                            "the engine was compiled for %s, not for this machine",
                            engine->program->properties.target);
  hone_session_t* session = hone_alloc(engine->allocator, sizeof *session);
  if (!session) return hone_oom();
  session->allocator = engine->allocator;
  session->backend = engine->backend;
  session->device = engine->device;
  session->engine = engine;
  session->strict = (variant_t){.graph = engine->graph, .program = engine->program};
  session->precision_name = engine->precision;
  pthread_mutex_init(&session->variants_lock, NULL);
  *out_session = session;
  return NULL;
}

/* ---- looking ---- */

void hone_session_describe(const hone_session_t* session, hone_session_info_t* out_info) {
  *out_info = (hone_session_info_t){
      .device = session->backend->name, .target = "", .precision = session->precision_name};
  if (!session->device) return;
  const hone_program_t* program = session->strict.program;
  out_info->target = program->properties.target;
  out_info->n_kernels = program->n_kernels;
  out_info->n_interpreted = hone_program_interpreted(program);
  out_info->weight_bytes = hone_program_weight_bytes(program);
  out_info->from_cache = session->strict.file || (session->engine && session->engine->from_cache);
}

int hone_session_input_count(const hone_session_t* session) {
  return session->strict.graph->n_inputs;
}
int hone_session_output_count(const hone_session_t* session) {
  return session->strict.graph->n_outputs;
}

static const hone_value_t* input_at(const hone_session_t* session, int index) {
  return index >= 0 && index < session->strict.graph->n_inputs
             ? session->strict.graph->inputs[index]
             : NULL;
}

static const hone_value_t* output_at(const hone_session_t* session, int index) {
  return index >= 0 && index < session->strict.graph->n_outputs
             ? session->strict.graph->outputs[index]
             : NULL;
}

const char* hone_session_input_name(const hone_session_t* session, int index) {
  const hone_value_t* value = input_at(session, index);
  return value ? value->name : NULL;
}

const char* hone_session_output_name(const hone_session_t* session, int index) {
  return output_at(session, index) ? session->strict.graph->output_names[index] : NULL;
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
enum { CONFLICT_SIZE = 200 };

typedef struct symbol_table {
  int64_t* values; /* -1: not yet seen */
  /* Says which name has stood for two sizes; "" while none has. */
  char* conflict;
} symbol_table_t;

static hone_status_t check_extent(const hone_value_t* want, const hone_tensor_t* got, int axis,
                                  symbol_table_t* table) {
  hone_dim_t dim = want->type.dims[axis];
  int64_t extent = got->dims[axis];
  if (!dim.expr) return dim.k == extent ? NULL : wrong_input(want, got);
  const hone_symbol_t* symbol = hone_dim_as_symbol(dim);
  if (!symbol) return NULL;
  if (extent < symbol->min || extent > symbol->max)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "input '%s': axis %d is %" PRId64 ", but '%s' is limited to %" PRId64
                            " to %" PRId64,
                            want->name, axis, extent, symbol->name, symbol->min, symbol->max);
  int64_t* known = &table->values[symbol->id];
  if (*known >= 0 && *known != extent)
    snprintf(table->conflict, CONFLICT_SIZE,
             "axis %d of input '%s' is %" PRId64 ", but '%s' is %" PRId64 " in an earlier input",
             axis, want->name, extent, symbol->name, *known);
  *known = extent;
  return NULL;
}

static bool kind_fits(const hone_type_t* want, const hone_tensor_t* got) {
  switch (want->kind) {
    case HONE_TYPE_TENSOR:
      return got->kind == HONE_KIND_TENSOR;
    case HONE_TYPE_SEQUENCE:
      return got->kind == HONE_KIND_SEQUENCE;
    case HONE_TYPE_MAP:
      return got->kind == HONE_KIND_MAP;
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
  bool dtype_ok = type->dtype == HONE_UNKNOWN || type->dtype == got->dtype;
  if (!dtype_ok || (type->rank >= 0 && type->rank != got->rank)) return wrong_input(want, got);
  for (int i = 0; i < type->rank; i++) HONE_TRY(check_extent(want, got, i, table));
  return NULL;
}

static hone_status_t check_inputs(const hone_session_t* session, int n_inputs,
                                  hone_tensor_t* const* inputs, char out_conflict[CONFLICT_SIZE]) {
  const hone_graph_t* graph = session->strict.graph;
  if (n_inputs != graph->n_inputs)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%d inputs given; the model takes %d", n_inputs,
                            graph->n_inputs);
  enum { FEW_SYMBOLS = 32 };
  int64_t few[FEW_SYMBOLS];
  size_t bytes = (size_t)hone_dims_symbol_count(graph->dims) * sizeof(int64_t);
  symbol_table_t table = {.values = few, .conflict = out_conflict};
  if (bytes > sizeof few) table.values = hone_alloc(session->allocator, bytes);
  if (!table.values) return hone_oom();
  memset(table.values, 0xff, bytes);
  hone_status_t status = NULL;
  for (int i = 0; i < n_inputs && !status; i++)
    status = check_input(graph->inputs[i], inputs[i], &table);
  if (table.values != few) hone_free(session->allocator, table.values, bytes);
  return status;
}

/* The loose reading, made by whoever comes first. */
static hone_status_t make_loose(hone_session_t* session) {
  if (!session->model)
    return hone_status_make(HONE_INVALID_ARGUMENT, "what runs was compiled for equal sizes");
  pthread_mutex_lock(&session->variants_lock);
  hone_status_t status = NULL;
  if (!session->loose.program)
    status = build(session, &(reading_t){.loose = true}, &session->loose);
  pthread_mutex_unlock(&session->variants_lock);
  return status;
}

static bool has_sizes(const variant_t* exact, int n_inputs, hone_tensor_t* const* inputs) {
  for (int i = 0; i < n_inputs; i++) {
    const hone_type_t* type = &exact->graph->inputs[i]->type;
    for (int k = 0; k < type->rank; k++)
      if (!hone_dim_is(type->dims[k], hone_tensor_dims(inputs[i])[k])) return false;
  }
  return true;
}

/* Where most nodes wait for more than sizes, and where it cannot be made, the one for all sizes
 * stays in use. */
static const variant_t* make_exact(hone_session_t* session, int n_deferred,
                                   hone_tensor_t* const* inputs) {
  variant_t* made = &session->exact[session->n_exact];
  hone_status_t status = build(session, &(reading_t){.inputs = inputs}, made);
  if (!status && 2 * made->n_deferred < n_deferred) return &session->exact[session->n_exact++];
  session->exact_is_vain = true;
  hone_status_free(status);
  drop_variant(session, made);
  return NULL;
}

/* The variant for just these sizes; NULL: there is none. */
static const variant_t* find_exact(hone_session_t* session, int n_deferred, int n_inputs,
                                   hone_tensor_t* const* inputs) {
  const variant_t* found = NULL;
  pthread_mutex_lock(&session->variants_lock);
  for (int i = 0; i < session->n_exact && !found; i++)
    if (has_sizes(&session->exact[i], n_inputs, inputs)) found = &session->exact[i];
  if (!found && !session->exact_is_vain && session->n_exact < MOST_EXACT)
    found = make_exact(session, n_deferred, inputs);
  pthread_mutex_unlock(&session->variants_lock);
  return found;
}

/* The reading that the inputs call for, with what is odd about them. */
static hone_status_t find_variant(hone_session_t* session, int n_inputs,
                                  hone_tensor_t* const* inputs, char out_conflict[CONFLICT_SIZE],
                                  const variant_t** out_variant) {
  *out_variant = &session->strict;
  *out_conflict = 0;
  HONE_TRY(check_inputs(session, n_inputs, inputs, out_conflict));
  if (*out_conflict) {
    *out_variant = &session->loose;
    HONE_TRY(hone_status_annotate(make_loose(session), "%s", out_conflict));
  }
  int n_deferred = session->device && session->model ? (*out_variant)->n_deferred : 0;
  const variant_t* exact = n_deferred ? find_exact(session, n_deferred, n_inputs, inputs) : NULL;
  if (exact) *out_variant = exact;
  return NULL;
}

hone_status_t hone_session_parts(hone_session_t* session, int n_inputs,
                                 hone_tensor_t* const* inputs, hone_session_parts_t* out_parts) {
  const variant_t* variant = &session->strict;
  char conflict[CONFLICT_SIZE];
  if (n_inputs) HONE_TRY(find_variant(session, n_inputs, inputs, conflict, &variant));
  *out_parts = (hone_session_parts_t){.allocator = session->allocator,
                                      .backend = session->backend,
                                      .device = session->device,
                                      .program = session->device ? variant->program : NULL,
                                      .model = session->model,
                                      .notes = variant->notes.arena ? &variant->notes : NULL};
  return NULL;
}

hone_status_t hone_session_run(hone_session_t* session, const hone_run_options_t* options,
                               int n_inputs, hone_tensor_t* const* inputs, int n_outputs,
                               hone_tensor_t** out_outputs) {
  hone_run_options_t full;
  hone_options_take(options, sizeof full, &full);
  if (!full.seed) full.seed = atomic_fetch_add(&session->runs, 1) + 1;
  memset(out_outputs, 0, (size_t)n_outputs * sizeof *out_outputs);
  if (n_outputs != session->strict.graph->n_outputs)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%d outputs wanted; the model has %d", n_outputs,
                            session->strict.graph->n_outputs);
  char conflict[CONFLICT_SIZE];
  const variant_t* variant;
  HONE_TRY(find_variant(session, n_inputs, inputs, conflict, &variant));
  hone_status_t status = (session->device ? hone_program_run : session->backend->run)(
      variant->program, &full, n_inputs, inputs, n_outputs, out_outputs);
  return conflict[0] ? hone_status_annotate(status, "%s", conflict) : status;
}
