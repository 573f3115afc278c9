/* Recognising products of matrices. */
#include "loop/product.h"

#include <limits.h>

enum { LOOPS = 3 };

bool hone_matrix_lies(int64_t rows, int64_t columns, int64_t row_step, int64_t column_step,
                      hone_matrix_t* out) {
  out->is_turned = column_step != 1;
  out->stride = out->is_turned ? column_step : row_step;
  if (out->is_turned && row_step != 1) return false;
  return out->stride >= (out->is_turned ? rows : columns) && out->stride <= INT_MAX;
}

/* The three loops, and the store inside. */
static const hone_stmt_t* find_loops(const hone_stmt_t* loop, const hone_stmt_t** loops) {
  for (int i = 0; i < LOOPS; i++) {
    if (loop->kind != HONE_STMT_LOOP || loop->n_body != 1 || loop->loop != HONE_LOOP_SERIAL ||
        !hone_dim_is_int(loop->extent) || loop->extent.k < 2 || loop->extent.k > INT_MAX)
      return NULL;
    loops[i] = loop;
    loop = loop->body[0];
  }
  return loop->kind == HONE_STMT_STORE ? loop : NULL;
}

/* A load of f32, or one of bytes as an i32; NULL: it is something else. */
static const hone_term_t* find_factor(const hone_term_t* term) {
  const hone_term_t* load = term;
  if (term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_CAST && term->dtype == HONE_I32)
    load = term->args[0];
  bool is_byte = load->dtype == HONE_U8 || load->dtype == HONE_I8;
  return load->kind == HONE_TERM_LOAD && (load == term ? load->dtype == HONE_F32 : is_byte) ? load
                                                                                            : NULL;
}

bool hone_product_factors(const hone_stmt_t* store, bool is_sparse, const hone_term_t** out_a,
                          const hone_term_t** out_b) {
  const hone_term_t* value = store->value;
  if (store->combine != HONE_COMBINE_ADD || value->kind != HONE_TERM_PRIM ||
      value->prim != HONE_PRIM_MUL)
    return false;
  *out_a = find_factor(value->args[0]);
  *out_b = find_factor(value->args[1]);
  if (!*out_a || !*out_b) return false;
  if (is_sparse && (*out_a)->dtype == HONE_I8) {
    const hone_term_t* weights = *out_a;
    *out_a = *out_b;
    *out_b = weights;
  }
  return (*out_a)->dtype == (is_sparse ? HONE_U8 : HONE_F32) &&
         (*out_b)->dtype == (is_sparse ? HONE_I8 : HONE_F32) &&
         store->buffer->dtype == (is_sparse ? HONE_I32 : HONE_F32) &&
         store->buffer->space == HONE_SPACE_LOCAL && (*out_a)->buffer != store->buffer &&
         (*out_b)->buffer != store->buffer;
}

/* One matrix: how far each loop moves in it. */
typedef struct moves {
  int64_t steps[LOOPS];
  hone_operand_range_t at;
} moves_t;

static bool find_moves(hone_kernel_t* kernel, const hone_stmt_t* const* loops,
                       const hone_buffer_t* buffer, const hone_dim_t* index, moves_t* out) {
  hone_dim_t offset = hone_buffer_offset(kernel, buffer, index);
  for (int i = 0; i < LOOPS; i++) {
    if (!hone_dim_factor(offset, loops[i]->var, &out->steps[i])) return false;
    hone_dim_t part = hone_dim_mul(kernel->dims, loops[i]->var, hone_dim_int(out->steps[i]));
    offset = hone_dim_sub(kernel->dims, offset, part);
  }
  out->at = (hone_operand_range_t){buffer, offset, 0};
  return !hone_dim_is_bad(offset);
}

/* The loop that moves in these two and not in the third; -1: none, or several. */
static int find_role(const moves_t* in, const moves_t* and_in, const moves_t* not_in) {
  int found = -1;
  for (int i = 0; i < LOOPS; i++) {
    if (!in->steps[i] || !and_in->steps[i] || not_in->steps[i]) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

static bool put_matrix(const hone_stmt_t* const* loops, const moves_t* m, int row, int column,
                       hone_matrix_t* out) {
  out->at = m->at;
  return hone_matrix_lies(loops[row]->extent.k, loops[column]->extent.k, m->steps[row],
                          m->steps[column], out);
}

/* The axis of more than one round whose neighbours lie that far apart; -1: there is none. */
static int find_axis(const hone_buffer_t* buffer, int64_t step) {
  int64_t distance = 1;
  for (int d = buffer->rank - 1; d >= 0; d--) {
    if (!hone_dim_is_int(buffer->dims[d])) return -1;
    if (distance == step && buffer->dims[d].k > 1) return d;
    distance *= buffer->dims[d].k;
  }
  return -1;
}

/* Of a matrix that is all there is in the buffer, the axes, and the first of the columns. */
static bool find_table(hone_kernel_t* kernel, const moves_t* b, int sum, int column,
                       hone_product_t* out) {
  const hone_buffer_t* buffer = b->at.buffer;
  const hone_dim_t step = hone_dim_int(b->steps[column]);
  out->sum_axis = find_axis(buffer, b->steps[sum]);
  out->column_axis = find_axis(buffer, b->steps[column]);
  if (out->sum_axis < 0 || out->column_axis < 0 || buffer->role != HONE_ROLE_INPUT ||
      !buffer->is_constant || !hone_dim_is(buffer->dims[out->sum_axis], out->sums))
    return false;
  for (int d = 0; d < buffer->rank; d++)
    if (d != out->sum_axis && d != out->column_axis && !hone_dim_is(buffer->dims[d], 1))
      return false;
  out->first = hone_dim_floordiv(kernel->dims, b->at.offset, step);
  return hone_dim_is(hone_dim_mod(kernel->dims, b->at.offset, step), 0);
}

/* All columns, or whole groups of them. */
static bool are_groups(hone_kernel_t* kernel, const hone_product_t* p) {
  const hone_dim_t group = hone_dim_int(HONE_SPARSE_COLUMNS);
  if (hone_dim_is(p->b.at.buffer->dims[p->column_axis], p->columns)) return true;
  return p->columns % HONE_SPARSE_COLUMNS == 0 &&
         hone_dim_is(hone_dim_mod(kernel->dims, p->first, group), 0);
}

/* Whether it is what the function takes at a time. */
static bool is_block(hone_kernel_t* kernel, const hone_product_t* p) {
  return p->a.at.buffer->role == HONE_ROLE_INPUT && !p->a.is_turned &&
         p->rows <= HONE_SPARSE_ROWS && p->sums <= HONE_SPARSE_SUMS && are_groups(kernel, p);
}

bool hone_product_look(hone_kernel_t* kernel, const hone_stmt_t* loop, bool is_sparse,
                       hone_product_t* out) {
  const hone_stmt_t* loops[LOOPS];
  const hone_stmt_t* store = find_loops(loop, loops);
  moves_t a, b, c;
  const hone_term_t *left, *right;
  if (!store || !hone_product_factors(store, is_sparse, &left, &right)) return false;
  if (!find_moves(kernel, loops, left->buffer, left->index, &a) ||
      !find_moves(kernel, loops, right->buffer, right->index, &b) ||
      !find_moves(kernel, loops, store->buffer, store->index, &c))
    return false;
  int sum = find_role(&a, &b, &c), row = find_role(&a, &c, &b), column = find_role(&b, &c, &a);
  if (sum < 0 || row < 0 || column < 0) return false;
  if (c.steps[column] != 1 && !is_sparse) { /* columns are the first factor's */
    moves_t first = a;
    int of_first = row;
    a = b;
    b = first;
    row = column;
    column = of_first;
  }
  out->rows = loops[row]->extent.k;
  out->columns = loops[column]->extent.k;
  out->sums = loops[sum]->extent.k;
  return put_matrix(loops, &a, row, sum, &out->a) && put_matrix(loops, &b, sum, column, &out->b) &&
         put_matrix(loops, &c, row, column, &out->c) && !out->c.is_turned &&
         (!is_sparse || (find_table(kernel, &b, sum, column, out) && is_block(kernel, out)));
}
