/* Vector loops of other lengths than vectors: several vectors, written out one
 * after the other, where they fill the loop; part of a vector where they are
 * shorter; else a plain loop, which the compiler may make vectors of. */
#include "backends/cpu/render_impl.h"
#include "base/memory.h"
#include "hone/schedule.h"
#include "loop/access.h"

typedef struct search {
  hone_kernel_t* kernel;
  int lanes;
  hone_stmt_t* found;
} search_t;

/* Whether each lane stores to an element of its own, whatever the others hold. */
static bool may_be_part(const search_t* search, const hone_stmt_t* loop) {
  int64_t factor;
  if (!hone_dim_is_int(loop->extent) || loop->extent.k >= search->lanes) return false;
  for (int i = 0; i < loop->n_body; i++) {
    const hone_stmt_t* store = loop->body[i];
    if (store->kind != HONE_STMT_STORE) return false;
    hone_dim_t offset = hone_buffer_offset(search->kernel, store->buffer, store->index);
    if (!hone_dim_factor(offset, loop->var, &factor) || factor == 0) return false;
  }
  return true;
}

static bool is_odd(void* self, hone_stmt_t* stmt) {
  search_t* search = self;
  if (stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_VECTOR &&
      !hone_dim_is(stmt->extent, search->lanes) && !may_be_part(search, stmt))
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

/* ---- rows of scratch buffers that are kept in vectors ---- */

/* The last axis of the buffer, where whole vectors do not fill it; NULL otherwise. */
static const hone_dim_t* odd_rows(const hone_buffer_t* buffer, int lanes) {
  if (buffer->space != HONE_SPACE_LOCAL || buffer->rank == 0) return NULL;
  const hone_dim_t* last = &buffer->dims[buffer->rank - 1];
  return hone_dim_is_int(*last) && last->k % lanes ? last : NULL;
}

static hone_status_t fill_rows(hone_kernel_t* kernel, const hone_access_t* access, int lanes) {
  hone_buffer_t* buffer = kernel->buffers[access->buffer->id];
  const hone_stmt_t* loop = access->stmt->parent;
  const hone_dim_t* last = odd_rows(buffer, lanes);
  int64_t factor;
  if (!last || loop->kind != HONE_STMT_LOOP || loop->loop != HONE_LOOP_VECTOR ||
      !hone_dim_factor(access->index[buffer->rank - 1], loop->var, &factor) || factor != 1)
    return NULL;
  size_t bytes = (size_t)buffer->rank * sizeof *buffer->dims;
  hone_dim_t* dims = hone_arena_memdup(kernel->arena, buffer->dims, bytes);
  if (!dims) return hone_oom();
  dims[buffer->rank - 1] = hone_dim_int((last->k + lanes - 1) / lanes * lanes);
  buffer->dims = dims;
  return NULL;
}

/* Scratch buffers that vectors go along get rows of whole vectors. */
static hone_status_t fill_all_rows(hone_kernel_t* kernel, int lanes) {
  hone_access_list_t list;
  hone_status_t status = hone_access_collect(kernel, kernel->root, &list);
  for (int i = 0; i < list.count && !status; i++) status = fill_rows(kernel, &list.items[i], lanes);
  hone_access_free(&list);
  return status;
}

hone_status_t hone_render_fit_vectors(hone_kernel_t* kernel, int lanes) {
  for (;;) {
    search_t search = {.kernel = kernel, .lanes = lanes};
    hone_stmt_walk(kernel->root, is_odd, &search);
    if (!search.found) return lanes > 1 ? fill_all_rows(kernel, lanes) : NULL;
    search.found->loop = HONE_LOOP_SERIAL;
    bool fills = hone_dim_is_int(search.found->extent) && lanes > 1 &&
                 search.found->extent.k > lanes && search.found->extent.k % lanes == 0;
    if (fills) HONE_TRY(cut(kernel, search.found, lanes));
  }
}
