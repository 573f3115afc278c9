/* Constants of i8 that are mostly zero, as pruned weights are: products by them can leave most
 * steps out (tactic `sparse` of CPUs). */
#ifndef HONE_LOOP_SPARSE_H
#define HONE_LOOP_SPARSE_H

#include "loop/quantized.h"

/* Sets is_sparse of the constants of i8 whose elements are known, and of which one in ten at most
 * is not zero. */
void hone_sparse_mark(hone_kernel_t* kernel, hone_contents_fn contents, void* self);

#endif
