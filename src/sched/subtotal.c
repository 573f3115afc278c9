/* subtotal: each run of a loop that adds to some elements adds to elements of
 * its own, which are added up behind it. Long sums of floats lose less that way:
 * what is added at a time stays of the order of what it is added to.
 *
 *   for k.o { for k.i { for j { acc[j] += f } } }    becomes
 *
 *   for k.o {
 *     for k.i.z { part[k.i.z] = 0 }
 *     for k.i { for j { part[j] += f } }
 *     for k.i.c { acc[k.i.c] += part[k.i.c] }
 *   } */
#include "base/memory.h"
#include "sched/common/sum.h"

/* What is found in the loop. */
typedef struct sum {
  hone_stmt_t* store;
  hone_stmt_t* lane; /* the loop inside that the store's index runs with; NULL: none */
} sum_t;

static hone_status_t find(const hone_kernel_t* kernel, hone_stmt_t* loop, sum_t* out) {
  *out = (sum_t){0};
  HONE_TRY(hone_sched_find_sum(kernel, "subtotal", loop, &out->store));
  if (hone_sched_index_uses(out->store, loop->var))
    return hone_sched_refuse("subtotal %s: its rounds add to different elements of %s", loop->name,
                             out->store->buffer->name);
  for (hone_stmt_t* s = out->store->parent; s != loop; s = s->parent) {
    if (!hone_sched_index_uses(out->store, s->var)) continue;
    if (out->lane || !hone_dim_is_int(s->extent))
      return hone_sched_refuse("subtotal %s: one loop of known extent may run over the elements",
                               loop->name);
    out->lane = s;
  }
  return NULL;
}

/* The index with the lane's variable replaced. */
static const hone_dim_t* index_at(hone_kernel_t* kernel, const sum_t* sum, hone_dim_t lane) {
  int rank = sum->store->buffer->rank, count = hone_dims_symbol_count(kernel->dims);
  hone_dim_t* index = hone_arena_array(kernel->arena, (size_t)rank + 1, sizeof *index);
  hone_dim_t* to = hone_arena_array(kernel->arena, (size_t)count, sizeof *to);
  bool* is_mapped = hone_arena_array(kernel->arena, (size_t)count, sizeof *is_mapped);
  if (!index || !to || !is_mapped) return NULL;
  int id = hone_dim_as_symbol(sum->lane->var)->id;
  to[id] = lane;
  is_mapped[id] = true;
  for (int i = 0; i < rank; i++)
    index[i] = hone_dim_replace(kernel->dims, sum->store->index[i], count, to, is_mapped);
  return index;
}

static bool rewrite(hone_kernel_t* kernel, hone_stmt_t* loop, const sum_t* sum) {
  hone_stmt_t* store = sum->store;
  const hone_buffer_t* total = store->buffer;
  hone_dim_t count = sum->lane ? sum->lane->extent : hone_dim_int(1);
  hone_buffer_t* parts =
      hone_kernel_buffer(kernel, hone_sched_name(kernel, total->name, "s"), total->dtype, 1, &count,
                         HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  hone_stmt_t* zero = hone_sched_loop_beside(kernel, loop, loop->name, "z", count, 0);
  hone_stmt_t* join = hone_sched_loop_beside(kernel, loop, loop->name, "c", count, 1);
  if (!parts || !zero || !join) return false;
  const hone_dim_t* index = sum->lane ? index_at(kernel, sum, join->var) : store->index;
  const hone_term_t* neutral = hone_term_neutral(kernel, store->combine, total->dtype);
  if (!index || !hone_stmt_store(kernel, zero, parts, &zero->var, HONE_COMBINE_SET, neutral) ||
      !hone_stmt_store(kernel, join, total, index, store->combine,
                       hone_term_load(kernel, parts, &join->var)))
    return false;
  join->is_reduction = !sum->lane;
  const hone_dim_t first = hone_dim_int(0);
  store->buffer = parts;
  store->index = hone_index_copy(kernel, 1, sum->lane ? &sum->lane->var : &first);
  return store->index != NULL;
}

hone_status_t hone_sched_subtotal(hone_kernel_t* kernel, const char* name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  sum_t sum;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(find(kernel, loop, &sum));
  HONE_TRY(hone_sched_want_order(kernel, loop));
  if (!rewrite(kernel, loop, &sum)) return hone_oom();
  return hone_sched_end(kernel, begin, "subtotal %s", loop->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_subtotal(kernel, args[0]);
}

const hone_primitive_t hone_primitive_subtotal = {
    .name = "subtotal",
    .usage = "subtotal LOOP",
    .min_args = 1,
    .max_args = 1,
    .apply = apply,
};
