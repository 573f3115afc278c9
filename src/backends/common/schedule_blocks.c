/* Sums of blocks (pass block_sums): digits of the data are multiplied by weights of four bits,
 * block by block, and what they make is scaled and added up.
 *
 *   for outs… {
 *     acc = 0
 *     for b { for p { s = 0; for k { s += d[row, b, p, k] * u[b, k, lane] }; acc += f(s) } }
 *     out = g(acc)
 *   }
 *
 * acc is kept for all rows by some vectors of lanes, around which blocks go. What a vector of
 * weights is made into serves all digits of all rows. Weights, and the scales of blocks, lie in the
 * order in which they are read. */
#include "backends/common/schedule_blocks.h"

#include <stdio.h>

#include "loop/nibbles.h"
#include "tune/cost.h"

enum { COUNTS_RANK = 3, WORDS = 4 };

/* ---- recognising ---- */

static bool find_outs(hone_blocks_t* b, hone_stmt_t* nest) {
  for (hone_stmt_t* loop = nest; loop && hone_stmt_is_loop(loop); loop = hone_only_loop(loop)) {
    if (b->n_outs == HONE_BLOCKS_LOOPS || loop->is_reduction) return false;
    b->outs[b->n_outs++] = loop;
    b->body = loop;
  }
  return b->n_outs > 0;
}

static hone_stmt_t* find_sum(const hone_stmt_t* body) {
  hone_stmt_t* sum = hone_only_reduction(body);
  return sum && sum->loop == HONE_LOOP_SERIAL ? sum : NULL;
}

/* Digits of the data by weights of nibbles, or numbers of 16 bits. */
static bool have_dtypes(const hone_blocks_t* b, const hone_term_t* d, const hone_term_t* u) {
  if (!b->digits) return d->dtype == HONE_I16 && u->dtype == HONE_I16 && u->buffer->is_constant;
  return d->dtype == HONE_I8 && u->dtype == HONE_U8 && u->buffer->fits_nibbles;
}

/* The factors: data by constants, which go along the blocks, what is in them, and the lanes. */
static bool find_factors(hone_blocks_t* b) {
  const hone_stmt_t* store = b->inside->n_body == 1 ? b->inside->body[0] : NULL;
  if (!store || store->kind != HONE_STMT_STORE || store->combine != HONE_COMBINE_ADD ||
      store->value->kind != HONE_TERM_PRIM || store->value->prim != HONE_PRIM_MUL ||
      store->value->dtype != HONE_I32)
    return false;
  for (int i = 0; i < 2; i++) {
    const hone_term_t *d = hone_bare_load(store->value->args[i]),
                      *u = hone_bare_load(store->value->args[1 - i]);
    if (!d || !u || !have_dtypes(b, d, u) || u->buffer->packing || u->buffer->rank != COUNTS_RANK)
      continue;
    b->data = d;
    b->weights = u;
    return hone_dim_same(u->index[0], b->around->var) && hone_dim_same(u->index[1], b->inside->var);
  }
  return false;
}

/* Lanes go along the weights, rows along the data alone. */
static bool find_lanes(const hone_recipe_t* r, hone_blocks_t* b) {
  int64_t step;
  for (int i = 0; i < b->n_outs; i++) {
    hone_stmt_t* loop = b->outs[i];
    hone_dim_t column = b->weights->index[COUNTS_RANK - 1];
    if (hone_dim_factor(column, loop->var, &step) && step == 1 && hone_known_extent(loop->extent) &&
        hone_known_extent(loop->extent) % r->shape->lanes == 0)
      b->lanes = loop;
    else if (hone_known_extent(loop->extent) && hone_term_uses(b->data, loop->var) &&
             !hone_term_uses(b->weights, loop->var))
      b->rows = loop;
  }
  return b->lanes != NULL;
}

/* What adds up pairs of 16 bits, or the longest group of nibbles that blocks are made of. */
static bool find_dot(const hone_recipe_t* r, hone_blocks_t* b) {
  enum { PAIR = 2 };
  char name[32];
  int64_t block = hone_known_extent(b->inside->extent);
  if (!b->digits) {
    snprintf(name, sizeof name, "dot%d_i16_i16_x%d", PAIR, r->shape->lanes);
    b->dot = block % PAIR == 0 ? hone_intrinsic_find(name) : NULL;
    return block && b->dot;
  }
  for (b->words = WORDS; b->words > 1; b->words /= 2) {
    int group = b->words * HONE_NIBBLES;
    if (!block || block % group) continue;
    snprintf(name, sizeof name, "dot%d_i8_u4_x%d", group, r->shape->lanes);
    b->dot = hone_intrinsic_find(name);
    return b->dot != NULL;
  }
  return false;
}

static bool recognise(const hone_recipe_t* r, hone_blocks_t* b, hone_stmt_t* nest) {
  *b = (hone_blocks_t){0};
  if (!hone_stmt_is_loop(nest) || !find_outs(b, nest)) return false;
  b->around = find_sum(b->body);
  b->digits = b->around ? hone_only_loop(b->around) : NULL;
  b->inside = b->around ? find_sum(b->digits ? b->digits : b->around) : NULL;
  if (!b->inside || !hone_known_extent(b->around->extent) || !find_factors(b) ||
      !find_lanes(r, b) || !find_dot(r, b))
    return false;
  return b->digits ? r->shape->has_dot_nibbles && hone_known_extent(b->digits->extent)
                   : r->shape->has_dot2_i16 && b->rows;
}

/* ---- laying out ---- */

int64_t hone_blocks_vectors(const hone_recipe_t* r, const hone_blocks_t* b) {
  int64_t all = hone_known_extent(b->lanes->extent) / r->shape->lanes,
          vectors = r->choice->vectors > 0 ? r->choice->vectors : 1;
  while (all % vectors) vectors--;
  return vectors;
}

/* [blocks of vectors, b, groups, vectors, words, lanes, in a word] */
static bool pack_weights(hone_recipe_t* r, const hone_blocks_t* b, int64_t vectors) {
  hone_layout_word_t words[HONE_MAX_RANK];
  const int group = b->words * HONE_NIBBLES;
  long long lanes = r->shape->lanes;
  int n = 0;
  snprintf(words[n++], sizeof *words, "2/%lld", lanes * (long long)vectors);
  snprintf(words[n++], sizeof *words, "0");
  snprintf(words[n++], sizeof *words, "1/%d", group);
  if (vectors > 1) snprintf(words[n++], sizeof *words, "2/%lld%%%lld", lanes, (long long)vectors);
  snprintf(words[n++], sizeof *words, "1/%d%%%d", HONE_NIBBLES, group / HONE_NIBBLES);
  snprintf(words[n++], sizeof *words, "2%%%lld", lanes);
  snprintf(words[n++], sizeof *words, "1%%%d", HONE_NIBBLES);
  return hone_pack_words(r, b->weights->buffer, n, words);
}

/* Other constants that are read block by block, along the lanes. */
static const hone_term_t* find_scales(const hone_blocks_t* b, const hone_term_t* term) {
  int64_t step;
  if (term->kind == HONE_TERM_LOAD && term->buffer->is_constant && !term->buffer->packing &&
      term->buffer->rank > 1 && term->buffer->rank < HONE_MAX_RANK &&
      hone_term_uses(term, b->around->var) &&
      hone_dim_factor(term->index[term->buffer->rank - 1], b->lanes->var, &step) && step == 1)
    return term;
  const hone_term_t* found = NULL;
  for (int i = 0; i < term->n_args && !found; i++) found = find_scales(b, term->args[i]);
  return found;
}

void hone_blocks_pack_scales(hone_recipe_t* r, const hone_blocks_t* b, int64_t block) {
  const hone_stmt_t* steps = b->digits ? b->digits : b->around;
  for (int i = 0; i < steps->n_body; i++) {
    const hone_term_t* scales;
    while (steps->body[i]->value && (scales = find_scales(b, steps->body[i]->value))) {
      hone_layout_word_t words[HONE_MAX_RANK];
      int n = 0, last = scales->buffer->rank - 1;
      snprintf(words[n++], sizeof *words, "%d/%lld", last, (long long)block);
      for (int k = 0; k < last; k++) snprintf(words[n++], sizeof *words, "%d", k);
      snprintf(words[n++], sizeof *words, "%d%%%lld", last, (long long)block);
      if (!hone_pack_words(r, scales->buffer, n, words)) return;
    }
  }
}

/* ---- doing ---- */

bool hone_blocks_arrange(hone_recipe_t* r, const hone_blocks_t* b, int64_t block) {
  const char* order[HONE_BLOCKS_LOOPS + 1];
  char lanes[HONE_LOOP_NAME], outer[HONE_LOOP_NAME], inner[HONE_LOOP_NAME], rows[HONE_LOOP_NAME];
  int count = 0;
  if (!hone_loop_name(lanes, b->lanes->name, "") || !hone_loop_name(outer, lanes, ".o") ||
      !hone_loop_name(inner, lanes, ".i") || (b->rows && !hone_loop_name(rows, b->rows->name, "")))
    return false;
  for (int i = 0; i < b->n_outs; i++)
    if (b->outs[i] != b->lanes && b->outs[i] != b->rows) order[count++] = b->outs[i]->name;
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, lanes, block, HONE_TAIL_EXACT))) return false;
  order[count++] = outer;
  if (b->rows) order[count++] = rows;
  order[count++] = inner;
  return hone_recipe_did(r, hone_sched_reorder(r->kernel, count, order));
}

hone_stmt_t* hone_blocks_find_sum(hone_stmt_t* nest) {
  while (nest && !nest->is_reduction) nest = hone_only_loop(nest);
  return nest;
}

/* Loops by name; rows "" where there are none. */
typedef struct names {
  char outer[HONE_LOOP_NAME], rows[HONE_LOOP_NAME], lanes[HONE_LOOP_NAME];
  char around[HONE_LOOP_NAME], digits[HONE_LOOP_NAME], inside[HONE_LOOP_NAME];
} names_t;

static bool name_loops(const hone_blocks_t* b, names_t* n) {
  *n->rows = 0;
  return hone_loop_name(n->outer, b->lanes->name, ".o") &&
         hone_loop_name(n->lanes, b->lanes->name, ".i") &&
         hone_loop_name(n->around, b->around->name, "") &&
         hone_loop_name(n->digits, b->digits->name, "") &&
         hone_loop_name(n->inside, b->inside->name, "") &&
         (!b->rows || hone_loop_name(n->rows, b->rows->name, ""));
}

/* Inside of the loop over digits: lanes { s = 0 }, lanes { k { … } } and lanes { acc += f(s) }. */
static void schedule_digit(hone_recipe_t* r, const hone_stmt_t* digit, const hone_blocks_t* b,
                           const names_t* n) {
  enum { FEW = 4 };
  char group[HONE_LOOP_NAME], groups[HONE_LOOP_NAME], lanes[HONE_LOOP_NAME], word[HONE_LOOP_NAME],
      nibble[HONE_LOOP_NAME];
  const hone_stmt_t* products = NULL;
  for (int i = 0; i < digit->n_body; i++) {
    const hone_stmt_t* part = digit->body[i];
    if (!hone_stmt_is_loop(part)) continue;
    if (hone_blocks_find_sum(digit->body[i]))
      products = part;
    else
      hone_recipe_did(r, hone_sched_vectorize(r->kernel, part->name));
  }
  if (!products || !hone_loop_name(lanes, products->name, "") ||
      !hone_loop_name(groups, n->inside, ".o") || !hone_loop_name(group, n->inside, ".i") ||
      !hone_loop_name(word, group, ".o") || !hone_loop_name(nibble, group, ".i"))
    return;
  const char* order[] = {groups, lanes, word, nibble};
  if (!hone_recipe_did(
          r, hone_sched_split(r->kernel, n->inside, b->words * HONE_NIBBLES, HONE_TAIL_EXACT)) ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, group, HONE_NIBBLES, HONE_TAIL_EXACT)) ||
      !hone_recipe_did(r, hone_sched_reorder(r->kernel, 4, order)))
    return;
  hone_recipe_did(r, hone_sched_tensorize(r->kernel, lanes, b->dot->name));
  const hone_stmt_t* rounds = hone_kernel_find_loop(r->kernel, groups);
  if (rounds && hone_known_extent(rounds->extent) <= FEW)
    hone_recipe_did(r, hone_sched_unroll(r->kernel, groups));
}

/* rows { lanes { b { p { … } } } } becomes b { vectors { rows { p { lanes { … } } } } }. */
static void schedule_sums(hone_recipe_t* r, hone_stmt_t* part, const hone_blocks_t* b, names_t* n) {
  const char* order[5];
  char whole[HONE_LOOP_NAME], vectors[HONE_LOOP_NAME];
  int count = 0;
  const hone_stmt_t* lanes = *n->rows ? hone_only_loop(part) : part;
  if (!lanes || !hone_loop_name(whole, lanes->name, "") || !hone_loop_name(vectors, whole, ".o") ||
      !hone_loop_name(n->lanes, whole, ".i") ||
      (*n->rows && !hone_loop_name(n->rows, part->name, "")) ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, whole, r->shape->lanes, HONE_TAIL_EXACT)))
    return;
  order[count++] = n->around;
  order[count++] = vectors;
  if (*n->rows) order[count++] = n->rows;
  order[count++] = n->digits;
  order[count++] = n->lanes;
  if (!hone_recipe_did(r, hone_sched_reorder(r->kernel, count, order)) ||
      !hone_recipe_did(r, hone_sched_distribute(r->kernel, n->lanes)))
    return;
  schedule_digit(r, hone_kernel_find_loop(r->kernel, n->digits), b, n);
  for (int i = 1; i < count - 1; i++) hone_recipe_did(r, hone_sched_unroll(r->kernel, order[i]));
}

static void schedule_digits(hone_recipe_t* r, const hone_blocks_t* b) {
  names_t n;
  int64_t vectors = hone_blocks_vectors(r, b), block = vectors * r->shape->lanes;
  if (!name_loops(b, &n) || !pack_weights(r, b, vectors)) return;
  hone_blocks_pack_scales(r, b, block);
  if (!hone_blocks_arrange(r, b, block) ||
      !hone_recipe_did(r, hone_sched_distribute(r->kernel, n.lanes)) ||
      (*n.rows && !hone_recipe_did(r, hone_sched_distribute(r->kernel, n.rows))))
    return;
  hone_stmt_t* outer = hone_kernel_find_loop(r->kernel, n.outer);
  for (int i = 0; outer && i < outer->n_body && !r->status; i++) {
    hone_stmt_t* part = outer->body[i];
    if (!hone_stmt_is_loop(part)) continue;
    if (hone_blocks_find_sum(part))
      schedule_sums(r, part, b, &n);
    else
      hone_schedule_tile_part(r, part, *n.rows != 0);
  }
}

bool hone_schedule_blocks(hone_recipe_t* r, hone_stmt_t* nest) {
  hone_blocks_t b;
  if (!recognise(r, &b, nest)) return false;
  if (b.digits)
    schedule_digits(r, &b);
  else
    hone_schedule_block_tiles(r, &b);
  return true;
}

/* ---- facts ---- */

bool hone_blocks_look(hone_kernel_t* kernel, const hone_cpu_shape_t* shape,
                      hone_blocks_facts_t* out) {
  const hone_recipe_t r = {
      .kernel = kernel, .shape = shape, .choice = &(const hone_cpu_choice_t){0}};
  hone_blocks_t b;
  for (int i = 0; i < kernel->root->n_body; i++) {
    if (!recognise(&r, &b, kernel->root->body[i])) continue;
    *out = (hone_blocks_facts_t){.rows = b.rows ? hone_known_extent(b.rows->extent) : 1,
                                 .digits = b.digits ? hone_known_extent(b.digits->extent) : 0,
                                 .columns = hone_known_extent(b.lanes->extent),
                                 .block = hone_known_extent(b.inside->extent),
                                 .blocks = hone_cost_extent(b.around->extent)};
    return true;
  }
  return false;
}
