/* Counting a kernel's work: every statement's share, times the rounds around it. */
#include "loop/work.h"

#include "base/memory.h"
#include "loop/access.h"
#include "loop/walk.h"

typedef struct counter {
  hone_kernel_t* kernel;
  hone_dims_t* dims;
  hone_work_t work;
  int* seen; /* by id of a term: the number of the last statement that it was met in */
  int stamp;
  int64_t arithmetic, transcendental; /* of the statement at hand, for one round */
  hone_dim_t *read, *written;         /* elements, by buffer id */
  const hone_stmt_t* walk_of;         /* the loop whose walk was looked for last */
  hone_walk_t walk;
} counter_t;

/* ---- rounds ---- */

/* The sum of `d` over the rounds of a loop. */
static hone_dim_t over(const counter_t* c, const hone_stmt_t* loop, hone_dim_t d) {
  if (!hone_dim_uses(d, loop->var)) return hone_dim_mul(c->dims, loop->extent, d);
  hone_dim_t last = hone_dim_sub(c->dims, loop->extent, hone_dim_int(1));
  hone_dim_t ends =
      hone_dim_add(c->dims, hone_dim_replace_symbol(c->dims, d, loop->var, hone_dim_int(0)),
                   hone_dim_replace_symbol(c->dims, d, loop->var, last));
  return hone_dim_floordiv(c->dims, hone_dim_mul(c->dims, loop->extent, ends), hone_dim_int(2));
}

static bool is_size(const hone_kernel_t* kernel, int symbol) {
  for (int i = 0; i < kernel->n_sizes; i++)
    if (hone_dim_as_symbol(kernel->sizes[i])->id == symbol) return true;
  return false;
}

typedef struct bounding {
  const counter_t* counter;
  int symbol; /* one that is no size; -1: none */
} bounding_t;

static void note_symbol(void* self, const hone_symbol_t* symbol) {
  bounding_t* b = self;
  if (!is_size(b->counter->kernel, symbol->id)) b->symbol = symbol->id;
}

/* What hangs on integers that the kernel reads becomes its upper bound. */
static hone_dim_t bounded(const counter_t* c, hone_dim_t d) {
  bounding_t b = {c, -1};
  hone_dim_visit_symbols(d, note_symbol, &b);
  return b.symbol < 0 ? d : hone_dim_int(hone_dim_max_value(d));
}

static hone_dim_t sum(const counter_t* c, hone_dim_t total, hone_dim_t part) {
  return hone_dim_add(c->dims, total, bounded(c, part));
}

/* Whether a usual round has left its walk before that statement. */
static bool is_left_out(counter_t* c, const hone_stmt_t* stmt) {
  if (stmt->kind != HONE_STMT_LET || !stmt->parent) return false;
  if (c->walk_of != stmt->parent && !hone_walk_find(c->kernel, stmt->parent, &c->walk))
    return false; /* and the kernel says that memory is out */
  c->walk_of = stmt->parent;
  int last = hone_walk_place(&c->walk, hone_walk_usual_steps(&c->walk));
  return c->walk.n_steps && hone_stmt_position(stmt) > last;
}

/* ---- arithmetic ---- */

static bool is_arithmetic(hone_prim_t prim) {
  hone_prim_family_t family = hone_prim_info(prim)->family;
  return family == HONE_FAMILY_UNARY || family == HONE_FAMILY_BINARY;
}

/* Whole numbers that no element goes into are indices or conditions on them,
 * which is not what a kernel is for. */
static bool count_term(counter_t* c, const hone_term_t* term) {
  bool was_seen = c->seen[term->id] / 2 == c->stamp;
  if (was_seen) return c->seen[term->id] % 2;
  bool counts = term->kind == HONE_TERM_LOAD || hone_dtype_is_float(term->dtype);
  for (int i = 0; i < term->n_args; i++) counts |= count_term(c, term->args[i]);
  c->seen[term->id] = c->stamp * 2 + counts;
  if (!counts || term->kind != HONE_TERM_PRIM) return counts;
  if (hone_prim_is_transcendental(term->prim))
    c->transcendental++;
  else
    c->arithmetic += is_arithmetic(term->prim);
  return true;
}

/* bf16, or i16 for integers of at most so many bits, where the statement adds up products of two
 * such numbers; else f32. */
static hone_dtype_t type_of_products(const hone_stmt_t* stmt) {
  const hone_term_t* product = stmt->value;
  bool is_sum = stmt->combine == HONE_COMBINE_ADD && product->kind == HONE_TERM_PRIM &&
                product->prim == HONE_PRIM_MUL;
  if (!is_sum) return HONE_F32;
  bool is_bf16 = true, is_short = true;
  for (int i = 0; i < 2; i++) {
    const hone_term_t* factor = product->args[i];
    hone_dtype_t from = factor->kind == HONE_TERM_PRIM && factor->prim == HONE_PRIM_CAST
                            ? factor->args[0]->dtype
                            : factor->dtype;
    is_bf16 &= from == HONE_BF16;
    is_short &= hone_dtype_is_int(from) && hone_dtype_size(from) <= 2;
  }
  return is_bf16 ? HONE_BF16 : is_short ? HONE_I16 : HONE_F32;
}

static hone_dim_t all_rounds(const counter_t* c, const hone_stmt_t* stmt, int64_t count) {
  hone_dim_t d = hone_dim_int(count);
  for (const hone_stmt_t* at = stmt->parent; at && count; at = at->parent)
    if (at->kind == HONE_STMT_LOOP) d = over(c, at, d);
  return d;
}

static bool count_stmt(void* self, hone_stmt_t* stmt) {
  counter_t* c = self;
  if (stmt->kind != HONE_STMT_STORE) return true;
  c->stamp++;
  c->transcendental = 0;
  c->arithmetic = stmt->combine != HONE_COMBINE_SET;
  count_term(c, stmt->value);
  hone_dim_t arithmetic = all_rounds(c, stmt, c->arithmetic);
  hone_dtype_t type = type_of_products(stmt);
  c->work.arithmetic = sum(c, c->work.arithmetic, arithmetic);
  if (type == HONE_BF16) c->work.bf16 = sum(c, c->work.bf16, arithmetic);
  if (type == HONE_I16) c->work.int8 = sum(c, c->work.int8, arithmetic);
  c->work.transcendental = sum(c, c->work.transcendental, all_rounds(c, stmt, c->transcendental));
  return !c->kernel->out_of_memory;
}

/* ---- bytes ---- */

typedef struct placing {
  const counter_t* counter;
  const hone_stmt_t* stmt;
  bool is_direct; /* every symbol is a size or the variable of a loop around */
} placing_t;

static void check_symbol(void* self, const hone_symbol_t* symbol) {
  placing_t* p = self;
  bool is_known = is_size(p->counter->kernel, symbol->id);
  for (const hone_stmt_t* at = p->stmt; at && !is_known; at = at->parent)
    is_known = at->kind == HONE_STMT_LOOP && hone_dim_as_symbol(at->var)->id == symbol->id;
  p->is_direct &= is_known;
}

static bool index_uses(const hone_access_t* access, hone_dim_t var) {
  for (int i = 0; i < access->buffer->rank; i++)
    if (hone_dim_uses(access->index[i], var)) return true;
  return false;
}

/* Elements that an access meets. An index that was read itself may be another
 * one in each round. */
static hone_dim_t elements(const counter_t* c, const hone_access_t* access) {
  placing_t p = {c, access->stmt, true};
  for (int i = 0; i < access->buffer->rank; i++)
    hone_dim_visit_symbols(access->index[i], check_symbol, &p);
  hone_dim_t d = hone_dim_int(1);
  for (const hone_stmt_t* at = access->stmt->parent; at; at = at->parent) {
    if (at->kind != HONE_STMT_LOOP) continue;
    if (!p.is_direct || index_uses(access, at->var) || hone_dim_uses(d, at->var))
      d = over(c, at, d);
  }
  return d;
}

static void count_access(counter_t* c, const hone_access_t* access) {
  const hone_buffer_t* buffer = access->buffer;
  if (buffer->role != HONE_ROLE_INPUT && buffer->role != HONE_ROLE_OUTPUT) return;
  if (is_left_out(c, access->stmt)) return;
  hone_dim_t count = elements(c, access);
  bool reads = !access->is_store || access->combine != HONE_COMBINE_SET;
  if (reads) c->read[buffer->id] = sum(c, c->read[buffer->id], count);
  if (access->is_store) c->written[buffer->id] = sum(c, c->written[buffer->id], count);
}

static hone_dim_t bytes_of(const counter_t* c, const hone_buffer_t* buffer, hone_dim_t count) {
  hone_dim_t all = hone_dim_product(c->dims, buffer->rank, buffer->dims);
  if (hone_dim_is_bad(count)) count = all; /* far beyond all there is */
  return hone_dim_mul(c->dims, hone_dim_min(c->dims, count, all),
                      hone_dim_int((int64_t)hone_dtype_size(buffer->dtype)));
}

static hone_status_t count_bytes(counter_t* c) {
  const hone_kernel_t* kernel = c->kernel;
  hone_access_list_t list;
  hone_status_t status = hone_access_collect(kernel, kernel->root, &list);
  for (int i = 0; i < list.count && !status; i++) count_access(c, &list.items[i]);
  hone_access_free(&list);
  for (int i = 0; i < kernel->n_buffers; i++) {
    const hone_buffer_t* buffer = kernel->buffers[i];
    c->work.read = hone_dim_add(c->dims, c->work.read, bytes_of(c, buffer, c->read[i]));
    c->work.written = hone_dim_add(c->dims, c->work.written, bytes_of(c, buffer, c->written[i]));
  }
  return status;
}

/* ---- the whole ---- */

static hone_dim_t known(hone_dim_t d) { return hone_dim_is_bad(d) ? hone_dim_int(0) : d; }

static hone_work_t known_work(const hone_work_t* work) {
  return (hone_work_t){known(work->arithmetic),     known(work->bf16),   known(work->int8),
                       known(work->transcendental), known(work->single), known(work->read),
                       known(work->written)};
}

hone_status_t hone_kernel_work(hone_kernel_t* kernel, hone_work_t* out_work) {
  counter_t c = {.kernel = kernel, .dims = kernel->dims};
  size_t terms = (size_t)kernel->n_terms + 1, buffers = (size_t)kernel->n_buffers;
  size_t bytes = 2 * buffers * sizeof(hone_dim_t) + terms * sizeof(int);
  c.read = hone_alloc(kernel->allocator, bytes);
  if (!c.read) return hone_oom();
  c.written = c.read + buffers;
  c.seen = (int*)(void*)(c.written + buffers);
  hone_stmt_walk(kernel->root, count_stmt, &c);
  hone_status_t status = count_bytes(&c);
  hone_free(kernel->allocator, c.read, bytes);
  *out_work = known_work(&c.work);
  if (!status && (kernel->out_of_memory || hone_dims_out_of_memory(c.dims))) status = hone_oom();
  return status;
}

/* ---- one element at a time ---- */

static bool is_in_vector(const hone_stmt_t* stmt) {
  for (const hone_stmt_t* at = stmt->parent; at; at = at->parent)
    if (at->kind == HONE_STMT_LOOP && (at->loop == HONE_LOOP_VECTOR || at->intrinsic)) return true;
  return false;
}

static int64_t count_terms(counter_t* c, const hone_term_t* term) {
  if (c->seen[term->id] == c->stamp) return 0;
  c->seen[term->id] = c->stamp;
  int64_t count = term->kind == HONE_TERM_LOAD || term->kind == HONE_TERM_PRIM;
  for (int i = 0; i < term->n_args; i++) count += count_terms(c, term->args[i]);
  return count;
}

static bool count_single(void* self, hone_stmt_t* stmt) {
  counter_t* c = self;
  if (!stmt->value || is_in_vector(stmt) || is_left_out(c, stmt)) return true;
  c->stamp++;
  int64_t count = (stmt->kind == HONE_STMT_STORE) + count_terms(c, stmt->value);
  c->work.single = sum(c, c->work.single, all_rounds(c, stmt, count));
  return !c->kernel->out_of_memory;
}

hone_status_t hone_kernel_count_singles(hone_kernel_t* kernel, hone_work_t* work) {
  size_t bytes = ((size_t)kernel->n_terms + 1) * sizeof(int);
  counter_t c = {.kernel = kernel, .dims = kernel->dims};
  c.seen = hone_alloc(kernel->allocator, bytes);
  if (!c.seen) return hone_oom();
  hone_stmt_walk(kernel->root, count_single, &c);
  hone_free(kernel->allocator, c.seen, bytes);
  work->single = known(c.work.single);
  return kernel->out_of_memory || hone_dims_out_of_memory(c.dims) ? hone_oom() : NULL;
}

/* ---- with values ---- */

hone_work_t hone_work_replace(hone_dims_t* dims, const hone_work_t* work, int n,
                              const hone_dim_t* to) {
  const hone_work_t replaced = {
      .arithmetic = hone_dim_replace(dims, work->arithmetic, n, to, NULL),
      .bf16 = hone_dim_replace(dims, work->bf16, n, to, NULL),
      .int8 = hone_dim_replace(dims, work->int8, n, to, NULL),
      .transcendental = hone_dim_replace(dims, work->transcendental, n, to, NULL),
      .single = hone_dim_replace(dims, work->single, n, to, NULL),
      .read = hone_dim_replace(dims, work->read, n, to, NULL),
      .written = hone_dim_replace(dims, work->written, n, to, NULL),
  };
  return known_work(&replaced);
}

static double amount(hone_dim_t d, const int64_t* symbols) {
  int64_t value = hone_dim_eval(d, symbols);
  return value < 0 ? 0 : (double)value;
}

hone_work_amount_t hone_work_eval(const hone_work_t* work, const int64_t* symbols) {
  hone_work_amount_t out = {.written = amount(work->written, symbols)};
  /* What writes nothing has loops without rounds around what it would read. */
  if (!(out.written > 0)) return out;
  out.arithmetic = amount(work->arithmetic, symbols);
  out.bf16 = amount(work->bf16, symbols);
  out.int8 = amount(work->int8, symbols);
  out.transcendental = amount(work->transcendental, symbols);
  out.single = amount(work->single, symbols);
  out.read = amount(work->read, symbols);
  return out;
}

double hone_work_operations(const hone_work_amount_t* work) {
  return work->arithmetic + HONE_TRANSCENDENTAL_COST * work->transcendental;
}
