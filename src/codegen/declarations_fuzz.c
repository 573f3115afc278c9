/* Any text is taken apart, and what is needed of it is part of it. */
#include <stdlib.h>
#include <string.h>

#include "codegen/declarations.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone_arena_t* arena;
  hone_declarations_t declarations;
  hone_str_t out;
  hone_str_init(&out, hone_allocator_system());
  hone_status_t status = hone_arena_create(NULL, &arena);
  if (status) abort();
  char* text = hone_arena_strndup(arena, (const char*)data, size);
  if (!text) abort();
  status = hone_declarations_read(arena, text, &declarations);
  if (!status) status = hone_declarations_append(&declarations, text, &out);
  if (status || out.size > strlen(text) + (size_t)declarations.count) abort();
  hone_str_free(&out);
  hone_arena_destroy(arena);
  return 0;
}
