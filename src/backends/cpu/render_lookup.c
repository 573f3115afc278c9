/* Loops that look bytes up in a table of 256 (pass table), whole vectors at a time where the target
 * has an instruction for that:
 *
 *   for i { let x = u8 at[… + i]; out[… + i] = table[x] } */
#include "backends/cpu/render_impl.h"

enum { NUMBERS = 256, FLIP = 128 };

/* What a loop looks up; `flip`: numbers with a sign, whose least is the table's first. */
typedef struct lookup {
  const hone_term_t* at;
  const hone_buffer_t* table;
  const hone_stmt_t* store;
  hone_dim_t from, to; /* offsets where the loop's variable is 0 */
  int flip;
} lookup_t;

static bool is_prim(const hone_term_t* term, hone_prim_t prim, hone_dtype_t dtype) {
  return term->kind == HONE_TERM_PRIM && term->prim == prim && term->dtype == dtype;
}

static bool is_load(const hone_term_t* term, hone_dtype_t dtype) {
  return term->kind == HONE_TERM_LOAD && term->dtype == dtype &&
         term->buffer->space == HONE_SPACE_GLOBAL && !term->buffer->packing;
}

static bool is_number(const hone_term_t* term, uint64_t number) {
  return term->kind == HONE_TERM_CONST && term->bits[0] == number;
}

/* The byte that is looked up: u8, or u8(i32(i8) + 128). */
static bool find_byte(const hone_term_t* value, lookup_t* out) {
  const hone_term_t* byte = is_prim(value, HONE_PRIM_CAST, HONE_I64) ? value->args[0] : value;
  out->at = byte;
  out->flip = 0;
  if (is_load(byte, HONE_U8)) return true;
  const hone_term_t* sum = is_prim(byte, HONE_PRIM_CAST, HONE_U8) ? byte->args[0] : byte;
  if (!is_prim(sum, HONE_PRIM_ADD, HONE_I32) || !is_number(sum->args[1], FLIP) ||
      !is_prim(sum->args[0], HONE_PRIM_CAST, HONE_I32))
    return false;
  out->at = sum->args[0]->args[0];
  out->flip = FLIP;
  return is_load(out->at, HONE_I8);
}

static bool is_table(const hone_term_t* value, hone_dim_t place) {
  return (is_load(value, HONE_U8) || is_load(value, HONE_I8)) && value->buffer->rank == 1 &&
         hone_dim_is(value->buffer->dims[0], NUMBERS) && hone_dim_same(value->index[0], place);
}

/* Whether rounds of the loop reach one element after the other; gives where the first is. */
static bool goes_along(const hone_renderer_t* r, const hone_buffer_t* buffer,
                       const hone_dim_t* index, hone_dim_t var, hone_dim_t* out) {
  int64_t step;
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, index);
  if (hone_dim_is_bad(offset) || !hone_dim_factor(offset, var, &step) || step != 1) return false;
  *out = hone_dim_replace_symbol(r->kernel->dims, offset, var, hone_dim_int(0));
  return true;
}

static bool recognise(const hone_renderer_t* r, const hone_stmt_t* loop, lookup_t* out) {
  if (r->vector || !find_byte(loop->body[0]->value, out)) return false;
  const hone_stmt_t* store = out->store = loop->body[1];
  const hone_buffer_t* to = store->buffer;
  if (store->combine != HONE_COMBINE_SET || to->space != HONE_SPACE_GLOBAL ||
      !is_table(store->value, loop->body[0]->var) || to->dtype != store->value->dtype)
    return false;
  out->table = store->value->buffer;
  return goes_along(r, out->at->buffer, out->at->index, loop->var, &out->from) &&
         goes_along(r, to, store->index, loop->var, &out->to);
}

bool hone_render_lookup(hone_renderer_t* r, const hone_stmt_t* loop, const char* begin,
                        const char* end) {
  lookup_t l;
  if (!hone_target_has(r->target, "lookup_bytes") || !recognise(r, loop, &l)) return false;
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "hone_lookup_bytes(");
  hone_render_address(r, l.store->buffer, l.store->index, l.to);
  hone_str_append(r->out, ", ");
  hone_render_address(r, l.at->buffer, l.at->index, l.from);
  hone_str_append(r->out, ", ");
  hone_c_buffer(r->out, l.table);
  hone_str_appendf(r->out, ", %s, ", begin);
  if (end)
    hone_str_append(r->out, end);
  else
    hone_c_dim(r->out, loop->extent);
  hone_str_appendf(r->out, ", %d);\n", l.flip);
  return true;
}
