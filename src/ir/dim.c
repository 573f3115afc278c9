/* Interned dimension expressions in a canonical form.
 *
 *   LINEAR  constant + sum of coefficient * atom, atoms in order of their ids
 *   atoms   SYMBOL, PRODUCT of two expressions, FLOORDIV, MOD, MIN, MAX,
 *           SELECT_LT, SELECT_EQ
 *
 * An expression that is one atom with coefficient 1 and no constant is that
 * atom itself, and one without atoms is a plain number, so equal values have
 * one form only. */
#include "ir/dim.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "ir/dim_impl.h"

static const hone_expr_t bad_expr = {.kind = HONE_EXPR_BAD, .min = INT64_MIN, .max = INT64_MAX};

static hone_dim_t bad(void) { return (hone_dim_t){0, &bad_expr}; }

static hone_dim_t out_of_memory(hone_dims_t* dims) {
  dims->out_of_memory = true;
  return bad();
}

bool hone_dims_out_of_memory(const hone_dims_t* dims) { return dims->out_of_memory; }

hone_dim_t hone_dim_bad(void) { return bad(); }

bool hone_dim_is_bad(hone_dim_t d) { return d.expr == &bad_expr; }

hone_status_t hone_dims_create(hone_arena_t* arena, hone_dims_t** out_dims) {
  *out_dims = NULL;
  hone_dims_t* dims = hone_arena_alloc(arena, sizeof *dims);
  if (!dims) return hone_oom();
  dims->arena = arena;
  hone_map_init_arena(&dims->names, arena);
  dims->n_buckets = 256;
  dims->buckets = hone_arena_array(arena, dims->n_buckets, sizeof *dims->buckets);
  if (!dims->buckets) return hone_oom();
  *out_dims = dims;
  return NULL;
}

/* ---- ranges: saturating interval arithmetic ---- */

static int64_t saturate(__int128 x) {
  if (x <= INT64_MIN) return INT64_MIN;
  if (x >= INT64_MAX) return INT64_MAX;
  return (int64_t)x;
}

/* An unbounded end stays unbounded whatever it is combined with. */
static int64_t add_end(int64_t a, int64_t b) {
  if (a == INT64_MIN || a == INT64_MAX) return a;
  if (b == INT64_MIN || b == INT64_MAX) return b;
  return saturate((__int128)a + b);
}

static int64_t mul_end(int64_t a, int64_t b) { return saturate((__int128)a * b); }

static int64_t floordiv_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  int64_t q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

int64_t hone_dim_min_value(hone_dim_t d) { return d.expr ? d.expr->min : d.k; }
int64_t hone_dim_max_value(hone_dim_t d) { return d.expr ? d.expr->max : d.k; }

static void widen(int64_t value, int64_t* min, int64_t* max) {
  if (value < *min) *min = value;
  if (value > *max) *max = value;
}

/* The hull of f over the corners of two ranges. */
static void corners(int64_t (*f)(int64_t, int64_t), hone_dim_t a, hone_dim_t b, int64_t* min,
                    int64_t* max) {
  int64_t ends_a[2] = {hone_dim_min_value(a), hone_dim_max_value(a)};
  int64_t ends_b[2] = {hone_dim_min_value(b), hone_dim_max_value(b)};
  *min = INT64_MAX;
  *max = INT64_MIN;
  for (int i = 0; i < 4; i++) widen(f(ends_a[i / 2], ends_b[i % 2]), min, max);
}

static int64_t floordiv_end(int64_t a, int64_t b) {
  if (a == INT64_MIN || a == INT64_MAX) return b < 0 ? (a < 0 ? INT64_MAX : INT64_MIN) : a;
  return floordiv_i64(a, b);
}

static int64_t lower(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t upper(int64_t a, int64_t b) { return a > b ? a : b; }

/* Fills the range of an atom from those of its arguments. */
static void set_range(hone_expr_t* e) {
  const hone_dim_t* a = e->args;
  e->min = INT64_MIN;
  e->max = INT64_MAX;
  switch (e->kind) {
    case HONE_EXPR_PRODUCT:
      corners(mul_end, a[0], a[1], &e->min, &e->max);
      break;
    case HONE_EXPR_FLOORDIV:
      if (hone_dim_min_value(a[1]) > 0) corners(floordiv_end, a[0], a[1], &e->min, &e->max);
      break;
    case HONE_EXPR_MOD:
      if (hone_dim_min_value(a[1]) > 0) {
        e->min = 0;
        e->max = upper(0, add_end(hone_dim_max_value(a[1]), -1));
        if (hone_dim_min_value(a[0]) >= 0) e->max = lower(e->max, hone_dim_max_value(a[0]));
      }
      break;
    case HONE_EXPR_MIN:
    case HONE_EXPR_MAX: {
      int64_t (*pick)(int64_t, int64_t) = e->kind == HONE_EXPR_MIN ? lower : upper;
      e->min = pick(hone_dim_min_value(a[0]), hone_dim_min_value(a[1]));
      e->max = pick(hone_dim_max_value(a[0]), hone_dim_max_value(a[1]));
      break;
    }
    case HONE_EXPR_SELECT_LT:
    case HONE_EXPR_SELECT_EQ:
      e->min = lower(hone_dim_min_value(a[2]), hone_dim_min_value(a[3]));
      e->max = upper(hone_dim_max_value(a[2]), hone_dim_max_value(a[3]));
      break;
    default:
      break;
  }
}

/* ---- interning ---- */

static uint64_t hash_dim(uint64_t h, hone_dim_t d) {
  return hone_hash_mix(hone_hash_mix(h, (uint64_t)d.k), d.expr ? (uint64_t)d.expr->id + 1 : 0);
}

static bool same_content(const hone_expr_t* a, const hone_expr_t* b) {
  if (a->kind != b->kind || a->hash != b->hash || a->kind == HONE_EXPR_SYMBOL) return false;
  if (a->kind == HONE_EXPR_LINEAR)
    return a->constant == b->constant && a->n_terms == b->n_terms &&
           memcmp(a->terms, b->terms, (size_t)a->n_terms * sizeof *a->terms) == 0;
  for (int i = 0; i < 4; i++)
    if (!hone_dim_same(a->args[i], b->args[i])) return false;
  return true;
}

/* Doubles the buckets; keeps the old ones when memory is out. */
static void rehash(hone_dims_t* dims) {
  size_t n = dims->n_buckets * 2;
  const hone_expr_t** fresh = hone_arena_array(dims->arena, n, sizeof *fresh);
  if (!fresh) return;
  for (size_t i = 0; i < dims->n_buckets; i++)
    for (const hone_expr_t *e = dims->buckets[i], *next; e; e = next) {
      next = e->next;
      ((hone_expr_t*)(uintptr_t)e)->next = fresh[e->hash % n];
      fresh[e->hash % n] = e;
    }
  dims->buckets = fresh;
  dims->n_buckets = n;
}

static uint64_t symbols_of(const hone_expr_t* e) {
  uint64_t symbols = 0;
  for (int i = 0; i < e->n_terms; i++) symbols |= e->terms[i].atom->symbols;
  for (int i = 0; i < 4; i++) symbols |= e->args[i].expr ? e->args[i].expr->symbols : 0;
  return symbols;
}

/* The one expression with the content of `key`, of which range and size do not matter; NULL: there
 * is none yet. */
static const hone_expr_t* find(const hone_dims_t* dims, const hone_expr_t* key) {
  const hone_expr_t* e = dims->buckets[key->hash % dims->n_buckets];
  while (e && !same_content(e, key)) e = e->next;
  return e;
}

/* Adds what is not there yet; its terms are copied. */
static hone_dim_t intern(hone_dims_t* dims, const hone_expr_t* key) {
  hone_expr_t* e = hone_arena_memdup(dims->arena, key, sizeof *key);
  if (!e) return out_of_memory(dims);
  if (key->n_terms) {
    e->terms =
        hone_arena_memdup(dims->arena, key->terms, (size_t)key->n_terms * sizeof *key->terms);
    if (!e->terms) return out_of_memory(dims);
  }
  e->symbols = symbols_of(e);
  e->id = ++dims->n_exprs;
  if ((size_t)dims->n_exprs > dims->n_buckets) rehash(dims);
  e->next = dims->buckets[e->hash % dims->n_buckets];
  dims->buckets[e->hash % dims->n_buckets] = e;
  return (hone_dim_t){0, e};
}

enum { MAX_SIZE = 1000000, MAX_FACTORS = 32 };

int64_t hone_dim_size(hone_dim_t d) { return d.expr ? d.expr->size : 1; }

/* Too large to be a size of anything: shared parts count each time. */
static bool is_too_large(const hone_expr_t* e) {
  int factors = 0;
  for (const hone_expr_t* p = e; p && p->kind == HONE_EXPR_PRODUCT; p = p->args[1].expr) factors++;
  return e->size > MAX_SIZE || factors > MAX_FACTORS;
}

static hone_dim_t atom(hone_dims_t* dims, hone_expr_kind_t kind, hone_dim_t a, hone_dim_t b,
                       hone_dim_t x, hone_dim_t y) {
  hone_expr_t key = {.kind = kind, .args = {a, b, x, y}, .hash = (uint64_t)kind};
  for (int i = 0; i < 4; i++) {
    if (hone_dim_is_bad(key.args[i])) return bad();
    key.hash = hash_dim(key.hash, key.args[i]);
    key.size += hone_dim_size(key.args[i]);
  }
  const hone_expr_t* known = find(dims, &key);
  if (known) return (hone_dim_t){0, known};
  if (is_too_large(&key)) return bad();
  set_range(&key);
  if (key.min == key.max) return hone_dim_int(key.min);
  return intern(dims, &key);
}

static hone_dim_t atom2(hone_dims_t* dims, hone_expr_kind_t kind, hone_dim_t a, hone_dim_t b) {
  return atom(dims, kind, a, b, hone_dim_int(0), hone_dim_int(0));
}

/* ---- symbols ---- */

static bool symbols_reserve(hone_dims_t* dims) {
  if (dims->n_symbols < dims->symbols_room) return true;
  int room = dims->symbols_room ? dims->symbols_room * 2 : 16;
  const hone_expr_t** fresh = hone_arena_array(dims->arena, (size_t)room, sizeof *fresh);
  if (!fresh) return false;
  if (dims->n_symbols) memcpy(fresh, dims->symbols, (size_t)dims->n_symbols * sizeof *fresh);
  dims->symbols = fresh;
  dims->symbols_room = room;
  return true;
}

/* Symbols without a name, of which there are many, are called by their ids. */
static char* name_by_id(const hone_dims_t* dims) {
  char text[16];
  size_t at = sizeof text;
  int rest = dims->n_symbols;
  do text[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  text[--at] = '_';
  return hone_arena_strndup(dims->arena, text + at, sizeof text - at);
}

/* The symbol without a name that is called so; NULL: none is. */
static const hone_expr_t* find_by_id(const hone_dims_t* dims, const char* name) {
  if (name[0] != '_' || name[1] < '0' || name[1] > '9') return NULL;
  char* end;
  unsigned long id = strtoul(name + 1, &end, 10);
  if (*end || id >= (unsigned long)dims->n_symbols) return NULL;
  return strcmp(dims->symbols[id]->symbol.name, name) == 0 ? dims->symbols[id] : NULL;
}

static const hone_expr_t* find_symbol(const hone_dims_t* dims, const char* name) {
  const hone_expr_t* named = hone_map_get(&dims->names, name);
  return named ? named : find_by_id(dims, name);
}

static bool keep_name(hone_dims_t* dims, const hone_expr_t* symbol) {
  hone_status_t status = hone_map_put(&dims->names, symbol->symbol.name, (void*)(uintptr_t)symbol);
  hone_status_free(status);
  return !status;
}

bool hone_dims_has_name(const hone_dims_t* dims, const char* name) {
  return find_symbol(dims, name) != NULL;
}

hone_dim_t hone_dim_symbol(hone_dims_t* dims, const char* name, hone_symbol_origin_t origin,
                           int64_t min, int64_t max) {
  const hone_expr_t* known = name ? find_symbol(dims, name) : NULL;
  if (known) return (hone_dim_t){0, known};
  if (!symbols_reserve(dims)) return out_of_memory(dims);
  hone_expr_t* e = hone_arena_alloc(dims->arena, sizeof *e);
  if (!e) return out_of_memory(dims);
  e->kind = HONE_EXPR_SYMBOL;
  e->size = 1;
  e->id = ++dims->n_exprs;
  e->hash = (uint64_t)e->id;
  e->symbols = (uint64_t)1 << (dims->n_symbols % 64);
  e->min = min;
  e->max = max;
  char* label = name ? hone_arena_strdup(dims->arena, name) : name_by_id(dims);
  if (!label) return out_of_memory(dims);
  e->symbol = (hone_symbol_t){
      .id = dims->n_symbols, .name = label, .origin = origin, .min = min, .max = max};
  if (name && !keep_name(dims, e)) return out_of_memory(dims);
  dims->symbols[dims->n_symbols++] = e;
  return (hone_dim_t){0, e};
}

uint64_t hone_dim_symbols(hone_dim_t d) { return d.expr ? d.expr->symbols : 0; }

int hone_dims_symbol_count(const hone_dims_t* dims) { return dims->n_symbols; }

const hone_symbol_t* hone_dims_symbol(const hone_dims_t* dims, int id) {
  return id >= 0 && id < dims->n_symbols ? &dims->symbols[id]->symbol : NULL;
}

void hone_dims_smallest(const hone_dims_t* dims, int64_t* out) {
  for (int i = 0; i < dims->n_symbols; i++) {
    int64_t least = hone_dims_symbol(dims, i)->min;
    out[i] = least < 1 ? 1 : least;
  }
}

const hone_symbol_t* hone_dim_as_symbol(hone_dim_t d) {
  return d.expr && d.expr->kind == HONE_EXPR_SYMBOL ? &d.expr->symbol : NULL;
}

/* ---- sums ---- */

enum { MAX_TERMS = 32 };

/* A sum under construction. */
typedef struct sum {
  int64_t constant;
  int n;
  bool overflow;
  hone_expr_term_t terms[MAX_TERMS];
} sum_t;

/* The terms are left as they are: they are many. */
static void sum_begin(sum_t* sum, int64_t constant) {
  sum->constant = constant;
  sum->n = 0;
  sum->overflow = false;
}

static void sum_add_term(sum_t* sum, const hone_expr_t* at, int64_t coefficient) {
  int i = 0;
  while (i < sum->n && sum->terms[i].atom->id < at->id) i++;
  if (i < sum->n && sum->terms[i].atom == at) {
    sum->overflow |=
        !hone_i64_add(sum->terms[i].coefficient, coefficient, &sum->terms[i].coefficient);
    return;
  }
  if (sum->n == MAX_TERMS) {
    sum->overflow = true;
    return;
  }
  memmove(&sum->terms[i + 1], &sum->terms[i], (size_t)(sum->n - i) * sizeof *sum->terms);
  sum->terms[i] = (hone_expr_term_t){at, coefficient};
  sum->n++;
}

/* sum += factor * d */
static void sum_add(sum_t* sum, hone_dim_t d, int64_t factor) {
  int64_t constant = !d.expr                            ? d.k
                     : d.expr->kind == HONE_EXPR_LINEAR ? d.expr->constant
                                                        : 0,
          scaled;
  sum->overflow |= !hone_i64_mul(constant, factor, &scaled);
  sum->overflow |= !hone_i64_add(sum->constant, scaled, &sum->constant);
  if (!d.expr) return;
  if (d.expr->kind != HONE_EXPR_LINEAR) {
    sum_add_term(sum, d.expr, factor);
    return;
  }
  for (int i = 0; i < d.expr->n_terms; i++) {
    sum->overflow |= !hone_i64_mul(d.expr->terms[i].coefficient, factor, &scaled);
    sum_add_term(sum, d.expr->terms[i].atom, scaled);
  }
}

static void sum_drop_zeros(sum_t* sum) {
  int kept = 0;
  for (int i = 0; i < sum->n; i++)
    if (sum->terms[i].coefficient) sum->terms[kept++] = sum->terms[i];
  sum->n = kept;
}

static uint64_t hash_sum(const sum_t* sum) {
  uint64_t hash = hone_hash_mix(HONE_EXPR_LINEAR, (uint64_t)sum->constant);
  for (int i = 0; i < sum->n; i++)
    hash = hone_hash_mix(hone_hash_mix(hash, (uint64_t)sum->terms[i].atom->id),
                         (uint64_t)sum->terms[i].coefficient);
  return hash;
}

/* Range and size of a finished sum. */
static void linear_finish(hone_expr_t* e) {
  e->min = e->max = e->constant;
  for (int i = 0; i < e->n_terms; i++) {
    int64_t c = e->terms[i].coefficient;
    const hone_expr_t* at = e->terms[i].atom;
    e->min = add_end(e->min, mul_end(c > 0 ? at->min : at->max, c));
    e->max = add_end(e->max, mul_end(c > 0 ? at->max : at->min, c));
    e->size += at->size;
  }
}

/* (a / b) * b * c + (a mod b) * c is a * c: where the sum has both, they become
 * that. This is what undoes a loop that was fused from two. */
static bool rejoin_one(hone_dims_t* dims, sum_t* sum) {
  for (int i = 0; i < sum->n; i++) {
    const hone_expr_t* mod = sum->terms[i].atom;
    if (mod->kind != HONE_EXPR_MOD) continue;
    hone_dim_t quotient = hone_dim_floordiv(dims, mod->args[0], mod->args[1]);
    hone_dim_t multiple = hone_dim_mul(dims, quotient, mod->args[1]);
    int64_t factor = sum->terms[i].coefficient, scaled = factor;
    const hone_expr_t* want = multiple.expr;
    if (want && want->kind == HONE_EXPR_LINEAR && want->n_terms == 1 && !want->constant) {
      if (!hone_i64_mul(factor, want->terms[0].coefficient, &scaled)) continue;
      want = want->terms[0].atom;
    }
    for (int k = 0; k < sum->n; k++) {
      if (sum->terms[k].atom != want || sum->terms[k].coefficient != scaled) continue;
      sum->terms[i].coefficient = sum->terms[k].coefficient = 0;
      sum_drop_zeros(sum);
      sum_add(sum, mod->args[0], factor);
      return true;
    }
  }
  return false;
}

static hone_dim_t sum_finish(hone_dims_t* dims, sum_t* sum) {
  sum_drop_zeros(sum);
  while (!sum->overflow && sum->n > 1 && rejoin_one(dims, sum)) sum_drop_zeros(sum);
  if (sum->overflow) return bad();
  if (sum->n == 0) return hone_dim_int(sum->constant);
  if (sum->n == 1 && sum->constant == 0 && sum->terms[0].coefficient == 1)
    return (hone_dim_t){0, sum->terms[0].atom};
  hone_expr_t key = {.kind = HONE_EXPR_LINEAR,
                     .hash = hash_sum(sum),
                     .constant = sum->constant,
                     .n_terms = sum->n,
                     .terms = sum->terms};
  const hone_expr_t* known = find(dims, &key);
  if (known) return (hone_dim_t){0, known};
  linear_finish(&key);
  if (is_too_large(&key)) return bad();
  return intern(dims, &key);
}

static hone_dim_t combine_ints(int64_t a, int64_t fa, int64_t b, int64_t fb) {
  int64_t x, y, sum;
  bool fits = hone_i64_mul(a, fa, &x) && hone_i64_mul(b, fb, &y) && hone_i64_add(x, y, &sum);
  return fits ? hone_dim_int(sum) : bad();
}

static hone_dim_t combine(hone_dims_t* dims, hone_dim_t a, int64_t fa, hone_dim_t b, int64_t fb) {
  if (hone_dim_is_bad(a) || hone_dim_is_bad(b)) return bad();
  if (hone_dim_is_int(a) && hone_dim_is_int(b)) return combine_ints(a.k, fa, b.k, fb);
  if (fa == 1 && (fb == 0 || hone_dim_is(b, 0))) return a;
  sum_t sum;
  sum_begin(&sum, 0);
  if (fa) sum_add(&sum, a, fa);
  if (fb) sum_add(&sum, b, fb);
  return sum_finish(dims, &sum);
}

hone_dim_t hone_dim_add(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  return combine(dims, a, 1, b, 1);
}

hone_dim_t hone_dim_sub(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  return combine(dims, a, 1, b, -1);
}

/* ---- products, quotients and choices ---- */

/* a distributed over the terms of the sum b. */
static hone_dim_t distribute(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  hone_dim_t total = hone_dim_mul(dims, a, hone_dim_int(b.expr->constant));
  for (int i = 0; i < b.expr->n_terms; i++) {
    hone_dim_t part = hone_dim_mul(dims, a, (hone_dim_t){0, b.expr->terms[i].atom});
    total = combine(dims, total, 1, part, b.expr->terms[i].coefficient);
  }
  return total;
}

hone_dim_t hone_dim_mul(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  if (hone_dim_is_bad(a) || hone_dim_is_bad(b)) return bad();
  if (hone_dim_is_int(a)) return combine(dims, b, a.k, hone_dim_int(0), 0);
  if (hone_dim_is_int(b)) return combine(dims, a, b.k, hone_dim_int(0), 0);
  if (b.expr->kind == HONE_EXPR_LINEAR) return distribute(dims, a, b);
  if (a.expr->kind == HONE_EXPR_LINEAR) return distribute(dims, b, a);
  /* Products of atoms nest to the right in order of id: a * (b * c). */
  if (a.expr->kind == HONE_EXPR_PRODUCT) {
    hone_dim_t rest = hone_dim_mul(dims, a.expr->args[1], b);
    return hone_dim_mul(dims, a.expr->args[0], rest);
  }
  const hone_expr_t* first = b.expr->kind == HONE_EXPR_PRODUCT ? b.expr->args[0].expr : b.expr;
  if (a.expr->id <= first->id) return atom2(dims, HONE_EXPR_PRODUCT, a, b);
  if (b.expr->kind != HONE_EXPR_PRODUCT) return atom2(dims, HONE_EXPR_PRODUCT, b, a);
  hone_dim_t rest = hone_dim_mul(dims, a, b.expr->args[1]);
  return hone_dim_mul(dims, b.expr->args[0], rest); /* the rest may have become a number */
}

/* Splits a sum into the part that `divisor` divides and the rest. */
static void split_multiples(hone_dims_t* dims, hone_dim_t a, int64_t divisor, hone_dim_t* quotient,
                            hone_dim_t* rest) {
  sum_t whole, part;
  int64_t k = !a.expr ? a.k : a.expr->kind == HONE_EXPR_LINEAR ? a.expr->constant : 0;
  sum_begin(&whole, floordiv_i64(k, divisor));
  sum_begin(&part, k - whole.constant * divisor);
  hone_expr_term_t single = {a.expr, 1};
  const hone_expr_term_t* terms =
      a.expr && a.expr->kind == HONE_EXPR_LINEAR ? a.expr->terms : &single;
  int n = !a.expr ? 0 : a.expr->kind == HONE_EXPR_LINEAR ? a.expr->n_terms : 1;
  for (int i = 0; i < n; i++) {
    bool divides = terms[i].coefficient % divisor == 0;
    if (divides)
      sum_add_term(&whole, terms[i].atom, terms[i].coefficient / divisor);
    else
      sum_add_term(&part, terms[i].atom, terms[i].coefficient);
  }
  *quotient = sum_finish(dims, &whole);
  *rest = sum_finish(dims, &part);
}

/* a / b when a is a product with b among its factors, by symbols. */
static bool cancel_factor(hone_dim_t a, hone_dim_t b, hone_dims_t* dims, hone_dim_t* out) {
  if (!a.expr || a.expr->kind != HONE_EXPR_PRODUCT) return false;
  if (hone_dim_same(a.expr->args[0], b)) {
    *out = a.expr->args[1];
    return true;
  }
  if (hone_dim_same(a.expr->args[1], b)) {
    *out = a.expr->args[0];
    return true;
  }
  hone_dim_t inner;
  if (!cancel_factor(a.expr->args[1], b, dims, &inner)) return false;
  *out = hone_dim_mul(dims, a.expr->args[0], inner);
  return true;
}

/* Divides every term of a by the atom b; false when one does not contain it. */
static bool divide_terms(hone_dims_t* dims, hone_dim_t a, hone_dim_t b, hone_dim_t* out) {
  if (hone_dim_same(a, b)) {
    *out = hone_dim_int(1);
    return true;
  }
  if (!a.expr || a.expr->kind != HONE_EXPR_LINEAR) return cancel_factor(a, b, dims, out);
  if (a.expr->constant) return false;
  hone_dim_t total = hone_dim_int(0);
  for (int i = 0; i < a.expr->n_terms; i++) {
    hone_dim_t part, at = {0, a.expr->terms[i].atom};
    if (!divide_terms(dims, at, b, &part)) return false;
    total = combine(dims, total, 1, part, a.expr->terms[i].coefficient);
  }
  *out = total;
  return true;
}

/* Divides a by the factors of b one after the other. */
static bool divide_factors(hone_dims_t* dims, hone_dim_t a, hone_dim_t b, hone_dim_t* out) {
  if (divide_terms(dims, a, b, out)) return true;
  if (!b.expr || b.expr->kind != HONE_EXPR_PRODUCT) return false;
  return divide_terms(dims, a, b.expr->args[0], &a) &&
         divide_factors(dims, a, b.expr->args[1], out);
}

/* Takes a number that divides all of b out of it: 3 of 3 * h. */
static int64_t content(hone_dim_t b) {
  if (!b.expr || b.expr->kind != HONE_EXPR_LINEAR || b.expr->constant || b.expr->n_terms != 1)
    return 1;
  return b.expr->terms[0].coefficient;
}

/* Whether it is a remainder by `divisor` as it stands. */
static bool is_below(hone_dim_t d, int64_t divisor) {
  return !hone_dim_is_bad(d) && hone_dim_min_value(d) >= 0 && hone_dim_max_value(d) < divisor;
}

/* a as steps * size + within, with 0 <= within < size, by the largest size that divides b: whole
 * steps decide alone what a / b is. Gives the size; 1: there is none. */
static int64_t find_steps(hone_dims_t* dims, hone_dim_t a, int64_t b, hone_dim_t* out_steps,
                          hone_dim_t* out_within) {
  int64_t best = 1, coefficient;
  for (int i = 0; i < hone_dim_term_count(a); i++) {
    hone_dim_t steps, within;
    hone_dim_term(a, i, &coefficient);
    int64_t size = (int64_t)hone_u64_gcd((uint64_t)llabs(coefficient), (uint64_t)b);
    if (size <= best) continue;
    split_multiples(dims, a, size, &steps, &within);
    if (hone_dim_is_bad(steps) || !is_below(within, size)) continue;
    best = size;
    *out_steps = steps;
    *out_within = within;
  }
  return best;
}

/* Whether the first term of the sum is taken away. */
static bool is_negative(hone_dim_t d) {
  return d.expr && d.expr->kind == HONE_EXPR_LINEAR && d.expr->terms[0].coefficient < 0;
}

/* Whether the sum is y / n + k, which is (y + k n) / n. */
static bool is_quotient(hone_dims_t* dims, hone_dim_t d, hone_dim_t* out_dividend, int64_t* out_n) {
  int64_t coefficient, added;
  if (hone_dim_term_count(d) != 1) return false;
  hone_dim_t term = hone_dim_term(d, 0, &coefficient);
  if (coefficient != 1 || !hone_dim_is_by_number(term, HONE_EXPR_FLOORDIV)) return false;
  int64_t k = d.expr->kind == HONE_EXPR_LINEAR ? d.expr->constant : 0;
  *out_n = term.expr->args[1].k;
  if (!hone_i64_mul(k, *out_n, &added)) return false;
  *out_dividend = hone_dim_add(dims, term.expr->args[0], hone_dim_int(added));
  return !hone_dim_is_bad(*out_dividend);
}

/* floor(a / b). Quotients that are rounded up are written as those that are rounded down:
 * floor(-x / b) = -floor((x + b - 1) / b). */
static hone_dim_t floordiv_int(hone_dims_t* dims, hone_dim_t a, int64_t b) {
  hone_dim_t whole, rest, steps, within;
  split_multiples(dims, a, b, &whole, &rest);
  if (hone_dim_is_bad(whole) || hone_dim_is_bad(rest)) return bad();
  if (is_below(rest, b)) return whole;
  int64_t size = find_steps(dims, rest, b, &steps, &within);
  if (size > 1) return hone_dim_add(dims, whole, floordiv_int(dims, steps, b / size));
  if (is_negative(rest)) {
    hone_dim_t up = floordiv_int(dims, hone_dim_sub(dims, hone_dim_int(b - 1), rest), b);
    return hone_dim_sub(dims, whole, up);
  }
  hone_dim_t inner;
  int64_t product;
  if (is_quotient(dims, rest, &inner, &product) && hone_i64_mul(product, b, &product))
    rest = floordiv_int(dims, inner, product);
  else
    rest = atom2(dims, HONE_EXPR_FLOORDIV, rest, hone_dim_int(b));
  return hone_dim_add(dims, whole, rest);
}

hone_dim_t hone_dim_floordiv(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  if (hone_dim_is_bad(a) || hone_dim_is_bad(b) || hone_dim_is(b, 0)) return bad();
  if (hone_dim_is_int(a) && hone_dim_is_int(b)) return hone_dim_int(floordiv_i64(a.k, b.k));
  if (hone_dim_is(b, 1)) return a;
  if (hone_dim_is_int(b) && b.k > 0) return floordiv_int(dims, a, b.k);
  int64_t factor = content(b);
  hone_dim_t quotient;
  if (factor != 1 && factor > 0) {
    hone_dim_t base = {0, b.expr->terms[0].atom};
    if (divide_factors(dims, a, base, &quotient)) return floordiv_int(dims, quotient, factor);
  }
  if (hone_dim_min_value(b) >= 0 && divide_factors(dims, a, b, &quotient)) return quotient;
  return atom2(dims, HONE_EXPR_FLOORDIV, a, b);
}

hone_dim_t hone_dim_ceildiv(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  hone_dim_t negative = hone_dim_mul(dims, a, hone_dim_int(-1));
  return hone_dim_mul(dims, hone_dim_floordiv(dims, negative, b), hone_dim_int(-1));
}

hone_dim_t hone_dim_mod(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  hone_dim_t q = hone_dim_floordiv(dims, a, b);
  hone_dim_t rest = hone_dim_sub(dims, a, hone_dim_mul(dims, q, b));
  if (hone_dim_is_int(rest) || hone_dim_is_bad(rest)) return rest;
  /* Without a quotient left in it, that is the answer: a itself, or the part
   * of it that b does not divide. */
  if (hone_dim_is_int(b) && b.k > 0) {
    hone_dim_t whole, steps, within;
    split_multiples(dims, a, b.k, &whole, &rest);
    if (is_below(rest, b.k)) return rest;
    int64_t size = find_steps(dims, rest, b.k, &steps, &within);
    if (size == 1) return atom2(dims, HONE_EXPR_MOD, rest, b);
    steps = hone_dim_mod(dims, steps, hone_dim_int(b.k / size));
    return hone_dim_add(dims, hone_dim_mul(dims, steps, hone_dim_int(size)), within);
  }
  return hone_dim_is(q, 0) ? a : atom2(dims, HONE_EXPR_MOD, a, b);
}

/* Brings the least and the largest number that the sum may be closer, as its bounds say. */
static void tighten(hone_dims_t* dims, hone_dim_t d, int64_t* least, int64_t* most) {
  hone_dim_t below = hone_dim_bound(dims, d, false), above = hone_dim_bound(dims, d, true);
  if (!hone_dim_is_bad(below)) *least = upper(*least, hone_dim_min_value(below));
  if (!hone_dim_is_bad(above)) *most = lower(*most, hone_dim_max_value(above));
}

/* Sign of a - b where that can be told: -1, 0 (unknown) or 1;
 * also tells a >= b and a <= b, which settle min and max. */
static int compare(hone_dims_t* dims, hone_dim_t a, hone_dim_t b, bool* at_least, bool* at_most) {
  hone_dim_t d = hone_dim_sub(dims, a, b);
  *at_least = *at_most = false;
  if (hone_dim_is_bad(d)) return 0;
  int64_t least = hone_dim_min_value(d), most = hone_dim_max_value(d);
  bool is_decided = least > 0 || most < 0;
  if (!is_decided && d.expr && d.expr->kind == HONE_EXPR_LINEAR) tighten(dims, d, &least, &most);
  *at_least = least >= 0;
  *at_most = most <= 0;
  return least > 0 ? 1 : most < 0 ? -1 : 0;
}

static hone_dim_t pick(hone_dims_t* dims, hone_expr_kind_t kind, hone_dim_t a, hone_dim_t b) {
  if (hone_dim_is_bad(a) || hone_dim_is_bad(b)) return bad();
  bool at_least, at_most;
  compare(dims, a, b, &at_least, &at_most);
  if (at_most) return kind == HONE_EXPR_MIN ? a : b;
  if (at_least) return kind == HONE_EXPR_MIN ? b : a;
  bool swap = hone_dim_is_int(a) || (b.expr && b.expr->id < a.expr->id);
  return swap && b.expr ? atom2(dims, kind, b, a) : atom2(dims, kind, a, b);
}

hone_dim_t hone_dim_min(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  return pick(dims, HONE_EXPR_MIN, a, b);
}

hone_dim_t hone_dim_max(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  return pick(dims, HONE_EXPR_MAX, a, b);
}

hone_dim_t hone_dim_select_lt(hone_dims_t* dims, hone_dim_t a, hone_dim_t b, hone_dim_t x,
                              hone_dim_t y) {
  if (hone_dim_is_bad(a) || hone_dim_is_bad(b)) return bad();
  if (hone_dim_same(x, y)) return x;
  bool at_least, at_most;
  int sign = compare(dims, a, b, &at_least, &at_most);
  if (sign < 0) return x;
  if (at_least) return y;
  return atom(dims, HONE_EXPR_SELECT_LT, a, b, x, y);
}

hone_dim_t hone_dim_select_eq(hone_dims_t* dims, hone_dim_t a, hone_dim_t b, hone_dim_t x,
                              hone_dim_t y) {
  if (hone_dim_is_bad(a) || hone_dim_is_bad(b)) return bad();
  if (hone_dim_same(a, b) || hone_dim_same(x, y)) return x;
  bool at_least, at_most;
  if (compare(dims, a, b, &at_least, &at_most) != 0) return y;
  return atom(dims, HONE_EXPR_SELECT_EQ, a, b, x, y);
}

static bool is_choice(const hone_expr_t* expr) {
  return expr->kind == HONE_EXPR_SELECT_LT || expr->kind == HONE_EXPR_SELECT_EQ;
}

bool hone_dim_is_choice(hone_dims_t* dims, hone_dim_t d, hone_dim_t* out_x, hone_dim_t* out_y) {
  const hone_expr_t* choice = d.expr && is_choice(d.expr) ? d.expr : NULL;
  int64_t factor = 1;
  for (int i = 0; d.expr && d.expr->kind == HONE_EXPR_LINEAR && i < d.expr->n_terms; i++) {
    if (!is_choice(d.expr->terms[i].atom)) continue;
    choice = d.expr->terms[i].atom;
    factor = d.expr->terms[i].coefficient;
    break;
  }
  if (!choice) return false;
  hone_dim_t times = hone_dim_int(factor), chosen = {0, choice};
  hone_dim_t rest = hone_dim_sub(dims, d, hone_dim_mul(dims, times, chosen));
  *out_x = hone_dim_add(dims, rest, hone_dim_mul(dims, times, choice->args[2]));
  *out_y = hone_dim_add(dims, rest, hone_dim_mul(dims, times, choice->args[3]));
  return true;
}

hone_dim_t hone_dim_product(hone_dims_t* dims, int count, const hone_dim_t* list) {
  hone_dim_t product = hone_dim_int(1);
  for (int i = 0; i < count; i++) product = hone_dim_mul(dims, product, list[i]);
  return product;
}

/* ---- evaluation ---- */

static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static int64_t eval_linear(const hone_expr_t* e, const int64_t* values) {
  int64_t total = e->constant;
  for (int i = 0; i < e->n_terms; i++) {
    int64_t at = hone_dim_eval((hone_dim_t){0, e->terms[i].atom}, values);
    total = wrap_add(total, wrap_mul(e->terms[i].coefficient, at));
  }
  return total;
}

static int64_t eval_atom(const hone_expr_t* e, const int64_t* values) {
  int64_t a = hone_dim_eval(e->args[0], values), b = hone_dim_eval(e->args[1], values);
  switch (e->kind) {
    case HONE_EXPR_PRODUCT:
      return wrap_mul(a, b);
    case HONE_EXPR_FLOORDIV:
      return floordiv_i64(a, b);
    case HONE_EXPR_MOD:
      return b ? wrap_add(a, -wrap_mul(floordiv_i64(a, b), b)) : 0;
    case HONE_EXPR_MIN:
      return lower(a, b);
    case HONE_EXPR_MAX:
      return upper(a, b);
    case HONE_EXPR_SELECT_LT:
      return hone_dim_eval(e->args[a < b ? 2 : 3], values);
    case HONE_EXPR_SELECT_EQ:
      return hone_dim_eval(e->args[a == b ? 2 : 3], values);
    default:
      return 0;
  }
}

int64_t hone_dim_eval(hone_dim_t d, const int64_t* values) {
  if (!d.expr) return d.k;
  if (d.expr->kind == HONE_EXPR_SYMBOL) return values[d.expr->symbol.id];
  return d.expr->kind == HONE_EXPR_LINEAR ? eval_linear(d.expr, values) : eval_atom(d.expr, values);
}

void hone_dim_visit_symbols(hone_dim_t d, void (*visit)(void*, const hone_symbol_t*), void* self) {
  if (!d.expr) return;
  if (d.expr->kind == HONE_EXPR_SYMBOL) visit(self, &d.expr->symbol);
  for (int i = 0; i < d.expr->n_terms; i++)
    hone_dim_visit_symbols((hone_dim_t){0, d.expr->terms[i].atom}, visit, self);
  for (int i = 0; i < 4; i++) hone_dim_visit_symbols(d.expr->args[i], visit, self);
}
