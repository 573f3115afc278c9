/* Weights that tiles of a contraction read from far: asked for by the tiles of the block of lanes
 * before, or read in several streams. */
#include "backends/common/contraction.h"
#include "loop/access.h"
#include "tune/cost.h"

enum {
  LINE = 64,       /* bytes, of the cache */
  STEPS_OF_FEW = 4 /* that ask together, of tiles of which there may be few */
};

/* Whether what a statement reads of a buffer changes along a loop. */
static bool changes_along(hone_kernel_t* kernel, hone_stmt_t* stmt, const hone_buffer_t* buffer,
                          hone_dim_t var) {
  hone_access_list_t list;
  bool changes = false;
  hone_status_t status = hone_access_collect(kernel, stmt, &list);
  if (status) {
    hone_status_free(status);
    return false;
  }
  for (int i = 0; i < list.count && !changes; i++)
    for (int axis = 0; axis < buffer->rank && list.items[i].buffer == buffer && !changes; axis++)
      changes = hone_dim_uses(list.items[i].index[axis], var);
  hone_access_free(&list);
  return changes;
}

/* Tiles that the weights of one block of lanes serve: along loops of the block for which there are
 * others, each of them has its own. */
static int64_t count_tiles(hone_kernel_t* kernel, hone_stmt_t* sum, const hone_stmt_t* block,
                           const hone_buffer_t* weights) {
  int64_t count = 1;
  for (const hone_stmt_t* s = sum->parent; s && s != block && count < HONE_MANY_ROUNDS;
       s = s->parent)
    if (hone_stmt_is_loop(s) && !s->is_reduction && !changes_along(kernel, sum, weights, s->var))
      count *= hone_likely_extent(kernel, s->extent);
  return count;
}

/* The innermost loops around the tiles in the statement that add up, in their order; gives how
 * many, at most `room`. */
static int list_sums(hone_stmt_t* stmt, int room, hone_stmt_t** out) {
  int n = 0;
  if (hone_stmt_is_loop(stmt) && stmt->is_reduction) {
    hone_stmt_t* inner = hone_only_loop(stmt);
    if (inner && inner->is_reduction && !inner->intrinsic) return list_sums(inner, room, out);
    if (room > 0) out[n++] = stmt;
    return n;
  }
  for (int i = 0; i < stmt->n_body; i++) n += list_sums(stmt->body[i], room - n, out + n);
  return n;
}

/* Whether a vector is a line: what is read straight on comes fast then. */
static bool reads_lines(const hone_recipe_t* r) {
  return r->shape->lanes * (int64_t)sizeof(float) >= LINE;
}

/* Has each step of a sum go on in several places of the block of weights at once: memory gives
 * several streams more in the same time than one, where vectors are parts of lines. Whole lines of
 * one stream come faster than those of several, but for machines that have matrix instructions
 * (alexnet's products by one row: 0.7 of the time in bf16, 0.9 in f32). */
static void read_in_streams(hone_recipe_t* r, const hone_contraction_t* c, const hone_stmt_t* sum) {
  enum { MOST_STREAMS = 4, LEAST_STEPS = 64 };
  char outer[HONE_LOOP_NAME], inner[HONE_LOOP_NAME];
  int64_t steps = hone_known_extent(sum->extent), streams = MOST_STREAMS;
  if (reads_lines(r) && !r->shape->has_block_bf16) return;
  while (streams > 1 && (steps % streams || steps / streams < LEAST_STEPS)) streams--;
  if (streams < 2 || hone_cost_bytes(c->b->buffer) <= (double)hone_contraction_second_cache(r) ||
      !hone_loop_name(outer, sum->name, ".o") || !hone_loop_name(inner, sum->name, ".i") ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, sum->name, steps / streams, HONE_TAIL_EXACT)))
    return;
  const char* order[] = {inner, outer};
  if (hone_recipe_did(r, hone_sched_reorder(r->kernel, 2, order)))
    hone_recipe_did(r, hone_sched_unroll(r->kernel, outer));
}

/* The weights as the kernel has them now: packing has put another buffer in the place of the one
 * that was recognised. */
static const hone_buffer_t* weights_of(const hone_recipe_t* r, const hone_contraction_t* c) {
  const hone_buffer_t* b = c->b->buffer;
  return b->role == HONE_ROLE_INPUT ? r->kernel->buffers[b->id] : b;
}

/* Lines of the cache that the packed weights of a block have for each step of the sum. */
static int64_t lines_of_step(const hone_recipe_t* r, const hone_contraction_t* c) {
  const hone_buffer_t* b = weights_of(r, c);
  int64_t bytes = (int64_t)hone_dtype_size(b->dtype);
  for (int i = b->rank - (c->group > 1 ? 2 : 1); i < b->rank; i++)
    bytes *= hone_known_extent(b->dims[i]);
  return bytes > LINE ? bytes / LINE : 1;
}

/* Whether weights are asked for into the first cache: it has room for those of two blocks, and
 * tiles read them that do not have to ask for all of the next at once. What they read beside them
 * drives some out again. Found on a Zen 4; Intel's cores, which do vectors of 64 bytes whole, have
 * few places where lines wait for the first cache, which products need, and are slower for it. */
static bool has_room(const hone_recipe_t* r, const hone_contraction_t* c, const hone_stmt_t* sum,
                     int64_t tiles) {
  enum { SOME_TILES = 3 };
  return r->shape->halves_vectors && tiles >= SOME_TILES &&
         2 * LINE * lines_of_step(r, c) * sum->extent.k <= r->shape->first_cache;
}

/* Has the tiles of one sum ask for the weights of the next block, some of them each step. */
static void ask_in(hone_recipe_t* r, const hone_contraction_t* c, const hone_stmt_t* block,
                   hone_stmt_t* sum, bool is_only) {
  enum { MOST_STEPS = 64, UNASKED = 8 /* one line of so many comes unasked */ };
  char steps[HONE_LOOP_NAME];
  const char* weights = c->b->buffer->name;
  if (!hone_dim_is_int(sum->extent) || !hone_loop_name(steps, sum->name, ".o")) return;
  int64_t tiles =
      is_only ? count_tiles(r->kernel, sum, block, weights_of(r, c)) : (int64_t)HONE_MANY_ROUNDS;
  int64_t each = is_only ? MOST_STEPS : STEPS_OF_FEW;
  tiles += tiles / (UNASKED - 1);
  while (each > 1 && (each * lines_of_step(r, c) > tiles || sum->extent.k % each)) each /= 2;
  bool asks_each = each == 1, is_near = has_room(r, c, sum, tiles);
  if (!asks_each &&
      !hone_recipe_did(r, hone_sched_split(r->kernel, sum->name, each, HONE_TAIL_EXACT)))
    return;
  hone_recipe_did(r, hone_sched_prefetch(r->kernel, weights, block->name,
                                         asks_each ? sum->name : steps, is_near));
}

/* The rows of the tiles of a sum, or 1. */
static int64_t tile_rows(const hone_contraction_t* c, const hone_stmt_t* sum) {
  const hone_stmt_t* rows = c->rows ? hone_only_loop(sum) : NULL;
  return rows ? hone_known_extent(rows->extent) : 1;
}

/* Whether the sum's tiles are so low that there are hardly others for its block, and that they
 * ask too late for the next: of rows that only a run knows, which tiles share evenly, or the only
 * ones. */
static bool is_alone(hone_recipe_t* r, const hone_contraction_t* c, const hone_stmt_t* block,
                     hone_stmt_t* sum, bool is_only) {
  enum { LOW = 3, HIGH = 8, HIGH_OF_LINES = 13 };
  if (is_only)
    return count_tiles(r->kernel, sum, block, weights_of(r, c)) == 1 &&
           tile_rows(c, sum) < (reads_lines(r) ? HIGH_OF_LINES : HIGH);
  return c->rows && tile_rows(c, sum) <= LOW;
}

/* Whether the first cache keeps all weights beside what else tiles read. */
static bool is_small(const hone_recipe_t* r, const hone_contraction_t* c) {
  enum { PARTS = 8 };
  return PARTS * hone_cost_bytes(c->b->buffer) <= (double)r->shape->first_cache;
}

/* Where a run has few tiles, each asks for more. Where vectors are lines, whose own are read fast,
 * and take two turns, a tile alone had better not: there each asks for as much as one of two does,
 * or not at all. Found on a Zen 4; Intel's third cache is so far that asking pays (BERT-base's open
 * rows of 5 to 8 words on an Emerald Rapids: 0.7 of the time). */
static void hasten(hone_recipe_t* r, const hone_contraction_t* c, const char* block) {
  enum { MOST_LINES = 8, FEW = 2 };
  int64_t most = MOST_LINES;
  bool gives_up = false;
  if (reads_lines(r)) {
    most = STEPS_OF_FEW * lines_of_step(r, c); /* all that a tile alone has to ask for */
    gives_up = r->shape->halves_vectors;
    if (gives_up) most = (most + FEW - 1) / FEW;
  }
  hone_recipe_did(r, hone_sched_hasten(r->kernel, c->b->buffer->name, block, most, gives_up));
}

/* Whether a loop around the block of lanes reads all weights again, so that the second cache may
 * have them. */
static bool is_repeated(const hone_recipe_t* r, const hone_contraction_t* c,
                        const hone_stmt_t* block) {
  if (hone_cost_bytes(weights_of(r, c)) > (double)hone_contraction_second_cache(r) / 2)
    return false;
  for (const hone_stmt_t* s = block->parent; s; s = s->parent)
    if (hone_stmt_is_loop(s) && hone_dim_max_value(s->extent) > 1) return true;
  return false;
}

/* Matrix instructions read several lines of weights each: whoever adds up a tile asks for its share
 * of the next block's. */
static void ask_by_instructions(hone_recipe_t* r, const hone_contraction_t* c,
                                const hone_stmt_t* block, int n, hone_stmt_t* const* sums) {
  enum { MOST_LINES = 64 };
  const char* weights = c->b->buffer->name;
  bool asks = false;
  for (int i = 0; i < n; i++)
    asks |= hone_recipe_did(
        r, hone_sched_prefetch(r->kernel, weights, block->name, sums[i]->name, false));
  if (asks)
    hone_recipe_did(r, hone_sched_hasten(r->kernel, weights, block->name, MOST_LINES, false));
}

/* Weights come from far, and those of a block of lanes are read in little time when the
 * first tile needs them. So the tiles of the block before ask for them, line by line: all of
 * them where only a run knows how many there are of which height, and a few may have to ask
 * for everything. Where hardly a tile but one reads a block, it could not ask early enough.
 * Sums that are written out several times ask for nothing. */
void hone_schedule_asks(hone_recipe_t* r, const hone_contraction_t* c, const char* lanes_outer,
                        const char* rows_outer) {
  hone_stmt_t* sums[HONE_MOST_HEIGHTS + 1];
  hone_stmt_t* block = hone_kernel_find_loop(r->kernel, lanes_outer);
  const hone_stmt_t* rows = *rows_outer ? hone_kernel_find_loop(r->kernel, rows_outer) : NULL;
  bool is_near = rows && hone_dim_min_value(rows->extent) > 1; /* read again for each block */
  if (!block || is_near || !c->b->buffer->is_constant || is_small(r, c) ||
      r->choice->sum_unroll > 1)
    return;
  int n = list_sums(block, HONE_MOST_HEIGHTS + 1, sums);
  if (r->matrix) {
    if (!is_repeated(r, c, block)) ask_by_instructions(r, c, block, n, sums);
    return;
  }
  bool is_open = n > 1 && !hone_dim_is_int(sums[0]->parent->extent);
  for (int i = 0; i < n && (i == 0 || is_open); i++) {
    if (is_alone(r, c, block, sums[i], !is_open))
      read_in_streams(r, c, sums[i]);
    else
      ask_in(r, c, block, sums[i], !is_open);
  }
  if (is_open) hasten(r, c, block->name);
}
