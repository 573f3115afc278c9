/* Quantizing to bytes, cast.u8(min(max(add(round(div(x, s)), z), 0), 255)), without dividing and
 * without rounding apart from converting: the bits are those of the operations one by one.
 *
 * - x is held between the numbers that become the least and the greatest byte, before all else.
 *   A NaN becomes the least one, 0, as casts make it; so bytes have no sign here.
 * - x / s is x * high + x * low, where high + low is 1 / s to twice the digits. That is rounded as
 *   a quotient is but for few x of few s. Rounding to whole numbers then differs only if x is a
 *   few units of its last place from half a whole number times s; those are all tried. */
#include <math.h>

#include "backends/cpu/render_impl.h"
#include "base/float_convert.h"

typedef struct quantized {
  const hone_term_t* x;
  float scale;      /* 0: x is not divided */
  double zero;      /* what is added to the whole number */
  double low, high; /* of the sum */
} quantized_t;

/* ---- recognising ---- */

static bool is_prim(const hone_term_t* term, hone_prim_t prim) {
  return term->kind == HONE_TERM_PRIM && term->prim == prim;
}

/* prim(other, number), in either order where `commutes`; else gives NULL. */
static const hone_term_t* with_number(const hone_term_t* term, hone_prim_t prim, bool commutes,
                                      double* out_number) {
  if (!is_prim(term, prim) || term->dtype != HONE_F32) return NULL;
  for (int i = 1; i >= (commutes ? 0 : 1); i--) {
    const hone_term_t* number = term->args[i];
    if (number->kind != HONE_TERM_CONST) continue;
    *out_number = hone_to_double(number->dtype, number->bits);
    return term->args[1 - i];
  }
  return NULL;
}

/* What is held between two numbers, in either order. */
static const hone_term_t* held(const hone_term_t* term, quantized_t* out) {
  const hone_term_t* inner = with_number(term, HONE_PRIM_MIN, true, &out->high);
  if (inner) return with_number(inner, HONE_PRIM_MAX, true, &out->low);
  inner = with_number(term, HONE_PRIM_MAX, true, &out->low);
  return inner ? with_number(inner, HONE_PRIM_MIN, true, &out->high) : NULL;
}

static bool is_byte(double number) {
  return number >= 0 && number <= UINT8_MAX && number == rint(number);
}

static bool recognise(const hone_term_t* byte, quantized_t* out) {
  double scale;
  *out = (quantized_t){0};
  if (!is_prim(byte, HONE_PRIM_CAST) || byte->dtype != HONE_U8) return false;
  const hone_term_t* sum = held(byte->args[0], out);
  if (!sum || out->low != 0 || !is_byte(out->high)) return false;
  const hone_term_t* whole = with_number(sum, HONE_PRIM_ADD, true, &out->zero);
  if (!whole) whole = sum;
  if (!is_byte(out->zero) || !is_prim(whole, HONE_PRIM_ROUND)) return false;
  out->x = whole->args[0];
  if (out->x->dtype != HONE_F32) return false;
  const hone_term_t* dividend = with_number(out->x, HONE_PRIM_DIV, false, &scale);
  if (dividend) out->scale = (float)scale;
  return true;
}

/* ---- dividing ---- */

typedef struct divisor {
  float scale, high, low; /* high + low is 1 / scale */
} divisor_t;

static float quotient(const divisor_t* by, float x) {
  float small = x * by->low;
  return fmaf(x, by->high, small);
}

/* Whether numbers next to `half` times the scale are rounded as their quotient is. Those further
 * away than five units are on the same side of it by either way, as each is wrong by less. */
static bool agrees_near(const divisor_t* by, double half) {
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

/* Whether what is divided rounds to the same whole number, from the least to the greatest. */
static bool make_divisor(float scale, double least, double greatest, divisor_t* out) {
  static const float smallest = 0x1p-60f, largest = 0x1p60f; /* nothing under- or overflows */
  if (!(scale >= smallest && scale <= largest)) return false;
  *out = (divisor_t){.scale = scale, .high = (float)(1 / (double)scale)};
  out->low = (float)(1 / (double)scale - out->high);
  for (int whole = (int)least; whole < (int)greatest; whole++)
    if (!agrees_near(out, whole + 0.5)) return false;
  return true;
}

/* ---- writing ---- */

static void put_number(hone_renderer_t* r, double number, bool is_vector) {
  hone_str_appendf(r->out, is_vector ? ", hone_splat_f32v(%af)" : ", %af", number);
}

/* The byte as an i32. */
static hone_operand_t put_whole(hone_renderer_t* r, const quantized_t* q, hone_map_t* done) {
  divisor_t by;
  double least = q->low - q->zero, greatest = q->high - q->zero;
  bool divides = q->scale != 0 && make_divisor(q->scale, least, greatest, &by);
  double unit = divides ? (double)by.scale : 1;
  hone_operand_t x = hone_render_term(r, divides ? q->x->args[0] : q->x, done);
  hone_operand_t to = hone_render_fresh(r, HONE_I32, x.is_vector);
  const char* v = x.is_vector ? "v" : "";
  hone_str_appendf(r->out, " = hone_%s_f32%s(t%d", divides ? "quantize" : "between", v,
                   x.temporary);
  put_number(r, (float)(least * unit), x.is_vector);
  put_number(r, (float)(greatest * unit), x.is_vector);
  if (divides) {
    put_number(r, by.scale, x.is_vector);
    put_number(r, by.high, x.is_vector);
    put_number(r, by.low, x.is_vector);
  }
  hone_str_appendf(r->out, ") + %d;\n", (int)q->zero);
  return to;
}

bool hone_render_quantized(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done,
                           hone_operand_t* out) {
  quantized_t q;
  bool is_wide =
      is_prim(term, HONE_PRIM_CAST) && (term->dtype == HONE_I32 || term->dtype == HONE_I16);
  if (!recognise(is_wide ? term->args[0] : term, &q)) return false;
  *out = put_whole(r, &q, done);
  if (term->dtype == HONE_I32) return true;
  hone_operand_t whole = *out;
  *out = hone_render_fresh(r, term->dtype, whole.is_vector);
  hone_str_appendf(r->out, " = hone_byte_%s%s(t%d);\n", hone_dtype_name(term->dtype),
                   whole.is_vector ? "v" : "", whole.temporary);
  return true;
}
