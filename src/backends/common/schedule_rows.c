/* Everything that is no contraction: innermost loops become vectors. Where the
 * innermost loop of the output runs over reductions along another axis, the
 * vector goes over the output instead, and the reduction around it. */
#include <stdio.h>
#include <string.h>

#include "backends/common/schedule_impl.h"
#include "base/memory.h"

/* ---- columns: for i { acc = 0; for k { acc += x[k, i] }; out[i] = acc } ---- */

hone_stmt_t* hone_only_reduction(const hone_stmt_t* loop) {
  hone_stmt_t* found = NULL;
  for (int i = 0; i < loop->n_body; i++) {
    hone_stmt_t* stmt = loop->body[i];
    if (stmt->kind == HONE_STMT_STORE) continue;
    if (!hone_stmt_is_loop(stmt) || !stmt->is_reduction || found) return NULL;
    found = stmt;
  }
  return found;
}

const hone_stmt_t* hone_innermost_loop(const hone_stmt_t* loop) {
  for (const hone_stmt_t* next = loop; next; next = hone_only_loop(loop)) loop = next;
  return loop;
}

void hone_check_stride(void* self, hone_dim_t offset) {
  hone_strides_t* s = self;
  int64_t factor;
  s->consecutive &= hone_dim_factor(offset, s->var, &factor) && (factor == 0 || factor == 1);
}

static bool reads_consecutively(hone_kernel_t* kernel, hone_stmt_t* inside, hone_dim_t var) {
  hone_strides_t s = {.var = var, .consecutive = true};
  hone_visit_offsets(kernel, inside, hone_check_stride, &s);
  return s.consecutive;
}

/* Every second one is found in two vectors. */
static void check_seconds(void* self, hone_dim_t offset) {
  hone_strides_t* s = self;
  int64_t factor;
  s->consecutive &= hone_dim_factor(offset, s->var, &factor) && factor >= 0 && factor <= 2;
}

/* Notes the loads alone; gives whether any goes along the variable. */
static bool visit_loads(hone_kernel_t* kernel, const hone_stmt_t* inside, hone_strides_t* s) {
  bool reads = inside->value && hone_term_uses(inside->value, s->var);
  if (inside->value) hone_visit_loads(kernel, inside->value, check_seconds, s);
  for (int i = 0; i < inside->n_body; i++) reads |= visit_loads(kernel, inside->body[i], s);
  return reads;
}

/* Whether there are only stores inside, and places for them that all lanes look up alike. */
static bool stores_alike(const hone_stmt_t* loop, hone_dim_t lanes) {
  for (int i = 0; i < loop->n_body; i++) {
    const hone_stmt_t* stmt = loop->body[i];
    bool is_fact = stmt->kind == HONE_STMT_LET || stmt->kind == HONE_STMT_CHECK;
    if (stmt->kind != HONE_STMT_STORE && !(is_fact && !hone_term_uses(stmt->value, lanes)))
      return false;
  }
  return true;
}

static bool looks_up(const hone_stmt_t* loop) {
  bool found = false;
  for (int i = 0; i < loop->n_body; i++) found |= loop->body[i]->kind == HONE_STMT_LET;
  return found;
}

bool hone_sink_lanes(hone_recipe_t* r, const char* lanes, hone_stmt_t* nest) {
  const char* names[32];
  int n = 0;
  for (hone_stmt_t* loop = hone_only_loop(nest); loop && n < 31; loop = hone_only_loop(loop))
    names[n++] = loop->name;
  if (n == 0) return true;
  names[n++] = lanes;
  return hone_recipe_did(r, hone_sched_reorder(r->kernel, n, names));
}

void hone_make_lanes_inside(hone_recipe_t* r, hone_stmt_t* lanes) {
  char name[HONE_LOOP_NAME];
  if (!hone_loop_name(name, lanes->name, "") || !hone_dim_is_int(lanes->extent)) return;
  int64_t vectors = lanes->extent.k / r->shape->lanes;
  if (hone_sink_lanes(r, name, lanes)) hone_make_vectors(r, name, vectors);
}

/* Rounds that are added up at a time, and the most that need no parts. */
enum { SUBTOTAL = 256, MOST_AT_ONCE = 4096 };

/* The loop of a nest that is directly around its lanes; NULL: there is none. */
static hone_stmt_t* around_lanes(hone_stmt_t* nest) {
  hone_stmt_t* rounds = hone_only_loop(nest) ? nest : NULL;
  while (rounds && hone_only_loop(hone_only_loop(rounds))) rounds = hone_only_loop(rounds);
  return rounds && rounds->is_reduction ? rounds : NULL;
}

/* Whether it may be a sum of floats with more rounds than are added up at once, as many as a run
 * may have, those of the loops around it in the same sum counted in. */
static bool is_long_sum(const hone_stmt_t* rounds) {
  const hone_stmt_t* store = rounds;
  int64_t count = 1;
  while (store->n_body == 1) store = store->body[0];
  if (store->kind != HONE_STMT_STORE || store->combine != HONE_COMBINE_ADD ||
      !hone_dtype_is_float(store->buffer->dtype))
    return false;
  for (; hone_stmt_is_loop(rounds) && rounds->is_reduction; rounds = rounds->parent)
    if (!hone_i64_mul(count, hone_dim_max_value(rounds->extent), &count)) return true;
  return count > MOST_AT_ONCE;
}

/* Sums that may be long are added up part by part: of hundreds of thousands of
 * floats one after the other, the last ones hardly count. A part is a run of
 * the loop, where there is one around it in the same sum, or some rounds of it. */
static void add_by_parts(hone_recipe_t* r, const hone_stmt_t* rounds) {
  char loop[128], part[132];
  bool is_inner = hone_stmt_is_loop(rounds->parent) && rounds->parent->is_reduction;
  if (!is_long_sum(rounds) || strlen(rounds->name) >= sizeof loop) return;
  memcpy(loop, rounds->name, strlen(rounds->name) + 1);
  if (is_inner) {
    hone_recipe_did(r, hone_sched_subtotal(r->kernel, loop));
    return;
  }
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, loop, SUBTOTAL, HONE_TAIL_PEEL))) return;
  snprintf(part, sizeof part, "%s.i", loop);
  hone_recipe_did(r, hone_sched_subtotal(r->kernel, part));
}

/* How a loop of the output around a reduction gets lanes. */
typedef struct columns {
  int lanes;
  bool sums; /* the reduction too, else only what is before and behind it */
} columns_t;

/* Whether lanes along the variable find side by side what is read inside. The sums may be put down
 * apart, since each is of many numbers. */
static bool sums_side_by_side(const hone_recipe_t* r, const hone_stmt_t* inside, hone_dim_t var,
                              const hone_stmt_t* reduction) {
  hone_strides_t s = {.var = var, .consecutive = true};
  return hone_dim_min_value(reduction->extent) >= r->shape->lanes &&
         visit_loads(r->kernel, inside, &s) && s.consecutive;
}

/* Whether results lie side by side, and what they are sums of no further than every second one. */
static bool sums_near(const hone_recipe_t* r, hone_stmt_t* loop) {
  hone_strides_t results = {.var = loop->var, .consecutive = true}, s = results;
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->kind == HONE_STMT_STORE)
      hone_visit_offsets(r->kernel, loop->body[i], hone_check_stride, &results);
  return results.consecutive && visit_loads(r->kernel, loop, &s) && s.consecutive;
}

static bool finds_side_by_side(const hone_recipe_t* r, hone_stmt_t* loop,
                               const hone_stmt_t* reduction) {
  return reads_consecutively(r->kernel, loop, loop->var) || sums_near(r, loop) ||
         sums_side_by_side(r, loop, loop->var, reduction);
}

bool hone_is_costly(const hone_term_t* term) {
  if (term->kind == HONE_TERM_PRIM && hone_prim_is_transcendental(term->prim)) return true;
  for (int i = 0; i < term->n_args; i++)
    if (hone_is_costly(term->args[i])) return true;
  return false;
}

bool hone_has_costly_stores(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->kind == HONE_STMT_STORE && hone_is_costly(loop->body[i]->value)) return true;
  return false;
}

enum { MOST_VECTORS = 4 };

/* Vectors of a plain sum: several, whose sums do not wait for one another and which read whole
 * lines of the cache, where threads have enough to share. */
static int64_t count_vectors(const hone_recipe_t* r, int64_t extent) {
  enum { EACH = 2 /* blocks of a thread */ };
  int64_t threads = r->shape->threads > 1 ? r->shape->threads : 1;
  for (int64_t vectors = MOST_VECTORS; vectors > 1; vectors /= 2) {
    int64_t block = vectors * r->shape->lanes;
    if (extent % block == 0 && extent / block >= EACH * threads) return vectors;
  }
  return 1;
}

/* Lanes are those of a vector; of several, or of a part of one, where that saves looking up the
 * same again, even of numbers that lie apart. Where each looks up places of its own, what is
 * computed of the sums may have lanes still. 0: there are none. */
static columns_t choose_columns(const hone_recipe_t* r, hone_stmt_t* loop,
                                const hone_stmt_t* reduction) {
  const hone_stmt_t* last = hone_innermost_loop(reduction);
  int64_t lanes = r->shape->lanes, extent = hone_dim_is_int(loop->extent) ? loop->extent.k : lanes;
  bool is_alike = stores_alike(last, loop->var), shares = is_alike && looks_up(last);
  if (is_alike && (finds_side_by_side(r, loop, reduction) || (shares && extent <= lanes))) {
    if (extent < lanes) return (columns_t){shares && extent > 1 ? (int)extent : 0, true};
    int64_t vectors = shares ? extent / lanes : count_vectors(r, extent);
    return (columns_t){(int)(lanes * (vectors < MOST_VECTORS ? vectors : MOST_VECTORS)), true};
  }
  bool pays = looks_up(last) && hone_has_costly_stores(loop) && extent >= lanes;
  return (columns_t){pays ? (int)lanes : 0, false};
}

/* The parts of the tile that the loop has been cut into, from place `first` of what is around it
 * on, but for the last `behind`, get lanes. */
static void make_columns(hone_recipe_t* r, const columns_t* columns, const hone_stmt_t* outer,
                         int first, int behind) {
  for (int i = first; i < outer->n_body - behind; i++) {
    hone_stmt_t* part = outer->body[i];
    char name[128];
    if (!hone_stmt_is_loop(part) || strlen(part->name) >= sizeof name) continue;
    if (!columns->sums && hone_only_loop(part)) continue;
    memcpy(name, part->name, strlen(part->name) + 1);
    if (!hone_sink_lanes(r, name, part)) continue;
    hone_recipe_did(r, hone_sched_hoist(r->kernel, name));
    hone_recipe_did(r, hone_sched_vectorize(r->kernel, name));
    const hone_stmt_t* rounds = around_lanes(outer->body[i]);
    int before = outer->n_body;
    if (rounds) add_by_parts(r, rounds);
    i += outer->n_body - before; /* what parts leave over has lanes, too */
  }
}

/* Columns that are left over are a vector, or part of one. */
static void make_last_columns(hone_recipe_t* r, const columns_t* columns, hone_stmt_t* outer,
                              int position) {
  const hone_stmt_t* rest = position < outer->n_body ? outer->body[position] : NULL;
  int behind = outer->n_body - position - 1;
  if (rest && hone_stmt_is_loop(rest) &&
      (hone_dim_is(rest->extent, r->shape->lanes) || hone_is_part_of_vector(r, rest)) &&
      hone_recipe_did(r, hone_sched_distribute(r->kernel, rest->name)))
    make_columns(r, columns, outer, position, behind);
}

static bool schedule_columns(hone_recipe_t* r, hone_stmt_t* loop) {
  hone_stmt_t* reduction = hone_only_reduction(loop);
  if (r->choice->no_columns || !reduction) return false;
  const columns_t columns = choose_columns(r, loop, reduction);
  if (!columns.lanes) return false;
  hone_stmt_t* parent = loop->parent;
  int position = hone_stmt_position(loop);
  bool has_rest = hone_dim_is_int(loop->extent) && loop->extent.k % columns.lanes;
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, loop->name, columns.lanes, HONE_TAIL_PEEL)))
    return false;
  if (has_rest) make_last_columns(r, &columns, parent, position + 1);
  hone_stmt_t* inner = hone_only_loop(parent->body[position]);
  if (!inner) return true;
  const hone_stmt_t* outer = inner->parent;
  if (hone_recipe_did(r, hone_sched_distribute(r->kernel, inner->name)))
    make_columns(r, &columns, outer, 0, 0);
  return true;
}

/* Where the loop around a sum reads what lies apart, and one further out does not, that one takes
 * its place: for c { for x { acc = 0; for k { acc += in[k, x, c] }; out[c, x] = acc } }. */
static bool schedule_turned_columns(hone_recipe_t* r, hone_stmt_t* nest) {
  char name[HONE_LOOP_NAME];
  hone_stmt_t *lanes = NULL, *last = nest;
  while (hone_only_loop(last) && !last->is_reduction) last = hone_only_loop(last);
  const hone_stmt_t* reduction = last->is_reduction ? NULL : hone_only_reduction(last);
  if (r->choice->no_columns || !reduction || finds_side_by_side(r, last, reduction)) return false;
  for (hone_stmt_t* loop = nest; loop != last; loop = hone_only_loop(loop)) {
    if (loop->loop != HONE_LOOP_SERIAL) return false;
    if (hone_dim_min_value(loop->extent) >= r->shape->lanes &&
        stores_alike(hone_innermost_loop(reduction), loop->var) &&
        sums_side_by_side(r, last, loop->var, reduction))
      lanes = loop;
  }
  if (!lanes || !hone_loop_name(name, lanes->name, "") || !hone_sink_lanes(r, name, lanes))
    return false;
  return schedule_columns(r, hone_kernel_find_loop(r->kernel, name));
}

/* ---- rows ---- */

static bool is_innermost(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->n_body) return false;
  return true;
}

/* Vectors of partial sums, each in a register: several, which do not wait for one another, where
 * rounds are enough to add them up in the end. */
static int partial_sums(const hone_recipe_t* r, hone_dim_t extent) {
  bool is_chosen = r->choice->unroll > 1;
  int vectors = is_chosen ? r->choice->unroll : MOST_VECTORS;
  int64_t rounds = is_chosen ? 2 : 8;
  while (vectors > 1 && (!hone_dim_is_int(extent) || extent.k < rounds * vectors * r->shape->lanes))
    vectors /= 2;
  return vectors;
}

/* Whether lanes may have numbers of their own places, as the search for one among many has: those
 * of 32 bits are whole vectors. */
static bool finds_places(const hone_recipe_t* r, const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->kind != HONE_STMT_STORE ||
        hone_dtype_size(loop->body[i]->buffer->dtype) != sizeof(float))
      return false;
  return loop->n_body > 0 && hone_count_apart(r, loop, loop->var) == 0;
}

/* The sum of so many vectors of partial sums: first of the vectors, then across lanes. */
static void add_up_vectors(hone_recipe_t* r, const char* loop, int vectors) {
  char inner[HONE_LOOP_NAME], part[HONE_LOOP_NAME];
  if (vectors == 1) {
    hone_recipe_did(r, hone_sched_vectorize(r->kernel, loop));
    return;
  }
  if (!hone_loop_name(inner, loop, ".i") ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, loop, r->shape->lanes, HONE_TAIL_EXACT)) ||
      !hone_recipe_did(r, hone_sched_rfactor(r->kernel, inner)))
    return;
  hone_recipe_did(r, hone_sched_vectorize(r->kernel, inner));
  if (hone_loop_name(part, inner, ".z")) hone_recipe_did(r, hone_sched_vectorize(r->kernel, part));
  if (hone_loop_name(part, inner, ".c")) hone_recipe_did(r, hone_sched_vectorize(r->kernel, part));
  if (hone_loop_name(part, loop, ".o")) hone_recipe_did(r, hone_sched_unroll(r->kernel, part));
}

/* Lanes of a short sum: half a vector where those of a whole one would leave over as many. */
static int lanes_of_sum(const hone_recipe_t* r, hone_dim_t extent) {
  enum { SHORT = 8 };
  int lanes = r->shape->lanes, half = lanes / 2;
  bool is_half = hone_dim_is_int(extent) && extent.k < (int64_t)SHORT * lanes &&
                 extent.k % lanes == half && half >= 4;
  return is_half ? half : lanes;
}

/* Sums over consecutive elements get vectors of partial sums. */
static void schedule_reduction(hone_recipe_t* r, hone_stmt_t* loop) {
  hone_stmt_t* parent = loop->parent;
  int position = hone_stmt_position(loop);
  bool is_plain = hone_can_be_lanes(r, loop);
  if (!is_plain && !finds_places(r, loop)) {
    add_by_parts(r, loop);
    return;
  }
  if (hone_dim_is_int(loop->extent) && loop->extent.k < 2 * (int64_t)r->shape->lanes) return;
  int lanes = is_plain ? lanes_of_sum(r, loop->extent) : r->shape->lanes;
  int vectors = is_plain && lanes == r->shape->lanes ? partial_sums(r, loop->extent) : 1;
  if (!hone_recipe_did(
          r, hone_sched_split(r->kernel, loop->name, (int64_t)lanes * vectors, HONE_TAIL_PEEL)))
    return;
  hone_stmt_t* inner = hone_only_loop(parent->body[position]);
  if (!inner) return;
  char name[HONE_LOOP_NAME], part[HONE_LOOP_NAME];
  if (!hone_loop_name(name, inner->name, "")) return;
  bool is_split = hone_recipe_did(r, hone_sched_rfactor(r->kernel, name));
  hone_make_vectors(r, name, vectors);
  if (!is_split || !hone_loop_name(part, name, ".z")) return;
  hone_make_vectors(r, part, vectors);
  if (hone_loop_name(part, name, ".c")) add_up_vectors(r, part, vectors);
}

/* ---- lookups ---- */

/* Whether each round is a chain of lookups, each of which waits for what the one before finds, as
 * on the way down a tree. */
static bool is_chain(const hone_stmt_t* loop) {
  enum { LONG = 6 };
  int lookups = 0;
  for (int i = 0; i < loop->n_body; i++) lookups += loop->body[i]->kind == HONE_STMT_LET;
  return lookups >= LONG && hone_stmt_is_lookup(loop);
}

/* Writes out the rounds of a loop innermost of its nest. */
static void write_out_rounds(hone_recipe_t* r, const char* base, const char* suffix) {
  char name[HONE_LOOP_NAME];
  if (!hone_loop_name(name, base, suffix)) return;
  hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, name);
  if (loop && hone_sink_lanes(r, name, loop))
    hone_recipe_did(r, hone_sched_unroll(r->kernel, name));
}

/* Some chains of the outer loop take turns: while one waits, the others go on; of many more,
 * registers would not hold where they are. The last ones are taken together with some that were
 * there before, since each turn is a long text. */
static bool schedule_chains(hone_recipe_t* r, const hone_stmt_t* loop) {
  enum { AT_ONCE = 14 };
  char name[HONE_LOOP_NAME];
  if (loop->is_reduction || !hone_dim_is_int(loop->extent) || loop->extent.k < 2 ||
      !is_chain(hone_innermost_loop(loop)) || !hone_loop_name(name, loop->name, ""))
    return false;
  if (loop->extent.k <= AT_ONCE)
    write_out_rounds(r, name, "");
  else if (loop->extent.k % AT_ONCE == 0 &&
           hone_recipe_did(r, hone_sched_split(r->kernel, name, AT_ONCE, HONE_TAIL_EXACT)))
    write_out_rounds(r, name, ".i");
  else if (hone_recipe_did(r, hone_sched_overlap(r->kernel, name, AT_ONCE)))
    write_out_rounds(r, name, ".w.i");
  return true;
}

void hone_schedule_rows(hone_recipe_t* r, hone_stmt_t* loop) {
  if (r->status || !hone_stmt_is_loop(loop) || loop->loop != HONE_LOOP_SERIAL) return;
  if (schedule_chains(r, loop)) return;
  if (is_innermost(loop)) {
    if (loop->is_reduction)
      schedule_reduction(r, loop);
    else
      hone_make_lanes(r, loop);
    return;
  }
  if (!loop->is_reduction && (schedule_columns(r, loop) || schedule_turned_columns(r, loop)))
    return;
  if (hone_schedule_short_rows(r, loop)) return;
  if (hone_schedule_transpose(r, loop)) return;
  /* From the last on, since parts that are peeled off stand behind. */
  for (int i = loop->n_body - 1; i >= 0; i--)
    if (i < loop->n_body) hone_schedule_rows(r, loop->body[i]);
}
