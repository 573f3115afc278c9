/* Sums of blocks of many rows (pass block_sums): numbers of 16 bits are multiplied by weights of 16
 * bits, block by block, and what they make is scaled and added up.
 *
 *   for outs… {
 *     acc = 0
 *     for b { s = 0; for k { s += d[row, b, k] * w[b, k, lane] }; acc += f(s) }
 *     out = g(acc)
 *   }
 *
 * s and acc stay in registers for a tile of rows by some vectors of lanes, around which blocks go.
 * Weights, and the scales of blocks, lie in the order in which they are read. */
#include <stdio.h>

#include "backends/common/schedule_blocks.h"

enum { PAIR = 2 };

/* Rows of a tile: as many as registers hold both sums of, beside weights and what a number of the
 * data becomes; of few tiles that are alike. */
static int64_t find_rows(const hone_recipe_t* r, const hone_blocks_t* b, int64_t vectors) {
  int64_t rows = hone_known_extent(b->rows->extent);
  int64_t most = (r->shape->registers - vectors - 1) / (2 * vectors);
  int64_t tiles = most > 1 ? (rows - 1) / most + 1 : rows;
  return tiles > 1 ? (rows - 1) / tiles + 1 : rows;
}

/* [blocks of lanes, b, pairs, lanes, in a pair] */
static bool pack_weights(hone_recipe_t* r, const hone_blocks_t* b, int64_t block) {
  hone_layout_word_t words[HONE_MAX_RANK];
  int n = 0;
  snprintf(words[n++], sizeof *words, "2/%lld", (long long)block);
  snprintf(words[n++], sizeof *words, "0");
  snprintf(words[n++], sizeof *words, "1/%d", PAIR);
  snprintf(words[n++], sizeof *words, "2%%%lld", (long long)block);
  snprintf(words[n++], sizeof *words, "1%%%d", PAIR);
  return hone_pack_words(r, b->weights->buffer, n, words);
}

/* Inside of the loop over blocks: rows { lanes { s = 0 } }, rows { lanes { k { … } } } and
 * rows { lanes { acc += f(s) } }. */
static void schedule_block(hone_recipe_t* r, hone_stmt_t* around) {
  for (int i = 0; i < around->n_body && !r->status; i++) {
    hone_stmt_t *part = around->body[i], *inside = hone_blocks_find_sum(part);
    if (!hone_stmt_is_loop(part)) continue;
    if (inside &&
        !hone_recipe_did(r, hone_sched_split(r->kernel, inside->name, PAIR, HONE_TAIL_EXACT)))
      return;
    hone_schedule_tile_part(r, part, true);
  }
}

/* rows { lanes { b { … } } } becomes b { rows { lanes { … } } }, in parts. */
static void schedule_sums(hone_recipe_t* r, hone_stmt_t* part) {
  char around[HONE_LOOP_NAME], rows[HONE_LOOP_NAME], lanes[HONE_LOOP_NAME];
  const char* order[] = {around, rows, lanes};
  if (!hone_loop_name(around, hone_blocks_find_sum(part)->name, "") ||
      !hone_loop_name(rows, part->name, "") ||
      !hone_loop_name(lanes, hone_only_loop(part)->name, "") ||
      !hone_recipe_did(r, hone_sched_reorder(r->kernel, 3, order)) ||
      !hone_recipe_did(r, hone_sched_distribute(r->kernel, lanes)) ||
      !hone_recipe_did(r, hone_sched_distribute(r->kernel, rows)))
    return;
  hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, around);
  if (loop) schedule_block(r, loop);
}

static void schedule_part(hone_recipe_t* r, hone_stmt_t* part, bool has_rows) {
  if (hone_blocks_find_sum(part))
    schedule_sums(r, part);
  else
    hone_schedule_tile_part(r, part, has_rows);
}

static void schedule_tiles(hone_recipe_t* r, const char* rows) {
  static const char* const parts[] = {".i", ".t"};
  char name[HONE_LOOP_NAME];
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    hone_stmt_t* tile =
        hone_loop_name(name, rows, parts[i]) ? hone_kernel_find_loop(r->kernel, name) : NULL;
    hone_stmt_t* lanes = tile ? hone_only_loop(tile) : NULL;
    if (lanes) hone_schedule_tile_parts(r, tile, lanes, schedule_part);
  }
}

void hone_schedule_block_tiles(hone_recipe_t* r, const hone_blocks_t* b) {
  int64_t vectors = hone_blocks_vectors(r, b), block = vectors * r->shape->lanes;
  int64_t tile = find_rows(r, b, vectors);
  const hone_intrinsic_t* dot = r->dot;
  const char* weights = b->weights->buffer->name;
  char rows[HONE_LOOP_NAME], outer[HONE_LOOP_NAME], steps[HONE_LOOP_NAME];
  if (!hone_loop_name(rows, b->rows->name, "") || !hone_loop_name(outer, b->lanes->name, ".o") ||
      !hone_loop_name(steps, b->inside->name, ".o") || !pack_weights(r, b, block))
    return;
  hone_blocks_pack_scales(r, b, block);
  if (!hone_blocks_arrange(r, b, block) ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, rows, tile, HONE_TAIL_PEEL)))
    return;
  r->dot = b->dot;
  schedule_tiles(r, rows);
  r->dot = dot;
  /* Weights come from far; each step of a tile asks for a line of the next block of lanes. */
  hone_recipe_did(r, hone_sched_prefetch(r->kernel, weights, outer, steps, false));
}
