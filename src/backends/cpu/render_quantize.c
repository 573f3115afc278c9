/* Quantizing to bytes (loop/quantized.h) without dividing and without rounding apart from
 * converting: the bits are those of the operations one by one.
 *
 * x is held between the numbers that become the least and the greatest byte, before all else; from
 * below only where what narrows it does not do so, and so from above where it fits an i32. A NaN
 * becomes the least one, which is 0 for u8, as casts make it; i8 is for what fits an i32, and is no
 * NaN.
 *
 * What depends on the scale and the zero point alone is written as numbers where these are, and is
 * computed at the head of the function, once, where the kernel reads them. */
#include "backends/cpu/render_impl.h"
#include "base/float_convert.h"
#include "base/memory.h"
#include "loop/quantized.h"

/* ---- numbers ---- */

typedef struct number {
  double value;
  int temporary; /* that holds it; -1: it is written */
} number_t;

/* Of one quantization. */
typedef struct numbers {
  bool divides;
  number_t least, greatest, scale, high, low; /* as hone_quantize_f32 takes them */
  number_t zero;
} numbers_t;

static number_t literal(double value) { return (number_t){value, -1}; }

static double value_of(const hone_term_t* term, double without) {
  return term ? hone_to_double(term->dtype, term->bits) : without;
}

/* x, which may be a quotient, as it is; the zero point is written. */
static numbers_t undivided(const hone_quantized_t* q, number_t zero) {
  double less = value_of(q->zero, 0);
  return (numbers_t){
      .least = literal(q->low - less), .greatest = literal(q->high - less), .zero = zero};
}

static numbers_t known_numbers(const hone_quantized_t* q) {
  hone_divisor_t by;
  double zero = value_of(q->zero, 0), least = q->low - zero, greatest = q->high - zero;
  if (!q->dividend || !hone_divisor_make((float)value_of(q->scale, 1), least, greatest, &by))
    return undivided(q, literal(zero));
  return (numbers_t){.divides = true,
                     .least = literal((float)(least * (double)by.scale)),
                     .greatest = literal((float)(greatest * (double)by.scale)),
                     .scale = literal(by.scale),
                     .high = literal(by.high),
                     .low = literal(by.low),
                     .zero = literal(zero)};
}

/* ---- at the head ---- */

static number_t in_head(hone_renderer_t* r, hone_dtype_t dtype) {
  return (number_t){0, hone_render_fresh(r, dtype, false).temporary};
}

/* (bound - zero) * scale */
static number_t bound_in_head(hone_renderer_t* r, double bound, const number_t* zero,
                              const number_t* scale) {
  number_t to = in_head(r, HONE_F32);
  hone_str_appendf(r->out, " = (%af", bound);
  if (zero) hone_str_appendf(r->out, " - t%d", zero->temporary);
  hone_str_append(r->out, ")");
  if (scale) hone_str_appendf(r->out, " * t%d", scale->temporary);
  hone_str_append(r->out, ";\n");
  return to;
}

static void put_reciprocal(hone_renderer_t* r, numbers_t* to) {
  int scale = to->scale.temporary;
  to->high = in_head(r, HONE_F32);
  hone_str_appendf(r->out, " = (hone_f32)(1 / (hone_f64)t%d);\n", scale);
  to->low = in_head(r, HONE_F32);
  hone_str_appendf(r->out, " = (hone_f32)(1 / (hone_f64)t%d - t%d);\n", scale, to->high.temporary);
}

static numbers_t write_head(hone_renderer_t* r, const hone_quantized_t* q) {
  numbers_t to = {.divides = q->dividend != NULL, .zero = literal(0)};
  number_t zero = {0}, *given = NULL;
  if (q->zero) {
    zero.temporary = hone_render_once(r, q->zero).temporary;
    given = &zero;
  }
  if (q->dividend) to.scale.temporary = hone_render_once(r, q->scale).temporary;
  const number_t* scale = q->dividend ? &to.scale : NULL;
  hone_renderer_t head = hone_render_open_head(r);
  to.least = bound_in_head(&head, q->low, given, scale);
  to.greatest = bound_in_head(&head, q->high, given, scale);
  if (scale) put_reciprocal(&head, &to);
  if (given) {
    to.zero = in_head(&head, HONE_I32);
    hone_str_appendf(head.out, " = (hone_i32)t%d;\n", zero.temporary);
  }
  hone_render_close_head(r, &head);
  return to;
}

static numbers_t read_numbers(hone_renderer_t* r, const hone_quantized_t* q) {
  uint64_t scale = q->dividend ? (uint64_t)q->scale->id : 0;
  uint64_t zero = q->zero ? (uint64_t)q->zero->id : 0;
  uint64_t is_signed = q->dtype == HONE_I8;
  uint64_t key = scale << 36 | zero << 9 | is_signed << 8 | (uint64_t)(q->high - q->low);
  numbers_t* known = hone_map_get_u64(r->quantizations, key);
  if (known) return *known;
  numbers_t made = write_head(r, q);
  known = hone_arena_memdup(r->kernel->arena, &made, sizeof made);
  hone_status_t status = known ? hone_map_put_u64(r->quantizations, key, known) : NULL;
  if (!known || status) r->kernel->out_of_memory = true;
  hone_status_free(status);
  return made;
}

static bool is_read(const hone_term_t* number) { return number && number->kind == HONE_TERM_LOAD; }

static bool is_unproven(const hone_term_t* number) {
  return is_read(number) && !number->buffer->is_proven;
}

/* Without: it has to be divided, and rounded as it is written. */
static bool has_numbers(const hone_quantized_t* q) {
  return !is_unproven(q->zero) && !(is_unproven(q->scale) && is_read(q->zero));
}

static numbers_t find_numbers(hone_renderer_t* r, const hone_quantized_t* q) {
  if (!is_read(q->scale) && !is_read(q->zero)) return known_numbers(q);
  if (is_unproven(q->scale)) return undivided(q, literal(value_of(q->zero, 0)));
  return read_numbers(r, q);
}

/* ---- writing ---- */

static void put_number(hone_renderer_t* r, number_t number, bool is_vector) {
  hone_str_append(r->out, is_vector ? ", hone_splat_f32v(" : ", ");
  if (number.temporary < 0)
    hone_str_appendf(r->out, "%af", number.value);
  else
    hone_str_appendf(r->out, "t%d", number.temporary);
  if (is_vector) hone_str_append(r->out, ")");
}

/* How x is held: between both numbers, below the greatest, or not at all. What makes bytes of i32s,
 * or i16s of u8s, takes those beyond for the least and the greatest. */
static int find_hold(hone_renderer_t* r, const hone_quantized_t* q, hone_dtype_t to_dtype) {
  enum { BETWEEN, BELOW, BOUNDED };
  bool is_whole = q->high - q->low == UINT8_MAX;
  bool is_packed = q->dtype == HONE_U8 && (to_dtype == HONE_U8 || to_dtype == HONE_I16);
  if ((is_packed || to_dtype == q->dtype) && is_whole &&
      hone_quantized_is_bounded(r->kernel, r->sums, q))
    return BOUNDED;
  return is_packed ? BELOW : BETWEEN;
}

/* The quotient of a sum of two bytes, and the numbers that hold it; false: it is none. */
static bool put_sum(hone_renderer_t* r, const hone_quantized_t* q, number_t zero, hone_map_t* done,
                    numbers_t* out_numbers, hone_operand_t* out) {
  if (!q->dividend || is_read(q->scale) || is_read(q->zero)) return false;
  *out_numbers = undivided(q, zero);
  return hone_render_quantized_sum(r, q->dividend, value_of(q->scale, 1), out_numbers->least.value,
                                   out_numbers->greatest.value, done, out);
}

/* The byte as an i32 that becomes a number of the type. */
static hone_operand_t put_whole(hone_renderer_t* r, const hone_quantized_t* q, const numbers_t* n,
                                hone_dtype_t to_dtype, hone_map_t* done) {
  static const char* const names[2][3] = {{"between", "below", "bounded"},
                                          {"quantize", "quantize_below", "quantize_bounded"}};
  int how = find_hold(r, q, to_dtype);
  numbers_t of_sum;
  hone_operand_t x;
  if (put_sum(r, q, n->zero, done, &of_sum, &x))
    n = &of_sum;
  else
    x = hone_render_term(r, n->divides ? q->dividend : q->x, done);
  hone_operand_t to = hone_render_fresh(r, HONE_I32, x.is_vector);
  hone_str_appendf(r->out, " = hone_%s_f32%s(t%d", names[n->divides][how], x.is_vector ? "v" : "",
                   x.temporary);
  put_number(r, n->least, x.is_vector);
  put_number(r, n->greatest, x.is_vector);
  if (n->divides) {
    put_number(r, n->scale, x.is_vector);
    put_number(r, n->high, x.is_vector);
    put_number(r, n->low, x.is_vector);
  }
  hone_str_append(r->out, ")");
  if (n->zero.temporary >= 0)
    hone_str_appendf(r->out, " + t%d", n->zero.temporary);
  else if (n->zero.value != 0)
    hone_str_appendf(r->out, " + %d", (int)n->zero.value);
  hone_str_append(r->out, ";\n");
  return to;
}

/* What computes the byte that the term is, as such or as a wider number, *out_less if that is
 * less the zero point. */
static bool match(hone_renderer_t* r, const hone_term_t* term, hone_quantized_t* q,
                  bool* out_less) {
  const hone_term_t *less, *byte = hone_quantized_byte(term, &less);
  *out_less = less;
  return hone_quantized_match(byte, q) && (!less || hone_quantized_is_zero(q, less)) &&
         has_numbers(q) &&
         (q->dtype == HONE_U8 || hone_quantized_is_bounded(r->kernel, r->sums, q));
}

bool hone_render_is_quantized(hone_renderer_t* r, const hone_term_t* term, hone_dtype_t byte) {
  hone_quantized_t q;
  bool less;
  return match(r, term, &q, &less) && q.dtype == byte;
}

static hone_operand_t put_less(hone_renderer_t* r, const hone_quantized_t* q, bool less,
                               hone_dtype_t to_dtype, hone_map_t* done) {
  numbers_t numbers = find_numbers(r, q);
  if (less) numbers.zero = literal(0);
  return put_whole(r, q, &numbers, to_dtype, done);
}

bool hone_render_quantized_whole(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done,
                                 hone_operand_t* out) {
  hone_quantized_t q;
  bool less;
  if (!match(r, term, &q, &less)) return false;
  *out = put_less(r, &q, less, term->dtype, done);
  return true;
}

bool hone_render_quantized(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done,
                           hone_operand_t* out) {
  hone_quantized_t q;
  bool less;
  if (!match(r, term, &q, &less)) return false;
  *out = put_less(r, &q, less, term->dtype, done);
  if (term->dtype == HONE_I32) return true;
  hone_operand_t whole = *out;
  *out = hone_render_fresh(r, term->dtype, whole.is_vector);
  hone_str_appendf(r->out, " = hone_%s_%s%s%s(t%d);\n",
                   term->dtype == HONE_F32 ? "cast"
                   : q.dtype == HONE_I8    ? "signed"
                                           : "byte",
                   hone_dtype_name(term->dtype), term->dtype == HONE_F32 ? "_i32" : "",
                   whole.is_vector ? "v" : "", whole.temporary);
  return true;
}
