/* Stores that are written out one behind the other have much in common: what a tile
 * loads, and sums of that. Vectors over the same lanes become one loop with all of
 * their stores, and stores that stand together share their temporaries, which
 * leaves the C compiler a small part of the text. */
#include "backends/cpu/render_impl.h"
#include "base/memory.h"

enum { MOST_TOGETHER = 64 };

/* Whether lanes of the loop around go to places of a local buffer that lie apart. */
static bool is_apart(hone_kernel_t* kernel, const hone_stmt_t* store) {
  int64_t factor;
  const hone_stmt_t* loop = store->parent;
  return loop->kind == HONE_STMT_LOOP && loop->loop == HONE_LOOP_VECTOR &&
         (!hone_dim_factor(hone_buffer_offset(kernel, store->buffer, store->index), loop->var,
                           &factor) ||
          factor > 1);
}

static bool is_plain_store(hone_kernel_t* kernel, const hone_stmt_t* stmt) {
  return stmt->kind == HONE_STMT_STORE && stmt->combine == HONE_COMBINE_SET &&
         (stmt->buffer->space == HONE_SPACE_GLOBAL || is_apart(kernel, stmt));
}

bool hone_render_may_follow(hone_kernel_t* kernel, const hone_stmt_t* const* stores, int n,
                            const hone_stmt_t* next) {
  if (!is_plain_store(kernel, next) || n >= MOST_TOGETHER) return false;
  for (int i = 0; i < n; i++) {
    if (!is_plain_store(kernel, stores[i])) return false;
    bool is_asked = i > 0 && stores[i]->buffer == stores[i - 1]->buffer;
    if (!is_asked && hone_term_reads(next->value, stores[i]->buffer)) return false;
  }
  return true;
}

static bool is_vector(const hone_stmt_t* stmt) {
  return stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_VECTOR && !stmt->intrinsic;
}

static bool may_join(hone_kernel_t* kernel, const hone_stmt_t* loop, const hone_stmt_t* next) {
  if (!is_vector(next) || !hone_dim_same(loop->extent, next->extent) ||
      loop->n_body + next->n_body > MOST_TOGETHER)
    return false;
  for (int i = 0; i < next->n_body; i++)
    if (!hone_render_may_follow(kernel, (const hone_stmt_t* const*)loop->body, loop->n_body,
                                next->body[i]))
      return false;
  return true;
}

/* Moves the stores of the next loop behind those of this one. */
static bool join(hone_kernel_t* kernel, hone_stmt_t* loop, hone_stmt_t* next) {
  hone_stmt_remove(next);
  for (int i = 0; i < next->n_body; i++)
    if (!hone_stmt_replace_var(kernel, next->body[i], next->var, loop->var) ||
        !hone_stmt_insert(kernel, loop, -1, next->body[i]))
      return false;
  return true;
}

static bool join_in(void* self, hone_stmt_t* stmt) {
  hone_kernel_t* kernel = self;
  for (int i = 0; i < stmt->n_body; i++)
    while (is_vector(stmt->body[i]) && i + 1 < stmt->n_body &&
           may_join(kernel, stmt->body[i], stmt->body[i + 1]))
      if (!join(kernel, stmt->body[i], stmt->body[i + 1])) return false;
  return true;
}

hone_status_t hone_render_join_vectors(hone_kernel_t* kernel) {
  return hone_stmt_walk(kernel->root, join_in, kernel) ? NULL : hone_oom();
}
