/* Four vectors that go to places by turns, as the channels of pixels do that lie apart where they
 * are read: one store of whole lines (prelude/cpu_vector_memory.inc). */
#include "backends/cpu/render_impl.h"

enum { FOUR = HONE_RENDER_FOUR };

static bool is_narrow(hone_dtype_t dtype) {
  return dtype == HONE_BF16 || dtype == HONE_U8 || dtype == HONE_I8;
}

/* Whether the store puts each lane four places behind the one before, beginning `place` behind
 * `first`. */
static bool goes_four_apart(hone_renderer_t* r, const hone_stmt_t* store, hone_dim_t first,
                            int place) {
  int64_t stride;
  hone_dim_t offset = hone_buffer_offset(r->kernel, store->buffer, store->index);
  return store->combine == HONE_COMBINE_SET &&
         hone_render_pattern(r, offset, &stride) == HONE_LANES_STRIDED && stride == FOUR &&
         hone_dim_is(hone_dim_sub(r->kernel->dims, offset, first), place);
}

/* Vectors of four lanes are turned (render_turned.c). */
static bool are_four(hone_renderer_t* r, const hone_stmt_t* const* stores, int n) {
  const hone_buffer_t* buffer = stores[0]->buffer;
  if (n < FOUR || r->lanes <= FOUR || !r->vector || hone_render_is_part(r) ||
      !is_narrow(buffer->dtype) || !hone_render_is_array(r, buffer))
    return false;
  hone_dim_t first = hone_buffer_offset(r->kernel, buffer, stores[0]->index);
  for (int i = 0; i < FOUR; i++)
    if (stores[i]->buffer != buffer || !goes_four_apart(r, stores[i], first, i)) return false;
  return true;
}

bool hone_render_store_four(hone_renderer_t* r, const hone_stmt_t* const* stores, int n,
                            hone_map_t* done) {
  hone_operand_t values[FOUR];
  const hone_buffer_t* buffer = stores[0]->buffer;
  if (!are_four(r, stores, n)) return false;
  for (int i = 0; i < FOUR; i++)
    values[i] = hone_render_term(r, hone_render_stored_term(r, stores[i]), done);
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, stores[0]->index);
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_store_four_%sv(", hone_dtype_name(buffer->dtype));
  hone_render_address(r, buffer, stores[0]->index, hone_render_first_lane(r, offset));
  for (int i = 0; i < FOUR; i++) {
    hone_str_append(r->out, ", ");
    hone_render_operand(r, values[i], buffer->dtype, true);
  }
  hone_str_append(r->out, ");\n");
  return true;
}
