/* Toolchain: C source texts in, one shared object out.
 *
 * Each unit is compiled by itself, several at once; one link joins them. With
 * a cache, units compiled before are taken from it, and so is the whole when
 * nothing changed; for that a unit's functions should be named after their
 * content rather than numbered.
 *
 * Flags are fixed but for the target's: what a kernel computes is what its
 * text says (no reassociation, no contraction: fma is called by name;
 * accesses of any type to any memory), sums of signed numbers must not
 * overflow, and errno and floating-point traps do not exist. */
#ifndef HONE_CODEGEN_TOOLCHAIN_H
#define HONE_CODEGEN_TOOLCHAIN_H

#include "codegen/cache.h"
#include "codegen/compiler.h"
#include "codegen/library.h"
#include "codegen/target.h"

/* Goes before each function that is looked up in the library. */
#define HONE_KERNEL_EXPORT "__attribute__((visibility(\"default\")))"

/* A C file: what it needs of the prelude, then its own text. That may use
 * macros of the prelude that are plain values, as HONE_LANES, and no others. */
typedef struct hone_unit {
  const char* name;    /* for messages */
  const char* prelude; /* one text for many units: told apart by its address; may be NULL */
  const char* text;
} hone_unit_t;

typedef struct hone_build_options {
  const hone_target_t* target;
  const hone_compiler_t* compiler;
  hone_cache_t* cache;   /* NULL: none */
  int parallel;          /* compilers at once; 0: as many as there are CPUs */
  int64_t time_limit_ms; /* for each unit and the link; 0: two minutes */
} hone_build_options_t;

/* What a build was. */
typedef struct hone_build_report {
  int units, compiled; /* the others came from the cache */
  bool linked;         /* false: the whole came from the cache */
  double seconds;
} hone_build_report_t;

/* The shared object's bytes; free them with hone_free(allocator, bytes, size).
 * `out_report` may be NULL. Errors: UNAVAILABLE (the compiler fails at
 * everything, or is too slow), INTERNAL (it does not accept a unit; the
 * message has the first of what it says), OUT_OF_MEMORY, IO. */
HONE_MUST_USE hone_status_t hone_toolchain_build(const hone_allocator_t* allocator,
                                                 const hone_build_options_t* options, int count,
                                                 const hone_unit_t* units, char** out_bytes,
                                                 size_t* out_size, hone_build_report_t* out_report);

/* The same units as assembly, for people: one text each, in `arena`. The compiler runs for it
 * each time. Errors: the same. */
HONE_MUST_USE hone_status_t hone_toolchain_assembly(const hone_allocator_t* allocator,
                                                    const hone_build_options_t* options, int count,
                                                    const hone_unit_t* units, hone_arena_t* arena,
                                                    const char** out_texts);

#endif
