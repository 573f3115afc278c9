/* Blocks of sums that matrix instructions add to: what an intrinsic for one vector of sums
 * (loop/intrinsic.h) computes, for several rows and vectors at once and all steps of a sum.
 *
 *   for step { for row { for vector { for lane as dot… { c[row, vector, lane] += … } } } }
 *
 * Each step has one group of numbers in the row of a, and one for each lane in b. */
#ifndef HONE_LOOP_BLOCK_H
#define HONE_LOOP_BLOCK_H

#include "loop/intrinsic.h"

/* Distances are in elements. */
typedef struct hone_block {
  int64_t steps, rows, vectors; /* 1 where there is no loop over rows or vectors */
  int64_t lanes;                /* of a vector; of a single one it may be a part */
  hone_operand_range_t operands[HONE_MAX_OPERANDS]; /* a, b and c, where all loops begin */
  int64_t a_row, b_step, b_vector, c_row, c_vector;
  /* Rows of an instruction, as high as it does at most; the others, lines of an image for instance,
   * begin so far behind the first one. */
  int64_t first, a_next, c_next;
  /* Rows that the loop has: `part` of them lie evenly, the next ones `c_part` behind those. Where
   * sums have room for what lies between, instructions do that too, and nobody reads it. */
  int64_t used, part, c_part;
} hone_block_t;

/* The intrinsic for blocks that computes all of the loop; NULL: it is computed in another way. */
const hone_intrinsic_t* hone_block_of(const hone_stmt_t* loop);
/* Whether one of the statements inside is computed so. */
bool hone_block_is_in(const hone_stmt_t* stmt);

/* Parts of so many rows, each of which begins `apart` rows behind the one before, that one
 * instruction does with what lies between them; 1: it does not reach over two. */
int64_t hone_block_parts(const hone_intrinsic_t* intrinsic, int64_t part, int64_t apart);

/* Whether the loop, of the steps, with all that is in it is one for the intrinsic: rows and vectors
 * no more than it has, groups of a row side by side, and steps that `hone_block_depth` cuts well.
 * Rows lie evenly, or, where sums stay in registers, in a few parts that do.
 * Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_block_look(hone_kernel_t* kernel, const hone_stmt_t* loop,
                                            const hone_intrinsic_t* intrinsic, bool* out_is_block,
                                            hone_block_t* out_block);
/* Steps that an instruction adds up where a sum has so many: the most that divide them; 0: so few
 * that vectors are as fast. */
int64_t hone_block_depth(const hone_intrinsic_t* intrinsic, int64_t steps);

#endif
