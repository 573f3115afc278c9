/* Outputs that one statement stores, each element in a round of its own: they may lie where what
 * only that element is made of did (runtime/in_place.c). */
#include <string.h>

#include "loop/lower_impl.h"

/* Whether rounds may store the same element, as pieces that overlap would. */
static bool may_repeat(int rank, const hone_dim_t* index) {
  static const char* const choices[] = {"min(", "max(", "lt(", "eq("};
  char text[512];
  for (int i = 0; i < rank; i++) {
    if (hone_dim_print(index[i], text, sizeof text) >= sizeof text) return true;
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
      if (strstr(text, choices[k])) return true;
  }
  return false;
}

typedef struct stores {
  const hone_buffer_t* buffer;
  int count;
  bool may_repeat;
} stores_t;

static bool count_store(void* self, hone_stmt_t* stmt) {
  stores_t* s = self;
  if (stmt->kind != HONE_STMT_STORE || stmt->buffer != s->buffer) return true;
  s->count++;
  s->may_repeat |= may_repeat(s->buffer->rank, stmt->index);
  return true;
}

void hone_lower_once(hone_kernel_t* kernel) {
  for (int i = 0; i < kernel->n_buffers; i++) {
    hone_buffer_t* buffer = kernel->buffers[i];
    stores_t stores = {.buffer = buffer};
    if (buffer->role != HONE_ROLE_OUTPUT) continue;
    hone_stmt_walk(kernel->root, count_store, &stores);
    buffer->is_stored_once = stores.count == 1 && !stores.may_repeat;
  }
}
