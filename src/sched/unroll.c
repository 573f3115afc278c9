/* unroll: the rounds of a loop are written out. */
#include "base/memory.h"
#include "sched/common/edit.h"

enum { MAX_ROUNDS = 256 };

static hone_status_t check(const hone_kernel_t* kernel, const hone_stmt_t* loop) {
  if (!hone_dim_is_int(loop->extent) || loop->extent.k > MAX_ROUNDS)
    return hone_sched_refuse("unroll %s: the extent must be known, and at most 256", loop->name);
  return NULL;
}

hone_status_t hone_sched_unroll(hone_kernel_t* kernel, const char* name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(check(kernel, loop));
  loop->loop = HONE_LOOP_UNROLL;
  return hone_sched_end(kernel, begin, "unroll %s", loop->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_unroll(kernel, args[0]);
}

const hone_primitive_t hone_primitive_unroll = {
    .name = "unroll",
    .usage = "unroll LOOP",
    .min_args = 1,
    .max_args = 1,
    .apply = apply,
};
