/* Vector loops of other lengths than vectors: several vectors, written out one
 * after the other, where they fill the loop; else a plain loop, which the
 * compiler may make vectors of. */
#include "backends/cpu/render_impl.h"
#include "hone/schedule.h"

typedef struct search {
  int lanes;
  hone_stmt_t* found;
} search_t;

static bool is_odd(void* self, hone_stmt_t* stmt) {
  search_t* search = self;
  if (stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_VECTOR &&
      !hone_dim_is(stmt->extent, search->lanes))
    search->found = stmt;
  return !search->found;
}

/* A loop of vectors, in the place of the loop that was split. */
static hone_status_t cut(hone_kernel_t* kernel, hone_stmt_t* loop, int lanes) {
  HONE_TRY(hone_sched_split(kernel, loop->name, lanes, HONE_TAIL_EXACT));
  hone_stmt_t* inner = loop->n_body == 1 ? loop->body[0] : NULL;
  if (!inner || inner->kind != HONE_STMT_LOOP) return NULL;
  loop->loop = HONE_LOOP_UNROLL;
  inner->loop = HONE_LOOP_VECTOR;
  return NULL;
}

hone_status_t hone_render_fit_vectors(hone_kernel_t* kernel, int lanes) {
  for (;;) {
    search_t search = {.lanes = lanes};
    hone_stmt_walk(kernel->root, is_odd, &search);
    if (!search.found) return NULL;
    search.found->loop = HONE_LOOP_SERIAL;
    bool fills = hone_dim_is_int(search.found->extent) && lanes > 1 &&
                 search.found->extent.k > lanes && search.found->extent.k % lanes == 0;
    if (fills) HONE_TRY(cut(kernel, search.found, lanes));
  }
}
