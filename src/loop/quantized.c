#include "loop/quantized.h"

#include <math.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"

static const double REACH = 0x1p30; /* of whole numbers: far enough from where i32s end */

/* ---- recognising ---- */

static bool is_prim(const hone_term_t* term, hone_prim_t prim) {
  return term->kind == HONE_TERM_PRIM && term->prim == prim;
}

bool hone_term_is_read_once(const hone_term_t* term) {
  if (is_prim(term, HONE_PRIM_CAST)) term = term->args[0];
  if (term->kind != HONE_TERM_LOAD) return false;
  const hone_buffer_t* buffer = term->buffer;
  if (buffer->role != HONE_ROLE_INPUT || !buffer->is_constant || buffer->packing) return false;
  if (buffer->rank == 0) return true;
  return buffer->rank == 1 && hone_dim_is_int(buffer->dims[0]) && hone_dim_is_int(term->index[0]) &&
         term->index[0].k >= 0 && term->index[0].k < buffer->dims[0].k;
}

/* The operand of prim(x, number), in either order where `commutes`, that is a number; gives x, or
 * NULL where none is. */
static const hone_term_t* with_number(const hone_term_t* term, hone_prim_t prim, bool commutes,
                                      const hone_term_t** out_number) {
  if (!is_prim(term, prim) || term->dtype != HONE_F32) return NULL;
  for (int i = 1; i >= (commutes ? 0 : 1); i--) {
    const hone_term_t* number = term->args[i];
    bool is_read = number->kind == HONE_TERM_LOAD && hone_term_is_read_once(number);
    if (number->kind != HONE_TERM_CONST && !is_read) continue;
    *out_number = number;
    return term->args[1 - i];
  }
  return NULL;
}

/* The same of a number that is written there. */
static const hone_term_t* with_literal(const hone_term_t* term, hone_prim_t prim, double* out) {
  const hone_term_t* number;
  const hone_term_t* other = with_number(term, prim, true, &number);
  if (!other || number->kind != HONE_TERM_CONST) return NULL;
  *out = hone_to_double(number->dtype, number->bits);
  return other;
}

/* What is held between two numbers, in either order. */
static const hone_term_t* held(const hone_term_t* term, hone_quantized_t* out) {
  const hone_term_t* inner = with_literal(term, HONE_PRIM_MIN, &out->high);
  if (inner) return with_literal(inner, HONE_PRIM_MAX, &out->low);
  inner = with_literal(term, HONE_PRIM_MAX, &out->low);
  return inner ? with_literal(inner, HONE_PRIM_MIN, &out->high) : NULL;
}

static bool is_byte(hone_dtype_t dtype, double number) {
  double least = dtype == HONE_I8 ? INT8_MIN : 0;
  return number >= least && number <= least + UINT8_MAX && number == rint(number);
}

/* Of a number that is read it is found out where its elements are known. */
static bool may_be_byte(hone_dtype_t dtype, const hone_term_t* number) {
  return number->kind != HONE_TERM_CONST ||
         is_byte(dtype, hone_to_double(number->dtype, number->bits));
}

bool hone_quantized_match(const hone_term_t* term, hone_quantized_t* out) {
  *out = (hone_quantized_t){.dtype = term->dtype};
  bool is_signed = out->dtype == HONE_I8;
  if (!is_prim(term, HONE_PRIM_CAST) || (out->dtype != HONE_U8 && !is_signed)) return false;
  const hone_term_t* sum = held(term->args[0], out);
  if (!sum || out->low != (is_signed ? INT8_MIN : 0) || !is_byte(out->dtype, out->high))
    return false;
  const hone_term_t* whole = with_number(sum, HONE_PRIM_ADD, true, &out->zero);
  if (!whole) whole = sum;
  if (out->zero && !may_be_byte(out->dtype, out->zero)) return false;
  if (!is_prim(whole, HONE_PRIM_ROUND)) return false;
  out->x = whole->args[0];
  if (out->x->dtype != HONE_F32) return false;
  out->dividend = with_number(out->x, HONE_PRIM_DIV, false, &out->scale);
  return true;
}

bool hone_quantized_is_zero(const hone_quantized_t* q, const hone_term_t* term) {
  if (!q->zero || term->dtype != HONE_I32) return false;
  if (is_prim(term, HONE_PRIM_CAST)) return term->args[0] == q->zero;
  return term->kind == HONE_TERM_CONST && q->zero->kind == HONE_TERM_CONST &&
         hone_to_double(term->dtype, term->bits) == hone_to_double(q->zero->dtype, q->zero->bits);
}

static bool makes(const hone_term_t* term, hone_prim_t prim, hone_dtype_t dtype) {
  return is_prim(term, prim) && term->dtype == dtype;
}

const hone_term_t* hone_quantized_byte(const hone_term_t* term, const hone_term_t** out_less) {
  *out_less = NULL;
  if (makes(term, HONE_PRIM_SUB, HONE_I32) && makes(term->args[0], HONE_PRIM_CAST, HONE_I32)) {
    *out_less = term->args[1];
    return term->args[0]->args[0];
  }
  bool is_wide = makes(term, HONE_PRIM_CAST, HONE_I32) || makes(term, HONE_PRIM_CAST, HONE_I16) ||
                 makes(term, HONE_PRIM_CAST, HONE_F32);
  return is_wide ? term->args[0] : term;
}

/* ---- dividing ---- */

static float quotient(const hone_divisor_t* by, float x) {
  float small = x * by->low;
  return fmaf(x, by->high, small);
}

/* Whether numbers next to `half` times the scale are rounded as their quotient is. Those further
 * away than five units are on the same side of it by either way, as each is wrong by less. */
static bool agrees_near(const hone_divisor_t* by, double half) {
  enum { NEAR = 5 };
  float x = (float)(half * by->scale);
  for (int i = 0; i < NEAR; i++) x = nextafterf(x, -INFINITY);
  for (int i = -NEAR; i <= NEAR; i++) {
    float exact = x / by->scale;
    if (rintf(exact) != rintf(quotient(by, x))) return false;
    x = nextafterf(x, INFINITY);
  }
  return true;
}

bool hone_divisor_make(float scale, double least, double greatest, hone_divisor_t* out) {
  static const float smallest = 0x1p-60f, largest = 0x1p60f; /* nothing under- or overflows */
  if (!(scale >= smallest && scale <= largest)) return false;
  *out = (hone_divisor_t){.scale = scale, .high = (float)(1 / (double)scale)};
  out->low = (float)(1 / (double)scale - out->high);
  for (int whole = (int)least; whole < (int)greatest; whole++)
    if (!agrees_near(out, whole + 0.5)) return false;
  return true;
}

/* ---- proving ---- */

typedef struct prover {
  hone_kernel_t* kernel;
  hone_contents_fn contents;
  void* self;
  bool* seen;                /* by term id */
  bool *is_read, *is_wrong;  /* by buffer id: by quantizations; one that cannot be proven */
  bool *is_factor, *is_wide; /* the same of what is quantized, which may be far from zero */
  double reach;              /* of the quantization that is looked at */
  hone_reach_t *sums, *read; /* by buffer id: of sums; those that its constants were noted of */
  size_t n_buffers;
} prover_t;

static bool value_of(const prover_t* p, const hone_term_t* term, double* out) {
  if (term->kind == HONE_TERM_CONST) {
    *out = hone_to_double(term->dtype, term->bits);
    return true;
  }
  const char* contents = p->contents(p->self, term->buffer);
  if (!contents) return false;
  int64_t place = term->buffer->rank ? term->index[0].k : 0;
  *out = hone_to_double(term->dtype, contents + (size_t)place * hone_dtype_size(term->dtype));
  return true;
}

static bool is_right(const prover_t* p, const hone_quantized_t* q) {
  double scale = 1, zero = 0;
  hone_divisor_t by;
  if (q->zero && (!value_of(p, q->zero, &zero) || !is_byte(q->dtype, zero))) return false;
  if (!q->scale) return true;
  return value_of(p, q->scale, &scale) &&
         hone_divisor_make((float)scale, q->low - zero, q->high - zero, &by);
}

static const void* contents_of(void* self, const hone_buffer_t* buffer) {
  const prover_t* p = self;
  return p->contents(p->self, buffer);
}

static void note_factor(void* self, const hone_buffer_t* constant) {
  prover_t* p = self;
  p->is_factor[constant->id] = true;
  p->is_wide[constant->id] |= !(p->reach < REACH);
}

/* Once to find out how far from zero it can be, and again to note of what it is made. */
static void look_at_reach(prover_t* p, const hone_quantized_t* q) {
  double scale = 1;
  const hone_term_t* x = q->dividend ? q->dividend : q->x;
  hone_reaching_t r = {.kernel = p->kernel, .contents = contents_of, .self = p, .sums = p->sums};
  bool is_known = !q->scale || value_of(p, q->scale, &scale);
  p->reach = is_known ? hone_quantized_reach(&r, x).most / fabs(scale) : INFINITY;
  r.contents = NULL;
  r.found = note_factor;
  r.sums = memset(p->read, 0, p->n_buffers * sizeof *p->read);
  hone_quantized_reach(&r, x);
}

static void look_at(prover_t* p, const hone_term_t* term) {
  hone_quantized_t q;
  if (p->seen[term->id]) return;
  p->seen[term->id] = true;
  for (int i = 0; i < term->n_args; i++) look_at(p, term->args[i]);
  if (!hone_quantized_match(term, &q)) return;
  look_at_reach(p, &q);
  const hone_term_t* numbers[] = {q.scale, q.zero};
  for (int i = 0; i < 2; i++) {
    if (!numbers[i] || numbers[i]->kind != HONE_TERM_LOAD) continue;
    p->is_read[numbers[i]->buffer->id] = true;
    if (!is_right(p, &q)) p->is_wrong[numbers[i]->buffer->id] = true;
  }
}

static bool look_at_statement(void* self, hone_stmt_t* stmt) {
  if (stmt->value) look_at(self, stmt->value);
  return true;
}

hone_status_t hone_quantized_prove(hone_kernel_t* kernel, hone_contents_fn contents, void* self) {
  size_t n = (size_t)kernel->n_buffers;
  prover_t p = {.kernel = kernel, .contents = contents, .self = self};
  p.seen = hone_arena_array(kernel->arena, (size_t)kernel->n_terms + 1, sizeof *p.seen);
  p.is_read = hone_arena_array(kernel->arena, n, sizeof *p.is_read);
  p.is_wrong = hone_arena_array(kernel->arena, n, sizeof *p.is_wrong);
  p.is_factor = hone_arena_array(kernel->arena, n, sizeof *p.is_factor);
  p.is_wide = hone_arena_array(kernel->arena, n, sizeof *p.is_wide);
  p.sums = hone_arena_array(kernel->arena, n, sizeof *p.sums);
  p.read = hone_arena_array(kernel->arena, n, sizeof *p.read);
  p.n_buffers = n;
  if (!p.seen || !p.is_read || !p.is_wrong || !p.is_factor || !p.is_wide || !p.sums || !p.read)
    return hone_oom();
  hone_stmt_walk(kernel->root, look_at_statement, &p);
  for (size_t i = 0; i < n; i++) {
    kernel->buffers[i]->is_proven |= p.is_read[i] && !p.is_wrong[i];
    kernel->buffers[i]->is_bounded |= p.is_factor[i] && !p.is_wide[i];
  }
  return NULL;
}

bool hone_quantized_is_bounded(hone_kernel_t* kernel, hone_reach_t* sums,
                               const hone_quantized_t* q) {
  const hone_reaching_t r = {.kernel = kernel, .sums = sums};
  hone_reach_t reach = hone_quantized_reach(&r, q->dividend ? q->dividend : q->x);
  if (reach.has_constant) return isfinite(reach.most);
  bool is_literal = !q->scale || q->scale->kind == HONE_TERM_CONST;
  double scale = q->scale && is_literal ? hone_to_double(q->scale->dtype, q->scale->bits) : 1;
  return is_literal && reach.most / fabs(scale) < REACH;
}
