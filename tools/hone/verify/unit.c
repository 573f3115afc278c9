/* A unit on the device: forms whose extents are numbers in one graph, those with
 * symbols in another that is run at several sizes. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "case.h"
#include "ir/type_text.h"
#include "verify/verify.h"

/* Sizes that the symbols take, run by run: none, one, and what lies beside the
 * widths of vectors; the last is split among threads. */
static const struct {
  const char* name;
  int64_t sizes[10];
} symbols[] = {
    {"line", {1, 0, 2, 7, 8, 9, 16, 33, 64, 4099}},
    {"n", {1, 0, 2, 3, 3, 4, 5, 2, 0, 301}},
    {"m", {1, 3, 5, 17, 64, 65, 31, 15, 7, 37}},
};
enum { SYMBOLIC_RUNS = 10, SYMBOLS = sizeof symbols / sizeof *symbols, MOST_SYMBOLS = 32 };

/* The forms of one graph. */
typedef struct part {
  const hone_verify_device_t* device;
  const hone_verify_options_t* options;
  const hone_verify_unit_t* unit;
  hone_verify_result_t* result;
  uint64_t forms;
  bool writes; /* the first case that differs */
  bool differs;
  hone_graph_t *graph, *reference_graph;
  hone_verify_maker_t made, reference; /* what is in these */
  hone_program_t *program, *reference_program;
  int n_ref_outputs;
  hone_tensor_t *inputs[HONE_VERIFY_MOST_INPUTS], *actual[HONE_VERIFY_MOST_OUTPUTS];
  hone_tensor_t* expected[2 * HONE_VERIFY_MOST_OUTPUTS]; /* outputs, then scales */
} part_t;

static const hone_verify_device_t* oracle(void) {
  static hone_verify_device_t ref = {.name = "ref"};
  if (!ref.backend) ref.backend = hone_backend_find("ref");
  return &ref;
}

/* ---- building ---- */

static void build_forms(const part_t* part, hone_verify_maker_t* m) {
  char* origins = hone_arena_alloc(m->b->graph->arena, HONE_VERIFY_FORM_COUNT * 16);
  for (int f = 0; origins && f < HONE_VERIFY_FORM_COUNT; f++) {
    if (!(part->forms & HONE_VERIFY_BIT(f))) continue;
    m->form = (hone_verify_form_t)f;
    m->b->origin = snprintf(origins, 16, "%s", hone_verify_form_name(m->form)) > 0 ? origins : "";
    origins += 16;
    part->unit->row->build(m);
  }
}

static hone_status_t set_outputs(const hone_verify_maker_t* m, hone_graph_t* graph,
                                 int* out_count) {
  hone_value_t* values[2 * HONE_VERIFY_MOST_OUTPUTS];
  char texts[2 * HONE_VERIFY_MOST_OUTPUTS][8];
  const char* names[2 * HONE_VERIFY_MOST_OUTPUTS];
  int count = 0;
  for (int i = 0; i < m->n_outputs; i++) values[count++] = m->outputs[i].value;
  for (int i = 0; i < m->n_outputs; i++)
    if (m->outputs[i].scale) values[count++] = m->outputs[i].scale;
  *out_count = count;
  for (int i = 0; i < count; i++) {
    snprintf(texts[i], sizeof texts[i], "out%d", i);
    names[i] = texts[i];
  }
  HONE_TRY(hone_graph_set_outputs(graph, count, values, names));
  hone_graph_drop_dead(graph);
  return NULL;
}

static hone_status_t build(const part_t* part, bool for_ref, hone_graph_t** out_graph,
                           hone_verify_maker_t* m, int* out_outputs) {
  HONE_TRY(hone_graph_create(NULL, part->unit->name, out_graph));
  hone_builder_t b = {.graph = *out_graph};
  *m = (hone_verify_maker_t){
      .b = &b, .row = part->unit->row, .dtype = part->unit->dtype, .for_ref = for_ref};
  build_forms(part, m);
  m->b = NULL;
  if (!b.status && b.deferred)
    return hone_status_make(HONE_INTERNAL, "%s: %s", part->unit->name, b.deferred);
  if (b.status) return hone_status_annotate(b.status, "%s", part->unit->name);
  return set_outputs(m, *out_graph, out_outputs);
}

/* ---- what becomes of a form ---- */

static void note(const part_t* part, hone_verify_form_t form, hone_verify_verdict_t verdict,
                 const char* text) {
  hone_verify_cell_t* cell = &part->result->cells[form];
  if (cell->verdict >= verdict) return;
  cell->verdict = verdict;
  snprintf(cell->text, sizeof cell->text, "%s", text);
}

static void note_all(const part_t* part, hone_verify_verdict_t verdict, const char* text) {
  for (int i = 0; i < part->made.n_outputs; i++)
    note(part, part->made.outputs[i].form, verdict, text);
}

static void note_interpreted(const part_t* part) {
  if (!part->device->device) return;
  for (int r = 0; r < part->program->n_routines; r++)
    for (int s = 0; s < part->program->routines[r]->n_steps; s++) {
      const hone_step_t* step = &part->program->routines[r]->steps[s];
      if (step->kind != HONE_STEP_INTERPRET) continue;
      for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++)
        if (strcmp(step->origin, hone_verify_form_name((hone_verify_form_t)f)) == 0)
          note(part, (hone_verify_form_t)f, HONE_VERIFY_INTERPRETED, step->reason);
    }
}

/* ---- running ---- */

static uint64_t seed_of(const part_t* part, const hone_verify_input_t* input) {
  return part->unit->seed + (uint64_t)input->form * 1000003 + (uint64_t)input->slot * 7919;
}

static void set_symbols(const hone_graph_t* graph, int run, int64_t* values) {
  for (int i = 0; i < hone_dims_symbol_count(graph->dims) && i < MOST_SYMBOLS; i++) {
    values[i] = 0;
    for (int k = 0; k < SYMBOLS; k++)
      if (strcmp(hone_dims_symbol(graph->dims, i)->name, symbols[k].name) == 0)
        values[i] = symbols[k].sizes[run];
  }
}

static hone_status_t make_inputs(part_t* part, int run) {
  int64_t values[MOST_SYMBOLS], dims[HONE_MAX_RANK];
  const hone_graph_t* graph = part->reference_graph;
  set_symbols(graph, run, values);
  for (int i = 0; i < graph->n_inputs; i++) {
    const hone_verify_input_t* input = &part->reference.inputs[i];
    const hone_type_t* type = &graph->inputs[i]->type;
    for (int k = 0; k < type->rank; k++) dims[k] = hone_dim_eval(type->dims[k], values);
    HONE_TRY(hone_verify_fill_tensor(input, hone_dim_eval(input->limit, values), type->dtype,
                                     type->rank, dims, seed_of(part, input), &part->inputs[i]));
  }
  return NULL;
}

static void drop_tensors(part_t* part) {
  hone_verify_release(HONE_VERIFY_MOST_INPUTS, part->inputs);
  hone_verify_release(HONE_VERIFY_MOST_OUTPUTS, part->actual);
  hone_verify_release(2 * HONE_VERIFY_MOST_OUTPUTS, part->expected);
  memset(part->inputs, 0, sizeof part->inputs);
  memset(part->actual, 0, sizeof part->actual);
  memset(part->expected, 0, sizeof part->expected);
}

static void note_difference(part_t* part, int output, const hone_verify_mismatch_t* mismatch) {
  char text[HONE_VERIFY_TEXT_SIZE], type[64];
  hone_tensor_type_print(part->expected[output], type, sizeof type);
  snprintf(text, sizeof text, "%lld of %lld wrong in %s, element %lld: %s",
           (long long)mismatch->wrong, (long long)mismatch->count, type, (long long)mismatch->first,
           mismatch->text);
  note(part, part->made.outputs[output].form, HONE_VERIFY_DIFFERS, text);
  part->differs = true;
}

static void compare(part_t* part) {
  int scale = part->made.n_outputs;
  for (int i = 0; i < part->made.n_outputs; i++) {
    const hone_verify_output_t* output = &part->reference.outputs[i];
    hone_verify_bound_t bound = part->unit->row->bound;
    if (output->exact) bound = (hone_verify_bound_t){0};
    const hone_tensor_t* scales = output->scale ? part->expected[scale++] : NULL;
    hone_verify_mismatch_t mismatch;
    hone_verify_compare(part->expected[i], part->actual[i], scales, bound, &mismatch);
    if (mismatch.wrong)
      note_difference(part, i, &mismatch);
    else
      note(part, output->form, HONE_VERIFY_SAME, "");
  }
}

static hone_status_t write_case(part_t* part) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s/%s.%s", part->options->cases, part->unit->name,
           hone_verify_form_name(part->made.outputs[0].form));
  hone_graph_t* graph;
  hone_verify_maker_t made;
  int n_outputs;
  hone_status_t status = build(part, false, &graph, &made, &n_outputs);
  if (!status)
    status =
        hone_case_write(folder, graph, graph->n_inputs, part->inputs, n_outputs, part->expected);
  hone_graph_destroy(graph);
  return status;
}

/* What the device cannot do is its result, not a failure of this program. */
static hone_status_t device_failed(const part_t* part, hone_status_t status) {
  if (hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  note_all(part, HONE_VERIFY_FAILED, hone_status_message(status));
  hone_status_free(status);
  return NULL;
}

static hone_status_t run_once(part_t* part, int run) {
  HONE_TRY(make_inputs(part, run));
  int n_inputs = part->reference_graph->n_inputs;
  HONE_TRY(hone_verify_run(oracle(), part->reference_program, n_inputs, part->inputs,
                           part->n_ref_outputs, part->expected));
  hone_status_t status = hone_verify_run(part->device, part->program, n_inputs, part->inputs,
                                         part->made.n_outputs, part->actual);
  if (status) return device_failed(part, status);
  compare(part);
  return part->writes && part->differs ? write_case(part) : NULL;
}

static hone_status_t run_all(part_t* part) {
  int runs = 1;
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++)
    if (part->forms & HONE_VERIFY_BIT(f) && hone_verify_form_is_symbolic((hone_verify_form_t)f))
      runs = SYMBOLIC_RUNS;
  hone_status_t status = NULL;
  for (int i = 0; i < runs && !status && !(part->writes && part->differs); i++) {
    status = run_once(part, i);
    drop_tensors(part);
  }
  return status;
}

/* ---- the parts of a unit ---- */

static hone_status_t run_part(part_t* part, bool* out_compiled) {
  int n_outputs;
  *out_compiled = true;
  HONE_TRY(build(part, false, &part->graph, &part->made, &n_outputs));
  HONE_TRY(build(part, true, &part->reference_graph, &part->reference, &part->n_ref_outputs));
  if (n_outputs == 0) return NULL;
  HONE_TRY(hone_verify_compile(oracle(), part->reference_graph, &part->reference_program));
  hone_status_t status = hone_verify_compile(part->device, part->graph, &part->program);
  *out_compiled = status == NULL;
  if (status) return device_failed(part, status);
  note_interpreted(part);
  return run_all(part);
}

static hone_status_t run_forms(const part_t* like, uint64_t forms, bool writes,
                               bool* out_compiled) {
  part_t* part = calloc(1, sizeof *part);
  if (!part) return hone_oom();
  *part = *like;
  part->forms = forms;
  part->writes = writes;
  hone_status_t status = run_part(part, out_compiled);
  drop_tensors(part);
  hone_verify_drop_program(part->device, part->program);
  hone_verify_drop_program(oracle(), part->reference_program);
  hone_graph_destroy(part->graph);
  hone_graph_destroy(part->reference_graph);
  free(part);
  return status;
}

static bool is_wrong(hone_verify_verdict_t verdict) { return verdict >= HONE_VERIFY_DIFFERS; }

/* One kernel that cannot be built must not hide what the others do. */
static hone_status_t run_each(const part_t* like, uint64_t forms) {
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++) {
    bool compiled;
    if (!(forms & HONE_VERIFY_BIT(f))) continue;
    like->result->cells[f] = (hone_verify_cell_t){0};
    HONE_TRY(run_forms(like, HONE_VERIFY_BIT(f), false, &compiled));
  }
  return NULL;
}

static hone_status_t run_together(const part_t* like, uint64_t forms) {
  bool compiled;
  if (!forms) return NULL;
  HONE_TRY(run_forms(like, forms, false, &compiled));
  return compiled ? NULL : run_each(like, forms);
}

/* The form that is smallest, alone, in files. */
static hone_status_t write_smallest(const part_t* like) {
  static const hone_verify_form_t by_size[HONE_VERIFY_FORM_COUNT] = {
      HONE_VERIFY_SCALAR,   HONE_VERIFY_EMPTY,  HONE_VERIFY_ONE,       HONE_VERIFY_LINE,
      HONE_VERIFY_SYMBOLIC, HONE_VERIFY_RANK8,  HONE_VERIFY_BROADCAST, HONE_VERIFY_ODD,
      HONE_VERIFY_WIDTH,    HONE_VERIFY_BESIDE, HONE_VERIFY_FLIPPED,   HONE_VERIFY_STRIDED,
      HONE_VERIFY_LARGE};
  for (int i = 0; i < HONE_VERIFY_FORM_COUNT; i++) {
    bool compiled;
    if (like->result->cells[by_size[i]].verdict == HONE_VERIFY_DIFFERS)
      return run_forms(like, HONE_VERIFY_BIT(by_size[i]), true, &compiled);
  }
  return NULL;
}

/* Types that are rare get two forms: in memory they are like others of their size. */
static uint64_t forms_of(const hone_verify_unit_t* unit) {
  const uint64_t thorough = HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_F16) |
                            HONE_VERIFY_BIT(HONE_I32) | HONE_VERIFY_BIT(HONE_U8);
  if (unit->row->prim == HONE_PRIM_HOST) return unit->row->forms;
  const uint64_t costly = HONE_VERIFY_BIT(HONE_VERIFY_ONE) | HONE_VERIFY_BIT(HONE_VERIFY_WIDTH) |
                          HONE_VERIFY_BIT(HONE_VERIFY_BESIDE) |
                          HONE_VERIFY_BIT(HONE_VERIFY_FLIPPED);
  uint64_t dtype = HONE_VERIFY_BIT(unit->dtype), forms = unit->row->forms;
  if (dtype & thorough) return forms;
  if (dtype & HONE_VERIFY_MAIN) return forms & ~costly;
  return forms & (HONE_VERIFY_BIT(HONE_VERIFY_ODD) | HONE_VERIFY_BIT(HONE_VERIFY_LINE));
}

hone_status_t hone_verify_unit_run(const hone_verify_device_t* device,
                                   const hone_verify_options_t* options,
                                   const hone_verify_unit_t* unit,
                                   hone_verify_result_t* out_result) {
  if (!unit->row) return hone_verify_random_run(device, options, unit, out_result);
  const uint64_t symbolic =
      HONE_VERIFY_BIT(HONE_VERIFY_LINE) | HONE_VERIFY_BIT(HONE_VERIFY_SYMBOLIC);
  part_t* like = calloc(1, sizeof *like);
  if (!like) return hone_oom();
  *like = (part_t){.device = device, .options = options, .unit = unit, .result = out_result};
  hone_status_t status = run_together(like, forms_of(unit) & ~symbolic);
  if (!status) status = run_together(like, forms_of(unit) & symbolic);
  bool wrong = false;
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++)
    wrong = wrong || is_wrong(out_result->cells[f].verdict);
  if (!status && wrong && options->cases) status = write_smallest(like);
  out_result->done = !status;
  free(like);
  return status;
}
