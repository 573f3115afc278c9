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
  int n_lanes;                       /* loops inside that the store's index runs with */
  hone_stmt_t* lanes[HONE_MAX_RANK]; /* from the outside in */
} sum_t;

static hone_status_t find(const hone_kernel_t* kernel, hone_stmt_t* loop, sum_t* out) {
  *out = (sum_t){0};
  HONE_TRY(hone_sched_find_sum(kernel, "subtotal", loop, &out->store));
  if (hone_sched_index_uses(out->store, loop->var))
    return hone_sched_refuse("subtotal %s: its rounds add to different elements of %s", loop->name,
                             out->store->buffer->name);
  for (hone_stmt_t* s = hone_sched_only_loop(loop); s; s = hone_sched_only_loop(s)) {
    if (!hone_sched_index_uses(out->store, s->var)) continue;
    if (out->n_lanes == HONE_MAX_RANK || !hone_dim_is_int(s->extent))
      return hone_sched_refuse(
          "subtotal %s: loops over the elements must be few and of known extents", loop->name);
    out->lanes[out->n_lanes++] = s;
  }
  return NULL;
}

/* The index of the total with the variables of the lanes replaced. */
static const hone_dim_t* index_at(hone_kernel_t* kernel, const sum_t* sum, const hone_dim_t* vars) {
  int rank = sum->store->buffer->rank, count = hone_dims_symbol_count(kernel->dims);
  hone_dim_t* index = hone_arena_array(kernel->arena, (size_t)rank + 1, sizeof *index);
  hone_dim_t* to = hone_arena_array(kernel->arena, (size_t)count, sizeof *to);
  bool* is_mapped = hone_arena_array(kernel->arena, (size_t)count, sizeof *is_mapped);
  if (!index || !to || !is_mapped) return NULL;
  for (int i = 0; i < sum->n_lanes; i++) {
    int id = hone_dim_as_symbol(sum->lanes[i]->var)->id;
    to[id] = vars[i];
    is_mapped[id] = true;
  }
  for (int i = 0; i < rank; i++)
    index[i] = hone_dim_replace(kernel->dims, sum->store->index[i], count, to, is_mapped);
  return index;
}

/* Loops NAME.z and the like beside the loop, one in the other, as those over the elements are;
 * gives the innermost. NULL: memory is out. */
static hone_stmt_t* loops_beside(hone_kernel_t* kernel, const hone_stmt_t* loop, const sum_t* sum,
                                 const char* suffix, int offset, hone_dim_t* vars) {
  hone_dim_t first = sum->n_lanes ? sum->lanes[0]->extent : hone_dim_int(1);
  hone_stmt_t* made = hone_sched_loop_beside(kernel, loop, loop->name, suffix, first, offset);
  for (int i = 0; made; i++) {
    vars[i] = made->var;
    if (i < sum->n_lanes) made->loop = sum->lanes[i]->loop;
    if (i + 1 >= sum->n_lanes) break;
    made = hone_stmt_loop(kernel, made, hone_sched_name(kernel, loop->name, suffix),
                          sum->lanes[i + 1]->extent, HONE_LOOP_SERIAL);
  }
  return made;
}

static bool rewrite(hone_kernel_t* kernel, hone_stmt_t* loop, const sum_t* sum) {
  hone_stmt_t* store = sum->store;
  const hone_buffer_t* total = store->buffer;
  int rank = sum->n_lanes ? sum->n_lanes : 1;
  hone_dim_t shape[HONE_MAX_RANK] = {hone_dim_int(1)}, zeros[HONE_MAX_RANK], joins[HONE_MAX_RANK],
             own[HONE_MAX_RANK] = {hone_dim_int(0)};
  for (int i = 0; i < sum->n_lanes; i++) {
    shape[i] = sum->lanes[i]->extent;
    own[i] = sum->lanes[i]->var;
  }
  hone_buffer_t* parts =
      hone_kernel_buffer(kernel, hone_sched_name(kernel, total->name, "s"), total->dtype, rank,
                         shape, HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  hone_stmt_t* zero = loops_beside(kernel, loop, sum, "z", 0, zeros);
  hone_stmt_t* join = loops_beside(kernel, loop, sum, "c", 1, joins);
  if (!parts || !zero || !join) return false;
  const hone_term_t* neutral = hone_term_neutral(kernel, store->combine, total->dtype);
  const hone_dim_t* index = sum->n_lanes ? index_at(kernel, sum, joins) : store->index;
  if (!index || !hone_stmt_store(kernel, zero, parts, zeros, HONE_COMBINE_SET, neutral) ||
      !hone_stmt_store(kernel, join, total, index, store->combine,
                       hone_term_load(kernel, parts, joins)))
    return false;
  join->is_reduction = !sum->n_lanes;
  store->buffer = parts;
  store->index = hone_index_copy(kernel, rank, own);
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
