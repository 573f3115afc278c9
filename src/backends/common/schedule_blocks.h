/* What sums of blocks consist of, for schedule_block*.c only. */
#ifndef HONE_BACKENDS_COMMON_SCHEDULE_BLOCKS_H
#define HONE_BACKENDS_COMMON_SCHEDULE_BLOCKS_H

#include "backends/common/contraction.h"

enum { HONE_BLOCKS_LOOPS = 8 };

typedef struct hone_blocks {
  int n_outs;
  hone_stmt_t* outs[HONE_BLOCKS_LOOPS];
  hone_stmt_t *body, *around, *inside; /* of the innermost; the loops over b and k */
  hone_stmt_t* digits;                 /* the loop over p; NULL: numbers of 16 bits have none */
  hone_stmt_t *lanes, *rows;           /* among outs; rows may be NULL */
  const hone_term_t *data, *weights;   /* what is multiplied, as loads */
  const hone_intrinsic_t* dot;         /* what adds up a group of products */
  int words;                           /* of nibbles in a group */
} hone_blocks_t;

/* Vectors of lanes of a block: as chosen, else one. Of digits its weights, as they are made into,
 * fit in registers. */
int64_t hone_blocks_vectors(const hone_recipe_t* r, const hone_blocks_t* b);
/* Packs scales and other constants that are read block by block, along the lanes:
 * [blocks of `block` lanes, b, …, lanes] of each of them. */
void hone_blocks_pack_scales(hone_recipe_t* r, const hone_blocks_t* b, int64_t block);
/* Cuts the loop over lanes: others { lanes.o { rows { lanes.i } } }. */
bool hone_blocks_arrange(hone_recipe_t* r, const hone_blocks_t* b, int64_t block);
/* The first loop of the nest that is a sum; NULL: there is none. */
hone_stmt_t* hone_blocks_find_sum(hone_stmt_t* nest);

/* schedule_block_tiles.c: blocks without digits, whose rows are many. */
void hone_schedule_block_tiles(hone_recipe_t* r, const hone_blocks_t* b);

#endif
