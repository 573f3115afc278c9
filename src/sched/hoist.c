/* hoist: what is the same in each round of a loop is found out once, in front of
 * it: places that are looked up in a table, and the checks that they are inside. */
#include "base/memory.h"
#include "sched/common/depend.h"
#include "sched/common/edit.h"

static bool is_fact(const hone_stmt_t* stmt) {
  return stmt->kind == HONE_STMT_LET || stmt->kind == HONE_STMT_CHECK;
}

/* Whether the statement loads from what the loop stores to. */
static bool loads_results(const hone_access_list_t* list, const hone_stmt_t* stmt) {
  for (int i = 0; i < list->count; i++) {
    if (list->items[i].stmt != stmt) continue;
    for (int k = 0; k < list->count; k++)
      if (list->items[k].is_store && list->items[k].buffer == list->items[i].buffer) return true;
  }
  return false;
}

/* Whether it follows from what is known in front of the loop: not from its
 * variable, nor from a let that stays in it. */
static bool is_same(const hone_access_list_t* list, const hone_stmt_t* loop, int at) {
  const hone_stmt_t* stmt = loop->body[at];
  if (!is_fact(stmt) || hone_term_uses(stmt->value, loop->var)) return false;
  for (int i = 0; i < at; i++)
    if (loop->body[i]->kind == HONE_STMT_LET && hone_term_uses(stmt->value, loop->body[i]->var))
      return false;
  return !loads_results(list, stmt);
}

static hone_status_t check(const hone_stmt_t* loop) {
  if (loop->loop == HONE_LOOP_VECTOR || !loop->parent->parent)
    return hone_sched_refuse("hoist %s: it must be in another loop, and have no lanes", loop->name);
  if (hone_dim_min_value(loop->extent) < 1)
    return hone_sched_refuse("hoist %s: it may have no rounds", loop->name);
  return NULL;
}

/* Moves what is the same; gives how many statements that were. */
static hone_status_t move(hone_kernel_t* kernel, hone_stmt_t* loop, const hone_access_list_t* list,
                          int* out_count) {
  *out_count = 0;
  for (int i = 0; i < loop->n_body;) {
    hone_stmt_t* stmt = loop->body[i];
    if (!is_same(list, loop, i)) {
      i++;
      continue;
    }
    hone_stmt_remove(stmt);
    if (!hone_stmt_insert(kernel, loop->parent, hone_stmt_position(loop), stmt)) return hone_oom();
    (*out_count)++;
  }
  return NULL;
}

hone_status_t hone_sched_hoist(hone_kernel_t* kernel, const char* name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  hone_access_list_t list = {0};
  int count = 0;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(check(loop));
  hone_status_t status = hone_access_collect(kernel, loop, &list);
  if (!status) status = move(kernel, loop, &list, &count);
  hone_access_free(&list);
  if (status) return status;
  if (!count) return hone_sched_refuse("hoist %s: all in it changes with its rounds", loop->name);
  return hone_sched_end(kernel, begin, "hoist %s", loop->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_hoist(kernel, args[0]);
}

const hone_primitive_t hone_primitive_hoist = {
    .name = "hoist",
    .usage = "hoist LOOP",
    .min_args = 1,
    .max_args = 1,
    .apply = apply,
};
