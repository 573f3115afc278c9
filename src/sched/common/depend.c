/* The dependence test; depend.h gives the idea. */
#include "sched/common/depend.h"

#include <string.h>

#include "base/memory.h"

enum { MAX_COMMON = 32, MAX_AXES = 96 };

/* A loop variable of both accesses: of the loop around the first, and of the
 * one around the second that it is compared with. */
typedef struct common {
  int first, second; /* symbol ids */
  bool is_equal;
} common_t;

typedef struct test {
  hone_kernel_t* kernel;
  hone_arena_t* arena;
  hone_dims_t* dims; /* of the test's own: the symbols of two rounds side by side */
  int n_symbols;
  bool* is_inside;           /* by symbol id: bound in the loops that are looked at */
  hone_stmt_t** owners;      /* by buffer id */
  hone_dim_t* first;         /* what symbols are in the first access */
  hone_dim_t* second;        /* and in the second */
  hone_dim_t* twins;         /* what they are at first: two for each symbol */
  const hone_stmt_t** loops; /* by symbol id: the loop inside whose variable it is */
} test_t;

/* ---- a test ---- */

static bool mark_bound(void* self, hone_stmt_t* stmt) {
  test_t* t = self;
  const hone_symbol_t* symbol = hone_dim_as_symbol(stmt->var);
  if (symbol) t->is_inside[symbol->id] = true;
  if (symbol && stmt->kind == HONE_STMT_LOOP) t->loops[symbol->id] = stmt;
  return true;
}

static hone_status_t test_create(hone_kernel_t* kernel, test_t* t) {
  *t = (test_t){.kernel = kernel, .n_symbols = hone_dims_symbol_count(kernel->dims)};
  HONE_TRY(hone_arena_create(kernel->allocator, &t->arena));
  size_t n = (size_t)t->n_symbols;
  t->is_inside = hone_arena_array(t->arena, n, sizeof *t->is_inside);
  t->first = hone_arena_array(t->arena, n, sizeof *t->first);
  t->second = hone_arena_array(t->arena, n, sizeof *t->second);
  t->twins = hone_arena_array(t->arena, 2 * n, sizeof *t->twins);
  t->loops = hone_arena_array(t->arena, n, sizeof *t->loops);
  t->owners = hone_arena_array(t->arena, (size_t)kernel->n_buffers, sizeof *t->owners);
  hone_status_t status = t->is_inside && t->first && t->second && t->twins && t->loops && t->owners
                             ? hone_dims_create(t->arena, &t->dims)
                             : hone_oom();
  return status ? status : hone_access_owners(kernel, t->owners);
}

/* A symbol from outside is the same for both accesses. */
static void make_twins(test_t* t) {
  for (int i = 0; i < t->n_symbols; i++) {
    const hone_symbol_t* s = hone_dims_symbol(t->kernel->dims, i);
    hone_dim_t* twin = &t->twins[2 * i];
    twin[0] = hone_dim_symbol(t->dims, NULL, HONE_SYMBOL_INPUT, s->min, s->max);
    twin[1] = t->is_inside[i] ? hone_dim_symbol(t->dims, NULL, HONE_SYMBOL_INPUT, s->min, s->max)
                              : twin[0];
  }
}

static void reset_symbols(test_t* t) {
  for (int i = 0; i < t->n_symbols; i++) {
    t->first[i] = t->twins[2 * i];
    t->second[i] = t->twins[2 * i + 1];
  }
}

/* Variables of loops of unknown extents are counted from the end in one of the
 * accesses: extent - 1 - variable tells what the variable's range does not. */
static void reverse_symbols(test_t* t, hone_dim_t* side) {
  for (int i = 0; i < t->n_symbols; i++) {
    if (!t->loops[i] || hone_dim_is_int(t->loops[i]->extent)) continue;
    hone_dim_t extent = hone_dim_replace(t->dims, t->loops[i]->extent, t->n_symbols, side, NULL);
    hone_dim_t last = hone_dim_sub(t->dims, extent, hone_dim_int(1));
    side[i] = hone_dim_sub(t->dims, last, side[i]);
  }
}

/* ---- two accesses ---- */

typedef struct axes {
  int count;
  hone_dim_t first[MAX_AXES], second[MAX_AXES];
} axes_t;

static void add_axis(axes_t* axes, hone_dim_t first, hone_dim_t second) {
  if (axes->count == MAX_AXES) return;
  axes->first[axes->count] = first;
  axes->second[axes->count++] = second;
}

/* a - coefficient * x; b - coefficient * y: whether they differ by less than the coefficient. */
static bool rests_are_close(test_t* t, hone_dim_t a, hone_dim_t b, int64_t coefficient,
                            hone_dim_t x, hone_dim_t y) {
  hone_dim_t c = hone_dim_int(coefficient);
  hone_dim_t rest_a = hone_dim_sub(t->dims, a, hone_dim_mul(t->dims, x, c));
  hone_dim_t rest_b = hone_dim_sub(t->dims, b, hone_dim_mul(t->dims, y, c));
  hone_dim_t difference = hone_dim_sub(t->dims, rest_a, rest_b);
  int64_t size = coefficient < 0 ? -coefficient : coefficient;
  return !hone_dim_is_bad(difference) && hone_dim_min_value(difference) > -size &&
         hone_dim_max_value(difference) < size;
}

static hone_dim_t in_first(test_t* t, hone_dim_t d) {
  return hone_dim_replace(t->dims, d, t->n_symbols, t->first, NULL);
}

static hone_dim_t in_second(test_t* t, hone_dim_t d) {
  return hone_dim_replace(t->dims, d, t->n_symbols, t->second, NULL);
}

static bool has_term(hone_dim_t d, hone_dim_t term, int64_t coefficient) {
  for (int i = 0; i < hone_dim_term_count(d); i++) {
    int64_t c;
    if (hone_dim_same(hone_dim_term(d, i, &c), term) && c == coefficient) return true;
  }
  return false;
}

/* Terms that both indices have, where what else there is differs by less than
 * their coefficient: equal indices mean equal terms. */
static void add_terms(test_t* t, hone_dim_t a, hone_dim_t b, axes_t* axes) {
  for (int i = 0; i < hone_dim_term_count(a); i++) {
    int64_t c;
    hone_dim_t term = hone_dim_term(a, i, &c);
    if (hone_dim_as_symbol(term) || hone_dim_same(a, term) || !has_term(b, term, c)) continue;
    hone_dim_t x = in_first(t, term), y = in_second(t, term);
    if (rests_are_close(t, in_first(t, a), in_second(t, b), c, x, y)) add_axis(axes, x, y);
  }
}

/* n where a term of the index is c * (x % m), and n is c * m; else 0. */
static hone_dim_t modulus_of(test_t* t, hone_dim_t index) {
  for (int i = 0; i < hone_dim_term_count(index); i++) {
    int64_t c;
    hone_dim_t m = hone_dim_modulus(hone_dim_term(index, i, &c));
    if (!hone_dim_is(m, 0) && c > 0) return hone_dim_mul(t->dims, m, hone_dim_int(c));
  }
  return hone_dim_int(0);
}

/* That of both indices, or of one where the other has none; else 0. */
static hone_dim_t common_modulus(test_t* t, hone_dim_t a, hone_dim_t b) {
  hone_dim_t n = modulus_of(t, a), m = modulus_of(t, b);
  if (hone_dim_is(n, 0)) return m;
  return hone_dim_is(m, 0) || hone_dim_same(n, m) ? n : hone_dim_int(0);
}

/* All pairs of axes one of which is a remainder: n * other + remainder; so many rounds of it. */
static void add_joined(test_t* t, int rounds, axes_t* axes) {
  int done = 0, count = axes->count;
  for (int round = 0; round < rounds; round++, done = count, count = axes->count)
    for (int i = 0; i < count; i++) {
      hone_dim_t n = common_modulus(t, axes->first[i], axes->second[i]);
      if (hone_dim_is(n, 0)) continue;
      for (int k = 0; k < count; k++)
        if (k != i && (i >= done || k >= done))
          add_axis(
              axes, hone_dim_add(t->dims, hone_dim_mul(t->dims, axes->first[k], n), axes->first[i]),
              hone_dim_add(t->dims, hone_dim_mul(t->dims, axes->second[k], n), axes->second[i]));
    }
}

/* Where axes come from, from what costs least to what costs most. */
typedef enum axes_kind {
  AXES_OF_BUFFER,
  AXES_OF_TERMS,
  AXES_JOINED, /* once */
  AXES_JOINED_TWICE,
  AXES_JOINED_THRICE,
  AXES_KINDS
} axes_kind_t;

/* Axes of all kinds up to that one. */
static void set_axes(test_t* t, const hone_access_t* a, const hone_access_t* b, axes_kind_t last,
                     axes_t* axes) {
  int rank = a->buffer->rank;
  axes->count = 0;
  for (int i = 0; i < rank; i++)
    add_axis(axes, in_first(t, a->index[i]), in_second(t, b->index[i]));
  for (int i = 0; i < rank && last >= AXES_OF_TERMS; i++)
    add_terms(t, a->index[i], b->index[i], axes);
  if (last >= AXES_JOINED) add_joined(t, (int)(last - AXES_JOINED) + 1, axes);
}

/* Whether equal elements along this axis mean equal x and y. */
static bool axis_tells(test_t* t, hone_dim_t a, hone_dim_t b, hone_dim_t x, hone_dim_t y) {
  int64_t fa, fb;
  if (!hone_dim_factor(a, x, &fa) || !hone_dim_factor(b, y, &fb) || fa != fb || fa == 0)
    return false;
  return rests_are_close(t, a, b, fa, x, y);
}

/* Two indices that never meet: they differ along an axis. */
static bool axis_separates(test_t* t, hone_dim_t a, hone_dim_t b) {
  hone_dim_t d = hone_dim_sub(t->dims, a, b);
  if (hone_dim_is_bad(d)) return false;
  if (hone_dim_min_value(d) > 0 || hone_dim_max_value(d) < 0) return true;
  hone_dim_t least = hone_dim_bound(t->dims, d, false), most = hone_dim_bound(t->dims, d, true);
  return (!hone_dim_is_bad(least) && hone_dim_min_value(least) > 0) ||
         (!hone_dim_is_bad(most) && hone_dim_max_value(most) < 0);
}

static bool any_separates(test_t* t, const axes_t* axes) {
  for (int k = 0; k < axes->count; k++)
    if (axis_separates(t, axes->first[k], axes->second[k])) return true;
  return false;
}

/* Marks the variables that the axes tell to be equal, and puts the first access's in the place
 * of the second's; true when one of the latter was new. */
static bool find_equal(test_t* t, const axes_t* axes, int n, common_t* common) {
  bool found = false;
  for (int i = 0; i < n; i++) {
    hone_dim_t x = t->first[common[i].first], y = t->second[common[i].second];
    for (int k = 0; k < axes->count && !common[i].is_equal; k++)
      common[i].is_equal = axis_tells(t, axes->first[k], axes->second[k], x, y);
    if (!common[i].is_equal || hone_dim_same(x, y)) continue;
    t->second[common[i].second] = x;
    found = true;
  }
  return found;
}

static bool is_equal(const common_t* common, int n, int id) {
  for (int i = 0; i < n; i++)
    if (common[i].first == id) return common[i].is_equal;
  return false;
}

/* Whether the accesses may meet where the variables of neither of two loops, by symbol id, are
 * equal. What the axes of the buffer tell is asked first: mostly it is enough. */
static bool may_meet(test_t* t, const hone_access_t* a, const hone_access_t* b, int n,
                     common_t* common, int one, int other) {
  axes_t axes;
  reset_symbols(t);
  for (axes_kind_t kind = AXES_OF_BUFFER; kind < AXES_KINDS; kind++)
    for (bool again = true; again;) {
      set_axes(t, a, b, kind, &axes);
      if (any_separates(t, &axes)) return false;
      again = find_equal(t, &axes, n, common);
      if (is_equal(common, n, one) || is_equal(common, n, other)) return false;
    }
  return true;
}

/* Whether the order of the two matters at all. */
static bool is_ordered(const hone_access_t* a, const hone_access_t* b, bool sums) {
  if (a->buffer != b->buffer || (!a->is_store && !b->is_store)) return false;
  return !(sums && a->is_store && b->is_store && a->combine == b->combine &&
           a->combine != HONE_COMBINE_SET);
}

/* The variables of the loops from `top` down that are around both statements. */
static int list_common(hone_stmt_t* top, const hone_stmt_t* a, const hone_stmt_t* b,
                       common_t* common) {
  int n = 0;
  for (const hone_stmt_t* s = a; s != top->parent; s = s->parent)
    if (s->kind == HONE_STMT_LOOP && hone_stmt_is_inside(b, s) && n < MAX_COMMON) {
      int id = hone_dim_as_symbol(s->var)->id;
      common[n++] = (common_t){id, id, false};
    }
  return n;
}

/* ---- the questions ---- */

/* Conflicts between all pairs in `top`, unless one of two variables is equal. */
static const hone_buffer_t* conflict_within(test_t* t, const hone_access_list_t* list,
                                            hone_stmt_t* top, hone_dim_t x, hone_dim_t y,
                                            hone_stmt_t* lives, bool sums) {
  common_t common[MAX_COMMON];
  int one = hone_dim_as_symbol(x)->id, other = hone_dim_as_symbol(y)->id;
  for (int i = 0; i < list->count; i++)
    for (int k = i; k < list->count; k++) {
      const hone_access_t *a = &list->items[i], *b = &list->items[k];
      bool is_private = a->buffer->role == HONE_ROLE_SCRATCH &&
                        hone_stmt_is_inside(t->owners[a->buffer->id], lives);
      if (is_private || !is_ordered(a, b, sums)) continue;
      int n = list_common(top, a->stmt, b->stmt, common);
      if (may_meet(t, a, b, n, common, one, other)) return a->buffer;
    }
  return NULL;
}

/* Conflicts between two lists, unless the two variables are equal. `lives`
 * NULL: all scratch buffers count. */
static const hone_buffer_t* conflict_between(test_t* t, const hone_access_list_t* before,
                                             const hone_access_list_t* after, hone_dim_t x,
                                             hone_dim_t y, hone_stmt_t* lives) {
  int first = hone_dim_as_symbol(x)->id, second = hone_dim_as_symbol(y)->id;
  for (int i = 0; i < before->count; i++)
    for (int k = 0; k < after->count; k++) {
      const hone_access_t *a = &before->items[i], *b = &after->items[k];
      bool is_private = lives && a->buffer->role == HONE_ROLE_SCRATCH &&
                        hone_stmt_is_inside(t->owners[a->buffer->id], lives);
      if (is_private || !is_ordered(a, b, true)) continue;
      common_t common = {first, second, false};
      if (may_meet(t, a, b, 1, &common, first, first)) return a->buffer;
    }
  return NULL;
}

/* What every question ends with. */
static hone_status_t finish(test_t* t, hone_status_t status) {
  if (!status && t->dims && hone_dims_out_of_memory(t->dims)) status = hone_oom();
  hone_arena_destroy(t->arena);
  return status;
}

static hone_status_t ask_within(hone_kernel_t* kernel, hone_stmt_t* top, hone_stmt_t* inner,
                                bool sums, const hone_buffer_t** out) {
  test_t t;
  hone_access_list_t list = {0};
  *out = NULL;
  hone_status_t status = test_create(kernel, &t);
  if (!status) status = hone_access_collect(kernel, top, &list);
  if (!status) {
    hone_stmt_walk(top, mark_bound, &t);
    make_twins(&t);
    *out = conflict_within(&t, &list, top, top->var, inner->var, inner, sums);
  }
  hone_access_free(&list);
  return finish(&t, status);
}

hone_status_t hone_depend_rounds(hone_kernel_t* kernel, hone_stmt_t* loop, bool sums,
                                 const hone_buffer_t** out) {
  return ask_within(kernel, loop, loop, sums, out);
}

hone_status_t hone_depend_swap(hone_kernel_t* kernel, hone_stmt_t* outer, hone_stmt_t* inner,
                               const hone_buffer_t** out) {
  return ask_within(kernel, outer, inner, true, out);
}

/* Appends the accesses of a statement to a list. */
static hone_status_t collect_more(const hone_kernel_t* kernel, hone_stmt_t* stmt,
                                  hone_access_list_t* list) {
  hone_access_list_t more;
  hone_status_t status = hone_access_collect(kernel, stmt, &more);
  size_t size = sizeof *list->items, total = (size_t)(list->count + more.count);
  hone_access_t* grown = status ? NULL : hone_alloc(kernel->allocator, (total ? total : 1) * size);
  if (grown) {
    if (list->count) memcpy(grown, list->items, (size_t)list->count * size);
    if (more.count) memcpy(grown + list->count, more.items, (size_t)more.count * size);
    int count = (int)total;
    hone_access_free(list);
    *list = (hone_access_list_t){kernel->allocator, count, count ? count : 1, grown};
  } else if (!status) {
    status = hone_oom();
  }
  hone_access_free(&more);
  return status;
}

hone_status_t hone_depend_cut(hone_kernel_t* kernel, hone_stmt_t* loop, int at,
                              const hone_buffer_t** out) {
  test_t t;
  hone_access_list_t before = {.allocator = kernel->allocator}, after = before;
  *out = NULL;
  hone_status_t status = test_create(kernel, &t);
  for (int i = 0; i < loop->n_body && !status; i++)
    status = collect_more(kernel, loop->body[i], i < at ? &before : &after);
  if (!status) {
    hone_stmt_walk(loop, mark_bound, &t);
    make_twins(&t);
    *out = conflict_between(&t, &before, &after, loop->var, loop->var, loop);
  }
  hone_access_free(&before);
  hone_access_free(&after);
  return finish(&t, status);
}

/* Whether the two never meet. */
static bool are_apart(test_t* t, const hone_access_t* a, const hone_access_t* b) {
  axes_t axes;
  for (axes_kind_t kind = AXES_OF_BUFFER; kind < AXES_KINDS; kind++)
    for (int way = 0; way < 3; way++) {
      reset_symbols(t);
      if (way > 0) reverse_symbols(t, way == 1 ? t->first : t->second);
      set_axes(t, a, b, kind, &axes);
      if (any_separates(t, &axes)) return true;
    }
  return false;
}

/* A test of two statements against each other, with what each accesses. */
static hone_status_t test_pair(hone_kernel_t* kernel, hone_stmt_t* first, hone_stmt_t* second,
                               test_t* t, hone_access_list_t* before, hone_access_list_t* after) {
  *before = *after = (hone_access_list_t){.allocator = kernel->allocator};
  HONE_TRY(test_create(kernel, t));
  HONE_TRY(hone_access_collect(kernel, first, before));
  HONE_TRY(hone_access_collect(kernel, second, after));
  hone_stmt_walk(first, mark_bound, t);
  hone_stmt_walk(second, mark_bound, t);
  make_twins(t);
  return NULL;
}

hone_status_t hone_depend_apart(hone_kernel_t* kernel, hone_stmt_t* first, hone_stmt_t* second,
                                const hone_buffer_t** out) {
  test_t t;
  hone_access_list_t before, after;
  *out = NULL;
  hone_status_t status = test_pair(kernel, first, second, &t, &before, &after);
  for (int i = 0; i < before.count && !status && !*out; i++)
    for (int k = 0; k < after.count && !*out; k++) {
      const hone_access_t *a = &before.items[i], *b = &after.items[k];
      if (is_ordered(a, b, false) && !are_apart(&t, a, b)) *out = a->buffer;
    }
  hone_access_free(&before);
  hone_access_free(&after);
  return finish(&t, status);
}

hone_status_t hone_depend_join(hone_kernel_t* kernel, hone_stmt_t* first, hone_stmt_t* second,
                               const hone_buffer_t** out) {
  test_t t;
  hone_access_list_t before, after;
  *out = NULL;
  hone_status_t status = test_pair(kernel, first, second, &t, &before, &after);
  if (!status) *out = conflict_between(&t, &before, &after, first->var, second->var, NULL);
  hone_access_free(&before);
  hone_access_free(&after);
  return finish(&t, status);
}
