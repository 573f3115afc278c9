/* balance: a loop becomes runs of nearly equal length, as few as can be.
 *
 *   for i in n { … }      becomes, with runs of 6 rounds at most,
 *
 *   for i.b6.o in … { for i.b6.i in 6 { … } }
 *   for i.b5.o in … { for i.b5.i in 5 { … } }
 *   …
 *   for i.b1.o in … { for i.b1.i in 1 { … } }
 *
 * There are ceil(n / 6) runs, whose lengths differ by one at most: of the loops at most
 * two have rounds. Lengths that cannot be are left out. */
#include <stdio.h>

#include "base/memory.h"
#include "sched/common/edit.h"

enum { MOST = 64 };

typedef struct runs {
  hone_kernel_t* kernel;
  hone_dim_t extent;
  int64_t most;  /* rounds in a run */
  int64_t least; /* that there can be */
} runs_t;

/* The shortest run of any extent in the range. */
static int64_t shortest(hone_dim_t extent, int64_t most) {
  int64_t from = hone_dim_min_value(extent), to = hone_dim_max_value(extent), least = most;
  if (from < 1) from = 1;
  if (to > from + most * most) to = from + most * most;
  for (int64_t n = from; n <= to; n++) {
    int64_t length = n / ((n + most - 1) / most);
    if (length < least) least = length;
  }
  return least;
}

/* How many runs have that length. */
static hone_dim_t count_of(const runs_t* r, int64_t length) {
  hone_dims_t* dims = r->kernel->dims;
  hone_dim_t runs = hone_dim_ceildiv(dims, r->extent, hone_dim_int(r->most));
  hone_dim_t shorter = hone_dim_floordiv(dims, r->extent, runs);
  hone_dim_t longer = hone_dim_sub(dims, r->extent, hone_dim_mul(dims, shorter, runs));
  hone_dim_t otherwise =
      hone_dim_select_eq(dims, shorter, hone_dim_int(length - 1), longer, hone_dim_int(0));
  return hone_dim_select_eq(dims, shorter, hone_dim_int(length), hone_dim_sub(dims, runs, longer),
                            otherwise);
}

static hone_dim_t shifted(void* self, hone_kernel_t* kernel, hone_dim_t var) {
  return hone_dim_add(kernel->dims, var, *(const hone_dim_t*)self);
}

/* Makes `part` the runs of that length, from round `start` on. */
static bool make_part(const runs_t* r, hone_stmt_t* part, const char* base, int64_t length,
                      hone_dim_t start) {
  char suffix[16];
  snprintf(suffix, sizeof suffix, "b%d", (int)length);
  hone_dim_t rounds = hone_dim_mul(r->kernel->dims, count_of(r, length), hone_dim_int(length));
  if (!hone_sched_retarget(r->kernel, part, hone_sched_name(r->kernel, base, suffix), rounds,
                           shifted, &start) ||
      !hone_sched_prune(r->kernel, part))
    return false;
  hone_status_t status = hone_sched_split(r->kernel, part->name, length, HONE_TAIL_EXACT);
  hone_status_free(status);
  return !status;
}

/* The longest runs are the loop itself; the others are copies that stand behind it. */
static bool make_parts(const runs_t* r, hone_stmt_t* loop) {
  hone_dims_t* dims = r->kernel->dims;
  const char* base = loop->name;
  hone_dim_t starts[MOST], start = hone_dim_int(0);
  int64_t lengths[MOST];
  int n = 0;
  for (int64_t length = r->most; length >= r->least; length--) {
    hone_dim_t count = count_of(r, length);
    if (hone_dim_is(count, 0)) continue;
    starts[n] = start;
    lengths[n++] = length;
    start = hone_dim_add(dims, start, hone_dim_mul(dims, count, hone_dim_int(length)));
  }
  for (int i = n - 1; i >= 0; i--) {
    hone_stmt_t* part = i ? hone_sched_copy(r->kernel, loop) : loop;
    if (!part ||
        (i && !hone_stmt_insert(r->kernel, loop->parent, hone_stmt_position(loop) + 1, part)) ||
        !make_part(r, part, base, lengths[i], starts[i]))
      return false;
  }
  return true;
}

static hone_status_t check(hone_kernel_t* kernel, const hone_stmt_t* loop, int64_t most) {
  if (most < 1 || most > MOST)
    return hone_sched_refuse("balance %s: runs have from 1 to %d rounds", loop->name, MOST);
  if (hone_dim_max_value(loop->extent) < 1)
    return hone_sched_refuse("balance %s: the loop has no rounds", loop->name);
  HONE_TRY(hone_sched_want_serial(loop));
  return hone_sched_want_order(kernel, loop);
}

hone_status_t hone_sched_balance(hone_kernel_t* kernel, const char* name, int64_t most) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(check(kernel, loop, most));
  runs_t runs = {kernel, loop->extent, most, shortest(loop->extent, most)};
  const char* noted = loop->name;
  if (!make_parts(&runs, loop)) return hone_oom();
  return hone_sched_end(kernel, begin, "balance %s %lld", noted, (long long)most);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  int64_t most;
  HONE_TRY(hone_sched_parse_int(args[1], &most));
  return hone_sched_balance(kernel, args[0], most);
}

const hone_primitive_t hone_primitive_balance = {
    .name = "balance",
    .usage = "balance LOOP MOST",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
