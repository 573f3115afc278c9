/* Prelude: the C text that every kernel of a C backend starts with. It is kept
 * as files in src/codegen/prelude/ (cpu.inc says what they give) and is part of
 * the library as text. */
#ifndef HONE_CODEGEN_PRELUDE_H
#define HONE_CODEGEN_PRELUDE_H

#include "base/arena.h"

/* A file of src/codegen/prelude/. The last entry has no name. */
typedef struct hone_embedded_text {
  const char* name;
  const char* text; /* ends in 0 */
  size_t size;
} hone_embedded_text_t;

extern const hone_embedded_text_t hone_embedded_texts[]; /* made by the build */

/* The file `name` with each #include "x" of another replaced by its text and
 * comments left out, after the line `#define HONE_LANES lanes` (0: without).
 * Lives in `arena`. Errors: NOT_FOUND, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_prelude_make(hone_arena_t* arena, const char* name, int lanes,
                                              const char** out_text);

#endif
