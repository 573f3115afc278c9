/* What a kernel is launched with, from its loops. */
#include "runtime/routine.h"

/* Multiplies the extents of a chain of loops of a kind into `out`, the first
 * two apart and the rest together; gives the loop where the chain ends. */
static const hone_stmt_t* collect(const hone_kernel_t* kernel, const hone_stmt_t* at,
                                  hone_loop_kind_t kind, hone_dim_t out[3]) {
  for (int n = 0;; n++) {
    const hone_stmt_t* next = NULL;
    for (int i = 0; i < at->n_body && !next; i++)
      if (at->body[i]->kind == HONE_STMT_LOOP && at->body[i]->loop == kind) next = at->body[i];
    if (!next) return at;
    int axis = n < 2 ? n : 2;
    out[axis] = hone_dim_mul(kernel->dims, out[axis], next->extent);
    at = next;
  }
}

static bool has_parallel(const hone_kernel_t* kernel) {
  for (int i = 0; i < kernel->root->n_body; i++) {
    if (hone_stmt_is_parallel(kernel->root->body[i])) return true;
  }
  return false;
}

void hone_kernel_grid(const hone_kernel_t* kernel, hone_dim_t out_groups[3],
                      hone_dim_t out_locals[3]) {
  for (int i = 0; i < 3; i++) out_groups[i] = out_locals[i] = hone_dim_int(1);
  if (has_parallel(kernel)) {
    out_groups[0] = hone_kernel_rounds(kernel);
    return;
  }
  const hone_stmt_t* inner = collect(kernel, kernel->root, HONE_LOOP_GROUP, out_groups);
  collect(kernel, inner, HONE_LOOP_ITEM, out_locals);
}
