/* A kernel is rendered once; its name is put in afterwards. */
#include "runtime/kernel_source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "base/str.h"
#include "loop/kernel.h"
#include "loop/product.h"

/* What a function is called until its text, and with it its name, is known. */
static const char NAMELESS[] = "hone_kernel";

hone_status_t hone_kernel_render(const hone_backend_t* backend, const hone_device_t* device,
                                 const hone_kernel_t* kernel, hone_arena_t* arena,
                                 const char** out_text, char out_name[HONE_SOURCE_NAME_SIZE]) {
  hone_blob_t source;
  HONE_TRY(backend->render(device, kernel, NAMELESS, &source));
  *out_text = hone_arena_strdup(arena, source.data);
  hone_free(kernel->allocator, source.data, source.size);
  if (!*out_text) return hone_oom();
  snprintf(out_name, HONE_SOURCE_NAME_SIZE, "hone_%016llx",
           (unsigned long long)XXH64(*out_text, strlen(*out_text), 0));
  return NULL;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

const char* hone_kernel_rename(hone_arena_t* arena, const char* text, const char* name) {
  hone_str_t out;
  hone_str_init(&out, NULL);
  const size_t length = sizeof NAMELESS - 1;
  for (const char *at = text, *next;; at = next + length) {
    next = strstr(at, NAMELESS);
    if (!next) {
      hone_str_append(&out, at);
      break;
    }
    bool whole = (next == text || !is_word(next[-1])) && !is_word(next[length]);
    hone_str_append_n(&out, at, (size_t)(next - at));
    hone_str_append(&out, whole ? name : NAMELESS);
  }
  const char* copy = out.failed ? NULL : hone_arena_strdup(arena, hone_str_text(&out));
  hone_str_free(&out);
  return copy;
}

static int64_t array_bytes(const hone_buffer_t* buffer) {
  int64_t bytes = (int64_t)hone_dtype_size(buffer->dtype);
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_i64_mul(bytes, hone_dim_max_value(buffer->dims[i]), &bytes)) return 0;
  return bytes;
}

/* A sparse product turns the rows that it is at. */
int64_t hone_kernel_stack_bytes(const hone_kernel_t* kernel) {
  int64_t sum = 0;
  for (int i = 0; i < kernel->n_buffers; i++) {
    const hone_buffer_t* buffer = kernel->buffers[i];
    if (buffer->space == HONE_SPACE_LOCAL && !hone_i64_add(sum, array_bytes(buffer), &sum))
      return INT32_MAX;
    int64_t turned = 0;
    if (buffer->packing && buffer->packing->is_sparse &&
        (!hone_i64_mul(HONE_SPARSE_ROWS, buffer->packing->dims[buffer->packing->sums], &turned) ||
         !hone_i64_add(sum, turned, &sum)))
      return INT32_MAX;
  }
  return sum < INT32_MAX ? sum : INT32_MAX;
}
