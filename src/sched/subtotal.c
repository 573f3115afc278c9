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
#include "sched/common/edit.h"

/* What is found in the loop. */
typedef struct sum {
  hone_stmt_t* store;
  hone_stmt_t* lane; /* the loop inside that the store's index runs with; NULL: none */
} sum_t;

static bool index_uses(const hone_stmt_t* store, hone_dim_t symbol) {
  for (int i = 0; i < store->buffer->rank; i++)
    if (hone_dim_uses(store->index[i], symbol)) return true;
  return false;
}

static bool reads(const hone_term_t* term, const hone_buffer_t* buffer) {
  if (term->kind == HONE_TERM_LOAD && term->buffer == buffer) return true;
  for (int i = 0; i < term->n_args; i++)
    if (reads(term->args[i], buffer)) return true;
  return false;
}

static hone_status_t find(hone_stmt_t* loop, sum_t* out) {
  hone_stmt_t* stmt = loop;
  while (hone_sched_only_loop(stmt)) stmt = hone_sched_only_loop(stmt);
  bool is_one = stmt->n_body == 1 && stmt->body[0]->kind == HONE_STMT_STORE &&
                stmt->body[0]->combine != HONE_COMBINE_SET;
  if (!is_one)
    return hone_sched_refuse("subtotal %s: there must be one store in it, a sum or the like",
                             loop->name);
  *out = (sum_t){.store = stmt->body[0]};
  if (index_uses(out->store, loop->var))
    return hone_sched_refuse("subtotal %s: its rounds add to different elements of %s", loop->name,
                             out->store->buffer->name);
  for (; stmt != loop; stmt = stmt->parent) {
    if (!index_uses(out->store, stmt->var)) continue;
    if (out->lane || !hone_dim_is_int(stmt->extent))
      return hone_sched_refuse("subtotal %s: one loop of known extent may run over the elements",
                               loop->name);
    out->lane = stmt;
  }
  if (!reads(out->store->value, out->store->buffer)) return NULL;
  return hone_sched_refuse("subtotal %s: what is added depends on %s itself", loop->name,
                           out->store->buffer->name);
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

/* Where a store to each element of the parts goes, beside `loop`: into a loop
 * NAME.suffix, or straight there where there is but one. */
static hone_stmt_t* place(hone_kernel_t* kernel, const hone_stmt_t* loop, const sum_t* sum,
                          const char* suffix, int offset) {
  hone_stmt_t* made =
      hone_stmt_loop(kernel, NULL, hone_sched_name(kernel, loop->name, suffix),
                     sum->lane ? sum->lane->extent : hone_dim_int(1), HONE_LOOP_SERIAL);
  if (!made) return NULL;
  hone_stmt_remove(made);
  int position = hone_stmt_position(loop) + offset;
  return hone_stmt_insert(kernel, loop->parent, position, made) ? made : NULL;
}

static bool rewrite(hone_kernel_t* kernel, hone_stmt_t* loop, const sum_t* sum) {
  hone_stmt_t* store = sum->store;
  const hone_buffer_t* total = store->buffer;
  hone_dim_t one = hone_dim_int(1);
  hone_buffer_t* parts = hone_kernel_buffer(kernel, hone_sched_name(kernel, total->name, "s"),
                                            total->dtype, 1, sum->lane ? &sum->lane->extent : &one,
                                            HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  hone_stmt_t* zero = place(kernel, loop, sum, "z", 0);
  hone_stmt_t* join = place(kernel, loop, sum, "c", 1);
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
  sum_t sum = {0};
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(find(loop, &sum));
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
