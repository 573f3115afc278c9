/* Compiling, stage by stage. */
#include "runtime/compile.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "import/graph_text.h"
#include "ir/outline.h"
#include "loop/lower.h"
#include "loop/nibbles.h"
#include "loop/quantized.h"
#include "loop/slight.h"
#include "loop/sparse.h"
#include "loop/text.h"
#include "runtime/chooser.h"
#include "runtime/guard.h"
#include "runtime/kernel_name.h"
#include "runtime/kernel_source.h"
#include "runtime/routine.h"

/* A kernel of the program, and which of the model's it was made for first. */
typedef struct source {
  hone_program_kernel_t kernel;
  const char* label;
} source_t;

typedef struct driver {
  hone_graph_t* graph;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_compile_settings_t settings;
  hone_compile_report_t* report;
  hone_arena_t* arena; /* of this compilation */
  hone_program_t* program;
  hone_chooser_t* chooser;
  hone_map_t calls;   /* node (as a number) to hone_call_kernel_t */
  hone_map_t sources; /* source text to source_t */
  hone_map_t forms;   /* digest to the first hone_call_kernel_t that has it */
  int n_kernels, kernels_room;
  hone_program_kernel_t* kernels;  /* in the program's arena */
  const hone_node_t* const* nodes; /* calls, in order, with what became of them */
} driver_t;

static void dump(const driver_t* d, const char* kind, const char* name, const char* text) {
  if (d->settings.dump) d->settings.dump(d->settings.dump_self, kind, name, text);
}

static hone_status_t dump_graph(const driver_t* d, const char* name) {
  if (!d->settings.dump) return NULL;
  hone_str_t text;
  hone_str_init(&text, d->settings.allocator);
  hone_status_t status = hone_graph_print(d->graph, HONE_TEXT_SHORT, &text);
  if (!status) dump(d, "ir", name, hone_str_text(&text));
  hone_str_free(&text);
  return status;
}

/* A kernel as it was scheduled. */
static hone_status_t dump_kernel(const driver_t* d, const hone_kernel_t* form) {
  if (!d->settings.dump) return NULL;
  hone_str_t text;
  hone_str_init(&text, d->settings.allocator);
  hone_status_t status = hone_kernel_print(form, &text);
  if (!status) dump(d, "kernels", form->name, hone_str_text(&text));
  hone_str_free(&text);
  return status;
}

/* The plan for the smallest sizes that are not zero. */
static hone_status_t dump_plan(const driver_t* d) {
  if (!d->settings.dump) return NULL;
  int count = hone_dims_symbol_count(d->program->dims);
  int64_t* symbols = hone_arena_array(d->arena, (size_t)count, sizeof *symbols);
  if (!symbols) return hone_oom();
  hone_dims_smallest(d->program->dims, symbols);
  hone_str_t text;
  hone_str_init(&text, d->settings.allocator);
  hone_status_t status = hone_program_print_plan(d->program, symbols, &text);
  if (!status) dump(d, "plan", "plan", hone_str_text(&text));
  hone_str_free(&text);
  return status;
}

/* ---- passes ---- */

/* A call of its own for each node that can be a kernel and is in none yet. */
static hone_status_t wrap_nodes(const driver_t* d, hone_graph_t* graph) {
  size_t count = (size_t)graph->n_nodes;
  size_t bytes = count * (sizeof(hone_group_t) + sizeof(int));
  hone_group_t* groups = hone_alloc(d->settings.allocator, bytes);
  if (!groups) return hone_oom();
  int* group_of = (int*)(void*)(groups + count);
  int n_groups = 0;
  for (size_t i = 0; i < count; i++) {
    const hone_node_t* node = graph->nodes[i];
    const char* why;
    bool view = node->prim == HONE_PRIM_RESHAPE || node->prim == HONE_PRIM_BITCAST;
    bool source = node->prim == HONE_PRIM_INPUT || node->prim == HONE_PRIM_CONSTANT ||
                  node->prim == HONE_PRIM_DIMS;
    bool loop = !view && !source && node->prim != HONE_PRIM_CALL && hone_prim_is_loop(node, &why);
    group_of[i] = loop ? n_groups : -1;
    if (loop) groups[n_groups++] = (hone_group_t){.label = "kernel"};
  }
  hone_status_t status = hone_graph_outline(graph, n_groups, groups, group_of);
  hone_free(d->settings.allocator, groups, bytes);
  return status;
}

static bool is_string(const hone_value_t* value) {
  return value && value->type.kind == HONE_TYPE_TENSOR && value->type.dtype == HONE_STRING;
}

/* Whether a node is interpreted because of the strings that it reads or gives. */
static bool works_on_strings(const hone_node_t* node) {
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  bool found = false;
  if (family == HONE_FAMILY_SOURCE || family == HONE_FAMILY_CONTROL || node->n_regions)
    return false;
  for (int i = 0; i < node->n_inputs; i++) found = found || is_string(node->inputs[i]);
  for (int i = 0; i < node->n_outputs; i++) found = found || is_string(node->outputs[i]);
  return found;
}

/* One call of all that works on strings: interpreted together, movement of them copies none. */
static hone_status_t wrap_strings(const driver_t* d, hone_graph_t* graph) {
  if (d->settings.watch || d->settings.keep_nodes) return NULL;
  size_t count = (size_t)graph->n_nodes;
  int* group_of = hone_alloc(d->settings.allocator, (count + 1) * sizeof *group_of);
  if (!group_of) return hone_oom();
  int members = 0;
  for (size_t i = 0; i < count; i++) {
    bool is_member = works_on_strings(graph->nodes[i]);
    group_of[i] = is_member ? 0 : -1;
    members += is_member;
  }
  hone_group_t group = {.label = "strings"};
  hone_status_t status = members > 1 ? hone_graph_outline(graph, 1, &group, group_of) : NULL;
  hone_free(d->settings.allocator, group_of, (count + 1) * sizeof *group_of);
  return status;
}

static bool is_control(const hone_node_t* node) {
  return node->prim == HONE_PRIM_IF || node->prim == HONE_PRIM_LOOP;
}

static hone_status_t wrap_graph(const driver_t* d, hone_graph_t* graph) {
  HONE_TRY(wrap_strings(d, graph));
  HONE_TRY(wrap_nodes(d, graph));
  for (int i = 0; i < graph->n_nodes; i++)
    for (int r = 0; is_control(graph->nodes[i]) && r < graph->nodes[i]->n_regions; r++)
      HONE_TRY(wrap_graph(d, graph->nodes[i]->regions[r]));
  return NULL;
}

typedef void (*report_fn)(const hone_pass_report_t* report, hone_str_t* out);

static void dump_passes(const driver_t* d, const char* kind, report_fn print,
                        const hone_pass_report_t* report) {
  hone_str_t text;
  hone_str_init(&text, d->settings.allocator);
  print(report, &text);
  dump(d, kind, "passes", hone_str_text(&text));
  hone_str_free(&text);
}

/* Runs the passes and hands out what each did, as text and as JSON. */
static hone_status_t run_explained(const driver_t* d, const hone_pass_options_t* options) {
  hone_pass_options_t detailed = *options;
  detailed.details = true;
  hone_pass_report_t report;
  HONE_TRY(hone_pass_report_create(d->settings.allocator, &report));
  hone_status_t status = hone_passes_run(d->graph, &detailed, &report);
  if (!status) dump_passes(d, "passes", hone_pass_report_print, &report);
  if (!status) dump_passes(d, "passes.json", hone_pass_report_json, &report);
  hone_pass_report_destroy(&report);
  return status;
}

/* Cores that compute twice as fast do not move numbers twice as fast. Found on x86 with AVX-512. */
static double word_price(const hone_device_properties_t* properties) {
  enum { USUAL_FLOPS = 32 };
  static const double dear = 1.5;
  return properties->flops_per_cycle > USUAL_FLOPS ? dear : 1;
}

/* What passes care about of the device. */
static void describe_device(const driver_t* d, hone_pass_options_t* options) {
  hone_device_properties_t properties = {.struct_size = sizeof properties};
  d->backend->properties(d->device, &properties);
  options->widens = !(options->precision == HONE_BF16 ? properties.fast_bf16 : properties.fast_f16);
  options->sums_fours = properties.has_dot4;
  options->sums_apart = properties.has_dot_apart;
  options->sums_pairs = options->precision == HONE_BF16 && properties.has_dot2_bf16;
  options->sums_blocks = options->sums_pairs && properties.has_block_bf16 && properties.fast_blocks;
  options->splits = options->bf16x3 && properties.has_block_bf16 && properties.fast_blocks;
  options->blocks_bytes = properties.has_block_int8 && properties.fast_blocks;
  options->mixes_signs = properties.mixed_int8;
  options->sums_slight = properties.has_dot8;
  options->sums_nibbles = properties.has_dot_nibbles;
  options->halves_shorts = properties.has_dot2_i16 && properties.fast_int8;
  options->sums_shorts = properties.has_dot2_i16 && !properties.fast_int8;
  if (!properties.shares_host_memory || properties.max_group_size > 1) return;
  options->widens_f16 = !properties.fast_f16;
  options->widens_bf16 = !properties.fast_bf16;
  options->near_cache = properties.cache_bytes[1];
  options->far_cache = properties.cache_bytes[2];
  options->threads = properties.compute_units;
  options->lanes = properties.vector_bytes / (int)sizeof(float);
  options->word_price = word_price(&properties);
}

static void read_ahead(const hone_value_t* value) {
  const hone_tensor_t* constant = value && value->node ? value->node->constant : NULL;
  if (!constant || hone_tensor_is_late(constant)) return;
  hone_parallel_read_ahead(hone_thread_pool_shared(), hone_tensor_data(constant),
                           hone_tensor_bytes(constant));
}

/* Weights mostly lie in a file that is mapped; passes read them on one thread here and there. Of
 * tables only a few rows are read. */
static void read_weights_ahead(const driver_t* d) {
  for (int i = 0; i < d->graph->n_nodes; i++) {
    const hone_node_t* node = d->graph->nodes[i];
    if (node->prim == HONE_PRIM_GATHER) continue;
    for (int k = 0; k < node->n_inputs; k++) read_ahead(node->inputs[k]);
  }
}

static hone_status_t run_passes(driver_t* d) {
  hone_pass_options_t options = {0};
  read_weights_ahead(d);
  if (d->settings.passes) options = *d->settings.passes;
  if (!options.target) options.target = d->backend;
  describe_device(d, &options);
  HONE_TRY(dump_graph(d, "lowered"));
  HONE_TRY(d->settings.dump && !d->settings.pass_report
               ? run_explained(d, &options)
               : hone_passes_run(d->graph, &options, d->settings.pass_report));
  HONE_TRY(wrap_graph(d, d->graph));
  return dump_graph(d, "fused");
}

/* ---- kernels ---- */

/* The kernel with that source, which is built under a name made from it. */
static hone_status_t add_source(driver_t* d, const hone_kernel_t* form, double seconds,
                                int* out_index) {
  const char* text;
  char name[HONE_SOURCE_NAME_SIZE];
  HONE_TRY(hone_kernel_render(d->backend, d->device, form, d->arena, &text, name));
  const source_t* same = hone_map_get(&d->sources, text);
  if (same) {
    *out_index = same->kernel.entry;
    return NULL;
  }
  source_t* source = hone_arena_alloc(d->arena, sizeof *source);
  if (!source) return hone_oom();
  hone_program_kernel_t* kernel = &source->kernel;
  source->label = hone_arena_strdup(d->arena, form->name);
  kernel->entry = d->n_kernels;
  kernel->name = hone_arena_strdup(d->program->arena, name);
  kernel->source = hone_kernel_rename(d->program->arena, text, name);
  kernel->tactic = hone_arena_strdup(d->program->arena, form->tactic);
  kernel->why = hone_arena_strdup(d->program->arena, form->why);
  kernel->predicted_seconds = seconds;
  kernel->stack_bytes = hone_kernel_stack_bytes(form);
  if (!source->label || !kernel->name || !kernel->source || !kernel->tactic || !kernel->why)
    return hone_oom();
  HONE_TRY(hone_map_put(&d->sources, text, source));
  dump(d, "source", form->name, kernel->source);
  *out_index = d->n_kernels++;
  return NULL;
}

static const void* contents_of(void* self, const hone_buffer_t* buffer) {
  const hone_node_t* call = self;
  const hone_node_t* source = call->inputs[buffer->value]->node;
  return source->prim == HONE_PRIM_CONSTANT ? hone_tensor_data(source->constant) : NULL;
}

/* What is known of the numbers of constants: schedules may leave some out, and need not divide. */
static hone_status_t mark_constants(const driver_t* d, hone_node_t* call, hone_kernel_t* kernel) {
  hone_device_properties_t properties = {.struct_size = sizeof properties};
  d->backend->properties(d->device, &properties);
  if (properties.has_dot8) hone_slight_mark(kernel, contents_of, call);
  if (properties.has_dot_nibbles) hone_nibbles_mark(kernel, contents_of, call);
  if (properties.has_sparse_int8) hone_sparse_mark(kernel, contents_of, call);
  return hone_quantized_prove(kernel, contents_of, call);
}

/* Schedules a kernel, and finds its source: kernels with equal digests share one. */
static hone_status_t schedule(driver_t* d, hone_kernel_t* form, hone_choice_t* choice) {
  HONE_TRY(hone_chooser_build(d->chooser, choice, form));
  form->tactic = choice->tactic;
  form->why = choice->why;
  HONE_TRY(dump_kernel(d, form));
  if (choice->entry >= 0) return NULL;
  return add_source(d, form, choice->seconds, &choice->entry);
}

/* The call whose form serves this one too: equal but for names. Checks have
 * messages of their own, and whoever looks on wants to see each kernel. */
static const hone_call_kernel_t* find_equal(const driver_t* d, const hone_kernel_t* form,
                                            const hone_choice_t* choice) {
  bool could_be = choice->entry >= 0 && !form->n_checks && !d->settings.dump && !d->settings.watch;
  return could_be ? hone_map_get(&d->forms, choice->digest) : NULL;
}

static void share(const hone_call_kernel_t* equal, hone_call_kernel_t* out) {
  hone_kernel_destroy(out->form);
  out->form = equal->form;
  out->work = equal->work;
  out->index = equal->index;
  out->is_shared = true;
}

/* As tuned, where it was; should that be refused, untuned. */
static hone_status_t schedule_call(driver_t* d, hone_choice_t* choice, const hone_kernel_t* lowered,
                                   hone_call_kernel_t* out) {
  hone_status_t status = schedule(d, out->form, choice);
  if (!status || !hone_chooser_retreat(d->chooser, choice, status)) return status;
  hone_kernel_destroy(out->form);
  out->form = NULL;
  HONE_TRY(hone_kernel_clone(lowered, &out->form));
  HONE_TRY(hone_kernel_work(out->form, &out->work)); /* its sizes are the kernel's own */
  return schedule(d, out->form, choice);
}

static hone_status_t choose(driver_t* d, hone_call_kernel_t* out) {
  hone_choice_t* choice;
  hone_kernel_t* lowered = NULL;
  HONE_TRY(hone_chooser_find(d->chooser, out->form, &choice));
  const hone_call_kernel_t* equal = find_equal(d, out->form, choice);
  if (equal) {
    share(equal, out);
    return NULL;
  }
  if (d->settings.watch || choice->is_tuned) HONE_TRY(hone_kernel_clone(out->form, &lowered));
  hone_status_t status = schedule_call(d, choice, lowered, out);
  out->index = choice->entry;
  if (!status) status = hone_kernel_count_singles(out->form, &out->work);
  if (!status && d->settings.watch)
    status = d->settings.watch(d->settings.watch_self, lowered, choice->digest, choice->entry);
  hone_kernel_destroy(lowered);
  return status ? status : hone_map_put(&d->forms, choice->digest, out);
}

static const hone_tensor_t* constant_of(const void* constants, int input) {
  const hone_node_t* source = ((const hone_node_t*)constants)->inputs[input]->node;
  return source->prim == HONE_PRIM_CONSTANT ? source->constant : NULL;
}

static hone_status_t make_form(driver_t* d, const hone_node_t* call, hone_call_kernel_t* out) {
  const char* name = hone_kernel_name(d->arena, call, d->report->n_calls);
  if (!name) return hone_oom();
  out->name = name;
  const hone_kernel_options_t options = {
      .struct_size = sizeof options, .constant_of = constant_of, .constants = call};
  HONE_TRY(hone_kernel_lower(call->regions[0], name, &options, d->settings.allocator, &out->form));
  HONE_TRY(mark_constants(d, (hone_node_t*)(uintptr_t)call, out->form));
  char why[HONE_DEVICE_TEXT_SIZE] = "";
  if (!d->backend->supports(d->device, out->form, why))
    return hone_status_make(HONE_UNSUPPORTED, "%s", why);
  HONE_TRY(hone_kernel_work(out->form, &out->work));
  return choose(d, out);
}

/* What cannot be a kernel is interpreted; other failures are failures. */
static hone_status_t make_kernel(driver_t* d, const hone_node_t* call) {
  hone_call_kernel_t* made = hone_arena_alloc(d->arena, sizeof *made);
  if (!made) return hone_oom();
  HONE_TRY(hone_map_put_u64(&d->calls, (uint64_t)(uintptr_t)call, made));
  d->report->n_calls++;
  hone_status_t status = make_form(d, call, made);
  if (!status) return NULL;
  if (!made->is_shared) hone_kernel_destroy(made->form);
  made->form = NULL;
  if (hone_status_code(status) != HONE_UNSUPPORTED)
    return call->origin ? hone_status_annotate(status, "node %s", call->origin) : status;
  made->reason = hone_arena_strdup(d->arena, hone_status_message(status));
  hone_status_free(status);
  return made->reason ? NULL : hone_oom();
}

/* ---- chains ---- */

/* Whether one thread runs it in any case, batches apart: sizes count as small as they may be. */
static bool is_small(const driver_t* d, const hone_call_kernel_t* call) {
  const hone_dims_t* dims = call->form->dims;
  int count = hone_dims_symbol_count(dims);
  int64_t* values = hone_arena_array(d->arena, (size_t)count, sizeof *values);
  if (!values) return false;
  hone_dims_smallest(dims, values);
  hone_dim_t groups[3], locals[3];
  int64_t rounds[3];
  hone_kernel_grid(call->form, groups, locals);
  for (int i = 0; i < 3; i++) rounds[i] = hone_dim_eval(groups[i], values);
  const hone_work_amount_t work = hone_work_eval(&call->work, values);
  return rounds[0] <= hone_cost_grain(&d->program->properties, &work, rounds);
}

/* What a sparse product is made with has to be an input, which no step of a chain writes: the rows
 * that it has turned are told by their address. */
static bool has_sparse(const hone_kernel_t* form) {
  for (int i = 0; i < form->n_buffers; i++)
    if (form->buffers[i]->packing && form->buffers[i]->packing->is_sparse) return true;
  return false;
}

static const hone_kernel_t* form_in_chain(void* self, const hone_node_t* node) {
  const driver_t* d = self;
  hone_call_kernel_t* call = hone_map_get_u64(&d->calls, (uint64_t)(uintptr_t)node);
  if (!call || !call->form || !is_small(d, call) || has_sparse(call->form)) return NULL;
  int n_guards = 1;
  hone_guard_t* guards;
  hone_status_free(hone_guards_of(d->graph->dims, d->arena, node->regions[0], &n_guards, &guards));
  return n_guards ? NULL : call->form;
}

static void mark_chained(const driver_t* d, const hone_graph_t* body) {
  for (int i = 0; i < body->n_nodes; i++) {
    hone_call_kernel_t* call = hone_map_get_u64(&d->calls, (uint64_t)(uintptr_t)body->nodes[i]);
    if (call) call->is_chained = true;
  }
}

/* A loop whose body is small kernels becomes one; where each kernel is to be looked at, and on
 * devices that take many threads to be fast, it stays. */
static hone_status_t make_chain(driver_t* d, const hone_node_t* loop) {
  const hone_device_properties_t* device = &d->program->properties;
  if (d->settings.watch || d->settings.keep_nodes || device->max_group_size > 1) return NULL;
  hone_call_kernel_t* made = hone_arena_alloc(d->arena, sizeof *made);
  if (!made) return hone_oom();
  made->name = hone_kernel_loop_name(d->arena, loop, d->report->n_calls);
  if (!made->name) return hone_oom();
  HONE_TRY(hone_chain_create(loop, made->name, form_in_chain, d, d->settings.allocator, d->arena,
                             &made->chain));
  made->form = made->chain.kernel;
  if (!made->form) return NULL;
  hone_status_t status = hone_map_put_u64(&d->calls, (uint64_t)(uintptr_t)loop, made);
  if (status) {
    hone_kernel_destroy(made->form);
    return status;
  }
  mark_chained(d, loop->regions[0]);
  HONE_TRY(hone_kernel_work(made->form, &made->work));
  HONE_TRY(dump_kernel(d, made->form));
  return add_source(d, made->form, 0, &made->index);
}

static hone_status_t make_kernels(driver_t* d, const hone_graph_t* graph) {
  for (int i = 0; i < graph->n_nodes; i++) {
    const hone_node_t* node = graph->nodes[i];
    if (node->prim == HONE_PRIM_CALL) HONE_TRY(make_kernel(d, node));
    for (int r = 0; is_control(node) && r < node->n_regions; r++)
      HONE_TRY(make_kernels(d, node->regions[r]));
    if (node->prim == HONE_PRIM_LOOP) HONE_TRY(make_chain(d, node));
  }
  return NULL;
}

static hone_status_t make_all_kernels(driver_t* d) {
  const hone_chooser_options_t options = {.no_tuned = d->settings.no_tuned,
                                          .database = d->settings.tuned_database,
                                          .opened = d->settings.tuned};
  HONE_TRY(
      hone_chooser_create(d->settings.allocator, d->backend, d->device, &options, &d->chooser));
  HONE_TRY(make_kernels(d, d->graph));
  d->program->lost_tuned = hone_chooser_has_lost(d->chooser);
  return NULL;
}

/* ---- build and load ---- */

/* Kernels that are only parts of chains are not built: the others move up. */
static hone_status_t drop_chained(driver_t* d) {
  int* to = hone_arena_array(d->arena, (size_t)d->n_kernels, sizeof *to);
  if (!to) return hone_oom();
  for (int i = 0; i < d->n_kernels; i++) to[i] = -1;
  size_t cursor = 0, other = 0;
  hone_map_entry_t* e;
  while ((e = hone_map_next(&d->calls, &cursor))) {
    const hone_call_kernel_t* call = e->value;
    if (call->form && !call->is_chained) to[call->index] = 0;
  }
  int kept = 0;
  for (int i = 0; i < d->n_kernels; i++)
    if (to[i] == 0) to[i] = kept++;
  for (cursor = 0; (e = hone_map_next(&d->calls, &cursor));) {
    hone_call_kernel_t* call = e->value;
    if (call->form) call->index = to[call->index];
  }
  while ((e = hone_map_next(&d->sources, &other))) {
    source_t* source = e->value;
    source->kernel.entry = to[source->kernel.entry];
  }
  d->n_kernels = kept;
  return NULL;
}

/* The distinct kernels, in the order in which they were first met. */
static hone_status_t list_kernels(driver_t* d) {
  hone_program_t* program = d->program;
  HONE_TRY(drop_chained(d));
  program->kernels =
      hone_arena_array(program->arena, (size_t)d->n_kernels, sizeof *program->kernels);
  if (!program->kernels) return hone_oom();
  size_t cursor = 0;
  for (hone_map_entry_t* e; (e = hone_map_next(&d->sources, &cursor));) {
    const source_t* source = e->value;
    if (source->kernel.entry >= 0) program->kernels[source->kernel.entry] = source->kernel;
  }
  program->n_kernels = d->n_kernels;
  return NULL;
}

static hone_status_t list_texts(const driver_t* d, const char*** out_names,
                                const char*** out_sources) {
  size_t count = (size_t)d->program->n_kernels;
  *out_names = hone_arena_array(d->arena, count, sizeof **out_names);
  *out_sources = hone_arena_array(d->arena, count, sizeof **out_sources);
  if (!*out_names || !*out_sources) return hone_oom();
  for (size_t i = 0; i < count; i++) {
    (*out_names)[i] = d->program->kernels[i].name;
    (*out_sources)[i] = d->program->kernels[i].source;
  }
  return NULL;
}

static hone_status_t refuse_assembly(const driver_t* d) {
  return hone_status_make(HONE_UNSUPPORTED,
                          "the machine code of %s is its driver's own and cannot be had; --dump "
                          "source shows what the driver is given",
                          d->backend->name);
}

/* The machine code of each kernel, named as its source was. */
static hone_status_t dump_assembly(const driver_t* d, const char* const* names,
                                   const char* const* sources) {
  if (!d->settings.dump || !d->settings.dump_asm) return NULL;
  if (!d->backend->assembly) return refuse_assembly(d);
  size_t count = (size_t)d->program->n_kernels, cursor = 0;
  const char** labels = hone_arena_array(d->arena, count, sizeof *labels);
  hone_blob_t* texts = hone_arena_array(d->arena, count, sizeof *texts);
  if (!labels || !texts) return hone_oom();
  for (hone_map_entry_t* e; (e = hone_map_next(&d->sources, &cursor));) {
    const source_t* source = e->value;
    if (source->kernel.entry >= 0) labels[source->kernel.entry] = source->label;
  }
  hone_status_t status = d->backend->assembly(d->device, (int)count, names, sources, texts);
  for (size_t i = 0; i < count; i++) {
    if (!status) dump(d, "asm", labels[i], texts[i].data);
    hone_free(d->settings.allocator, texts[i].data, texts[i].size);
  }
  return status;
}

static hone_status_t build(driver_t* d) {
  HONE_TRY(list_kernels(d));
  hone_program_t* program = d->program;
  if (!program->n_kernels || d->settings.plan_only) return NULL;
  const char **names, **sources;
  HONE_TRY(list_texts(d, &names, &sources));
  HONE_TRY(d->backend->build(d->device, program->n_kernels, names, sources, &program->binary));
  program->code_bytes = program->binary.size;
  return dump_assembly(d, names, sources);
}

static hone_status_t load(driver_t* d) {
  hone_program_t* program = d->program;
  if (!program->n_kernels || d->settings.plan_only) return NULL;
  const char **names, **sources;
  HONE_TRY(list_texts(d, &names, &sources));
  hone_status_t status =
      d->backend->load(d->device, &program->binary, program->n_kernels, names, &program->module);
  if (!d->settings.may_be_foreign || hone_status_code(status) != HONE_UNAVAILABLE) return status;
  hone_status_free(status);
  return NULL;
}

/* ---- the program ---- */

static const hone_call_kernel_t* find_call(void* self, const hone_node_t* call) {
  const driver_t* d = self;
  return hone_map_get_u64(&d->calls, (uint64_t)(uintptr_t)call);
}

static hone_status_t assemble(driver_t* d) {
  hone_routine_source_t source = {.graph = d->graph,
                                  .find = find_call,
                                  .self = d,
                                  .keep_nodes = d->settings.keep_nodes,
                                  .spends_constants = d->settings.spends_constants};
  HONE_TRY(hone_program_add_graph(d->program, &source));
  HONE_TRY(hone_program_finish(d->program));
  d->report->n_interpreted = hone_program_interpreted(d->program);
  d->report->n_kernels = d->program->n_kernels;
  return dump_plan(d);
}

/* ---- the whole ---- */

typedef struct stage {
  const char* name;
  hone_status_t (*run)(driver_t* d);
} stage_t;

static const stage_t stages[HONE_COMPILE_PHASES] = {
    {"passes", run_passes}, {"kernels", make_all_kernels}, {"build", build}, {"load", load},
    {"plan", assemble},
};

static hone_status_t run_stages(driver_t* d) {
  for (int i = 0; i < HONE_COMPILE_PHASES; i++) {
    int64_t start = hone_clock_ns();
    HONE_TRY(stages[i].run(d));
    d->report->phases[i] =
        (hone_compile_phase_t){stages[i].name, (uint64_t)(hone_clock_ns() - start)};
  }
  return NULL;
}

static void close_driver(driver_t* d) {
  size_t cursor = 0;
  for (hone_map_entry_t* e; (e = hone_map_next(&d->calls, &cursor));) {
    const hone_call_kernel_t* made = e->value;
    if (!made->is_shared) hone_kernel_destroy(made->form);
  }
  hone_chooser_destroy(d->chooser);
  hone_map_free(&d->calls);
  hone_map_free(&d->sources);
  hone_map_free(&d->forms);
  hone_arena_destroy(d->arena);
}

hone_status_t hone_compile(hone_graph_t* graph, const hone_backend_t* backend,
                           hone_device_t* device, const hone_compile_settings_t* settings,
                           hone_compile_report_t* out_report, hone_program_t** out_program) {
  hone_compile_report_t unwanted;
  if (!out_report) out_report = &unwanted;
  *out_report = (hone_compile_report_t){0};
  *out_program = NULL;
  driver_t d = {.graph = graph, .backend = backend, .device = device, .report = out_report};
  if (settings) d.settings = *settings;
  if (!d.settings.allocator) d.settings.allocator = hone_allocator_system();
  hone_map_init(&d.calls, d.settings.allocator);
  hone_map_init(&d.forms, d.settings.allocator);
  hone_map_init(&d.sources, d.settings.allocator);
  HONE_TRY(hone_arena_create(d.settings.allocator, &d.arena));
  hone_status_t status = hone_program_create(d.settings.allocator, backend, device, &d.program);
  if (!status) status = run_stages(&d);
  close_driver(&d);
  if (status)
    hone_program_destroy(d.program);
  else
    *out_program = d.program;
  return status;
}
