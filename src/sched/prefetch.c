/* prefetch: rounds of a loop inside ask for what the next round of a loop will
 * read of a buffer, a line of the cache each.
 *
 *   for j.o { for i { for k.o { for k.i { … += a[i, k] * b[j.o, k, …] } } } }
 *
 * "prefetch b j.o k.o" has each round of k.o ask for one line of b[j.o + 1, …],
 * which the rounds of i and k.o together read from the first to the last; loops in front that
 * ask for it already have asked for the first ones. Axes in front of that may go along loops
 * outside of j.o; behind its last round lies what the next round of those reads first. "near"
 * behind has it come into the first cache alone, where nothing is driven out of the others. */
#include <string.h>

#include "base/memory.h"
#include "sched/common/asks.h"
#include "sched/common/edit.h"

typedef struct asking {
  hone_kernel_t* kernel;
  hone_stmt_t *loop, *inner;
  hone_buffer_t* buffer;
  bool is_near;
  int axis;                /* that the loop goes along */
  const hone_dim_t* index; /* of one access: the same for all up to that axis */
} asking_t;

static bool any_uses(const hone_access_t* a, int first, hone_dim_t var) {
  for (int i = first; i < a->buffer->rank; i++)
    if (hone_dim_uses(a->index[i], var)) return true;
  return false;
}

/* Whether the access is to one piece in each round of the loop: along loops outside of it
 * in front of the axis, and along those inside only behind it. */
static bool fits(const asking_t* a, const hone_access_t* access) {
  for (int i = 0; i <= a->axis; i++) {
    if (!hone_dim_same(access->index[i], a->index[i])) return false;
    for (const hone_stmt_t* s = access->stmt->parent; s != a->loop->parent; s = s->parent)
      if (s->kind == HONE_STMT_LOOP && hone_dim_uses(access->index[i], s->var) &&
          !(i == a->axis && s == a->loop))
        return false;
  }
  return !any_uses(access, a->axis + 1, a->loop->var);
}

/* Each round reads elements of its own, in one piece. */
static hone_status_t check_accesses(asking_t* a) {
  hone_access_list_t list;
  bool ok = true;
  HONE_TRY(hone_access_collect(a->kernel, a->loop, &list));
  for (int i = 0; i < list.count && ok; i++) {
    if (list.items[i].buffer != a->buffer) continue;
    if (!a->index) {
      a->index = list.items[i].index;
      a->axis = hone_asks_axis(a->kernel, a->buffer, a->index, a->loop);
    }
    ok = a->axis >= 0 && fits(a, &list.items[i]);
  }
  hone_access_free(&list);
  if (a->index && ok) return NULL;
  return hone_sched_refuse("prefetch %s: %s is not what one of its axes alone is read along",
                           a->buffer->name, a->loop->name);
}

static hone_status_t check(asking_t* a) {
  if (a->buffer->space != HONE_SPACE_GLOBAL)
    return hone_sched_refuse("prefetch %s: it is scratch", a->buffer->name);
  if (a->inner == a->loop || !hone_stmt_is_inside(a->inner, a->loop) ||
      a->inner->loop == HONE_LOOP_VECTOR || a->inner->intrinsic)
    return hone_sched_refuse("prefetch %s: %s is no loop of rounds in %s", a->buffer->name,
                             a->inner->name, a->loop->name);
  HONE_TRY(check_accesses(a));
  if (hone_asks_lines(a->kernel, a->buffer, a->axis) > 0) return NULL;
  return hone_sched_refuse("prefetch %s: what a round reads has no known size, or is no line",
                           a->buffer->name);
}

static bool ask(const asking_t* a) {
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  for (int i = 0; i < a->buffer->rank; i++) index[i] = i < a->axis ? a->index[i] : hone_dim_int(0);
  index[a->axis] = hone_dim_add(a->kernel->dims, a->index[a->axis], hone_dim_int(1));
  hone_stmt_t* stmt = hone_stmt_prefetch(a->kernel, a->inner, a->buffer, index);
  if (!stmt) return false;
  stmt->is_near = a->is_near;
  hone_stmt_remove(stmt);
  return hone_stmt_insert(a->kernel, a->inner, 0, stmt) &&
         hone_asks_number(a->kernel, stmt, a->loop, a->axis, false);
}

hone_status_t hone_sched_prefetch(hone_kernel_t* kernel, const char* buffer, const char* loop,
                                  const char* inner, bool is_near) {
  size_t begin = hone_sched_begin(kernel);
  asking_t a = {.kernel = kernel, .is_near = is_near};
  HONE_TRY(hone_sched_find_buffer(kernel, buffer, &a.buffer));
  HONE_TRY(hone_sched_find(kernel, loop, &a.loop));
  HONE_TRY(hone_sched_find(kernel, inner, &a.inner));
  HONE_TRY(check(&a));
  if (!ask(&a)) return hone_oom();
  return hone_sched_end(kernel, begin, "prefetch %s %s %s%s", a.buffer->name, a.loop->name,
                        a.inner->name, is_near ? " near" : "");
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  if (n > 3 && strcmp(args[3], "near") != 0)
    return hone_sched_refuse("prefetch %s: '%s' is not near", args[0], args[3]);
  return hone_sched_prefetch(kernel, args[0], args[1], args[2], n > 3);
}

const hone_primitive_t hone_primitive_prefetch = {
    .name = "prefetch",
    .usage = "prefetch BUFFER LOOP INNER [near]",
    .min_args = 3,
    .max_args = 4,
    .apply = apply,
};
