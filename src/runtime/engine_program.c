/* A program, part by part, in both directions. */
#include "runtime/engine_program.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "import/graph_text.h"

enum { MOST = 1 << 26 };

typedef struct transfer {
  hone_io_t io;
  hone_program_t* program;
  hone_routine_t* routine; /* the one at hand */
  hone_status_t status;    /* of what io does not do */
  const uint8_t* data;     /* of weights; reading */
  size_t data_size, data_at;
  hone_shared_file_t* file; /* that the data lie in; may be NULL */
} transfer_t;

static bool reads(const transfer_t* t) { return !hone_io_writes(&t->io); }
static bool failed(const transfer_t* t) { return t->status || hone_io_failed(&t->io); }

static void keep(transfer_t* t, hone_status_t status) {
  if (t->status)
    hone_status_free(status);
  else
    t->status = status;
}

/* ---- symbols ---- */

static void io_symbols(transfer_t* t) {
  int count = hone_dims_symbol_count(t->program->dims);
  hone_io_count(&t->io, &count, 24);
  for (int i = 0; i < count && !failed(t); i++) {
    hone_symbol_t symbol = {.name = ""};
    if (!reads(t)) symbol = *hone_dims_symbol(t->program->dims, i);
    int origin = (int)symbol.origin;
    hone_io_text(&t->io, &symbol.name);
    hone_io_int(&t->io, &origin, 0, HONE_SYMBOL_ELEMENT);
    hone_io_i64(&t->io, &symbol.min);
    hone_io_i64(&t->io, &symbol.max);
    if (!reads(t) || failed(t)) continue;
    hone_dim_symbol(t->program->dims, symbol.name, (hone_symbol_origin_t)origin, symbol.min,
                    symbol.max);
    if (hone_dims_out_of_memory(t->program->dims)) t->io.out_of_memory = true;
    if (hone_dims_symbol_count(t->program->dims) != i + 1)
      hone_io_fail(&t->io, "a symbol is there twice");
  }
}

static void io_definitions(transfer_t* t) {
  hone_program_t* program = t->program;
  int last = hone_dims_symbol_count(program->dims) - 1;
  hone_io_count(&t->io, &program->n_definitions, 8);
  program->definitions = hone_io_array(&t->io, program->definitions, program->n_definitions,
                                       sizeof *program->definitions);
  for (int i = 0; i < program->n_definitions && !failed(t); i++) {
    hone_io_int(&t->io, &program->definitions[i].symbol, 0, last);
    hone_io_dim(&t->io, &program->definitions[i].expression);
  }
}

/* ---- weights ---- */

static size_t aligned(size_t at) {
  return (at + HONE_WEIGHT_ALIGNMENT - 1) & ~(size_t)(HONE_WEIGHT_ALIGNMENT - 1);
}

size_t hone_weight_offset(const hone_program_t* program, int index) {
  size_t at = 0;
  for (int i = 0; i < index; i++)
    if (program->weights[i].tensor->dtype != HONE_STRING)
      at = aligned(at + program->weights[i].tensor->bytes);
  return at;
}

static void io_strings(transfer_t* t, hone_tensor_t* tensor) {
  hone_string_t* strings = tensor->data;
  for (int64_t i = 0; i < tensor->count && !failed(t); i++) {
    int length = reads(t) ? 0 : (int)strings[i].size;
    hone_io_count(&t->io, &length, 1);
    char* text = hone_io_array(&t->io, reads(t) ? NULL : strings[i].data, length, 1);
    if (!text || failed(t)) return;
    hone_io_bytes(&t->io, text, (size_t)length);
    if (reads(t)) keep(t, hone_tensor_set_string(tensor, i, text, (size_t)length));
  }
}

static void let_go(void* file) { hone_shared_file_release(file); }

static hone_status_t map_weight(transfer_t* t, hone_dtype_t dtype, int rank, const int64_t* dims,
                                hone_tensor_t** out_tensor) {
  int64_t count;
  size_t bytes;
  if (!hone_dims_count(rank, dims, &count) ||
      !hone_size_mul((size_t)count, hone_dtype_size(dtype), &bytes) || t->data_at > t->data_size ||
      bytes > t->data_size - t->data_at) {
    hone_io_fail(&t->io, "a weight lies outside of the file");
    return NULL;
  }
  void* data = (void*)(uintptr_t)(t->data + t->data_at);
  t->data_at = aligned(t->data_at + bytes);
  hone_status_t status = hone_tensor_wrap(t->program->allocator, dtype, rank, dims, data,
                                          t->file ? let_go : NULL, t->file, out_tensor);
  if (!status && t->file) hone_shared_file_retain(t->file);
  return status;
}

static void read_weight(transfer_t* t, hone_dtype_t dtype, int rank, const int64_t* dims) {
  hone_tensor_t* tensor = NULL;
  int64_t count;
  if (dtype != HONE_STRING)
    keep(t, map_weight(t, dtype, rank, dims, &tensor));
  else if (!hone_dims_count(rank, dims, &count) || (uint64_t)count > (t->io.size - t->io.at) / 4)
    hone_io_fail(&t->io, "a weight has more strings than there are");
  else
    keep(t, hone_tensor_create(t->program->allocator, dtype, rank, dims, &tensor));
  if (!tensor) return;
  if (dtype == HONE_STRING) io_strings(t, tensor);
  if (hone_program_add_weight(t->program, tensor) < 0) t->io.out_of_memory = true;
  hone_tensor_release(tensor);
}

static void io_weights(transfer_t* t) {
  int count = t->program->n_weights;
  hone_io_count(&t->io, &count, 8);
  for (int i = 0; i < count && !failed(t); i++) {
    hone_tensor_t* tensor = reads(t) ? NULL : t->program->weights[i].tensor;
    int dtype = tensor ? (int)tensor->dtype : 0, rank = tensor ? tensor->rank : 0;
    int64_t dims[HONE_MAX_RANK] = {0};
    hone_io_int(&t->io, &dtype, 1, HONE_DTYPE_COUNT - 1);
    hone_io_int(&t->io, &rank, 0, HONE_MAX_RANK);
    for (int k = 0; k < rank; k++) {
      if (tensor) dims[k] = tensor->dims[k];
      hone_io_i64(&t->io, &dims[k]);
      if (dims[k] < 0) hone_io_fail(&t->io, "a weight has a negative extent");
    }
    if (failed(t)) return;
    if (reads(t))
      read_weight(t, (hone_dtype_t)dtype, rank, dims);
    else if (tensor->dtype == HONE_STRING)
      io_strings(t, tensor);
  }
}

/* ---- kernels ---- */

static void io_seconds(transfer_t* t, double* seconds) {
  uint64_t bits;
  memcpy(&bits, seconds, sizeof bits);
  hone_io_u64(&t->io, &bits);
  memcpy(seconds, &bits, sizeof bits);
  if (!(*seconds >= 0 && isfinite(*seconds))) {
    hone_io_fail(&t->io, "a kernel's predicted time makes no sense");
    *seconds = 0;
  }
}

static void io_stack(transfer_t* t, int64_t* bytes) {
  hone_io_i64(&t->io, bytes);
  if (*bytes >= 0 && *bytes <= INT32_MAX) return;
  hone_io_fail(&t->io, "a kernel's stack makes no sense");
  *bytes = 0;
}

static void io_kernels(transfer_t* t) {
  hone_program_t* program = t->program;
  hone_io_count(&t->io, &program->n_kernels, 8);
  program->kernels =
      hone_io_array(&t->io, program->kernels, program->n_kernels, sizeof *program->kernels);
  for (int i = 0; i < program->n_kernels && !failed(t); i++) {
    hone_program_kernel_t* kernel = &program->kernels[i];
    hone_io_text(&t->io, &kernel->name);
    hone_io_int(&t->io, &kernel->entry, 0, program->n_kernels - 1);
    hone_io_text(&t->io, &kernel->tactic);
    hone_io_text(&t->io, &kernel->why);
    io_seconds(t, &kernel->predicted_seconds);
    io_stack(t, &kernel->stack_bytes);
  }
}

/* ---- values ---- */

static void io_binds(transfer_t* t, hone_program_value_t* value) {
  hone_io_count(&t->io, &value->n_binds, 16);
  hone_program_bind_t* binds = hone_io_array(&t->io, value->binds, value->n_binds, sizeof *binds);
  value->binds = binds;
  for (int i = 0; i < value->n_binds && !failed(t); i++) {
    hone_io_int(&t->io, &binds[i].symbol, 0, hone_dims_symbol_count(t->program->dims) - 1);
    hone_io_bool(&t->io, &binds[i].is_dim);
    hone_io_i64(&t->io, &binds[i].index);
    if (binds[i].index < 0 || (binds[i].is_dim && binds[i].index >= HONE_MAX_RANK))
      hone_io_fail(&t->io, "a symbol is bound to what is not there");
  }
}

/* Where a value lives is found anew; only what was not found but said counts. */
static hone_place_t said_place(hone_place_t place) {
  return place == HONE_PLACE_ARENA || place == HONE_PLACE_HEAP ? HONE_PLACE_HOST : place;
}

static void io_value(transfer_t* t, hone_program_value_t* value) {
  int place = (int)said_place(value->place), dtype = (int)value->dtype;
  hone_io_text(&t->io, &value->name);
  hone_io_int(&t->io, &place, 0, HONE_PLACE_HOST);
  hone_io_bool(&t->io, &value->is_known);
  hone_io_int(&t->io, &dtype, 0, HONE_DTYPE_COUNT - 1);
  hone_io_int(&t->io, &value->rank, value->is_known ? 0 : HONE_RANK_NONE, HONE_MAX_RANK);
  if (reads(t)) {
    value->place = (hone_place_t)place;
    value->dtype = (hone_dtype_t)dtype;
  }
  if (value->is_known) hone_io_dims(&t->io, value->rank, &value->dims);
  int last = t->routine->n_values - 1;
  if (place == HONE_PLACE_VIEW) hone_io_int(&t->io, &value->view_of, 0, last);
  if (place == HONE_PLACE_WEIGHT) hone_io_int(&t->io, &value->weight, 0, t->program->n_weights - 1);
  hone_io_int(&t->io, &value->in_place_of, -1, last);
  io_binds(t, value);
}

/* ---- steps ---- */

static void io_graph(transfer_t* t, hone_step_t* step) {
  hone_str_t text;
  hone_str_init(&text, t->program->allocator);
  if (!reads(t)) keep(t, hone_graph_print(step->graph, 0, &text));
  if (text.failed) t->io.out_of_memory = true;
  const char* read = hone_str_text(&text);
  hone_io_text(&t->io, &read);
  if (reads(t) && !failed(t)) {
    hone_status_t status =
        hone_graph_parse(t->program->allocator, read, strlen(read), &step->graph);
    const hone_compile_options_t options = {.struct_size = sizeof options,
                                            .allocator = t->program->allocator};
    if (!status)
      status = hone_backend_find("ref")->compile(step->graph, &options, &step->interpreted);
    keep(t, status);
  }
  hone_str_free(&text);
}

/* What `ref` will be called with must be what the graph takes. */
static void check_graph(transfer_t* t, const hone_step_t* step) {
  int given = step->wants_symbols ? 1 : 0;
  for (int i = 0; i < step->n_inputs; i++) given += step->inputs[i] >= 0;
  if (step->graph && (step->graph->n_inputs != given || step->graph->n_outputs != step->n_outputs))
    hone_io_fail(&t->io, "a step's graph does not fit it");
}

static void io_shell(transfer_t* t, hone_step_t* step) {
  hone_io_bool(&t->io, &step->wants_symbols);
  hone_io_bool(&t->io, &step->gives_tensors);
  io_graph(t, step);
  if (reads(t) && !failed(t)) check_graph(t, step);
}

static void io_guards(transfer_t* t, hone_step_t* step) {
  hone_io_count(&t->io, &step->n_guards, 16);
  hone_guard_t* guards = hone_io_array(&t->io, step->guards, step->n_guards, sizeof *guards);
  step->guards = guards;
  for (int i = 0; i < step->n_guards && !failed(t); i++) {
    if (reads(t)) guards[i].a = guards[i].b = hone_dim_int(0);
    hone_io_dim(&t->io, &guards[i].a);
    hone_io_dim(&t->io, &guards[i].b);
    hone_io_bool(&t->io, &guards[i].equal);
  }
  if (step->n_guards) io_shell(t, step);
}

static void io_work(transfer_t* t, hone_work_t* work) {
  hone_dim_t* const counts[] = {&work->arithmetic,     &work->bf16,   &work->int8,
                                &work->transcendental, &work->single, &work->read,
                                &work->written};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) hone_io_dim(&t->io, counts[i]);
}

static void io_checks(transfer_t* t, hone_step_t* step) {
  hone_io_count(&t->io, &step->n_checks, 4);
  const char** checks = hone_io_array(&t->io, step->checks, step->n_checks, sizeof *checks);
  step->checks = checks;
  for (int i = 0; i < step->n_checks && !failed(t); i++) hone_io_text(&t->io, &checks[i]);
  bool has_error = step->error >= 0;
  hone_io_bool(&t->io, &has_error);
  if (reads(t)) step->error = has_error ? t->program->n_errors++ : -1;
}

static void io_sizes(transfer_t* t, hone_step_t* step) {
  hone_io_count(&t->io, &step->n_sizes, 4);
  hone_io_dims(&t->io, step->n_sizes, &step->sizes);
}

/* How far rounds reach; numbers that make no sense are none. */
static void io_spans(transfer_t* t, hone_step_t* step) {
  bool has_spans = step->spans != NULL;
  hone_io_bool(&t->io, &has_spans);
  if (!has_spans) return;
  hone_span_t* spans = hone_io_array(&t->io, step->spans, step->n_buffers, sizeof *spans);
  step->spans = spans;
  for (int i = 0; i < step->n_buffers && !failed(t); i++) {
    hone_io_bool(&t->io, &spans[i].is_known);
    if (!spans[i].is_known) continue;
    hone_io_i64(&t->io, &spans[i].step);
    hone_io_i64(&t->io, &spans[i].least);
    hone_io_i64(&t->io, &spans[i].most);
    if (!hone_span_is_sound(&spans[i])) hone_io_fail(&t->io, "a kernel's rounds reach too far");
  }
}

static void io_launch(transfer_t* t, hone_step_t* step) {
  hone_io_int(&t->io, &step->kernel, 0, t->program->n_kernels - 1);
  hone_io_count(&t->io, &step->n_buffers, 4);
  hone_io_ints(&t->io, step->n_buffers, &step->buffers, HONE_BUFFER_ERROR,
               t->routine->n_values - 1);
  io_spans(t, step);
  io_sizes(t, step);
  for (int i = 0; i < 3; i++) {
    hone_io_dim(&t->io, &step->groups[i]);
    hone_io_dim(&t->io, &step->locals[i]);
  }
  io_work(t, &step->work);
  io_checks(t, step);
  for (int i = 0; i < step->n_buffers && !failed(t); i++)
    if (step->buffers[i] == HONE_BUFFER_ERROR && step->error < 0)
      hone_io_fail(&t->io, "a kernel has an error word that is not there");
  io_guards(t, step);
}

/* Bodies are routines that come later in the list. */
static void io_control(transfer_t* t, hone_step_t* step) {
  int n_bodies = step->kind == HONE_STEP_IF ? 2 : 1;
  hone_io_int(&t->io, &step->n_carried, 0, step->n_outputs);
  for (int i = 0; i < n_bodies && !failed(t); i++) {
    int index = reads(t) ? 0 : step->bodies[i]->index;
    hone_io_int(&t->io, &index, t->routine->index + 1, t->program->n_routines - 1);
    if (reads(t) && !failed(t)) step->bodies[i] = t->program->routines[index];
  }
}

static void io_step(transfer_t* t, hone_step_t* step) {
  int kind = (int)step->kind, last = t->routine->n_values - 1;
  hone_io_int(&t->io, &kind, 0, HONE_STEP_DIMS);
  step->kind = (hone_step_kind_t)kind;
  hone_io_text(&t->io, &step->name);
  hone_io_text(&t->io, &step->origin);
  hone_io_text(&t->io, &step->nodes);
  hone_io_text(&t->io, &step->reason);
  hone_io_count(&t->io, &step->n_inputs, 4);
  hone_io_ints(&t->io, step->n_inputs, &step->inputs, -1, last);
  hone_io_count(&t->io, &step->n_outputs, 4);
  hone_io_ints(&t->io, step->n_outputs, &step->outputs, 0, last);
  if (failed(t)) return;
  if (kind == HONE_STEP_LAUNCH) io_launch(t, step);
  if (kind == HONE_STEP_INTERPRET) io_shell(t, step);
  if (kind == HONE_STEP_DIMS) io_sizes(t, step);
  if (kind == HONE_STEP_IF || kind == HONE_STEP_LOOP) io_control(t, step);
}

/* ---- routines ---- */

static void io_routine(transfer_t* t, hone_routine_t* routine) {
  t->routine = routine;
  hone_io_count(&t->io, &routine->n_values, 16);
  routine->values =
      hone_io_array(&t->io, routine->values, routine->n_values, sizeof *routine->values);
  for (int i = 0; i < routine->n_values && !failed(t); i++) io_value(t, &routine->values[i]);
  hone_io_count(&t->io, &routine->n_inputs, 4);
  hone_io_ints(&t->io, routine->n_inputs, &routine->inputs, 0, routine->n_values - 1);
  hone_io_count(&t->io, &routine->n_outputs, 4);
  hone_io_ints(&t->io, routine->n_outputs, &routine->outputs, 0, routine->n_values - 1);
  int n_steps = routine->n_steps;
  hone_io_count(&t->io, &n_steps, 16);
  routine->steps = hone_io_array(&t->io, routine->steps, n_steps, sizeof *routine->steps);
  for (int i = 0; i < n_steps && !failed(t); i++) {
    if (reads(t)) {
      routine->steps[i] = (hone_step_t){.error = -1};
      routine->n_steps = i + 1; /* so that what it owns is freed */
    }
    io_step(t, &routine->steps[i]);
  }
}

static void io_routines(transfer_t* t) {
  int count = t->program->n_routines;
  hone_io_count(&t->io, &count, 16);
  if (count < 1) hone_io_fail(&t->io, "there is nothing to run");
  for (int i = 0; reads(t) && i < count && !failed(t); i++)
    if (!hone_program_add_routine(t->program)) t->io.out_of_memory = true;
  for (int i = 0; i < count && !failed(t); i++) io_routine(t, t->program->routines[i]);
}

/* ---- the graph's inputs and outputs ---- */

static hone_value_t* add_input(transfer_t* t, hone_graph_t* graph, const char* name,
                               const hone_type_t* type) {
  const hone_node_t node = {.prim = HONE_PRIM_INPUT, .n_outputs = 1};
  hone_node_t* made = hone_graph_append(graph, &node, type);
  if (!made) {
    t->io.out_of_memory = true;
    return NULL;
  }
  made->outputs[0]->name = name;
  return made->outputs[0];
}

static void io_ends(transfer_t* t, hone_graph_t* graph, int count, hone_value_t** values,
                    const char** names) {
  for (int i = 0; i < count && !failed(t); i++) {
    const char* name = "";
    hone_type_t type = {0};
    if (!reads(t)) {
      name = names ? names[i] : values[i]->name;
      type = values[i]->type;
    }
    hone_io_text(&t->io, &name);
    hone_io_type(&t->io, &type);
    if (!reads(t) || failed(t)) continue;
    values[i] = add_input(t, graph, name, &type);
    if (names) names[i] = name;
  }
}

/* Outputs are made like inputs too, after which the list of inputs is cut. */
static void io_interface(transfer_t* t, hone_graph_t* graph) {
  const hone_routine_t* whole = t->program->routines[0];
  int n_inputs = whole->n_inputs, n_outputs = whole->n_outputs;
  if (!reads(t)) {
    io_ends(t, graph, n_inputs, graph->inputs, NULL);
    io_ends(t, graph, n_outputs, graph->outputs, graph->output_names);
    return;
  }
  size_t count = (size_t)n_inputs + (size_t)n_outputs;
  hone_value_t** values = hone_arena_array(graph->arena, count + 1, sizeof *values);
  const char** names = hone_arena_array(graph->arena, (size_t)n_outputs + 1, sizeof *names);
  if (!values || !names) {
    t->io.out_of_memory = true;
    return;
  }
  io_ends(t, graph, n_inputs, values, NULL);
  io_ends(t, graph, n_outputs, values + n_inputs, names);
  if (failed(t)) return;
  graph->n_inputs = n_inputs;
  keep(t, hone_graph_set_outputs(graph, n_outputs, values + n_inputs, names));
}

/* ---- the whole ---- */

static void io_program(transfer_t* t, hone_graph_t* graph) {
  io_symbols(t);
  if (!failed(t)) io_definitions(t);
  if (!failed(t)) io_weights(t);
  if (!failed(t)) io_kernels(t);
  if (!failed(t)) io_routines(t);
  if (!failed(t)) io_interface(t, graph);
}

static hone_status_t finish(transfer_t* t) {
  if (t->status) return t->status;
  return hone_io_status(&t->io);
}

hone_status_t hone_program_write(hone_program_t* program, const hone_graph_t* graph,
                                 hone_str_t* out) {
  transfer_t t = {.io = {.out = out, .dims = program->dims}, .program = program};
  io_program(&t, (hone_graph_t*)(uintptr_t)graph); /* which writing leaves alone */
  return finish(&t);
}

hone_status_t hone_program_read(hone_program_t* program, const void* bytes, size_t size,
                                const void* data, size_t data_size, hone_shared_file_t* file,
                                hone_graph_t** out_graph) {
  hone_graph_t* graph;
  *out_graph = NULL;
  HONE_TRY(hone_graph_create(program->allocator, "engine", &graph));
  graph->dims = program->dims; /* one set of symbols for both */
  transfer_t t = {.io = {.data = bytes, .size = size, .arena = program->arena},
                  .program = program,
                  .data = data,
                  .data_size = data_size,
                  .file = file};
  t.io.dims = program->dims;
  io_program(&t, graph);
  if (!failed(&t) && t.io.at != t.io.size) hone_io_fail(&t.io, "there is more than a program");
  hone_status_t status = finish(&t);
  if (!status) status = hone_program_check(program);
  if (status)
    hone_graph_destroy(graph);
  else
    *out_graph = graph;
  return status;
}
