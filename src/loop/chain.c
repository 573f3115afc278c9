#include "loop/chain.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"

enum { MOST_CALLS = 16, ROUND = 0, CONDITION = 1, FIRST = 2 /* parameter that is carried */ };

typedef struct chaining {
  const hone_node_t* loop;
  const hone_graph_t* body;
  hone_chain_form_fn form;
  void* self;
  hone_chain_t* chain;
  hone_kernel_t* kernel;
  hone_stmt_t* rounds;
  hone_arena_t* arena;
  hone_dim_t* sizes; /* by symbol of the graph */
  bool* has_size;
  const hone_buffer_t** buffers; /* by value of the body */
  hone_buffer_t* error;
} chaining_t;

/* ---- which loops ---- */

static void see_origin(void* self, const hone_symbol_t* symbol) {
  bool* late = self;
  *late |= symbol->origin != HONE_SYMBOL_INPUT;
}

static bool is_early(hone_dim_t d) {
  bool late = hone_dim_is_bad(d);
  hone_dim_visit_symbols(d, see_origin, &late);
  return !late;
}

static bool has_early_type(const hone_value_t* value) {
  if (!hone_type_is_known(&value->type) || value->type.dtype == HONE_STRING || value->binds)
    return false;
  for (int i = 0; i < value->type.rank; i++)
    if (!is_early(value->type.dims[i])) return false;
  return true;
}

static bool same_type(const hone_value_t* a, const hone_value_t* b, int skipped) {
  if (a->type.dtype != b->type.dtype || a->type.rank != b->type.rank - skipped) return false;
  for (int i = 0; i < a->type.rank; i++)
    if (!hone_dim_same(a->type.dims[i], b->type.dims[i + skipped])) return false;
  return true;
}

static bool is_true(const hone_value_t* value) {
  const hone_node_t* node = value->node;
  return node->prim == HONE_PRIM_CONSTANT && node->constant->dtype == HONE_BOOL &&
         node->constant->count == 1 && *(const uint8_t*)hone_tensor_data(node->constant);
}

static bool goes_on(const hone_node_t* loop) {
  const hone_graph_t* body = loop->regions[0];
  return is_true(loop->inputs[CONDITION]) &&
         (body->outputs[0] == body->inputs[CONDITION] || is_true(body->outputs[0]));
}

static bool knows_rounds(const hone_node_t* loop) {
  const hone_value_t* rounds = loop->inputs[ROUND];
  return rounds->content && rounds->type.rank == 0 && is_early(rounds->content[0]);
}

/* Kernels, and what is there without running anything. */
static bool fits_in_chain(const chaining_t* c, const hone_node_t* node) {
  if (node->prim == HONE_PRIM_CONSTANT) return true;
  for (int i = 0; i < node->n_outputs; i++)
    if (!has_early_type(node->outputs[i])) return false;
  if (node->prim == HONE_PRIM_INPUT) return true;
  if (node->prim != HONE_PRIM_CALL) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] == c->body->inputs[CONDITION]) return false;
  return c->form(c->self, node) != NULL;
}

static bool is_made(const hone_value_t* value) { return value->node->prim == HONE_PRIM_CALL; }

static bool results_fit(const hone_node_t* loop) {
  const hone_graph_t* body = loop->regions[0];
  for (int i = 0; i < loop->n_outputs; i++) {
    const hone_value_t *result = body->outputs[1 + i], *out = loop->outputs[i];
    bool carried = i < loop->n_carried;
    bool stays = carried && result == body->inputs[FIRST + i];
    if (!has_early_type(out) || !(stays || is_made(result))) return false;
    if (!same_type(result, out, carried ? 0 : 1)) return false;
    if (carried && (!same_type(loop->inputs[FIRST + i], out, 0) ||
                    !same_type(body->inputs[FIRST + i], out, 0)))
      return false;
    if (!carried && !hone_dim_same(out->type.dims[0], loop->inputs[ROUND]->content[0]))
      return false;
  }
  return true;
}

static bool can_be_chain(const chaining_t* c) {
  int calls = 0;
  if (!knows_rounds(c->loop) || !goes_on(c->loop) || !results_fit(c->loop)) return false;
  for (int i = 0; i < c->body->n_nodes; i++) {
    if (!fits_in_chain(c, c->body->nodes[i])) return false;
    calls += c->body->nodes[i]->prim == HONE_PRIM_CALL;
  }
  return calls > 0 && calls <= MOST_CALLS;
}

/* ---- dimensions ---- */

static hone_dim_t size_named(hone_kernel_t* kernel, const hone_symbol_t* symbol) {
  for (int i = 0; i < kernel->n_sizes; i++)
    if (strcmp(hone_dim_as_symbol(kernel->sizes[i])->name, symbol->name) == 0)
      return kernel->sizes[i];
  return hone_kernel_size(kernel, symbol->name, symbol->min, symbol->max);
}

static void add_size(void* self, const hone_symbol_t* symbol) {
  chaining_t* c = self;
  if (c->has_size[symbol->id]) return;
  c->has_size[symbol->id] = true;
  c->sizes[symbol->id] = size_named(c->kernel, symbol);
}

static hone_dim_t size_of(chaining_t* c, hone_dim_t d) {
  hone_dim_visit_symbols(d, add_size, c);
  return hone_dim_replace(c->kernel->dims, d, hone_dims_symbol_count(c->body->dims), c->sizes,
                          c->has_size);
}

/* ---- parameters ---- */

static hone_buffer_t* add_parameter(chaining_t* c, const hone_value_t* value, hone_role_t role,
                                    int number) {
  hone_dim_t dims[HONE_MAX_RANK];
  char name[24];
  snprintf(name, sizeof name, "%s%d", role == HONE_ROLE_INPUT ? "in" : "out", number);
  for (int i = 0; i < value->type.rank; i++) dims[i] = size_of(c, value->type.dims[i]);
  hone_buffer_t* buffer = hone_kernel_buffer(c->kernel, name, value->type.dtype, value->type.rank,
                                             dims, HONE_SPACE_GLOBAL, role);
  if (buffer) buffer->value = number;
  return buffer;
}

static int add_constant(chaining_t* c, const hone_value_t* value) {
  c->chain->constants[c->chain->n_constants] = value;
  return c->loop->n_inputs + c->chain->n_constants++;
}

/* The buffer that a value of the body is in; made when it is first met. */
static const hone_buffer_t* buffer_of(chaining_t* c, const hone_value_t* value) {
  const hone_buffer_t** buffer = &c->buffers[value->id];
  if (*buffer) return *buffer;
  int parameter = 0;
  while (parameter < c->body->n_inputs && c->body->inputs[parameter] != value) parameter++;
  if (parameter < c->body->n_inputs && parameter - FIRST < c->loop->n_carried) {
    *buffer = add_parameter(c, value, HONE_ROLE_OUTPUT, parameter - FIRST);
  } else if (parameter < c->body->n_inputs) {
    *buffer = add_parameter(c, value, HONE_ROLE_INPUT, parameter);
  } else if (value->node->prim == HONE_PRIM_CONSTANT) {
    *buffer = add_parameter(c, value, HONE_ROLE_INPUT, add_constant(c, value));
  } else {
    c->chain->temporaries[c->chain->n_temporaries] = value;
    int number = c->loop->n_outputs + c->chain->n_temporaries++;
    *buffer = add_parameter(c, value, HONE_ROLE_OUTPUT, number);
  }
  return *buffer;
}

/* ---- kernels of the body ---- */

typedef struct importing {
  chaining_t* c;
  const hone_node_t* call;
  const hone_kernel_t* form;
  hone_substitution_t by;
  hone_dim_t* to;
  hone_buffer_t** buffers;
} importing_t;

static bool is_size(const hone_kernel_t* form, const hone_symbol_t* symbol) {
  for (int i = 0; i < form->n_sizes; i++)
    if (hone_dim_as_symbol(form->sizes[i])->id == symbol->id) return true;
  return false;
}

/* Sizes are the chain's; loops get variables of their own. */
static bool map_symbols(importing_t* m) {
  hone_kernel_t* kernel = m->c->kernel;
  for (int i = 0; i < m->by.n; i++) {
    const hone_symbol_t* s = hone_dims_symbol(m->form->dims, i);
    if (is_size(m->form, s)) {
      m->to[i] = size_named(kernel, s);
    } else {
      const char* name = hone_kernel_fresh_name(kernel, s->name);
      m->to[i] =
          name ? hone_dim_symbol(kernel->dims, name, s->origin, s->min, s->max) : hone_dim_bad();
    }
    if (hone_dim_is_bad(m->to[i])) return false;
  }
  return true;
}

static hone_buffer_t* copy_buffer(const importing_t* m, const hone_buffer_t* from) {
  hone_dim_t dims[HONE_MAX_BUFFER_RANK];
  hone_kernel_t* kernel = m->c->kernel;
  for (int k = 0; k < from->rank; k++)
    dims[k] = hone_dim_replace(kernel->dims, from->dims[k], m->by.n, m->to, NULL);
  return hone_kernel_buffer(kernel, NULL, from->dtype, from->rank, dims, from->space, from->role);
}

static hone_buffer_t* copy_packed(const importing_t* m, const hone_buffer_t* from) {
  hone_buffer_t* buffer = copy_buffer(m, from);
  if (!buffer || !hone_packing_clone(m->c->kernel, buffer, from->packing)) return NULL;
  buffer->value = add_constant(m->c, m->call->inputs[from->value]);
  hone_buffer_know(buffer, from);
  return buffer;
}

/* All kernels report into one word. */
static hone_buffer_t* error_buffer(chaining_t* c) {
  if (!c->error)
    c->error = hone_kernel_buffer(c->kernel, "error", HONE_I64, 0, NULL, HONE_SPACE_GLOBAL,
                                  HONE_ROLE_ERROR);
  return c->error;
}

static hone_buffer_t* map_buffer(importing_t* m, const hone_buffer_t* from) {
  if (from->role == HONE_ROLE_ERROR) return error_buffer(m->c);
  if (from->role == HONE_ROLE_SCRATCH) return copy_buffer(m, from);
  if (from->packing) return copy_packed(m, from);
  bool is_input = from->role == HONE_ROLE_INPUT;
  const hone_value_t* value = (is_input ? m->call->inputs : m->call->outputs)[from->value];
  if (value != m->c->body->inputs[ROUND]) return (hone_buffer_t*)(uintptr_t)buffer_of(m->c, value);
  m->by.constant = from;
  m->by.value = m->c->rounds->var;
  return (hone_buffer_t*)(uintptr_t)from; /* no access to it is left */
}

static bool map_buffers(importing_t* m) {
  for (int i = 0; i < m->form->n_buffers; i++) {
    m->buffers[i] = map_buffer(m, m->form->buffers[i]);
    if (!m->buffers[i]) return false;
  }
  return true;
}

/* Its checks get numbers behind those that are there. */
static bool renumber(void* self, hone_stmt_t* stmt) {
  if (stmt->kind == HONE_STMT_CHECK) stmt->check += *(const int*)self;
  return true;
}

static bool import(chaining_t* c, const hone_node_t* call) {
  importing_t m = {.c = c, .call = call, .form = c->form(c->self, call)};
  m.by.n = hone_dims_symbol_count(m.form->dims);
  m.to = hone_arena_array(c->arena, (size_t)m.by.n, sizeof *m.to);
  m.buffers = hone_arena_array(c->arena, (size_t)m.form->n_buffers, sizeof(hone_buffer_t*));
  if (!m.to || !m.buffers || !map_symbols(&m) || !map_buffers(&m)) return false;
  m.by.to = m.to;
  m.by.buffers = m.buffers;
  int first = c->rounds->n_body;
  if (!hone_stmt_import(c->kernel, c->rounds, m.form->root, &m.by)) return false;
  for (int i = first; i < c->rounds->n_body; i++)
    hone_stmt_walk(c->rounds->body[i], renumber, &c->kernel->n_checks);
  c->kernel->n_checks += m.form->n_checks;
  return true;
}

/* One thread runs all of it. */
static bool make_serial(void* self, hone_stmt_t* stmt) {
  (void)self;
  if (hone_stmt_is_parallel(stmt)) stmt->loop = HONE_LOOP_SERIAL;
  return true;
}

/* ---- what is carried and stacked ---- */

/* Element by element; `to` has the round as an axis in front where `stacks`. */
static bool copy(chaining_t* c, hone_stmt_t* parent, const hone_buffer_t* from,
                 const hone_buffer_t* to, bool stacks) {
  hone_dim_t index[HONE_MAX_RANK + 1];
  hone_dim_t* at = index + 1;
  index[0] = c->rounds ? c->rounds->var : hone_dim_int(0);
  if (!from || !to) return false;
  for (int i = 0; i < from->rank; i++) {
    parent = hone_stmt_loop(c->kernel, parent, "e", from->dims[i], HONE_LOOP_SERIAL);
    if (!parent) return false;
    at[i] = parent->var;
  }
  const hone_term_t* value = hone_term_load(c->kernel, from, at);
  return value && hone_stmt_store(c->kernel, parent, to, stacks ? index : at, HONE_COMBINE_SET,
                                  value) != NULL;
}

static bool carry_in(chaining_t* c) {
  for (int i = 0; i < c->loop->n_carried; i++) {
    const hone_value_t* parameter = c->body->inputs[FIRST + i];
    const hone_buffer_t* first = add_parameter(c, parameter, HONE_ROLE_INPUT, FIRST + i);
    if (!copy(c, NULL, first, buffer_of(c, parameter), false)) return false;
  }
  return true;
}

static bool hand_on(chaining_t* c) {
  for (int i = 0; i < c->loop->n_outputs; i++) {
    const hone_value_t* result = c->body->outputs[1 + i];
    bool stacks = i >= c->loop->n_carried;
    if (!is_made(result)) continue; /* it stays as it is */
    const hone_buffer_t* to = stacks ? add_parameter(c, c->loop->outputs[i], HONE_ROLE_OUTPUT, i)
                                     : buffer_of(c, c->body->inputs[FIRST + i]);
    if (!copy(c, c->rounds, buffer_of(c, result), to, stacks)) return false;
  }
  return true;
}

/* ---- the whole ---- */

static bool make_lists(chaining_t* c) {
  size_t symbols = (size_t)hone_dims_symbol_count(c->body->dims);
  size_t values = (size_t)c->body->n_values, inputs = 0;
  for (int i = 0; i < c->body->n_nodes; i++) inputs += (size_t)c->body->nodes[i]->n_inputs;
  c->sizes = hone_arena_array(c->arena, symbols, sizeof *c->sizes);
  c->has_size = hone_arena_array(c->arena, symbols, sizeof *c->has_size);
  c->buffers = hone_arena_array(c->arena, values, sizeof(hone_buffer_t*));
  c->chain->constants = hone_arena_array(c->arena, inputs + values, sizeof(hone_value_t*));
  c->chain->temporaries = hone_arena_array(c->arena, values, sizeof(hone_value_t*));
  return c->sizes && c->has_size && c->buffers && c->chain->constants && c->chain->temporaries;
}

static bool fill(chaining_t* c) {
  hone_kernel_t* kernel = c->kernel;
  kernel->origin = hone_arena_strdup(kernel->arena, c->loop->origin ? c->loop->origin : "");
  if (!kernel->origin || !make_lists(c) || !carry_in(c)) return false;
  hone_dim_t rounds = size_of(c, c->loop->inputs[ROUND]->content[0]);
  c->rounds = hone_stmt_loop(kernel, NULL, "r", rounds, HONE_LOOP_SERIAL);
  if (!c->rounds) return false;
  for (int i = 0; i < c->body->n_nodes; i++)
    if (c->body->nodes[i]->prim == HONE_PRIM_CALL && !import(c, c->body->nodes[i])) return false;
  hone_stmt_walk(c->rounds, make_serial, NULL);
  return hand_on(c) && !kernel->out_of_memory;
}

hone_status_t hone_chain_create(const hone_node_t* loop, const char* name, hone_chain_form_fn form,
                                void* self, const hone_allocator_t* allocator, hone_arena_t* arena,
                                hone_chain_t* out_chain) {
  chaining_t c = {.loop = loop,
                  .body = loop->regions[0],
                  .form = form,
                  .self = self,
                  .chain = out_chain,
                  .arena = arena};
  *out_chain = (hone_chain_t){0};
  if (!can_be_chain(&c)) return NULL;
  HONE_TRY(hone_kernel_create(allocator, name, &c.kernel));
  if (!fill(&c)) {
    hone_kernel_destroy(c.kernel);
    return hone_oom();
  }
  c.kernel->tactic = "chain";
  c.kernel->why = "the small kernels of all rounds in one launch";
  out_chain->kernel = c.kernel;
  return NULL;
}
