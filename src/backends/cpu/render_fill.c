/* Fills beside the parallel loop: what lies before all that its rounds write is gathered in one
 * loop of one round, which goes with the first of them, what lies behind in another, and what is
 * left of a fill stays where it is. */
#include "backends/cpu/render_impl.h"
#include "base/memory.h"

hone_fill_place_t hone_render_fill_place(const hone_renderer_t* r, const hone_stmt_t* loop) {
  return loop == r->first_fill  ? HONE_FILL_FIRST
         : loop == r->last_fill ? HONE_FILL_LAST
                                : HONE_FILL_ALONG;
}

/* Takes out the stores that go elsewhere, and loops that are empty then. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as loops are nested */
static hone_status_t keep_only(hone_kernel_t* kernel, hone_stmt_t* stmt, hone_fill_place_t wanted) {
  for (int i = stmt->n_body - 1; i >= 0; i--) {
    hone_stmt_t* inner = stmt->body[i];
    hone_fill_place_t place = wanted;
    if (inner->kind == HONE_STMT_STORE)
      HONE_TRY(hone_fill_place(kernel, inner, &place));
    else
      HONE_TRY(keep_only(kernel, inner, wanted));
    if (place != wanted || (inner->kind == HONE_STMT_LOOP && !inner->n_body))
      hone_stmt_remove(inner);
  }
  return NULL;
}

/* Adds a copy of the fill, of what goes there, to the loop of that place, which is made when it is
 * first needed. */
static hone_status_t move_part(hone_kernel_t* kernel, const hone_stmt_t* fill,
                               hone_fill_place_t place, hone_stmt_t** around) {
  hone_stmt_t* copy = hone_stmt_copy(kernel, fill, NULL);
  if (!copy) return hone_oom();
  HONE_TRY(keep_only(kernel, copy, place));
  if (!copy->n_body) return NULL;
  if (!*around)
    *around = hone_stmt_loop(kernel, kernel->root, "border", hone_dim_int(1), HONE_LOOP_SERIAL);
  return *around && hone_stmt_insert(kernel, *around, -1, copy) ? NULL : hone_oom();
}

hone_status_t hone_render_part_fills(hone_renderer_t* r) {
  hone_kernel_t* kernel = r->kernel;
  hone_stmt_t *first = NULL, *last = NULL;
  if (!hone_kernel_parallel_loop(kernel)) return NULL;
  for (int i = kernel->root->n_body - 1; i >= 0; i--) {
    hone_stmt_t* fill = kernel->root->body[i];
    if (!hone_fill_goes_along(kernel, fill)) continue;
    HONE_TRY(move_part(kernel, fill, HONE_FILL_FIRST, &first));
    HONE_TRY(move_part(kernel, fill, HONE_FILL_LAST, &last));
    HONE_TRY(keep_only(kernel, fill, HONE_FILL_ALONG));
    if (!fill->n_body) hone_stmt_remove(fill);
  }
  r->first_fill = first;
  r->last_fill = last;
  return NULL;
}
