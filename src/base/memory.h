/* Memory: plain calls on an allocator, and sizes that cannot overflow. */
#ifndef HONE_BASE_MEMORY_H
#define HONE_BASE_MEMORY_H

#include "hone/allocator.h"

/* Bytes of a large page: the system's blocks that are multiples of it get such pages. */
enum { HONE_LARGE_PAGE = 2 << 20 };

/* The status for memory that is not there; needs none itself. */
HONE_MUST_USE hone_status_t hone_oom(void);

/* For who is about to take and free large blocks again and again: the C library gives those back to
 * the system at once, to be cleared anew, until it has seen one freed, as compiling does in
 * passing. What was set for it stays as it is. */
void hone_expect_large_blocks(void);

/* Allocates `size` zeroed bytes; NULL when out. `allocator` NULL: the system's. */
void* hone_alloc(const hone_allocator_t* allocator, size_t size);
/* Grows or shrinks; NULL when out, `old` then stays valid. New bytes are not zeroed. */
void* hone_realloc(const hone_allocator_t* allocator, void* old, size_t old_size, size_t new_size);
void hone_free(const hone_allocator_t* allocator, void* block, size_t size); /* NULL is allowed */

/* Copies a struct of options to `out`, of `size` bytes. Such structs begin with their
 * struct_size; a caller that was built for a shorter one (or gives NULL) gets zeros
 * for what it does not know. */
void hone_options_take(const void* given, size_t size, void* out);

/* Each returns false, leaving *out alone, when the result does not fit. */
bool hone_size_add(size_t a, size_t b, size_t* out);
bool hone_size_mul(size_t a, size_t b, size_t* out);
bool hone_i64_add(int64_t a, int64_t b, int64_t* out);
bool hone_i64_sub(int64_t a, int64_t b, int64_t* out);
bool hone_i64_mul(int64_t a, int64_t b, int64_t* out);
static inline int64_t hone_i64_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t hone_i64_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* The quotient, rounded down; b is not 0, and it fits. */
static inline int64_t hone_i64_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
/* The greatest common divisor; gcd(a, 0) is a. */
uint64_t hone_u64_gcd(uint64_t a, uint64_t b);
/* Product of `rank` non-negative extents; false on overflow or a negative one. */
bool hone_dims_count(int rank, const int64_t* dims, int64_t* out_count);

#endif
