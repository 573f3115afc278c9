/* Declarations: takes a long preprocessed C text apart, so that of a prelude
 * each kernel gets what it uses and no more. Most of the time a compiler needs
 * for a small kernel would otherwise go into reading its prelude.
 *
 * The text is what `cc -E -P -dD` writes: functions, typedefs and variables
 * without macros in them, and the #define lines that were in force. */
#ifndef HONE_CODEGEN_DECLARATIONS_H
#define HONE_CODEGEN_DECLARATIONS_H

#include "base/map.h"
#include "base/str.h"

typedef struct hone_declaration {
  const char* text;
  size_t size;
  bool is_define;
} hone_declaration_t;

typedef struct hone_declarations {
  hone_arena_t* arena;
  hone_declaration_t* list; /* in the order of the text */
  int count, capacity;
  hone_map_t by_name; /* of hone_declaration_t's index + 1, as a pointer */
} hone_declarations_t;

/* Borrows `text`; all else lives in `arena`. Text that is not C makes
 * declarations that are none, but never fails. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_declarations_read(hone_arena_t* arena, const char* text,
                                                   hone_declarations_t* out);
/* Appends those that `user` needs, in their order: what it names, and what they
 * name in turn. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_declarations_append(const hone_declarations_t* declarations,
                                                     const char* user, hone_str_t* out);

#endif
