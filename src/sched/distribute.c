/* distribute: each statement of a loop's body gets a loop of its own. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "sched/common/depend.h"
#include "sched/common/edit.h"

/* ---- what is in the way ---- */

static bool stores_to(const hone_access_list_t* list, const hone_buffer_t* buffer) {
  for (int i = 0; i < list->count; i++)
    if (list->items[i].is_store && list->items[i].buffer == buffer) return true;
  return false;
}

/* A let is evaluated anew in each loop that needs it, so it must not see what
 * the others store. */
static hone_status_t check_lets(const hone_stmt_t* loop, const hone_access_list_t* list) {
  for (int i = 0; i < list->count; i++) {
    const hone_access_t* a = &list->items[i];
    if (a->stmt->kind == HONE_STMT_LET && a->stmt->parent == loop && stores_to(list, a->buffer))
      return hone_sched_refuse("distribute %s: %s depends on %s, which the loop stores to",
                               loop->name, a->stmt->name, a->buffer->name);
  }
  return NULL;
}

static int count_parts(const hone_stmt_t* loop) {
  int n = 0;
  for (int i = 0; i < loop->n_body; i++) n += loop->body[i]->kind != HONE_STMT_LET;
  return n;
}

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* loop) {
  if (count_parts(loop) < 2)
    return hone_sched_refuse("distribute %s: there is one statement in it only", loop->name);
  if (loop->loop == HONE_LOOP_ITEM || loop->loop == HONE_LOOP_VECTOR)
    HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(hone_sched_want_order(kernel, loop));
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->kind == HONE_STMT_BARRIER)
      return hone_sched_refuse("distribute %s: there is a barrier in it", loop->name);
  for (int at = 1; at < loop->n_body; at++) {
    const hone_buffer_t* buffer;
    HONE_TRY(hone_depend_cut(kernel, loop, at, &buffer));
    HONE_TRY(hone_sched_conflict(buffer, "distribute", loop->name));
  }
  return NULL;
}

/* ---- scratch buffers ---- */

typedef struct growth {
  hone_dim_t var;
  int rank;
} growth_t;

static void reindex(void* self, hone_kernel_t* kernel, const hone_dim_t* old, hone_dim_t* out) {
  const growth_t* growth = self;
  out[0] = growth->var;
  memcpy(out + 1, old, (size_t)growth->rank * sizeof *old);
}

/* An axis in front, along the loop. */
static bool grow(hone_kernel_t* kernel, hone_stmt_t* loop, const hone_buffer_t* buffer) {
  hone_dim_t dims[HONE_MAX_BUFFER_RANK];
  growth_t growth = {loop->var, buffer->rank};
  dims[0] = loop->extent;
  memcpy(dims + 1, buffer->dims, (size_t)buffer->rank * sizeof *dims);
  hone_buffer_t* grown = hone_kernel_buffer(kernel, buffer->name, buffer->dtype, buffer->rank + 1,
                                            dims, buffer->space, buffer->role);
  hone_substitution_t by = {.from = buffer, .into = grown, .reindex = reindex, .self = &growth};
  return grown && hone_stmt_replace(kernel, loop, &by);
}

/* Which statement of the loop's body something is in. */
static const hone_stmt_t* part_of(const hone_stmt_t* stmt, const hone_stmt_t* loop) {
  while (stmt->parent != loop) stmt = stmt->parent;
  return stmt;
}

/* Whether the buffer lives in a round of the loop and is used by several parts. */
static bool carries(const hone_access_list_t* list, const hone_stmt_t* loop,
                    const hone_stmt_t* owner, const hone_buffer_t* buffer) {
  const hone_stmt_t* first = NULL;
  if (buffer->role != HONE_ROLE_SCRATCH || owner != loop) return false;
  for (int i = 0; i < list->count; i++) {
    if (list->items[i].buffer != buffer) continue;
    const hone_stmt_t* part = part_of(list->items[i].stmt, loop);
    if (first && part != first) return true;
    first = part;
  }
  return false;
}

static hone_status_t grow_buffers(hone_kernel_t* kernel, hone_stmt_t* loop,
                                  const hone_access_list_t* list) {
  int n = kernel->n_buffers;
  hone_stmt_t** owners = hone_arena_array(kernel->arena, (size_t)n, sizeof *owners);
  if (!owners) return hone_oom();
  HONE_TRY(hone_access_owners(kernel, owners));
  for (int i = 0; i < n; i++) {
    const hone_buffer_t* buffer = kernel->buffers[i];
    if (!carries(list, loop, owners[i], buffer)) continue;
    if (loop->loop == HONE_LOOP_PARALLEL || loop->loop == HONE_LOOP_GROUP)
      return hone_sched_refuse("distribute %s: its threads would share %s", loop->name,
                               buffer->name);
    if (buffer->rank == HONE_MAX_BUFFER_RANK)
      return hone_sched_refuse("distribute %s: %s has too many axes", loop->name, buffer->name);
    if (!grow(kernel, loop, buffer)) return hone_oom();
  }
  return NULL;
}

/* ---- the loops ---- */

static bool uses(const hone_stmt_t* stmt, hone_dim_t symbol) {
  if (stmt->value && hone_term_uses(stmt->value, symbol)) return true;
  if (stmt->kind == HONE_STMT_LOOP && hone_dim_uses(stmt->extent, symbol)) return true;
  for (int i = 0; stmt->buffer && i < stmt->buffer->rank; i++)
    if (hone_dim_uses(stmt->index[i], symbol)) return true;
  for (int i = 0; i < stmt->n_body; i++)
    if (uses(stmt->body[i], symbol)) return true;
  return false;
}

/* Copies of the lets in front of statement `at` that the part needs, in order. */
static bool copy_lets(hone_kernel_t* kernel, const hone_stmt_t* loop, int at, hone_stmt_t* part) {
  for (int i = at - 1; i >= 0; i--) {
    const hone_stmt_t* let = loop->body[i];
    if (let->kind != HONE_STMT_LET || !uses(part, let->var)) continue;
    hone_stmt_t* copy = hone_stmt_copy(kernel, let, NULL);
    if (!copy || !hone_stmt_insert(kernel, part, 0, copy)) return false;
    for (int k = 1; k < part->n_body; k++)
      if (!hone_stmt_replace_var(kernel, part->body[k], let->var, copy->var)) return false;
  }
  return true;
}

/* The loop of one statement, in front of the old loop. */
static bool make_part(hone_kernel_t* kernel, hone_stmt_t* loop, int at, int number) {
  char suffix[16];
  snprintf(suffix, sizeof suffix, "%d", number);
  hone_stmt_t* part = hone_stmt_loop(kernel, NULL, hone_sched_name(kernel, loop->name, suffix),
                                     loop->extent, loop->loop);
  if (!part) return false;
  part->is_reduction = loop->is_reduction;
  hone_stmt_remove(part);
  hone_stmt_t* stmt = loop->body[at];
  if (!hone_stmt_insert(kernel, loop->parent, hone_stmt_position(loop), part) ||
      !hone_stmt_insert(kernel, part, -1, stmt) || !copy_lets(kernel, loop, at, part))
    return false;
  for (int k = 0; k < part->n_body; k++)
    if (!hone_stmt_replace_var(kernel, part->body[k], loop->var, part->var)) return false;
  return true;
}

static bool make_parts(hone_kernel_t* kernel, hone_stmt_t* loop) {
  int number = 0;
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->kind != HONE_STMT_LET && !make_part(kernel, loop, i, number++)) return false;
  hone_stmt_remove(loop);
  return true;
}

hone_status_t hone_sched_distribute(hone_kernel_t* kernel, const char* name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  hone_access_list_t list;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(check(kernel, loop));
  hone_status_t status = hone_access_collect(kernel, loop, &list);
  if (!status) status = check_lets(loop, &list);
  if (!status) status = grow_buffers(kernel, loop, &list);
  hone_access_free(&list);
  if (!status && !make_parts(kernel, loop)) status = hone_oom();
  return status ? status : hone_sched_end(kernel, begin, "distribute %s", loop->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_distribute(kernel, args[0]);
}

const hone_primitive_t hone_primitive_distribute = {
    .name = "distribute",
    .usage = "distribute LOOP",
    .min_args = 1,
    .max_args = 1,
    .apply = apply,
};
