/* Terms as C: one temporary each, so that what is shared is written once. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "backends/cpu/render_impl.h"
#include "base/float_convert.h"
#include "loop/quantized.h"

/* ---- types ---- */

hone_dtype_t hone_cpu_computing(hone_dtype_t dtype) {
  if (dtype == HONE_I4 || dtype == HONE_I2) return HONE_I8;
  if (dtype == HONE_U4 || dtype == HONE_U2) return HONE_U8;
  return hone_dtype_is_float(dtype) && dtype != HONE_F64 ? HONE_F32 : dtype;
}

bool hone_cpu_has_dtype(hone_dtype_t dtype) {
  return dtype != HONE_UNKNOWN && dtype != HONE_STRING && !hone_dtype_is_complex(dtype);
}

const char* hone_cpu_storage_type(hone_dtype_t dtype) {
  if (dtype == HONE_F32) return "hone_f32";
  if (dtype == HONE_F64) return "hone_f64";
  static const char* const by_size[] = {[1] = "hone_u8", [2] = "hone_u16"};
  if (hone_dtype_is_float(dtype)) return by_size[hone_dtype_size(dtype)];
  switch (hone_cpu_computing(dtype)) {
    case HONE_I8:
      return "hone_i8";
    case HONE_I16:
      return "hone_i16";
    case HONE_U16:
      return "hone_u16";
    case HONE_I32:
      return "hone_i32";
    case HONE_U32:
      return "hone_u32";
    case HONE_I64:
      return "hone_i64";
    case HONE_U64:
      return "hone_u64";
    default:
      return "hone_u8";
  }
}

static const char* type_name(hone_dtype_t dtype) {
  return hone_dtype_name(hone_cpu_computing(dtype));
}

/* Rounded after each operation. */
static bool is_narrow(hone_dtype_t dtype) { return hone_cpu_computing(dtype) != dtype; }

hone_operand_t hone_render_fresh(hone_renderer_t* r, hone_dtype_t dtype, bool is_vector) {
  hone_operand_t to = {r->n_temporaries++, is_vector};
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_%s%s t%d", type_name(dtype), is_vector ? "v" : "", to.temporary);
  return to;
}

void hone_render_operand(hone_renderer_t* r, hone_operand_t operand, hone_dtype_t dtype,
                         bool as_vector) {
  if (as_vector && !operand.is_vector)
    hone_str_appendf(r->out, "hone_splat_%sv(t%d)", type_name(dtype), operand.temporary);
  else
    hone_str_appendf(r->out, "t%d", operand.temporary);
}

/* ---- leaves ---- */

static void put_float(hone_renderer_t* r, hone_dtype_t dtype, double value) {
  bool is_double = dtype == HONE_F64;
  if (isnan(value))
    hone_str_append(r->out, "HONE_NAN");
  else if (isinf(value))
    hone_str_append(r->out, value < 0 ? "-HONE_INF" : "HONE_INF");
  else
    hone_str_appendf(r->out, "%a%s", value, is_double ? "" : "f");
}

static hone_operand_t render_const(hone_renderer_t* r, const hone_term_t* term) {
  hone_operand_t to = hone_render_fresh(r, term->dtype, false);
  int64_t number;
  hone_str_append(r->out, " = ");
  if (hone_dtype_is_float(term->dtype)) {
    put_float(r, term->dtype, hone_to_double(term->dtype, term->bits));
  } else {
    hone_load_i64(term->dtype, term->bits, 0, 1, &number);
    if (number == INT64_MIN)
      hone_str_append(r->out, "(-9223372036854775807l - 1)");
    else
      hone_str_appendf(r->out, "(hone_%s)%" PRId64 "l", type_name(term->dtype), number);
  }
  hone_str_append(r->out, ";\n");
  return to;
}

static hone_operand_t render_index(hone_renderer_t* r, const hone_term_t* term) {
  bool is_vector = r->vector && hone_dim_uses(term->dim, r->vector->var);
  if (!is_vector) {
    hone_operand_t one = hone_render_fresh(r, HONE_I64, false);
    hone_str_append(r->out, " = ");
    hone_c_dim(r->out, term->dim);
    hone_str_append(r->out, ";\n");
    return one;
  }
  hone_operand_t to = hone_render_fresh_lanes(r, HONE_I64);
  hone_render_open_lanes(r);
  hone_str_appendf(r->out, "t%d[", to.temporary);
  hone_c_symbol(r->out, hone_dim_as_symbol(r->vector->var));
  hone_str_append(r->out, "] = ");
  hone_c_dim(r->out, term->dim);
  hone_str_append(r->out, ";\n");
  return to;
}

/* ---- primitives ---- */

static void put_cast_name(hone_renderer_t* r, const hone_term_t* term) {
  hone_str_appendf(r->out, "hone_cast_%s", hone_dtype_name(term->dtype));
  bool is_scale = term->dtype == HONE_F8E8M0; /* the only type that is rounded on demand */
  if (is_scale && term->flags & HONE_FLAG_ROUND_UP) hone_str_append(r->out, "_up");
  if (is_scale && term->flags & HONE_FLAG_ROUND_DOWN) hone_str_append(r->out, "_down");
  if (term->flags & HONE_FLAG_SATURATE && hone_dtype_is_float(term->dtype) &&
      hone_dtype_bits(term->dtype) == 8)
    hone_str_append(r->out, "_sat");
  hone_str_appendf(r->out, "_%s", type_name(term->args[0]->dtype));
}

/* A conversion that changes nothing: the value lives in that type already. */
static bool is_free_cast(const hone_term_t* term) {
  return term->prim == HONE_PRIM_CAST && hone_cpu_computing(term->args[0]->dtype) == term->dtype;
}

static void put_function(hone_renderer_t* r, const hone_term_t* term, bool wide) {
  /* Comparisons are named by what they compare. */
  hone_dtype_t dtype = term->prim == HONE_PRIM_SELECT ? term->dtype : term->args[0]->dtype;
  if (term->prim == HONE_PRIM_CAST)
    put_cast_name(r, term);
  else
    hone_str_appendf(r->out, "hone_%s_%s", hone_prim_info(term->prim)->name, type_name(dtype));
  if (wide) hone_str_append_char(r->out, 'v');
}

static hone_operand_t round_narrow(hone_renderer_t* r, const hone_term_t* term,
                                   hone_operand_t value) {
  hone_operand_t to = hone_render_fresh(r, term->dtype, value.is_vector);
  hone_str_appendf(r->out, " = hone_round_%s%s(t%d);\n", hone_dtype_name(term->dtype),
                   value.is_vector ? "v" : "", value.temporary);
  return to;
}

/* Whether lanes hold the bits that memory does. */
static bool is_stored_as_computed(hone_dtype_t dtype) {
  return hone_dtype_size(dtype) >= 4 && !hone_dtype_is_complex(dtype);
}

static hone_operand_t render_bitcast(hone_renderer_t* r, const hone_term_t* term,
                                     hone_operand_t from) {
  const hone_term_t* x = term->args[0];
  hone_operand_t to = hone_render_fresh(r, term->dtype, from.is_vector);
  if (from.is_vector && is_stored_as_computed(x->dtype) && is_stored_as_computed(term->dtype)) {
    hone_str_appendf(r->out, " = (hone_%sv)t%d;\n", type_name(term->dtype), from.temporary);
    return to;
  }
  hone_str_append(r->out, ";\n");
  hone_c_indent(r->out, r->depth);
  const char* v = from.is_vector ? "v" : "";
  hone_str_appendf(r->out, "{ %s bits[%d]; hone_store_%s%s(bits, t%d); ",
                   hone_cpu_storage_type(x->dtype), from.is_vector ? r->lanes : 1,
                   hone_dtype_name(x->dtype), v, from.temporary);
  hone_str_appendf(r->out, "t%d = hone_load_%s%s(bits); }\n", to.temporary,
                   hone_dtype_name(term->dtype), v);
  return to;
}

/* The value that a cast of a float to 8 bits, here behind one to 32, is made of; NULL: it is
 * something else. It need not become bytes on the way. */
static const hone_term_t* by_bytes(const hone_term_t* term) {
  const hone_term_t* byte = term->n_args ? term->args[0] : NULL;
  bool is_pair = term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_CAST &&
                 term->dtype == HONE_I32 && byte->kind == HONE_TERM_PRIM &&
                 byte->prim == HONE_PRIM_CAST && byte->args[0]->dtype == HONE_F32;
  return is_pair && (byte->dtype == HONE_U8 || byte->dtype == HONE_I8) ? byte->args[0] : NULL;
}

static hone_operand_t render_by_bytes(hone_renderer_t* r, const hone_term_t* term,
                                      const hone_term_t* x, hone_map_t* done) {
  hone_operand_t from = hone_render_term(r, x, done);
  hone_operand_t to = hone_render_fresh(r, HONE_I32, from.is_vector);
  hone_str_appendf(r->out, " = hone_cast_i32_%s_f32%s(t%d);\n", type_name(term->args[0]->dtype),
                   from.is_vector ? "v" : "", from.temporary);
  return to;
}

/* Places of 32 bits in consecutive lanes, which are not made of 64 bits first. */
static bool is_place(const hone_renderer_t* r, const hone_term_t* term) {
  int64_t step;
  return term->prim == HONE_PRIM_CAST && term->dtype == HONE_I32 && r->vector &&
         term->args[0]->kind == HONE_TERM_INDEX &&
         hone_dim_factor(term->args[0]->dim, r->vector->var, &step) && step == 1;
}

static hone_operand_t render_places(hone_renderer_t* r, const hone_term_t* term) {
  hone_operand_t to = hone_render_fresh(r, HONE_I32, true);
  hone_str_append(r->out, " = hone_iota_i32v((hone_i32)(");
  hone_c_dim(r->out, hone_dim_replace_symbol(r->kernel->dims, term->args[0]->dim, r->vector->var,
                                             hone_dim_int(0)));
  hone_str_append(r->out, "));\n");
  return to;
}

/* Which operand of a minimum or maximum is a number, neither NaN nor the smaller of both zeros
 * for a minimum; -1: none is. Then it is simpler. */
static int find_bound(const hone_term_t* term) {
  if (!hone_dtype_is_float(term->dtype)) return -1;
  for (int i = 0; i < 2; i++) {
    const hone_term_t* bound = term->args[i];
    if (bound->kind != HONE_TERM_CONST) continue;
    double value = hone_to_double(bound->dtype, bound->bits);
    bool is_least = term->prim == HONE_PRIM_MIN && value == 0 && signbit(value);
    if (!isnan(value) && !is_least) return i;
  }
  return -1;
}

static hone_operand_t render_bound(hone_renderer_t* r, const hone_term_t* term, int bound,
                                   hone_map_t* done) {
  hone_operand_t x = hone_render_term(r, term->args[1 - bound], done);
  hone_operand_t c = hone_render_term(r, term->args[bound], done);
  hone_operand_t to = hone_render_fresh(r, term->dtype, x.is_vector);
  hone_str_appendf(r->out, " = hone_%s_%s%s(t%d, ", term->prim == HONE_PRIM_MAX ? "maxc" : "minc",
                   type_name(term->dtype), x.is_vector ? "v" : "", x.temporary);
  hone_render_operand(r, c, term->dtype, x.is_vector);
  hone_str_append(r->out, ");\n");
  return to;
}

/* What is simpler than an operation on its operands; false: it is not. */
static bool render_simpler(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done,
                           hone_operand_t* out) {
  if (hone_render_quantized(r, term, done, out)) return true;
  if (is_place(r, term)) {
    *out = render_places(r, term);
    return true;
  }
  if (hone_render_function(r, term, done, out)) return true;
  const hone_term_t* x = by_bytes(term);
  bool is_bound = term->prim == HONE_PRIM_MIN || term->prim == HONE_PRIM_MAX;
  int bound = is_bound ? find_bound(term) : -1;
  if (x)
    *out = render_by_bytes(r, term, x, done);
  else if (bound >= 0)
    *out = render_bound(r, term, bound, done);
  return x || bound >= 0;
}

static hone_operand_t render_prim(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done) {
  hone_operand_t args[3], simpler;
  bool wide = false;
  if (render_simpler(r, term, done, &simpler)) return simpler;
  for (int i = 0; i < term->n_args; i++) {
    args[i] = hone_render_term(r, term->args[i], done);
    wide |= args[i].is_vector;
  }
  if (is_free_cast(term)) return args[0];
  if (term->prim == HONE_PRIM_BITCAST) return render_bitcast(r, term, args[0]);
  hone_operand_t to = hone_render_fresh(r, term->dtype, wide);
  hone_str_append(r->out, " = ");
  put_function(r, term, wide);
  for (int i = 0; i < term->n_args; i++) {
    hone_str_append(r->out, i ? ", " : "(");
    hone_render_operand(r, args[i], term->args[i]->dtype, wide);
  }
  hone_str_append(r->out, ");\n");
  bool rounds = is_narrow(term->dtype) && term->prim != HONE_PRIM_CAST &&
                term->prim != HONE_PRIM_SELECT &&
                hone_prim_info(term->prim)->family != HONE_FAMILY_CAST;
  return rounds ? round_narrow(r, term, to) : to;
}

/* ---- once ---- */

static bool find_done(const hone_map_t* done, const hone_term_t* term, hone_operand_t* out) {
  uintptr_t known = (uintptr_t)hone_map_get_u64(done, (uint64_t)term->id);
  if (known) *out = (hone_operand_t){(int)((known - 1) >> 1), (known - 1) & 1};
  return known != 0;
}

hone_operand_t hone_render_note(hone_renderer_t* r, hone_map_t* done, const hone_term_t* term,
                                hone_operand_t to) {
  uintptr_t code = ((uintptr_t)to.temporary << 1 | to.is_vector) + 1;
  hone_status_t status = hone_map_put_u64(done, (uint64_t)term->id, (void*)code);
  if (status) {
    hone_status_free(status);
    r->kernel->out_of_memory = true;
  }
  return to;
}

hone_renderer_t hone_render_open_head(const hone_renderer_t* r) {
  hone_renderer_t head = *r;
  head.out = r->head;
  head.depth = 1;
  head.vector = NULL;
  return head;
}

void hone_render_close_head(hone_renderer_t* r, const hone_renderer_t* head) {
  r->n_temporaries = head->n_temporaries;
  r->status = head->status;
}

/* ---- all ---- */

static hone_operand_t compute(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done) {
  switch (term->kind) {
    case HONE_TERM_CONST:
      return render_const(r, term);
    case HONE_TERM_INDEX:
      return render_index(r, term);
    case HONE_TERM_LOAD:
      return hone_render_load(r, term->buffer, term->index);
    default:
      return render_prim(r, term, done);
  }
}

hone_operand_t hone_render_once(hone_renderer_t* r, const hone_term_t* term) {
  hone_operand_t to;
  if (find_done(r->once, term, &to)) return to;
  hone_renderer_t head = hone_render_open_head(r);
  to = compute(&head, term, r->once);
  hone_render_close_head(r, &head);
  return hone_render_note(r, r->once, term, to);
}

hone_operand_t hone_render_term(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done) {
  hone_operand_t to;
  if (find_done(done, term, &to)) return to;
  to = hone_term_is_read_once(term) ? hone_render_once(r, term) : compute(r, term, done);
  return hone_render_note(r, done, term, to);
}
