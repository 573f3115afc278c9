/* Terms: interned scalar expressions, simplified where that is exact. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "loop/kernel.h"

/* ---- interning ---- */

static uint64_t mix_dim(uint64_t h, hone_dim_t d) {
  return hone_hash_mix(hone_hash_mix(h, (uint64_t)d.k), (uint64_t)(uintptr_t)d.expr);
}

static uint64_t hash_term(const hone_term_t* t) {
  uint64_t h = hone_hash_mix((uint64_t)t->kind, (uint64_t)t->dtype);
  h = hone_hash_mix(hone_hash_mix(h, (uint64_t)t->prim), (uint64_t)t->flags);
  h = hone_hash_mix(hone_hash_mix(h, t->bits[0]), t->bits[1]);
  for (int i = 0; i < t->n_args; i++) h = hone_hash_mix(h, (uint64_t)t->args[i]->id);
  h = mix_dim(h, t->dim);
  if (t->buffer) h = hone_hash_pointer(h, t->buffer); /* its number may change */
  for (int i = 0; t->buffer && i < t->buffer->rank; i++) h = mix_dim(h, t->index[i]);
  return h;
}

static bool same_term(const hone_term_t* a, const hone_term_t* b) {
  if (a->hash != b->hash || a->kind != b->kind || a->dtype != b->dtype || a->prim != b->prim ||
      a->flags != b->flags || a->n_args != b->n_args || a->buffer != b->buffer ||
      a->bits[0] != b->bits[0] || a->bits[1] != b->bits[1] || !hone_dim_same(a->dim, b->dim))
    return false;
  for (int i = 0; i < a->n_args; i++)
    if (a->args[i] != b->args[i]) return false;
  for (int i = 0; a->buffer && i < a->buffer->rank; i++)
    if (!hone_dim_same(a->index[i], b->index[i])) return false;
  return true;
}

static const hone_term_t* no_memory(hone_kernel_t* kernel) {
  kernel->out_of_memory = true;
  return NULL;
}

static void rehash(hone_kernel_t* kernel) {
  size_t n = kernel->n_term_buckets * 2;
  const hone_term_t** fresh = hone_arena_array(kernel->arena, n, sizeof *fresh);
  if (!fresh) return;
  for (size_t i = 0; i < kernel->n_term_buckets; i++)
    for (const hone_term_t *t = kernel->term_buckets[i], *next; t; t = next) {
      next = t->next;
      ((hone_term_t*)(uintptr_t)t)->next = fresh[t->hash % n];
      fresh[t->hash % n] = t;
    }
  kernel->term_buckets = fresh;
  kernel->n_term_buckets = n;
}

static uint64_t symbols_of(const hone_term_t* t) {
  uint64_t symbols = hone_dim_symbols(t->dim);
  for (int i = 0; i < t->n_args; i++) symbols |= t->args[i]->symbols;
  for (int i = 0; t->buffer && i < t->buffer->rank; i++) symbols |= hone_dim_symbols(t->index[i]);
  return symbols;
}

/* The one term with the content of `key`, whose index is copied. */
static const hone_term_t* intern(hone_kernel_t* kernel, hone_term_t* key) {
  key->hash = hash_term(key);
  for (const hone_term_t* t = kernel->term_buckets[key->hash % kernel->n_term_buckets]; t;
       t = t->next)
    if (same_term(t, key)) return t;
  hone_term_t* t = hone_arena_memdup(kernel->arena, key, sizeof *key);
  if (!t) return no_memory(kernel);
  if (key->buffer) {
    size_t bytes = (size_t)key->buffer->rank * sizeof(hone_dim_t);
    t->index = hone_arena_memdup(kernel->arena, key->index, bytes);
    if (!t->index) return no_memory(kernel);
  }
  t->symbols = symbols_of(t);
  t->id = ++kernel->n_terms;
  if ((size_t)kernel->n_terms > kernel->n_term_buckets) rehash(kernel);
  const hone_term_t** bucket = &kernel->term_buckets[t->hash % kernel->n_term_buckets];
  t->next = *bucket;
  *bucket = t;
  return t;
}

/* ---- leaves ---- */

const hone_term_t* hone_term_const(hone_kernel_t* kernel, hone_dtype_t dtype, const void* element) {
  hone_term_t key = {.kind = HONE_TERM_CONST, .dtype = dtype};
  size_t size = hone_dtype_size(dtype);
  memcpy(key.bits, element, size < sizeof key.bits ? size : sizeof key.bits);
  return intern(kernel, &key);
}

static const hone_term_t* bool_term(hone_kernel_t* kernel, bool value) {
  return hone_term_const(kernel, HONE_BOOL, &(uint8_t){value});
}

const hone_term_t* hone_term_number(hone_kernel_t* kernel, hone_dtype_t dtype, double value) {
  uint64_t bits[2] = {0};
  hone_from_double(dtype, value, true, bits);
  return hone_term_const(kernel, dtype, bits);
}

const hone_term_t* hone_term_index(hone_kernel_t* kernel, hone_dim_t dim) {
  if (hone_dim_is_int(dim)) return hone_term_const(kernel, HONE_I64, &dim.k);
  hone_term_t key = {.kind = HONE_TERM_INDEX, .dtype = HONE_I64, .dim = dim};
  return intern(kernel, &key);
}

const hone_term_t* hone_term_load(hone_kernel_t* kernel, const hone_buffer_t* buffer,
                                  const hone_dim_t* index) {
  hone_term_t key = {
      .kind = HONE_TERM_LOAD, .dtype = buffer->dtype, .buffer = buffer, .index = index};
  return intern(kernel, &key);
}

/* ---- simplification ---- */

bool hone_term_is_true(const hone_term_t* term) {
  return term && term->kind == HONE_TERM_CONST && term->dtype == HONE_BOOL && term->bits[0] == 1;
}

bool hone_term_is_false(const hone_term_t* term) {
  return term && term->kind == HONE_TERM_CONST && term->dtype == HONE_BOOL && term->bits[0] == 0;
}

/* An i64 term that is known as an expression. */
static bool as_dim(const hone_term_t* t, hone_dim_t* out) {
  if (t->dtype != HONE_I64) return false;
  if (t->kind == HONE_TERM_INDEX) {
    *out = t->dim;
    return true;
  }
  if (t->kind != HONE_TERM_CONST) return false;
  *out = hone_dim_int((int64_t)t->bits[0]);
  return true;
}

/* Far from where 64-bit arithmetic would wrap. */
static bool is_moderate(hone_dim_t d) {
  const int64_t limit = INT64_MAX / 4;
  return !hone_dim_is_bad(d) && hone_dim_min_value(d) > -limit && hone_dim_max_value(d) < limit;
}

static const hone_term_t* compare_dims(hone_kernel_t* kernel, hone_prim_t prim, hone_dim_t a,
                                       hone_dim_t b) {
  hone_dim_t d = hone_dim_sub(kernel->dims, a, b);
  if (!is_moderate(a) || !is_moderate(b) || !is_moderate(d)) return NULL;
  int64_t least = hone_dim_min_value(d), most = hone_dim_max_value(d);
  if (prim == HONE_PRIM_LT && most < 0) return bool_term(kernel, true);
  if (prim == HONE_PRIM_LT && least >= 0) return bool_term(kernel, false);
  if (prim == HONE_PRIM_EQ && least == 0 && most == 0) return bool_term(kernel, true);
  if (prim == HONE_PRIM_EQ && (least > 0 || most < 0)) return bool_term(kernel, false);
  return NULL;
}

/* Arithmetic on indices is arithmetic on dimensions. */
static const hone_term_t* fold_dims(hone_kernel_t* kernel, hone_prim_t prim,
                                    const hone_term_t* const* args) {
  hone_dim_t a, b, d;
  if (!as_dim(args[0], &a) || !as_dim(args[1], &b)) return NULL;
  if (prim == HONE_PRIM_LT || prim == HONE_PRIM_EQ) return compare_dims(kernel, prim, a, b);
  if (!is_moderate(a) || !is_moderate(b)) return NULL;
  if (prim == HONE_PRIM_ADD)
    d = hone_dim_add(kernel->dims, a, b);
  else if (prim == HONE_PRIM_SUB)
    d = hone_dim_sub(kernel->dims, a, b);
  else if (prim == HONE_PRIM_MUL && (hone_dim_is_int(a) || hone_dim_is_int(b)))
    d = hone_dim_mul(kernel->dims, a, b);
  else if (prim == HONE_PRIM_DIV && hone_dim_min_value(a) >= 0 && hone_dim_is_int(b) && b.k > 0)
    d = hone_dim_floordiv(kernel->dims, a, b);
  else
    return NULL;
  return is_moderate(d) ? hone_term_index(kernel, d) : NULL;
}

static const hone_term_t* fold_logic(hone_kernel_t* kernel, hone_prim_t prim,
                                     const hone_term_t* const* args) {
  if (args[0]->dtype != HONE_BOOL) return NULL;
  bool is_and = prim == HONE_PRIM_AND || prim == HONE_PRIM_MUL || prim == HONE_PRIM_MIN;
  bool is_or = prim == HONE_PRIM_OR || prim == HONE_PRIM_ADD || prim == HONE_PRIM_MAX;
  if (!is_and && !is_or) return NULL;
  for (int i = 0; i < 2; i++) {
    if (hone_term_is_true(args[i])) return is_and ? args[1 - i] : args[i];
    if (hone_term_is_false(args[i])) return is_and ? args[i] : args[1 - i];
  }
  return args[0] == args[1] ? args[0] : NULL;
}

static const hone_term_t* fold_select(const hone_term_t* const* args) {
  if (hone_term_is_true(args[0])) return args[1];
  if (hone_term_is_false(args[0])) return args[2];
  return args[1] == args[2] ? args[1] : NULL;
}

/* What the primitive's result simply is; NULL when it has to be computed. */
static const hone_term_t* fold(hone_kernel_t* kernel, hone_prim_t prim, hone_dtype_t dtype,
                               const hone_term_t* const* args) {
  hone_prim_family_t family = hone_prim_info(prim)->family;
  if (family == HONE_FAMILY_SELECT) return fold_select(args);
  if (family == HONE_FAMILY_CAST) return args[0]->dtype == dtype ? args[0] : NULL;
  if (family != HONE_FAMILY_BINARY) return NULL;
  const hone_term_t* dims = fold_dims(kernel, prim, args);
  return dims ? dims : fold_logic(kernel, prim, args);
}

static hone_dtype_t result_dtype(hone_prim_t prim, hone_dtype_t asked,
                                 const hone_term_t* const* args) {
  if (prim == HONE_PRIM_EQ || prim == HONE_PRIM_LT) return HONE_BOOL;
  if (prim == HONE_PRIM_SELECT) return args[1]->dtype;
  if (hone_prim_info(prim)->family == HONE_FAMILY_CAST) return asked;
  return args[0]->dtype;
}

const hone_term_t* hone_term_prim(hone_kernel_t* kernel, hone_prim_t prim, hone_dtype_t dtype,
                                  int64_t flags, int n_args, const hone_term_t* const* args) {
  for (int i = 0; i < n_args; i++)
    if (!args[i]) return NULL;
  dtype = result_dtype(prim, dtype, args);
  const hone_term_t* known = fold(kernel, prim, dtype, args);
  if (known) return known;
  hone_term_t key = {
      .kind = HONE_TERM_PRIM, .dtype = dtype, .prim = prim, .flags = flags, .n_args = n_args};
  for (int i = 0; i < n_args; i++) key.args[i] = args[i];
  return intern(kernel, &key);
}

const hone_term_t* hone_term_binary(hone_kernel_t* kernel, hone_prim_t prim, const hone_term_t* a,
                                    const hone_term_t* b) {
  return hone_term_prim(kernel, prim, HONE_UNKNOWN, 0, 2, (const hone_term_t* const[]){a, b});
}

const hone_term_t* hone_term_lt(hone_kernel_t* kernel, hone_dim_t a, hone_dim_t b) {
  return hone_term_binary(kernel, HONE_PRIM_LT, hone_term_index(kernel, a),
                          hone_term_index(kernel, b));
}

const hone_term_t* hone_term_select(hone_kernel_t* kernel, const hone_term_t* condition,
                                    const hone_term_t* x, const hone_term_t* y) {
  return hone_term_prim(kernel, HONE_PRIM_SELECT, HONE_UNKNOWN, 0, 3,
                        (const hone_term_t* const[]){condition, x, y});
}

/* ---- neutral elements ---- */

/* The least (or largest) number of an integer type, or of bool. */
static int64_t integer_end(hone_dtype_t dtype, bool largest) {
  if (dtype == HONE_BOOL) return largest;
  int bits = hone_dtype_bits(dtype);
  if (hone_dtype_is_unsigned(dtype))
    return !largest ? 0 : bits == 64 ? -1 : (int64_t)(((uint64_t)1 << bits) - 1);
  uint64_t half = (uint64_t)1 << (bits - 1);
  return largest ? (int64_t)(half - 1) : (int64_t)(~half + 1);
}

const hone_term_t* hone_term_neutral(hone_kernel_t* kernel, hone_combine_t combine,
                                     hone_dtype_t dtype) {
  if (combine == HONE_COMBINE_ADD) return hone_term_number(kernel, dtype, 0);
  if (combine == HONE_COMBINE_MUL) return hone_term_number(kernel, dtype, 1);
  bool largest = combine == HONE_COMBINE_MIN;
  if (hone_dtype_is_float(dtype))
    return hone_term_number(kernel, dtype, largest ? INFINITY : -INFINITY);
  int64_t end = integer_end(dtype, largest);
  return hone_term_const(kernel, dtype, &end);
}

/* ---- looking and replacing ---- */

/* Only terms that have the symbol's bit are looked into: a shared one that has
 * it ends the search at once. */
bool hone_term_flushes(const hone_term_t* term) {
  return term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_CAST &&
         term->flags & HONE_FLAG_FLUSHES;
}

bool hone_term_reads(const hone_term_t* term, const hone_buffer_t* buffer) {
  if (term->buffer == buffer) return true;
  for (int i = 0; i < term->n_args; i++)
    if (hone_term_reads(term->args[i], buffer)) return true;
  return false;
}

bool hone_term_uses(const hone_term_t* term, hone_dim_t symbol) {
  if (!(term->symbols >> (hone_dim_as_symbol(symbol)->id % 64) & 1)) return false;
  if (term->kind == HONE_TERM_INDEX) return hone_dim_uses(term->dim, symbol);
  for (int i = 0; term->buffer && i < term->buffer->rank; i++)
    if (hone_dim_uses(term->index[i], symbol)) return true;
  for (int i = 0; i < term->n_args; i++)
    if (hone_term_uses(term->args[i], symbol)) return true;
  return false;
}

hone_dim_t hone_substitution_dim(hone_kernel_t* kernel, hone_dim_t d,
                                 const hone_substitution_t* by) {
  if (by->rename) return hone_dim_rename(kernel->dims, d, by->rename, by->self);
  if (by->symbol.expr) return hone_dim_replace_symbol(kernel->dims, d, by->symbol, *by->to);
  return hone_dim_replace(kernel->dims, d, by->n, by->to, by->is_mapped);
}

/* Buffer and index after the substitution; the index is written to `out`. */
static const hone_buffer_t* replace_access(hone_kernel_t* kernel, const hone_buffer_t* buffer,
                                           const hone_dim_t* index, const hone_substitution_t* by,
                                           hone_dim_t out[HONE_MAX_BUFFER_RANK]) {
  hone_dim_t moved[HONE_MAX_BUFFER_RANK];
  for (int i = 0; i < buffer->rank; i++) moved[i] = hone_substitution_dim(kernel, index[i], by);
  if (by->from == buffer && (!by->moves || by->moves(by->self, moved))) {
    by->reindex(by->self, kernel, moved, out);
    return by->into;
  }
  memcpy(out, moved, (size_t)buffer->rank * sizeof *out);
  return by->buffers && by->buffers[buffer->id] ? by->buffers[buffer->id] : buffer;
}

/* Whether nothing in the term can change. */
static bool stays(const hone_term_t* term, const hone_substitution_t* by) {
  return by->symbol.expr && !(term->symbols & hone_dim_symbols(by->symbol));
}

/* Results by id of the old term, so that shared ones are done once. */
static const hone_term_t* replace(hone_kernel_t* kernel, const hone_term_t* term,
                                  const hone_substitution_t* by, hone_map_t* done) {
  if (stays(term, by)) return term;
  const hone_term_t* known = hone_map_get_u64(done, (uint64_t)term->id);
  if (known) return known;
  const hone_term_t* args[3] = {0};
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  const hone_term_t* out = NULL;
  for (int i = 0; i < term->n_args; i++) {
    args[i] = replace(kernel, term->args[i], by, done);
    if (!args[i]) return NULL;
  }
  if (term->kind == HONE_TERM_CONST) {
    out = hone_term_const(kernel, term->dtype, term->bits);
  } else if (term->kind == HONE_TERM_INDEX) {
    out = hone_term_index(kernel, hone_substitution_dim(kernel, term->dim, by));
  } else if (term->kind == HONE_TERM_LOAD && term->buffer == by->constant) {
    out = hone_term_index(kernel, by->value);
  } else if (term->kind == HONE_TERM_LOAD) {
    const hone_buffer_t* buffer = replace_access(kernel, term->buffer, term->index, by, index);
    out = hone_term_load(kernel, buffer, index);
  } else {
    out = hone_term_prim(kernel, term->prim, term->dtype, term->flags, term->n_args, args);
  }
  hone_status_t status = hone_map_put_u64(done, (uint64_t)term->id, (void*)(uintptr_t)out);
  if (!status) return out;
  hone_status_free(status);
  return no_memory(kernel);
}

const hone_term_t* hone_term_replace(hone_kernel_t* kernel, const hone_term_t* term,
                                     const hone_substitution_t* by) {
  if (stays(term, by)) return term;
  hone_map_t done;
  hone_map_init(&done, kernel->allocator);
  const hone_term_t* out = replace(kernel, term, by, &done);
  hone_map_free(&done);
  return out;
}

const hone_dim_t* hone_index_copy(hone_kernel_t* kernel, int rank, const hone_dim_t* index) {
  hone_dim_t* copy = hone_arena_memdup(kernel->arena, index, (size_t)rank * sizeof *index);
  if (!copy) kernel->out_of_memory = true;
  return copy;
}

bool hone_index_replace(hone_kernel_t* kernel, const hone_buffer_t** buffer,
                        const hone_dim_t** index, const hone_substitution_t* by) {
  hone_dim_t moved[HONE_MAX_BUFFER_RANK];
  *buffer = replace_access(kernel, *buffer, *index, by, moved);
  *index = hone_index_copy(kernel, (*buffer)->rank, moved);
  return *index != NULL;
}
