/* merge: two loops of equal extents that follow one another become one. */
#include "base/memory.h"
#include "sched/common/depend.h"
#include "sched/common/edit.h"

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* first, hone_stmt_t* second) {
  if (first->parent != second->parent ||
      hone_stmt_position(second) != hone_stmt_position(first) + 1)
    return hone_sched_refuse("merge %s %s: the second loop must directly follow the first",
                             first->name, second->name);
  if (!hone_dim_same(first->extent, second->extent) || first->loop != second->loop)
    return hone_sched_refuse("merge %s %s: extents or kinds differ", first->name, second->name);
  const hone_buffer_t* buffer;
  HONE_TRY(hone_depend_join(kernel, first, second, &buffer));
  return hone_sched_conflict(buffer, "merge", second->name);
}

hone_status_t hone_sched_merge(hone_kernel_t* kernel, const char* first_name,
                               const char* second_name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t *first, *second;
  HONE_TRY(hone_sched_find(kernel, first_name, &first));
  HONE_TRY(hone_sched_find(kernel, second_name, &second));
  HONE_TRY(check(kernel, first, second));
  first->is_reduction |= second->is_reduction;
  hone_stmt_remove(second);
  for (int i = 0; i < second->n_body; i++)
    if (!hone_stmt_replace_var(kernel, second->body[i], second->var, first->var)) return hone_oom();
  if (!hone_sched_move_body(kernel, second, first)) return hone_oom();
  return hone_sched_end(kernel, begin, "merge %s %s", first->name, second->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_merge(kernel, args[0], args[1]);
}

const hone_primitive_t hone_primitive_merge = {
    .name = "merge",
    .usage = "merge FIRST SECOND",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
