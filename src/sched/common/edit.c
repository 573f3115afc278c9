/* What schedule primitives share. */
#include "sched/common/edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "loop/intrinsic.h"

/* ---- notes and refusals ---- */

size_t hone_sched_begin(const hone_kernel_t* kernel) { return kernel->schedule->size; }

/* Loops that are not any more what their intrinsic computes are plain again. */
static bool forget_intrinsic(void* self, hone_stmt_t* stmt) {
  hone_kernel_t* kernel = self;
  hone_operand_range_t operands[HONE_MAX_OPERANDS];
  bool matches;
  if (stmt->kind != HONE_STMT_LOOP || !stmt->intrinsic) return true;
  hone_status_t status =
      hone_intrinsic_match(kernel, stmt, hone_intrinsic_find(stmt->intrinsic), &matches, operands);
  if (!matches) stmt->intrinsic = NULL;
  if (status) kernel->out_of_memory = true;
  hone_status_free(status);
  return true;
}

hone_status_t hone_sched_end(hone_kernel_t* kernel, size_t begin, const char* format, ...) {
  char line[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  hone_stmt_walk(kernel->root, forget_intrinsic, kernel);
  hone_str_t* notes = kernel->schedule;
  if (notes->data) notes->data[begin] = 0;
  if (notes->data) notes->size = begin;
  hone_str_appendf(notes, "%s\n", line);
  bool failed = kernel->out_of_memory || notes->failed || hone_dims_out_of_memory(kernel->dims);
  return failed ? hone_oom() : NULL;
}

hone_status_t hone_sched_refuse(const char* format, ...) {
  va_list args;
  va_start(args, format);
  hone_status_t status = hone_status_make_va(HONE_INVALID_ARGUMENT, format, args);
  va_end(args);
  return status;
}

hone_status_t hone_sched_conflict(const hone_buffer_t* buffer, const char* what, const char* loop) {
  if (!buffer) return NULL;
  return hone_sched_refuse("%s %s: rounds may touch the same element of %s", what, loop,
                           buffer->name);
}

/* ---- finding ---- */

hone_status_t hone_sched_find(const hone_kernel_t* kernel, const char* name,
                              hone_stmt_t** out_loop) {
  *out_loop = hone_kernel_find_loop(kernel, name);
  if (*out_loop) return NULL;
  return hone_status_make(HONE_NOT_FOUND, "kernel %s has no loop %s", kernel->name, name);
}

hone_status_t hone_sched_find_buffer(const hone_kernel_t* kernel, const char* name,
                                     hone_buffer_t** out_buffer) {
  *out_buffer = NULL;
  for (int i = 0; i < kernel->n_buffers; i++)
    if (strcmp(kernel->buffers[i]->name, name) == 0) *out_buffer = kernel->buffers[i];
  if (*out_buffer) return NULL;
  return hone_status_make(HONE_NOT_FOUND, "kernel %s has no buffer %s", kernel->name, name);
}

hone_status_t hone_sched_want_serial(const hone_stmt_t* loop) {
  if (loop->loop == HONE_LOOP_SERIAL) return NULL;
  return hone_sched_refuse("loop %s has a kind already: kinds come last", loop->name);
}

static hone_status_t check_scratch(const hone_access_list_t* list, hone_stmt_t* const* owners,
                                   const hone_stmt_t* loop, bool shared) {
  for (int i = 0; i < list->count; i++) {
    const hone_buffer_t* buffer = list->items[i].buffer;
    if (buffer->role != HONE_ROLE_SCRATCH || hone_stmt_is_inside(owners[buffer->id], loop))
      continue;
    if (!shared || buffer->space != HONE_SPACE_SHARED)
      return hone_sched_refuse("loop %s: %s is memory of one thread, but outlives a round",
                               loop->name, buffer->name);
  }
  return NULL;
}

hone_status_t hone_sched_want_own_scratch(hone_kernel_t* kernel, hone_stmt_t* loop, bool shared) {
  size_t bytes = ((size_t)kernel->n_buffers + 1) * sizeof(hone_stmt_t*);
  hone_stmt_t** owners = hone_alloc(kernel->allocator, bytes);
  hone_access_list_t list = {0};
  hone_status_t status = owners ? hone_access_owners(kernel, owners) : hone_oom();
  if (!status) status = hone_access_collect(kernel, loop, &list);
  if (!status) status = check_scratch(&list, owners, loop, shared);
  hone_access_free(&list);
  hone_free(kernel->allocator, owners, bytes);
  return status;
}

hone_status_t hone_sched_want_order(const hone_kernel_t* kernel, const hone_stmt_t* stmt) {
  if (stmt->parent != kernel->root) return NULL;
  for (int i = 0; i < kernel->root->n_body; i++) {
    const hone_stmt_t* other = kernel->root->body[i];
    if (hone_stmt_is_parallel(other))
      return hone_sched_refuse(
          "loop %s: what comes of it would run at the same time as parallel "
          "loop %s; parallel comes last",
          stmt->name, other->name);
  }
  return NULL;
}

hone_stmt_t* hone_sched_only_loop(const hone_stmt_t* loop) {
  bool is_one = loop->n_body == 1 && loop->body[0]->kind == HONE_STMT_LOOP;
  return is_one ? loop->body[0] : NULL;
}

/* ---- changing the tree ---- */

bool hone_sched_retarget(hone_kernel_t* kernel, hone_stmt_t* loop, const char* name,
                         hone_dim_t extent, hone_dim_t (*to)(void*, hone_kernel_t*, hone_dim_t),
                         void* self) {
  int64_t most = hone_dim_max_value(extent);
  const char* fresh = hone_kernel_fresh_name(kernel, name);
  if (!fresh) return false;
  hone_dim_t var =
      hone_dim_symbol(kernel->dims, fresh, HONE_SYMBOL_RESULT, 0, most > 0 ? most - 1 : 0);
  hone_dim_t old = loop->var;
  if (hone_dim_is_bad(var)) return false;
  loop->name = fresh;
  loop->var = var;
  loop->extent = extent;
  hone_dim_t value = to ? to(self, kernel, var) : var;
  for (int i = 0; i < loop->n_body; i++)
    if (!hone_stmt_replace_var(kernel, loop->body[i], old, value)) return false;
  return true;
}

hone_stmt_t* hone_sched_copy(hone_kernel_t* kernel, hone_stmt_t* stmt) {
  int n = kernel->n_buffers;
  hone_stmt_t** owners = hone_arena_array(kernel->arena, (size_t)n, sizeof *owners);
  hone_buffer_t** own = hone_arena_array(kernel->arena, (size_t)n, sizeof *own);
  if (!owners || !own) {
    kernel->out_of_memory = true;
    return NULL;
  }
  hone_status_t status = hone_access_owners(kernel, owners);
  if (status) kernel->out_of_memory = true;
  hone_status_free(status);
  for (int i = 0; i < n && !kernel->out_of_memory; i++) {
    const hone_buffer_t* b = kernel->buffers[i];
    if (b->role == HONE_ROLE_SCRATCH && hone_stmt_is_inside(owners[i], stmt))
      own[i] = hone_kernel_buffer(kernel, b->name, b->dtype, b->rank, b->dims, b->space, b->role);
  }
  if (kernel->out_of_memory) return NULL;
  hone_substitution_t by = {.buffers = own};
  return hone_stmt_copy(kernel, stmt, &by);
}

bool hone_sched_move_body(hone_kernel_t* kernel, hone_stmt_t* from, hone_stmt_t* to) {
  while (from->n_body) {
    hone_stmt_t* stmt = from->body[0];
    hone_stmt_remove(stmt);
    if (!hone_stmt_insert(kernel, to, -1, stmt)) return false;
  }
  return true;
}

/* Puts the body of an IF in its place. */
static bool splice(hone_kernel_t* kernel, hone_stmt_t* stmt) {
  hone_stmt_t* parent = stmt->parent;
  int at = hone_stmt_position(stmt);
  hone_stmt_remove(stmt);
  while (stmt->n_body) {
    hone_stmt_t* inner = stmt->body[stmt->n_body - 1];
    hone_stmt_remove(inner);
    if (!hone_stmt_insert(kernel, parent, at, inner)) return false;
  }
  return true;
}

bool hone_sched_prune(hone_kernel_t* kernel, hone_stmt_t* stmt) {
  for (int i = 0; i < stmt->n_body;) {
    hone_stmt_t* inner = stmt->body[i];
    bool is_if = inner->kind == HONE_STMT_IF, is_loop = inner->kind == HONE_STMT_LOOP;
    if (is_if && hone_term_is_true(inner->value)) {
      if (!splice(kernel, inner)) return false;
      continue;
    }
    if (!hone_sched_prune(kernel, inner)) return false;
    bool never = (is_if && (hone_term_is_false(inner->value) || !inner->n_body)) ||
                 (is_loop && (hone_dim_max_value(inner->extent) < 1 || !inner->n_body));
    if (never)
      hone_stmt_remove(inner);
    else
      i++;
  }
  return true;
}

/* ---- words ---- */

const char* hone_sched_name(hone_kernel_t* kernel, const char* name, const char* suffix) {
  const char* text = hone_arena_format(kernel->arena, "%s.%s", name, suffix);
  if (!text) kernel->out_of_memory = true;
  return text ? text : name;
}

hone_status_t hone_sched_parse_int(const char* text, int64_t* out) {
  char* end;
  errno = 0;
  *out = strtoll(text, &end, 10);
  if (end != text && !*end && !errno) return NULL;
  return hone_sched_refuse("'%s' is not a whole number", text);
}

static const char* const tail_names[] = {"exact", "guard", "peel", "long"};

const char* hone_sched_tail_name(hone_tail_t tail) { return tail_names[tail]; }

hone_status_t hone_sched_parse_tail(const char* text, hone_tail_t* out) {
  *out = HONE_TAIL_EXACT;
  for (int i = 0; i < (int)(sizeof tail_names / sizeof *tail_names); i++)
    if (!text || strcmp(text, tail_names[i]) == 0) {
      *out = text ? (hone_tail_t)i : HONE_TAIL_EXACT;
      return NULL;
    }
  return hone_sched_refuse("'%s' is none of exact, guard, peel, long", text);
}
