/* vectorize: the rounds of an innermost loop become lanes of vectors. Of rounds that all add to
 * one element the lanes are added up first. */
#include "base/memory.h"
#include "loop/access.h"
#include "sched/common/depend.h"
#include "sched/common/edit.h"
#include "sched/common/sum.h"

enum { MAX_LANES = 64 };

/* What each round has for itself would be one thing for all lanes. */
static hone_status_t check_scratch(hone_kernel_t* kernel, const hone_stmt_t* loop) {
  size_t bytes = (size_t)kernel->n_buffers * sizeof(hone_stmt_t*);
  hone_stmt_t** owners = hone_alloc(kernel->allocator, bytes);
  hone_status_t status = owners ? hone_access_owners(kernel, owners) : hone_oom();
  for (int i = 0; i < kernel->n_buffers && !status; i++)
    if (kernel->buffers[i]->role == HONE_ROLE_SCRATCH && owners[i] &&
        hone_stmt_is_inside(owners[i], loop))
      status = hone_sched_refuse("vectorize %s: each lane needs %s for itself; distribute it first",
                                 loop->name, kernel->buffers[i]->name);
  hone_free(kernel->allocator, owners, bytes);
  return status;
}

/* Whether all rounds add to the same elements, and nothing else is in the loop. */
static bool only_adds_up(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++) {
    const hone_stmt_t* store = loop->body[i];
    if (store->kind != HONE_STMT_STORE || store->combine == HONE_COMBINE_SET ||
        hone_sched_index_uses(store, loop->var))
      return false;
  }
  return loop->is_reduction;
}

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* loop) {
  int64_t n = loop->extent.k;
  if (!hone_dim_is_int(loop->extent) || n < 2 || n > MAX_LANES)
    return hone_sched_refuse("vectorize %s: the extent must be from 2 to 64", loop->name);
  for (int i = 0; i < loop->n_body; i++) {
    hone_stmt_kind_t kind = loop->body[i]->kind;
    if (kind != HONE_STMT_STORE && kind != HONE_STMT_LET)
      return hone_sched_refuse("vectorize %s: there is more than stores in it", loop->name);
  }
  const hone_buffer_t* buffer;
  HONE_TRY(check_scratch(kernel, loop));
  HONE_TRY(hone_depend_rounds(kernel, loop, only_adds_up(loop), &buffer));
  if (buffer && loop->is_reduction)
    return hone_sched_refuse("vectorize %s: its rounds add to one element of %s; rfactor it first",
                             loop->name, buffer->name);
  return hone_sched_conflict(buffer, "vectorize", loop->name);
}

hone_status_t hone_sched_vectorize(hone_kernel_t* kernel, const char* name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(check(kernel, loop));
  loop->loop = HONE_LOOP_VECTOR;
  return hone_sched_end(kernel, begin, "vectorize %s", loop->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_vectorize(kernel, args[0]);
}

const hone_primitive_t hone_primitive_vectorize = {
    .name = "vectorize",
    .usage = "vectorize LOOP",
    .min_args = 1,
    .max_args = 1,
    .apply = apply,
};
