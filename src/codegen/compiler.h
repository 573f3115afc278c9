/* The system's C compiler: which one, and what to call it with.
 *
 * Looked for in this order: $HONE_CC; then, for code that runs here, $CC, cc,
 * gcc, clang; for another architecture its cross compiler, then clang, which
 * knows them all and links by lld. A variable may hold arguments after the program ("ccache
 * gcc"); when it is set and does not work, that is an error. */
#ifndef HONE_CODEGEN_COMPILER_H
#define HONE_CODEGEN_COMPILER_H

#include <limits.h>

#include "base/arena.h"
#include "codegen/target.h"

enum { HONE_COMPILER_WORDS = 8 };

typedef struct hone_compiler {
  const char* words[HONE_COMPILER_WORDS]; /* the program's path, then its own arguments */
  int n_words;
  const char* version; /* the first line it prints about itself */
  bool is_clang;
  bool links_alone; /* by lld, without the libraries of the machine that it compiles for */
  uint64_t digest;  /* changes when the compiler does */
} hone_compiler_t;

/* All text lives in `arena`. Errors: UNAVAILABLE, which says what to install; OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_compiler_find(hone_arena_t* arena, const hone_target_t* target,
                                               hone_compiler_t* out_compiler);
/* The path of `program` as a shell would find it; *out_path NULL: there is none. */
HONE_MUST_USE hone_status_t hone_program_find(hone_arena_t* arena, const char* program,
                                              const char** out_path);

#endif
