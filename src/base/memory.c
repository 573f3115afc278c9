/* The system allocator, the counting allocator with a limit, and checked
 * size arithmetic. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64 };

/* Large blocks begin where large pages do, and get them where whole ones lie in the block, so
 * that they are filled and read faster; not a byte more of memory than asked for is touched. */
static void want_large_pages(void* block, size_t size) {
#ifdef MADV_HUGEPAGE
  size_t whole = size / HONE_LARGE_PAGE * HONE_LARGE_PAGE;
  if (whole) madvise(block, whole, MADV_HUGEPAGE); /* a wish: may fail */
#endif
}

/* The C library keeps small blocks at hand, but not aligned ones: up to SMALL bytes the aligned
 * part of a block is given out, with the block's own address in front of it. */
enum { SMALL = 960 };

static void* take_small(size_t size) {
  char* block = malloc(size + ALIGNMENT);
  if (!block) return NULL;
  size_t step = ALIGNMENT - (uintptr_t)block % ALIGNMENT; /* of the 16 that malloc aligns to */
  void** given = (void**)(void*)(block + step);
  given[-1] = block;
  return given;
}

static void* take_large(size_t size) {
  if (size > SIZE_MAX - ALIGNMENT) return NULL;
  size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void* block;
  if (posix_memalign(&block, size < HONE_LARGE_PAGE ? ALIGNMENT : HONE_LARGE_PAGE, rounded))
    return NULL;
  want_large_pages(block, rounded);
  return block;
}

static void give_back(void* given, size_t size) {
  free(given && size <= SMALL ? ((void**)given)[-1] : given);
}

static void* system_resize(void* self, void* old, size_t old_size, size_t new_size) {
  (void)self;
  void* fresh = NULL;
  if (new_size) {
    fresh = new_size <= SMALL ? take_small(new_size) : take_large(new_size);
    if (!fresh) return NULL;
    if (old) memcpy(fresh, old, old_size < new_size ? old_size : new_size);
  }
  give_back(old, old_size);
  return fresh;
}

void hone_expect_large_blocks(void) {
  enum { LARGE = 31 << 20 /* glibc learns of blocks up to 32 MiB */ };
  void* volatile block = malloc(LARGE); /* or else the compiler leaves both out */
  free(block);
}

static const hone_allocator_t system_allocator = {.self = NULL, .resize = system_resize};

const hone_allocator_t* hone_allocator_system(void) { return &system_allocator; }

struct hone_limit_allocator {
  hone_allocator_t interface; /* self points back here */
  const hone_allocator_t* base;
  size_t limit; /* bytes; SIZE_MAX when there is none */
  atomic_size_t in_use;
  atomic_size_t peak;
  atomic_size_t holders; /* blocks that are out, and the owner until it destroys */
};

static void limit_drop(hone_limit_allocator_t* limit) {
  if (atomic_fetch_sub(&limit->holders, 1) == 1) hone_free(limit->base, limit, sizeof *limit);
}

/* Takes `size` bytes from the budget; false when they are not there. */
static bool limit_reserve(hone_limit_allocator_t* limit, size_t size) {
  size_t used = atomic_load(&limit->in_use);
  do {
    if (size > limit->limit || used > limit->limit - size) return false;
  } while (!atomic_compare_exchange_weak(&limit->in_use, &used, used + size));
  size_t now = used + size, peak = atomic_load(&limit->peak);
  while (now > peak && !atomic_compare_exchange_weak(&limit->peak, &peak, now)) {
  }
  return true;
}

static void* limit_resize(void* self, void* old, size_t old_size, size_t new_size) {
  hone_limit_allocator_t* limit = self;
  /* While old and new exist together both count. */
  if (new_size && !limit_reserve(limit, new_size)) return NULL;
  void* fresh = limit->base->resize(limit->base->self, old, old_size, new_size);
  bool failed = new_size && !fresh;
  atomic_fetch_sub(&limit->in_use, failed ? new_size : old ? old_size : 0);
  if (fresh && !old) atomic_fetch_add(&limit->holders, 1);
  if (old && !new_size) limit_drop(limit);
  return fresh;
}

hone_status_t hone_limit_allocator_create(const hone_allocator_t* base, size_t limit_bytes,
                                          hone_limit_allocator_t** out_limit) {
  *out_limit = NULL;
  if (!base) base = &system_allocator;
  hone_limit_allocator_t* limit = hone_alloc(base, sizeof *limit);
  if (!limit) return hone_oom();
  limit->interface = (hone_allocator_t){.self = limit, .resize = limit_resize};
  limit->base = base;
  limit->limit = limit_bytes ? limit_bytes : SIZE_MAX;
  atomic_init(&limit->holders, 1);
  *out_limit = limit;
  return NULL;
}

void hone_limit_allocator_destroy(hone_limit_allocator_t* limit) {
  if (limit) limit_drop(limit);
}

const hone_allocator_t* hone_limit_allocator_get(hone_limit_allocator_t* limit) {
  return &limit->interface;
}

size_t hone_limit_allocator_in_use(const hone_limit_allocator_t* limit) {
  return atomic_load(&limit->in_use);
}

size_t hone_limit_allocator_peak(const hone_limit_allocator_t* limit) {
  return atomic_load(&limit->peak);
}

void* hone_alloc(const hone_allocator_t* allocator, size_t size) {
  if (!allocator) allocator = &system_allocator;
  void* block = allocator->resize(allocator->self, NULL, 0, size ? size : 1);
  if (block) memset(block, 0, size ? size : 1);
  return block;
}

void* hone_realloc(const hone_allocator_t* allocator, void* old, size_t old_size, size_t new_size) {
  if (!allocator) allocator = &system_allocator;
  size_t held = !old ? 0 : old_size ? old_size : 1;
  return allocator->resize(allocator->self, old, held, new_size ? new_size : 1);
}

void hone_free(const hone_allocator_t* allocator, void* block, size_t size) {
  if (!block) return;
  if (!allocator) allocator = &system_allocator;
  allocator->resize(allocator->self, block, size ? size : 1, 0);
}

void hone_options_take(const void* given, size_t size, void* out) {
  size_t known = 0;
  memset(out, 0, size);
  if (!given) return;
  memcpy(&known, given, sizeof known);
  memcpy(out, given, known && known < size ? known : size);
}

bool hone_size_add(size_t a, size_t b, size_t* out) { return !__builtin_add_overflow(a, b, out); }
bool hone_size_mul(size_t a, size_t b, size_t* out) { return !__builtin_mul_overflow(a, b, out); }
bool hone_i64_add(int64_t a, int64_t b, int64_t* out) { return !__builtin_add_overflow(a, b, out); }
bool hone_i64_sub(int64_t a, int64_t b, int64_t* out) { return !__builtin_sub_overflow(a, b, out); }
bool hone_i64_mul(int64_t a, int64_t b, int64_t* out) { return !__builtin_mul_overflow(a, b, out); }

uint64_t hone_u64_gcd(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

bool hone_dims_count(int rank, const int64_t* dims, int64_t* out_count) {
  int64_t count = 1;
  bool has_zero = false;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0) return false;
    if (dims[i] == 0)
      has_zero = true;
    else if (!hone_i64_mul(count, dims[i], &count))
      return false;
  }
  *out_count = has_zero ? 0 : count;
  return true;
}
