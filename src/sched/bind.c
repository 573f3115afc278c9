/* bind: the rounds of a loop become groups of a device, or items of a group. */
#include <string.h>

#include "base/memory.h"
#include "sched/common/depend.h"
#include "sched/common/edit.h"

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* loop, hone_binding_t binding) {
  bool in_group = false;
  for (const hone_stmt_t* s = loop->parent; s != kernel->root; s = s->parent) {
    bool is_group = s->kind == HONE_STMT_LOOP && s->loop == HONE_LOOP_GROUP;
    bool is_item = s->kind == HONE_STMT_LOOP && s->loop == HONE_LOOP_ITEM;
    if (!is_group && !(is_item && binding == HONE_BIND_ITEM))
      return hone_sched_refuse("bind %s: there is something else around it than groups",
                               loop->name);
    in_group |= is_group;
  }
  if (binding == HONE_BIND_ITEM && !in_group)
    return hone_sched_refuse("bind %s: items are in a loop over groups", loop->name);
  HONE_TRY(hone_sched_want_own_scratch(kernel, loop, binding == HONE_BIND_ITEM));
  const hone_buffer_t* buffer;
  HONE_TRY(hone_depend_rounds(kernel, loop, false, &buffer));
  return hone_sched_conflict(buffer, "bind", loop->name);
}

hone_status_t hone_sched_bind(hone_kernel_t* kernel, const char* name, hone_binding_t binding) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(check(kernel, loop, binding));
  bool is_group = binding == HONE_BIND_GROUP;
  loop->loop = is_group ? HONE_LOOP_GROUP : HONE_LOOP_ITEM;
  return hone_sched_end(kernel, begin, "bind %s %s", loop->name, is_group ? "group" : "item");
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  if (strcmp(args[1], "group") == 0) return hone_sched_bind(kernel, args[0], HONE_BIND_GROUP);
  if (strcmp(args[1], "item") == 0) return hone_sched_bind(kernel, args[0], HONE_BIND_ITEM);
  return hone_sched_refuse("bind: '%s' is neither group nor item", args[1]);
}

const hone_primitive_t hone_primitive_bind = {
    .name = "bind",
    .usage = "bind LOOP group|item",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
