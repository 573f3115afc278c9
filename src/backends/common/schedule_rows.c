/* Everything that is no contraction: innermost loops become vectors. Where the
 * innermost loop of the output runs over reductions along another axis, the
 * vector goes over the output instead, and the reduction around it. */
#include <string.h>

#include "backends/common/schedule_impl.h"

/* ---- columns: for i { acc = 0; for k { acc += x[k, i] }; out[i] = acc } ---- */

/* The reduction that is directly inside, NULL when there are others too. */
static hone_stmt_t* only_reduction(const hone_stmt_t* loop) {
  hone_stmt_t* found = NULL;
  for (int i = 0; i < loop->n_body; i++) {
    hone_stmt_t* stmt = loop->body[i];
    if (stmt->kind == HONE_STMT_STORE) continue;
    if (!hone_stmt_is_loop(stmt) || !stmt->is_reduction || found) return NULL;
    found = stmt;
  }
  return found;
}

static hone_stmt_t* innermost(hone_stmt_t* loop) {
  for (hone_stmt_t* next = loop; next; next = hone_only_loop(loop)) loop = next;
  return loop;
}

typedef struct strides {
  hone_dim_t var;
  bool consecutive;
} strides_t;

static void check_stride(void* self, hone_dim_t offset) {
  strides_t* s = self;
  int64_t factor;
  s->consecutive &= hone_dim_factor(offset, s->var, &factor) && (factor == 0 || factor == 1);
}

static bool reads_consecutively(hone_kernel_t* kernel, hone_stmt_t* inside, hone_dim_t var) {
  strides_t s = {.var = var, .consecutive = true};
  hone_visit_offsets(kernel, inside, check_stride, &s);
  return s.consecutive;
}

static bool has_only_stores(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->kind != HONE_STMT_STORE) return false;
  return true;
}

/* Puts the innermost loop `lanes` inside of those around it in its nest. */
static bool sink(hone_recipe_t* r, const char* lanes, hone_stmt_t* nest) {
  const char* names[32];
  int n = 0;
  for (hone_stmt_t* loop = hone_only_loop(nest); loop && n < 31; loop = hone_only_loop(loop))
    names[n++] = loop->name;
  if (n == 0) return true;
  names[n++] = lanes;
  return hone_recipe_did(r, hone_sched_reorder(r->kernel, n, names));
}

static bool schedule_columns(hone_recipe_t* r, hone_stmt_t* loop) {
  hone_stmt_t* reduction = only_reduction(loop);
  int lanes = r->shape->lanes;
  if (r->choice->no_columns || !reduction) return false;
  if (!reads_consecutively(r->kernel, loop, loop->var)) return false;
  if (!has_only_stores(innermost(reduction))) return false;
  if (hone_dim_is_int(loop->extent) && loop->extent.k < lanes) return false;
  hone_stmt_t* parent = loop->parent;
  int position = hone_stmt_position(loop);
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, loop->name, lanes, HONE_TAIL_PEEL)))
    return false;
  hone_stmt_t* inner = hone_only_loop(parent->body[position]);
  if (!inner) return true;
  hone_stmt_t* outer = inner->parent;
  if (!hone_recipe_did(r, hone_sched_distribute(r->kernel, inner->name))) return true;
  for (int i = 0; i < outer->n_body; i++) {
    hone_stmt_t* part = outer->body[i];
    char name[128];
    if (!hone_stmt_is_loop(part) || strlen(part->name) >= sizeof name) continue;
    memcpy(name, part->name, strlen(part->name) + 1);
    if (sink(r, name, part)) hone_recipe_did(r, hone_sched_vectorize(r->kernel, name));
  }
  return true;
}

/* ---- rows ---- */

static bool is_innermost(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->n_body) return false;
  return true;
}

/* Vectors of partial sums, each in a register. */
static int partial_sums(const hone_recipe_t* r, hone_dim_t extent) {
  int vectors = r->choice->unroll > 1 ? r->choice->unroll : 1;
  while (vectors > 1 &&
         (!hone_dim_is_int(extent) || extent.k < 2 * (int64_t)vectors * r->shape->lanes))
    vectors /= 2;
  return vectors;
}

/* Sums over consecutive elements get vectors of partial sums. */
static void schedule_reduction(hone_recipe_t* r, hone_stmt_t* loop) {
  hone_stmt_t* parent = loop->parent;
  int position = hone_stmt_position(loop);
  if (!hone_can_be_lanes(r->kernel, loop)) return;
  int lanes = r->shape->lanes, vectors = partial_sums(r, loop->extent);
  if (hone_dim_is_int(loop->extent) && loop->extent.k < 2 * lanes) return;
  if (!hone_recipe_did(
          r, hone_sched_split(r->kernel, loop->name, (int64_t)lanes * vectors, HONE_TAIL_PEEL)))
    return;
  hone_stmt_t* inner = hone_only_loop(parent->body[position]);
  if (!inner) return;
  char name[124], part[128];
  if (strlen(inner->name) >= sizeof name) return;
  memcpy(name, inner->name, strlen(inner->name) + 1);
  bool is_split = hone_recipe_did(r, hone_sched_rfactor(r->kernel, name));
  hone_make_vectors(r, name, vectors);
  if (!is_split) return;
  static const char* const parts[] = {".z", ".c"};
  for (int i = 0; i < 2; i++) {
    size_t length = strlen(name);
    memcpy(part, name, length);
    memcpy(part + length, parts[i], 3);
    hone_make_vectors(r, part, vectors);
  }
}

void hone_schedule_rows(hone_recipe_t* r, hone_stmt_t* loop) {
  if (r->status || !hone_stmt_is_loop(loop) || loop->loop != HONE_LOOP_SERIAL) return;
  if (is_innermost(loop)) {
    if (loop->is_reduction)
      schedule_reduction(r, loop);
    else
      hone_make_lanes(r, loop);
    return;
  }
  if (!loop->is_reduction && schedule_columns(r, loop)) return;
  /* From the last on, since parts that are peeled off stand behind. */
  for (int i = loop->n_body - 1; i >= 0; i--)
    if (i < loop->n_body) hone_schedule_rows(r, loop->body[i]);
}
