/* Regular expressions in RE2's syntax, matched in time linear in the text.
 *
 * A pattern is parsed to a tree, the tree is written as a program for a
 * nondeterministic automaton, and a match keeps the set of all states that the
 * automaton may be in after each character (Thompson 1968, "Regular expression
 * search algorithm"). No pattern can make it slow: neither parsing nor
 * matching ever goes back.
 *
 * Not there, and refused with a message: classes by Unicode property (\p), and
 * \C, which matches half characters.
 *
 * Thread-safety: a compiled expression may be used by many threads. */
#ifndef HONE_OPS_COMMON_REGEX_H
#define HONE_OPS_COMMON_REGEX_H

#include "base/arena.h"

typedef struct hone_regex hone_regex_t;

/* Errors: INVALID_ARGUMENT with the place in the pattern; UNSUPPORTED;
 * OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_regex_create(const hone_allocator_t* allocator,
                                              const char* pattern, size_t size,
                                              hone_regex_t** out_regex);
void hone_regex_destroy(hone_regex_t* regex); /* NULL is allowed */
/* Whether the whole of `text` matches. Text that is not UTF-8 never does. */
HONE_MUST_USE hone_status_t hone_regex_full_match(const hone_regex_t* regex, const char* text,
                                                  size_t size, bool* out_matches);

#endif
