/* Blocks of sums that matrix instructions add to: calls of functions of the prelude
 * (cpu_matrix.inc), which take distances in bytes. Where instructions have registers of their own
 * for sums, these stay there for all loops around that go on with the same ones. */
#include <inttypes.h>

#include "backends/cpu/render_impl.h"
#include "loop/block.h"

bool hone_render_is_block(const hone_stmt_t* loop) { return hone_block_of(loop) != NULL; }

/* Finds what the function takes; false when it cannot be written. */
static bool check(hone_renderer_t* r, const hone_stmt_t* loop, const hone_intrinsic_t* intrinsic,
                  hone_block_t* out) {
  bool is_block;
  r->status = hone_block_look(r->kernel, loop, intrinsic, &is_block, out);
  if (r->status) return false;
  if (!is_block) hone_render_refuse(r, "has a loop that is not its intrinsic");
  return !r->status &&
         hone_render_has_feature(r, loop, hone_intrinsic_text(intrinsic, "cpu")->feature);
}

static void put_operand(hone_renderer_t* r, const hone_operand_range_t* operand, int n,
                        const int64_t* distances) {
  hone_str_append(r->out, ", ");
  hone_render_address(r, operand->buffer, NULL, operand->offset);
  for (int i = 0; i < n; i++)
    hone_str_appendf(r->out, ", %" PRId64,
                     distances[i] * (int64_t)hone_dtype_size(operand->buffer->dtype));
}

static void put_sums(hone_renderer_t* r, const hone_block_t* block) {
  put_operand(r, &block->operands[2], 2, (const int64_t[]){block->c_row, block->c_vector});
}

/* Of sums that stay: rows in two parts. `all_alike`: all of them begin with the first one. */
static void put_parts(hone_renderer_t* r, const hone_block_t* block, bool all_alike) {
  put_operand(r, &block->operands[2], 3,
              (const int64_t[]){all_alike ? 0 : block->c_row, all_alike ? 0 : block->c_next,
                                block->c_vector});
}

/* The same of sums that begin with what lies in memory. */
static void put_memory(hone_renderer_t* r, const hone_term_t* load) {
  hone_str_append(r->out, ", ");
  hone_render_address(r, load->buffer, NULL, r->begins_at);
  hone_str_appendf(r->out, ", 0, 0, %zu", (size_t)r->lanes * hone_dtype_size(load->buffer->dtype));
}

static void put_rows(hone_renderer_t* r, const hone_block_t* block) {
  hone_str_appendf(r->out, "%" PRId64 ", %" PRId64 ", %" PRId64, block->rows, block->first,
                   block->vectors);
}

void hone_render_block(hone_renderer_t* r, const hone_stmt_t* loop) {
  hone_block_t block;
  const hone_intrinsic_t* intrinsic = hone_block_of(loop);
  if (r->status || !check(r, loop, intrinsic, &block)) return;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "%s(", hone_intrinsic_text(intrinsic, "cpu")->text);
  if (intrinsic->block.keeps)
    put_rows(r, &block);
  else
    hone_str_appendf(r->out, "%" PRId64 ", %" PRId64, block.rows, block.vectors);
  hone_str_appendf(r->out, ", %" PRId64 ", %" PRId64, block.steps,
                   hone_block_depth(intrinsic, block.steps));
  put_operand(r, &block.operands[0], intrinsic->block.keeps ? 2 : 1,
              (const int64_t[]){block.a_row, block.a_next});
  put_operand(r, &block.operands[1], 2, (const int64_t[]){block.b_step, block.b_vector});
  if (!intrinsic->block.keeps) put_sums(r, &block);
  hone_str_append(r->out, ");\n");
}

/* ---- sums that stay ---- */

static bool is_zero(const hone_term_t* value) {
  return value->kind == HONE_TERM_CONST && value->bits[0] == 0 && value->bits[1] == 0;
}

/* Whether it only asks for memory. */
static bool only_asks(const hone_stmt_t* stmt) {
  bool asks = stmt->kind == HONE_STMT_LOOP && stmt->n_body > 0;
  for (int i = 0; asks && i < stmt->n_body; i++) asks = only_asks(stmt->body[i]);
  return asks || stmt->kind == HONE_STMT_PREFETCH;
}

/* The loop in a body that has nothing else, but what asks for memory; NULL: it is not so. */
static const hone_stmt_t* only_loop(const hone_stmt_t* stmt) {
  const hone_stmt_t* found = NULL;
  for (int i = 0; i < stmt->n_body; i++) {
    if (only_asks(stmt->body[i])) continue;
    if (found || stmt->body[i]->kind != HONE_STMT_LOOP) return NULL;
    found = stmt->body[i];
  }
  return found;
}

/* The block in a nest of loops that only surround it; NULL: there is none, or none whose sums
 * stay. */
static const hone_stmt_t* block_inside(const hone_stmt_t* stmt) {
  while (stmt && stmt->kind == HONE_STMT_LOOP && !hone_block_of(stmt))
    stmt = stmt->loop == HONE_LOOP_SERIAL && !stmt->intrinsic ? only_loop(stmt) : NULL;
  return stmt && stmt->kind == HONE_STMT_LOOP && hone_block_of(stmt)->block.keeps ? stmt : NULL;
}

/* Whether the statement is a nest of loops that all add to the same sums, a block's. */
static bool keeps_sums(hone_renderer_t* r, const hone_stmt_t* stmt, hone_block_t* out) {
  const hone_stmt_t* inner = r->status ? NULL : block_inside(stmt);
  if (!inner || !check(r, inner, hone_block_of(inner), out)) return false;
  for (const hone_stmt_t* s = inner; s != stmt; s = s->parent)
    if (hone_dim_uses(out->operands[2].offset, s->parent->var)) return false;
  return true;
}

bool hone_render_open_sums(hone_renderer_t* r, const hone_stmt_t* loop, hone_block_t* out) {
  if (r->has_sums || !keeps_sums(r, loop, out)) return false;
  const hone_intrinsic_t* intrinsic = hone_block_of(block_inside(loop));
  if (!r->keeper) hone_str_append(r->head, "  long hone_shaped = 0;\n");
  r->keeper = intrinsic->block.keeps;
  r->has_sums = true;
  bool is_alike = r->begins_alike == loop;
  const hone_term_t* with = is_alike ? r->begins_with : NULL;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "%s_%s(&hone_shaped, ", r->keeper,
                   with && is_zero(with) ? "clear" : "open");
  put_rows(r, out);
  hone_str_appendf(r->out, ", %" PRId64 ", %" PRId64, out->lanes,
                   hone_block_depth(intrinsic, out->steps));
  if (!with)
    put_parts(r, out, is_alike);
  else if (!is_zero(with))
    put_memory(r, with);
  hone_str_append(r->out, ");\n");
  return true;
}

void hone_render_close_sums(hone_renderer_t* r, const hone_block_t* block) {
  r->has_sums = false;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "%s_close(", r->keeper);
  put_rows(r, block);
  put_parts(r, block, false);
  hone_str_append(r->out, ");\n");
}

void hone_render_end_sums(hone_renderer_t* r) {
  if (r->keeper) hone_str_appendf(r->out, "  %s_end(hone_shaped);\n", r->keeper);
}

/* Whether in each round of the loop over rows an offset, where `vector` begins, is that of the
 * block's row. */
static bool goes_with_rows(hone_renderer_t* r, const hone_stmt_t* rows, const hone_block_t* block,
                           hone_dim_t offset, hone_dim_t first) {
  hone_dims_t* dims = r->kernel->dims;
  for (int64_t round = 0; round < block->used; round++) {
    int64_t way = round / block->part * block->c_part + round % block->part * block->c_row;
    hone_dim_t now = hone_dim_replace_symbol(dims, offset, rows->var, hone_dim_int(round));
    if (!hone_dim_same(now, hone_dim_add(dims, first, hone_dim_int(way)))) return false;
  }
  return true;
}

/* Whether the loop stores a vector of a row of sums, the same in each of its rounds. */
static bool stores_alike(hone_renderer_t* r, const hone_stmt_t* rows, const hone_stmt_t* vector,
                         const hone_block_t* block, int64_t at) {
  hone_dims_t* dims = r->kernel->dims;
  if (vector->kind != HONE_STMT_LOOP || vector->loop != HONE_LOOP_VECTOR || vector->n_body != 1 ||
      !hone_dim_is(vector->extent, r->lanes))
    return false;
  const hone_stmt_t* store = vector->body[0];
  const hone_operand_range_t* c = &block->operands[2];
  if (store->kind != HONE_STMT_STORE || store->is_reduction || store->buffer != c->buffer ||
      hone_term_uses(store->value, rows->var))
    return false;
  hone_dim_t first = hone_dim_add(dims, c->offset, hone_dim_int(at * block->c_vector));
  return goes_with_rows(r, rows, block, hone_buffer_offset(r->kernel, store->buffer, store->index),
                        hone_dim_add(dims, first, vector->var));
}

/* Whether a vector of sums begins with what lies in memory `at` vectors behind `first`. */
static bool lies_there(hone_renderer_t* r, const hone_stmt_t* vector, const hone_term_t* first,
                       hone_dim_t offset, int64_t at) {
  hone_dims_t* dims = r->kernel->dims;
  const hone_term_t* load = vector->body[0]->value;
  if (load->kind != HONE_TERM_LOAD || load->buffer != first->buffer || load->buffer->packing ||
      load->buffer->dtype != vector->body[0]->buffer->dtype ||
      load->buffer->space != HONE_SPACE_GLOBAL)
    return false;
  hone_dim_t wanted = hone_dim_add(dims, offset, hone_dim_int(at * r->lanes));
  return hone_dim_same(hone_buffer_offset(r->kernel, load->buffer, load->index),
                       hone_dim_add(dims, wanted, vector->var));
}

/* Whether tiles can be loaded with what all rows begin with, or set to 0, without a store. A load
 * that follows stores to the same lines waits for these and for all in front of them. */
static bool needs_no_store(hone_renderer_t* r, const hone_stmt_t* rows) {
  const hone_stmt_t* vector = rows->body[0];
  const hone_term_t* first = vector->body[0]->value;
  bool are_zero = true, lie_there = first->kind == HONE_TERM_LOAD;
  if (lie_there) {
    hone_dim_t offset = hone_buffer_offset(r->kernel, first->buffer, first->index);
    r->begins_at = hone_dim_replace_symbol(r->kernel->dims, offset, vector->var, hone_dim_int(0));
  }
  for (int i = 0; i < rows->n_body; i++) {
    are_zero &= is_zero(rows->body[i]->body[0]->value);
    lie_there = lie_there && lies_there(r, rows->body[i], first, r->begins_at, i);
  }
  r->begins_with = are_zero || lie_there ? first : NULL;
  return r->begins_with != NULL;
}

int hone_render_begin_alike(hone_renderer_t* r, const hone_stmt_t* rows, const hone_stmt_t* next) {
  hone_block_t block;
  if (r->has_sums || rows->kind != HONE_STMT_LOOP || rows->loop != HONE_LOOP_SERIAL ||
      rows->intrinsic || !keeps_sums(r, next, &block))
    return -1;
  if (!hone_dim_is(rows->extent, block.used) || rows->n_body != block.vectors) return -1;
  for (int i = 0; i < rows->n_body; i++)
    if (!stores_alike(r, rows, rows->body[i], &block, i)) return -1;
  r->begins_alike = next;
  return needs_no_store(r, rows) ? 0 : 1;
}
