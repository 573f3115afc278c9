/* The interpreter of kernels.
 *
 * Code is run by threads: one, until a loop over items with a barrier inside
 * makes one of each item. What has a barrier inside is run statement by
 * statement for all threads; all else thread by thread. */
#include "loop/interpret.h"

#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "ir/scalar.h"
#include "loop/access.h"
#include "loop/text.h"

/* Bytes of scratch memory that nobody has written. */
enum { GARBAGE = 0xcb };

/* Memory of one buffer. */
typedef struct store {
  char* data;
  size_t bytes; /* taken by this store; 0: the data is somebody else's */
} store_t;

typedef struct thread {
  int64_t* symbols; /* values by id */
  store_t* stores;  /* by buffer id */
} thread_t;

typedef struct machine {
  hone_kernel_t* kernel;
  size_t n_symbols, n_buffers, n_terms;
  int64_t* extents;      /* of buffer b along axis i: [b * HONE_MAX_BUFFER_RANK + i] */
  int64_t* counts;       /* elements, by buffer */
  hone_stmt_t** owners;  /* whose rounds have a buffer of their own */
  hone_scalar_t* values; /* by term id, of the evaluation with number… */
  uint32_t* stamps;      /* … stamp */
  uint32_t stamp;
  bool has_barriers;
  bool stopped;     /* by a check */
  int64_t* failure; /* the error word */
} machine_t;

/* ---- memory ---- */

static size_t store_bytes(const machine_t* m, const hone_buffer_t* buffer) {
  return (size_t)m->counts[buffer->id] * hone_dtype_size(buffer->dtype);
}

static hone_status_t store_create(const machine_t* m, const hone_buffer_t* buffer, store_t* out) {
  out->bytes = store_bytes(m, buffer) + 1;
  out->data = hone_alloc(m->kernel->allocator, out->bytes);
  if (!out->data) return hone_oom();
  memset(out->data, GARBAGE, out->bytes);
  return NULL;
}

static void store_free(const machine_t* m, store_t* store) {
  if (store->bytes) hone_free(m->kernel->allocator, store->data, store->bytes);
}

/* Scratch buffers whose lives are the rounds of `owner` begin a new one. */
static void spoil(const machine_t* m, const thread_t* t, const hone_stmt_t* owner) {
  for (size_t i = 0; i < m->n_buffers; i++)
    if (m->owners[i] == owner && m->kernel->buffers[i]->role == HONE_ROLE_SCRATCH)
      memset(t->stores[i].data, GARBAGE, store_bytes(m, m->kernel->buffers[i]));
}

/* ---- accesses ---- */

static hone_status_t outside(const machine_t* m, const thread_t* t, const hone_buffer_t* buffer,
                             const hone_dim_t* index) {
  hone_str_t text;
  hone_str_init(&text, m->kernel->allocator);
  hone_access_print(buffer, index, &text);
  hone_str_append(&text, " is at [");
  for (int i = 0; i < buffer->rank; i++)
    hone_str_appendf(&text, "%s%lld", i ? ", " : "",
                     (long long)hone_dim_eval(index[i], t->symbols));
  hone_status_t status = hone_status_make(HONE_OUT_OF_RANGE, "kernel %s: %s], outside the buffer",
                                          m->kernel->name, hone_str_text(&text));
  hone_str_free(&text);
  return status;
}

/* Where the element lies. */
static hone_status_t locate(const machine_t* m, const thread_t* t, const hone_buffer_t* buffer,
                            const hone_dim_t* index, char** out) {
  const int64_t* extents = &m->extents[buffer->id * HONE_MAX_BUFFER_RANK];
  int64_t offset = 0;
  for (int i = 0; i < buffer->rank; i++) {
    int64_t at = hone_dim_eval(index[i], t->symbols);
    if (at < 0 || at >= extents[i]) return outside(m, t, buffer, index);
    offset = offset * extents[i] + at;
  }
  *out = t->stores[buffer->id].data + (size_t)offset * hone_dtype_size(buffer->dtype);
  return NULL;
}

/* ---- values ---- */

/* As a number of the dtype holds it. */
static hone_scalar_t rounded(hone_dtype_t dtype, hone_scalar_t x) {
  char element[16];
  hone_scalar_store(dtype, &x, 1, element);
  hone_scalar_load(dtype, element, 0, 1, &x);
  return x;
}

static hone_scalar_t cast(const hone_term_t* term, hone_scalar_t x) {
  char element[16] = {0};
  hone_dtype_t from = term->args[0]->dtype;
  if (term->prim == HONE_PRIM_BITCAST) {
    hone_scalar_store(from, &x, 1, element);
  } else {
    hone_scalar_cast_t how = hone_scalar_cast_of(from, term->dtype, term->flags);
    hone_scalar_cast(&how, &x, 1, element);
  }
  hone_scalar_load(term->dtype, element, 0, 1, &x);
  return x;
}

static hone_scalar_t compute(const hone_term_t* term, const hone_scalar_t* x) {
  hone_dtype_t first = term->args[0]->dtype;
  hone_scalar_class_t class = hone_scalar_class(first);
  hone_prim_family_t family = hone_prim_info(term->prim)->family;
  if (family == HONE_FAMILY_SELECT) return x[x[0].i ? 1 : 2];
  if (family == HONE_FAMILY_CAST) return cast(term, x[0]);
  if (family == HONE_FAMILY_UNARY)
    return rounded(term->dtype, hone_scalar_unary(term->prim, class)(x[0]));
  int bits = hone_dtype_bits(first);
  return rounded(term->dtype, hone_scalar_binary(term->prim, class)(x[0], x[1], bits));
}

static hone_status_t load(const machine_t* m, const thread_t* t, const hone_term_t* term,
                          hone_scalar_t* out) {
  out->u = 0;
  if (m->counts[term->buffer->id] == 0) return NULL; /* a few bytes may be read all the same */
  char* at;
  HONE_TRY(locate(m, t, term->buffer, term->index, &at));
  hone_scalar_load(term->dtype, at, 0, 1, out);
  return NULL;
}

static hone_status_t eval(machine_t* m, const thread_t* t, const hone_term_t* term,
                          hone_scalar_t* out) {
  if (m->stamps[term->id] != m->stamp) {
    hone_scalar_t args[3], value = {.u = 0};
    if (hone_scalar_class(term->dtype) > HONE_SCALAR_U64)
      return hone_status_make(HONE_UNSUPPORTED, "kernel %s: complex numbers are not interpreted",
                              m->kernel->name);
    for (int i = 0; i < term->n_args; i++) HONE_TRY(eval(m, t, term->args[i], &args[i]));
    if (term->kind == HONE_TERM_CONST)
      hone_scalar_load(term->dtype, (const char*)term->bits, 0, 1, &value);
    else if (term->kind == HONE_TERM_INDEX)
      value.i = hone_dim_eval(term->dim, t->symbols);
    else if (term->kind == HONE_TERM_LOAD)
      HONE_TRY(load(m, t, term, &value));
    else
      value = compute(term, args);
    m->values[term->id] = value;
    m->stamps[term->id] = m->stamp;
  }
  *out = m->values[term->id];
  return NULL;
}

static hone_status_t value_of(machine_t* m, const thread_t* t, const hone_stmt_t* stmt,
                              hone_scalar_t* out) {
  if (++m->stamp == 0) { /* after 2^32 statements */
    memset(m->stamps, 0, m->n_terms * sizeof *m->stamps);
    m->stamp = 1;
  }
  return eval(m, t, stmt->value, out);
}

/* ---- statements of one thread ---- */

static hone_status_t run_store(machine_t* m, const thread_t* t, const hone_stmt_t* stmt) {
  hone_scalar_t value, old;
  char* at;
  hone_dtype_t dtype = stmt->buffer->dtype;
  HONE_TRY(value_of(m, t, stmt, &value));
  HONE_TRY(locate(m, t, stmt->buffer, stmt->index, &at));
  if (stmt->combine != HONE_COMBINE_SET) {
    hone_scalar_load(dtype, at, 0, 1, &old);
    value = hone_scalar_combine(stmt->combine, hone_scalar_class(dtype))(old, value);
  }
  hone_scalar_store(dtype, &value, 1, at);
  return NULL;
}

static hone_status_t run_let(machine_t* m, const thread_t* t, const hone_stmt_t* stmt) {
  hone_scalar_t value;
  HONE_TRY(value_of(m, t, stmt, &value));
  if (value.i < hone_dim_min_value(stmt->var) || value.i > hone_dim_max_value(stmt->var))
    return hone_status_make(HONE_OUT_OF_RANGE, "kernel %s: %s is %lld, outside its range",
                            m->kernel->name, stmt->name, (long long)value.i);
  t->symbols[hone_dim_as_symbol(stmt->var)->id] = value.i;
  return NULL;
}

static hone_status_t run_check(machine_t* m, const thread_t* t, const hone_stmt_t* stmt) {
  hone_scalar_t value;
  HONE_TRY(value_of(m, t, stmt, &value));
  if (value.i) return NULL;
  m->stopped = true;
  if (!m->failure)
    return hone_status_make(HONE_OUT_OF_RANGE, "kernel %s: %s", m->kernel->name, stmt->message);
  *m->failure = 1 + stmt->check;
  return NULL;
}

static hone_status_t run_body(machine_t* m, int n, const thread_t* threads,
                              const hone_stmt_t* stmt);

static hone_status_t run_rounds(machine_t* m, int n, const thread_t* threads,
                                const hone_stmt_t* loop) {
  int64_t rounds = hone_dim_eval(loop->extent, threads[0].symbols);
  bool forwards = loop->loop == HONE_LOOP_SERIAL || loop->loop == HONE_LOOP_UNROLL;
  for (int i = 1; i < n; i++)
    if (hone_dim_eval(loop->extent, threads[i].symbols) != rounds)
      return hone_status_make(HONE_INVALID_DATA,
                              "kernel %s: items do not come to the barrier in loop %s together",
                              m->kernel->name, loop->name);
  for (int64_t k = 0; k < rounds && !m->stopped; k++) {
    for (int i = 0; i < n; i++) {
      threads[i].symbols[hone_dim_as_symbol(loop->var)->id] = forwards ? k : rounds - 1 - k;
      spoil(m, &threads[i], loop);
    }
    HONE_TRY(run_body(m, n, threads, loop));
  }
  return NULL;
}

/* ---- threads of a group ---- */

static bool has_barrier(const hone_stmt_t* stmt) {
  if (stmt->kind == HONE_STMT_BARRIER) return true;
  for (int i = 0; i < stmt->n_body; i++)
    if (has_barrier(stmt->body[i])) return true;
  return false;
}

static void thread_free(const machine_t* m, thread_t* t) {
  for (size_t i = 0; t->stores && i < m->n_buffers; i++) store_free(m, &t->stores[i]);
  hone_free(m->kernel->allocator, t->stores, m->n_buffers * sizeof *t->stores);
  hone_free(m->kernel->allocator, t->symbols, m->n_symbols * sizeof *t->symbols);
}

/* A thread like `from`, with local memory of its own. */
static hone_status_t thread_copy(const machine_t* m, const thread_t* from, thread_t* to) {
  to->symbols = hone_alloc(m->kernel->allocator, m->n_symbols * sizeof *to->symbols);
  to->stores = hone_alloc(m->kernel->allocator, m->n_buffers * sizeof *to->stores);
  if (!to->symbols || !to->stores) return hone_oom();
  memcpy(to->symbols, from->symbols, m->n_symbols * sizeof *to->symbols);
  for (size_t i = 0; i < m->n_buffers; i++) {
    const hone_buffer_t* buffer = m->kernel->buffers[i];
    to->stores[i] = (store_t){from->stores[i].data, 0};
    if (buffer->space == HONE_SPACE_LOCAL) HONE_TRY(store_create(m, buffer, &to->stores[i]));
  }
  return NULL;
}

/* A loop over items: one thread for each that comes here and each item. */
static hone_status_t run_items(machine_t* m, int n, const thread_t* threads,
                               const hone_stmt_t* loop) {
  int64_t rounds = hone_dim_eval(loop->extent, threads[0].symbols), total;
  if (rounds < 1) return NULL;
  if (!hone_i64_mul(rounds, n, &total) || total > 65536)
    return hone_status_make(HONE_UNSUPPORTED, "kernel %s: more than 65536 items in a group",
                            m->kernel->name);
  size_t bytes = (size_t)total * sizeof(thread_t);
  thread_t* all = hone_alloc(m->kernel->allocator, bytes);
  hone_status_t status = all ? NULL : hone_oom();
  for (int64_t i = 0; i < total && !status; i++) {
    status = thread_copy(m, &threads[i / rounds], &all[i]);
    if (!status) all[i].symbols[hone_dim_as_symbol(loop->var)->id] = rounds - 1 - i % rounds;
  }
  if (!status) status = run_body(m, (int)total, all, loop);
  for (int64_t i = 0; all && i < total; i++) thread_free(m, &all[i]);
  hone_free(m->kernel->allocator, all, bytes);
  return status;
}

/* ---- all statements ---- */

static hone_status_t run_if(machine_t* m, int n, const thread_t* threads, const hone_stmt_t* stmt) {
  hone_scalar_t first, value;
  HONE_TRY(value_of(m, &threads[0], stmt, &first));
  for (int i = 1; i < n; i++) {
    HONE_TRY(value_of(m, &threads[i], stmt, &value));
    if (value.i != first.i)
      return hone_status_make(HONE_INVALID_DATA,
                              "kernel %s: some items miss the barrier behind a condition",
                              m->kernel->name);
  }
  return first.i ? run_body(m, n, threads, stmt) : NULL;
}

static hone_status_t run_together(machine_t* m, int n, const thread_t* threads,
                                  const hone_stmt_t* stmt) {
  switch (stmt->kind) {
    case HONE_STMT_LOOP:
      return m->has_barriers && stmt->loop == HONE_LOOP_ITEM && has_barrier(stmt)
                 ? run_items(m, n, threads, stmt)
                 : run_rounds(m, n, threads, stmt);
    case HONE_STMT_IF:
      return run_if(m, n, threads, stmt);
    case HONE_STMT_STORE:
      return run_store(m, threads, stmt);
    case HONE_STMT_LET:
      return run_let(m, threads, stmt);
    case HONE_STMT_CHECK:
      return run_check(m, threads, stmt);
    default:
      return NULL; /* a barrier, where all are, or a hint */
  }
}

static hone_status_t run_body(machine_t* m, int n, const thread_t* threads,
                              const hone_stmt_t* stmt) {
  for (int k = 0; k < stmt->n_body && !m->stopped; k++) {
    const hone_stmt_t* next = stmt->body[k];
    bool together = n == 1 || has_barrier(next);
    for (int i = 0; i < (together ? 1 : n) && !m->stopped; i++)
      HONE_TRY(run_together(m, together ? n : 1, &threads[i], next));
  }
  return NULL;
}

/* ---- the top ---- */

static bool has_parallel(const hone_stmt_t* root) {
  for (int i = 0; i < root->n_body; i++)
    if (hone_stmt_is_parallel(root->body[i])) return true;
  return false;
}

/* Beside a parallel loop all but lets runs at the same time: here backwards. */
static hone_status_t run_top(machine_t* m, const thread_t* t) {
  const hone_stmt_t* root = m->kernel->root;
  if (!has_parallel(root)) return run_body(m, 1, t, root);
  for (int i = 0; i < root->n_body; i++)
    if (root->body[i]->kind == HONE_STMT_LET) HONE_TRY(run_let(m, t, root->body[i]));
  for (int i = root->n_body - 1; i >= 0 && !m->stopped; i--)
    if (root->body[i]->kind != HONE_STMT_LET) HONE_TRY(run_together(m, 1, t, root->body[i]));
  return NULL;
}

/* ---- start and end ---- */

static hone_status_t count_buffer(machine_t* m, const hone_buffer_t* buffer,
                                  const int64_t* symbols) {
  int64_t* extents = &m->extents[buffer->id * HONE_MAX_BUFFER_RANK];
  size_t bytes;
  for (int i = 0; i < buffer->rank; i++) extents[i] = hone_dim_eval(buffer->dims[i], symbols);
  if (!hone_dims_count(buffer->rank, extents, &m->counts[buffer->id]) ||
      !hone_size_mul((size_t)m->counts[buffer->id], hone_dtype_size(buffer->dtype), &bytes))
    return hone_status_make(HONE_OUT_OF_RANGE,
                            "kernel %s: buffer %s has an extent that is negative "
                            "or too large",
                            m->kernel->name, buffer->name);
  return NULL;
}

static hone_status_t set_sizes(const machine_t* m, const thread_t* t, const int64_t* sizes) {
  for (int i = 0; i < m->kernel->n_sizes; i++) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(m->kernel->sizes[i]);
    if (sizes[i] < symbol->min || sizes[i] > symbol->max)
      return hone_status_make(HONE_OUT_OF_RANGE, "kernel %s: size %s is %lld, outside its range",
                              m->kernel->name, symbol->name, (long long)sizes[i]);
    t->symbols[symbol->id] = sizes[i];
  }
  return NULL;
}

static hone_status_t set_stores(machine_t* m, const thread_t* t, void* const* parameters) {
  int n = 0;
  for (size_t i = 0; i < m->n_buffers; i++) {
    const hone_buffer_t* buffer = m->kernel->buffers[i];
    HONE_TRY(count_buffer(m, buffer, t->symbols));
    if (buffer->role == HONE_ROLE_SCRATCH) {
      HONE_TRY(store_create(m, buffer, &t->stores[i]));
      continue;
    }
    t->stores[i].data = parameters[n++];
    if (buffer->role == HONE_ROLE_ERROR) m->failure = parameters[n - 1];
  }
  return NULL;
}

static hone_status_t run_all(machine_t* m, const thread_t* t, const int64_t* sizes,
                             void* const* parameters) {
  HONE_TRY(set_sizes(m, t, sizes));
  HONE_TRY(set_stores(m, t, parameters));
  HONE_TRY(hone_access_owners(m->kernel, m->owners));
  m->has_barriers = has_barrier(m->kernel->root);
  return run_top(m, t);
}

hone_status_t hone_kernel_interpret(hone_kernel_t* kernel, const int64_t* sizes,
                                    void* const* parameters) {
  machine_t m = {.kernel = kernel,
                 .n_symbols = (size_t)hone_dims_symbol_count(kernel->dims) + 1,
                 .n_buffers = (size_t)kernel->n_buffers + 1,
                 .n_terms = (size_t)kernel->n_terms + 1};
  const hone_allocator_t* a = kernel->allocator;
  size_t n_extents = m.n_buffers * HONE_MAX_BUFFER_RANK;
  thread_t t = {hone_alloc(a, m.n_symbols * sizeof *t.symbols),
                hone_alloc(a, m.n_buffers * sizeof *t.stores)};
  m.extents = hone_alloc(a, n_extents * sizeof *m.extents);
  m.counts = hone_alloc(a, m.n_buffers * sizeof *m.counts);
  m.owners = hone_alloc(a, m.n_buffers * sizeof(hone_stmt_t*));
  m.values = hone_alloc(a, m.n_terms * sizeof *m.values);
  m.stamps = hone_alloc(a, m.n_terms * sizeof *m.stamps);
  bool ok = t.symbols && t.stores && m.extents && m.counts && m.owners && m.values && m.stamps;
  size_t n_buffers = m.n_buffers--; /* the one more kept empty lists from being NULL */
  hone_status_t status = ok ? run_all(&m, &t, sizes, parameters) : hone_oom();
  for (size_t i = 0; t.stores && i < m.n_buffers; i++) store_free(&m, &t.stores[i]);
  hone_free(a, t.symbols, m.n_symbols * sizeof *t.symbols);
  hone_free(a, t.stores, n_buffers * sizeof *t.stores);
  hone_free(a, m.extents, n_extents * sizeof *m.extents);
  hone_free(a, m.counts, n_buffers * sizeof *m.counts);
  hone_free(a, m.owners, n_buffers * sizeof(hone_stmt_t*));
  hone_free(a, m.values, m.n_terms * sizeof *m.values);
  hone_free(a, m.stamps, m.n_terms * sizeof *m.stamps);
  return status;
}
