/* Contractions: a tile of the output is kept in registers, `rows` elements
 * of one axis by `vectors` vectors of the last one, and the sums run around
 * it. Weights are laid out in the order in which they are read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/contraction.h"
#include "ir/slight.h"
#include "loop/access.h"
#include "loop/block.h"
#include "tune/cost.h"

/* ---- laying out ---- */

/* Appends the axes of b that no sum goes along, and that are not used yet. */
static int list_others(const hone_contraction_t* c, bool* used, int n, hone_layout_word_t* words) {
  for (int i = 0; i < c->b->buffer->rank; i++) {
    bool is_sum = i == c->twice_axis;
    for (int k = 0; k < c->n_sums; k++) is_sum |= hone_dim_same(c->b->index[i], c->sums[k].var);
    if (is_sum || used[i]) continue;
    used[i] = true;
    snprintf(words[n++], sizeof *words, "%d", i);
  }
  return n;
}

enum { WORD = 4 /* bytes that a lane takes */ };

/* Numbers that there is room for in a group: of a lane's own bytes always four. */
static int group_room(const hone_contraction_t* c) { return c->apart ? WORD : c->group; }

/* Appends the lanes of a block and the numbers of a group that each of them has. Of eight numbers
 * all lanes of a vector have their first four side by side, then the others. */
static int list_group(const hone_recipe_t* r, const hone_contraction_t* c, int lanes, int group,
                      int64_t block, int n, hone_layout_word_t* words) {
  bool has_halves = c->group == HONE_SLIGHT_GROUP;
  int64_t vector = r->shape->lanes;
  if (group >= 0 && has_halves) {
    if (block > vector)
      snprintf(words[n++], sizeof *words, "%d/%lld%%%lld", lanes, (long long)vector,
               (long long)(block / vector));
    snprintf(words[n++], sizeof *words, "%d/%d%%%d", group, WORD, HONE_SLIGHT_HALVES);
    block = vector;
  }
  snprintf(words[n++], sizeof *words, "%d%%%lld", lanes, (long long)block);
  if (group >= 0)
    snprintf(words[n++], sizeof *words, "%d%%%d", group, has_halves ? WORD : group_room(c));
  return n;
}

/* Weights as [block, the axes in the order of the sums, in the block, in the group]. */
static bool pack_weights(hone_recipe_t* r, const hone_contraction_t* c, int64_t block) {
  enum { PARTS = 4 /* more than there were axes */ };
  hone_layout_word_t words[HONE_MAX_RANK + PARTS];
  bool used[HONE_MAX_RANK] = {false};
  int n = 0, group = -1, lanes = c->lanes_axis;
  if (!hone_contraction_could_pack(c)) return false;
  bool is_part = !hone_dim_same(c->b->index[lanes], c->lanes->var);
  if (is_part && c->lanes->extent.k % block) return false;
  used[lanes] = true;
  if (hone_contraction_has_batches(c)) n = list_others(c, used, n, words);
  snprintf(words[n++], sizeof *words, "%d/%lld", lanes, (long long)block);
  n = list_others(c, used, n, words);
  for (int k = 0; k < c->n_sums; k++) {
    int axis = hone_contraction_axis(c->b, c->sums[k].var);
    bool serves_twice =
        c->twice_axis >= 0 && hone_dim_uses(c->b->index[c->twice_axis], c->sums[k].var);
    if (serves_twice) axis = c->twice_axis;
    if (axis < 0 || used[axis]) continue;
    used[axis] = true;
    if (k == c->n_sums - 1 && c->group > 1) group = axis;
    snprintf(words[n++], sizeof *words, group == axis ? "%d/%d" : "%d", axis, group_room(c));
  }
  n = list_group(r, c, lanes, group, block, n, words);
  return hone_pack_words(r, c->b->buffer, n, words);
}

void hone_contraction_order_sums(hone_recipe_t* r, hone_contraction_t* c) {
  int best = hone_contraction_chosen_innermost(r, c);
  if (best == c->n_sums - 1) return;
  const char* names[HONE_CONTRACTION_LOOPS];
  hone_axis_t order[HONE_CONTRACTION_LOOPS];
  int n = 0;
  for (int i = 0; i < c->n_sums; i++)
    if (i != best) order[n++] = c->sums[i];
  order[n++] = c->sums[best];
  for (int i = 0; i < n; i++) names[i] = order[i].name;
  if (!hone_recipe_did(r, hone_sched_reorder(r->kernel, n, names))) return;
  memcpy(c->sums, order, (size_t)n * sizeof *order);
  if (c->apart_sum >= 0) c->apart_sum = best == c->apart_sum ? n - 1 : -1;
}

/* ---- doing ---- */

/* A vector's lanes, or what an instruction does for each of them. */
static void make_vector(hone_recipe_t* r, const char* name, const hone_intrinsic_t* dot) {
  hone_recipe_did(r, dot ? hone_sched_tensorize(r->kernel, name, dot->name)
                         : hone_sched_vectorize(r->kernel, name));
}

/* Cuts the loop over lanes of one part of the tile into vectors, the last of which may
 * be part of one. */
static void make_vectors(hone_recipe_t* r, hone_stmt_t* loop, const hone_intrinsic_t* dot) {
  char name[HONE_LOOP_NAME], part[HONE_LOOP_NAME];
  if (!hone_loop_name(name, loop->name, "")) return;
  if (hone_dim_is(loop->extent, 1)) {
    hone_recipe_did(r, hone_sched_unroll(r->kernel, name));
    return;
  }
  if (hone_dim_max_value(loop->extent) <= r->shape->lanes) {
    make_vector(r, name, dot);
    return;
  }
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, name, r->shape->lanes, HONE_TAIL_PEEL)))
    return;
  if (hone_loop_name(part, name, ".i")) make_vector(r, part, dot);
  if (hone_loop_name(part, name, ".o")) hone_recipe_did(r, hone_sched_unroll(r->kernel, part));
  hone_stmt_t* tail =
      hone_loop_name(part, name, ".t") ? hone_kernel_find_loop(r->kernel, part) : NULL;
  if (tail) make_vectors(r, tail, dot);
}

/* The steps of one matrix instruction, where sums stay in its registers while others follow: what
 * asks for memory can stand between them. */
static bool cut_steps(hone_recipe_t* r, char sum[HONE_LOOP_NAME]) {
  const hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, sum);
  int64_t steps = loop ? hone_known_extent(loop->extent) : 0;
  int64_t depth = steps ? hone_block_depth(r->matrix, steps) : 0;
  char name[HONE_LOOP_NAME];
  if (!r->matrix->block.keeps || depth < 1 || steps <= depth) return true;
  return hone_loop_name(name, sum, "") &&
         hone_recipe_did(r, hone_sched_split(r->kernel, name, depth, HONE_TAIL_EXACT)) &&
         hone_loop_name(sum, name, ".i");
}

/* Gives the sums of a tile's lines room for what lies between these in the data, so that one
 * instruction can do several. */
static void part_lines(hone_recipe_t* r, const char* sum) {
  char lines[24], rows[64];
  const hone_stmt_t* loop = r->line ? hone_kernel_find_loop(r->kernel, sum) : NULL;
  const hone_buffer_t* sums = loop ? hone_innermost_loop(loop)->body[0]->buffer : NULL;
  if (!sums || sums->rank != 2) return;
  snprintf(lines, sizeof lines, "0/%" PRId64, r->line);
  snprintf(rows, sizeof rows, "0%%%" PRId64 "~%" PRId64, r->line, r->line_apart);
  hone_recipe_did(
      r, hone_sched_pack(r->kernel, sums->name, 3, (const char* const[]){lines, rows, "1"}));
}

/* Cuts the loop over lanes into vectors for a matrix instruction, which does all of the sum, and of
 * the one around it where both are one run. */
static void make_block(hone_recipe_t* r, const char* inner, const char* lanes) {
  char sum[HONE_LOOP_NAME], around[HONE_LOOP_NAME];
  const hone_stmt_t* steps = r->joins ? hone_kernel_find_loop(r->kernel, inner) : NULL;
  if (!hone_loop_name(sum, inner, "")) return;
  if (steps && hone_loop_name(around, steps->parent->name, "_") &&
      hone_recipe_did(r, hone_sched_fuse(r->kernel, steps->parent->name, inner)) &&
      !hone_loop_name(sum, around, inner))
    return;
  const hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, lanes);
  bool is_vector = !loop || hone_dim_max_value(loop->extent) <= r->shape->lanes;
  if (is_vector ||
      hone_recipe_did(r, hone_sched_split(r->kernel, lanes, r->shape->lanes, HONE_TAIL_EXACT))) {
    part_lines(r, sum);
    if (cut_steps(r, sum))
      hone_recipe_did(r, hone_sched_tensorize(r->kernel, sum, r->matrix->name));
  }
}

static hone_stmt_t* deepest(hone_stmt_t* loop) {
  for (hone_stmt_t* next = hone_only_loop(loop); next; next = hone_only_loop(loop)) loop = next;
  return loop;
}

/* Writes out some rounds of the innermost sum, or all of a short one's. */
static void unroll_sum(hone_recipe_t* r, const char* sum) {
  char part[HONE_LOOP_NAME];
  int rounds = r->choice->sum_unroll;
  if (rounds < 2) {
    if (r->is_short) hone_recipe_did(r, hone_sched_unroll(r->kernel, sum));
    return;
  }
  if (hone_recipe_did(r, hone_sched_split(r->kernel, sum, rounds, HONE_TAIL_EXACT)) &&
      hone_loop_name(part, sum, ".i"))
    hone_recipe_did(r, hone_sched_unroll(r->kernel, part));
}

/* Loops of the sum that the instruction does: of eight numbers halves, and what is in them. */
static int count_group_loops(const hone_intrinsic_t* dot) {
  return dot->slight_lanes ? HONE_SLIGHT_HALVES : 1;
}

void hone_schedule_tile_part(hone_recipe_t* r, hone_stmt_t* part, bool has_rows) {
  const char* names[HONE_CONTRACTION_LOOPS];
  hone_stmt_t *rows = has_rows ? part : NULL, *lanes = has_rows ? hone_only_loop(part) : part;
  if (!lanes) return;
  char rows_name[HONE_LOOP_NAME] = "", lanes_name[HONE_LOOP_NAME], sum_name[HONE_LOOP_NAME] = "",
       first_name[HONE_LOOP_NAME] = "";
  if (rows && !hone_loop_name(rows_name, rows->name, "")) return;
  if (!hone_loop_name(lanes_name, lanes->name, "")) return;
  int n = 0;
  for (hone_stmt_t* sum = hone_only_loop(lanes); sum && n < HONE_CONTRACTION_LOOPS - 2;
       sum = hone_only_loop(sum))
    names[n++] = sum->name;
  bool has_sums = n > 0;
  const char* group[HONE_SLIGHT_HALVES];
  int n_group = has_sums && r->dot ? count_group_loops(r->dot) : 0;
  n -= n_group;
  for (int i = 0; i < n_group; i++) group[i] = names[n + i];
  if (n > 0 && !hone_loop_name(sum_name, names[n - 1], "")) return;
  if (n > 0 && !hone_loop_name(first_name, names[0], "")) return;
  /* Places that take several registers serve all rows that see them, one after the other. */
  bool rows_first = rows && n > 0 && n_group && r->is_short && r->dot->turned > 1;
  const char* last_sum = rows_first ? names[--n] : NULL;
  if (rows) names[n++] = rows_name;
  if (rows_first) names[n++] = last_sum;
  names[n++] = lanes_name;
  for (int i = 0; i < n_group; i++) names[n++] = group[i];
  if (has_sums && !hone_recipe_did(r, hone_sched_reorder(r->kernel, n, names))) return;
  if (has_sums && r->matrix) {
    make_block(r, sum_name, lanes_name);
    return;
  }
  /* What sums begin with may lie along the rows, as masks of attention do. */
  if (rows && !has_sums && r->matrix && hone_schedule_transpose(r, part)) return;
  hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, lanes_name);
  if (loop) make_vectors(r, loop, n_group ? r->dot : NULL);
  if (rows && !r->matrix) hone_recipe_did(r, hone_sched_unroll(r->kernel, rows_name));
  if (has_sums) unroll_sum(r, sum_name);
  if (has_sums && r->is_window) hone_recipe_did(r, hone_sched_unroll(r->kernel, first_name));
  if (has_sums && !n_group && r->kernel->by_parts) hone_schedule_parts(r, sum_name);
}

/* Whether a part of a tile stores what became of its sums. */
static bool is_result(const hone_stmt_t* part) {
  const hone_stmt_t* inner = hone_stmt_is_loop(part) ? hone_innermost_loop(part) : NULL;
  const hone_stmt_t* store = inner && inner->n_body ? inner->body[inner->n_body - 1] : NULL;
  return store && !inner->is_reduction && store->kind == HONE_STMT_STORE &&
         store->buffer->role == HONE_ROLE_OUTPUT;
}

/* Results behind sums of matrix instructions, from memory, are stored by the same loops, so that
 * what they have in common is computed once. Gives the parts that there are then. */
static int join_results(hone_recipe_t* r, hone_stmt_t* outer, int first, int parts) {
  for (int i = parts - 1; i > 0; i--) {
    hone_stmt_t *part = outer->body[first + i - 1], *next = outer->body[first + i];
    const hone_stmt_t *lanes = hone_only_loop(part), *next_lanes = hone_only_loop(next);
    if (!is_result(part) || !is_result(next) || !lanes || !next_lanes) continue;
    if (hone_recipe_did(r, hone_sched_merge(r->kernel, part->name, next->name)) &&
        hone_recipe_did(r, hone_sched_merge(r->kernel, lanes->name, next_lanes->name)))
      parts--;
  }
  return parts;
}

void hone_schedule_tile_parts(hone_recipe_t* r, hone_stmt_t* rows, hone_stmt_t* lanes,
                              hone_tile_part_fn schedule_part) {
  hone_stmt_t* outer = rows ? rows->parent : lanes->parent;
  int position = hone_stmt_position(rows ? rows : lanes), before = outer->n_body;
  char rows_name[HONE_LOOP_NAME] = "";
  if (rows && !hone_loop_name(rows_name, rows->name, "")) return;
  if (!hone_recipe_did(r, hone_sched_distribute(r->kernel, lanes->name))) return;
  if (rows && !hone_recipe_did(r, hone_sched_distribute(r->kernel, rows_name))) return;
  int parts = outer->n_body - before + 1;
  if (rows && r->matrix) parts = join_results(r, outer, position, parts);
  int behind = outer->n_body - position;
  for (int i = 0; i < parts; i++) {
    hone_stmt_t* part = outer->body[outer->n_body - behind + i];
    if (hone_stmt_is_loop(part)) schedule_part(r, part, rows != NULL);
  }
}

static void schedule_tile(hone_recipe_t* r, hone_stmt_t* rows, hone_stmt_t* lanes) {
  hone_schedule_tile_parts(r, rows, lanes, hone_schedule_tile_part);
}

/* Puts the loop over lanes outside of all others. */
static bool move_lanes_out(hone_recipe_t* r, const hone_contraction_t* c) {
  const char* names[HONE_CONTRACTION_LOOPS];
  int n = 0;
  names[n++] = c->lanes->name;
  for (int i = 0; i < c->n_outs; i++)
    if (&c->outs[i] != c->lanes) names[n++] = c->outs[i].name;
  return n < 2 || hone_recipe_did(r, hone_sched_reorder(r->kernel, n, names));
}

/* Tiles of rows that are cut evenly: of fewer rows than `rows` where that leaves over none,
 * since a tile of one or two rows takes hardly less time than one of four: its few sums wait
 * for one another. Gives whether it is done: not at the top, where threads share the tiles,
 * which have to be known not to overlap. Where only a run knows the rows, there is a tile of each
 * height; those that only short lines have are no windows written out, which would be most of the
 * kernel. */
static bool schedule_evenly(hone_recipe_t* r, const hone_stmt_t* loop, int64_t rows) {
  bool is_open = !hone_dim_is_int(loop->extent);
  if (loop->parent == r->kernel->root && is_open) return false;
  hone_share_around(r, loop);
  hone_stmt_t* parent = loop->parent;
  int position = hone_stmt_position(loop), before = parent->n_body;
  if (!hone_recipe_did(r, hone_sched_balance(r->kernel, loop->name, rows))) return false;
  bool is_window = r->is_window;
  for (int i = parent->n_body - before; i >= 0; i--) {
    hone_stmt_t* tile = hone_only_loop(parent->body[position + i]);
    if (!tile) continue;
    r->is_window = is_window && (!is_open || hone_known_extent(tile->extent) >= rows - 1);
    schedule_tile(r, tile, deepest(tile));
  }
  r->is_window = is_window;
  return true;
}

/* The loop as all of a round of one around it, where it stands at the top: the parts that a tile
 * falls into read one another, and what stands there runs at the same time. */
static hone_stmt_t* keep_together(hone_recipe_t* r, hone_stmt_t* loop) {
  char inner[HONE_LOOP_NAME];
  bool is_whole =
      loop->parent != r->kernel->root || !hone_dim_is_int(loop->extent) ||
      !hone_loop_name(inner, loop->name, ".i") ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, loop->name, loop->extent.k, HONE_TAIL_EXACT));
  hone_stmt_t* found = is_whole ? NULL : hone_kernel_find_loop(r->kernel, inner);
  return found ? found : loop;
}

static void schedule_block(hone_recipe_t* r, hone_stmt_t* block, const char* rows_name,
                           int64_t rows);

/* The rows that tiles of `rows` leave over: a tile of their own, or, where only a run knows
 * how many there are, smaller ones. */
static void schedule_tail(hone_recipe_t* r, hone_stmt_t* tail, int64_t rows) {
  enum { FEW = 6 };
  char name[HONE_LOOP_NAME];
  int64_t smaller = rows > FEW ? (rows + 1) / 2 : rows - 1;
  tail = keep_together(r, tail);
  if (hone_dim_is_int(tail->extent) || rows < 2 || !hone_loop_name(name, tail->name, ""))
    schedule_tile(r, tail, deepest(tail));
  else
    schedule_block(r, deepest(tail), name, smaller);
}

/* Cuts the rows inside a block of lanes into tiles. What high ones leave over where only a run
 * knows the rows is cut into lower ones. `block` is the loop lanes.i, directly around the rows'
 * loop. */
static void schedule_block(hone_recipe_t* r, hone_stmt_t* block, const char* rows_name,
                           int64_t rows) {
  char name[HONE_LOOP_NAME];
  hone_stmt_t* loop = rows_name ? hone_kernel_find_loop(r->kernel, rows_name) : NULL;
  if (loop && hone_contraction_cuts_evenly(loop->extent, rows) && schedule_evenly(r, loop, rows))
    return;
  if (!loop) {
    schedule_tile(r, NULL, keep_together(r, block));
    return;
  }
  hone_stmt_t* parent = loop->parent;
  int position = hone_stmt_position(loop), before = parent->n_body;
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, rows_name, rows, HONE_TAIL_PEEL))) return;
  bool has_tail = parent->n_body > before;
  hone_stmt_t* tail = has_tail ? parent->body[position + 1] : NULL;
  hone_stmt_t* main = hone_only_loop(parent->body[position]);
  if (!main && hone_stmt_is_loop(parent->body[position])) main = parent->body[position];
  if (hone_loop_name(name, rows_name, ".i") && hone_kernel_find_loop(r->kernel, name))
    main = hone_kernel_find_loop(r->kernel, name);
  if (tail) schedule_tail(r, tail, rows);
  if (main) schedule_tile(r, main, deepest(main));
}

/* Cuts the rows into blocks, rows.o around rows.i, which are the rows from then on. */
static void cut_rows(hone_recipe_t* r, hone_contraction_t* c, int64_t tile_rows,
                     char outer[HONE_LOOP_NAME], char inner[HONE_LOOP_NAME]) {
  int64_t block = hone_contraction_rows_block(r, c, tile_rows);
  *outer = 0;
  if (block < tile_rows || block < 2 || !c->rows || hone_dim_max_value(c->rows->extent) <= block ||
      !hone_loop_name(inner, c->rows->name, ".i") || !hone_loop_name(outer, c->rows->name, ".o"))
    return;
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, c->rows->name, block, HONE_TAIL_EXACT))) {
    *outer = 0;
    return;
  }
  hone_axis_t* rows = &c->outs[c->rows - c->outs];
  rows->name = inner;
  rows->extent = hone_dim_int(block);
}

/* The loops of one nest of tiles, by name; "" where there is none. */
typedef struct cuts {
  char lanes_outer[HONE_LOOP_NAME], lanes[HONE_LOOP_NAME], rows_outer[HONE_LOOP_NAME],
      rows[HONE_LOOP_NAME], lines_outer[HONE_LOOP_NAME], lines[HONE_LOOP_NAME];
} cuts_t;

/* lanes_outer { others { rows { lanes } } }, or lanes_outer inside of the others, blocks of
 * rows around all of it, and around those batches. */
static bool arrange(hone_recipe_t* r, const hone_contraction_t* c, const cuts_t* cuts) {
  const char* order[HONE_CONTRACTION_LOOPS + 2];
  int n = 0;
  bool lanes_first = hone_contraction_lanes_first(r, c), batches = hone_contraction_has_batches(c),
       apart = c->apart;
  for (int i = 0; i < c->n_outs; i++)
    if (batches && hone_contraction_is_batch(c, &c->outs[i])) order[n++] = c->outs[i].name;
  if (*cuts->rows_outer && !apart) order[n++] = cuts->rows_outer;
  if (*cuts->lanes_outer && lanes_first) order[n++] = cuts->lanes_outer;
  for (int i = 0; i < c->n_outs; i++)
    if (&c->outs[i] != c->lanes && &c->outs[i] != c->rows &&
        !(batches && hone_contraction_is_batch(c, &c->outs[i])))
      order[n++] = c->outs[i].name;
  if (*cuts->rows_outer && apart) order[n++] = cuts->rows_outer;
  if (*cuts->lanes_outer && !lanes_first) order[n++] = cuts->lanes_outer;
  if (*cuts->lines) order[n++] = cuts->lines;
  if (c->rows) order[n++] = c->rows->name;
  order[n++] = cuts->lanes;
  return n < 2 || hone_recipe_did(r, hone_sched_reorder(r->kernel, n, order));
}

/* Cuts the lines of an image into those of a tile each, the last of which may be done twice. */
static void cut_lines(hone_recipe_t* r, hone_contraction_t* c, int lines, cuts_t* cuts) {
  *cuts->lines = 0;
  if (lines < 2 || !c->lines) return;
  int64_t extent = hone_known_extent(c->lines->extent);
  bool overlaps = extent % lines != 0;
  const char* name = c->lines->name;
  if (!hone_loop_name(cuts->lines, name, overlaps ? ".w.i" : ".i") ||
      !hone_loop_name(cuts->lines_outer, name, overlaps ? ".w.o" : ".o") ||
      !hone_recipe_did(r, overlaps ? hone_sched_overlap(r->kernel, name, lines)
                                   : hone_sched_split(r->kernel, name, lines, HONE_TAIL_EXACT))) {
    *cuts->lines = 0;
    return;
  }
  hone_axis_t* axis = &c->outs[c->lines - c->outs];
  axis->name = cuts->lines_outer;
  axis->extent = hone_dim_int((extent + lines - 1) / lines);
}

/* Makes the rows of a tile's lines, which stand around them, one loop. */
static bool join_lines(hone_recipe_t* r, hone_contraction_t* c, cuts_t* cuts) {
  if (!*cuts->lines) return true;
  hone_axis_t* rows = &c->outs[c->rows - c->outs];
  hone_stmt_t* lines = hone_kernel_find_loop(r->kernel, cuts->lines);
  if (!lines || !hone_recipe_did(r, hone_sched_fuse(r->kernel, cuts->lines, rows->name)) ||
      !hone_loop_name(cuts->rows, lines->name, ""))
    return false;
  *rows = (hone_axis_t){.name = cuts->rows, .var = lines->var, .extent = lines->extent};
  return true;
}

/* Cuts the lanes, which are the outermost loop, into blocks. */
static bool cut_lanes(hone_recipe_t* r, const hone_contraction_t* c, int64_t block, cuts_t* cuts) {
  return hone_loop_name(cuts->lanes, c->lanes->name, ".i") &&
         hone_loop_name(cuts->lanes_outer, c->lanes->name, ".o") &&
         hone_recipe_did(r, hone_sched_split(r->kernel, c->lanes->name, block, HONE_TAIL_PEEL));
}

/* Schedules some rows: rows { lanes_outer { lanes } } */
static void schedule_some_rows(hone_recipe_t* r, const hone_contraction_t* c, hone_stmt_t* rows,
                               int64_t tile_rows) {
  cuts_t cuts = {.lanes_outer = ""};
  hone_stmt_t *blocks = rows ? hone_only_loop(rows) : NULL,
              *lanes = blocks ? hone_only_loop(blocks) : NULL;
  if (!lanes || !hone_loop_name(cuts.lanes_outer, blocks->name, "") ||
      !hone_loop_name(cuts.lanes, lanes->name, "") || !hone_loop_name(cuts.rows, rows->name, ""))
    return;
  const char* order[] = {cuts.lanes_outer, cuts.rows};
  if (!hone_recipe_did(r, hone_sched_reorder(r->kernel, 2, order))) return;
  hone_contraction_t part = *c;
  hone_axis_t* axis = &part.outs[c->rows - c->outs];
  *axis = (hone_axis_t){.name = cuts.rows, .var = rows->var, .extent = rows->extent};
  part.rows = axis;
  part.lanes = &part.outs[c->lanes - c->outs];
  schedule_block(r, lanes, cuts.rows, tile_rows);
  hone_schedule_asks(r, &part, cuts.lanes_outer, "");
}

/* Puts the batches that stand inside of the rows around them; gives the rows. */
static hone_stmt_t* move_batches_out(hone_recipe_t* r, const hone_contraction_t* c,
                                     hone_stmt_t* rows) {
  char name[HONE_LOOP_NAME];
  const char* order[HONE_CONTRACTION_LOOPS + 1];
  int n = 0;
  const hone_stmt_t* loop = hone_only_loop(rows);
  for (int i = 0; loop && i < c->n_outs; i++) {
    if (!hone_contraction_is_batch(c, &c->outs[i])) continue;
    order[n++] = loop->name;
    loop = hone_only_loop(loop);
  }
  order[n++] = name;
  if (n == 1) return rows;
  if (!hone_loop_name(name, rows->name, "") ||
      !hone_recipe_did(r, hone_sched_reorder(r->kernel, n, order)))
    return NULL;
  return hone_kernel_find_loop(r->kernel, name);
}

/* Schedules the rows of one thread, outer { rows { batches { lanes_outer { lanes } } } }, in tiles
 * of nearly equal height. */
static void schedule_share(hone_recipe_t* r, const hone_contraction_t* c, hone_stmt_t* share,
                           int64_t tile_rows) {
  hone_stmt_t* rows = hone_only_loop(share);
  if (rows) rows = move_batches_out(r, c, rows);
  int64_t height = rows ? hone_known_extent(rows->extent) : 0,
          tiles = (height + tile_rows - 1) / tile_rows;
  if (tiles) schedule_some_rows(r, c, rows, (height + tiles - 1) / tiles);
}

/* Cuts the rows into as many nests of nearly equal height as there are threads. */
static void share_rows(hone_recipe_t* r, const hone_contraction_t* c, int64_t tile_rows,
                       const cuts_t* cuts) {
  int64_t threads = r->shape->threads, rows = hone_known_extent(c->rows->extent);
  const char* order[HONE_CONTRACTION_LOOPS + 3];
  const hone_stmt_t* root = r->kernel->root;
  int n = 0;
  order[n++] = c->rows->name;
  for (int i = 0; i < c->n_outs; i++)
    if (hone_contraction_is_batch(c, &c->outs[i])) order[n++] = c->outs[i].name;
  order[n++] = cuts->lanes_outer;
  order[n++] = cuts->lanes;
  if (!hone_recipe_did(r, hone_sched_reorder(r->kernel, n, order))) return;
  int before = root->n_body,
      first = hone_stmt_position(hone_kernel_find_loop(r->kernel, c->rows->name));
  int64_t height = (rows + threads - 1) / threads;
  if (!hone_recipe_did(
          r, rows % threads ? hone_sched_balance(r->kernel, c->rows->name, height)
                            : hone_sched_split(r->kernel, c->rows->name, height, HONE_TAIL_EXACT)))
    return;
  for (int i = root->n_body - before; i >= 0; i--)
    schedule_share(r, c, root->body[first + i], tile_rows);
}

/* Whether nothing but lanes and rows, and of these only a run knows how many, is in the output. */
static bool has_open_rows_alone(const hone_contraction_t* c) {
  return c->rows && c->n_outs == 2 && !hone_dim_is_int(c->rows->extent);
}

/* Blocks of lanes that go through a block of rows together, and tiles of such a block. */
enum { GROUP = 4, GROUP_TILES = 12 };

/* Whether blocks of lanes go through rows in groups, which threads can share evenly. */
static bool has_groups(const hone_recipe_t* r, const hone_contraction_t* c, int64_t tile_rows,
                       const cuts_t* cuts) {
  enum { MANY = 8 /* groups of a thread: one more or less shows little */ };
  const hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, cuts->lanes_outer);
  int64_t blocks = loop ? hone_known_extent(loop->extent) : 0, groups = blocks / GROUP,
          threads = r->shape->threads;
  bool is_even = threads < 2 || groups % threads == 0 || groups >= MANY * threads;
  bool has_open_rows = has_open_rows_alone(c) && tile_rows <= HONE_FEW_HEIGHTS &&
                       hone_dim_max_value(c->rows->extent) >= 2 * GROUP_TILES * tile_rows;
  bool is_plain = c->group == 1 && !c->apart && !c->matrix && c->b->buffer->is_constant;
  return is_plain && has_open_rows && is_even && groups && blocks % GROUP == 0 &&
         hone_contraction_shares_lanes(r, c, tile_rows);
}

/* Many rows of which only a run knows how many there are come from far for each block of lanes:
 * they go block by block through a group of those, whose weights stay near.
 *
 *   groups { row_blocks { blocks { rows { lanes } } } blocks { rest of the rows { lanes } } }
 *
 * The rest is no short one, as a few rows would take as long as a tile. Gives whether it is done.
 */
static bool schedule_groups(hone_recipe_t* r, const hone_contraction_t* c, int64_t tile_rows,
                            const cuts_t* cuts) {
  char groups[HONE_LOOP_NAME], blocks[HONE_LOOP_NAME], rows[HONE_LOOP_NAME];
  if (!has_groups(r, c, tile_rows, cuts) || !hone_loop_name(groups, cuts->lanes_outer, ".o") ||
      !hone_loop_name(blocks, cuts->lanes_outer, ".i") ||
      !hone_loop_name(rows, c->rows->name, ".i") ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, cuts->lanes_outer, GROUP, HONE_TAIL_EXACT)))
    return false;
  const char* order[] = {c->rows->name, blocks, cuts->lanes};
  if (!hone_recipe_did(r, hone_sched_reorder(r->kernel, 3, order))) return true;
  hone_share_around(r, hone_kernel_find_loop(r->kernel, c->rows->name));
  if (!hone_recipe_did(
          r, hone_sched_split(r->kernel, c->rows->name, GROUP_TILES * tile_rows, HONE_TAIL_LONG)))
    return true;
  hone_stmt_t *main = hone_kernel_find_loop(r->kernel, rows),
              *group_loop = hone_kernel_find_loop(r->kernel, groups);
  hone_stmt_t* rest = group_loop && group_loop->n_body > 1 ? group_loop->body[1] : NULL;
  schedule_some_rows(r, c, main, tile_rows);
  schedule_some_rows(r, c, rest, tile_rows);
  return true;
}

/* Whether the instruction is for as many lanes as there are, or for a part of them. */
static bool does_parts(const hone_recipe_t* r, const hone_intrinsic_t* dot,
                       const hone_contraction_t* c) {
  int64_t lanes = hone_known_extent(c->lanes->extent);
  return lanes >= r->shape->lanes || (dot->lanes && lanes > 1);
}

/* Recognises what blocks of lanes leave over; what adds up the blocks' sums does so here too. */
static bool recognise_rest(hone_recipe_t* r, hone_stmt_t* rest, hone_contraction_t* c) {
  const hone_intrinsic_t *dot = r->dot, *block = r->matrix;
  if (!hone_contraction_recognise(r, c, rest, HONE_LANES_OUTERMOST)) return false;
  r->dot = r->matrix = NULL;
  int n_group = dot ? count_group_loops(dot) : 0;
  if (!dot || !does_parts(r, dot, c) || c->n_sums <= n_group)
    return hone_contraction_is_tileable(r, c);
  r->dot = dot;
  r->matrix = c->matrix = block; /* of whole vectors, which leave such or a part of one over */
  c->group = hone_contraction_group(r->shape, c);
  c->n_sums -= n_group;
  return true;
}

/* Whether rows see in one step what their neighbours see in the next, as pixels of an image
 * with channels first do. */
static bool shares_steps(const hone_recipe_t* r, const hone_contraction_t* c) {
  int64_t row, step;
  hone_kernel_t* kernel = r->kernel;
  return c->rows &&
         hone_contraction_factor(kernel, c->a->buffer, c->a->index, c->rows->var, &row) &&
         hone_contraction_factor(kernel, c->a->buffer, c->a->index, c->sums[c->n_sums - 1].var,
                                 &step) &&
         row == step;
}

/* Whether the innermost of several sums over whole vectors has so few steps that counting
 * them shows. Written out, what rows share would be kept in registers until the last of them has
 * seen it, which sums of the tile would have to leave. */
static bool is_short(const hone_recipe_t* r, const hone_contraction_t* c) {
  int64_t steps = hone_known_extent(c->sums[c->n_sums - 1].extent);
  bool is_apart = c->apart && c->group > 1; /* whose rows are no step any more */
  return (is_apart || (c->n_sums > 1 && c->group == 1)) && steps > 1 && steps <= HONE_FEW_STEPS &&
         hone_known_extent(c->lanes->extent) >= r->shape->lanes &&
         (c->apart || !shares_steps(r, c));
}

static void schedule_rest(hone_recipe_t* r, hone_stmt_t* rest, const hone_contraction_t* front,
                          const cuts_t* front_cuts);

/* Tiles of the blocks that the lanes, which are the outermost loop, are cut into. What
 * these leave over stands behind in a nest of its own, and gets tiles of its own. Beside blocks
 * that threads share already, rows that only a run knows can not be cut at the top: lanes that are
 * less than a block are one round of a loop around them. */
static void schedule_lanes(hone_recipe_t* r, hone_contraction_t* c, hone_tile_t tile,
                           bool beside_shared, cuts_t* cuts) {
  char tail[HONE_LOOP_NAME];
  *cuts = (cuts_t){.lanes_outer = ""};
  int64_t lanes = r->shape->lanes, extent = hone_known_extent(c->lanes->extent);
  /* A single lane is no vector, so it does not go with others, nor does part of one with others in
   * matrix instructions. */
  if (extent > lanes && (extent % lanes == 1 || (c->matrix && extent % lanes)) &&
      tile.vectors > extent / lanes)
    tile.vectors = (int)(extent / lanes);
  bool fills_vectors = c->group == HONE_SLIGHT_GROUP && extent > lanes; /* parts are left over */
  bool is_block =
      fills_vectors ? extent == lanes * tile.vectors : extent && extent <= lanes * tile.vectors;
  if (!hone_loop_name(tail, c->lanes->name, ".t") ||
      !hone_loop_name(cuts->lanes, c->lanes->name, ""))
    return;
  bool is_round = beside_shared && is_block && has_open_rows_alone(c);
  if ((!is_block || is_round) && !cut_lanes(r, c, is_round ? extent : lanes * tile.vectors, cuts))
    return;
  if (is_round && tile.rows > HONE_FEW_HEIGHTS) tile.rows = HONE_FEW_HEIGHTS;
  r->is_short = is_short(r, c);
  r->is_window = hone_contraction_is_window(c);
  if (*cuts->lanes_outer && extent % (lanes * tile.vectors) == 0 &&
      hone_contraction_shares_rows(r, c, tile.rows)) {
    share_rows(r, c, tile.rows, cuts);
    return;
  }
  if (*cuts->lanes_outer && !is_round && extent % (lanes * tile.vectors) == 0 &&
      schedule_groups(r, c, tile.rows, cuts))
    return;
  cut_rows(r, c, tile.rows, cuts->rows_outer, cuts->rows);
  if (*cuts->rows_outer && tile.lines < 2 && !r->choice->rows)
    tile.rows = (int)hone_contraction_fit_tile(c, tile.rows);
  cut_lines(r, c, tile.lines, cuts);
  if (!arrange(r, c, cuts) || !join_lines(r, c, cuts)) return;
  if (*cuts->lines && c->matrix && hone_block_parts(c->matrix, tile.rows, c->line_rows) > 1) {
    r->line = tile.rows;
    r->line_apart = c->line_rows;
  }
  if (*cuts->lines) tile.rows *= tile.lines;
  hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, cuts->lanes);
  if (loop) schedule_block(r, loop, c->rows ? c->rows->name : NULL, tile.rows);
  r->line = r->line_apart = 0;
  if (!is_round) hone_schedule_asks(r, c, cuts->lanes_outer, cuts->rows_outer);
  hone_stmt_t* rest = is_block || !extent ? NULL : hone_kernel_find_loop(r->kernel, tail);
  if (rest) schedule_rest(r, rest, c, cuts);
}

/* What blocks of lanes leave over goes through the same blocks of rows, while those are near. */
/* NOLINTNEXTLINE(misc-no-recursion): each rest is shorter */
static void schedule_rest(hone_recipe_t* r, hone_stmt_t* rest, const hone_contraction_t* front,
                          const cuts_t* front_cuts) {
  hone_contraction_t c;
  cuts_t cuts;
  if (!recognise_rest(r, rest, &c)) return;
  const hone_stmt_t* blocks = *front_cuts->rows_outer && !front->apart
                                  ? hone_kernel_find_loop(r->kernel, front_cuts->rows_outer)
                                  : NULL;
  /* Too few blocks are shared out together with the lanes inside. */
  bool goes_along = blocks && hone_known_extent(blocks->extent) >= HONE_ENOUGH_BLOCKS;
  c.wide = front->wide;
  c.block = goes_along ? hone_known_extent(front->rows->extent) : 0;
  const hone_stmt_t* front_lanes = hone_kernel_find_loop(r->kernel, front_cuts->lanes_outer);
  bool is_shared = front_lanes && front_lanes->loop == HONE_LOOP_PARALLEL;
  schedule_lanes(r, &c, hone_contraction_tile(r, &c), is_shared, &cuts);
  if (goes_along && *cuts.rows_outer)
    hone_recipe_did(r, hone_sched_merge(r->kernel, front_cuts->rows_outer, cuts.rows_outer));
}

/* Cuts the eight numbers of a group of the sum into its halves. */
static void cut_halves(hone_recipe_t* r, const char* sum) {
  char group[HONE_LOOP_NAME];
  if (hone_loop_name(group, sum, ".i"))
    hone_recipe_did(r, hone_sched_split(r->kernel, group, HONE_SLIGHT_GROUP / HONE_SLIGHT_HALVES,
                                        HONE_TAIL_EXACT));
}

/* Cuts the innermost sum into what an instruction adds up, and the steps around that; of a lane's
 * own bytes it is all of that sum. */
static void cut_groups(hone_recipe_t* r, hone_contraction_t* c, char steps[HONE_LOOP_NAME]) {
  hone_axis_t* sum = &c->sums[c->n_sums - 1];
  const hone_intrinsic_t* dot = c->group > 1 ? hone_contraction_dot(r->shape, c) : NULL;
  if (dot && c->apart) {
    r->dot = dot;
    c->n_sums--;
    return;
  }
  if (!dot || !hone_loop_name(steps, sum->name, ".o") ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, sum->name, c->group, HONE_TAIL_EXACT)))
    return;
  r->dot = dot;
  r->matrix = c->matrix;
  r->joins = c->joins;
  if (dot->slight_lanes) cut_halves(r, sum->name);
  sum->name = steps;
}

/* Whether b's elements along the lanes are consecutive, if need be after packing. */
static bool lay_out(hone_recipe_t* r, hone_contraction_t* c, int64_t block,
                    char grouped[HONE_LOOP_NAME]) {
  int64_t stride;
  hone_contraction_order_sums(r, c);
  if (c->group > 1 && !hone_contraction_is_grouped(r, c, c->n_sums - 1)) c->group = 1;
  if (!r->choice->no_pack && hone_dim_is_int(c->lanes->extent) && pack_weights(r, c, block)) {
    cut_groups(r, c, grouped);
    return true;
  }
  return hone_contraction_factor(r->kernel, c->b->buffer, c->b->index, c->lanes->var, &stride) &&
         stride == 1;
}

/* The tile chosen, as far as it makes sense here; else the best by the model. */
static hone_tile_t find_tile(const hone_recipe_t* r, const hone_contraction_t* c) {
  hone_tile_t tile = {r->choice->rows, r->choice->vectors, r->choice->lines};
  int64_t most = hone_contraction_vectors(r, c);
  if (tile.rows < 1 || tile.vectors < 1) return hone_contraction_tile(r, c);
  if (!c->rows) tile.rows = 1;
  if (!hone_contraction_has_lines(r->shape, c, tile.lines)) tile.lines = 1;
  if (tile.vectors > most) tile.vectors = (int)most;
  return tile;
}

/* Whether so few outputs are summed up faster one by one, with lanes along the sum,
 * than in vectors of which most lanes hold nothing. */
static bool are_dots_faster(const hone_recipe_t* r, const hone_contraction_t* c) {
  static const double cycles = 1.5; /* a vector of one sum */
  int64_t lanes = hone_known_extent(c->lanes->extent);
  if (!lanes || lanes >= r->shape->lanes || !hone_contraction_has_long_sum(r, c)) return false;
  double rows = c->rows ? (double)hone_likely_extent(r->kernel, c->rows->extent) : HONE_MANY_ROUNDS;
  return cycles * rows * (double)lanes / r->shape->lanes <
         hone_contraction_cost(r, c, hone_contraction_tile(r, c));
}

/* Whether each lane has data of its own that does not lie beside the next one's, as where a
 * depthwise convolution gives channels last of an image with channels first. */
static bool gathers_lanes(const hone_recipe_t* r, const hone_contraction_t* c) {
  int64_t step;
  return c->apart &&
         !(hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, c->lanes->var, &step) &&
           step == 1);
}

/* The contraction with the lanes that it gets: along weights where those along the
 * output make no tile, as where channels lie far apart, or a shorter one, or where no results lie
 * side by side; along data that would be gathered. */
static bool find_contraction(const hone_recipe_t* r, hone_stmt_t* nest, hone_contraction_t* out) {
  if (r->choice->lanes_of_weights ||
      !hone_contraction_recognise(r, out, nest, HONE_LANES_OF_OUTPUT))
    return hone_contraction_recognise(r, out, nest, HONE_LANES_OF_WEIGHTS);
  if (gathers_lanes(r, out)) {
    if (hone_contraction_recognise(r, out, nest, HONE_LANES_OF_DATA) &&
        hone_cost_extent(out->lanes->extent) >= r->shape->lanes)
      return true;
    if (!hone_contraction_recognise(r, out, nest, HONE_LANES_OF_OUTPUT)) return false;
  }
  int64_t lanes = hone_known_extent(out->lanes->extent);
  bool is_short = lanes && lanes < r->shape->lanes, tiles = hone_contraction_is_tileable(r, out);
  if (tiles && !is_short) return true;
  if (hone_contraction_recognise(r, out, nest, HONE_LANES_OF_WEIGHTS) &&
      hone_contraction_is_tileable(r, out) &&
      (!tiles || hone_known_extent(out->lanes->extent) > lanes))
    return true;
  if (!tiles && hone_contraction_recognise(r, out, nest, HONE_LANES_OF_DATA) &&
      hone_contraction_is_tileable(r, out) &&
      hone_cost_extent(out->lanes->extent) >= r->shape->lanes)
    return true;
  return hone_contraction_recognise(r, out, nest, HONE_LANES_OF_OUTPUT);
}

/* The same, after what helps all ways to schedule it. Sums that go along axes of weights of their
 * own stay apart: fused ones would only know where in memory a step is, and weights are laid out
 * axis by axis. */
static bool prepare_contraction(hone_recipe_t* r, hone_stmt_t* nest, hone_contraction_t* out) {
  if (!hone_contraction_recognise_any(r, out, nest)) return false;
  hone_split_phases(r, nest, out->a->buffer->is_constant ? out->a : out->b);
  if (!find_contraction(r, nest, out)) return false;
  if (!hone_contraction_could_pack(out)) {
    hone_fuse_contiguous_sums(r, nest);
    if (!find_contraction(r, nest, out)) return false;
  }
  hone_contraction_find_block(r, out);
  out->wide = hone_contraction_is_wide(r, out);
  return true;
}

bool hone_schedule_contract(hone_recipe_t* r, hone_stmt_t* nest) {
  hone_contraction_t c;
  cuts_t cuts;
  char grouped[HONE_LOOP_NAME];
  r->dot = r->matrix = NULL;
  if (!prepare_contraction(r, nest, &c)) return false;
  hone_tile_t tile = find_tile(r, &c);
  bool is_tileable = hone_contraction_is_tileable(r, &c);
  if (!is_tileable && hone_contraction_is_turnable(r, &c) && hone_schedule_turned(r, &c))
    return true;
  if (!is_tileable || are_dots_faster(r, &c) ||
      !lay_out(r, &c, (int64_t)r->shape->lanes * tile.vectors, grouped)) {
    hone_prepare_dots(r, &c);
    return r->status != NULL;
  }
  if (move_lanes_out(r, &c)) schedule_lanes(r, &c, tile, false, &cuts);
  return true;
}

/* ---- facts ---- */

static void fill_facts(const hone_recipe_t* r, const hone_contraction_t* c,
                       hone_contraction_facts_t* out) {
  hone_kernel_t* kernel = r->kernel;
  hone_tile_t tile = hone_contraction_tile(r, c);
  *out = (hone_contraction_facts_t){.lanes = hone_known_extent(c->lanes->extent),
                                    .has_rows = c->rows != NULL,
                                    .rows = c->rows ? hone_known_extent(c->rows->extent) : 1,
                                    .others = 1,
                                    .sums = c->sum_count,
                                    .n_sums = c->n_sums,
                                    .innermost = hone_contraction_innermost(kernel, c),
                                    .can_pack = hone_contraction_could_pack(c),
                                    .group = c->group,
                                    .apart = c->apart && c->group == 1,
                                    .widens = c->widens,
                                    .matrix = c->matrix,
                                    .wide = c->wide,
                                    .lanes_first = hone_contraction_lanes_first(r, c),
                                    .row_bytes = c->row_bytes,
                                    .result_bytes = c->result_bytes,
                                    .a_bytes = hone_cost_bytes(c->a->buffer),
                                    .b_bytes = hone_cost_bytes(c->b->buffer)};
  for (int i = 0; i < c->n_outs; i++)
    if (&c->outs[i] != c->lanes && &c->outs[i] != c->rows)
      out->others *= hone_cost_extent(c->outs[i].extent);
  out->last_sum = hone_known_extent(c->sums[out->innermost].extent);
  bool has_tiles = hone_contraction_is_tileable(r, c) || hone_contraction_is_turnable(r, c);
  if (!has_tiles || are_dots_faster(r, c)) return;
  out->tile_rows = tile.rows;
  out->tile_vectors = tile.vectors;
  out->tile_lines = tile.lines;
  for (int lines = 1; lines <= HONE_TILE_MOST_LINES; lines *= 2)
    if (hone_contraction_has_lines(r->shape, c, lines)) out->most_lines = lines;
}

double hone_contraction_cycles(const hone_contraction_facts_t* f, const hone_cpu_shape_t* shape,
                               int rows, int vectors) {
  hone_axis_t lanes = {.extent = f->lanes ? hone_dim_int(f->lanes)
                                          : hone_dim_int(HONE_COST_EXTENT * (int64_t)shape->lanes)};
  hone_axis_t row = {.extent = hone_dim_int(f->rows ? f->rows : HONE_COST_EXTENT)};
  hone_contraction_t c = {.lanes = &lanes,
                          .rows = &row,
                          .row_bytes = f->row_bytes,
                          .sum_count = f->sums,
                          .group = f->group,
                          .widens = f->widens,
                          .wide = f->wide,
                          .result_bytes = f->result_bytes,
                          .matrix = f->matrix};
  const hone_recipe_t r = {.shape = shape};
  /* Parts of vectors are left over where weights are slight, else a single lane. */
  bool has_rest = lanes.extent.k > shape->lanes &&
                  (f->group == HONE_SLIGHT_GROUP || lanes.extent.k % shape->lanes == 1);
  double scalar =
      has_rest && f->group > 1 ? (double)(lanes.extent.k % shape->lanes * row.extent.k) : 0;
  return (hone_contraction_cost(&r, &c, (hone_tile_t){rows, vectors}) + scalar) * f->others *
         f->sums / f->group;
}

static bool look_at_nest(hone_recipe_t* r, hone_stmt_t* nest, hone_contraction_facts_t* out) {
  hone_contraction_t c, other;
  if (!prepare_contraction(r, nest, &c)) return false;
  fill_facts(r, &c, out);
  out->has_weight_lanes = hone_contraction_recognise(r, &other, nest, HONE_LANES_OF_WEIGHTS) &&
                          hone_contraction_is_tileable(r, &other) &&
                          !hone_dim_same(other.lanes->var, c.lanes->var);
  return true;
}

bool hone_contraction_look(hone_kernel_t* kernel, const hone_cpu_shape_t* shape,
                           hone_contraction_facts_t* out_facts) {
  static const hone_cpu_choice_t none = {0};
  hone_recipe_t r = {.kernel = kernel, .shape = shape, .choice = &none};
  double most = 0;
  for (int i = 0; i < kernel->root->n_body && !r.status; i++) {
    hone_contraction_facts_t facts;
    if (!hone_stmt_is_loop(kernel->root->body[i])) continue;
    if (!look_at_nest(&r, hone_fuse_contiguous(&r, kernel->root->body[i]), &facts)) continue;
    double work = facts.others * facts.sums * (double)(facts.rows ? facts.rows : HONE_COST_EXTENT) *
                  (double)(facts.lanes ? facts.lanes : HONE_COST_EXTENT);
    if (work <= most) continue;
    most = work;
    *out_facts = facts;
  }
  hone_status_free(r.status); /* memory: the kernel says so too */
  return most > 0;
}

bool hone_contraction_any(hone_kernel_t* kernel) {
  const hone_recipe_t r = {
      .kernel = kernel, .shape = &(hone_cpu_shape_t){0}, .choice = &(hone_cpu_choice_t){0}};
  hone_contraction_t c;
  for (int i = 0; i < kernel->root->n_body; i++)
    if (hone_contraction_recognise_any(&r, &c, kernel->root->body[i])) return true;
  return false;
}
