/* How far from zero what is quantized can be (loop/quantized.h). */
#include <math.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "loop/quantized.h"

enum { MOST_DEEP = 4 /* buffers of scratch whose sums are sums of others' */ };

/* Numbers of this size and beyond may leave f32 before they are scaled down: they are unknown. */
static double hold_reach(double most) { return most < 0x1p126 ? most : INFINITY; }

/* The largest magnitude of an integer; INFINITY: of no number of the type. */
static double reach_of_dtype(hone_dtype_t dtype) {
  bool has_sign = dtype == HONE_I8 || dtype == HONE_I16 || dtype == HONE_I32;
  if (dtype != HONE_U8 && dtype != HONE_U16 && !has_sign) return INFINITY;
  return ldexp(1, 8 * (int)hone_dtype_size(dtype) - has_sign);
}

/* ---- constants ---- */

static bool count_elements(const hone_buffer_t* buffer, int64_t* out) {
  enum { MOST = 1 << 20 };
  *out = 1;
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_dim_is_int(buffer->dims[i]) || !hone_i64_mul(*out, buffer->dims[i].k, out))
      return false;
  return *out <= MOST;
}

static double reach_of_element(const hone_buffer_t* buffer, const char* contents, int64_t place) {
  double number =
      hone_to_double(buffer->dtype, contents + (size_t)place * hone_dtype_size(buffer->dtype));
  return isnan(number) ? INFINITY : fabs(number);
}

static double reach_of_constant(const hone_reaching_t* r, const hone_term_t* load) {
  int64_t count;
  const hone_buffer_t* buffer = load->buffer;
  bool is_known = r->contents && !buffer->packing && count_elements(buffer, &count);
  const char* contents = is_known ? r->contents(r->self, buffer) : NULL;
  if (!contents) return buffer->is_bounded ? 1 : INFINITY;
  if (hone_term_is_read_once(load))
    return reach_of_element(buffer, contents, buffer->rank ? load->index[0].k : 0);
  double most = 0;
  for (int64_t i = 0; i < count; i++) most = fmax(most, reach_of_element(buffer, contents, i));
  return most;
}

/* ---- sums ---- */

typedef struct sums {
  hone_reaching_t r;
  const hone_buffer_t* buffer;
  const hone_stmt_t* begin; /* each round of this loop begins the sum anew; NULL: no loop does */
  hone_reach_t reach;
} sums_t;

static bool find_begin(void* self, hone_stmt_t* stmt) {
  sums_t* s = self;
  bool begins = stmt->kind == HONE_STMT_STORE && stmt->buffer == s->buffer &&
                stmt->combine == HONE_COMBINE_SET && stmt->parent->kind == HONE_STMT_LOOP;
  if (begins && !s->begin) s->begin = stmt->parent;
  return true;
}

/* Where the buffer is written outside of that loop, elements of it may go on from there. */
static bool check_begin(void* self, hone_stmt_t* stmt) {
  sums_t* s = self;
  const hone_stmt_t* at = stmt->parent;
  if (stmt->kind != HONE_STMT_STORE || stmt->buffer != s->buffer) return true;
  while (at && at != s->begin) at = at->parent;
  if (!at) s->begin = NULL;
  return true;
}

/* What a store gives in all rounds of the loops around it, as long as it is the same sum. */
static bool add_store(void* self, hone_stmt_t* stmt) {
  sums_t* s = self;
  if (stmt->kind != HONE_STMT_STORE || stmt->buffer != s->buffer) return true;
  hone_reach_t one = hone_quantized_reach(&s->r, stmt->value);
  for (const hone_stmt_t* at = stmt->parent; at && at != s->begin; at = at->parent)
    if (at->kind == HONE_STMT_LOOP) one.most *= fmax(1, (double)hone_dim_max_value(at->extent));
  s->reach.most += stmt->combine == HONE_COMBINE_MUL ? INFINITY : one.most;
  s->reach.has_constant |= one.has_constant;
  return true;
}

static hone_reach_t reach_of_sums(const hone_reaching_t* r, const hone_buffer_t* buffer) {
  sums_t s = {.r = *r, .buffer = buffer, .reach.is_known = true};
  if (s.r.depth++ >= MOST_DEEP) return (hone_reach_t){.most = INFINITY};
  if (r->sums && r->sums[buffer->id].is_known) return r->sums[buffer->id];
  hone_stmt_walk(r->kernel->root, find_begin, &s);
  hone_stmt_walk(r->kernel->root, check_begin, &s);
  hone_stmt_walk(r->kernel->root, add_store, &s);
  s.reach.most = hold_reach(s.reach.most);
  if (r->sums) r->sums[buffer->id] = s.reach;
  return s.reach;
}

/* ---- terms ---- */

static hone_reach_t reach_of_load(const hone_reaching_t* r, const hone_term_t* load) {
  const hone_buffer_t* buffer = load->buffer;
  bool is_given = buffer->space == HONE_SPACE_GLOBAL, is_float = buffer->dtype == HONE_F32;
  if (is_float && !is_given) return reach_of_sums(r, buffer);
  hone_reach_t reach = {.most = reach_of_dtype(buffer->dtype)};
  reach.has_constant = is_float && buffer->is_constant;
  if (reach.has_constant && r->found) r->found(r->self, buffer);
  bool is_number = is_given && buffer->is_constant && (is_float || hone_term_is_read_once(load));
  if (is_number) reach.most = fmin(reach_of_constant(r, load), reach.most);
  return reach;
}

/* Whether the result is no further from zero than the operands' sum, or for mul product. */
static bool is_linear(const hone_term_t* term) {
  if (term->dtype != HONE_F32 && term->dtype != HONE_I32) return false;
  switch (term->prim) {
    case HONE_PRIM_CAST:
    case HONE_PRIM_ADD:
    case HONE_PRIM_SUB:
    case HONE_PRIM_MUL:
    case HONE_PRIM_NEG:
    case HONE_PRIM_MIN:
    case HONE_PRIM_MAX:
      return true;
    default:
      return false;
  }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term, and MOST_DEEP sums */
hone_reach_t hone_quantized_reach(const hone_reaching_t* r, const hone_term_t* term) {
  hone_reach_t args[3] = {{0}}, reach = {.most = reach_of_dtype(term->dtype)};
  if (term->kind == HONE_TERM_LOAD) return reach_of_load(r, term);
  if (term->kind == HONE_TERM_CONST) reach.most = fabs(hone_to_double(term->dtype, term->bits));
  if (term->kind != HONE_TERM_PRIM || !is_linear(term)) return reach;
  for (int i = 0; i < term->n_args; i++) {
    args[i] = hone_quantized_reach(r, term->args[i]);
    reach.has_constant |= args[i].has_constant;
  }
  bool multiplies = term->prim == HONE_PRIM_MUL;
  double all = multiplies ? args[0].most * args[1].most : args[0].most + args[1].most;
  reach.most = hold_reach(fmin(all, reach.most));
  return reach;
}
