/* lengthen: a sum of products gets rounds that add nothing, so that instructions which do several
 * at once have whole ones. Both factors are scratch, which becomes longer along the sum; what is
 * new of it is zero, and nothing else writes it.
 *
 *   for k in 5 { acc += a.s[k] * b.s[k] }    becomes, to 8
 *
 *   for a.s.z in 3 { a.s[5 + a.s.z] = 0 }    in front of all that uses a.s; b.s likewise
 *   for k in 8 { acc += a.s[k] * b.s[k] } */
#include <inttypes.h>

#include "base/memory.h"
#include "loop/walk.h"
#include "sched/common/sum.h"

enum { FACTORS = 2 };

/* A factor's buffer. */
typedef struct factor {
  hone_buffer_t* buffer;
  int axis;          /* that the sum goes along */
  hone_stmt_t* home; /* the innermost statement that all uses of it are in */
} factor_t;

static hone_status_t find_factor(hone_kernel_t* kernel, const hone_stmt_t* loop,
                                 const hone_term_t* term, factor_t* out) {
  while (term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_CAST) term = term->args[0];
  const hone_buffer_t* buffer = term->kind == HONE_TERM_LOAD ? term->buffer : NULL;
  if (!buffer || buffer->role != HONE_ROLE_SCRATCH || buffer->packing)
    return hone_sched_refuse("lengthen %s: its factors must be of scratch as it was made",
                             loop->name);
  *out = (factor_t){.buffer = kernel->buffers[buffer->id], .axis = -1};
  for (int i = 0; i < buffer->rank; i++) {
    if (!hone_dim_uses(term->index[i], loop->var)) continue;
    if (out->axis >= 0 || !hone_dim_same(term->index[i], loop->var) ||
        !hone_dim_same(buffer->dims[i], loop->extent))
      return hone_sched_refuse("lengthen %s: it must go along all of one axis of %s", loop->name,
                               buffer->name);
    out->axis = i;
  }
  if (out->axis < 0)
    return hone_sched_refuse("lengthen %s: %s is the same in each round", loop->name, buffer->name);
  return NULL;
}

static hone_status_t find_factors(hone_kernel_t* kernel, hone_stmt_t* loop, factor_t out[FACTORS]) {
  hone_stmt_t* store;
  HONE_TRY(hone_sched_find_sum(kernel, "lengthen", loop, &store));
  const hone_term_t* value = store->value;
  if (store->combine != HONE_COMBINE_ADD || value->kind != HONE_TERM_PRIM ||
      value->prim != HONE_PRIM_MUL || hone_sched_index_uses(store, loop->var))
    return hone_sched_refuse("lengthen %s: it must add up products", loop->name);
  for (int i = 0; i < FACTORS; i++) HONE_TRY(find_factor(kernel, loop, value->args[i], &out[i]));
  if (out[0].buffer == out[1].buffer)
    return hone_sched_refuse("lengthen %s: its factors must be of two buffers", loop->name);
  return NULL;
}

/* ---- zeros ---- */

static bool is_in(const hone_stmt_t* stmt, const hone_stmt_t* outer) {
  while (stmt && stmt != outer) stmt = stmt->parent;
  return stmt != NULL;
}

static bool widen(void* self, hone_stmt_t* stmt) {
  factor_t* f = self;
  if (stmt->buffer != f->buffer && !(stmt->value && hone_term_reads(stmt->value, f->buffer)))
    return true;
  if (!f->home) f->home = stmt->parent;
  while (!is_in(stmt, f->home)) f->home = f->home->parent;
  return true;
}

/* Sets what is new of the buffer to zero, in front of all that uses it. */
static bool clear(hone_kernel_t* kernel, const factor_t* f, hone_dim_t before, hone_dim_t more) {
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  const char* name = hone_sched_name(kernel, f->buffer->name, "z");
  hone_stmt_t* inner = NULL;
  for (int i = 0; i < f->buffer->rank; i++) {
    hone_dim_t extent = i == f->axis ? more : f->buffer->dims[i];
    index[i] = hone_dim_int(0);
    if (i != f->axis && hone_dim_is(extent, 1)) continue;
    hone_stmt_t* loop =
        inner ? hone_stmt_loop(kernel, inner, name, extent, HONE_LOOP_SERIAL)
              : hone_sched_loop_beside(kernel, f->home->body[0], f->buffer->name, "z", extent, 0);
    if (!loop) return false;
    inner = loop;
    index[i] = i == f->axis ? hone_dim_add(kernel->dims, loop->var, before) : loop->var;
  }
  const hone_term_t* zero = hone_term_number(kernel, f->buffer->dtype, 0);
  return zero && hone_stmt_store(kernel, inner, f->buffer, index, HONE_COMBINE_SET, zero);
}

static bool grow(hone_kernel_t* kernel, const factor_t* f, hone_dim_t extent) {
  hone_dim_t dims[HONE_MAX_BUFFER_RANK];
  for (int i = 0; i < f->buffer->rank; i++) dims[i] = i == f->axis ? extent : f->buffer->dims[i];
  f->buffer->dims = hone_index_copy(kernel, f->buffer->rank, dims);
  return f->buffer->dims != NULL;
}

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* loop, int64_t rounds,
                           factor_t factors[FACTORS]) {
  HONE_TRY(hone_sched_want_serial(loop));
  if (!hone_dim_is_int(loop->extent) || rounds <= loop->extent.k)
    return hone_sched_refuse("lengthen %s: it must have fewer than %" PRId64 " rounds, as is known",
                             loop->name, rounds);
  HONE_TRY(find_factors(kernel, loop, factors));
  for (int i = 0; i < FACTORS; i++) {
    hone_stmt_walk(kernel->root, widen, &factors[i]);
    HONE_TRY(hone_sched_want_order(kernel, factors[i].home->body[0]));
  }
  return NULL;
}

hone_status_t hone_sched_lengthen(hone_kernel_t* kernel, const char* name, int64_t rounds) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  factor_t factors[FACTORS];
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(check(kernel, loop, rounds, factors));
  hone_dim_t before = loop->extent, more = hone_dim_int(rounds - before.k);
  for (int i = 0; i < FACTORS; i++)
    if (!clear(kernel, &factors[i], before, more) ||
        !grow(kernel, &factors[i], hone_dim_int(rounds)))
      return hone_oom();
  loop->extent = hone_dim_int(rounds);
  return hone_sched_end(kernel, begin, "lengthen %s %" PRId64, loop->name, rounds);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  (void)n;
  int64_t rounds;
  HONE_TRY(hone_sched_parse_int(args[1], &rounds));
  return hone_sched_lengthen(kernel, args[0], rounds);
}

const hone_primitive_t hone_primitive_lengthen = {
    .name = "lengthen",
    .usage = "lengthen LOOP ROUNDS",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
