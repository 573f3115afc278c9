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

/* c[…] += a[…] * b[…], of f32. */
static bool is_sum_of_products(const hone_stmt_t* store) {
  const hone_term_t* value = store->value;
  return store->combine == HONE_COMBINE_ADD && value->kind == HONE_TERM_PRIM &&
         value->prim == HONE_PRIM_MUL && value->dtype == HONE_F32 &&
         value->args[0]->kind == HONE_TERM_LOAD && value->args[1]->kind == HONE_TERM_LOAD &&
         store->buffer->dtype == HONE_F32 && store->buffer->space == HONE_SPACE_LOCAL &&
         value->args[0]->buffer != store->buffer && value->args[1]->buffer != store->buffer;
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
  out->at = (hone_operand_range_t){buffer, offset};
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

bool hone_product_look(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_product_t* out) {
  const hone_stmt_t* loops[LOOPS];
  const hone_stmt_t* store = find_loops(loop, loops);
  moves_t a, b, c;
  if (!store || !is_sum_of_products(store)) return false;
  const hone_term_t *left = store->value->args[0], *right = store->value->args[1];
  if (!find_moves(kernel, loops, left->buffer, left->index, &a) ||
      !find_moves(kernel, loops, right->buffer, right->index, &b) ||
      !find_moves(kernel, loops, store->buffer, store->index, &c))
    return false;
  int sum = find_role(&a, &b, &c), row = find_role(&a, &c, &b), column = find_role(&b, &c, &a);
  if (sum < 0 || row < 0 || column < 0) return false;
  if (c.steps[column] != 1) { /* columns are the first factor's */
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
         put_matrix(loops, &c, row, column, &out->c) && !out->c.is_turned;
}
