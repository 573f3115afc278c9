/* Maps whose results lie another way than what they read, as transposes do. Vectors go along one
 * of two loops, and as many rounds of the other as one has lanes are written out: what lies apart
 * in the lanes lies side by side from one round to the next, and a renderer turns it in registers
 * (backends/cpu/render_turned.c). So it does with two to four numbers that lie by turns, and puts
 * four narrow ones down so (render_woven.c). Where that cannot be, and much is computed, vectors go
 * along what is read, and their results are put down one by one. */
#include <string.h>

#include "backends/common/schedule_impl.h"
#include "base/memory.h"

/* ---- blocks that are turned ---- */

/* How the accesses of a store lie. */
typedef struct lying {
  hone_dim_t lanes, across;
  int64_t by_turns; /* numbers of a point that lie so; 0: blocks */
  int turned, apart;
} lying_t;

bool hone_is_turnable(const hone_buffer_t* buffer) {
  hone_dtype_t dtype = buffer->dtype;
  int bits = hone_dtype_bits(dtype);
  return (bits == 8 || bits == 16 || bits == 32) && dtype != HONE_BOOL;
}

static void note_access(hone_recipe_t* r, lying_t* lying, const hone_buffer_t* buffer,
                        const hone_dim_t* index) {
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, index);
  int64_t along, across;
  if (!hone_dim_factor(offset, lying->lanes, &along) || along < 0) {
    lying->apart++;
    return;
  }
  if (along <= 1) return;
  bool is_turned =
      hone_dim_factor(offset, lying->across, &across) && across == 1 && hone_is_turnable(buffer);
  lying->turned += is_turned;
  lying->apart += !is_turned;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static void note_loads(hone_recipe_t* r, lying_t* lying, const hone_term_t* term) {
  if (term->kind == HONE_TERM_LOAD) note_access(r, lying, term->buffer, term->index);
  for (int i = 0; i < term->n_args; i++) note_loads(r, lying, term->args[i]);
}

/* How many numbers a point has, where the loop goes over those of one; 0: over more. */
static int64_t numbers_of_point(const hone_recipe_t* r, const hone_stmt_t* across) {
  bool is_few = hone_dim_is_int(across->extent) && across->extent.k < r->shape->lanes;
  return is_few && across->extent.k >= 2 && across->extent.k <= 4 ? across->extent.k : 0;
}

/* Whether the loop fills a vector or is most of one. */
static bool is_block_side(const hone_recipe_t* r, const hone_stmt_t* loop) {
  return hone_dim_min_value(loop->extent) >= r->shape->lanes || hone_is_part_of_vector(r, loop);
}

/* Whether what is stored is four narrow numbers of each point, by turns, all of them. */
static bool is_woven(hone_recipe_t* r, const hone_stmt_t* store, const lying_t* lying) {
  enum { FOUR = 4 };
  int64_t stride;
  hone_dim_t offset = hone_buffer_offset(r->kernel, store->buffer, store->index);
  return lying->by_turns == FOUR && hone_dtype_bits(store->buffer->dtype) <= 16 &&
         hone_dim_factor(offset, lying->lanes, &stride) && stride == FOUR;
}

/* More, the more accesses would be turned; with as many, rather the store than a load. 0: none
 * would, or others lie apart. */
static int cost_of_turning(hone_recipe_t* r, const hone_stmt_t* store, const hone_stmt_t* lanes,
                           const hone_stmt_t* across) {
  lying_t lying = {
      .lanes = lanes->var, .across = across->var, .by_turns = numbers_of_point(r, across)};
  if (!is_block_side(r, lanes) || (!lying.by_turns && !is_block_side(r, across)) ||
      hone_has_index_of(store->value, lanes->var))
    return 0;
  note_access(r, &lying, store->buffer, store->index);
  int stores = lying.turned;
  if (stores && lying.by_turns && !is_woven(r, store, &lying)) return 0;
  note_loads(r, &lying, store->value);
  return lying.apart ? 0 : 2 * lying.turned - stores;
}

/* What is inside of a block, written out: across { lanes { … } }, or rounds { across { … } }. */
static void write_out(hone_recipe_t* r, hone_stmt_t* across) {
  enum { MOST = 32 };
  char rows[HONE_LOOP_NAME], name[HONE_LOOP_NAME];
  const char* order[MOST];
  int n = 0;
  hone_stmt_t* lanes = hone_only_loop(across);
  if (!lanes || !hone_loop_name(rows, across->name, "") || !hone_loop_name(name, lanes->name, ""))
    return;
  for (hone_stmt_t* round = hone_only_loop(lanes); round && n < MOST - 2;
       round = hone_only_loop(round))
    order[n++] = round->name;
  if (n > 0) {
    order[n++] = rows;
    order[n++] = name;
    if (!hone_recipe_did(r, hone_sched_reorder(r->kernel, n, order))) return;
    hone_recipe_did(r, hone_sched_hoist(r->kernel, name));
  }
  if (hone_recipe_did(r, hone_sched_unroll(r->kernel, rows)))
    hone_recipe_did(r, hone_sched_vectorize(r->kernel, name));
}

/* Part of a block, across { lanes { … } } but for what is around them, becomes that; sums too,
 * across { lanes { 0; rounds { … }; store } }, each part of them for the whole block. */
static void make_block(hone_recipe_t* r, const char* lanes, const char* across) {
  hone_stmt_t *loop = hone_kernel_find_loop(r->kernel, across), *around = loop->parent;
  int first = hone_stmt_position(loop), before = around->n_body;
  bool is_sum = hone_kernel_find_loop(r->kernel, lanes)->n_body > 1;
  if (is_sum && (!hone_recipe_did(r, hone_sched_distribute(r->kernel, lanes)) ||
                 !hone_recipe_did(r, hone_sched_distribute(r->kernel, across))))
    return;
  int parts = around->n_body - before + 1;
  for (int i = first; i < first + parts; i++) write_out(r, around->body[i]);
}

/* lanes { across { … } }, lanes being a vector or what is left of one: blocks, and behind them what
 * is left of those. */
static void make_blocks(hone_recipe_t* r, hone_stmt_t* lanes) {
  hone_stmt_t *around = lanes->parent, *loop = hone_only_loop(lanes);
  char name[HONE_LOOP_NAME];
  int first = hone_stmt_position(lanes), before = around->n_body;
  bool is_whole = loop && (numbers_of_point(r, loop) || hone_is_part_of_vector(r, loop));
  if (!loop ||
      (!is_whole && !hone_recipe_did(r, hone_sched_split(r->kernel, loop->name, r->shape->lanes,
                                                         HONE_TAIL_PEEL))) ||
      (lanes->n_body > 1 && !hone_recipe_did(r, hone_sched_distribute(r->kernel, lanes->name))))
    return;
  int parts = around->n_body - before + 1;
  for (int i = first; i < first + parts; i++) {
    hone_stmt_t* part = around->body[i];
    if (!hone_stmt_is_loop(part) || !hone_loop_name(name, part->name, "")) continue;
    char across[HONE_LOOP_NAME];
    const hone_stmt_t* last = hone_innermost_loop(part);
    bool is_known = hone_dim_is_int(last->extent) && hone_dim_is_int(part->extent);
    if (is_known && hone_loop_name(across, last->name, "") && hone_sink_lanes(r, name, part))
      make_block(r, name, across);
  }
}

/* others { lanes { across { … } } } */
static bool move_in(hone_recipe_t* r, hone_stmt_t* nest, const hone_stmt_t* lanes,
                    const hone_stmt_t* across) {
  enum { MOST = 32 };
  const char* names[MOST];
  int n = 0;
  for (hone_stmt_t* loop = nest; loop; loop = hone_only_loop(loop)) {
    if (n + 2 >= MOST) return false;
    if (loop != lanes && loop != across) names[n++] = loop->name;
  }
  names[n++] = lanes->name;
  names[n++] = across->name;
  return hone_recipe_did(r, hone_sched_reorder(r->kernel, n, names));
}

static bool turn(hone_recipe_t* r, hone_stmt_t* nest, const hone_stmt_t* lanes,
                 const hone_stmt_t* across) {
  char name[HONE_LOOP_NAME], inner[HONE_LOOP_NAME], rest[HONE_LOOP_NAME];
  bool is_part = hone_is_part_of_vector(r, lanes);
  if (!hone_loop_name(name, lanes->name, "") || !hone_loop_name(inner, name, ".i") ||
      !hone_loop_name(rest, name, ".t") || !move_in(r, nest, lanes, across))
    return false;
  if (!is_part &&
      !hone_recipe_did(r, hone_sched_split(r->kernel, name, r->shape->lanes, HONE_TAIL_PEEL)))
    return true;
  const char* const parts[] = {rest, is_part ? name : inner};
  for (int i = 0; i < 2; i++) {
    hone_stmt_t* part = hone_kernel_find_loop(r->kernel, parts[i]);
    if (part) make_blocks(r, part);
  }
  return true;
}

/* Two loops of the nest, the last one among them, with the least to turn between them. */
static bool schedule_blocks(hone_recipe_t* r, hone_stmt_t* nest, const hone_stmt_t* last) {
  const hone_stmt_t *lanes = NULL, *across = NULL, *store = last->body[0];
  int least = 0;
  if (last->n_body != 1 || store->kind != HONE_STMT_STORE || store->combine != HONE_COMBINE_SET)
    return false;
  for (const hone_stmt_t* loop = nest; loop != last; loop = hone_only_loop(loop))
    for (int swap = 0; swap < 2; swap++) {
      const hone_stmt_t *a = swap ? last : loop, *b = swap ? loop : last;
      int cost = cost_of_turning(r, store, a, b);
      if (!cost || (least && cost >= least)) continue;
      least = cost;
      lanes = a;
      across = b;
    }
  return lanes && turn(r, nest, lanes, across);
}

/* ---- sums of few ---- */

/* The innermost sum in acc = 0; for k { acc += … }; out = acc, of few rounds, which may look up
 * places; NULL: it is something else. */
static const hone_stmt_t* sum_of_few(const hone_stmt_t* last) {
  enum { FEW = 16 };
  if (last->n_body != 3) return NULL;
  const hone_stmt_t *start = last->body[0], *sum = last->body[1], *store = last->body[2];
  if (start->kind != HONE_STMT_STORE || store->kind != HONE_STMT_STORE ||
      start->buffer->space == HONE_SPACE_GLOBAL || store->combine != HONE_COMBINE_SET ||
      !hone_stmt_is_loop(sum))
    return NULL;
  for (int64_t rounds = 1;; sum = hone_only_loop(sum)) {
    if (!sum->is_reduction || sum->loop != HONE_LOOP_SERIAL || !hone_dim_is_int(sum->extent) ||
        !hone_i64_mul(rounds, sum->extent.k, &rounds) || rounds > FEW)
      return NULL;
    if (!hone_only_loop(sum)) return sum;
  }
}

/* Whether lanes look up the same places, and what they add up lies side by side. */
static bool adds_up_lanes(const hone_recipe_t* r, const hone_stmt_t* sum, hone_dim_t lanes) {
  hone_strides_t s = {.var = lanes, .consecutive = true};
  int stores = 0;
  bool reads = false;
  for (int i = 0; i < sum->n_body; i++) {
    const hone_stmt_t* stmt = sum->body[i];
    if (stmt->kind == HONE_STMT_LET || stmt->kind == HONE_STMT_CHECK) {
      if (hone_term_uses(stmt->value, lanes)) return false;
      continue;
    }
    if (stmt->kind != HONE_STMT_STORE || hone_has_index_of(stmt->value, lanes)) return false;
    hone_visit_loads(r->kernel, stmt->value, hone_check_stride, &s);
    reads |= hone_term_uses(stmt->value, lanes);
    stores++;
  }
  return reads && s.consecutive && stores == 1;
}

/* Sums along one loop of numbers that lie side by side along another one, as where an image whose
 * channels come last is resized into one whose channels come first. */
static bool schedule_sums(hone_recipe_t* r, hone_stmt_t* nest, const hone_stmt_t* last) {
  const hone_stmt_t *sum = sum_of_few(last), *lanes = NULL;
  if (!sum || !is_block_side(r, last)) return false;
  const hone_stmt_t* store = last->body[2];
  for (const hone_stmt_t* loop = nest; loop != last; loop = hone_only_loop(loop)) {
    lying_t lying = {.lanes = loop->var, .across = last->var};
    if (!is_block_side(r, loop) || !adds_up_lanes(r, sum, loop->var) ||
        hone_has_index_of(store->value, loop->var))
      continue;
    note_access(r, &lying, store->buffer, store->index);
    note_loads(r, &lying, store->value);
    if (lying.turned == 1 && !lying.apart) lanes = loop;
  }
  return lanes && turn(r, nest, lanes, last);
}

/* ---- results that are put down one by one ---- */

static int count_operations(const hone_term_t* term) {
  int count = term->kind == HONE_TERM_PRIM;
  for (int i = 0; i < term->n_args; i++) count += count_operations(term->args[i]);
  return count;
}

/* Whether it is more than copying, which lanes do not help. */
static bool is_computed(const hone_stmt_t* stmt) {
  enum { SOME = 3 };
  return stmt->kind == HONE_STMT_STORE && stmt->value &&
         (hone_is_costly(stmt->value) || count_operations(stmt->value) >= SOME);
}

/* Whether all that is read along the loop is consecutive, and some of it is. */
static bool computes_along(const hone_recipe_t* r, const hone_stmt_t* inside, hone_dim_t var) {
  hone_strides_t s = {.var = var, .consecutive = true};
  bool reads = false;
  for (int i = 0; i < inside->n_body; i++) {
    const hone_term_t* value = inside->body[i]->value;
    if (!is_computed(inside->body[i]) || hone_has_index_of(value, var)) return false;
    hone_visit_loads(r->kernel, value, hone_check_stride, &s);
    reads |= hone_term_uses(value, var);
  }
  return s.consecutive && reads;
}

/* Lanes go along what is read, and the results are put down one by one. */
static bool schedule_along(hone_recipe_t* r, hone_stmt_t* nest, const hone_stmt_t* last) {
  char name[HONE_LOOP_NAME], inner[HONE_LOOP_NAME];
  hone_stmt_t* lanes = NULL;
  for (hone_stmt_t* loop = nest; loop != last; loop = hone_only_loop(loop))
    if (hone_dim_min_value(loop->extent) >= r->shape->lanes && computes_along(r, last, loop->var))
      lanes = loop;
  if (!lanes || !hone_loop_name(name, lanes->name, "") || !hone_loop_name(inner, name, ".i") ||
      !hone_sink_lanes(r, name, lanes))
    return false;
  if (hone_recipe_did(r, hone_sched_split(r->kernel, name, r->shape->lanes, HONE_TAIL_PEEL)))
    hone_recipe_did(r, hone_sched_vectorize(r->kernel, inner));
  return true;
}

bool hone_schedule_transpose(hone_recipe_t* r, hone_stmt_t* nest) {
  hone_stmt_t* last = nest;
  for (;; last = hone_only_loop(last)) {
    if (last->is_reduction || last->loop != HONE_LOOP_SERIAL) return false;
    if (!hone_only_loop(last)) break;
  }
  return last != nest && !hone_can_be_lanes(r, last) &&
         (schedule_blocks(r, nest, last) || schedule_sums(r, nest, last) ||
          schedule_along(r, nest, last));
}
