/* Reports: what is known before anything runs. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/report_impl.h"
#include "runtime/turns.h"

/* ---- sizes ---- */

static int64_t least_size(const hone_symbol_t* symbol) {
  return symbol->min < 1 && symbol->max >= 1 ? 1 : symbol->min;
}

static hone_status_t set_size(hone_report_t* report, const hone_dim_option_t* dim) {
  const hone_dims_t* dims = report->program->dims;
  for (int i = 0; i < hone_dims_symbol_count(dims); i++) {
    const hone_symbol_t* symbol = hone_dims_symbol(dims, i);
    if (strcmp(symbol->name, dim->name) != 0) continue;
    if (dim->max < symbol->min || dim->max > symbol->max)
      return hone_status_make(HONE_OUT_OF_RANGE, "'%s' is limited to %lld to %lld, not %lld",
                              symbol->name, (long long)symbol->min, (long long)symbol->max,
                              (long long)dim->max);
    report->symbols[i] = dim->max;
  }
  return NULL; /* of a name that was fixed when it was compiled nothing is left */
}

static hone_status_t choose_sizes(hone_report_t* report, const hone_report_options_t* options) {
  const hone_dims_t* dims = report->program->dims;
  int count = hone_dims_symbol_count(dims);
  report->symbols = hone_arena_array(report->arena, (size_t)count, sizeof *report->symbols);
  if (!report->symbols) return hone_oom();
  for (int i = 0; i < count; i++) report->symbols[i] = -1;
  if (options->n_inputs) {
    if (options->n_inputs != report->program->routines[0]->n_inputs)
      return hone_status_make(HONE_INVALID_ARGUMENT, "%d inputs given; the model takes %d",
                              options->n_inputs, report->program->routines[0]->n_inputs);
    hone_program_bind_inputs(report->program, options->inputs, report->symbols);
  }
  for (int i = 0; i < count; i++)
    if (report->symbols[i] < 0) report->symbols[i] = least_size(hone_dims_symbol(dims, i));
  for (int i = 0; i < options->n_dims && !options->n_inputs; i++)
    HONE_TRY(set_size(report, &options->dims[i]));
  for (int r = 0; r < report->program->n_routines; r++)
    hone_routine_define(report->program, report->program->routines[r], report->symbols);
  return NULL;
}

int64_t hone_report_size(const hone_report_t* report, const char* name) {
  for (int i = 0; report->program && i < hone_dims_symbol_count(report->program->dims); i++)
    if (strcmp(hone_dims_symbol(report->program->dims, i)->name, name) == 0)
      return report->symbols[i];
  return -1;
}

static bool is_named_size(const hone_symbol_t* symbol) {
  return symbol->origin == HONE_SYMBOL_INPUT;
}

const char* hone_report_size_name(const hone_report_t* report, int index) {
  for (int i = 0; report->program && i < hone_dims_symbol_count(report->program->dims); i++) {
    const hone_symbol_t* symbol = hone_dims_symbol(report->program->dims, i);
    if (is_named_size(symbol) && index-- == 0) return symbol->name;
  }
  return NULL;
}

int hone_report_input_shape(const hone_report_t* report, int index, int64_t* out_dims) {
  if (!report->program) { /* nothing is known of sizes: the least */
    int rank = hone_session_input_shape(report->session, index, out_dims);
    for (int i = 0; i < rank; i++)
      if (out_dims[i] < 0) out_dims[i] = 1;
    return rank;
  }
  const hone_routine_t* whole = report->program->routines[0];
  if (index < 0 || index >= whole->n_inputs) return -1;
  const hone_program_value_t* value = &whole->values[whole->inputs[index]];
  if (!value->is_known) return -1;
  for (int i = 0; i < value->rank; i++)
    out_dims[i] = hone_dim_eval(value->dims[i], report->symbols);
  return value->rank;
}

/* ---- memory ---- */

static hone_status_t fill_memory(hone_report_t* report) {
  hone_program_memory_t memory;
  HONE_TRY(hone_program_memory(report->program, report->symbols, &memory));
  report->memory = (hone_report_memory_t){.weights = memory.weights,
                                          .copied = memory.copied,
                                          .planned = memory.planned,
                                          .unshared = memory.unshared,
                                          .least = memory.least,
                                          .heap = memory.heap,
                                          .inputs = memory.inputs,
                                          .outputs = memory.outputs,
                                          .tables = memory.tables,
                                          .stacks = memory.stacks,
                                          .n_values = memory.n_planned,
                                          .n_in_place = memory.n_in_place,
                                          .has_unknown = memory.has_late};
  report->memory.total = memory.weights + memory.copied + memory.planned + memory.heap +
                         memory.inputs + memory.outputs + memory.tables + memory.stacks;
  return NULL;
}

static void count_value(void* self, const hone_program_placed_t* placed) {
  hone_report_t* report = self;
  (void)placed;
  report->n_values++;
}

/* Values without a name of the model go by who makes them. */
static const char* value_name(const hone_program_t* program, int routine, int value) {
  const hone_routine_t* r = program->routines[routine];
  const hone_program_value_t* v = &r->values[value];
  if (v->name[0] || v->first < 0) return v->name;
  return r->steps[v->first].name;
}

static void add_value(void* self, const hone_program_placed_t* placed) {
  hone_report_t* report = self;
  const hone_program_t* program = report->program;
  report->values[report->n_values++] = (hone_report_value_t){
      .name = value_name(program, placed->routine, placed->value),
      .bytes = placed->bytes,
      .offset = placed->offset,
      .block_bytes = placed->block,
      .blocks = (int)placed->contexts,
      .first = placed->first,
      .last = placed->last,
      .routine = placed->routine,
      .is_planned = placed->is_planned,
      .in_place = placed->in_place_of >= 0
                      ? value_name(program, placed->routine, placed->in_place_of)
                      : NULL};
}

static hone_status_t fill_values(hone_report_t* report) {
  HONE_TRY(hone_program_visit_values(report->program, report->symbols, count_value, report));
  report->values =
      hone_arena_array(report->arena, (size_t)report->n_values, sizeof *report->values);
  if (!report->values) return hone_oom();
  report->n_values = 0;
  return hone_program_visit_values(report->program, report->symbols, add_value, report);
}

/* ---- what only a run can tell ---- */

static void count_unknown(void* self, const hone_program_unknown_t* unknown) {
  hone_report_t* report = self;
  (void)unknown;
  report->n_unknown++;
}

static void add_unknown(void* self, const hone_program_unknown_t* unknown) {
  hone_report_t* report = self;
  const hone_program_t* program = report->program;
  const hone_step_t* step = &program->routines[unknown->routine]->steps[unknown->step];
  report->unknown[report->n_unknown++] = (hone_report_unknown_t){
      .step = step->name,
      .origin = step->origin,
      .value = unknown->value < 0 ? NULL : value_name(program, unknown->routine, unknown->value),
      .type = hone_arena_strdup(report->arena, unknown->type),
      .most = unknown->most};
}

static hone_status_t fill_unknown(hone_report_t* report) {
  HONE_TRY(hone_program_visit_unknown(report->program, report->symbols, count_unknown, report));
  report->unknown =
      hone_arena_array(report->arena, (size_t)report->n_unknown, sizeof *report->unknown);
  if (!report->unknown) return hone_oom();
  report->n_unknown = 0;
  HONE_TRY(hone_program_visit_unknown(report->program, report->symbols, add_unknown, report));
  for (int i = 0; i < report->n_unknown; i++)
    if (!report->unknown[i].type) return hone_oom();
  report->memory.has_unknown |= report->n_unknown > 0;
  return NULL;
}

/* ---- steps ---- */

hone_report_row_t* hone_report_add_row(hone_report_t* report) {
  if (report->n_rows == report->rows_room) {
    int room = report->rows_room ? 2 * report->rows_room : 64;
    hone_report_row_t** rows = hone_arena_array(report->arena, (size_t)room, sizeof *rows);
    if (!rows) return NULL;
    if (report->n_rows) memcpy(rows, report->rows, (size_t)report->n_rows * sizeof *rows);
    report->rows = rows;
    report->rows_room = room;
  }
  hone_report_row_t* row = hone_arena_alloc(report->arena, sizeof *row);
  if (row) report->rows[report->n_rows++] = row;
  return row;
}

hone_report_row_t* hone_report_row_of(const hone_report_t* report, const hone_step_t* step) {
  return hone_map_get_u64(&report->by_step, (uint64_t)(uintptr_t)step);
}

typedef struct knowing {
  const hone_program_t* program;
  bool late;
} knowing_t;

static void note_late(void* self, const hone_symbol_t* symbol) {
  knowing_t* k = self;
  k->late |= !hone_program_knows(k->program, symbol->id);
}

static bool is_known(const hone_program_t* program, const hone_work_t* work) {
  knowing_t k = {.program = program};
  hone_dim_visit_symbols(work->arithmetic, note_late, &k);
  hone_dim_visit_symbols(work->transcendental, note_late, &k);
  hone_dim_visit_symbols(work->read, note_late, &k);
  hone_dim_visit_symbols(work->written, note_late, &k);
  return !k.late;
}

static void fill_launch(const hone_report_t* report, const hone_step_t* from,
                        hone_report_step_t* to) {
  const hone_program_kernel_t* kernel = &report->program->kernels[from->kernel];
  to->tactic = kernel->tactic;
  to->why = kernel->why;
  to->predicted = kernel->predicted_seconds;
  if (!is_known(report->program, &from->work)) return;
  hone_work_amount_t work = hone_work_eval(&from->work, report->symbols);
  to->arithmetic = work.arithmetic;
  to->transcendental = work.transcendental;
  to->read = work.read;
  to->written = work.written;
  double compute = to->compute = hone_limits_compute_seconds(&report->limits, &work);
  double memory = hone_limits_memory_seconds(&report->limits, &work);
  to->limit = compute > memory ? compute : memory;
  if (to->limit > 0) to->bound = compute > memory ? "compute" : "memory";
}

/* Strings, sequences, maps and optionals: nothing that a kernel could be made of. */
static bool is_for_host(const hone_value_t* value) {
  hone_type_kind_t kind = value->type.kind;
  return value->type.dtype == HONE_STRING || kind == HONE_TYPE_SEQUENCE || kind == HONE_TYPE_MAP ||
         kind == HONE_TYPE_OPTIONAL;
}

static const char* kind_of(const hone_step_t* step) {
  static const char* const kinds[] = {"kernel", "view", "interpreted", "if", "loop", "sizes"};
  const hone_graph_t* graph = step->kind == HONE_STEP_INTERPRET ? step->graph : NULL;
  for (int i = 0; graph && i < graph->n_inputs; i++)
    if (is_for_host(graph->inputs[i])) return "host";
  for (int i = 0; graph && i < graph->n_outputs; i++)
    if (is_for_host(graph->outputs[i])) return "host";
  return kinds[step->kind];
}

static hone_status_t fill_step(hone_report_t* report, const hone_routine_t* routine, int index) {
  const hone_step_t* from = &routine->steps[index];
  hone_report_row_t* row = hone_report_add_row(report);
  if (!row) return hone_oom();
  row->step = (hone_report_step_t){.kind = kind_of(from),
                                   .name = from->name,
                                   .origin = from->origin,
                                   .nodes = from->nodes,
                                   .tactic = "",
                                   .why = from->reason,
                                   .bound = "",
                                   .routine = routine->index,
                                   .index = index};
  const hone_turns_t* turns = hone_turns_of(routine, index);
  if (turns) row->step.turns = 1 + (int)(turns - routine->turns);
  if (from->kind == HONE_STEP_LAUNCH) fill_launch(report, from, &row->step);
  return hone_map_put_u64(&report->by_step, (uint64_t)(uintptr_t)from, row);
}

static hone_status_t fill_steps(hone_report_t* report) {
  for (int r = 0; r < report->program->n_routines; r++)
    for (int s = 0; s < report->program->routines[r]->n_steps; s++)
      HONE_TRY(fill_step(report, report->program->routines[r], s));
  return NULL;
}

/* ---- the device ---- */

static void fill_device(hone_report_t* report, const hone_session_parts_t* parts) {
  static const char* const sources[] = {"", "the device", "measured", "measured earlier"};
  const hone_limits_t* limits = &report->limits;
  hone_report_device_t* device = &report->device;
  *device = (hone_report_device_t){.name = parts->backend->name,
                                   .target = "",
                                   .source = sources[limits->source],
                                   .threads = limits->threads,
                                   .gflops = limits->gflops[HONE_PEAK_F32],
                                   .gflops_one = limits->gflops_one[HONE_PEAK_F32],
                                   .gflops_bf16 = limits->gflops[HONE_PEAK_BF16],
                                   .gflops_int8 = limits->gflops[HONE_PEAK_INT8]};
  if (report->program) {
    device->target = report->program->properties.target;
    device->threads = report->program->properties.compute_units;
  }
  for (int i = 0; i < HONE_MEMORY_LEVELS; i++) {
    if (!(limits->levels[i].gbytes > 0)) continue;
    device->level_bytes[device->n_levels] = limits->levels[i].bytes;
    device->level_gbytes[device->n_levels++] = limits->levels[i].gbytes;
  }
}

/* ---- the whole ---- */

static hone_status_t fill(hone_report_t* report, const hone_session_parts_t* parts,
                          const hone_report_options_t* options) {
  if (parts->program) {
    HONE_TRY(choose_sizes(report, options));
    if (options->limits)
      HONE_TRY(hone_limits_find(parts->allocator, parts->backend, parts->device, &report->limits));
    HONE_TRY(fill_memory(report));
    HONE_TRY(fill_values(report));
    HONE_TRY(fill_unknown(report));
    HONE_TRY(fill_steps(report));
    hone_report_put_in_order(report);
    HONE_TRY(hone_report_fill_nodes(report, parts));
  }
  fill_device(report, parts);
  return NULL;
}

hone_status_t hone_report_create(hone_session_t* session, const hone_report_options_t* options,
                                 hone_report_t** out_report) {
  static const hone_report_options_t defaults = {0};
  hone_session_parts_t parts;
  hone_arena_t* arena;
  *out_report = NULL;
  if (!options) options = &defaults;
  HONE_TRY(hone_session_parts(session, options->n_inputs, options->inputs, &parts));
  HONE_TRY(hone_arena_create(parts.allocator, &arena));
  hone_report_t* report = hone_arena_alloc(arena, sizeof *report);
  if (!report) {
    hone_arena_destroy(arena);
    return hone_oom();
  }
  report->arena = arena;
  report->session = session;
  report->allocator = parts.allocator;
  report->program = parts.program;
  hone_map_init_arena(&report->by_step, arena);
  hone_map_init_arena(&report->by_name, arena);
  hone_status_t status = fill(report, &parts, options);
  if (status)
    hone_report_destroy(report);
  else
    *out_report = report;
  return status;
}

void hone_report_destroy(hone_report_t* report) {
  if (report) hone_arena_destroy(report->arena);
}

/* ---- looking ---- */

const hone_report_memory_t* hone_report_memory(const hone_report_t* report) {
  return &report->memory;
}
const hone_report_times_t* hone_report_times(const hone_report_t* report) { return &report->times; }
const hone_report_device_t* hone_report_device(const hone_report_t* report) {
  return &report->device;
}
bool hone_report_is_compiled(const hone_report_t* report) { return report->program != NULL; }

int hone_report_value_count(const hone_report_t* report) { return report->n_values; }
const hone_report_value_t* hone_report_value(const hone_report_t* report, int index) {
  return index >= 0 && index < report->n_values ? &report->values[index] : NULL;
}
int hone_report_unknown_count(const hone_report_t* report) { return report->n_unknown; }
const hone_report_unknown_t* hone_report_unknown(const hone_report_t* report, int index) {
  return index >= 0 && index < report->n_unknown ? &report->unknown[index] : NULL;
}
int hone_report_step_count(const hone_report_t* report) { return report->n_rows; }
const hone_report_step_t* hone_report_step(const hone_report_t* report, int index) {
  return index >= 0 && index < report->n_rows ? &report->rows[index]->step : NULL;
}
int hone_report_node_count(const hone_report_t* report) { return report->n_nodes; }
const hone_report_node_t* hone_report_node(const hone_report_t* report, int index) {
  return index >= 0 && index < report->n_nodes ? &report->nodes[index] : NULL;
}
