/* The shape of a kernel's grid, for languages whose threads come in groups. */
#include "base/memory.h"
#include "codegen/c_render.h"

const hone_stmt_t* hone_c_inner_axis(const hone_stmt_t* loop, hone_loop_kind_t kind) {
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->kind == HONE_STMT_LOOP && loop->body[i]->loop == kind) return loop->body[i];
  return NULL;
}

int64_t hone_c_count_items(const hone_kernel_t* kernel) {
  const hone_stmt_t* at = kernel->root;
  for (const hone_stmt_t* next = at; next; next = hone_c_inner_axis(at, HONE_LOOP_GROUP)) at = next;
  int64_t count = 1;
  while ((at = hone_c_inner_axis(at, HONE_LOOP_ITEM)))
    if (!hone_dim_is_int(at->extent) || !hone_i64_mul(count, at->extent.k, &count)) return 0;
  return count;
}

/* Grids have one shape: PARALLEL loops at the top, or one chain of GROUP loops. */
static bool check_place(void* self, hone_stmt_t* stmt) {
  const hone_kernel_t* kernel = ((hone_c_render_t*)self)->kernel;
  if (stmt->kind != HONE_STMT_LOOP) return true;
  bool at_top = stmt->parent == kernel->root;
  bool in_chain = hone_c_inner_axis(stmt->parent, stmt->loop) == stmt;
  bool in_group =
      !at_top && stmt->parent->kind == HONE_STMT_LOOP && stmt->parent->loop == HONE_LOOP_GROUP;
  if ((stmt->loop == HONE_LOOP_PARALLEL && !at_top) ||
      (stmt->loop == HONE_LOOP_GROUP && !(in_chain && (at_top || in_group))))
    hone_c_fail(self, hone_status_make(HONE_UNSUPPORTED, "loops over groups inside others"));
  return true;
}

void hone_c_check_grid(hone_c_render_t* render) {
  hone_stmt_walk(render->kernel->root, check_place, render);
}
