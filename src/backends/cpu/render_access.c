/* Loads and stores, and how local buffers are kept. */
#include <inttypes.h>
#include <string.h>

#include "backends/cpu/render_impl.h"
#include "base/memory.h"

/* ---- how an offset moves with the lanes ---- */

hone_lane_pattern_t hone_render_pattern(const hone_renderer_t* r, hone_dim_t offset,
                                        int64_t* out_stride) {
  *out_stride = 0;
  if (!r->vector) return HONE_LANES_SAME;
  if (!hone_dim_factor(offset, r->vector->var, out_stride)) return HONE_LANES_ANY;
  return *out_stride == 0   ? HONE_LANES_SAME
         : *out_stride == 1 ? HONE_LANES_NEXT
                            : HONE_LANES_STRIDED;
}

hone_dim_t hone_render_first_lane(hone_renderer_t* r, hone_dim_t offset) {
  if (!r->vector) return offset;
  return hone_dim_replace_symbol(r->kernel->dims, offset, r->vector->var, hone_dim_int(0));
}

bool hone_render_is_part(const hone_renderer_t* r) {
  return r->vector && hone_dim_is_int(r->vector->extent) && r->vector->extent.k < r->lanes;
}

/* Whether half a vector holds the lanes of the loop around. */
static bool fills_half(const hone_renderer_t* r) {
  return hone_render_is_part(r) && 2 * r->vector->extent.k <= r->lanes;
}

/* Whether there are elements for all lanes, from this one on, so that those of no round
 * do no harm when they are read. */
static bool has_whole_vector(hone_renderer_t* r, const hone_buffer_t* buffer,
                             const hone_dim_t* index) {
  if (buffer->rank == 0 || !hone_dim_is_int(buffer->dims[buffer->rank - 1])) return false;
  hone_dim_t first = hone_render_first_lane(r, index[buffer->rank - 1]);
  return hone_dim_max_value(first) <= buffer->dims[buffer->rank - 1].k - r->lanes;
}

/* Whether a whole vector can be stored for a part of one: what the other lanes hit is there,
 * and nobody reads it. */
static bool may_store_whole(const hone_renderer_t* r, const hone_buffer_t* buffer,
                            hone_dim_t first) {
  if (buffer->space == HONE_SPACE_GLOBAL || !hone_dim_is_int(first)) return false;
  int64_t room = 1;
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_dim_is_int(buffer->dims[i]) || !hone_i64_mul(room, buffer->dims[i].k, &room))
      return false;
  return first.k + r->vector->extent.k >= r->ends[buffer->id] && first.k + r->lanes <= room;
}

/* ---- storage ---- */

typedef struct looking {
  hone_renderer_t* r;
  const hone_stmt_t* vector; /* around the statement that is visited */
} looking_t;

/* An access narrows what its buffer can be kept in. */
static void note_access(const looking_t* looking, const hone_buffer_t* buffer,
                        const hone_dim_t* index) {
  hone_renderer_t* r = looking->r;
  if (buffer->space == HONE_SPACE_GLOBAL) return;
  int64_t stride;
  hone_renderer_t at = *r;
  at.vector = looking->vector;
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, index);
  hone_lane_pattern_t pattern = hone_render_pattern(&at, offset, &stride);
  int64_t last = hone_dim_max_value(offset);
  if (last >= r->ends[buffer->id]) r->ends[buffer->id] = last == INT64_MAX ? last : last + 1;
  hone_storage_t want = HONE_STORAGE_ARRAY;
  hone_dim_t first = hone_render_first_lane(&at, offset);
  if (hone_dim_is_int(first) && pattern == HONE_LANES_SAME) want = HONE_STORAGE_SCALARS;
  if (hone_dim_is_int(first) && pattern == HONE_LANES_NEXT && first.k % r->lanes == 0)
    want = HONE_STORAGE_VECTORS;
  hone_storage_t* storage = &r->storage[buffer->id];
  bool is_first = !r->scopes[buffer->id];
  if (is_first)
    *storage = want;
  else if (*storage != want)
    *storage = HONE_STORAGE_ARRAY;
  r->scopes[buffer->id] = r->kernel->root; /* seen */
}

static void look_at_term(const looking_t* looking, const hone_term_t* term) {
  if (term->kind == HONE_TERM_LOAD) note_access(looking, term->buffer, term->index);
  for (int i = 0; i < term->n_args; i++) look_at_term(looking, term->args[i]);
}

static void look_at(looking_t* looking, const hone_stmt_t* stmt) {
  const hone_stmt_t* vector = looking->vector;
  if (stmt->value) look_at_term(looking, stmt->value);
  if (stmt->buffer) note_access(looking, stmt->buffer, stmt->index);
  bool is_vector = stmt->kind == HONE_STMT_LOOP &&
                   (stmt->loop == HONE_LOOP_VECTOR || hone_render_intrinsic_text(stmt));
  if (is_vector) looking->vector = stmt;
  for (int i = 0; i < stmt->n_body; i++) look_at(looking, stmt->body[i]);
  looking->vector = vector;
}

void hone_render_storage(hone_renderer_t* r) {
  looking_t looking = {r, NULL};
  look_at(&looking, r->kernel->root);
  for (int i = 0; i < r->kernel->n_buffers; i++)
    r->scopes[i] = hone_buffer_scope(r->kernel, r->kernel->buffers[i]);
}

/* Most elements the buffer can have. */
static int64_t room_of(hone_renderer_t* r, const hone_buffer_t* buffer) {
  int64_t count = 1;
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_i64_mul(count, hone_dim_max_value(buffer->dims[i]), &count)) {
      hone_render_refuse(r, "has a local array without a bound");
      return 1;
    }
  return count > 0 ? count : 1;
}

static void declare(hone_renderer_t* r, const hone_buffer_t* buffer) {
  int64_t room = room_of(r, buffer);
  const char* computing = hone_dtype_name(hone_cpu_computing(buffer->dtype));
  hone_storage_t storage = r->storage[buffer->id];
  hone_c_indent(r->out, r->depth);
  if (storage == HONE_STORAGE_ARRAY) {
    hone_str_appendf(r->out, "%s ", hone_cpu_storage_type(buffer->dtype));
    hone_c_buffer(r->out, buffer);
    hone_str_appendf(r->out, "[%" PRId64 "] __attribute__((aligned(64)));\n", room);
    return;
  }
  int64_t each = storage == HONE_STORAGE_VECTORS ? r->lanes : 1;
  hone_str_appendf(r->out, "hone_%s%s ", computing, each > 1 ? "v" : "");
  for (int64_t i = 0; i * each < room; i++) {
    if (i) hone_str_append(r->out, ", ");
    hone_c_buffer(r->out, buffer);
    hone_str_appendf(r->out, "_%" PRId64, i);
  }
  hone_str_append(r->out, ";\n");
}

void hone_render_declarations(hone_renderer_t* r, const hone_stmt_t* scope) {
  for (int i = 0; i < r->kernel->n_buffers; i++)
    if (r->kernel->buffers[i]->space != HONE_SPACE_GLOBAL && r->scopes[i] == scope)
      declare(r, r->kernel->buffers[i]);
}

/* ---- loads ---- */

static void put_variable(hone_renderer_t* r, const hone_buffer_t* buffer, int64_t number) {
  hone_c_buffer(r->out, buffer);
  hone_str_appendf(r->out, "_%" PRId64, number);
}

/* An offset that is too long for one expression is written axis by axis. */
static void put_axes(hone_renderer_t* r, const hone_buffer_t* buffer, const hone_dim_t* index) {
  for (int i = 1; i < buffer->rank; i++) hone_str_append_char(r->out, '(');
  hone_c_dim(r->out, index[0]);
  for (int i = 1; i < buffer->rank; i++) {
    hone_str_append(r->out, " * ");
    hone_c_dim(r->out, buffer->dims[i]);
    hone_str_append(r->out, " + ");
    hone_c_dim(r->out, index[i]);
    hone_str_append_char(r->out, ')');
  }
}

void hone_render_address(hone_renderer_t* r, const hone_buffer_t* buffer, const hone_dim_t* index,
                         hone_dim_t offset) {
  hone_c_buffer(r->out, buffer);
  if (hone_dim_is(offset, 0)) return;
  hone_str_append(r->out, " + ");
  if (hone_dim_is_bad(offset))
    put_axes(r, buffer, index);
  else
    hone_c_dim(r->out, offset);
}

void hone_render_open_lanes(hone_renderer_t* r) {
  const hone_symbol_t* lane = hone_dim_as_symbol(r->vector->var);
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "for (long ");
  hone_c_symbol(r->out, lane);
  hone_str_append(r->out, " = 0; ");
  hone_c_symbol(r->out, lane);
  hone_str_appendf(r->out, " < %d; ", hone_render_is_part(r) ? (int)r->vector->extent.k : r->lanes);
  hone_c_symbol(r->out, lane);
  hone_str_append(r->out, "++) ");
}

hone_operand_t hone_render_fresh_lanes(hone_renderer_t* r, hone_dtype_t dtype) {
  hone_operand_t to = hone_render_fresh(r, dtype, true);
  hone_str_append(r->out, hone_render_is_part(r) ? " = {0};\n" : ";\n");
  return to;
}

static hone_operand_t load_any(hone_renderer_t* r, const hone_buffer_t* buffer,
                               const hone_dim_t* index, hone_dim_t offset) {
  hone_str_t* out = r->out;
  hone_operand_t to = hone_render_fresh_lanes(r, buffer->dtype);
  hone_render_open_lanes(r);
  hone_str_appendf(out, "t%d[", to.temporary);
  hone_c_symbol(out, hone_dim_as_symbol(r->vector->var));
  hone_str_appendf(out, "] = %shone_load_%s(", buffer->dtype == HONE_BOOL ? "-" : "",
                   hone_dtype_name(buffer->dtype));
  hone_render_address(r, buffer, index, offset);
  hone_str_append(out, ");\n");
  return to;
}

static hone_operand_t load_variable(hone_renderer_t* r, const hone_buffer_t* buffer,
                                    hone_dim_t first, bool is_vector) {
  hone_operand_t to = hone_render_fresh(r, buffer->dtype, is_vector);
  hone_str_append(r->out, " = ");
  put_variable(r, buffer, is_vector ? first.k / r->lanes : first.k);
  hone_str_append(r->out, ";\n");
  return to;
}

hone_operand_t hone_render_load(hone_renderer_t* r, const hone_buffer_t* buffer,
                                const hone_dim_t* index) {
  int64_t stride;
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, index);
  hone_lane_pattern_t pattern = hone_render_pattern(r, offset, &stride);
  if (buffer->packing && buffer->packing->is_sparse)
    hone_render_refuse(r, "reads elements of a sparse packing");
  if (buffer->packing && buffer->packing->in_nibbles)
    hone_render_refuse(r, "reads elements of words of nibbles");
  hone_dim_t first = pattern == HONE_LANES_ANY ? offset : hone_render_first_lane(r, offset);
  bool is_vector = pattern != HONE_LANES_SAME;
  if (buffer->space != HONE_SPACE_GLOBAL && r->storage[buffer->id] != HONE_STORAGE_ARRAY)
    return load_variable(r, buffer, first, is_vector);
  if (pattern == HONE_LANES_ANY || stride < 0 ||
      (pattern == HONE_LANES_STRIDED && hone_render_is_part(r)))
    return load_any(r, buffer, index, offset);
  bool is_short =
      pattern == HONE_LANES_NEXT && hone_render_is_part(r) && !has_whole_vector(r, buffer, index);
  hone_operand_t to = hone_render_fresh(r, buffer->dtype, is_vector);
  hone_str_appendf(r->out, " = hone_load_%s%s(", hone_dtype_name(buffer->dtype),
                   pattern == HONE_LANES_SAME   ? ""
                   : is_short                   ? "v_n"
                   : pattern == HONE_LANES_NEXT ? "v"
                                                : "v_by");
  hone_render_address(r, buffer, index, first);
  if (pattern == HONE_LANES_STRIDED) hone_str_appendf(r->out, ", %" PRId64, stride);
  if (is_short) hone_str_appendf(r->out, ", %" PRId64, r->vector->extent.k);
  hone_str_append(r->out, ");\n");
  return to;
}

/* ---- stores ---- */

static const char* combine_name(hone_combine_t combine) {
  return combine == HONE_COMBINE_ADD   ? "add"
         : combine == HONE_COMBINE_MUL ? "mul"
         : combine == HONE_COMBINE_MIN ? "min"
                                       : "max";
}

/* The product of a term that is added: it may be one instruction. */
static bool is_product(const hone_stmt_t* stmt) {
  hone_dtype_t dtype = stmt->value->dtype;
  return stmt->combine == HONE_COMBINE_ADD && stmt->value->kind == HONE_TERM_PRIM &&
         stmt->value->prim == HONE_PRIM_MUL && (dtype == HONE_F32 || dtype == HONE_F64);
}

/* Which factor of a product is one number in memory for all lanes, where the product itself can
 * take it from there, as by vectors of 64 bytes; -1: neither. */
static int find_splat(const hone_renderer_t* r, const hone_term_t* product) {
  enum { WIDE_LANES = 16 };
  int64_t stride;
  for (int i = 0; i < 2 && product->dtype == HONE_F32 && r->lanes == WIDE_LANES; i++) {
    const hone_term_t* factor = product->args[i];
    const hone_buffer_t* buffer = factor->kind == HONE_TERM_LOAD ? factor->buffer : NULL;
    if (!buffer || buffer->dtype != HONE_F32 || !hone_render_is_array(r, buffer) ||
        (buffer->packing && buffer->packing->is_sparse))
      continue;
    hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, factor->index);
    if (hone_render_pattern(r, offset, &stride) == HONE_LANES_SAME) return i;
  }
  return -1;
}

/* The old value and a product: one instruction, where there is one. */
static hone_operand_t add_product(hone_renderer_t* r, const hone_term_t* product,
                                  hone_operand_t old, hone_map_t* done) {
  hone_dtype_t dtype = product->dtype;
  bool wide = old.is_vector;
  int splat = wide ? find_splat(r, product) : -1, first = splat == 1;
  hone_operand_t a[2];
  for (int i = 0; i < 2; i++) {
    if (i == splat) continue;
    a[i] = hone_render_term(r, product->args[i], done);
    wide |= a[i].is_vector;
  }
  hone_operand_t to = hone_render_fresh(r, dtype, wide);
  bool half = wide && dtype == HONE_F32 && fills_half(r);
  hone_str_appendf(r->out, " = hone_fma_%s%s%s%s(", hone_dtype_name(dtype), wide ? "v" : "",
                   half ? "_half" : "", splat >= 0 ? "_of" : "");
  const hone_term_t* number = product->args[first];
  if (splat >= 0)
    hone_render_address(r, number->buffer, number->index,
                        hone_buffer_offset(r->kernel, number->buffer, number->index));
  else
    hone_render_operand(r, a[first], dtype, wide);
  hone_str_append(r->out, ", ");
  hone_render_operand(r, a[!first], dtype, wide);
  hone_str_append(r->out, ", ");
  hone_render_operand(r, old, dtype, wide);
  hone_str_append(r->out, ");\n");
  return to;
}

/* What the element will be: old value and term combined. */
static hone_operand_t combined(hone_renderer_t* r, const hone_stmt_t* stmt, hone_operand_t old,
                               hone_map_t* done) {
  const hone_term_t* value = stmt->value;
  if (is_product(stmt)) return add_product(r, value, old, done);
  hone_dtype_t computing = hone_cpu_computing(value->dtype);
  hone_operand_t term = hone_render_term(r, value, done);
  bool wide = old.is_vector || term.is_vector;
  bool is_most = wide && stmt->combine == HONE_COMBINE_MAX && computing == HONE_F32;
  hone_operand_t to = hone_render_fresh(r, value->dtype, wide);
  hone_str_appendf(r->out, " = hone_%s_%s%s(", is_most ? "most" : combine_name(stmt->combine),
                   hone_dtype_name(computing), wide ? "v" : "");
  hone_render_operand(r, old, value->dtype, wide);
  hone_str_append(r->out, ", ");
  hone_render_operand(r, term, value->dtype, wide);
  hone_str_append(r->out, ");\n");
  return to;
}

/* Lanes that all go to one element are combined first. */
static hone_operand_t across_lanes(hone_renderer_t* r, const hone_stmt_t* stmt, hone_map_t* done) {
  const char* type = hone_dtype_name(hone_cpu_computing(stmt->value->dtype));
  hone_operand_t old = hone_render_load(r, stmt->buffer, stmt->index);
  hone_operand_t value = hone_render_term(r, stmt->value, done);
  hone_operand_t to = hone_render_fresh(r, stmt->value->dtype, false);
  const char* name = combine_name(stmt->combine);
  hone_str_appendf(r->out, " = hone_%s_%s(t%d, hone_reduce_%s_%sv(", name, type, old.temporary,
                   name, type);
  hone_render_operand(r, value, stmt->value->dtype, true);
  hone_str_append(r->out, "));\n");
  return to;
}

static void store_any(hone_renderer_t* r, const hone_stmt_t* stmt, hone_dim_t offset,
                      hone_operand_t value) {
  const hone_buffer_t* buffer = stmt->buffer;
  const hone_dim_t* index = stmt->index;
  hone_render_open_lanes(r);
  hone_str_appendf(r->out, "hone_store_%s(", hone_dtype_name(buffer->dtype));
  hone_render_address(r, buffer, index, offset);
  hone_str_appendf(r->out, ", t%d", value.temporary);
  if (value.is_vector) {
    hone_str_append_char(r->out, '[');
    hone_c_symbol(r->out, hone_dim_as_symbol(r->vector->var));
    hone_str_append(r->out, buffer->dtype == HONE_BOOL ? "] & 1" : "]");
  }
  hone_str_append(r->out, ");\n");
}

bool hone_render_is_flushed(const hone_stmt_t* stmt) {
  const hone_term_t* term = stmt->value;
  return stmt->combine == HONE_COMBINE_SET && term->dtype == stmt->buffer->dtype &&
         hone_term_flushes(term);
}

bool hone_render_is_array(const hone_renderer_t* r, const hone_buffer_t* buffer) {
  return buffer->space == HONE_SPACE_GLOBAL || r->storage[buffer->id] == HONE_STORAGE_ARRAY;
}

bool hone_render_is_half(hone_dtype_t dtype) { return dtype == HONE_BF16 || dtype == HONE_F16; }

/* Whether whole vectors go to every second place of 16 bits, as pairs of two of them do. */
static bool goes_two_apart(const hone_renderer_t* r, const hone_buffer_t* buffer,
                           hone_lane_pattern_t pattern, int64_t stride) {
  return pattern == HONE_LANES_STRIDED && stride == 2 && !hone_render_is_part(r) &&
         hone_render_is_half(buffer->dtype);
}

static void store_two_apart(hone_renderer_t* r, const hone_stmt_t* stmt, hone_dim_t first,
                            hone_operand_t value) {
  const hone_buffer_t* buffer = stmt->buffer;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_store_%s%sv_two_apart(", hone_dtype_name(buffer->dtype),
                   hone_render_is_flushed(stmt) ? "_flushed" : "");
  hone_render_address(r, buffer, stmt->index, first);
  hone_str_append(r->out, ", ");
  hone_render_operand(r, value, buffer->dtype, true);
  hone_str_append(r->out, ");\n");
}

void hone_render_store_value(hone_renderer_t* r, const hone_stmt_t* stmt, hone_operand_t value) {
  int64_t stride;
  const hone_buffer_t* buffer = stmt->buffer;
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, stmt->index);
  hone_lane_pattern_t pattern = hone_render_pattern(r, offset, &stride);
  hone_dim_t first = pattern == HONE_LANES_ANY ? offset : hone_render_first_lane(r, offset);
  bool wide = pattern != HONE_LANES_SAME;
  if (!wide && value.is_vector) {
    hone_render_refuse(r, "stores many lanes to one element");
    return;
  }
  bool in_memory = hone_render_is_array(r, buffer);
  if (in_memory && goes_two_apart(r, buffer, pattern, stride)) {
    store_two_apart(r, stmt, first, value);
    return;
  }
  if (in_memory && (pattern == HONE_LANES_ANY || pattern == HONE_LANES_STRIDED)) {
    store_any(r, stmt, offset, value);
    return;
  }
  bool is_short = in_memory && wide && hone_render_is_part(r) && !may_store_whole(r, buffer, first);
  hone_c_indent(r->out, r->depth);
  if (in_memory) {
    hone_str_appendf(r->out, "hone_store_%s%s%s(", hone_dtype_name(buffer->dtype),
                     wide && hone_render_is_flushed(stmt) ? "_flushed" : "",
                     is_short ? "v_n"
                     : wide   ? "v"
                              : "");
    hone_render_address(r, buffer, stmt->index, first);
    hone_str_append(r->out, ", ");
  } else {
    put_variable(r, buffer, wide ? first.k / r->lanes : first.k);
    hone_str_append(r->out, " = ");
  }
  hone_render_operand(r, value, buffer->dtype, wide);
  if (is_short) hone_str_appendf(r->out, ", %" PRId64, r->vector->extent.k);
  hone_str_append(r->out, in_memory ? ");\n" : ";\n");
}

const hone_term_t* hone_render_stored_term(const hone_renderer_t* r, const hone_stmt_t* stmt) {
  const hone_term_t* term = stmt->value;
  hone_dtype_t dtype = stmt->buffer->dtype;
  return hone_render_is_array(r, stmt->buffer) && hone_render_is_half(dtype) &&
                 term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_CAST &&
                 term->dtype == dtype && !(term->flags & ~HONE_FLAG_FLUSHES) &&
                 term->args[0]->dtype == HONE_F32
             ? term->args[0]
             : term;
}

/* The load whose numbers of 16 bits are copied, one by one or as vectors, which keep their bits:
 * converting them back and forth would take longer. NULL: it is something else. */
static const hone_term_t* find_copied(hone_renderer_t* r, const hone_stmt_t* stmt) {
  int64_t stride;
  const hone_term_t* from = stmt->value;
  if (stmt->combine != HONE_COMBINE_SET || from->kind != HONE_TERM_LOAD || hone_render_is_part(r) ||
      from->buffer->dtype != stmt->buffer->dtype || !hone_render_is_half(from->buffer->dtype) ||
      from->buffer->packing || !hone_render_is_array(r, from->buffer) ||
      !hone_render_is_array(r, stmt->buffer))
    return NULL;
  hone_dim_t source = hone_buffer_offset(r->kernel, from->buffer, from->index);
  return r->vector && hone_render_pattern(r, source, &stride) != HONE_LANES_NEXT ? NULL : from;
}

/* ", hone_load_u16(…)" */
static void put_copied(hone_renderer_t* r, const hone_term_t* from) {
  hone_dim_t source = hone_buffer_offset(r->kernel, from->buffer, from->index);
  hone_str_appendf(r->out, ", hone_load_u16%s(", r->vector ? "v" : "");
  hone_render_address(r, from->buffer, from->index, hone_render_first_lane(r, source));
  hone_str_append_char(r->out, ')');
}

/* False: it is no copy. */
static bool copy_bits(hone_renderer_t* r, const hone_stmt_t* stmt) {
  int64_t stride;
  const hone_term_t* from = find_copied(r, stmt);
  if (!from) return false;
  hone_dim_t place = hone_buffer_offset(r->kernel, stmt->buffer, stmt->index);
  hone_lane_pattern_t to = hone_render_pattern(r, place, &stride);
  bool apart = goes_two_apart(r, stmt->buffer, to, stride);
  if (r->vector && to != HONE_LANES_NEXT && !apart) return false;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_store_u16%s%s(", r->vector ? "v" : "", apart ? "_two_apart" : "");
  hone_render_address(r, stmt->buffer, stmt->index, hone_render_first_lane(r, place));
  put_copied(r, from);
  hone_str_append(r->out, ");\n");
  return true;
}

void hone_render_store(hone_renderer_t* r, const hone_stmt_t* stmt, hone_map_t* done) {
  int64_t stride;
  hone_operand_t value;
  if (copy_bits(r, stmt) || hone_render_store_clipped(r, stmt, done)) return;
  hone_dim_t offset = hone_buffer_offset(r->kernel, stmt->buffer, stmt->index);
  if (stmt->combine == HONE_COMBINE_SET) {
    value = hone_render_term(r, hone_render_stored_term(r, stmt), done);
  } else if (r->vector && hone_render_pattern(r, offset, &stride) == HONE_LANES_SAME) {
    value = across_lanes(r, stmt, done);
  } else {
    hone_operand_t old = hone_render_load(r, stmt->buffer, stmt->index);
    value = combined(r, stmt, old, done);
  }
  hone_render_store_value(r, stmt, value);
}

bool hone_render_may_pair(const hone_stmt_t* first, const hone_stmt_t* second) {
  const hone_buffer_t* buffer = first->buffer;
  return buffer && buffer == second->buffer && buffer->space == HONE_SPACE_GLOBAL &&
         first->combine == HONE_COMBINE_SET && second->combine == HONE_COMBINE_SET &&
         (hone_dtype_size(buffer->dtype) == 1 || buffer->dtype == HONE_I16 ||
          (hone_render_is_flushed(first) && hone_render_is_flushed(second)));
}

/* Whether whole vectors of both stand side by side. */
static bool are_side_by_side(hone_renderer_t* r, const hone_stmt_t* first,
                             const hone_stmt_t* second) {
  int64_t stride;
  hone_kernel_t* kernel = r->kernel;
  const hone_buffer_t* buffer = first->buffer;
  if (!r->vector || hone_render_is_part(r)) return false;
  hone_dim_t offset = hone_buffer_offset(kernel, buffer, first->index);
  hone_dim_t next = hone_buffer_offset(kernel, buffer, second->index);
  return hone_render_pattern(r, offset, &stride) == HONE_LANES_NEXT &&
         hone_dim_is(hone_dim_sub(kernel->dims, next, offset), r->lanes);
}

/* What the stores of a pair take, as numbers of a dtype. */
typedef struct pair {
  const char* name; /* of the function that stores both */
  hone_dtype_t dtype;
  hone_operand_t values[2];
  bool is_clipped;
  hone_clip_t clips[2];
} pair_t;

static void make_rounded_pair(hone_renderer_t* r, const hone_stmt_t* const stores[2],
                              hone_map_t* done, pair_t* pair) {
  hone_clip_t* clips = pair->clips;
  pair->dtype = HONE_F32;
  pair->is_clipped = hone_render_find_clip(r, stores[0], &clips[0]) &&
                     hone_render_find_clip(r, stores[1], &clips[1]) &&
                     clips[0].low == clips[1].low && clips[0].high == clips[1].high;
  pair->name = pair->is_clipped ? "pair_clipped" : "pair";
  for (int i = 0; i < 2; i++)
    pair->values[i] = hone_render_term(
        r, pair->is_clipped ? clips[i].held : hone_render_stored_term(r, stores[i]), done);
}

/* False: no function stores both. */
static bool make_pair(hone_renderer_t* r, const hone_stmt_t* const stores[2], hone_map_t* done,
                      pair_t* pair) {
  if (hone_render_is_flushed(stores[0])) {
    make_rounded_pair(r, stores, done, pair);
    return true;
  }
  *pair = (pair_t){.name = "bytes", .dtype = HONE_I32};
  hone_dtype_t byte = stores[0]->buffer->dtype == HONE_I8 ? HONE_I8 : HONE_U8;
  return hone_render_is_quantized(r, stores[0]->value, byte) &&
         hone_render_is_quantized(r, stores[1]->value, byte) &&
         hone_render_quantized_whole(r, stores[0]->value, done, &pair->values[0]) &&
         hone_render_quantized_whole(r, stores[1]->value, done, &pair->values[1]);
}

bool hone_render_store_pair(hone_renderer_t* r, const hone_stmt_t* first, const hone_stmt_t* second,
                            hone_map_t* done) {
  pair_t pair;
  const hone_buffer_t* buffer = first->buffer;
  if (!are_side_by_side(r, first, second) ||
      !make_pair(r, (const hone_stmt_t* const[]){first, second}, done, &pair))
    return false;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_store_%s_%sv(", pair.name, hone_dtype_name(buffer->dtype));
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, first->index);
  hone_render_address(r, buffer, first->index, hone_render_first_lane(r, offset));
  for (int i = 0; i < 2; i++) {
    hone_str_append(r->out, ", ");
    hone_render_operand(r, pair.values[i], pair.dtype, true);
  }
  if (pair.is_clipped) hone_render_put_bounds(r, &pair.clips[0]);
  hone_str_append(r->out, ");\n");
  return true;
}

/* Whether whole vectors of both go to every second place, by turns. */
static bool are_woven(hone_renderer_t* r, const hone_stmt_t* first, const hone_stmt_t* second) {
  int64_t stride;
  hone_kernel_t* kernel = r->kernel;
  const hone_buffer_t* buffer = first->buffer;
  if (!r->vector || buffer != second->buffer || buffer->dtype != HONE_BF16 ||
      !hone_render_is_array(r, buffer) || first->combine != HONE_COMBINE_SET ||
      second->combine != HONE_COMBINE_SET)
    return false;
  hone_dim_t offset = hone_buffer_offset(kernel, buffer, first->index);
  hone_dim_t next = hone_buffer_offset(kernel, buffer, second->index);
  hone_lane_pattern_t pattern = hone_render_pattern(r, offset, &stride);
  return goes_two_apart(r, buffer, pattern, stride) &&
         hone_dim_is(hone_dim_sub(kernel->dims, next, offset), 1);
}

bool hone_render_store_woven(hone_renderer_t* r, const hone_stmt_t* first,
                             const hone_stmt_t* second, hone_map_t* done) {
  const hone_stmt_t* stores[] = {first, second};
  const hone_term_t* copied[2];
  hone_operand_t values[2];
  if (!are_woven(r, first, second)) return false;
  for (int i = 0; i < 2; i++) copied[i] = find_copied(r, stores[i]);
  bool copies = copied[0] && copied[1];
  if (!copies && !(hone_render_is_flushed(first) && hone_render_is_flushed(second))) return false;
  for (int i = 0; i < 2 && !copies; i++)
    values[i] = hone_render_term(r, hone_render_stored_term(r, stores[i]), done);
  hone_dim_t offset = hone_buffer_offset(r->kernel, first->buffer, first->index);
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_store_woven_%sv(", copies ? "u16" : "bf16");
  hone_render_address(r, first->buffer, first->index, hone_render_first_lane(r, offset));
  for (int i = 0; i < 2; i++) {
    if (copies) {
      put_copied(r, copied[i]);
      continue;
    }
    hone_str_append(r->out, ", ");
    hone_render_operand(r, values[i], HONE_F32, true);
  }
  hone_str_append(r->out, ");\n");
  return true;
}
