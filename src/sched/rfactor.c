/* rfactor: the rounds of a loop that add to one element add to one each.
 *
 *   for k.o { for k.i { acc[] += f } }    becomes
 *
 *   for k.i.z { part[k.i.z] = 0 }
 *   for k.o { for k.i { part[k.i] += f } }
 *   for k.i.c { acc[] += part[k.i.c] } */
#include <string.h>

#include "base/memory.h"
#include "sched/common/edit.h"

/* The only store in the loop; NULL when there are other statements too. */
static hone_stmt_t* only_store(hone_stmt_t* loop) {
  hone_stmt_t* stmt = loop;
  while (hone_sched_only_loop(stmt)) stmt = hone_sched_only_loop(stmt);
  return stmt->n_body == 1 && stmt->body[0]->kind == HONE_STMT_STORE ? stmt->body[0] : NULL;
}

static bool index_uses(const hone_stmt_t* store, hone_dim_t symbol) {
  for (int i = 0; i < store->buffer->rank; i++)
    if (hone_dim_uses(store->index[i], symbol)) return true;
  return false;
}

/* Refuses a store whose value depends on what it stores to. */
static hone_status_t check_value(const hone_kernel_t* kernel, const hone_stmt_t* loop,
                                 hone_stmt_t* store) {
  hone_access_list_t list;
  hone_status_t status = hone_access_collect(kernel, store, &list);
  for (int i = 0; i < list.count && !status; i++)
    if (!list.items[i].is_store && list.items[i].buffer == store->buffer)
      status = hone_sched_refuse("rfactor %s: what is added depends on %s itself", loop->name,
                                 store->buffer->name);
  hone_access_free(&list);
  return status;
}

static hone_status_t check(const hone_kernel_t* kernel, const hone_stmt_t* loop,
                           hone_stmt_t* store) {
  if (!store || store->combine == HONE_COMBINE_SET)
    return hone_sched_refuse("rfactor %s: there must be one store in it, a sum or the like",
                             loop->name);
  if (!hone_dim_is_int(loop->extent))
    return hone_sched_refuse("rfactor %s: the extent must be known; split it first", loop->name);
  for (const hone_stmt_t* s = store->parent; s != loop->parent; s = s->parent)
    if (index_uses(store, s->var))
      return hone_sched_refuse(
          "rfactor %s: %s is indexed by %s, so its rounds add to many elements", loop->name,
          store->buffer->name, s->name);
  return check_value(kernel, loop, store);
}

/* The outermost loop around that only adds to the same element. */
static hone_stmt_t* find_top(hone_stmt_t* loop, const hone_stmt_t* store) {
  hone_stmt_t* top = loop;
  while (top->parent->kind == HONE_STMT_LOOP && top->parent->loop == HONE_LOOP_SERIAL &&
         top->parent->n_body == 1 && !index_uses(store, top->parent->var))
    top = top->parent;
  return top;
}

/* A loop of the parts with one store, in front of or behind `top`. */
static hone_stmt_t* make_loop(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_stmt_t* top,
                              const char* suffix, int offset) {
  hone_stmt_t* made = hone_stmt_loop(kernel, NULL, hone_sched_name(kernel, loop->name, suffix),
                                     loop->extent, HONE_LOOP_SERIAL);
  if (!made) return NULL;
  hone_stmt_remove(made);
  return hone_stmt_insert(kernel, top->parent, hone_stmt_position(top) + offset, made) ? made
                                                                                       : NULL;
}

static bool rfactor(hone_kernel_t* kernel, hone_stmt_t* loop, hone_stmt_t* store) {
  const hone_buffer_t* sum = store->buffer;
  hone_stmt_t* top = find_top(loop, store);
  hone_buffer_t* parts =
      hone_kernel_buffer(kernel, hone_sched_name(kernel, sum->name, "r"), sum->dtype, 1,
                         &loop->extent, HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  hone_stmt_t* zero = make_loop(kernel, loop, top, "z", 0);
  hone_stmt_t* join = make_loop(kernel, loop, top, "c", 1);
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
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  hone_stmt_t* store = only_store(loop);
  HONE_TRY(check(kernel, loop, store));
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
