/* Where sums start: what is subtracted from a sum of integers before anything else is done with
 * it, as zero points of a quantized layer are, is what the sum starts from, negative. Integers
 * wrap, so that it is the same number.
 *
 *   acc[] = 0; for k … { acc[] += … }; y[i] = f(acc[] - c[i])
 *   acc[] = -c[i]; for k … { acc[] += … }; y[i] = f(acc[]) */
#include "loop/lower_impl.h"

/* Of one sum. */
typedef struct start {
  hone_kernel_t* kernel;
  const hone_stmt_t* first;         /* its first store */
  const hone_term_t* less;          /* what every reader subtracts; NULL: none was seen yet */
  bool is_wrong;                    /* some reader does not, or subtracts something else */
  const hone_term_t **seen, **made; /* by id: terms that were looked at, and what became of them */
} start_t;

static bool is_load_of(const hone_term_t* term, const hone_buffer_t* buffer) {
  return term->kind == HONE_TERM_LOAD && term->buffer == buffer;
}

/* sum - c, for an input c. */
static bool is_less(const hone_term_t* term, const hone_buffer_t* sum) {
  return term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_SUB &&
         is_load_of(term->args[0], sum) && term->args[1]->kind == HONE_TERM_LOAD &&
         term->args[1]->buffer->role == HONE_ROLE_INPUT;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static void look(start_t* s, const hone_term_t* term) {
  const hone_buffer_t* sum = s->first->buffer;
  if (s->seen[term->id] == term) return;
  s->seen[term->id] = term;
  if (is_less(term, sum)) {
    s->is_wrong |= s->less && s->less != term->args[1];
    s->less = term->args[1];
    return;
  }
  s->is_wrong |= is_load_of(term, sum);
  for (int i = 0; i < term->n_args && !s->is_wrong; i++) look(s, term->args[i]);
}

/* Stores that read the sum stand beside the first one, so that the same loops are around. */
static bool look_at_statement(void* self, hone_stmt_t* stmt) {
  start_t* s = self;
  bool reads = stmt->value && hone_term_reads(stmt->value, s->first->buffer);
  if (reads) look(s, stmt->value);
  s->is_wrong |= reads && (stmt->kind != HONE_STMT_STORE || stmt->parent != s->first->parent);
  if (stmt->kind == HONE_STMT_STORE && stmt->buffer == s->first->buffer && stmt != s->first)
    s->is_wrong |= stmt->combine != HONE_COMBINE_ADD;
  return !s->is_wrong;
}

/* The term with each sum - c in it the sum; NULL: memory ran out. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static const hone_term_t* without(const start_t* s, const hone_term_t* term) {
  const hone_term_t* args[3];
  if (is_less(term, s->first->buffer)) return term->args[0];
  if (term->kind != HONE_TERM_PRIM) return term;
  if (s->made[term->id]) return s->made[term->id];
  for (int i = 0; i < term->n_args; i++) {
    args[i] = without(s, term->args[i]);
    if (!args[i]) return NULL;
  }
  s->made[term->id] =
      hone_term_prim(s->kernel, term->prim, term->dtype, term->flags, term->n_args, args);
  return s->made[term->id];
}

static bool has_let(const hone_stmt_t* body) {
  for (int i = 0; i < body->n_body; i++)
    if (body->body[i]->kind == HONE_STMT_LET) return true;
  return false;
}

/* A sum that starts from zero. */
static bool is_start(const hone_stmt_t* stmt) {
  return stmt->kind == HONE_STMT_STORE && stmt->combine == HONE_COMBINE_SET &&
         stmt->buffer->dtype == HONE_I32 && stmt->buffer->rank == 0 &&
         stmt->buffer->role == HONE_ROLE_SCRATCH && stmt->value->kind == HONE_TERM_CONST &&
         !stmt->value->bits[0] && !has_let(stmt->parent);
}

static bool make_room(start_t* s) {
  size_t n = (size_t)s->kernel->n_terms + 1;
  s->seen = hone_arena_array(s->kernel->arena, n, sizeof *s->seen);
  s->made = hone_arena_array(s->kernel->arena, n, sizeof *s->made);
  s->kernel->out_of_memory |= !s->seen || !s->made;
  return s->seen && s->made;
}

static bool start_sum(void* self, hone_stmt_t* stmt) {
  start_t s = {.kernel = self, .first = stmt};
  if (!is_start(stmt)) return true;
  if (!make_room(&s)) return false;
  hone_stmt_walk(s.kernel->root, look_at_statement, &s);
  if (s.is_wrong || !s.less) return true;
  stmt->value = hone_term_prim(s.kernel, HONE_PRIM_NEG, HONE_I32, 0, 1, &s.less);
  for (int i = 0; i < stmt->parent->n_body; i++) {
    hone_stmt_t* reader = stmt->parent->body[i];
    if (reader->kind == HONE_STMT_STORE && reader != stmt)
      reader->value = without(&s, reader->value);
  }
  return !s.kernel->out_of_memory;
}

bool hone_lower_starts(hone_kernel_t* kernel) {
  hone_stmt_walk(kernel->root, start_sum, kernel);
  return !kernel->out_of_memory;
}
