/* Sums: the one store in a loop, and loops beside it. */
#include "sched/common/sum.h"

#include "base/memory.h"

bool hone_sched_index_uses(const hone_stmt_t* store, hone_dim_t symbol) {
  for (int i = 0; i < store->buffer->rank; i++)
    if (hone_dim_uses(store->index[i], symbol)) return true;
  return false;
}

/* Refuses a store whose value depends on what it stores to. */
static hone_status_t check_value(const hone_kernel_t* kernel, const char* primitive,
                                 const hone_stmt_t* loop, hone_stmt_t* store) {
  hone_access_list_t list;
  hone_status_t status = hone_access_collect(kernel, store, &list);
  for (int i = 0; i < list.count && !status; i++)
    if (!list.items[i].is_store && list.items[i].buffer == store->buffer)
      status = hone_sched_refuse("%s %s: what is added depends on %s itself", primitive, loop->name,
                                 store->buffer->name);
  hone_access_free(&list);
  return status;
}

hone_status_t hone_sched_find_sum(const hone_kernel_t* kernel, const char* primitive,
                                  hone_stmt_t* loop, hone_stmt_t** out_store) {
  hone_stmt_t* stmt = loop;
  while (hone_sched_only_loop(stmt)) stmt = hone_sched_only_loop(stmt);
  *out_store = stmt->n_body == 1 ? stmt->body[0] : NULL;
  if (!*out_store || (*out_store)->kind != HONE_STMT_STORE ||
      (*out_store)->combine == HONE_COMBINE_SET)
    return hone_sched_refuse("%s %s: there must be one store in it, a sum or the like", primitive,
                             loop->name);
  return check_value(kernel, primitive, loop, *out_store);
}

hone_stmt_t* hone_sched_loop_beside(hone_kernel_t* kernel, const hone_stmt_t* beside,
                                    const char* name, const char* suffix, hone_dim_t extent,
                                    int offset) {
  hone_stmt_t* made =
      hone_stmt_loop(kernel, NULL, hone_sched_name(kernel, name, suffix), extent, HONE_LOOP_SERIAL);
  if (!made) return NULL;
  hone_stmt_remove(made);
  int position = hone_stmt_position(beside) + offset;
  return hone_stmt_insert(kernel, beside->parent, position, made) ? made : NULL;
}
