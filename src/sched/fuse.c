/* fuse: two loops, one directly in the other, become one. */
#include "base/memory.h"
#include "sched/common/edit.h"

static hone_status_t check(const hone_stmt_t* outer, const hone_stmt_t* inner) {
  if (hone_sched_only_loop(outer) != inner)
    return hone_sched_refuse("fuse %s %s: the second loop must be all that is in the first",
                             outer->name, inner->name);
  if (outer->loop != inner->loop || outer->loop == HONE_LOOP_VECTOR)
    return hone_sched_refuse("fuse %s %s: the loops are of different kinds", outer->name,
                             inner->name);
  if (hone_dim_uses(inner->extent, outer->var))
    return hone_sched_refuse("fuse %s %s: the second extent changes with the first loop",
                             outer->name, inner->name);
  if (hone_dim_is(inner->extent, 0))
    return hone_sched_refuse("fuse %s %s: the second loop has no rounds to count in", outer->name,
                             inner->name);
  return NULL;
}

static hone_dim_t quotient(void* self, hone_kernel_t* kernel, hone_dim_t var) {
  return hone_dim_floordiv(kernel->dims, var, *(const hone_dim_t*)self);
}

/* The inner loop leaves; its variable is what remains of the fused one. */
static bool fuse(hone_kernel_t* kernel, hone_stmt_t* outer, hone_stmt_t* inner) {
  hone_dim_t by = inner->extent, old = inner->var;
  const char* name = hone_arena_format(kernel->arena, "%s_%s", outer->name, inner->name);
  hone_stmt_remove(inner);
  outer->is_reduction |= inner->is_reduction;
  if (!name || !hone_sched_move_body(kernel, inner, outer)) return false;
  hone_dim_t extent = hone_dim_mul(kernel->dims, outer->extent, by);
  if (!hone_sched_retarget(kernel, outer, name, extent, quotient, &by)) return false;
  hone_dim_t rest = hone_dim_mod(kernel->dims, outer->var, by);
  for (int i = 0; i < outer->n_body; i++)
    if (!hone_stmt_replace_var(kernel, outer->body[i], old, rest)) return false;
  return true;
}

hone_status_t hone_sched_fuse(hone_kernel_t* kernel, const char* outer_name,
                              const char* inner_name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t *outer, *inner;
  HONE_TRY(hone_sched_find(kernel, outer_name, &outer));
  HONE_TRY(hone_sched_find(kernel, inner_name, &inner));
  HONE_TRY(check(outer, inner));
  if (hone_dim_is_bad(hone_dim_mul(kernel->dims, outer->extent, inner->extent)))
    return hone_sched_refuse("fuse %s %s: the extent is too large", outer_name, inner_name);
  const char *first = outer->name, *second = inner->name;
  if (!fuse(kernel, outer, inner)) return hone_oom();
  return hone_sched_end(kernel, begin, "fuse %s %s", first, second);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_fuse(kernel, args[0], args[1]);
}

const hone_primitive_t hone_primitive_fuse = {
    .name = "fuse",
    .usage = "fuse OUTER INNER",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
