/* Where sums start: what is added to a sum, or subtracted from it, before anything else is done
 * with it is what the sum starts from.
 *
 *   acc[] = 0; for k … { acc[] += … }; y[i] = f(acc[] - c[i])
 *   acc[] = -c[i]; for k … { acc[] += … }; y[i] = f(acc[])
 *
 * For integers, of which an input is subtracted, as zero points of a quantized layer are, also
 * where another sum was added before that, it is the same number, since they wrap. So it is for
 * floats that are whole numbers and stay below 2^24, as sums of bytes do. For other floats it is
 * the same but for the order of roundings; c is a constant then, a bias as a rule, and not a mask,
 * which may be far larger than the sum. Where whole numbers may leave what is exact, the order
 * stays. */
#include <math.h>

#include "base/float_convert.h"
#include "loop/lower_impl.h"
#include "loop/quantized.h"

/* Of one sum. */
typedef struct start {
  hone_kernel_t* kernel;
  const hone_kernel_options_t* options;
  const hone_stmt_t* first;  /* its first store */
  const hone_term_t* reader; /* what every reader computes of it first; NULL: none was seen */
  bool is_wrong;             /* some reader does not, or computes something else */
  bool has_integers;         /* are summed up, in floats */
  bool is_whole;             /* what is summed up is whole numbers */
  const hone_term_t **seen, **made; /* by id: terms that were looked at, and what became of them */
} start_t;

/* ---- what is read ---- */

static bool is_load_of(const hone_term_t* term, const hone_buffer_t* buffer) {
  return term->kind == HONE_TERM_LOAD && term->buffer == buffer;
}

static bool is_input(const hone_term_t* term) {
  return term->kind == HONE_TERM_LOAD && term->buffer->role == HONE_ROLE_INPUT;
}

static const hone_tensor_t* constant_of(const start_t* s, const hone_buffer_t* buffer) {
  return buffer->is_constant ? s->options->constant_of(s->options->constants, buffer->value) : NULL;
}

/* As hone_contents_fn. */
static const void* contents_of(void* self, const hone_buffer_t* buffer) {
  const hone_tensor_t* tensor = constant_of(self, buffer);
  return tensor ? hone_tensor_data(tensor) : NULL;
}

static bool has_whole_numbers(const start_t* s, const hone_buffer_t* buffer) {
  const hone_tensor_t* tensor = constant_of(s, buffer);
  if (!hone_dtype_is_float(buffer->dtype)) return true;
  if (!tensor || buffer->dtype != HONE_F32) return false;
  const float* numbers = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++)
    if (numbers[i] != truncf(numbers[i])) return false;
  return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static bool is_whole(const start_t* s, const hone_term_t* term) {
  if (term->kind == HONE_TERM_LOAD) return has_whole_numbers(s, term->buffer);
  if (term->kind != HONE_TERM_PRIM) return false;
  bool stays = term->prim == HONE_PRIM_CAST || term->prim == HONE_PRIM_MUL ||
               term->prim == HONE_PRIM_ADD || term->prim == HONE_PRIM_SUB;
  for (int i = 0; i < term->n_args && stays; i++) stays = is_whole(s, term->args[i]);
  return stays;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static bool reads_integers(const hone_term_t* term) {
  if (term->kind == HONE_TERM_LOAD) return !hone_dtype_is_float(term->buffer->dtype);
  for (int i = 0; i < term->n_args; i++)
    if (reads_integers(term->args[i])) return true;
  return false;
}

/* ---- its readers ---- */

/* Whether it is the sum, or of integers that and something else, which stays. */
static bool is_sum(const hone_term_t* term, const hone_buffer_t* sum) {
  bool adds = sum->dtype == HONE_I32 && term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_ADD;
  for (int i = 0; i < 2 && adds; i++)
    if (is_load_of(term->args[i], sum) && !hone_term_reads(term->args[!i], sum)) return true;
  return is_load_of(term, sum);
}

/* The c of sum + c, c + sum or sum - c; NULL: it is none of these. To integers constants are added,
 * not other sums. */
static const hone_term_t* other_of(const start_t* s, const hone_term_t* term) {
  const hone_buffer_t* sum = s->first->buffer;
  bool adds = term->prim == HONE_PRIM_ADD;
  if (term->kind != HONE_TERM_PRIM || (!adds && term->prim != HONE_PRIM_SUB)) return NULL;
  for (int i = 0; i < 1 + adds; i++) {
    const hone_term_t* other = term->args[!i];
    if (is_sum(term->args[i], sum) && is_input(other) &&
        (!adds || sum->dtype == HONE_F32 || other->buffer->is_constant))
      return other;
  }
  return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static void look(start_t* s, const hone_term_t* term) {
  if (s->seen[term->id] == term) return;
  s->seen[term->id] = term;
  const hone_term_t* other = other_of(s, term);
  if (other) {
    s->is_wrong |= s->reader && (s->reader->prim != term->prim || other_of(s, s->reader) != other);
    s->reader = term;
    return;
  }
  s->is_wrong |= is_load_of(term, s->first->buffer);
  for (int i = 0; i < term->n_args && !s->is_wrong; i++) look(s, term->args[i]);
}

/* Stores that read the sum stand beside the first one, so that the same loops are around. */
static bool look_at_statement(void* self, hone_stmt_t* stmt) {
  start_t* s = self;
  bool reads = stmt->value && hone_term_reads(stmt->value, s->first->buffer);
  if (reads) look(s, stmt->value);
  s->is_wrong |= reads && (stmt->kind != HONE_STMT_STORE || stmt->parent != s->first->parent);
  if (stmt->kind == HONE_STMT_STORE && stmt->buffer == s->first->buffer && stmt != s->first) {
    s->is_wrong |= stmt->combine != HONE_COMBINE_ADD;
    s->has_integers |= reads_integers(stmt->value);
    s->is_whole &= is_whole(s, stmt->value);
  }
  return !s->is_wrong;
}

/* Whether a sum of floats may start from c. */
static bool is_allowed(start_t* s) {
  const hone_term_t* other = other_of(s, s->reader);
  if (!other->buffer->is_constant) return false;
  if (!s->has_integers) return true;
  const hone_reaching_t reaching = {.kernel = s->kernel, .contents = contents_of, .self = s};
  return s->is_whole && is_whole(s, other) &&
         hone_quantized_reach(&reaching, s->reader).most <= HONE_LOWER_EXACT;
}

/* ---- starting ---- */

/* The term with each sum + c or sum - c in it the sum; NULL: memory ran out. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static const hone_term_t* without(const start_t* s, const hone_term_t* term) {
  const hone_term_t *args[3], *other = other_of(s, term);
  if (other) return term->args[other == term->args[0]];
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
         (stmt->buffer->dtype == HONE_I32 || stmt->buffer->dtype == HONE_F32) &&
         stmt->buffer->rank == 0 && stmt->buffer->role == HONE_ROLE_SCRATCH &&
         stmt->value->kind == HONE_TERM_CONST && !stmt->value->bits[0] && !has_let(stmt->parent);
}

static bool make_room(start_t* s) {
  size_t n = (size_t)s->kernel->n_terms + 1;
  s->seen = hone_arena_array(s->kernel->arena, n, sizeof *s->seen);
  s->made = hone_arena_array(s->kernel->arena, n, sizeof *s->made);
  s->kernel->out_of_memory |= !s->seen || !s->made;
  return s->seen && s->made;
}

/* What the sum starts from, in place of zero. */
static const hone_term_t* make_start(const start_t* s) {
  const hone_term_t* other = other_of(s, s->reader);
  if (s->reader->prim == HONE_PRIM_ADD) return other;
  return hone_term_prim(s->kernel, HONE_PRIM_NEG, other->dtype, 0, 1, &other);
}

static bool start_sum(void* self, hone_stmt_t* stmt) {
  start_t s = *(const start_t*)self;
  s.first = stmt;
  s.is_whole = true;
  if (!is_start(stmt)) return true;
  if (!make_room(&s)) return false;
  hone_stmt_walk(s.kernel->root, look_at_statement, &s);
  if (s.is_wrong || !s.reader || (stmt->buffer->dtype == HONE_F32 && !is_allowed(&s))) return true;
  stmt->value = make_start(&s);
  for (int i = 0; i < stmt->parent->n_body; i++) {
    hone_stmt_t* reader = stmt->parent->body[i];
    if (reader->kind == HONE_STMT_STORE && reader != stmt)
      reader->value = without(&s, reader->value);
  }
  return !s.kernel->out_of_memory;
}

bool hone_lower_starts(hone_kernel_t* kernel, const hone_kernel_options_t* options) {
  start_t s = {.kernel = kernel, .options = options};
  hone_stmt_walk(kernel->root, start_sum, &s);
  return !kernel->out_of_memory;
}
