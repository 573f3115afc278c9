/* Ranges of indices that come from tables which are known when the kernel is compiled, or from
 * numbers that were brought between two others: what they look up needs no check. Zero counts as
 * one of a table's numbers, so that a table of zeros, which may stand in for it where the kernel is
 * only timed, is as good. */
#include <string.h>

#include "base/float_convert.h"
#include "base/tensor_impl.h"
#include "ir/dim.h"
#include "loop/lower_impl.h"

typedef struct range {
  hone_dim_t least, most; /* both are in it */
} range_t;

/* Of the elements `start`, `start + step`, … */
static void scan(const hone_tensor_t* table, int64_t start, int64_t step, int64_t* least,
                 int64_t* most) {
  size_t size = hone_dtype_size(table->dtype);
  *least = *most = 0;
  for (int64_t i = start; i < table->count; i += step) {
    int64_t number;
    hone_load_i64(table->dtype, (const char*)hone_tensor_data(table) + (size_t)i * size, 0, 1,
                  &number);
    if (number < *least) *least = number;
    if (number > *most) *most = number;
  }
}

/* The same, remembered: a walk down a tree asks for the same columns at each step. */
static const hone_table_range_t* scan_once(hone_lowering_t* l, const hone_buffer_t* buffer,
                                           const hone_tensor_t* table, int64_t start,
                                           int64_t step) {
  for (const hone_table_range_t* known = l->ranges; known; known = known->next)
    if (known->buffer == buffer && known->start == start && known->step == step) return known;
  hone_table_range_t* made = hone_arena_alloc(l->kernel->arena, sizeof *made);
  if (!made) {
    l->kernel->out_of_memory = true;
    return NULL;
  }
  *made = (hone_table_range_t){l->ranges, buffer, start, step, 0, 0};
  scan(table, start, step, &made->least, &made->most);
  return l->ranges = made;
}

/* A column of a table, where the last index is known; else all of it. */
static bool range_of_load(hone_lowering_t* l, const hone_term_t* load, range_t* out) {
  const hone_buffer_t* buffer = load->buffer;
  const hone_tensor_t* table = buffer->role == HONE_ROLE_INPUT && l->options.constant_of
                                   ? l->options.constant_of(l->options.constants, buffer->value)
                                   : NULL;
  if (!table || !hone_dtype_is_int(buffer->dtype) || buffer->dtype == HONE_U64) return false;
  int last = buffer->rank - 1;
  bool is_column = last >= 0 && hone_dim_is_int(load->index[last]);
  const hone_table_range_t* found = scan_once(l, buffer, table, is_column ? load->index[last].k : 0,
                                              is_column ? hone_tensor_dims(table)[last] : 1);
  if (!found) return false;
  *out = (range_t){hone_dim_int(found->least), hone_dim_int(found->most)};
  return true;
}

static bool range_of(hone_lowering_t* l, const hone_term_t* term, range_t* out);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static bool range_of_sum(hone_lowering_t* l, const hone_term_t* term, range_t* out) {
  range_t a, b;
  hone_dims_t* dims = l->kernel->dims;
  if (term->dtype != HONE_I64 || !range_of(l, term->args[0], &a) || !range_of(l, term->args[1], &b))
    return false;
  *out = (range_t){hone_dim_add(dims, a.least, b.least), hone_dim_add(dims, a.most, b.most)};
  return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static bool range_of_choice(hone_lowering_t* l, const hone_term_t* term, range_t* out) {
  range_t a, b;
  hone_dims_t* dims = l->kernel->dims;
  if (!range_of(l, term->args[1], &a) || !range_of(l, term->args[2], &b)) return false;
  *out = (range_t){hone_dim_min(dims, a.least, b.least), hone_dim_max(dims, a.most, b.most)};
  return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static bool range_of_product(hone_lowering_t* l, const hone_term_t* term, range_t* out) {
  hone_dims_t* dims = l->kernel->dims;
  range_t a, b;
  if (term->dtype != HONE_I64 || !range_of(l, term->args[0], &a) || !range_of(l, term->args[1], &b))
    return false;
  if (hone_dim_min_value(a.least) < 0 || hone_dim_min_value(b.least) < 0) return false;
  *out = (range_t){hone_dim_mul(dims, a.least, b.least), hone_dim_mul(dims, a.most, b.most)};
  return true;
}

/* ---- floats between two whole numbers ---- */

static bool is_exact(hone_dim_t d) {
  return hone_dim_min_value(d) >= -HONE_LOWER_EXACT && hone_dim_max_value(d) <= HONE_LOWER_EXACT;
}

/* A float that is a whole number known here. */
static bool whole_number(const hone_term_t* term, hone_dim_t* out) {
  if (term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_CAST &&
      term->args[0]->kind == HONE_TERM_INDEX && term->dtype != HONE_F16 &&
      term->dtype != HONE_BF16) {
    *out = term->args[0]->dim;
    return is_exact(*out);
  }
  float number;
  uint32_t bits = (uint32_t)term->bits[0];
  if (term->kind != HONE_TERM_CONST || term->dtype != HONE_F32) return false;
  memcpy(&number, &bits, sizeof number);
  if (!(number >= -HONE_LOWER_EXACT && number <= HONE_LOWER_EXACT) ||
      number != (float)(int64_t)number)
    return false;
  *out = hone_dim_int((int64_t)number);
  return true;
}

/* What the term is at most (at least), or not a number. */
static bool bound(hone_lowering_t* l, const hone_term_t* term, bool is_most, hone_dim_t* out) {
  hone_dims_t* dims = l->kernel->dims;
  hone_prim_t one = is_most ? HONE_PRIM_MIN : HONE_PRIM_MAX,
              both = is_most ? HONE_PRIM_MAX : HONE_PRIM_MIN;
  hone_dim_t a, b;
  if (whole_number(term, out)) return true;
  if (term->kind != HONE_TERM_PRIM || (term->prim != one && term->prim != both)) return false;
  /* NOLINTBEGIN(misc-no-recursion): as deep as the term */
  bool has_a = bound(l, term->args[0], is_most, &a), has_b = bound(l, term->args[1], is_most, &b);
  /* NOLINTEND(misc-no-recursion) */
  if (has_a && has_b) {
    bool is_max = term->prim == HONE_PRIM_MAX;
    *out = is_max ? hone_dim_max(dims, a, b) : hone_dim_min(dims, a, b);
    return true;
  }
  *out = has_a ? a : b;
  return term->prim == one && (has_a || has_b);
}

/* Of a float that is something else where it would not be a number: select(x == x, x, else). */
static bool range_of_float(hone_lowering_t* l, const hone_term_t* term, range_t* out) {
  hone_dims_t* dims = l->kernel->dims;
  range_t x;
  hone_dim_t other;
  if (term->kind != HONE_TERM_PRIM || term->prim != HONE_PRIM_SELECT) return false;
  const hone_term_t *asked = term->args[0], *value = term->args[1];
  if (asked->kind != HONE_TERM_PRIM || asked->prim != HONE_PRIM_EQ || asked->args[0] != value ||
      asked->args[1] != value || !bound(l, value, false, &x.least) ||
      !bound(l, value, true, &x.most) || !whole_number(term->args[2], &other))
    return false;
  *out = (range_t){hone_dim_min(dims, x.least, other), hone_dim_max(dims, x.most, other)};
  return true;
}

/* ---- all ---- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static bool range_of_number(hone_lowering_t* l, const hone_term_t* term, range_t* out) {
  if (hone_dtype_is_float(term->dtype)) return range_of_float(l, term, out);
  *out = (range_t){hone_dim_int(0), hone_dim_int(1)};
  return term->dtype == HONE_BOOL || (hone_dtype_is_int(term->dtype) && range_of(l, term, out));
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static bool range_of(hone_lowering_t* l, const hone_term_t* term, range_t* out) {
  if (term->kind == HONE_TERM_LOAD) return range_of_load(l, term, out);
  if (term->kind == HONE_TERM_INDEX) {
    *out = (range_t){term->dim, term->dim};
    return true;
  }
  if (term->kind == HONE_TERM_CONST && term->dtype == HONE_I64) {
    hone_dim_t number = hone_dim_int((int64_t)term->bits[0]);
    *out = (range_t){number, number};
    return true;
  }
  if (term->kind != HONE_TERM_PRIM) return false;
  if (term->prim == HONE_PRIM_CAST && term->dtype == HONE_I64)
    return range_of_number(l, term->args[0], out);
  if (term->prim == HONE_PRIM_ADD) return range_of_sum(l, term, out);
  if (term->prim == HONE_PRIM_MUL) return range_of_product(l, term, out);
  return term->prim == HONE_PRIM_SELECT && range_of_choice(l, term, out);
}

/* The most that the expression can be in the loops around, whose extents only a run may know. */
static hone_dim_t in_last_rounds(const hone_lowering_t* l, hone_dim_t d) {
  hone_dims_t* dims = l->kernel->dims;
  for (const hone_stmt_t* s = l->block; s && s->parent; s = s->parent) {
    int64_t factor;
    if (s->kind != HONE_STMT_LOOP || !hone_dim_factor(d, s->var, &factor) || factor <= 0) continue;
    hone_dim_t gap = hone_dim_sub(dims, hone_dim_sub(dims, s->extent, hone_dim_int(1)), s->var);
    d = hone_dim_add(dims, d, hone_dim_mul(dims, hone_dim_int(factor), gap));
  }
  return d;
}

static void mark_tables(hone_lowering_t* l, const hone_term_t* term) {
  if (!hone_dtype_is_int(term->dtype)) return;
  if (term->kind == HONE_TERM_LOAD) l->kernel->buffers[term->buffer->id]->is_proven = true;
  /* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
  for (int i = term->prim == HONE_PRIM_SELECT; i < term->n_args; i++) mark_tables(l, term->args[i]);
}

bool hone_lowering_is_inside(hone_lowering_t* l, const hone_term_t* index, hone_dim_t extent) {
  range_t range;
  if (!range_of(l, index, &range)) return false;
  bool is_inside =
      hone_term_is_true(hone_term_lt(l->kernel, hone_dim_int(-1), range.least)) &&
      hone_term_is_true(hone_term_lt(l->kernel, in_last_rounds(l, range.most), extent));
  if (is_inside) mark_tables(l, index);
  return is_inside;
}
