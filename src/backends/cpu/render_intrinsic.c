/* Loops that are one instruction: what they add to is kept in a vector, as the
 * results of a vector loop are, and their operands lie in memory. */
#include <inttypes.h>

#include "backends/cpu/render_impl.h"

const hone_intrinsic_text_t* hone_render_intrinsic_text(const hone_stmt_t* loop) {
  const hone_intrinsic_t* intrinsic = loop->intrinsic ? hone_intrinsic_find(loop->intrinsic) : NULL;
  return intrinsic && !intrinsic->block.of ? hone_intrinsic_text(intrinsic, "cpu") : NULL;
}

static const hone_stmt_t* innermost(const hone_stmt_t* stmt) {
  while (stmt->n_body) stmt = stmt->body[0];
  return stmt;
}

static void refuse(hone_renderer_t* r, const hone_stmt_t* loop, const char* feature) {
  if (r->status) return;
  r->status = hone_status_make(HONE_UNSUPPORTED,
                               "kernel '%s' uses the intrinsic %s, which needs %s; the target %s "
                               "has none of it",
                               r->kernel->name, loop->intrinsic, feature, r->target->name);
}

bool hone_render_has_feature(hone_renderer_t* r, const hone_stmt_t* loop, const char* feature) {
  if (!hone_target_has(r->target, feature)) refuse(r, loop, feature);
  return !r->status;
}

/* Where the operand's element lies: two nibbles take a byte. */
static hone_dim_t place_of(hone_renderer_t* r, const hone_operand_range_t* operand) {
  const hone_packing_t* packing = operand->buffer->packing;
  return packing && packing->in_nibbles
             ? hone_dim_floordiv(r->kernel->dims, operand->offset, hone_dim_int(2))
             : operand->offset;
}

/* The text with its operands: pointers, but the sums as a vector. */
static void put_text(hone_renderer_t* r, const char* text, hone_operand_t sums,
                     const hone_operand_range_t* operands, const hone_buffer_t* output) {
  int64_t lanes = hone_dim_max_value(r->vector->extent);
  for (const char* at = text; *at; at++) {
    if (*at != '$') {
      hone_str_append_char(r->out, *at);
      continue;
    }
    switch (*++at) {
      case 's':
        hone_str_appendf(r->out, "%" PRId64, operands[0].step);
        continue;
      case 'n':
        hone_str_appendf(r->out, "%" PRId64, lanes);
        continue;
      case 'h':
        hone_str_append(r->out, 2 * lanes <= r->lanes ? "_half" : "");
        continue;
      default:
        break;
    }
    const hone_operand_range_t* operand = &operands[*at - '0'];
    if (operand->buffer == output)
      hone_str_appendf(r->out, "t%d", sums.temporary);
    else
      hone_render_address(r, operand->buffer, NULL, place_of(r, operand));
  }
}

/* Whether the index is that of a whole vector's first lane and the loop's variable. Those of
 * loops of one round are zero. */
static bool begins_vector(const hone_renderer_t* r, hone_dim_t index, const hone_stmt_t* loop) {
  int64_t factor;
  hone_dims_t* dims = r->kernel->dims;
  hone_dim_t first = hone_dim_sub(dims, index, loop->var);
  for (const hone_stmt_t* s = loop->parent; s; s = s->parent)
    if (s->kind == HONE_STMT_LOOP && hone_dim_is(s->extent, 1) &&
        hone_dim_factor(first, s->var, &factor))
      first = hone_dim_sub(dims, first, hone_dim_mul(dims, s->var, hone_dim_int(factor)));
  return hone_dim_is(hone_dim_mod(dims, first, hone_dim_int(r->lanes)), 0);
}

/* Whether the loop has a round for each lane of a vector, or fewer, and the others' operands are
 * there: weights that are laid out for whole vectors. */
static bool fits_vector(const hone_renderer_t* r, const hone_stmt_t* loop) {
  const hone_term_t* product = innermost(loop)->value;
  if (hone_dim_is(loop->extent, r->lanes)) return true;
  for (int i = 0; i < product->n_args && hone_dim_max_value(loop->extent) < r->lanes; i++) {
    const hone_term_t* load = product->args[i];
    while (load->kind == HONE_TERM_PRIM) load = load->args[0];
    int lane = load->kind == HONE_TERM_LOAD ? load->buffer->rank - 2 : -1;
    if (lane >= 0 && hone_dim_is_int(load->buffer->dims[lane]) &&
        load->buffer->dims[lane].k % r->lanes == 0 && begins_vector(r, load->index[lane], loop))
      return true;
  }
  return false;
}

/* Finds the operands; false when it cannot be written. */
static bool check(hone_renderer_t* r, const hone_stmt_t* loop, const hone_intrinsic_text_t* text,
                  hone_operand_range_t* out_operands) {
  bool matches;
  const hone_intrinsic_t* intrinsic = hone_intrinsic_find(loop->intrinsic);
  r->status = hone_intrinsic_match(r->kernel, loop, intrinsic, &matches, out_operands);
  if (r->status) return false;
  if (!matches) hone_render_refuse(r, "has a loop that is not its intrinsic");
  if (hone_render_has_feature(r, loop, text->feature) && !fits_vector(r, loop))
    refuse(r, loop, "vectors of another size");
  return !r->status;
}

void hone_render_intrinsic(hone_renderer_t* r, const hone_stmt_t* loop) {
  const hone_intrinsic_text_t* text = hone_render_intrinsic_text(loop);
  const hone_stmt_t* store = innermost(loop);
  hone_operand_range_t operands[HONE_MAX_OPERANDS];
  if (r->status || !check(r, loop, text, operands)) return;
  hone_c_indent(r->out, r->depth++);
  hone_str_append(r->out, "{\n");
  r->vector = loop;
  hone_operand_t old = hone_render_load(r, store->buffer, store->index);
  hone_operand_t sums = hone_render_fresh(r, store->buffer->dtype, true);
  hone_str_append(r->out, " = ");
  put_text(r, text->text, old, operands, store->buffer);
  hone_str_append(r->out, ";\n");
  hone_render_store_value(r, store, sums);
  r->vector = NULL;
  hone_c_indent(r->out, --r->depth);
  hone_str_append(r->out, "}\n");
}
