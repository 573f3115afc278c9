/* reorder: perfectly nested loops in another order. */
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "sched/common/depend.h"
#include "sched/common/edit.h"

enum { MAX_LOOPS = 64 };

/* The loops from the outermost to the innermost of the list, as they are nested. */
typedef struct nest {
  int n;
  hone_stmt_t* loops[MAX_LOOPS]; /* outermost first */
  int to[MAX_LOOPS];             /* which of them comes to this place */
} nest_t;

static int depth_of(const hone_stmt_t* stmt) {
  int depth = 0;
  for (; stmt->parent; stmt = stmt->parent) depth++;
  return depth;
}

static int place_of(const nest_t* nest, const hone_stmt_t* loop) {
  for (int i = 0; i < nest->n; i++)
    if (nest->loops[i] == loop) return i;
  return -1;
}

static hone_status_t find_nest(const hone_kernel_t* kernel, int n, const char* const* names,
                               hone_stmt_t** listed, nest_t* nest) {
  hone_stmt_t *top = NULL, *bottom = NULL;
  for (int i = 0; i < n; i++) {
    HONE_TRY(hone_sched_find(kernel, names[i], &listed[i]));
    HONE_TRY(hone_sched_want_serial(listed[i]));
    if (!top || depth_of(listed[i]) < depth_of(top)) top = listed[i];
    if (!bottom || depth_of(listed[i]) > depth_of(bottom)) bottom = listed[i];
  }
  nest->n = 0;
  for (hone_stmt_t* s = top; s && nest->n < MAX_LOOPS; s = hone_sched_only_loop(s)) {
    nest->loops[nest->n++] = s;
    if (s == bottom) break;
  }
  for (int i = 0; i < n; i++)
    if (place_of(nest, listed[i]) < 0)
      return hone_sched_refuse(
          "reorder: %s is not in one perfect nest with the others; distribute the loops around it",
          names[i]);
  return NULL;
}

static hone_status_t place_loops(int n, hone_stmt_t* const* listed, nest_t* nest) {
  bool moves[MAX_LOOPS] = {false};
  int next = 0;
  for (int i = 0; i < n; i++) {
    int at = place_of(nest, listed[i]);
    if (moves[at]) return hone_sched_refuse("reorder: %s is listed twice", listed[i]->name);
    moves[at] = true;
  }
  for (int i = 0; i < nest->n; i++) nest->to[i] = moves[i] ? place_of(nest, listed[next++]) : i;
  return NULL;
}

/* Each two loops that change places must be free to. */
static hone_status_t check_places(hone_kernel_t* kernel, const nest_t* nest) {
  for (int i = 0; i < nest->n; i++)
    for (int k = i + 1; k < nest->n; k++) {
      if (nest->to[i] < nest->to[k]) continue;
      hone_stmt_t *outer = nest->loops[nest->to[k]], *inner = nest->loops[nest->to[i]];
      if (hone_dim_uses(inner->extent, outer->var))
        return hone_sched_refuse("reorder: the extent of %s changes with %s", inner->name,
                                 outer->name);
      const hone_buffer_t* buffer;
      HONE_TRY(hone_depend_swap(kernel, outer, inner, &buffer));
      HONE_TRY(hone_sched_conflict(buffer, "reorder", inner->name));
    }
  return NULL;
}

/* What makes a loop moves; the places in the tree stay. */
static void move_loops(const nest_t* nest) {
  hone_stmt_t old[MAX_LOOPS];
  for (int i = 0; i < nest->n; i++) old[i] = *nest->loops[i];
  for (int i = 0; i < nest->n; i++) {
    const hone_stmt_t* from = &old[nest->to[i]];
    hone_stmt_t* to = nest->loops[i];
    to->var = from->var;
    to->name = from->name;
    to->extent = from->extent;
    to->loop = from->loop;
    to->is_reduction = from->is_reduction;
  }
}

hone_status_t hone_sched_reorder(hone_kernel_t* kernel, int n, const char* const* names) {
  size_t begin = hone_sched_begin(kernel);
  nest_t nest;
  hone_stmt_t* listed[MAX_LOOPS];
  if (n < 1 || n > MAX_LOOPS) return hone_sched_refuse("reorder: from 1 to 64 loops");
  HONE_TRY(find_nest(kernel, n, names, listed, &nest));
  HONE_TRY(place_loops(n, listed, &nest));
  HONE_TRY(check_places(kernel, &nest));
  hone_str_t line;
  hone_str_init(&line, kernel->allocator);
  for (int i = 0; i < n; i++) hone_str_appendf(&line, " %s", listed[i]->name);
  move_loops(&nest);
  hone_status_t status =
      line.failed ? hone_oom() : hone_sched_end(kernel, begin, "reorder%s", hone_str_text(&line));
  hone_str_free(&line);
  return status;
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_reorder(kernel, n, args);
}

const hone_primitive_t hone_primitive_reorder = {
    .name = "reorder",
    .usage = "reorder LOOP LOOP …",
    .min_args = 1,
    .max_args = MAX_LOOPS,
    .apply = apply,
};
