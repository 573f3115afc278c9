/* Products of matrices as they stand in a kernel: three loops around one sum of
 * products, c[i, j] += a[i, k] * b[k, j], of known extents, on matrices that lie in
 * memory as the routines of BLAS want them: of f32, or sparse ones of u8 by constants of
 * i8 in i32. */
#ifndef HONE_LOOP_PRODUCT_H
#define HONE_LOOP_PRODUCT_H

#include "ir/sparse.h"
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
  /* Sparse: axes of the buffer of b, and which of its columns is the first. */
  int sum_axis, column_axis;
  hone_dim_t first;
} hone_product_t;

/* Whether the loop with all that is in it is one, its loops in any order. Extents are 2
 * at least, and c is a scratch buffer and not turned. A sparse one has 32 rows at most of an
 * input, whole groups of 16 columns, or all, and all sums that there are. */
bool hone_product_look(hone_kernel_t* kernel, const hone_stmt_t* loop, bool is_sparse,
                       hone_product_t* out_product);
/* The factors of a store c[…] += a[…] * b[…], loads of these types; false: it is none such. */
bool hone_product_factors(const hone_stmt_t* store, bool is_sparse, const hone_term_t** out_a,
                          const hone_term_t** out_b);
/* A matrix of `rows` by `columns` with steps of that many elements; false: BLAS takes none such. */
bool hone_matrix_lies(int64_t rows, int64_t columns, int64_t row_step, int64_t column_step,
                      hone_matrix_t* out_matrix);

#endif
