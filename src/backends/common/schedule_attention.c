/* Chains of contractions, attention above all: a row of results is computed from a
 * row of sums, and summed over in turn.
 *
 *   for outs… { for q {
 *     for j { s = 0; for k { s += Q[q, k] * K[j, k] }; row[j] = f(s) }
 *     …                                       reductions and maps over the row
 *     for d { o = 0; for j { o += row[j] * V[j, d] }; out[q, d] = o }
 *   } }
 *
 * Some q are done at a time, and are the lanes of all but the last sums: the rows of
 * a block lie in scratch as [j, q], so that nothing is added up across lanes, and no
 * operand but the block of Q has to be turned. Of narrow numbers, which are multiplied in pairs,
 * the rows lie as [j / 2, q, j % 2], and all of V is put down as [j / 2, d, j % 2] once. */
#include <stdio.h>
#include <string.h>

#include "backends/common/contraction.h"
#include "backends/common/schedule_impl.h"
#include "loop/access.h"
#include "loop/block.h"
#include "tune/cost.h"

enum { MAX_LOOPS = 24, MAX_PARTS = 24, STACK = 1 << 20 /* bytes of copies */ };

typedef struct chain {
  int n_outs;
  hone_stmt_t* outs[MAX_LOOPS];
  hone_stmt_t* body;        /* the innermost of them */
  const hone_stmt_t* rows;  /* among outs: those done at a time */
  const hone_term_t *k, *v; /* the loads of the products that do not change with them */
} chain_t;

/* ---- recognising ---- */

/* The store that adds up products, inside of the statement; NULL: there is none. */
static const hone_stmt_t* find_product(const hone_stmt_t* stmt) {
  if (stmt->kind == HONE_STMT_STORE) {
    bool is_sum = stmt->combine == HONE_COMBINE_ADD && stmt->value->kind == HONE_TERM_PRIM &&
                  stmt->value->prim == HONE_PRIM_MUL;
    return is_sum ? stmt : NULL;
  }
  const hone_stmt_t* found = NULL;
  for (int i = 0; i < stmt->n_body && !found; i++) found = find_product(stmt->body[i]);
  return found;
}

static const hone_term_t* factor(const hone_stmt_t* product, int side) {
  return hone_bare_load(product->value->args[side]);
}

static bool is_nest_of_stores(const hone_stmt_t* stmt) {
  if (stmt->kind == HONE_STMT_STORE) return true;
  if (!hone_stmt_is_loop(stmt) || stmt->loop != HONE_LOOP_SERIAL) return false;
  for (int i = 0; i < stmt->n_body; i++)
    if (!is_nest_of_stores(stmt->body[i])) return false;
  return true;
}

static bool find_outs(chain_t* c, hone_stmt_t* nest) {
  for (hone_stmt_t* loop = nest; loop; loop = hone_only_loop(loop)) {
    if (c->n_outs == MAX_LOOPS || loop->is_reduction) return false;
    c->outs[c->n_outs++] = loop;
    c->body = loop;
  }
  return c->n_outs > 0 && c->body->n_body <= MAX_PARTS;
}

/* The loop of the output that turns both products into products of matrices: the
 * second operands do not change with it. The longest one. */
static bool find_rows(chain_t* c, const hone_stmt_t* first, const hone_stmt_t* last) {
  for (int i = 0; i < c->n_outs; i++) {
    hone_dim_t var = c->outs[i]->var;
    for (int side = 0; side < 2; side++) {
      const hone_term_t *q = factor(first, side), *k = factor(first, 1 - side);
      const hone_term_t* v = NULL;
      bool is_row = hone_term_uses(q, var) && !hone_term_uses(k, var);
      for (int n = 0; n < 2 && is_row; n++) {
        const hone_term_t* term = factor(last, n);
        bool is_scratch = term->buffer->role == HONE_ROLE_SCRATCH;
        is_row = is_scratch || !hone_term_uses(term, var);
        if (!is_scratch) v = term;
      }
      if (!is_row ||
          (c->rows && hone_cost_extent(c->rows->extent) >= hone_cost_extent(c->outs[i]->extent)))
        continue;
      c->rows = c->outs[i];
      c->k = k;
      c->v = v;
    }
  }
  return c->rows != NULL;
}

static bool recognise(chain_t* c, hone_stmt_t* nest) {
  *c = (chain_t){0};
  if (!hone_stmt_is_loop(nest) || !find_outs(c, nest)) return false;
  const hone_stmt_t *first = NULL, *last = NULL;
  for (int i = 0; i < c->body->n_body; i++) {
    const hone_stmt_t* stmt = c->body->body[i];
    const hone_stmt_t* product = find_product(stmt);
    if (!is_nest_of_stores(stmt)) return false;
    if (!product) continue;
    if (stmt->kind != HONE_STMT_LOOP || !factor(product, 0) || !factor(product, 1)) return false;
    if (!first) first = product;
    last = product;
  }
  return first && last != first && find_rows(c, first, last);
}

/* ---- blocks of rows ---- */

/* Puts the loop over rows inside of the others. */
static bool move_rows_in(hone_recipe_t* r, const chain_t* c) {
  const char* names[MAX_LOOPS];
  int n = 0;
  for (int i = 0; i < c->n_outs; i++)
    if (c->outs[i] != c->rows) names[n++] = c->outs[i]->name;
  names[n++] = c->rows->name;
  return c->rows == c->body || hone_recipe_did(r, hone_sched_reorder(r->kernel, n, names));
}

/* Whether the scratch buffer's last axis has whole pairs of numbers that are multiplied so. */
static bool has_pairs(const hone_recipe_t* r, const hone_buffer_t* buffer) {
  hone_dim_t last = buffer->dims[buffer->rank - 1];
  return r->shape->has_dot2_bf16 && buffer->dtype == HONE_BF16 && hone_dim_is_int(last) &&
         last.k % 2 == 0;
}

void hone_move_axis_back(hone_recipe_t* r, const hone_buffer_t* buffer, int axis, bool in_pairs) {
  hone_layout_word_t words[HONE_MAX_RANK + 1];
  int n = 0, last = buffer->rank - 1;
  if (buffer->rank >= HONE_MAX_RANK) return;
  for (int i = 0; i <= last; i++)
    if (i != axis)
      snprintf(words[n++], sizeof *words, "%d%s", i, in_pairs && i == last ? "/2" : "");
  snprintf(words[n++], sizeof *words, "%d", axis);
  if (in_pairs) snprintf(words[n++], sizeof *words, "%d%%2", last);
  hone_pack_words(r, buffer, n, words);
}

static const hone_buffer_t* grown_in(const hone_stmt_t* stmt, hone_dim_t var) {
  const hone_buffer_t* buffer = stmt->buffer;
  if (stmt->kind == HONE_STMT_STORE && buffer->role == HONE_ROLE_SCRATCH && buffer->rank > 1 &&
      hone_dim_same(stmt->index[0], var))
    return buffer;
  for (int i = 0; i < stmt->n_body; i++) {
    buffer = grown_in(stmt->body[i], var);
    if (buffer) return buffer;
  }
  return NULL;
}

/* The instruction that multiplies matrices of bf16; NULL: there is none. */
static const hone_intrinsic_t* find_block(const hone_recipe_t* r) {
  char name[32];
  snprintf(name, sizeof name, "dot2_bf16_bf16_x%d", r->shape->lanes);
  const hone_intrinsic_t* dot = r->shape->has_block_bf16 ? hone_intrinsic_find(name) : NULL;
  return dot ? hone_intrinsic_block_of(dot) : NULL;
}

/* Whether matrix instructions multiply what is in the buffer, which take rows as they are. */
static bool stays_in_rows(const hone_recipe_t* r, const hone_buffer_t* buffer) {
  const hone_intrinsic_t* block = find_block(r);
  return block && has_pairs(r, buffer) &&
         hone_block_depth(block, buffer->dims[buffer->rank - 1].k / 2) > 0;
}

/* What was a row is one of each row of the block: those become the lanes. */
static void turn_rows(hone_recipe_t* r, const hone_stmt_t* block) {
  for (int i = 0; i < block->n_body; i++) {
    const hone_stmt_t* part = block->body[i];
    const hone_buffer_t* buffer = grown_in(part, part->var);
    if (buffer && !stays_in_rows(r, buffer))
      hone_move_axis_back(r, buffer, 0, has_pairs(r, buffer));
  }
}

/* The operand of the first product that changes with the rows. */
static const hone_term_t* find_operand(const hone_stmt_t* part) {
  const hone_stmt_t* product = find_product(part);
  for (int side = 0; side < 2 && product; side++) {
    const hone_term_t* load = factor(product, side);
    if (load && hone_term_uses(load, part->var)) return load;
  }
  return NULL;
}

bool hone_copy_load(hone_recipe_t* r, hone_stmt_t* around, const hone_term_t* load) {
  hone_access_list_t list;
  if (!hone_recipe_did(r, hone_access_collect(r->kernel, around, &list))) return false;
  int number = hone_access_load_number(&list, load->buffer, load->index);
  hone_access_free(&list);
  return number &&
         hone_recipe_did(r, hone_sched_stage_load(r->kernel, load->buffer->name, around->name,
                                                  HONE_STAGE_LOCAL, number));
}

/* Copies the block of that operand, so that its rows are the lanes. Gives whether the
 * copying stands in front. */
static bool turn_operand(hone_recipe_t* r, hone_stmt_t* block) {
  int parts = block->n_body, first = 0;
  while (first < parts - 1 && !find_product(block->body[first])) first++;
  const hone_term_t* load = find_operand(block->body[first]);
  if (!load || !hone_copy_load(r, block, load)) return false;
  bool has_copy = block->n_body > parts;
  hone_stmt_t* part = block->body[has_copy ? first + 1 : first];
  load = find_operand(part);
  for (int i = 0; load && i < load->buffer->rank - 1; i++)
    if (load->buffer->role == HONE_ROLE_SCRATCH && hone_dim_same(load->index[i], part->var)) {
      hone_move_axis_back(r, load->buffer, i, false); /* the product brings it into pairs */
      break;
    }
  return has_copy;
}

/* ---- constants beside the scores ---- */

/* The axis of a constant that goes along the rows, which lie apart, keys side by side, as those of
 * masks and of biases by position do; -1: none does. */
static int find_rows_apart(const hone_recipe_t* r, const chain_t* c, const hone_access_t* access) {
  const hone_buffer_t* buffer = r->kernel->buffers[access->buffer->id];
  int last = buffer->rank - 1, found = -1;
  if (access->is_store || !buffer->is_constant || buffer->packing || last < 1) return -1;
  for (int i = 0; i < c->n_outs; i++)
    if (hone_dim_uses(access->index[last], c->outs[i]->var)) return -1;
  for (int i = 0; i < last; i++)
    if (hone_dim_same(access->index[i], c->rows->var)) found = i;
  return found;
}

/* Rows are the lanes of what is done to the scores: constants are laid out with them last. */
static bool turn_constants(hone_recipe_t* r, const chain_t* c, hone_stmt_t* nest) {
  hone_access_list_t list;
  if (!hone_recipe_did(r, hone_access_collect(r->kernel, nest, &list))) return false;
  for (int i = 0; i < list.count; i++) {
    int axis = find_rows_apart(r, c, &list.items[i]);
    if (axis >= 0) hone_move_axis_back(r, list.items[i].buffer, axis, false);
  }
  hone_access_free(&list);
  return !r->status;
}

/* What is put down near: an operand of which all rows of a round of the loop around them read the
 * same. */
typedef struct copy {
  char loop[HONE_LOOP_NAME]; /* the innermost that copies; "": there is no copy */
  const hone_buffer_t* buffer;
} copy_t;

/* Bytes of a load's buffer that all rows of a round read; all of it where sizes are open. */
static double bytes_of_round(const chain_t* c, const hone_term_t* load) {
  double bytes = (double)hone_dtype_size(load->buffer->dtype);
  for (int i = 0; i < load->buffer->rank; i++) bytes *= hone_cost_extent(load->buffer->dims[i]);
  for (int i = 0; i < c->n_outs; i++)
    if (c->outs[i] != c->rows && hone_term_uses(load, c->outs[i]->var))
      bytes /= hone_cost_extent(c->outs[i]->extent);
  return bytes;
}

/* Whether the operand is copied: numbers that go in pairs; and f32, whose rows lie so far apart
 * that few of them fit a cache, if there is `room` on a thread's stack, of which it takes its part.
 */
static bool is_put_down(const hone_recipe_t* r, const chain_t* c, const hone_term_t* operand,
                        double* room) {
  if (!operand || operand->buffer->role == HONE_ROLE_SCRATCH) return false;
  if (operand->buffer->dtype == HONE_BF16) return r->shape->has_dot2_bf16;
  double bytes = bytes_of_round(c, operand);
  if (operand->buffer->dtype != HONE_F32 || !r->choice->chain_near || bytes > *room) return false;
  *room -= bytes;
  return true;
}

static copy_t put_down(hone_recipe_t* r, const char* rows, const hone_term_t* operand,
                       bool is_wanted) {
  copy_t copy = {{0}};
  hone_stmt_t* around = hone_kernel_find_loop(r->kernel, rows)->parent;
  int before = around->n_body;
  if (around == r->kernel->root || !is_wanted || !hone_copy_load(r, around, operand) ||
      around->n_body != before + 1)
    return copy;
  const hone_stmt_t* nest = around->body[0];
  while (hone_only_loop(nest)) nest = hone_only_loop(nest);
  if (hone_loop_name(copy.loop, nest->name, "")) copy.buffer = nest->body[0]->buffer;
  return copy;
}

/* Of two loops, one directly inside of the other: two rounds at a time around the lanes, whose
 * numbers go by turns to where pairs of them lie; a last one may be left. False: there are no
 * pairs, or no whole vectors. */
static bool weave(hone_recipe_t* r, const hone_stmt_t* rounds, const hone_stmt_t* lanes) {
  char of_rounds[HONE_LOOP_NAME], of_lanes[HONE_LOOP_NAME], pairs[HONE_LOOP_NAME],
      two[HONE_LOOP_NAME], vectors[HONE_LOOP_NAME], vector[HONE_LOOP_NAME];
  int width = r->shape->lanes;
  if (!hone_dim_is_int(rounds->extent) || rounds->extent.k < 2 || !hone_dim_is_int(lanes->extent) ||
      lanes->extent.k % width || !hone_loop_name(of_rounds, rounds->name, "") ||
      !hone_loop_name(of_lanes, lanes->name, "") || !hone_loop_name(pairs, of_rounds, ".o") ||
      !hone_loop_name(two, of_rounds, ".i") || !hone_loop_name(vectors, of_lanes, ".o") ||
      !hone_loop_name(vector, of_lanes, ".i") ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, of_rounds, 2, HONE_TAIL_PEEL)) ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, of_lanes, width, HONE_TAIL_EXACT)))
    return false;
  const char* order[] = {pairs, vectors, two, vector};
  hone_recipe_did(r, hone_sched_reorder(r->kernel, 4, order));
  hone_recipe_did(r, hone_sched_vectorize(r->kernel, vector));
  hone_recipe_did(r, hone_sched_unroll(r->kernel, two));
  return true;
}

/* Lanes, though they may be put down two apart. */
static void copy_in_lanes(hone_recipe_t* r, const char* loop) {
  char lanes[HONE_LOOP_NAME];
  if (hone_loop_name(lanes, loop, ".i") &&
      hone_recipe_did(r, hone_sched_split(r->kernel, loop, r->shape->lanes, HONE_TAIL_PEEL)))
    hone_recipe_did(r, hone_sched_vectorize(r->kernel, lanes));
}

/* Of an operand that is put down in pairs of rows. */
static bool weave_copy(hone_recipe_t* r, const copy_t* copy) {
  const hone_stmt_t* lanes = hone_kernel_find_loop(r->kernel, copy->loop);
  return lanes && copy->buffer->dtype == HONE_BF16 && hone_stmt_is_loop(lanes->parent) &&
         weave(r, lanes->parent, lanes);
}

static const hone_stmt_t* find_last_product(const hone_stmt_t* rows) {
  const hone_stmt_t* product = NULL;
  for (int i = rows->n_body - 1; i >= 0 && !product; i--) product = find_product(rows->body[i]);
  return product;
}

/* The fewest steps, no less than there are, that go in pairs, and in instructions for matrices that
 * do as many each. */
static int64_t whole_steps(const hone_recipe_t* r, int64_t steps) {
  const hone_intrinsic_t* block = find_block(r);
  int64_t pairs = (steps + 1) / 2;
  if (!block) return 2 * pairs;
  int64_t count = (pairs + block->block.depth - 1) / block->block.depth;
  return 2 * count * ((pairs + count - 1) / count);
}

/* Gives the last sum, of numbers that go in pairs, whole ones. */
static void make_whole(hone_recipe_t* r, const char* rows) {
  const hone_stmt_t* product = find_last_product(hone_kernel_find_loop(r->kernel, rows));
  const hone_stmt_t* sum = product ? product->parent : NULL;
  int64_t steps = sum && sum->is_reduction ? hone_known_extent(sum->extent) : 0;
  if (!r->shape->has_dot2_bf16 || steps < 2) return;
  int64_t whole = whole_steps(r, steps);
  const hone_term_t* load = factor(product, 0);
  if (whole > steps && load && load->buffer->dtype == HONE_BF16)
    hone_recipe_did(r, hone_sched_lengthen(r->kernel, sum->name, whole));
}

/* The loop of the last product over the last axis of the copy. */
static const hone_stmt_t* find_columns(const hone_stmt_t* rows, const hone_buffer_t* copy) {
  const hone_stmt_t* product = find_last_product(rows);
  for (int side = 0; side < 2 && product; side++) {
    const hone_term_t* load = factor(product, side);
    if (!load || load->buffer != copy) continue;
    for (const hone_stmt_t* loop = product->parent; loop; loop = loop->parent)
      if (hone_stmt_is_loop(loop) && hone_dim_same(load->index[copy->rank - 1], loop->var))
        return loop;
  }
  return NULL;
}

/* Columns by as many as the product does at once: all rows of these lie side by side. `blocks` is
 * the loop over them. */
static void lay_by_columns(hone_recipe_t* r, const copy_t* copy, const char* blocks) {
  hone_layout_word_t words[HONE_MAX_RANK + 1];
  char inner[HONE_LOOP_NAME];
  const hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, blocks);
  int n = 0, last = copy->buffer->rank - 1;
  int64_t columns = copy->buffer->dims[last].k, lanes = r->shape->lanes;
  int64_t width = loop && hone_dim_is_int(loop->extent) ? columns / loop->extent.k : 0;
  if (width < 1 || width < lanes || width % lanes || columns % width || columns == width ||
      last + 2 > HONE_MAX_RANK) {
    copy_in_lanes(r, copy->loop);
    return;
  }
  snprintf(words[n++], sizeof *words, "%d/%d", last, (int)width);
  for (int i = 0; i < last; i++) snprintf(words[n++], sizeof *words, "%d", i);
  snprintf(words[n++], sizeof *words, "%d%%%d", last, (int)width);
  if (hone_loop_name(inner, copy->loop, ".i") &&
      hone_recipe_did(r, hone_sched_split(r->kernel, copy->loop, (int)width, HONE_TAIL_EXACT)))
    hone_make_vectors(r, inner, width / lanes);
  hone_pack_words(r, copy->buffer, n, words);
}

/* What is rounded for the last product, along which pairs go, lanes { rounds { store } }; or into
 * rows, which blocks of lanes are turned to. */
static bool weave_part(hone_recipe_t* r, hone_stmt_t* part) {
  const hone_stmt_t* rounds = hone_only_loop(part);
  if (!rounds || rounds->is_reduction || rounds->n_body != 1) return false;
  const hone_stmt_t* store = rounds->body[0];
  if (store->kind != HONE_STMT_STORE || store->buffer->dtype != HONE_BF16 ||
      store->buffer->role != HONE_ROLE_SCRATCH)
    return false;
  return stays_in_rows(r, store->buffer) ? hone_schedule_transpose(r, part)
                                         : weave(r, rounds, part);
}

static void schedule_parts(hone_recipe_t* r, hone_stmt_t* block, int first) {
  char names[MAX_PARTS + 1][HONE_LOOP_NAME];
  int n = 0;
  for (int i = first; i < block->n_body && n <= MAX_PARTS; i++)
    if (hone_stmt_is_loop(block->body[i])) hone_loop_name(names[n++], block->body[i]->name, "");
  for (int i = 0; i < n && !r->status; i++) {
    hone_stmt_t* part = hone_kernel_find_loop(r->kernel, names[i]);
    if (!part || (find_product(part) && hone_schedule_contract(r, part))) continue;
    if (!weave_part(r, part)) hone_make_lanes_inside(r, part);
  }
}

/* Whole vectors of rows, as many as were chosen and as there are; 0: there is not one. */
static int64_t rows_at_once(const hone_recipe_t* r, hone_dim_t extent) {
  int64_t rows = r->choice->chain_rows, lanes = r->shape->lanes;
  while (hone_dim_is_int(extent) && extent.k < rows) rows /= 2;
  return rows < lanes ? 0 : rows;
}

/* One block of rows at a time, which are lanes. */
static void schedule_around(hone_recipe_t* r, hone_stmt_t* around) {
  const hone_stmt_t* inner = hone_only_loop(around);
  if (!inner || !hone_recipe_did(r, hone_sched_distribute(r->kernel, inner->name))) return;
  turn_rows(r, around);
  bool has_copy = turn_operand(r, around);
  if (has_copy) hone_schedule_transpose(r, around->body[0]);
  schedule_parts(r, around, has_copy ? 1 : 0);
}

/* Blocks of so many rows, the last of which overlaps with the one before; not at the top, where
 * threads share them, and could not if they did. Fewer rows than a block are done in smaller
 * ones, and those that do not fill a vector as they come. */
static bool schedule_blocks(hone_recipe_t* r, hone_stmt_t* rows, int64_t block) {
  hone_stmt_t* parent = rows->parent;
  int position = hone_stmt_position(rows), before = parent->n_body;
  bool is_cut = (parent != r->kernel->root &&
                 hone_recipe_did(r, hone_sched_overlap(r->kernel, rows->name, block))) ||
                hone_recipe_did(r, hone_sched_split(r->kernel, rows->name, block, HONE_TAIL_PEEL));
  if (!is_cut) return false;
  hone_stmt_t* rest = parent->n_body > before ? parent->body[position + 1] : NULL;
  if (rest && !(block / 2 >= r->shape->lanes && schedule_blocks(r, rest, block / 2)))
    hone_schedule_rows(r, rest);
  schedule_around(r, parent->body[position]);
  return true;
}

bool hone_schedule_attention(hone_recipe_t* r, hone_stmt_t* nest) {
  chain_t c;
  char rows[HONE_LOOP_NAME], blocks[HONE_LOOP_NAME] = "";
  if (!recognise(&c, nest)) return false;
  int64_t block = rows_at_once(r, c.rows->extent);
  double room = STACK;
  bool has_v = is_put_down(r, &c, c.v, &room), has_k = is_put_down(r, &c, c.k, &room);
  if (block == 0 || !hone_loop_name(rows, c.rows->name, "") || !turn_constants(r, &c, nest) ||
      !move_rows_in(r, &c))
    return false;
  const copy_t v = put_down(r, rows, c.v, has_v), k = put_down(r, rows, c.k, has_k);
  if (v.buffer) make_whole(r, rows);
  const hone_stmt_t* columns = v.buffer && v.buffer->dtype == HONE_F32
                                   ? find_columns(hone_kernel_find_loop(r->kernel, rows), v.buffer)
                                   : NULL;
  if (columns && !hone_loop_name(blocks, columns->name, ".o")) return false;
  if (!schedule_blocks(r, hone_kernel_find_loop(r->kernel, rows), block)) return false;
  if (k.buffer) copy_in_lanes(r, k.loop);
  if (v.buffer && !columns && !weave_copy(r, &v)) copy_in_lanes(r, v.loop);
  if (columns) lay_by_columns(r, &v, blocks);
  return true;
}

double hone_chain_rows(hone_kernel_t* kernel) {
  chain_t c;
  for (int i = 0; i < kernel->root->n_body; i++)
    if (recognise(&c, kernel->root->body[i])) return hone_cost_extent(c.rows->extent);
  return 0;
}
