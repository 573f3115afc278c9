/* One step a node, in the graph's order; the values keep the graph's numbers. */
#include "runtime/routine.h"

#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "runtime/guard.h"
#include "runtime/in_place.h"
#include "runtime/merge_views.h"
#include "runtime/origins.h"
#include "runtime/packing.h"

/* Where late weights are made to be packed, one after the other: their own memory is not touched.
 */
typedef struct scratch {
  void* data;
  size_t size;
} scratch_t;

typedef struct builder {
  hone_program_t* program;
  const hone_routine_source_t* source;
  const hone_graph_t* graph; /* the root or a region */
  hone_routine_t* routine;
  int* last_step;      /* by the graph's value: the last to read it */
  bool* is_read_plain; /* likewise: as it is, and not packed, by a step up to now or the caller */
  hone_dim_t* symbols; /* the program's, by id */
  int n_symbols;
  size_t* spent; /* bytes of constants that no node has any more, and the graph still has */
  scratch_t* scratch;
} builder_t;

static hone_status_t build_routine(const builder_t* outer, const hone_graph_t* graph,
                                   hone_routine_t** out_routine);

/* ---- dimensions ---- */

/* The graph's symbols again, under the same numbers. */
static hone_status_t copy_symbols(builder_t* b) {
  hone_program_t* program = b->program;
  const hone_dims_t* from = b->source->graph->dims;
  b->n_symbols = hone_dims_symbol_count(from);
  b->symbols = hone_arena_array(program->arena, (size_t)b->n_symbols, sizeof *b->symbols);
  if (!b->symbols) return hone_oom();
  for (int i = 0; i < b->n_symbols; i++) {
    const hone_symbol_t* symbol = hone_dims_symbol(from, i);
    b->symbols[i] =
        hone_dim_symbol(program->dims, symbol->name, symbol->origin, symbol->min, symbol->max);
  }
  return hone_dims_out_of_memory(program->dims) ? hone_oom() : NULL;
}

static const hone_dim_t* copy_dims(const builder_t* b, int count, const hone_dim_t* dims) {
  hone_dim_t* copy = hone_arena_array(b->program->arena, (size_t)count, sizeof *copy);
  for (int i = 0; copy && i < count; i++)
    copy[i] = hone_dim_replace(b->program->dims, dims[i], b->n_symbols, b->symbols, NULL);
  return copy;
}

/* ---- definitions ---- */

typedef struct finding {
  hone_program_definition_t* by_symbol; /* symbol -1: it has none */
  int symbol;
  bool is_rising; /* only symbols with smaller ids occur */
} finding_t;

static void see_symbol(void* self, const hone_symbol_t* symbol) {
  finding_t* f = self;
  f->is_rising &= symbol->id < f->symbol;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are nested */
static void find_definitions(const hone_graph_t* graph, finding_t* f) {
  for (const hone_short_name_t* name = graph->short_names; name; name = name->next) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(name->symbol);
    if (!symbol || hone_dim_is_bad(name->expression)) continue;
    f->symbol = symbol->id;
    f->is_rising = true;
    hone_dim_visit_symbols(name->expression, see_symbol, f);
    if (f->is_rising)
      f->by_symbol[symbol->id] = (hone_program_definition_t){symbol->id, name->expression};
  }
  for (int n = 0; n < graph->n_nodes; n++)
    for (int r = 0; r < graph->nodes[n]->n_regions; r++)
      find_definitions(graph->nodes[n]->regions[r], f);
}

/* What short names stand for. */
static hone_status_t copy_definitions(const builder_t* b) {
  hone_program_t* program = b->program;
  finding_t f = {0};
  f.by_symbol = hone_arena_array(program->arena, (size_t)b->n_symbols, sizeof *f.by_symbol);
  if (!f.by_symbol) return hone_oom();
  for (int i = 0; i < b->n_symbols; i++) f.by_symbol[i].symbol = -1;
  find_definitions(b->source->graph, &f);
  program->definitions = f.by_symbol;
  for (int i = 0; i < b->n_symbols; i++) {
    if (f.by_symbol[i].symbol < 0) continue;
    program->definitions[program->n_definitions++] = (hone_program_definition_t){
        i,
        hone_dim_replace(program->dims, f.by_symbol[i].expression, b->n_symbols, b->symbols, NULL)};
  }
  return hone_dims_out_of_memory(program->dims) ? hone_oom() : NULL;
}

/* ---- values ---- */

static hone_status_t copy_binds(const builder_t* b, const hone_value_t* from,
                                hone_program_value_t* to) {
  for (const hone_bind_t* bind = from->binds; bind; bind = bind->next) to->n_binds++;
  hone_program_bind_t* binds =
      hone_arena_array(b->program->arena, (size_t)to->n_binds, sizeof *binds);
  if (!binds) return hone_oom();
  int i = 0;
  for (const hone_bind_t* bind = from->binds; bind; bind = bind->next)
    binds[i++] =
        (hone_program_bind_t){.symbol = bind->symbol, .is_dim = bind->is_dim, .index = bind->index};
  to->binds = binds;
  return NULL;
}

static hone_status_t add_value(const builder_t* b, const hone_value_t* from) {
  hone_program_value_t* value = &b->routine->values[from->id];
  const char* name = from->name ? from->name : "";
  *value = (hone_program_value_t){.place = HONE_PLACE_HOST,
                                  .is_known = hone_type_is_known(&from->type),
                                  .dtype = from->type.dtype,
                                  .rank = from->type.rank,
                                  .in_place_of = -1,
                                  .name = hone_arena_strdup(b->program->arena, name)};
  if (!value->name) return hone_oom();
  if (value->is_known) {
    value->dims = copy_dims(b, value->rank, from->type.dims);
    if (!value->dims) return hone_oom();
  }
  return copy_binds(b, from, value);
}

static const int* copy_ids(const builder_t* b, int count, hone_value_t* const* values) {
  int* ids = hone_arena_array(b->program->arena, (size_t)count, sizeof *ids);
  for (int i = 0; ids && i < count; i++) ids[i] = values[i] ? values[i]->id : -1;
  return ids;
}

/* ---- launches ---- */

/* A kernel's sizes have the names of the graph's symbols. */
static hone_status_t find_size(const builder_t* b, hone_dim_t size, hone_dim_t* out) {
  const char* name = hone_dim_as_symbol(size)->name;
  for (int i = 0; i < b->n_symbols; i++)
    if (strcmp(hone_dim_as_symbol(b->symbols[i])->name, name) == 0) {
      *out = b->symbols[i];
      return NULL;
    }
  return hone_status_make(HONE_INTERNAL, "the kernel's size '%s' is no symbol of the graph", name);
}

static hone_status_t set_sizes(const builder_t* b, const hone_call_kernel_t* call,
                               hone_step_t* step) {
  const hone_kernel_t* kernel = call->form;
  hone_dim_t* sizes = hone_arena_array(b->program->arena, (size_t)kernel->n_sizes, sizeof *sizes);
  int n = hone_dims_symbol_count(kernel->dims);
  hone_dim_t* to = hone_alloc(b->program->allocator, (size_t)n * sizeof *to);
  hone_status_t status = sizes && to ? NULL : hone_oom();
  for (int i = 0; i < kernel->n_sizes && !status; i++) {
    status = find_size(b, kernel->sizes[i], &sizes[i]);
    if (!status) to[hone_dim_as_symbol(kernel->sizes[i])->id] = sizes[i];
  }
  if (!status) {
    hone_kernel_grid(kernel, step->groups, step->locals);
    for (int i = 0; i < 3; i++) {
      step->groups[i] = hone_dim_replace(b->program->dims, step->groups[i], n, to, NULL);
      step->locals[i] = hone_dim_replace(b->program->dims, step->locals[i], n, to, NULL);
    }
    step->work = hone_work_replace(b->program->dims, &call->work, n, to);
  }
  hone_free(b->program->allocator, to, (size_t)n * sizeof *to);
  step->n_sizes = kernel->n_sizes;
  step->sizes = sizes;
  return status;
}

static hone_status_t widen_scratch(const builder_t* b, size_t size) {
  scratch_t* scratch = b->scratch;
  if (size <= scratch->size) return NULL;
  hone_free(b->program->allocator, scratch->data, scratch->size);
  *scratch = (scratch_t){hone_realloc(b->program->allocator, NULL, 0, size), size};
  if (!scratch->data) return hone_oom();
  hone_parallel_touch(hone_thread_pool_shared(), scratch->data, size);
  return NULL;
}

/* The weight packed, in the program's room. */
static hone_status_t pack(const builder_t* b, const hone_buffer_t* buffer,
                          const hone_tensor_t* constant, hone_tensor_t** out_packed) {
  hone_program_t* program = b->program;
  if (!program->room) HONE_TRY(hone_room_create(program->allocator, &program->room));
  const hone_allocator_t* room = hone_room_allocator(program->room);
  if (!hone_tensor_is_late(constant)) return hone_packing_apply(buffer, constant, room, out_packed);
  HONE_TRY(widen_scratch(b, hone_tensor_bytes(constant)));
  hone_tensor_fill(constant, b->scratch->data);
  hone_tensor_t* filled;
  HONE_TRY(hone_tensor_wrap(program->allocator, hone_tensor_dtype(constant),
                            hone_tensor_rank(constant), hone_tensor_dims(constant),
                            b->scratch->data, NULL, NULL, &filled));
  hone_status_t status = hone_packing_apply(buffer, filled, room, out_packed);
  hone_tensor_release(filled);
  return status;
}

/* A weight in the order that the kernel reads it in, as a value of its own. */
static hone_status_t add_packed(const builder_t* b, const hone_buffer_t* buffer,
                                const hone_tensor_t* constant, int* out_value) {
  hone_program_t* program = b->program;
  hone_tensor_t* packed;
  HONE_TRY(pack(b, buffer, constant, &packed));
  int weight = hone_program_add_weight(program, packed);
  hone_dim_t* dims = hone_arena_alloc(program->arena, sizeof *dims);
  if (dims) *dims = hone_dim_int(hone_tensor_count(packed));
  hone_tensor_release(packed);
  if (weight < 0 || !dims) return hone_oom();
  *out_value = b->routine->n_values++;
  b->routine->values[*out_value] = (hone_program_value_t){.place = HONE_PLACE_WEIGHT,
                                                          .is_known = true,
                                                          .dtype = buffer->dtype,
                                                          .rank = 1,
                                                          .dims = dims,
                                                          .weight = weight,
                                                          .in_place_of = -1,
                                                          .name = ""};
  return NULL;
}

/* Input `index` of a call, or of a chain, which has constants behind those of its node. */
static const hone_value_t* operand(const hone_node_t* node, const hone_call_kernel_t* call,
                                   int index) {
  return index < node->n_inputs ? node->inputs[index]
                                : call->chain.constants[index - node->n_inputs];
}

static hone_status_t set_buffers(const builder_t* b, const hone_node_t* node,
                                 const hone_call_kernel_t* call, hone_step_t* step) {
  const hone_kernel_t* kernel = call->form;
  int* buffers = hone_arena_array(b->program->arena, (size_t)kernel->n_buffers, sizeof *buffers);
  if (!buffers) return hone_oom();
  for (int i = 0; i < kernel->n_buffers; i++) {
    const hone_buffer_t* buffer = kernel->buffers[i];
    if (buffer->role == HONE_ROLE_SCRATCH) continue;
    int* to = &buffers[step->n_buffers++];
    *to = HONE_BUFFER_ERROR;
    if (buffer->role == HONE_ROLE_INPUT) *to = step->inputs[buffer->value];
    if (buffer->packing)
      HONE_TRY(add_packed(b, buffer, operand(node, call, buffer->value)->node->constant, to));
    if (buffer->role == HONE_ROLE_OUTPUT) *to = step->outputs[buffer->value];
    if (buffer->role == HONE_ROLE_ERROR) step->error = b->program->n_errors++;
  }
  step->buffers = buffers;
  return NULL;
}

typedef struct check_list {
  hone_arena_t* arena;
  const char** messages;
  int count;
  bool failed;
} check_list_t;

static bool see_check(void* self, hone_stmt_t* stmt) {
  check_list_t* list = self;
  if (stmt->kind != HONE_STMT_CHECK || stmt->check < 0 || stmt->check >= list->count) return true;
  const char* message = stmt->message ? stmt->message : "a check failed";
  list->messages[stmt->check] = hone_arena_strdup(list->arena, message);
  list->failed = list->failed || !list->messages[stmt->check];
  return true;
}

static hone_status_t set_checks(const builder_t* b, const hone_kernel_t* kernel,
                                hone_step_t* step) {
  check_list_t list = {.arena = b->program->arena, .count = kernel->n_checks};
  list.messages = hone_arena_array(list.arena, (size_t)list.count, sizeof *list.messages);
  if (!list.messages) return hone_oom();
  for (int i = 0; i < list.count; i++) list.messages[i] = "a check failed";
  hone_stmt_walk(kernel->root, see_check, &list);
  step->n_checks = list.count;
  step->checks = list.messages;
  return list.failed ? hone_oom() : NULL;
}

/* Of the inputs that an output may replace, one that nobody reads later. */
static void allow_in_place(const builder_t* b, const hone_kernel_t* form, const hone_step_t* step) {
  int index = b->routine->n_steps - 1; /* of this step */
  for (int k = 0; k < step->n_outputs; k++)
    for (int i = hone_kernel_in_place(form, k, 0); i >= 0;
         i = hone_kernel_in_place(form, k, i + 1)) {
      int v = step->inputs[i];
      if (b->last_step[v] != index) continue;
      b->routine->values[step->outputs[k]].in_place_of = v;
      break;
    }
}

/* Where launches may take turns, how far each round of this one reaches. */
static hone_status_t set_spans(const builder_t* b, hone_kernel_t* form, hone_step_t* step) {
  if (!b->program->backend->launch_turns) return NULL;
  size_t count = (size_t)form->n_buffers;
  hone_span_t* spans = hone_arena_array(b->program->arena, count, sizeof *spans);
  if (!spans) return hone_oom();
  HONE_TRY(hone_kernel_spans(form, spans));
  int n = 0;
  for (int i = 0; i < form->n_buffers; i++)
    if (form->buffers[i]->role != HONE_ROLE_SCRATCH) spans[n++] = spans[i];
  step->spans = spans;
  return NULL;
}

static hone_status_t make_launch(const builder_t* b, const hone_node_t* node,
                                 const hone_call_kernel_t* call, hone_step_t* step) {
  step->kind = HONE_STEP_LAUNCH;
  step->kernel = call->index;
  step->name = hone_arena_strdup(b->program->arena, call->name ? call->name : "");
  if (!step->name) return hone_oom();
  HONE_TRY(set_sizes(b, call, step));
  HONE_TRY(set_buffers(b, node, call, step));
  if (node->prim == HONE_PRIM_CALL) allow_in_place(b, call->form, step);
  HONE_TRY(set_spans(b, call->form, step));
  return set_checks(b, call->form, step);
}

/* ---- interpreted nodes ---- */

/* An input of the shell; NULL when memory is out. */
static hone_value_t* shell_input(hone_graph_t* shell, const hone_value_t* like) {
  const hone_node_t input = {.prim = HONE_PRIM_INPUT, .n_outputs = 1};
  hone_node_t* made = hone_graph_append(shell, &input, &like->type);
  return made ? made->outputs[0] : NULL;
}

/* Values of the symbols, each bound by an element. */
static hone_status_t shell_symbols(hone_graph_t* shell, int n_symbols) {
  hone_dim_t* extent = hone_arena_alloc(shell->arena, sizeof *extent);
  if (!extent) return hone_oom();
  *extent = hone_dim_int(n_symbols);
  const hone_value_t like = {.type = hone_type_tensor(HONE_I64, 1, extent)};
  hone_value_t* input = shell_input(shell, &like);
  if (!input) return hone_oom();
  for (int i = 0; i < n_symbols; i++) HONE_TRY(hone_value_bind(shell, input, i, false, i));
  return NULL;
}

/* A graph of the node alone, which keeps its regions and types. */
static hone_status_t fill_shell(const builder_t* b, const hone_node_t* node, hone_graph_t* shell,
                                bool wants_symbols) {
  shell->dims = b->source->graph->dims;
  hone_node_t copy = *node;
  size_t n = (size_t)node->n_inputs, m = (size_t)node->n_outputs;
  copy.inputs = hone_arena_array(shell->arena, n, sizeof *copy.inputs);
  hone_type_t* types = hone_arena_array(shell->arena, m, sizeof *types);
  if (!copy.inputs || !types) return hone_oom();
  for (size_t i = 0; i < n; i++) {
    if (!node->inputs[i]) continue;
    copy.inputs[i] = shell_input(shell, node->inputs[i]);
    if (!copy.inputs[i]) return hone_oom();
  }
  if (wants_symbols) HONE_TRY(shell_symbols(shell, b->n_symbols));
  for (size_t i = 0; i < m; i++) types[i] = node->outputs[i]->type;
  const hone_node_t* made = hone_graph_append(shell, &copy, types);
  if (!made) return hone_oom();
  for (size_t i = 0; i < m; i++) made->outputs[i]->name = node->outputs[i]->name;
  return hone_graph_set_outputs(shell, node->n_outputs, made->outputs, NULL);
}

static hone_status_t make_shell(const builder_t* b, const hone_node_t* node, hone_step_t* step) {
  const hone_allocator_t* allocator = b->program->allocator;
  step->wants_symbols = node->prim != HONE_PRIM_HOST && b->n_symbols > 0;
  step->gives_tensors = node->prim != HONE_PRIM_HOST;
  for (int i = 0; i < node->n_outputs; i++)
    if (!hone_type_is_known(&node->outputs[i]->type)) step->gives_tensors = false;
  HONE_TRY(hone_graph_create(allocator, "interpreted", &step->graph));
  HONE_TRY(fill_shell(b, node, step->graph, step->wants_symbols));
  const hone_compile_options_t options = {.struct_size = sizeof options, .allocator = allocator};
  return hone_backend_find("ref")->compile(step->graph, &options, &step->interpreted);
}

static hone_status_t make_interpreted(const builder_t* b, const hone_node_t* node,
                                      const char* reason, hone_step_t* step) {
  step->kind = HONE_STEP_INTERPRET;
  step->reason = hone_arena_strdup(b->program->arena, reason);
  return step->reason ? make_shell(b, node, step) : hone_oom();
}

/* ---- guards ---- */

static hone_status_t set_guards(const builder_t* b, const hone_node_t* call, hone_step_t* step) {
  hone_guard_t* guards;
  HONE_TRY(hone_guards_of(b->source->graph->dims, b->program->arena, call->regions[0],
                          &step->n_guards, &guards));
  for (int i = 0; i < step->n_guards; i++) {
    guards[i].a = hone_dim_replace(b->program->dims, guards[i].a, b->n_symbols, b->symbols, NULL);
    guards[i].b = hone_dim_replace(b->program->dims, guards[i].b, b->n_symbols, b->symbols, NULL);
  }
  step->guards = guards;
  return step->n_guards || b->source->keep_nodes ? make_shell(b, call, step) : NULL;
}

/* ---- nodes ---- */

static bool can_be_view(const hone_node_t* node) {
  if (node->prim != HONE_PRIM_RESHAPE && node->prim != HONE_PRIM_BITCAST) return false;
  const hone_type_t *in = &node->inputs[0]->type, *out = &node->outputs[0]->type;
  return hone_type_is_known(in) && hone_type_is_known(out) && in->dtype != HONE_STRING &&
         out->dtype != HONE_STRING;
}

/* An extent may be a short name that the view itself binds: what it stands for
 * is in the reshape. */
static hone_status_t make_view(const builder_t* b, const hone_node_t* node, hone_step_t* step) {
  hone_program_value_t* values = b->routine->values;
  int base = step->inputs[0];
  if (values[base].place == HONE_PLACE_VIEW) base = values[base].view_of;
  hone_program_value_t* view = &values[step->outputs[0]];
  step->kind = HONE_STEP_VIEW;
  view->place = HONE_PLACE_VIEW;
  view->view_of = base;
  if (node->prim == HONE_PRIM_RESHAPE) view->dims = copy_dims(b, view->rank, node->shape);
  return view->dims ? NULL : hone_oom();
}

static hone_status_t make_dims(const builder_t* b, const hone_node_t* node, hone_step_t* step) {
  step->kind = HONE_STEP_DIMS;
  step->n_sizes = node->n_dims;
  step->sizes = copy_dims(b, node->n_dims, node->shape);
  return step->sizes ? NULL : hone_oom();
}

/* The step reads the packed weights only, so that the others may go. */
static void read_packed(const hone_kernel_t* form, const hone_step_t* step) {
  int* inputs = (int*)(uintptr_t)step->inputs; /* just made */
  for (int i = 0, n = 0; i < form->n_buffers; i++) {
    const hone_buffer_t* buffer = form->buffers[i];
    if (buffer->role == HONE_ROLE_SCRATCH) continue;
    if (buffer->packing) inputs[buffer->value] = step->buffers[n];
    n++;
  }
}

/* Notes what is read in the graph's order; the routine has more values than the graph. */
static void note_plain(const builder_t* b, int count, const int* values) {
  for (int i = 0; i < count; i++)
    if (values[i] >= 0 && values[i] < b->graph->n_values) b->is_read_plain[values[i]] = true;
}

/* Lets a weight go, here and in the graph, if this step is the last that reads it and all have read
 * it packed: so there is hardly more memory than what is packed takes. */
static void spend_weight(const builder_t* b, const hone_value_t* constant) {
  enum { LEAST_BYTES = 1 << 12, ENOUGH_BYTES = 32 << 20 /* for a walk through the graph */ };
  hone_node_t* node = constant->node;
  const hone_program_value_t* value = &b->routine->values[constant->id];
  bool is_last = b->last_step[constant->id] == b->routine->n_steps - 1;
  size_t bytes = node->constant ? hone_tensor_bytes(node->constant) : 0;
  if (!is_last || value->n_binds || b->is_read_plain[constant->id]) return;
  if (bytes < LEAST_BYTES) return;
  hone_weight_t* weight = &b->program->weights[value->weight];
  hone_tensor_release(weight->tensor);
  weight->tensor = NULL;
  node->constant = NULL;
  *b->spent += bytes;
  if (*b->spent < ENOUGH_BYTES) return;
  *b->spent = 0;
  hone_graph_drop_constants(b->source->graph);
}

static void spend_packed(const builder_t* b, const hone_node_t* node) {
  const hone_call_kernel_t* call = b->source->find(b->source->self, node);
  if (!b->source->spends_constants || b->graph != b->source->graph || !call || !call->form) return;
  for (int i = 0; i < call->form->n_buffers; i++)
    if (call->form->buffers[i]->packing)
      spend_weight(b, operand(node, call, call->form->buffers[i]->value));
}

/* ---- chains ---- */

/* A value that the graph does not have. */
static hone_status_t add_extra(const builder_t* b, const hone_value_t* like, int* out_value) {
  int v = *out_value = b->routine->n_values++;
  const hone_type_t* type = &like->type;
  b->routine->values[v] = (hone_program_value_t){.place = HONE_PLACE_HOST,
                                                 .is_known = true,
                                                 .dtype = type->dtype,
                                                 .rank = type->rank,
                                                 .dims = copy_dims(b, type->rank, type->dims),
                                                 .in_place_of = -1,
                                                 .name = ""};
  return b->routine->values[v].dims ? NULL : hone_oom();
}

static int* longer_list(const builder_t* b, int count, const int* list, int more) {
  int* out = hone_arena_array(b->program->arena, (size_t)(count + more), sizeof *out);
  for (int i = 0; out && i < count + more; i++) out[i] = i < count ? list[i] : -1;
  return out;
}

/* Constants that the chain reads as they are; those that it has packed come with its buffers. */
static hone_status_t add_constants(const builder_t* b, const hone_node_t* loop,
                                   const hone_call_kernel_t* call, int* inputs) {
  for (int i = 0; i < call->form->n_buffers; i++) {
    const hone_buffer_t* buffer = call->form->buffers[i];
    bool is_input = buffer->role == HONE_ROLE_INPUT && buffer->value >= loop->n_inputs;
    if (!is_input || buffer->packing) continue;
    const hone_value_t* constant = operand(loop, call, buffer->value);
    int* v = &inputs[buffer->value];
    HONE_TRY(add_extra(b, constant, v));
    hone_program_value_t* value = &b->routine->values[*v];
    value->place = HONE_PLACE_WEIGHT;
    value->weight = hone_program_add_weight(b->program, constant->node->constant);
    if (value->weight < 0) return hone_oom();
  }
  return NULL;
}

/* The number of rounds and the condition are in the kernel. */
static hone_status_t make_chain(const builder_t* b, const hone_node_t* loop,
                                const hone_call_kernel_t* call, hone_step_t* step) {
  const hone_chain_t* chain = &call->chain;
  int* inputs = longer_list(b, step->n_inputs, step->inputs, chain->n_constants);
  int* outputs = longer_list(b, step->n_outputs, step->outputs, chain->n_temporaries);
  if (!inputs || !outputs) return hone_oom();
  inputs[0] = inputs[1] = -1;
  HONE_TRY(add_constants(b, loop, call, inputs));
  for (int i = 0; i < chain->n_temporaries; i++)
    HONE_TRY(add_extra(b, chain->temporaries[i], &outputs[step->n_outputs + i]));
  step->inputs = inputs;
  step->outputs = outputs;
  step->n_inputs += chain->n_constants;
  step->n_outputs += chain->n_temporaries;
  HONE_TRY(make_launch(b, loop, call, step));
  read_packed(call->form, step);
  return NULL;
}

static hone_status_t make_control(const builder_t* b, const hone_node_t* node, hone_step_t* step) {
  const hone_call_kernel_t* call = b->source->find(b->source->self, node);
  if (call && call->form) return make_chain(b, node, call, step);
  step->kind = node->prim == HONE_PRIM_IF ? HONE_STEP_IF : HONE_STEP_LOOP;
  step->n_carried = node->n_carried;
  for (int i = 0; i < node->n_regions; i++)
    HONE_TRY(build_routine(b, node->regions[i], &step->bodies[i]));
  return NULL;
}

static hone_status_t make_call(const builder_t* b, const hone_node_t* node, hone_step_t* step) {
  const hone_call_kernel_t* call = b->source->find(b->source->self, node);
  if (call && call->form) {
    HONE_TRY(make_launch(b, node, call, step));
    HONE_TRY(set_guards(b, node, step));
    if (!step->interpreted) read_packed(call->form, step);
    return NULL;
  }
  return make_interpreted(b, node, call && call->reason ? call->reason : "no kernel", step);
}

static const char* why_interpreted(const hone_node_t* node) {
  return node->prim == HONE_PRIM_HOST ? "an operator of the host" : "not part of a kernel";
}

static hone_status_t make_step(const builder_t* b, const hone_node_t* node, hone_step_t* step) {
  if (node->prim == HONE_PRIM_CALL) return make_call(b, node, step);
  if (node->prim == HONE_PRIM_IF || node->prim == HONE_PRIM_LOOP)
    return make_control(b, node, step);
  if (node->prim == HONE_PRIM_DIMS) return make_dims(b, node, step);
  if (!can_be_view(node)) return make_interpreted(b, node, why_interpreted(node), step);
  return make_view(b, node, step);
}

static hone_status_t add_step(const builder_t* b, const hone_node_t* node) {
  hone_arena_t* arena = b->program->arena;
  hone_step_t* step = &b->routine->steps[b->routine->n_steps++];
  *step = (hone_step_t){.name = hone_prim_info(node->prim)->name, .reason = "", .error = -1};
  step->origin = hone_arena_strdup(arena, node->origin ? node->origin : "");
  step->n_inputs = node->n_inputs;
  step->inputs = copy_ids(b, node->n_inputs, node->inputs);
  step->n_outputs = node->n_outputs;
  step->outputs = copy_ids(b, node->n_outputs, node->outputs);
  HONE_TRY(hone_node_origins(node, arena, &step->nodes));
  if (!step->origin || !step->inputs || !step->outputs) return hone_oom();
  HONE_TRY(make_step(b, node, step));
  note_plain(b, step->n_inputs, step->inputs);
  note_plain(b, step->n_buffers, step->buffers);
  if (node->prim == HONE_PRIM_CALL) spend_packed(b, node);
  return NULL;
}

static hone_status_t add_node(const builder_t* b, const hone_node_t* node) {
  if (node->prim != HONE_PRIM_INPUT && node->prim != HONE_PRIM_CONSTANT) return add_step(b, node);
  hone_program_value_t* value = &b->routine->values[node->outputs[0]->id];
  value->place = HONE_PLACE_INPUT;
  if (node->prim == HONE_PRIM_INPUT) return NULL;
  value->place = HONE_PLACE_WEIGHT;
  value->weight = hone_program_add_weight(b->program, node->constant);
  return value->weight < 0 ? hone_oom() : NULL;
}

/* ---- graphs ---- */

/* Values that the graph does not have: weights in another order, what chains need. */
static int count_packed(const builder_t* b, const hone_graph_t* graph) {
  int n = 0;
  for (int i = 0; i < graph->n_nodes; i++) {
    const hone_node_t* node = graph->nodes[i];
    const hone_call_kernel_t* call = b->source->find(b->source->self, node);
    if (call) n += call->chain.n_constants + call->chain.n_temporaries;
    if (node->prim != HONE_PRIM_CALL) continue;
    for (int k = 0; call && call->form && k < call->form->n_buffers; k++)
      n += call->form->buffers[k]->packing != NULL;
  }
  return n;
}

static hone_status_t find_last_steps(builder_t* b, const hone_graph_t* graph) {
  b->last_step = hone_arena_array(b->program->arena, (size_t)graph->n_values, sizeof(int));
  b->is_read_plain =
      hone_arena_array(b->program->arena, (size_t)graph->n_values, sizeof *b->is_read_plain);
  if (!b->last_step || !b->is_read_plain) return hone_oom();
  int step = 0;
  for (int i = 0; i < graph->n_nodes; i++) {
    const hone_node_t* node = graph->nodes[i];
    if (node->prim == HONE_PRIM_INPUT || node->prim == HONE_PRIM_CONSTANT) continue;
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k]) b->last_step[node->inputs[k]->id] = step;
    step++;
  }
  return NULL;
}

static hone_status_t build_routine(const builder_t* outer, const hone_graph_t* graph,
                                   hone_routine_t** out_routine) {
  builder_t b = *outer;
  hone_arena_t* arena = b.program->arena;
  b.graph = graph;
  b.routine = *out_routine = hone_program_add_routine(b.program);
  if (!b.routine) return hone_oom();
  hone_routine_t* routine = b.routine;
  routine->n_values = graph->n_values;
  size_t room = (size_t)(graph->n_values + count_packed(&b, graph));
  routine->values = hone_arena_array(arena, room, sizeof *routine->values);
  routine->steps = hone_arena_array(arena, (size_t)graph->n_nodes, sizeof *routine->steps);
  routine->n_inputs = graph->n_inputs;
  routine->inputs = copy_ids(&b, graph->n_inputs, graph->inputs);
  routine->n_outputs = graph->n_outputs;
  routine->outputs = copy_ids(&b, graph->n_outputs, graph->outputs);
  if (!routine->values || !routine->steps || !routine->inputs || !routine->outputs)
    return hone_oom();
  for (int i = 0; i < graph->n_values; i++) HONE_TRY(add_value(&b, graph->values[i]));
  HONE_TRY(find_last_steps(&b, graph));
  note_plain(&b, routine->n_outputs, routine->outputs);
  for (int i = 0; i < graph->n_nodes; i++) HONE_TRY(add_node(&b, graph->nodes[i]));
  return hone_routine_merge_views(b.program, routine);
}

static hone_status_t build_whole(builder_t* b) {
  hone_routine_t* whole;
  HONE_TRY(copy_symbols(b));
  HONE_TRY(copy_definitions(b));
  HONE_TRY(build_routine(b, b->source->graph, &whole));
  return hone_program_drop_weights(b->program);
}

hone_status_t hone_program_add_graph(hone_program_t* program, const hone_routine_source_t* source) {
  size_t spent = 0;
  scratch_t scratch = {0};
  builder_t b = {.program = program, .source = source, .spent = &spent, .scratch = &scratch};
  hone_status_t status = build_whole(&b);
  hone_free(program->allocator, scratch.data, scratch.size);
  HONE_TRY(status);
  if (spent) hone_graph_drop_constants(source->graph);
  /* Those that are late need their model, which may go before a run. */
  for (int i = 0; i < program->n_weights; i++) hone_tensor_data(program->weights[i].tensor);
  return NULL;
}
