/* Terms as source text: one line for each, in the order in which they need one
 * another, so that a term that is used twice is computed once. */
#include <math.h>
#include <string.h>

#include "base/float_convert.h"
#include "codegen/c_render.h"

hone_dtype_t hone_c_computing(hone_dtype_t dtype) {
  switch (dtype) {
    case HONE_I4:
    case HONE_I2:
      return HONE_I8;
    case HONE_U4:
    case HONE_U2:
      return HONE_U8;
    case HONE_F64:
      return HONE_F64;
    default:
      return hone_dtype_is_float(dtype) ? HONE_F32 : dtype;
  }
}

hone_dtype_t hone_c_stored(hone_dtype_t dtype) {
  if (hone_c_computing(dtype) == dtype) return dtype;
  return hone_dtype_size(dtype) == 2            ? HONE_U16
         : dtype == HONE_I4 || dtype == HONE_I2 ? HONE_I8
                                                : HONE_U8;
}

static bool is_narrow(hone_dtype_t dtype) { return hone_c_computing(dtype) != dtype; }

void hone_c_put_name(hone_c_render_t* render, const char* op, hone_dtype_t dtype, bool wide) {
  hone_str_appendf(&render->text, "hone_%s_%s%s", op, hone_dtype_name(dtype), wide ? "v" : "");
}

/* ---- lanes ---- */

bool hone_c_step(const hone_c_render_t* render, hone_dim_t d, int64_t* out_step) {
  *out_step = 0;
  return !render->vector || hone_dim_factor(d, render->vector->var, out_step);
}

/* Products of extents that are long sums may be too long for an expression:
 * the offset is bad then, and is put together as text. */
static hone_dim_t offset_of(const hone_c_render_t* render, const hone_buffer_t* buffer,
                            const hone_dim_t* index) {
  return hone_buffer_offset(render->kernel, buffer, index);
}

bool hone_c_access_step(const hone_c_render_t* render, const hone_buffer_t* buffer,
                        const hone_dim_t* index, int64_t* out_step) {
  hone_dim_t offset = offset_of(render, buffer, index);
  *out_step = 0;
  if (!hone_dim_is_bad(offset)) return hone_c_step(render, offset, out_step);
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_c_step(render, index[i], out_step) || (*out_step && i + 1 < buffer->rank))
      return false;
  return true;
}

static hone_dim_t first_lane(hone_c_render_t* render, hone_dim_t d) {
  if (!render->vector) return d;
  return hone_dim_replace(render->kernel->dims, d, render->n_symbols, render->to,
                          render->is_mapped);
}

void hone_c_put_dim(hone_c_render_t* render, hone_dim_t d) {
  if (hone_dim_is_bad(d))
    hone_c_fail(render, hone_status_make(HONE_UNSUPPORTED, "a size that is too long to write"));
  hone_c_dim(&render->text, first_lane(render, d));
}

/* "(((i) * (d1) + (j)) * (d2) + (k))" */
static void put_long_offset(hone_c_render_t* render, const hone_buffer_t* buffer,
                            const hone_dim_t* index) {
  for (int i = 0; i < buffer->rank; i++) hone_str_append_char(&render->text, '(');
  for (int i = 0; i < buffer->rank; i++) {
    if (i) hone_str_append(&render->text, " * ");
    if (i) hone_c_put_dim(render, buffer->dims[i]);
    if (i) hone_str_append(&render->text, " + ");
    hone_c_put_dim(render, index[i]);
    hone_str_append_char(&render->text, ')');
  }
}

void hone_c_put_address(hone_c_render_t* render, const hone_buffer_t* buffer,
                        const hone_dim_t* index) {
  hone_dim_t offset = first_lane(render, offset_of(render, buffer, index));
  hone_c_buffer(&render->text, buffer);
  if (hone_dim_is(offset, 0)) return;
  hone_str_append(&render->text, " + ");
  if (hone_dim_is_bad(offset))
    put_long_offset(render, buffer, index);
  else
    hone_c_dim(&render->text, offset);
}

/* A vector of a local array at a place that is known and aligned: compilers
 * keep it in a register where it is read and written as such. */
static bool is_own_vector(hone_c_render_t* render, const hone_buffer_t* buffer,
                          const hone_dim_t* index, bool wide) {
  int64_t step;
  if (!wide || buffer->space != HONE_SPACE_LOCAL || buffer->dtype != HONE_F32) return false;
  hone_dim_t offset = first_lane(render, offset_of(render, buffer, index));
  return hone_c_access_step(render, buffer, index, &step) && step == 1 && hone_dim_is_int(offset) &&
         offset.k % render->lanes == 0;
}

void hone_c_put_access(hone_c_render_t* render, const char* op, const hone_buffer_t* buffer,
                       const hone_dim_t* index, bool wide) {
  hone_c_put_name(render, op, buffer->dtype, wide);
  if (is_own_vector(render, buffer, index, wide)) hone_str_append(&render->text, "_own");
}

bool hone_c_is_wide(const hone_c_render_t* render, const hone_term_t* term) {
  int64_t step;
  if (!render->vector) return false;
  switch (term->kind) {
    case HONE_TERM_CONST:
      return false;
    case HONE_TERM_INDEX:
      return !hone_c_step(render, term->dim, &step) || step != 0;
    case HONE_TERM_LOAD:
      for (int i = 0; i < term->buffer->rank; i++)
        if (!hone_c_step(render, term->index[i], &step) || step != 0) return true;
      return false;
    case HONE_TERM_PRIM:
      break;
  }
  for (int i = 0; i < term->n_args; i++)
    if (hone_c_is_wide(render, term->args[i])) return true;
  return false;
}

/* ---- leaves ---- */

static void put_float(hone_c_render_t* render, hone_dtype_t dtype, double value) {
  const char* suffix = dtype == HONE_F64 ? "" : "f";
  size_t start = render->text.size;
  if (isnan(value) || isinf(value)) {
    hone_str_appendf(&render->text, "%sHONE_%s", value < 0 ? "-" : "",
                     isnan(value) ? "NAN" : "INF");
    return;
  }
  if (signbit(value) && value == 0)
    hone_str_append(&render->text, "-0.0");
  else
    hone_str_append_double(&render->text, value);
  if (!render->text.failed && !strpbrk(render->text.data + start, ".e"))
    hone_str_append(&render->text, ".0");
  hone_str_append(&render->text, suffix);
}

static void put_const(hone_c_render_t* render, const hone_term_t* term) {
  int64_t value;
  hone_dtype_t dtype = term->dtype;
  if (hone_dtype_is_float(dtype)) {
    put_float(render, dtype, hone_to_double(dtype, term->bits));
    return;
  }
  hone_load_i64(dtype, term->bits, 0, 1, &value);
  if (dtype == HONE_U64 || dtype == HONE_U32)
    hone_str_appendf(&render->text, "%lluu", (unsigned long long)value);
  else if (value == INT64_MIN ||
           value == INT32_MIN) /* their literals would be positive and wider */
    hone_str_appendf(&render->text, "(%lld - 1)", (long long)value + 1);
  else
    hone_str_appendf(&render->text, "%lld", (long long)value);
}

static bool is_leaf(const hone_term_t* term) {
  return term->kind == HONE_TERM_CONST || term->kind == HONE_TERM_INDEX;
}

void hone_c_put_operand(hone_c_render_t* render, const hone_term_t* term, bool wide) {
  bool is_wide = hone_c_is_wide(render, term);
  hone_dtype_t dtype = hone_c_computing(term->dtype);
  if (wide && !is_wide) hone_c_put_name(render, "splat", dtype, true);
  if (wide && !is_wide) hone_str_append(&render->text, "(");
  if (term->kind == HONE_TERM_CONST)
    put_const(render, term);
  else if (term->kind == HONE_TERM_INDEX && !is_wide)
    hone_c_put_dim(render, term->dim);
  else
    hone_str_appendf(&render->text, "t%d", term->id);
  if (wide && !is_wide) hone_str_append(&render->text, ")");
}

/* ---- lines ---- */

static void check_dtype(hone_c_render_t* render, hone_dtype_t dtype) {
  if (!render->status && !render->dialect->has_dtype(render->dialect->self, dtype))
    hone_c_fail(render, hone_status_make(HONE_UNSUPPORTED, "no arithmetic of type %s",
                                         hone_dtype_name(dtype)));
}

static void put_load(hone_c_render_t* render, const hone_term_t* term, bool wide) {
  int64_t step = 0;
  if (wide && !hone_c_access_step(render, term->buffer, term->index, &step))
    hone_c_fail(render, hone_status_make(HONE_INTERNAL, "an irregular access in a vector"));
  hone_c_put_access(render, "load", term->buffer, term->index, wide);
  hone_str_append(&render->text, wide && step != 1 ? "_by(" : "(");
  hone_c_put_address(render, term->buffer, term->index);
  if (wide && step != 1) hone_str_appendf(&render->text, ", %lld", (long long)step);
  hone_str_append(&render->text, ")");
}

/* base + step * (0, 1, 2, …): the variable stands for its first lane. */
static void put_wide_index(hone_c_render_t* render, const hone_term_t* term) {
  int64_t step;
  if (!hone_c_step(render, term->dim, &step))
    hone_c_fail(render, hone_status_make(HONE_INTERNAL, "an irregular index in a vector"));
  if (step != 1) {
    hone_str_appendf(&render->text,
                     "hone_add_i64v(hone_mul_i64v(hone_iota_i64v(0), "
                     "hone_splat_i64v(%lld)), hone_splat_i64v(",
                     (long long)step);
    hone_c_put_dim(render, term->dim);
    hone_str_append(&render->text, "))");
    return;
  }
  hone_str_append(&render->text, "hone_iota_i64v(");
  hone_c_put_dim(render, term->dim);
  hone_str_append(&render->text, ")");
}

/* Gives values that the type has from values that it has: nothing to round. */
static bool is_exact(hone_prim_t prim) {
  return prim == HONE_PRIM_NEG || prim == HONE_PRIM_ABS || prim == HONE_PRIM_MIN ||
         prim == HONE_PRIM_MAX || prim == HONE_PRIM_FLOOR || prim == HONE_PRIM_ROUND ||
         prim == HONE_PRIM_REM || prim == HONE_PRIM_EQ || prim == HONE_PRIM_LT ||
         prim == HONE_PRIM_SELECT || prim == HONE_PRIM_CAST;
}

/* A cast into the computing type rounds as one into the type itself would. */
static void put_cast(hone_c_render_t* render, const hone_term_t* term, bool wide) {
  const hone_term_t* from = term->args[0];
  const char* round = term->dtype != HONE_F8E8M0           ? ""
                      : term->flags & HONE_FLAG_ROUND_UP   ? "_up"
                      : term->flags & HONE_FLAG_ROUND_DOWN ? "_down"
                                                           : "";
  bool is_float8 = hone_dtype_is_float(term->dtype) && hone_dtype_size(term->dtype) == 1;
  hone_str_appendf(&render->text, "hone_%s_%s%s%s_%s%s(", hone_prim_info(term->prim)->name,
                   hone_dtype_name(term->dtype), round,
                   is_float8 && term->flags & HONE_FLAG_SATURATE ? "_sat" : "",
                   hone_dtype_name(hone_c_computing(from->dtype)), wide ? "v" : "");
  hone_c_put_operand(render, from, wide);
  hone_str_append(&render->text, ")");
}

/* max(x, c) and min(x, c) are cheaper for a number c that is no NaN, and no zero that is
 * the result where x is the other one: of 0 and -0, 0 is the larger. */
static const char* function_name(const hone_term_t* term) {
  const char* name = hone_prim_info(term->prim)->name;
  bool is_extreme = term->prim == HONE_PRIM_MIN || term->prim == HONE_PRIM_MAX;
  if (!is_extreme || !hone_dtype_is_float(term->dtype)) return name;
  const hone_term_t* second = term->args[1];
  if (second->kind != HONE_TERM_CONST) return name;
  double value = hone_to_double(second->dtype, second->bits);
  if (isnan(value)) return name;
  bool is_min = term->prim == HONE_PRIM_MIN;
  if (value == 0 && !is_min && !signbit(value)) return "relu";
  if (value == 0 && is_min && signbit(value)) return name;
  return is_min ? "minc" : "maxc";
}

static void put_prim(hone_c_render_t* render, const hone_term_t* term, bool wide) {
  hone_dtype_t dtype =
      hone_c_computing(term->prim == HONE_PRIM_SELECT ? term->dtype : term->args[0]->dtype);
  const char* name = function_name(term);
  int n_args = strcmp(name, "relu") == 0 ? 1 : term->n_args;
  hone_c_put_name(render, name, dtype, wide);
  for (int i = 0; i < n_args; i++) {
    hone_str_append(&render->text, i ? ", " : "(");
    hone_c_put_operand(render, term->args[i], wide);
  }
  hone_str_append(&render->text, ")");
}

static void put_rounded(hone_c_render_t* render, const hone_term_t* term, bool wide) {
  bool rounds = is_narrow(term->dtype) && !is_exact(term->prim);
  if (rounds) hone_c_put_name(render, "round", term->dtype, wide);
  if (rounds) hone_str_append(&render->text, "(");
  if (term->prim == HONE_PRIM_CAST || term->prim == HONE_PRIM_BITCAST)
    put_cast(render, term, wide);
  else
    put_prim(render, term, wide);
  if (rounds) hone_str_append(&render->text, ")");
}

/* Bits of a type that is computed in another one are not at hand. */
static void check_bitcast(hone_c_render_t* render, const hone_term_t* term) {
  if (term->prim != HONE_PRIM_BITCAST) return;
  if (is_narrow(term->dtype) || is_narrow(term->args[0]->dtype) || term->dtype == HONE_BOOL ||
      term->args[0]->dtype == HONE_BOOL)
    hone_c_fail(render, hone_status_make(HONE_UNSUPPORTED, "bitcast from %s to %s",
                                         hone_dtype_name(term->args[0]->dtype),
                                         hone_dtype_name(term->dtype)));
}

void hone_c_compute(hone_c_render_t* render, const hone_term_t* term) {
  if (render->computed[term->id] == render->statement) return;
  render->computed[term->id] = render->statement;
  bool wide = hone_c_is_wide(render, term);
  check_dtype(render, term->dtype);
  if (is_leaf(term) && !wide) return;
  for (int i = 0; i < term->n_args; i++) hone_c_compute(render, term->args[i]);
  check_bitcast(render, term);
  hone_str_appendf(&render->text, "%*sconst hone_%s%s t%d = ", 2 * render->depth, "",
                   hone_dtype_name(hone_c_computing(term->dtype)), wide ? "v" : "", term->id);
  if (term->kind == HONE_TERM_LOAD)
    put_load(render, term, wide);
  else if (term->kind == HONE_TERM_INDEX)
    put_wide_index(render, term);
  else
    put_rounded(render, term, wide);
  hone_str_append(&render->text, ";\n");
}
