/* Sparse constants: of i8, so few of whose numbers are not zero that products by them leave the
 * others out (tactic `sparse` of CPUs). What passes and kernels have to agree about. */
#ifndef HONE_IR_SPARSE_H
#define HONE_IR_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

enum {
  HONE_SPARSE_SHARE = 10,      /* one number in so many at most is not zero */
  HONE_SPARSE_FEWEST = 512,    /* numbers, below which nothing is worth it */
  HONE_SPARSE_FEWEST_ROWS = 6, /* that are multiplied at once, as lanes */
  HONE_SPARSE_ROWS = 32,       /* the most of these */
  HONE_SPARSE_COLUMNS = 16,    /* in a group */
  HONE_SPARSE_SUMS = 8192      /* the most products in a sum */
};

/* Whether so few of the numbers are not zero. */
bool hone_sparse_is(const int8_t* numbers, int64_t count);

#endif
