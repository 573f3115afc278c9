/* Recognising blocks of sums. */
#include "loop/block.h"

int64_t hone_block_depth(const hone_intrinsic_t* intrinsic, int64_t steps) {
  int64_t depth = intrinsic->block.depth;
  while (depth > 0 && steps % depth) depth--;
  return depth >= intrinsic->block.least ? depth : 0;
}

/* How far a loop moves in each operand, which then are where it begins. */
static bool take_moves(hone_kernel_t* kernel, const hone_stmt_t* loop,
                       hone_operand_range_t* operands, int64_t moves[3]) {
  for (int i = 0; i < 3; i++) {
    hone_dim_t offset = operands[i].offset;
    if (!hone_dim_factor(offset, loop->var, &moves[i])) return false;
    hone_dim_t part = hone_dim_mul(kernel->dims, loop->var, hone_dim_int(moves[i]));
    operands[i].offset = hone_dim_sub(kernel->dims, offset, part);
    if (hone_dim_is_bad(operands[i].offset)) return false;
  }
  return true;
}

static bool is_counted(const hone_stmt_t* loop) {
  return loop->kind == HONE_STMT_LOOP && loop->n_body == 1 && loop->loop == HONE_LOOP_SERIAL &&
         hone_dim_is_int(loop->extent);
}

/* A loop between the steps and the lanes: rows move in a and c, vectors in b and c. */
static bool take_loop(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_block_t* block) {
  int64_t moves[3];
  if (!take_moves(kernel, loop, block->operands, moves) || moves[2] == 0) return false;
  if (moves[0] && !moves[1] && block->rows == 1) {
    block->rows = loop->extent.k;
    block->a_row = moves[0];
    block->c_row = moves[2];
    return true;
  }
  if (!moves[1] || moves[0] || block->vectors > 1) return false;
  block->vectors = loop->extent.k;
  block->b_vector = moves[1];
  block->c_vector = moves[2];
  return true;
}

static bool take_steps(hone_kernel_t* kernel, const hone_stmt_t* loop,
                       const hone_intrinsic_t* intrinsic, hone_block_t* block) {
  int64_t moves[3];
  if (!take_moves(kernel, loop, block->operands, moves)) return false;
  block->steps = loop->extent.k;
  block->b_step = moves[1];
  return moves[0] == intrinsic->block.group && moves[1] && !moves[2];
}

static bool fits(const hone_intrinsic_t* intrinsic, const hone_block_t* block) {
  return block->rows <= intrinsic->block.rows && block->vectors <= intrinsic->block.vectors &&
         hone_block_depth(intrinsic, block->steps) > 0;
}

hone_status_t hone_block_look(hone_kernel_t* kernel, const hone_stmt_t* loop,
                              const hone_intrinsic_t* intrinsic, bool* out, hone_block_t* block) {
  enum { MOST_LOOPS = 2 };
  const hone_stmt_t* between[MOST_LOOPS];
  const hone_intrinsic_t* dot = hone_intrinsic_find(intrinsic->block.of);
  int n = 0;
  *out = false;
  *block = (hone_block_t){.rows = 1, .vectors = 1};
  if (!is_counted(loop) || !loop->is_reduction) return NULL;
  const hone_stmt_t* inside = loop->body[0];
  while (n < MOST_LOOPS && is_counted(inside) && inside->body[0]->kind == HONE_STMT_LOOP &&
         inside->body[0]->n_body == 1 && inside->body[0]->body[0]->kind == HONE_STMT_LOOP) {
    between[n++] = inside;
    inside = inside->body[0];
  }
  if (!is_counted(inside) || !hone_dim_is(inside->extent, dot->lanes)) return NULL;
  HONE_TRY(hone_intrinsic_match(kernel, inside, dot, out, block->operands));
  while (*out && n > 0) *out = take_loop(kernel, between[--n], block);
  *out = *out && take_steps(kernel, loop, intrinsic, block) && fits(intrinsic, block);
  return NULL;
}
