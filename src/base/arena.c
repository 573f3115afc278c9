#include "base/arena.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(start, size) ASAN_POISON_MEMORY_REGION(start, size)
#define UNPOISON(start, size) ASAN_UNPOISON_MEMORY_REGION(start, size)
#else
#define POISON(start, size) ((void)(start), (void)(size))
#define UNPOISON(start, size) ((void)(start), (void)(size))
#endif

enum { ALIGNMENT = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

typedef struct block {
  struct block* next;
  size_t size; /* of data, bytes */
  size_t used;
  size_t pad; /* keeps data aligned to 16 */
  unsigned char data[];
} block_t;

struct hone_arena {
  const hone_allocator_t* allocator;
  block_t* blocks; /* newest first; only the newest is filled */
  size_t next_size;
  size_t bytes;
};

hone_status_t hone_arena_create(const hone_allocator_t* allocator, hone_arena_t** out_arena) {
  *out_arena = NULL;
  hone_arena_t* arena = hone_alloc(allocator, sizeof *arena);
  if (!arena) return hone_oom();
  arena->allocator = allocator;
  arena->next_size = FIRST_BLOCK;
  arena->bytes = sizeof *arena;
  *out_arena = arena;
  return NULL;
}

void hone_arena_destroy(hone_arena_t* arena) {
  if (!arena) return;
  for (block_t *block = arena->blocks, *next; block; block = next) {
    next = block->next;
    UNPOISON(block->data, block->size);
    hone_free(arena->allocator, block, sizeof *block + block->size);
  }
  hone_free(arena->allocator, arena, sizeof *arena);
}

/* Puts a block with room for `size` bytes in front; NULL when out. */
static block_t* arena_grow(hone_arena_t* arena, size_t size) {
  size_t room = size > arena->next_size ? size : arena->next_size, total;
  if (!hone_size_add(room, sizeof(block_t), &total)) return NULL;
  block_t* block = hone_realloc(arena->allocator, NULL, 0, total);
  if (!block) return NULL;
  *block = (block_t){.next = arena->blocks, .size = room};
  POISON(block->data, room);
  arena->blocks = block;
  arena->bytes += total;
  if (arena->next_size < LARGEST_BLOCK) arena->next_size *= 2;
  return block;
}

/* Not zeroed. */
static void* arena_take(hone_arena_t* arena, size_t size) {
  if (size > SIZE_MAX - ALIGNMENT) return NULL;
  size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!rounded) rounded = ALIGNMENT;
  block_t* block = arena->blocks;
  if (!block || block->size - block->used < rounded) block = arena_grow(arena, rounded);
  if (!block) return NULL;
  void* result = block->data + block->used;
  block->used += rounded;
  UNPOISON(result, size);
  return result;
}

void* hone_arena_alloc(hone_arena_t* arena, size_t size) {
  void* result = arena_take(arena, size);
  if (result) memset(result, 0, size);
  return result;
}

void* hone_arena_array(hone_arena_t* arena, size_t count, size_t size) {
  size_t total;
  return hone_size_mul(count, size, &total) ? hone_arena_alloc(arena, total) : NULL;
}

void* hone_arena_memdup(hone_arena_t* arena, const void* data, size_t size) {
  void* copy = arena_take(arena, size);
  if (copy && size) memcpy(copy, data, size);
  return copy;
}

char* hone_arena_strndup(hone_arena_t* arena, const char* text, size_t length) {
  if (length == SIZE_MAX) return NULL;
  char* copy = arena_take(arena, length + 1);
  if (!copy) return NULL;
  if (length) memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

char* hone_arena_strdup(hone_arena_t* arena, const char* text) {
  return hone_arena_strndup(arena, text, strlen(text));
}

/* Short texts, which most are, are written once. */
char* hone_arena_format(hone_arena_t* arena, const char* format, ...) {
  char brief[256];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(brief, sizeof brief, format, args);
  va_end(args);
  if (length < 0) length = 0;
  if ((size_t)length < sizeof brief) return hone_arena_strndup(arena, brief, (size_t)length);
  char* text = arena_take(arena, (size_t)length + 1);
  if (!text) return NULL;
  va_start(args, format);
  vsnprintf(text, (size_t)length + 1, format, args);
  va_end(args);
  return text;
}

size_t hone_arena_bytes(const hone_arena_t* arena) { return arena->bytes; }

/* On average; what follows a block begins in the page in which it ends. */
static size_t rest_of_page(const block_t* block) {
  enum { HALF_PAGE = 2048 };
  size_t rest = block->size - block->used;
  return rest < HALF_PAGE ? rest : HALF_PAGE;
}

size_t hone_arena_used(const hone_arena_t* arena) {
  size_t used = sizeof *arena;
  for (const block_t* block = arena->blocks; block; block = block->next)
    used += sizeof *block + block->used + rest_of_page(block);
  return used;
}
