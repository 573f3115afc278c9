/* split: a loop becomes a loop of loops of `factor` rounds. */
#include "base/memory.h"
#include "base/str.h"
#include "sched/common/edit.h"

/* What stands for the old variable: base + factor * variable. */
typedef struct linear {
  hone_dim_t factor, base;
} linear_t;

static hone_dim_t linear(void* self, hone_kernel_t* kernel, hone_dim_t var) {
  const linear_t* l = self;
  return hone_dim_add(kernel->dims, hone_dim_mul(kernel->dims, var, l->factor), l->base);
}

/* The rounds from `start` on, in a loop of their own behind this one. */
static bool peel_tail(hone_kernel_t* kernel, hone_stmt_t* loop, hone_dim_t start,
                      hone_dim_t count) {
  hone_stmt_t* tail = hone_sched_copy(kernel, loop);
  linear_t to = {hone_dim_int(1), start};
  const char* name = hone_sched_name(kernel, loop->name, "t");
  return tail && hone_sched_retarget(kernel, tail, name, count, linear, &to) &&
         hone_stmt_insert(kernel, loop->parent, hone_stmt_position(loop) + 1, tail) &&
         hone_sched_prune(kernel, tail);
}

/* What is in the loop runs below the limit only. The condition goes into the
 * loops that are perfectly nested in this one, which stay so. */
static bool guard(hone_kernel_t* kernel, hone_stmt_t* loop, const hone_term_t* condition) {
  while (hone_sched_only_loop(loop)) loop = hone_sched_only_loop(loop);
  hone_stmt_t* within = hone_stmt_if(kernel, loop, condition);
  if (!within) return false;
  hone_stmt_remove(within);
  return hone_sched_move_body(kernel, loop, within) && hone_stmt_insert(kernel, loop, -1, within) &&
         hone_sched_prune(kernel, loop);
}

/* The inner loop takes the body; `limit` NULL: all rounds run. */
static bool cut(hone_kernel_t* kernel, hone_stmt_t* loop, int64_t factor, hone_dim_t rounds,
                const hone_dim_t* limit) {
  const char* outer_name = hone_sched_name(kernel, loop->name, "o");
  const char* inner_name = hone_sched_name(kernel, loop->name, "i");
  hone_stmt_t old = *loop;
  loop->n_body = loop->body_room = 0;
  loop->body = NULL;
  hone_stmt_t* inner =
      hone_stmt_loop(kernel, loop, inner_name, hone_dim_int(factor), HONE_LOOP_SERIAL);
  if (!inner) return false;
  inner->is_reduction = loop->is_reduction;
  linear_t to = {hone_dim_int(factor), inner->var};
  for (int i = 0; i < old.n_body; i++)
    if (!hone_stmt_insert(kernel, inner, -1, old.body[i])) return false;
  if (!hone_sched_retarget(kernel, loop, outer_name, rounds, linear, &to)) return false;
  hone_dim_t index = linear(&to, kernel, loop->var);
  return !limit || guard(kernel, inner, hone_term_lt(kernel, index, *limit));
}

static bool is_over_threads(const hone_stmt_t* stmt) {
  return stmt->kind == HONE_STMT_LOOP &&
         (stmt->loop == HONE_LOOP_PARALLEL || stmt->loop == HONE_LOOP_GROUP ||
          stmt->loop == HONE_LOOP_ITEM);
}

/* The inner loop would be a serial one around what is over threads. */
static hone_status_t check_threads(const hone_stmt_t* loop) {
  const hone_stmt_t* inner = hone_sched_only_loop(loop);
  if (!is_over_threads(loop) || !inner || !is_over_threads(inner)) return NULL;
  return hone_sched_refuse("split %s: loop %s in it is over threads already; kinds come last",
                           loop->name, inner->name);
}

static hone_status_t check(const hone_stmt_t* loop, int64_t factor) {
  if (factor < 1 || factor > INT32_MAX)
    return hone_sched_refuse("split %s: the factor must be from 1 to 2^31 - 1", loop->name);
  if (loop->loop == HONE_LOOP_VECTOR || loop->loop == HONE_LOOP_UNROLL)
    return hone_sched_refuse("split %s: the loop is vectorized or unrolled already", loop->name);
  return check_threads(loop);
}

/* Of the outer loop. */
static hone_dim_t count_rounds(hone_dims_t* dims, hone_dim_t extent, hone_dim_t by,
                               hone_tail_t tail) {
  hone_dim_t one = hone_dim_int(1), zero = hone_dim_int(0);
  if (tail == HONE_TAIL_GUARD) return hone_dim_ceildiv(dims, extent, by);
  hone_dim_t whole = hone_dim_floordiv(dims, extent, by);
  return tail == HONE_TAIL_LONG ? hone_dim_max(dims, hone_dim_sub(dims, whole, one), zero) : whole;
}

hone_status_t hone_sched_split(hone_kernel_t* kernel, const char* name, int64_t factor,
                               hone_tail_t tail) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(check(loop, factor));
  hone_dim_t by = hone_dim_int(factor), extent = loop->extent;
  hone_dim_t rest = hone_dim_mod(kernel->dims, extent, by);
  bool divides = hone_dim_is(rest, 0);
  if (tail == HONE_TAIL_EXACT && !divides)
    return hone_sched_refuse("split %s: %lld may not divide the extent", name, (long long)factor);
  hone_dim_t rounds = count_rounds(kernel->dims, extent, by, tail);
  bool peels = tail == HONE_TAIL_LONG || (tail == HONE_TAIL_PEEL && !divides);
  if (tail >= HONE_TAIL_PEEL && hone_dim_max_value(rounds) < 1)
    return hone_sched_refuse("split %s: %lld is more than the extent%s", name, (long long)factor,
                             tail == HONE_TAIL_LONG ? " leaves room for" : "");
  if (peels && loop->loop != HONE_LOOP_PARALLEL) HONE_TRY(hone_sched_want_order(kernel, loop));
  hone_dim_t start = hone_dim_mul(kernel->dims, rounds, by);
  if (tail == HONE_TAIL_LONG) rest = hone_dim_sub(kernel->dims, extent, start);
  bool ok = !peels || peel_tail(kernel, loop, start, rest);
  bool guarded = tail == HONE_TAIL_GUARD && !divides;
  const char* noted = loop->name;
  if (!ok || !cut(kernel, loop, factor, rounds, guarded ? &extent : NULL)) return hone_oom();
  return hone_sched_end(kernel, begin, "split %s %lld %s", noted, (long long)factor,
                        hone_sched_tail_name(tail));
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  int64_t factor;
  hone_tail_t tail;
  HONE_TRY(hone_sched_parse_int(args[1], &factor));
  HONE_TRY(hone_sched_parse_tail(n > 2 ? args[2] : NULL, &tail));
  return hone_sched_split(kernel, args[0], factor, tail);
}

const hone_primitive_t hone_primitive_split = {
    .name = "split",
    .usage = "split LOOP FACTOR [exact|guard|peel|long]",
    .min_args = 2,
    .max_args = 3,
    .apply = apply,
};
