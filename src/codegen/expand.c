/* Before rendering: unrolled loops become straight code, and buffers find the
 * place where they are declared. */
#include "base/memory.h"
#include "codegen/c_text.h"
#include "codegen/expand_impl.h"

/* Whether rounds look up, and none where another one stores. */
static bool may_take_turns(const hone_stmt_t* loop) {
  if (!hone_stmt_is_lookup(loop)) return false;
  const hone_stmt_t* store = loop->body[loop->n_body - 1];
  for (int i = 0; i < loop->n_body - 1; i++)
    if (hone_term_reads(loop->body[i]->value, store->buffer)) return false;
  return true;
}

/* Copies of the body, one a round, in place of the loop. Rounds that look up take turns, statement
 * by statement, so that one need not wait for what another one finds. */
static bool expand_loop(hone_kernel_t* kernel, hone_stmt_t* loop) {
  hone_stmt_t* parent = loop->parent;
  int first = hone_stmt_position(loop);
  bool takes_turns = may_take_turns(loop);
  hone_stmt_remove(loop);
  for (int64_t round = 0; round < loop->extent.k; round++) {
    hone_stmt_t* copy = hone_stmt_copy(kernel, loop, NULL);
    if (!copy) return false;
    for (int i = 0; i < copy->n_body; i++) {
      int before = (int)round * (takes_turns ? i + 1 : copy->n_body);
      if (!hone_stmt_replace_var(kernel, copy->body[i], copy->var, hone_dim_int(round)) ||
          !hone_stmt_insert(kernel, parent, first + before + i, copy->body[i]))
        return false;
    }
  }
  return !takes_turns || hone_expand_exits(kernel, loop, parent, first);
}

/* Inside out, so that what is copied is straight already. */
static bool expand_in(hone_kernel_t* kernel, hone_stmt_t* stmt) {
  for (int i = 0; i < stmt->n_body; i++) {
    hone_stmt_t* child = stmt->body[i];
    if (!expand_in(kernel, child)) return false;
    if (child->kind != HONE_STMT_LOOP || child->loop != HONE_LOOP_UNROLL ||
        !hone_dim_is_int(child->extent))
      continue;
    int before = stmt->n_body;
    if (!expand_loop(kernel, child)) return false;
    i += stmt->n_body - before;
  }
  return true;
}

hone_status_t hone_kernel_expand_unrolled(hone_kernel_t* kernel) {
  return expand_in(kernel, kernel->root) ? NULL : hone_oom();
}

/* ---- scopes ---- */

/* The only child that uses the buffer, the statement itself when it does or
 * when several children do. */
static const hone_stmt_t* find_scope(const hone_stmt_t* stmt, const hone_buffer_t* buffer) {
  if (stmt->buffer == buffer || (stmt->value && hone_term_reads(stmt->value, buffer))) return stmt;
  const hone_stmt_t* found = NULL;
  for (int i = 0; i < stmt->n_body; i++) {
    const hone_stmt_t* inside = find_scope(stmt->body[i], buffer);
    if (inside && found) return stmt;
    if (inside) found = inside;
  }
  return found;
}

const hone_stmt_t* hone_buffer_scope(const hone_kernel_t* kernel, const hone_buffer_t* buffer) {
  const hone_stmt_t* scope = find_scope(kernel->root, buffer);
  while (scope && !scope->n_body) scope = scope->parent;
  return scope;
}
