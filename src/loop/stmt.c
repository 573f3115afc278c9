/* Statements: building the tree, moving parts of it, copying and replacing. */
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "loop/kernel.h"

/* ---- the tree ---- */

bool hone_stmt_insert(hone_kernel_t* kernel, hone_stmt_t* parent, int position, hone_stmt_t* stmt) {
  if (!parent) parent = kernel->root;
  if (parent->n_body == parent->body_room) {
    int room = parent->body_room ? parent->body_room * 2 : 4;
    hone_stmt_t** fresh = hone_arena_array(kernel->arena, (size_t)room, sizeof *fresh);
    if (!fresh) {
      kernel->out_of_memory = true;
      return false;
    }
    if (parent->n_body) memcpy(fresh, parent->body, (size_t)parent->n_body * sizeof *fresh);
    parent->body = fresh;
    parent->body_room = room;
  }
  if (position < 0) position = parent->n_body;
  memmove(&parent->body[position + 1], &parent->body[position],
          (size_t)(parent->n_body - position) * sizeof *parent->body);
  parent->body[position] = stmt;
  parent->n_body++;
  stmt->parent = parent;
  return true;
}

int hone_stmt_position(const hone_stmt_t* stmt) {
  int i = 0;
  while (stmt->parent->body[i] != stmt) i++;
  return i;
}

void hone_stmt_remove(hone_stmt_t* stmt) {
  hone_stmt_t* parent = stmt->parent;
  int at = hone_stmt_position(stmt);
  parent->n_body--;
  memmove(&parent->body[at], &parent->body[at + 1],
          (size_t)(parent->n_body - at) * sizeof *parent->body);
  stmt->parent = NULL;
}

static hone_stmt_t* make(hone_kernel_t* kernel, hone_stmt_t* parent, hone_stmt_kind_t kind) {
  hone_stmt_t* stmt = hone_arena_alloc(kernel->arena, sizeof *stmt);
  if (!stmt) {
    kernel->out_of_memory = true;
    return NULL;
  }
  stmt->kind = kind;
  return hone_stmt_insert(kernel, parent, -1, stmt) ? stmt : NULL;
}

/* ---- one of each kind ---- */

static hone_dim_t loop_variable(hone_kernel_t* kernel, const char* name, hone_dim_t extent) {
  int64_t most = hone_dim_max_value(extent);
  return hone_dim_symbol(kernel->dims, name, HONE_SYMBOL_RESULT, 0, most > 0 ? most - 1 : 0);
}

hone_stmt_t* hone_stmt_loop(hone_kernel_t* kernel, hone_stmt_t* parent, const char* name,
                            hone_dim_t extent, hone_loop_kind_t kind) {
  hone_stmt_t* loop = make(kernel, parent, HONE_STMT_LOOP);
  if (!loop) return NULL;
  loop->name = hone_kernel_fresh_name(kernel, name);
  if (!loop->name) return NULL;
  loop->var = loop_variable(kernel, loop->name, extent);
  loop->extent = extent;
  loop->loop = kind;
  return hone_dim_is_bad(loop->var) ? NULL : loop;
}

hone_stmt_t* hone_stmt_store(hone_kernel_t* kernel, hone_stmt_t* parent,
                             const hone_buffer_t* buffer, const hone_dim_t* index,
                             hone_combine_t combine, const hone_term_t* value) {
  hone_stmt_t* stmt = value ? make(kernel, parent, HONE_STMT_STORE) : NULL;
  if (!stmt) return NULL;
  stmt->buffer = buffer;
  stmt->index = hone_index_copy(kernel, buffer->rank, index);
  stmt->combine = combine;
  stmt->value = value;
  return stmt->index ? stmt : NULL;
}

hone_stmt_t* hone_stmt_if(hone_kernel_t* kernel, hone_stmt_t* parent,
                          const hone_term_t* condition) {
  hone_stmt_t* stmt = condition ? make(kernel, parent, HONE_STMT_IF) : NULL;
  if (stmt) stmt->value = condition;
  return stmt;
}

hone_stmt_t* hone_stmt_let(hone_kernel_t* kernel, hone_stmt_t* parent, const char* name,
                           int64_t min, int64_t max, const hone_term_t* value) {
  hone_stmt_t* stmt = value ? make(kernel, parent, HONE_STMT_LET) : NULL;
  if (!stmt) return NULL;
  stmt->name = hone_kernel_fresh_name(kernel, name);
  if (!stmt->name) return NULL;
  stmt->var = hone_dim_symbol(kernel->dims, stmt->name, HONE_SYMBOL_RESULT, min, max);
  stmt->value = value;
  return hone_dim_is_bad(stmt->var) ? NULL : stmt;
}

hone_stmt_t* hone_stmt_check(hone_kernel_t* kernel, hone_stmt_t* parent,
                             const hone_term_t* condition, const char* message) {
  hone_stmt_t* stmt = condition ? make(kernel, parent, HONE_STMT_CHECK) : NULL;
  if (!stmt) return NULL;
  stmt->value = condition;
  stmt->message = hone_arena_strdup(kernel->arena, message);
  stmt->check = kernel->n_checks++;
  if (!stmt->message) kernel->out_of_memory = true;
  return stmt->message ? stmt : NULL;
}

hone_stmt_t* hone_stmt_barrier(hone_kernel_t* kernel, hone_stmt_t* parent) {
  return make(kernel, parent, HONE_STMT_BARRIER);
}

hone_stmt_t* hone_stmt_prefetch(hone_kernel_t* kernel, hone_stmt_t* parent,
                                const hone_buffer_t* buffer, const hone_dim_t* index) {
  hone_stmt_t* stmt = make(kernel, parent, HONE_STMT_PREFETCH);
  if (!stmt) return NULL;
  stmt->buffer = buffer;
  stmt->index = hone_index_copy(kernel, buffer->rank, index);
  return stmt->index ? stmt : NULL;
}

/* ---- walking ---- */

bool hone_stmt_walk(hone_stmt_t* stmt, bool (*visit)(void* self, hone_stmt_t* stmt), void* self) {
  if (!visit(self, stmt)) return false;
  for (int i = 0; i < stmt->n_body; i++)
    if (!hone_stmt_walk(stmt->body[i], visit, self)) return false;
  return true;
}

bool hone_stmt_is_fill(const hone_stmt_t* stmt) {
  if (stmt->kind == HONE_STMT_STORE)
    return stmt->combine == HONE_COMBINE_SET && stmt->value->kind == HONE_TERM_CONST &&
           stmt->buffer->space == HONE_SPACE_GLOBAL;
  bool is_fill = stmt->kind == HONE_STMT_LOOP;
  for (int i = 0; i < stmt->n_body && is_fill; i++) is_fill = hone_stmt_is_fill(stmt->body[i]);
  return is_fill;
}

bool hone_stmt_is_lookup(const hone_stmt_t* loop) {
  int last = loop->n_body - 1;
  for (int i = 0; i < last; i++)
    if (loop->body[i]->kind != HONE_STMT_LET && loop->body[i]->kind != HONE_STMT_CHECK)
      return false;
  return last > 0 && loop->body[last]->kind == HONE_STMT_STORE;
}

typedef struct finding {
  const char* name;
  hone_stmt_t* found;
} finding_t;

static bool is_not_it(void* self, hone_stmt_t* stmt) {
  finding_t* finding = self;
  bool found = stmt->kind == HONE_STMT_LOOP && strcmp(stmt->name, finding->name) == 0;
  if (found) finding->found = stmt;
  return !found;
}

hone_stmt_t* hone_kernel_find_loop(const hone_kernel_t* kernel, const char* name) {
  finding_t finding = {.name = name};
  hone_stmt_walk(kernel->root, is_not_it, &finding);
  return finding.found;
}

/* ---- replacing ---- */

/* Hints stay with the memory that they are about when others come to use a copy of it. */
static bool is_hint_at_source(const hone_stmt_t* stmt, const hone_substitution_t* by) {
  return stmt->kind == HONE_STMT_PREFETCH && by->from == stmt->buffer &&
         by->into->space != HONE_SPACE_GLOBAL;
}

static bool replace_here(hone_kernel_t* kernel, hone_stmt_t* stmt, const hone_substitution_t* by) {
  if (stmt->kind == HONE_STMT_LOOP) stmt->extent = hone_substitution_dim(kernel, stmt->extent, by);
  if (stmt->value) {
    stmt->value = hone_term_replace(kernel, stmt->value, by);
    if (!stmt->value) return false;
  }
  if (!stmt->buffer) return true;
  hone_substitution_t here = *by;
  if (is_hint_at_source(stmt, by)) here.from = NULL;
  return hone_index_replace(kernel, &stmt->buffer, &stmt->index, &here);
}

bool hone_stmt_replace(hone_kernel_t* kernel, hone_stmt_t* stmt, const hone_substitution_t* by) {
  if (!replace_here(kernel, stmt, by)) return false;
  for (int i = 0; i < stmt->n_body; i++)
    if (!hone_stmt_replace(kernel, stmt->body[i], by)) return false;
  return true;
}

bool hone_stmt_replace_var(hone_kernel_t* kernel, hone_stmt_t* stmt, hone_dim_t var,
                           hone_dim_t to) {
  return hone_stmt_replace(kernel, stmt, &(hone_substitution_t){.symbol = var, .to = &to});
}

/* ---- copying ---- */

static hone_stmt_t* copy_tree(hone_kernel_t* kernel, const hone_stmt_t* from, hone_stmt_t* parent) {
  hone_stmt_t* to = hone_arena_memdup(kernel->arena, from, sizeof *from);
  if (!to) {
    kernel->out_of_memory = true;
    return NULL;
  }
  to->parent = parent;
  to->n_body = to->body_room = 0;
  to->body = NULL;
  for (int i = 0; i < from->n_body; i++) {
    hone_stmt_t* child = copy_tree(kernel, from->body[i], to);
    if (!child || !hone_stmt_insert(kernel, to, -1, child)) return NULL;
  }
  return to;
}

/* Fresh variables for the loops and lets of a copy. */
static bool rename_tree(hone_kernel_t* kernel, hone_stmt_t* stmt) {
  hone_dim_t old = stmt->var;
  if (stmt->kind == HONE_STMT_LOOP || stmt->kind == HONE_STMT_LET) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(old);
    stmt->name = hone_kernel_fresh_name(kernel, stmt->name);
    if (!stmt->name) return false;
    stmt->var =
        hone_dim_symbol(kernel->dims, stmt->name, HONE_SYMBOL_RESULT, symbol->min, symbol->max);
    if (hone_dim_is_bad(stmt->var)) return false;
    hone_stmt_t* scope = stmt->kind == HONE_STMT_LET && stmt->parent ? stmt->parent : stmt;
    for (int i = 0; i < scope->n_body; i++)
      if (!hone_stmt_replace_var(kernel, scope->body[i], old, stmt->var)) return false;
  }
  for (int i = 0; i < stmt->n_body; i++)
    if (!rename_tree(kernel, stmt->body[i])) return false;
  return true;
}

hone_stmt_t* hone_stmt_copy(hone_kernel_t* kernel, const hone_stmt_t* stmt,
                            const hone_substitution_t* by) {
  hone_stmt_t* copy = copy_tree(kernel, stmt, NULL);
  if (!copy || !rename_tree(kernel, copy)) return NULL;
  if (by && !hone_stmt_replace(kernel, copy, by)) return NULL;
  return copy;
}

/* ---- a whole kernel ---- */

typedef struct cloning {
  hone_kernel_t* to;
  hone_substitution_t by;
} cloning_t;

/* Variables were mapped by name already; only what they are in must be set. */
static bool retarget(void* self, hone_stmt_t* stmt) {
  cloning_t* cloning = self;
  const hone_symbol_t* symbol = hone_dim_as_symbol(stmt->var);
  if (symbol) {
    stmt->var = cloning->by.to[symbol->id];
    stmt->name = hone_dim_as_symbol(stmt->var)->name;
  }
  if (stmt->message) stmt->message = hone_arena_strdup(cloning->to->arena, stmt->message);
  return replace_here(cloning->to, stmt, &cloning->by) &&
         (stmt->kind != HONE_STMT_CHECK || stmt->message);
}

bool hone_stmt_import(hone_kernel_t* kernel, hone_stmt_t* parent, const hone_stmt_t* from,
                      const hone_substitution_t* by) {
  cloning_t cloning = {kernel, *by};
  for (int i = 0; i < from->n_body; i++) {
    hone_stmt_t* copy = copy_tree(kernel, from->body[i], NULL);
    if (!copy || !hone_stmt_walk(copy, retarget, &cloning) ||
        !hone_stmt_insert(kernel, parent, -1, copy))
      return false;
  }
  return true;
}

static bool clone_symbols(const hone_kernel_t* from, hone_kernel_t* to, hone_dim_t* map) {
  int n = hone_dims_symbol_count(from->dims);
  for (int i = 0; i < n; i++) {
    const hone_symbol_t* s = hone_dims_symbol(from->dims, i);
    map[i] = hone_dim_symbol(to->dims, s->name, s->origin, s->min, s->max);
    if (hone_dim_is_bad(map[i])) return false;
  }
  to->n_sizes = to->sizes_room = from->n_sizes;
  to->sizes = hone_arena_array(to->arena, (size_t)from->n_sizes, sizeof *to->sizes);
  if (!to->sizes) return false;
  for (int i = 0; i < from->n_sizes; i++)
    to->sizes[i] = map[hone_dim_as_symbol(from->sizes[i])->id];
  return true;
}

hone_packing_t* hone_packing_clone(hone_kernel_t* to, hone_buffer_t* buffer,
                                   const hone_packing_t* from) {
  hone_packing_t* packing = hone_packing_create(to, from->rank, buffer->rank);
  if (!packing) return NULL;
  memcpy(packing->dims, from->dims, (size_t)from->rank * sizeof *from->dims);
  memcpy(packing->axes, from->axes, (size_t)buffer->rank * sizeof *from->axes);
  packing->is_sparse = from->is_sparse;
  packing->sums = from->sums;
  packing->columns = from->columns;
  packing->in_nibbles = from->in_nibbles;
  buffer->packing = packing;
  return packing;
}

static bool clone_buffers(const hone_kernel_t* from, hone_kernel_t* to,
                          const hone_substitution_t* by, hone_buffer_t** map) {
  for (int i = 0; i < from->n_buffers; i++) {
    const hone_buffer_t* b = from->buffers[i];
    hone_dim_t dims[HONE_MAX_BUFFER_RANK];
    for (int k = 0; k < b->rank; k++)
      dims[k] = hone_dim_replace(to->dims, b->dims[k], by->n, by->to, NULL);
    hone_buffer_t* copy =
        hone_kernel_buffer(to, b->name, b->dtype, b->rank, dims, b->space, b->role);
    if (!copy) return false;
    copy->value = b->value;
    hone_buffer_know(copy, b);
    copy->name = hone_arena_strdup(to->arena, b->name);
    if (!copy->name || (b->packing && !hone_packing_clone(to, copy, b->packing))) return false;
    map[i] = copy;
  }
  return true;
}

static bool clone_into(const hone_kernel_t* from, hone_kernel_t* to) {
  size_t n_symbols = (size_t)hone_dims_symbol_count(from->dims);
  hone_dim_t* map = hone_arena_array(to->arena, n_symbols, sizeof *map);
  hone_buffer_t** buffers = hone_arena_array(to->arena, (size_t)from->n_buffers, sizeof *buffers);
  if (!map || !buffers || !clone_symbols(from, to, map)) return false;
  cloning_t cloning = {to, {.n = (int)n_symbols, .to = map, .buffers = buffers}};
  if (!clone_buffers(from, to, &cloning.by, buffers)) return false;
  to->root = copy_tree(to, from->root, NULL);
  to->n_checks = from->n_checks;
  to->by_parts = from->by_parts;
  to->n_names = from->n_names; /* so that both name what comes alike */
  to->origin = hone_arena_strdup(to->arena, from->origin);
  to->tactic = hone_arena_strdup(to->arena, from->tactic);
  to->why = hone_arena_strdup(to->arena, from->why);
  hone_str_append(to->schedule, hone_str_text(from->schedule));
  return to->root && to->origin && to->tactic && to->why && !to->schedule->failed &&
         hone_stmt_walk(to->root, retarget, &cloning);
}

hone_status_t hone_kernel_clone(const hone_kernel_t* kernel, hone_kernel_t** out_kernel) {
  HONE_TRY(hone_kernel_create(kernel->allocator, kernel->name, out_kernel));
  if (clone_into(kernel, *out_kernel)) return NULL;
  hone_kernel_destroy(*out_kernel);
  *out_kernel = NULL;
  return hone_oom();
}
