/* rfactor: the rounds of a loop that add to one element add to one each.
 *
 *   for k.o { for k.i { acc[] += f } }    becomes
 *
 *   for k.i.z { part[k.i.z] = 0 }
 *   for k.o { for k.i { part[k.i] += f } }
 *   for k.i.c { acc[] += part[k.i.c] } */
#include "base/memory.h"
#include "sched/common/sum.h"

static hone_status_t check(const hone_stmt_t* loop, const hone_stmt_t* store) {
  if (!hone_dim_is_int(loop->extent))
    return hone_sched_refuse("rfactor %s: the extent must be known; split it first", loop->name);
  for (const hone_stmt_t* s = store->parent; s != loop->parent; s = s->parent)
    if (hone_sched_index_uses(store, s->var))
      return hone_sched_refuse(
          "rfactor %s: %s is indexed by %s, so its rounds add to many elements", loop->name,
          store->buffer->name, s->name);
  return NULL;
}

/* The outermost loop around that only adds to the same element. */
static hone_stmt_t* find_top(hone_stmt_t* loop, const hone_stmt_t* store) {
  hone_stmt_t* top = loop;
  while (top->parent->kind == HONE_STMT_LOOP && top->parent->loop == HONE_LOOP_SERIAL &&
         top->parent->n_body == 1 && !hone_sched_index_uses(store, top->parent->var))
    top = top->parent;
  return top;
}

static bool rfactor(hone_kernel_t* kernel, hone_stmt_t* loop, hone_stmt_t* store) {
  const hone_buffer_t* sum = store->buffer;
  hone_stmt_t* top = find_top(loop, store);
  hone_buffer_t* parts =
      hone_kernel_buffer(kernel, hone_sched_name(kernel, sum->name, "r"), sum->dtype, 1,
                         &loop->extent, HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  hone_stmt_t* zero = hone_sched_loop_beside(kernel, top, loop->name, "z", loop->extent, 0);
  hone_stmt_t* join = hone_sched_loop_beside(kernel, top, loop->name, "c", loop->extent, 1);
  if (!parts || !zero || !join) return false;
  const hone_term_t* neutral = hone_term_neutral(kernel, store->combine, sum->dtype);
  join->is_reduction = true;
  if (!hone_stmt_store(kernel, zero, parts, &zero->var, HONE_COMBINE_SET, neutral) ||
      !hone_stmt_store(kernel, join, sum, store->index, store->combine,
                       hone_term_load(kernel, parts, &join->var)))
    return false;
  store->buffer = parts;
  store->index = hone_index_copy(kernel, 1, &loop->var);
  loop->is_reduction = false;
  return store->index != NULL;
}

hone_status_t hone_sched_rfactor(hone_kernel_t* kernel, const char* name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t *loop, *store;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(hone_sched_find_sum(kernel, "rfactor", loop, &store));
  HONE_TRY(check(loop, store));
  HONE_TRY(hone_sched_want_order(kernel, find_top(loop, store)));
  if (!rfactor(kernel, loop, store)) return hone_oom();
  return hone_sched_end(kernel, begin, "rfactor %s", loop->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_rfactor(kernel, args[0]);
}

const hone_primitive_t hone_primitive_rfactor = {
    .name = "rfactor",
    .usage = "rfactor LOOP",
    .min_args = 1,
    .max_args = 1,
    .apply = apply,
};
