/* Fault injection: runs a piece of work again and again, failing its first,
 * second, … n-th allocation, until a run gets by without a fault. Every run
 * must give back all memory, and may fail with OUT_OF_MEMORY only. */
#ifndef HONE_BASE_TESTING_FAULT_H
#define HONE_BASE_TESTING_FAULT_H

#include <stdatomic.h>

#include "base/testing/test.h"
#include "hone/allocator.h"

/* An allocator that counts, and fails its `fail_at`-th allocation (0: none)
 * and, when `keeps_failing`, all after it. */
typedef struct hone_fault {
  hone_allocator_t allocator; /* self points back here */
  size_t fail_at;
  bool keeps_failing;
  atomic_size_t calls;  /* allocations asked for */
  atomic_size_t blocks; /* allocated and not yet freed */
  atomic_size_t bytes;  /* of those blocks, by the sizes that callers give */
} hone_fault_t;

void hone_fault_init(hone_fault_t* fault, size_t fail_at, bool keeps_failing);
/* Whether an allocation was failed. */
bool hone_fault_fired(const hone_fault_t* fault);

/* The work: takes all its memory from `allocator` and gives it back. */
typedef hone_status_t (*hone_fault_body_t)(const hone_allocator_t* allocator, void* context);

/* Fails the running test when `body` does not survive. Gives the number of
 * allocations that the whole work takes. */
size_t hone_fault_check(hone_fault_body_t body, void* context, const char* file, int line);
#define assert_survives_faults(body, context) hone_fault_check(body, context, __FILE__, __LINE__)

/* An allocator that takes from whichever stands behind it at the time, and
 * gives back to where a block came from. */
typedef struct hone_gate {
  hone_allocator_t allocator; /* self points back here */
  const hone_allocator_t* behind;
} hone_gate_t;
void hone_gate_init(hone_gate_t* gate, const hone_allocator_t* behind);

#endif
