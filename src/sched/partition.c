/* partition: a loop is cut at points, so that in each part conditions may be
 * decided by the range of its variable.
 *
 * Points are found in comparisons that depend on the variable: where a - b is
 * factor * variable + rest, it changes its sign for all values of the rest
 * between two rounds, and the points are the ends of that stretch. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "sched/common/edit.h"

enum { MAX_POINTS = 16 };

typedef struct points {
  hone_kernel_t* kernel;
  hone_stmt_t* loop;
  int n;
  int64_t at[MAX_POINTS + 1]; /* sorted; one more than can be used */
  bool* seen;                 /* by term id */
} points_t;

/* ---- points ---- */

static void add_point(points_t* p, int64_t at) {
  int i = 0;
  while (i < p->n && p->at[i] < at) i++;
  bool known = i < p->n && p->at[i] == at;
  if (at <= 0 || at >= hone_dim_min_value(p->loop->extent) || known || p->n > MAX_POINTS) return;
  memmove(&p->at[i + 1], &p->at[i], (size_t)(p->n - i) * sizeof *p->at);
  p->at[i] = at;
  p->n++;
}

/* The first round with factor * round + rest >= 0, or from which on it is not so. */
static int64_t turn(int64_t factor, int64_t rest) {
  return factor > 0 ? hone_i64_floordiv(-rest + factor - 1, factor)
                    : hone_i64_floordiv(rest, -factor) + 1;
}

/* Where a < b, and b < a, turn. */
static void compare(void* self, hone_dim_t a, hone_dim_t b) {
  points_t* p = self;
  int64_t factor;
  hone_dims_t* dims = p->kernel->dims;
  hone_dim_t d = hone_dim_sub(dims, a, b), var = p->loop->var;
  const int64_t limit = INT64_C(1) << 40;
  if (hone_dim_is_bad(d) || !hone_dim_factor(d, var, &factor) || factor == 0) return;
  hone_dim_t rest = hone_dim_sub(dims, d, hone_dim_mul(dims, var, hone_dim_int(factor)));
  int64_t least = hone_dim_min_value(rest), most = hone_dim_max_value(rest);
  if (least < -limit || most > limit || factor > limit || factor < -limit) return;
  add_point(p, turn(factor, least));
  add_point(p, turn(factor, most));
}

static bool as_dim(const hone_term_t* term, hone_dim_t* out) {
  if (term->dtype != HONE_I64) return false;
  *out = term->kind == HONE_TERM_INDEX ? term->dim : hone_dim_int((int64_t)term->bits[0]);
  return term->kind == HONE_TERM_INDEX || term->kind == HONE_TERM_CONST;
}

static void search_term(points_t* p, const hone_term_t* term) {
  hone_dim_t a, b;
  if (p->seen[term->id]) return;
  p->seen[term->id] = true;
  bool compares =
      term->kind == HONE_TERM_PRIM && (term->prim == HONE_PRIM_LT || term->prim == HONE_PRIM_EQ);
  if (compares && as_dim(term->args[0], &a) && as_dim(term->args[1], &b)) compare(p, a, b);
  if (term->kind == HONE_TERM_INDEX) hone_dim_visit_choices(term->dim, compare, p);
  for (int i = 0; term->buffer && i < term->buffer->rank; i++)
    hone_dim_visit_choices(term->index[i], compare, p);
  for (int i = 0; i < term->n_args; i++) search_term(p, term->args[i]);
}

static bool search_stmt(void* self, hone_stmt_t* stmt) {
  points_t* p = self;
  if (stmt->value) search_term(p, stmt->value);
  for (int i = 0; stmt->buffer && i < stmt->buffer->rank; i++)
    hone_dim_visit_choices(stmt->index[i], compare, p);
  return true;
}

/* ---- parts ---- */

static hone_dim_t shifted(void* self, hone_kernel_t* kernel, hone_dim_t var) {
  return hone_dim_add(kernel->dims, var, hone_dim_int(*(int64_t*)self));
}

/* The rounds from `start` to before `end` in the copy. */
static bool make_part(hone_kernel_t* kernel, hone_stmt_t* part, const char* base, int number,
                      int64_t start, hone_dim_t end) {
  char suffix[16];
  snprintf(suffix, sizeof suffix, "p%d", number);
  hone_dim_t extent = hone_dim_sub(kernel->dims, end, hone_dim_int(start));
  return hone_sched_retarget(kernel, part, hone_sched_name(kernel, base, suffix), extent, shifted,
                             &start) &&
         hone_sched_prune(kernel, part);
}

static bool cut(hone_kernel_t* kernel, hone_stmt_t* loop, int n, const int64_t* points) {
  const char* base = loop->name;
  hone_dim_t extent = loop->extent;
  for (int i = 0; i <= n; i++) {
    /* The last part is the loop itself; the others go in front of it. */
    hone_stmt_t* part = i < n ? hone_sched_copy(kernel, loop) : loop;
    if (!part) return false;
    if (i < n && !hone_stmt_insert(kernel, loop->parent, hone_stmt_position(loop), part))
      return false;
    hone_dim_t end = i < n ? hone_dim_int(points[i]) : extent;
    if (!make_part(kernel, part, base, i, i ? points[i - 1] : 0, end)) return false;
  }
  return true;
}

static hone_status_t check_points(const hone_stmt_t* loop, int n, const int64_t* points) {
  for (int i = 0; i < n; i++)
    if (points[i] <= (i ? points[i - 1] : 0) || points[i] >= hone_dim_min_value(loop->extent))
      return hone_sched_refuse("partition %s: points rise, from 1 to below the least extent",
                               loop->name);
  return NULL;
}

static hone_status_t find_points(hone_kernel_t* kernel, hone_stmt_t* loop, points_t* p) {
  size_t n_seen = (size_t)kernel->n_terms + 1;
  *p = (points_t){.kernel = kernel, .loop = loop, .seen = hone_alloc(kernel->allocator, n_seen)};
  if (!p->seen) return hone_oom();
  hone_stmt_walk(loop, search_stmt, p);
  hone_free(kernel->allocator, p->seen, n_seen);
  if (p->n > 0 && p->n <= MAX_POINTS) return NULL;
  return hone_sched_refuse(
      "partition %s: %s", loop->name,
      p->n ? "too many conditions depend on it" : "no condition in it turns at a known round");
}

hone_status_t hone_sched_partition(hone_kernel_t* kernel, const char* name, int n,
                                   const int64_t* points) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  points_t found;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  if (loop->loop != HONE_LOOP_PARALLEL) {
    HONE_TRY(hone_sched_want_serial(loop));
    HONE_TRY(hone_sched_want_order(kernel, loop));
  }
  if (n > MAX_POINTS) return hone_sched_refuse("partition %s: too many points", loop->name);
  HONE_TRY(check_points(loop, n, points));
  if (n == 0) HONE_TRY(find_points(kernel, loop, &found));
  hone_str_t line;
  hone_str_init(&line, kernel->allocator);
  if (n == 0) hone_str_append(&line, " auto");
  for (int i = 0; i < n; i++) hone_str_appendf(&line, " %lld", (long long)points[i]);
  const char* noted = loop->name;
  bool ok = !line.failed && cut(kernel, loop, n ? n : found.n, n ? points : found.at);
  hone_status_t status =
      ok ? hone_sched_end(kernel, begin, "partition %s%s", noted, hone_str_text(&line))
         : hone_oom();
  hone_str_free(&line);
  return status;
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  int64_t points[MAX_POINTS];
  if (n == 2 && strcmp(args[1], "auto") == 0) return hone_sched_partition(kernel, args[0], 0, NULL);
  for (int i = 1; i < n; i++) HONE_TRY(hone_sched_parse_int(args[i], &points[i - 1]));
  return hone_sched_partition(kernel, args[0], n - 1, points);
}

const hone_primitive_t hone_primitive_partition = {
    .name = "partition",
    .usage = "partition LOOP auto|POINT POINT …",
    .min_args = 2,
    .max_args = MAX_POINTS + 1,
    .apply = apply,
};
