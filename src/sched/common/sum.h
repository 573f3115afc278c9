/* What the primitives that take sums apart look for. */
#ifndef HONE_SCHED_COMMON_SUM_H
#define HONE_SCHED_COMMON_SUM_H

#include "sched/common/edit.h"

/* The only store in the loop, a sum or the like of which no term is what it is
 * stored to; `primitive` is who refuses others. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_sched_find_sum(const hone_kernel_t* kernel, const char* primitive,
                                                hone_stmt_t* loop, hone_stmt_t** out_store);
/* Whether the element that is stored to depends on the symbol. */
bool hone_sched_index_uses(const hone_stmt_t* store, hone_dim_t symbol);
/* A loop NAME.suffix of so many rounds, with an empty body, `offset` places
 * behind `beside`. NULL when memory is out. */
hone_stmt_t* hone_sched_loop_beside(hone_kernel_t* kernel, const hone_stmt_t* beside,
                                    const char* name, const char* suffix, hone_dim_t extent,
                                    int offset);

#endif
