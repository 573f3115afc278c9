/* The kernel's text, without what is for people, is hashed. */
#include "tune/kernel_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "loop/text.h"

/* Behind the quoted text that begins at or after `at`; `end` where there is none. */
static const char* skip_quoted(const char* at, const char* end) {
  while (at < end && *at != '"') at++;
  for (at += at < end; at < end && *at != '"'; at++) at += *at == '\\';
  return at < end ? at + 1 : end;
}

static void keep_line(const char* line, const char* end, hone_str_t* out) {
  while (line < end && *line == ' ') line++;
  if (strncmp(line, "kernel ", 7) == 0 || strncmp(line, "origin ", 7) == 0) return;
  if (strncmp(line, "check ", 6) == 0) line = skip_quoted(line, end);
  hone_str_append_n(out, line, (size_t)(end - line));
  hone_str_append(out, "\n");
}

static hone_status_t print_essence(const hone_kernel_t* kernel, hone_str_t* out) {
  hone_str_t text;
  hone_str_init(&text, kernel->allocator);
  hone_status_t status = hone_kernel_print(kernel, &text);
  for (const char* at = status ? "" : hone_str_text(&text); *at;) {
    const char* end = at + strcspn(at, "\n");
    keep_line(at, end, out);
    at = end + (*end == '\n');
  }
  hone_str_free(&text);
  return status ? status : out->failed ? hone_oom() : NULL;
}

hone_status_t hone_kernel_digest(const hone_kernel_t* kernel,
                                 char out_digest[HONE_KERNEL_DIGEST_SIZE]) {
  hone_str_t essence;
  hone_str_init(&essence, kernel->allocator);
  hone_status_t status = print_essence(kernel, &essence);
  if (!status) {
    XXH128_hash_t sum = XXH3_128bits(hone_str_text(&essence), essence.size);
    snprintf(out_digest, HONE_KERNEL_DIGEST_SIZE, "%016" PRIx64 "%016" PRIx64, (uint64_t)sum.high64,
             (uint64_t)sum.low64);
  }
  hone_str_free(&essence);
  return status;
}
