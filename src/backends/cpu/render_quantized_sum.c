/* What is quantized of two bytes that are added, by fused multiply-adds (loop/quantized_sum.h).
 *
 * A byte that was quantized just before is at hand less its zero point; of one that is loaded the
 * zero point goes into the shift. */
#include "backends/cpu/render_impl.h"
#include "loop/quantized_sum.h"

/* As f32, less the zero point or not. */
typedef struct number {
  const hone_scaled_byte_t* of;
  bool is_less;
} number_t;

static hone_addend_t addend_of(const number_t* number) {
  const hone_scaled_byte_t* of = number->of;
  int least = of->byte->dtype == HONE_I8 ? INT8_MIN : 0;
  return (hone_addend_t){.least = number->is_less ? least - of->zero : least,
                         .zero = number->is_less ? 0 : of->zero,
                         .scale = of->scale};
}

static hone_operand_t put_cast(hone_renderer_t* r, hone_operand_t of, hone_dtype_t from,
                               hone_dtype_t to) {
  hone_operand_t made = hone_render_fresh(r, to, of.is_vector);
  hone_str_appendf(r->out, " = hone_cast_%s_%s%s(t%d);\n", hone_dtype_name(to),
                   hone_dtype_name(from), of.is_vector ? "v" : "", of.temporary);
  return made;
}

static hone_operand_t put_number(hone_renderer_t* r, const number_t* number, hone_map_t* done) {
  const hone_scaled_byte_t* of = number->of;
  if (number->is_less) return hone_render_term(r, of->number, done);
  hone_operand_t byte = hone_render_term(r, of->byte, done);
  return put_cast(r, put_cast(r, byte, of->byte->dtype, HONE_I32), HONE_I32, HONE_F32);
}

/* number * factor + shift; a negative `sum`: of the number `shift`. */
static hone_operand_t put_product(hone_renderer_t* r, hone_operand_t number, float factor,
                                  hone_operand_t sum, float shift, bool is_vector) {
  hone_operand_t to = hone_render_fresh(r, HONE_F32, is_vector);
  const char* splat = is_vector ? "hone_splat_f32v" : "";
  hone_str_appendf(r->out, " = hone_fma_f32%s(", is_vector ? "v" : "");
  hone_render_operand(r, number, HONE_F32, is_vector);
  hone_str_appendf(r->out, ", %s(%af), ", splat, (double)factor);
  if (sum.temporary < 0)
    hone_str_appendf(r->out, "%s(%af)", splat, (double)shift);
  else
    hone_render_operand(r, sum, HONE_F32, is_vector);
  hone_str_append(r->out, ");\n");
  return to;
}

/* What waits for the product, a byte that was quantized, is added last. */
static void order(const hone_scaled_byte_t bytes[2], number_t out[2]) {
  hone_quantized_t q;
  bool waits[2];
  for (int i = 0; i < 2; i++) waits[i] = hone_quantized_match(bytes[i].byte, &q);
  for (int i = 0; i < 2; i++) {
    int at = waits[0] ? i : 1 - i;
    out[i] = (number_t){&bytes[at], !bytes[at].zero || waits[at]};
  }
}

bool hone_render_quantized_sum(hone_renderer_t* r, const hone_term_t* sum, double scale,
                               double least, double greatest, hone_map_t* done,
                               hone_operand_t* out) {
  hone_scaled_byte_t bytes[2];
  hone_quantized_sum_t by;
  number_t numbers[2];
  if (!r->target->has_fma || !hone_quantized_sum_match(sum, bytes)) return false;
  order(bytes, numbers);
  const hone_addend_t addends[] = {addend_of(&numbers[0]), addend_of(&numbers[1])};
  if (!hone_quantized_sum_make(addends, (float)scale, least, greatest, &by)) return false;
  hone_operand_t y = put_number(r, &numbers[1], done), x = put_number(r, &numbers[0], done);
  y = put_product(r, y, by.factors[1], (hone_operand_t){.temporary = -1}, by.shift, y.is_vector);
  *out = put_product(r, x, by.factors[0], y, 0, x.is_vector || y.is_vector);
  return true;
}
