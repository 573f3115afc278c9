/* Products of matrices as they stand in a kernel: three loops around one sum of
 * products of f32, c[i, j] += a[i, k] * b[k, j], of known extents, on matrices
 * that lie in memory as the routines of BLAS want them. */
#ifndef HONE_LOOP_PRODUCT_H
#define HONE_LOOP_PRODUCT_H

#include "loop/intrinsic.h"

/* Where a matrix lies. Elements of a row lie side by side, and rows `stride` elements
 * apart; of a turned one those of a column, and columns. */
typedef struct hone_matrix {
  hone_operand_range_t at;
  int64_t stride;
  bool is_turned;
} hone_matrix_t;

typedef struct hone_product {
  int64_t rows, columns, sums;
  hone_matrix_t a, b, c; /* [rows, sums], [sums, columns], [rows, columns] */
} hone_product_t;

/* Whether the loop with all that is in it is one, its loops in any order. Extents are 2
 * at least, and c is a scratch buffer and not turned. */
bool hone_product_look(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_product_t* out_product);
/* A matrix of `rows` by `columns` with steps of that many elements; false: BLAS takes none such. */
bool hone_matrix_lies(int64_t rows, int64_t columns, int64_t row_step, int64_t column_step,
                      hone_matrix_t* out_matrix);

#endif
