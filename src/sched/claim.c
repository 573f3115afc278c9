/* claim: a loop asks for the lines of the cache that what stands behind it will write.
 *
 *   for k { acc[…] += … }
 *   for i { for j { out[i0 + i, j] = acc[i, j] } }
 *
 * Of a line that is in no near cache, a store has to wait for the rest, though it writes over all
 * of it; stores that wait leave no room for those of the next tile. "claim out k" asks for the
 * lines in the order of i and j: for a few in front of k, for more in its rounds, each of which
 * asks for one of as many lines or fewer; for several, where a round is a matrix instruction. Where
 * several stores stand together, "claim" asks for the lines of each. */
#include "base/memory.h"
#include "loop/block.h"
#include "sched/common/edit.h"

enum {
  LINE = 64, /* bytes, of the cache */
  MOST_LOOPS = 8,
  MOST_STORES = 4,
  FEW_LINES = 8,
  MOST_AT_ONCE = 16 /* in a round of a matrix instruction, which takes as long as many others */
};

typedef struct claiming {
  hone_kernel_t* kernel;
  hone_stmt_t* loop;
  hone_stmt_t* inside; /* the loop, or one in it in whose rounds instructions do matrices */
  hone_dim_t round;    /* of that, counted from the first of the loop on */
  int64_t rounds;
  hone_buffer_t* buffer;
  const hone_stmt_t* store;
  int n; /* loops around the store, inside out */
  const hone_stmt_t* around[MOST_LOOPS];
  int64_t count[MOST_LOOPS]; /* lines along each */
  int64_t step[MOST_LOOPS];  /* rounds of it to the next line */
  int64_t lines, most;       /* that there are and may be */
} claiming_t;

/* The store in the statement that writes over what is in the buffer; NULL: there is none. */
static const hone_stmt_t* find_store(const hone_stmt_t* stmt, const hone_buffer_t* buffer) {
  if (stmt->kind == HONE_STMT_STORE)
    return stmt->buffer == buffer && stmt->combine == HONE_COMBINE_SET ? stmt : NULL;
  const hone_stmt_t* found = NULL;
  if (stmt->kind != HONE_STMT_LOOP || stmt->is_reduction) return NULL;
  for (int i = 0; i < stmt->n_body && !found; i++) found = find_store(stmt->body[i], buffer);
  return found;
}

static const hone_stmt_t* find_store_behind(const claiming_t* c) {
  const hone_stmt_t *body = c->loop->parent, *found = NULL;
  for (int i = hone_stmt_position(c->loop) + 1; i < body->n_body; i++) {
    const hone_stmt_t* store = find_store(body->body[i], c->buffer);
    if (store) found = store;
  }
  return found;
}

static bool has_known_rounds(const hone_stmt_t* loop) {
  return loop->loop == HONE_LOOP_SERIAL && hone_dim_is_int(loop->extent) && loop->extent.k >= 1;
}

/* The loop directly inside, beside what asks for memory; NULL: there is none, or more than one. */
static hone_stmt_t* next_inside(const hone_stmt_t* loop) {
  hone_stmt_t* next = NULL;
  for (int i = 0; i < loop->n_body; i++) {
    if (loop->body[i]->kind != HONE_STMT_LOOP) continue;
    if (next || loop->body[i]->intrinsic || !has_known_rounds(loop->body[i])) return NULL;
    next = loop->body[i];
  }
  return next;
}

/* The rounds that ask. */
static void find_rounds(claiming_t* c) {
  hone_dims_t* dims = c->kernel->dims;
  hone_stmt_t* loop = c->loop;
  hone_dim_t round = loop->var;
  int64_t rounds = loop->extent.k;
  c->inside = loop;
  c->round = round;
  c->rounds = rounds;
  while (!hone_block_is_in(loop)) {
    loop = next_inside(loop);
    if (!loop || !hone_i64_mul(rounds, loop->extent.k, &rounds)) return;
    round = hone_dim_add(dims, hone_dim_mul(dims, round, loop->extent), loop->var);
  }
  c->inside = loop;
  c->round = round;
  c->rounds = rounds;
}

/* How many lines there are along each loop around the store; false: only a run knows, or more than
 * rounds. */
static bool count_lines(claiming_t* c) {
  int64_t elements = LINE / (int64_t)hone_dtype_size(c->buffer->dtype);
  hone_dim_t offset = hone_buffer_offset(c->kernel, c->buffer, c->store->index);
  c->lines = 1;
  c->n = 0;
  for (const hone_stmt_t* s = c->store->parent; s != c->loop->parent; s = s->parent) {
    int64_t factor;
    if (c->n == MOST_LOOPS || !hone_dim_is_int(s->extent) || s->extent.k < 1) return false;
    bool is_near = hone_dim_factor(offset, s->var, &factor) && factor > 0 && factor < elements;
    int64_t step = is_near ? elements / factor : 1;
    c->around[c->n] = s;
    c->step[c->n] = step;
    c->count[c->n] = (s->extent.k + step - 1) / step;
    c->lines *= c->count[c->n++];
    if (c->lines > c->most) return false;
  }
  return true;
}

static hone_status_t check(claiming_t* c) {
  if (c->buffer->space != HONE_SPACE_GLOBAL)
    return hone_sched_refuse("claim %s: it is scratch", c->buffer->name);
  if (!has_known_rounds(c->loop))
    return hone_sched_refuse("claim %s: %s is no loop of a known number of rounds", c->buffer->name,
                             c->loop->name);
  c->store = find_store_behind(c);
  if (!c->store)
    return hone_sched_refuse("claim %s: nothing behind %s writes it", c->buffer->name,
                             c->loop->name);
  find_rounds(c);
  c->most = c->rounds * (hone_block_is_in(c->inside) ? MOST_AT_ONCE : 1);
  if (c->loop->intrinsic) c->most = FEW_LINES; /* nothing stands inside of an instruction */
  if (count_lines(c)) return NULL;
  return hone_sched_refuse("claim %s: what is written behind %s are too many lines",
                           c->buffer->name, c->loop->name);
}

/* The store, and those to the same buffer that stand beside it. */
static int find_stores(const claiming_t* c, const hone_stmt_t* out[MOST_STORES]) {
  const hone_stmt_t* body = c->store->parent;
  int n = 0;
  for (int i = hone_stmt_position(c->store); i < body->n_body && n < MOST_STORES; i++)
    if (body->body[i]->kind == HONE_STMT_STORE && find_store(body->body[i], c->buffer))
      out[n++] = body->body[i];
  return n;
}

/* The round of a loop around the store, number `i`, for that line. */
static hone_dim_t round_of(const claiming_t* c, int i, hone_dim_t line) {
  hone_dims_t* dims = c->kernel->dims;
  int64_t inside = 1;
  for (int k = 0; k < i; k++) inside *= c->count[k];
  hone_dim_t number = hone_dim_floordiv(dims, line, hone_dim_int(inside));
  if (i < c->n - 1) number = hone_dim_mod(dims, number, hone_dim_int(c->count[i]));
  return hone_dim_mul(dims, number, hone_dim_int(c->step[i]));
}

/* Asks for a line in front of what stands at the position. */
static bool ask(const claiming_t* c, hone_dim_t line, hone_stmt_t* parent, int position) {
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  for (int a = 0; a < c->buffer->rank; a++) {
    index[a] = c->store->index[a];
    for (int i = 0; i < c->n; i++)
      index[a] = hone_dim_replace_symbol(c->kernel->dims, index[a], c->around[i]->var,
                                         round_of(c, i, line));
  }
  hone_stmt_t* stmt = hone_stmt_prefetch(c->kernel, parent, c->buffer, index);
  if (!stmt) return false;
  stmt->is_claim = true;
  hone_stmt_remove(stmt);
  return hone_stmt_insert(c->kernel, parent, position, stmt);
}

/* Each round asks for as many as any has to. */
static bool ask_in_rounds(const claiming_t* c) {
  hone_dims_t* dims = c->kernel->dims;
  int64_t each = (c->lines + c->rounds - 1) / c->rounds;
  hone_dim_t lines = hone_dim_mul(dims, c->round, hone_dim_int(c->lines));
  hone_dim_t first = hone_dim_floordiv(dims, lines, hone_dim_int(c->rounds));
  for (int64_t i = 0; i < each; i++)
    if (!ask(c, hone_dim_add(dims, first, hone_dim_int(i)), c->inside, 0)) return false;
  return true;
}

static bool ask_at_once(const claiming_t* c) {
  for (int64_t line = 0; line < c->lines; line++)
    if (!ask(c, hone_dim_int(line), c->loop->parent, hone_stmt_position(c->loop))) return false;
  return true;
}

hone_status_t hone_sched_claim(hone_kernel_t* kernel, const char* buffer, const char* loop) {
  size_t begin = hone_sched_begin(kernel);
  claiming_t c = {.kernel = kernel};
  HONE_TRY(hone_sched_find_buffer(kernel, buffer, &c.buffer));
  HONE_TRY(hone_sched_find(kernel, loop, &c.loop));
  HONE_TRY(check(&c));
  const hone_stmt_t* stores[MOST_STORES];
  int n = find_stores(&c, stores);
  for (int i = 0; i < n; i++) {
    c.store = stores[i];
    if (count_lines(&c) && !(c.lines <= FEW_LINES ? ask_at_once(&c) : ask_in_rounds(&c)))
      return hone_oom();
  }
  return hone_sched_end(kernel, begin, "claim %s %s", c.buffer->name, c.loop->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  (void)n;
  return hone_sched_claim(kernel, args[0], args[1]);
}

const hone_primitive_t hone_primitive_claim = {
    .name = "claim",
    .usage = "claim BUFFER LOOP",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
