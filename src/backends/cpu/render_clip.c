/* Numbers that are held between bounds and then rounded to bf16, as behind a ReLU or a clip:
 * rounded first, they are held as integers of 16 bits, twice as many at a time, and not by the
 * units that sums take. Rounding keeps the order, and bounds that bf16 has stay themselves. From 0
 * on integers have the order of the numbers, and all numbers below 0 are integers below 0, so no
 * bound may be. A NaN becomes a bound. */
#include <math.h>

#include "backends/cpu/render_impl.h"
#include "base/float_convert.h"

/* Whether bf16 has the number, and it is not below 0. */
static bool is_bound(const hone_term_t* term, double* out_value) {
  uint16_t bits;
  if (term->kind != HONE_TERM_CONST) return false;
  *out_value = hone_to_double(term->dtype, term->bits);
  if (!isfinite(*out_value) || signbit(*out_value)) return false;
  hone_from_double(HONE_BF16, *out_value, false, &bits);
  return hone_to_double(HONE_BF16, &bits) == *out_value;
}

/* Takes a minimum or maximum by such a number away; false: there is none. */
static bool take_bound(hone_clip_t* clip) {
  const hone_term_t* term = clip->held;
  double value;
  if (term->kind != HONE_TERM_PRIM || (term->prim != HONE_PRIM_MIN && term->prim != HONE_PRIM_MAX))
    return false;
  double* bound = term->prim == HONE_PRIM_MIN ? &clip->high : &clip->low;
  for (int i = 0; i < 2 && isinf(*bound); i++)
    if (is_bound(term->args[i], &value) && clip->low <= value && value <= clip->high) {
      *bound = value;
      clip->held = term->args[1 - i];
      return true;
    }
  return false;
}

bool hone_render_find_clip(const hone_renderer_t* r, const hone_stmt_t* stmt,
                           hone_clip_t* out_clip) {
  *out_clip = (hone_clip_t){hone_render_stored_term(r, stmt), -INFINITY, INFINITY};
  if (!r->vector || stmt->buffer->dtype != HONE_BF16 || !hone_render_is_flushed(stmt) ||
      !hone_target_has(r->target, "avx512bf16") || !take_bound(out_clip))
    return false;
  take_bound(out_clip);
  return true;
}

/* As an integer; what no bound is has its bits' least or most. */
static int bits_of(double bound) {
  uint16_t bits;
  if (isinf(bound)) return bound < 0 ? INT16_MIN : INT16_MAX;
  hone_from_double(HONE_BF16, bound, false, &bits);
  return bits;
}

void hone_render_put_bounds(hone_renderer_t* r, const hone_clip_t* clip) {
  hone_str_appendf(r->out, ", %d, %d", bits_of(clip->low), bits_of(clip->high));
}

bool hone_render_store_clipped(hone_renderer_t* r, const hone_stmt_t* stmt, hone_map_t* done) {
  int64_t stride;
  hone_clip_t clip;
  if (!hone_render_find_clip(r, stmt, &clip) || hone_render_is_part(r)) return false;
  hone_dim_t offset = hone_buffer_offset(r->kernel, stmt->buffer, stmt->index);
  if (hone_render_pattern(r, offset, &stride) != HONE_LANES_NEXT) return false;
  hone_operand_t value = hone_render_term(r, clip.held, done);
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "hone_store_clipped_bf16v(");
  hone_render_address(r, stmt->buffer, stmt->index, hone_render_first_lane(r, offset));
  hone_str_append(r->out, ", ");
  hone_render_operand(r, value, HONE_F32, true);
  hone_render_put_bounds(r, &clip);
  hone_str_append(r->out, ");\n");
  return true;
}
