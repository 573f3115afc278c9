/* Recognising blocks of sums. */
#include "loop/block.h"

#include <string.h>

#include "loop/access.h"

const hone_intrinsic_t* hone_block_of(const hone_stmt_t* loop) {
  const hone_intrinsic_t* intrinsic = loop->intrinsic ? hone_intrinsic_find(loop->intrinsic) : NULL;
  return intrinsic && intrinsic->block.of ? intrinsic : NULL;
}

bool hone_block_is_in(const hone_stmt_t* stmt) {
  for (int i = 0; i < stmt->n_body; i++)
    if (hone_block_of(stmt->body[i])) return true;
  return false;
}

int64_t hone_block_parts(const hone_intrinsic_t* intrinsic, int64_t part, int64_t apart) {
  int64_t height = intrinsic->block.height;
  return apart > part && apart + part <= height ? (height - part) / apart + 1 : 1;
}

int64_t hone_block_depth(const hone_intrinsic_t* intrinsic, int64_t steps) {
  int64_t depth = intrinsic->block.depth;
  while (depth > 0 && steps % depth) depth--;
  return depth >= intrinsic->block.fewest ? depth : 0;
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

/* How far an operand has moved in a round of the loop; false: that is no number. */
static bool moved(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_dim_t offset, int64_t round,
                  int64_t* out) {
  hone_dims_t* dims = kernel->dims;
  hone_dim_t begin = hone_dim_replace_symbol(dims, offset, loop->var, hone_dim_int(0));
  hone_dim_t now = hone_dim_replace_symbol(dims, offset, loop->var, hone_dim_int(round));
  hone_dim_t way = hone_dim_sub(dims, now, begin);
  if (!hone_dim_is_int(way)) return false;
  *out = way.k;
  return true;
}

/* Whether an operand moves by `row` in each round of a part, and by `next` from part to part. */
static bool moves_in_parts(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_dim_t offset,
                           int64_t part, int64_t row, int64_t next) {
  int64_t way;
  for (int64_t round = 0; round < loop->extent.k; round++) {
    int64_t wanted = round / part * next + round % part * row;
    if (!moved(kernel, loop, offset, round, &way) || way != wanted) return false;
  }
  return true;
}

/* Whether nobody uses what lies between parts of `part` rows, the next of which begins `apart` rows
 * behind: an axis of scratch has room for so many, and all indices are below that. */
static bool has_gaps(hone_kernel_t* kernel, const hone_buffer_t* buffer, int64_t row, int64_t part,
                     int64_t apart, bool* out) {
  hone_access_list_t list;
  int axis = buffer->rank - 1;
  int64_t stride = 1;
  *out = false;
  if (buffer->role != HONE_ROLE_SCRATCH) return true;
  for (; axis >= 0 && stride < row && hone_dim_is_int(buffer->dims[axis]); axis--)
    stride *= buffer->dims[axis].k;
  if (axis < 1 || stride != row || !hone_dim_is(buffer->dims[axis], apart)) return true;
  hone_status_t status = hone_access_collect(kernel, kernel->root, &list);
  if (status) {
    hone_status_free(status);
    return false;
  }
  *out = true;
  for (int i = 0; i < list.count && *out; i++)
    if (list.items[i].buffer == buffer) *out = hone_dim_max_value(list.items[i].index[axis]) < part;
  hone_access_free(&list);
  return true;
}

/* Parts that one instruction does with what lies between: 1, or as many as fit. False: no memory.
 */
static bool count_together(hone_kernel_t* kernel, const hone_intrinsic_t* intrinsic,
                           const hone_block_t* block, int64_t* out) {
  int64_t apart = block->a_next / block->a_row;
  int64_t most = hone_block_parts(intrinsic, block->part, apart);
  bool has, even = block->a_next % block->a_row == 0 && block->c_part == apart * block->c_row;
  *out = 1;
  if (most == 1 || !even) return true;
  if (!has_gaps(kernel, block->operands[2].buffer, block->c_row, block->part, apart, &has))
    return false;
  if (has) *out = most;
  return true;
}

/* The instructions' rows, where each of two does so many of the parts together, or one all; false:
 * there are more. */
static bool set_rows(hone_block_t* block, int64_t together) {
  int64_t parts = (block->used + block->part - 1) / block->part;
  int64_t last = block->used - (parts - 1) * block->part, apart = block->a_next / block->a_row;
  int64_t front = parts < together ? parts : together, behind = parts - front;
  if (behind > together) return false;
  block->first = (front - 1) * apart + (behind ? block->part : last);
  block->rows = block->first + (behind ? (behind - 1) * apart + last : 0);
  block->a_next *= front;
  block->c_next = block->c_part * front;
  return true;
}

/* Rows in parts, as those of lines of an image are. */
static bool take_parts(hone_kernel_t* kernel, const hone_stmt_t* loop,
                       const hone_intrinsic_t* intrinsic, hone_block_t* block) {
  hone_dim_t a = block->operands[0].offset, c = block->operands[2].offset;
  int64_t rows = loop->extent.k, height = intrinsic->block.height, part = 1, way = 0, together;
  if (!intrinsic->block.keeps || block->rows > 1 || rows < 3 || rows > 2 * height ||
      hone_dim_uses(block->operands[1].offset, loop->var) ||
      !moved(kernel, loop, a, 1, &block->a_row) || !moved(kernel, loop, c, 1, &block->c_row) ||
      block->a_row < 1 || block->c_row < 1)
    return false;
  while (part < rows && moved(kernel, loop, a, part, &way) && way == part * block->a_row) part++;
  if (part > height || part == rows || !moved(kernel, loop, a, part, &block->a_next) ||
      !moved(kernel, loop, c, part, &block->c_part) ||
      !moves_in_parts(kernel, loop, a, part, block->a_row, block->a_next) ||
      !moves_in_parts(kernel, loop, c, part, block->c_row, block->c_part))
    return false;
  block->part = part;
  block->used = rows;
  if (!count_together(kernel, intrinsic, block, &together) || !set_rows(block, together))
    return false;
  for (int i = 0; i < 3; i += 2)
    block->operands[i].offset = hone_dim_replace_symbol(kernel->dims, block->operands[i].offset,
                                                        loop->var, hone_dim_int(0));
  return true;
}

/* A loop between the steps and the lanes: rows move in a and c, vectors in b and c. */
static bool take_loop(hone_kernel_t* kernel, const hone_stmt_t* loop,
                      const hone_intrinsic_t* intrinsic, hone_block_t* block) {
  int64_t moves[3];
  hone_operand_range_t before[HONE_MAX_OPERANDS];
  memcpy(before, block->operands, sizeof before);
  if (!take_moves(kernel, loop, block->operands, moves)) {
    memcpy(block->operands, before, sizeof before);
    return take_parts(kernel, loop, intrinsic, block);
  }
  if (moves[2] == 0) return false;
  if (moves[0] && !moves[1] && block->rows == 1) {
    int64_t height = intrinsic->block.height;
    block->rows = loop->extent.k;
    block->first = block->rows < height ? block->rows : height;
    block->a_row = moves[0];
    block->c_row = moves[2];
    block->a_next = block->first * block->a_row;
    block->c_next = block->first * block->c_row;
    block->used = block->part = block->rows;
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
  bool is_whole = block->lanes == hone_intrinsic_find(intrinsic->block.of)->lanes;
  if (!is_whole && (!intrinsic->block.keeps || block->vectors > 1)) return false;
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
  *block = (hone_block_t){.rows = 1, .vectors = 1, .first = 1, .used = 1, .part = 1};
  if (!is_counted(loop) || !loop->is_reduction) return NULL;
  const hone_stmt_t* inside = loop->body[0];
  while (n < MOST_LOOPS && is_counted(inside) && inside->body[0]->kind == HONE_STMT_LOOP &&
         inside->body[0]->n_body == 1 && inside->body[0]->body[0]->kind == HONE_STMT_LOOP) {
    between[n++] = inside;
    inside = inside->body[0];
  }
  if (!is_counted(inside) || inside->extent.k > dot->lanes) return NULL;
  block->lanes = inside->extent.k;
  HONE_TRY(hone_intrinsic_match(kernel, inside, dot, out, block->operands));
  while (*out && n > 0) *out = take_loop(kernel, between[--n], intrinsic, block);
  *out = *out && take_steps(kernel, loop, intrinsic, block) && fits(intrinsic, block);
  return NULL;
}
