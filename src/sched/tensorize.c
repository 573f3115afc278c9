/* tensorize: a loop with all that is in it is what a device does in one instruction. */
#include "base/memory.h"
#include "loop/intrinsic.h"
#include "sched/common/edit.h"

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* loop,
                           const hone_intrinsic_t* intrinsic) {
  hone_operand_range_t operands[HONE_MAX_OPERANDS];
  bool matches;
  HONE_TRY(hone_intrinsic_match(kernel, loop, intrinsic, &matches, operands));
  if (matches) return NULL;
  return hone_sched_refuse(
      "tensorize %s: it is not what %s computes, or its elements do not lie "
      "side by side",
      loop->name, intrinsic->name);
}

hone_status_t hone_sched_tensorize(hone_kernel_t* kernel, const char* name,
                                   const char* intrinsic_name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  const hone_intrinsic_t* intrinsic = hone_intrinsic_find(intrinsic_name);
  if (!intrinsic)
    return hone_status_make(HONE_NOT_FOUND, "there is no intrinsic '%s'", intrinsic_name);
  HONE_TRY(check(kernel, loop, intrinsic));
  loop->intrinsic = intrinsic->name;
  return hone_sched_end(kernel, begin, "tensorize %s %s", loop->name, intrinsic->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_tensorize(kernel, args[0], args[1]);
}

const hone_primitive_t hone_primitive_tensorize = {
    .name = "tensorize",
    .usage = "tensorize LOOP INTRINSIC",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
