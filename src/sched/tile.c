/* tile: two nested loops become blocks of rounds of both. */
#include "base/memory.h"
#include "sched/common/edit.h"

typedef struct tiling {
  const char *outer, *inner;
  int64_t outer_factor, inner_factor;
  hone_tail_t tail;
} tiling_t;

/* A tail of the inner loop that stands beside it would be in the way of the order. */
static hone_status_t check(hone_kernel_t* kernel, const tiling_t* t) {
  hone_stmt_t *outer, *inner;
  HONE_TRY(hone_sched_find(kernel, t->outer, &outer));
  HONE_TRY(hone_sched_find(kernel, t->inner, &inner));
  if (hone_sched_only_loop(outer) != inner)
    return hone_sched_refuse("tile %s %s: the second loop must be all that is in the first",
                             t->outer, t->inner);
  if (t->inner_factor < 1) return hone_sched_refuse("tile: factors are from 1 on");
  hone_dim_t rest = hone_dim_mod(kernel->dims, inner->extent, hone_dim_int(t->inner_factor));
  bool leaves_tail =
      t->tail == HONE_TAIL_LONG || (t->tail == HONE_TAIL_PEEL && !hone_dim_is(rest, 0));
  if (leaves_tail)
    return hone_sched_refuse(
        "tile %s %s: %lld may not divide the second extent, and its tail "
        "would stand between the loops",
        t->outer, t->inner, (long long)t->inner_factor);
  return NULL;
}

static hone_status_t run(hone_kernel_t* kernel, const tiling_t* t) {
  const char* names[4] = {
      hone_sched_name(kernel, t->outer, "o"), hone_sched_name(kernel, t->inner, "o"),
      hone_sched_name(kernel, t->outer, "i"), hone_sched_name(kernel, t->inner, "i")};
  HONE_TRY(hone_sched_split(kernel, t->inner, t->inner_factor, t->tail));
  HONE_TRY(hone_sched_split(kernel, t->outer, t->outer_factor, t->tail));
  return hone_sched_reorder(kernel, 4, names);
}

/* Steps may be refused after others were done: they are tried on a copy first. */
static hone_status_t try(const hone_kernel_t* kernel, const tiling_t* t) {
  hone_kernel_t* copy;
  HONE_TRY(hone_kernel_clone(kernel, &copy));
  hone_status_t status = run(copy, t);
  hone_kernel_destroy(copy);
  return status;
}

hone_status_t hone_sched_tile(hone_kernel_t* kernel, const char* outer, const char* inner,
                              int64_t outer_factor, int64_t inner_factor, hone_tail_t tail) {
  size_t begin = hone_sched_begin(kernel);
  tiling_t t = {outer, inner, outer_factor, inner_factor, tail};
  HONE_TRY(check(kernel, &t));
  HONE_TRY(try(kernel, &t));
  HONE_TRY(run(kernel, &t));
  return hone_sched_end(kernel, begin, "tile %s %s %lld %lld %s", outer, inner,
                        (long long)outer_factor, (long long)inner_factor,
                        hone_sched_tail_name(tail));
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  int64_t outer_factor, inner_factor;
  hone_tail_t tail;
  HONE_TRY(hone_sched_parse_int(args[2], &outer_factor));
  HONE_TRY(hone_sched_parse_int(args[3], &inner_factor));
  HONE_TRY(hone_sched_parse_tail(n > 4 ? args[4] : NULL, &tail));
  return hone_sched_tile(kernel, args[0], args[1], outer_factor, inner_factor, tail);
}

const hone_primitive_t hone_primitive_tile = {
    .name = "tile",
    .usage = "tile OUTER INNER FACTOR FACTOR [exact|guard|peel]",
    .min_args = 4,
    .max_args = 5,
    .apply = apply,
};
