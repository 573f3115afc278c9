/* Accesses: every load and store of a part of a kernel, as a list. */
#ifndef HONE_LOOP_ACCESS_H
#define HONE_LOOP_ACCESS_H

#include "loop/kernel.h"

typedef struct hone_access {
  hone_stmt_t* stmt; /* whose value loads, or that stores */
  const hone_buffer_t* buffer;
  const hone_dim_t* index;
  bool is_store;
  hone_combine_t combine; /* of a store; all but SET read the element too */
} hone_access_t;

typedef struct hone_access_list {
  const hone_allocator_t* allocator;
  int count, room;
  hone_access_t* items;
} hone_access_list_t;

/* All accesses in `within` and inside, in order; a load that occurs several
 * times in one statement is listed once. The list is freed with
 * hone_access_free, also after a failure. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_access_collect(const hone_kernel_t* kernel, hone_stmt_t* within,
                                                hone_access_list_t* out);
void hone_access_free(hone_access_list_t* list);

/* The innermost loop (else the root) around all uses of each buffer, by id: each
 * of its rounds has a scratch buffer of its own. NULL for buffers not used.
 * `out` has room for kernel->n_buffers. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_access_owners(const hone_kernel_t* kernel, hone_stmt_t** out);

/* Whether `inner` is `outer` or inside of it. */
bool hone_stmt_is_inside(const hone_stmt_t* inner, const hone_stmt_t* outer);

/* Which of the different loads of the buffer in the list has that index, from 1 on; 0: none. */
int hone_access_load_number(const hone_access_list_t* list, const hone_buffer_t* buffer,
                            const hone_dim_t* index);

#endif
