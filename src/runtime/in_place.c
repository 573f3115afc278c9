/* Looks at every access of a kernel to one input and one output. */
#include "runtime/in_place.h"

#include "base/memory.h"

typedef struct search {
  const hone_buffer_t *in, *out;
  const hone_dim_t* place; /* index of the store at hand to `out`; NULL: another statement */
  uint8_t* seen;           /* by term id: SEEN_… */
  bool fine;
} search_t;

/* Looked at as part of the store to `out`, and as part of anything else. */
enum { SEEN_IN_STORE = 1, SEEN_ELSEWHERE = 2, MOST_DEPTH = 10000 };

static bool same_index(int rank, const hone_dim_t* a, const hone_dim_t* b) {
  for (int i = 0; i < rank; i++)
    if (!hone_dim_same(a[i], b[i])) return false;
  return true;
}

static bool same_extents(const hone_buffer_t* a, const hone_buffer_t* b) {
  return a->rank == b->rank && !a->packing && same_index(a->rank, a->dims, b->dims) &&
         hone_dtype_size(a->dtype) == hone_dtype_size(b->dtype);
}

static void look_at_term(search_t* s, const hone_term_t* term, int depth) {
  uint8_t mark = s->place ? SEEN_IN_STORE : SEEN_ELSEWHERE;
  if (!s->fine || (s->seen[term->id] & mark)) return;
  s->seen[term->id] |= mark;
  if (depth > MOST_DEPTH) s->fine = false;
  if (term->kind == HONE_TERM_LOAD && term->buffer->id == s->in->id)
    s->fine = s->place && same_index(s->in->rank, term->index, s->place);
  if (term->kind == HONE_TERM_LOAD && term->buffer->id == s->out->id) s->fine = false;
  for (int i = 0; i < term->n_args; i++) look_at_term(s, term->args[i], depth + 1);
}

static bool look_at_stmt(void* self, hone_stmt_t* stmt) {
  search_t* s = self;
  bool is_store = stmt->kind == HONE_STMT_STORE && stmt->buffer->id == s->out->id;
  s->place = is_store ? stmt->index : NULL;
  if (is_store && stmt->combine != HONE_COMBINE_SET) s->fine = false;
  if (stmt->value) look_at_term(s, stmt->value, 0);
  return s->fine;
}

static bool is_fine(const hone_kernel_t* kernel, const hone_buffer_t* in,
                    const hone_buffer_t* out) {
  if (!out->is_stored_once || !same_extents(in, out)) return false;
  size_t bytes = (size_t)kernel->n_terms + 1; /* numbers begin with 1 */
  search_t s = {.in = in, .out = out, .fine = true, .seen = hone_alloc(kernel->allocator, bytes)};
  if (!s.seen) return false; /* without memory nothing is in place */
  hone_stmt_walk(kernel->root, look_at_stmt, &s);
  hone_free(kernel->allocator, s.seen, bytes);
  return s.fine;
}

int hone_kernel_in_place(const hone_kernel_t* kernel, int output, int after) {
  const hone_buffer_t* out = hone_kernel_find_buffer(kernel, HONE_ROLE_OUTPUT, output);
  int best = -1;
  for (int i = 0; out && i < kernel->n_buffers; i++) {
    const hone_buffer_t* in = kernel->buffers[i];
    if (in->role != HONE_ROLE_INPUT || in->value < after || (best >= 0 && in->value >= best))
      continue;
    if (is_fine(kernel, in, out)) best = in->value;
  }
  return best;
}
