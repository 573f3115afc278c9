/* Blocks of sums that matrix instructions add to: calls of functions of the prelude
 * (cpu_matrix.inc), which take distances in bytes. */
#include <inttypes.h>

#include "backends/cpu/render_impl.h"
#include "loop/block.h"

static const hone_intrinsic_t* find_block(const hone_stmt_t* loop) {
  const hone_intrinsic_t* intrinsic = loop->intrinsic ? hone_intrinsic_find(loop->intrinsic) : NULL;
  return intrinsic && intrinsic->block.of ? intrinsic : NULL;
}

bool hone_render_is_block(const hone_stmt_t* loop) { return find_block(loop) != NULL; }

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

void hone_render_block(hone_renderer_t* r, const hone_stmt_t* loop) {
  hone_block_t block;
  const hone_intrinsic_t* intrinsic = find_block(loop);
  if (r->status || !check(r, loop, intrinsic, &block)) return;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "%s(%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64,
                   hone_intrinsic_text(intrinsic, "cpu")->text, block.rows, block.vectors,
                   block.steps, hone_block_depth(intrinsic, block.steps));
  put_operand(r, &block.operands[0], 1, &block.a_row);
  put_operand(r, &block.operands[1], 2, (const int64_t[]){block.b_step, block.b_vector});
  put_operand(r, &block.operands[2], 2, (const int64_t[]){block.c_row, block.c_vector});
  hone_str_append(r->out, ");\n");
}
