/* What tiles write: while one is summed up, it asks for the lines of the cache that its results
 * will go to, where these are so many that the second cache does not hold them. Stores to such
 * lines wait for them, and so do those of the next tile behind them. */
#include "backends/common/contraction.h"
#include "backends/common/schedule_impl.h"
#include "tune/cost.h"

enum { MOST_SUMS = 16 };

typedef struct sums {
  const hone_recipe_t* r;
  int n;
  const hone_stmt_t* loops[MOST_SUMS];
  const hone_buffer_t* results[MOST_SUMS];
} sums_t;

/* The buffer that a tile's sums go to behind them; NULL: to none, or only a part of memory that is
 * near. */
static const hone_buffer_t* find_result(const hone_stmt_t* stmt) {
  if (stmt->kind == HONE_STMT_STORE)
    return stmt->combine == HONE_COMBINE_SET && stmt->buffer->space == HONE_SPACE_GLOBAL
               ? stmt->buffer
               : NULL;
  return hone_stmt_is_loop(stmt) && !stmt->is_reduction && stmt->n_body ? find_result(stmt->body[0])
                                                                        : NULL;
}

/* Whether it is more than a core's second cache holds beside other things. */
static bool is_far(const hone_recipe_t* r, const hone_buffer_t* result) {
  return hone_cost_bytes(result) > (double)hone_contraction_second_cache(r) / 2;
}

/* Whether something in front of the sum reads what will be written. */
static bool is_read_before(const hone_stmt_t* sum, const hone_buffer_t* result) {
  const hone_stmt_t* body = sum->parent;
  for (int i = 0; i < hone_stmt_position(sum); i++) {
    const hone_stmt_t* stmt = body->body[i];
    while (hone_stmt_is_loop(stmt) && stmt->n_body) stmt = stmt->body[0];
    if (stmt->value && hone_term_reads(stmt->value, result)) return true;
  }
  return false;
}

/* Whether products are added up in lanes. */
static bool adds_products(const hone_stmt_t* stmt, bool in_lanes) {
  if (stmt->kind == HONE_STMT_STORE)
    return in_lanes && stmt->combine == HONE_COMBINE_ADD && stmt->value->kind == HONE_TERM_PRIM &&
           stmt->value->prim == HONE_PRIM_MUL;
  bool found = false;
  in_lanes |= stmt->kind == HONE_STMT_LOOP && (stmt->loop == HONE_LOOP_VECTOR || stmt->intrinsic);
  for (int i = 0; i < stmt->n_body && !found; i++) found = adds_products(stmt->body[i], in_lanes);
  return found;
}

/* The outermost loop that adds up a tile. */
static bool note_sum(void* self, hone_stmt_t* stmt) {
  sums_t* sums = self;
  if (!hone_stmt_is_loop(stmt) || !stmt->is_reduction || stmt->parent->is_reduction ||
      stmt->loop != HONE_LOOP_SERIAL || !adds_products(stmt, false))
    return true;
  const hone_stmt_t* body = stmt->parent;
  for (int i = hone_stmt_position(stmt) + 1; i < body->n_body && sums->n < MOST_SUMS; i++) {
    const hone_buffer_t* result = find_result(body->body[i]);
    if (!result || !is_far(sums->r, result) || is_read_before(stmt, result)) continue;
    sums->loops[sums->n] = stmt;
    sums->results[sums->n++] = result;
    break;
  }
  return true;
}

void hone_schedule_claims(hone_recipe_t* r) {
  sums_t sums = {.r = r};
  hone_stmt_walk(r->kernel->root, note_sum, &sums);
  for (int i = 0; i < sums.n; i++)
    hone_recipe_did(r, hone_sched_claim(r->kernel, sums.results[i]->name, sums.loops[i]->name));
}
