/* Space: the ways in which one kernel can be built, as named parameters with a
 * finite, ordered list of choices each, and candidates, which pick one choice
 * of each. In text a candidate is
 *
 *     tile_m=4 tile_k=16x2x8 order=n,m,k inner=vector
 *
 * Templates (hone/template.h) define spaces and read candidates; both are handed
 * to them. Not thread-safe while parameters are being defined. */
#ifndef HONE_SPACE_H
#define HONE_SPACE_H

#include "hone/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_space hone_space_t;
typedef struct hone_candidate hone_candidate_t;

/* ---- defining ----
 * Names and words consist of letters, digits, '_', '.' and '-'. Everything is
 * copied. The first choice of each parameter is what is used untuned. Errors:
 * INVALID_ARGUMENT (a bad or repeated name, word or number), OUT_OF_RANGE (too
 * many parameters, choices, or candidates: 2^62), OUT_OF_MEMORY; the space is
 * then as it was. */

/* A number out of a list, whose order says which are neighbours. */
HONE_API HONE_MUST_USE hone_status_t hone_space_define_numbers(hone_space_t* space,
                                                               const char* name, int count,
                                                               const int64_t* numbers);
/* Powers of two from `first` to `last`, both included and powers of two. */
HONE_API HONE_MUST_USE hone_status_t hone_space_define_powers(hone_space_t* space, const char* name,
                                                              int64_t first, int64_t last);
/* A word out of a list: what to do to a loop (none, unroll, vector), for example. */
HONE_API HONE_MUST_USE hone_status_t hone_space_define_words(hone_space_t* space, const char* name,
                                                             int count, const char* const* words);
/* `parts` factors, outermost first, whose product is `extent`, each way of
 * factoring a choice; the innermost is at most `most_inner` (0: no limit). */
HONE_API HONE_MUST_USE hone_status_t hone_space_define_split(hone_space_t* space, const char* name,
                                                             int64_t extent, int parts,
                                                             int64_t most_inner);
/* An order of `count` axes, outermost first: each permutation is a choice, the first is as given.
 */
HONE_API HONE_MUST_USE hone_status_t hone_space_define_order(hone_space_t* space, const char* name,
                                                             int count, const char* const* axes);

/* ---- reading a candidate ----
 * Asking for a parameter that the space lacks is a bug in the template; the
 * answer is then 0 or NULL. */

/* Part `part` of the choice: the number itself (part 0), or a factor of a split. */
HONE_API int64_t hone_candidate_number(const hone_space_t* space, const hone_candidate_t* candidate,
                                       const char* name, int part);
/* The word chosen (part 0), or the axis at place `part` of an order. */
HONE_API const char* hone_candidate_word(const hone_space_t* space,
                                         const hone_candidate_t* candidate, const char* name,
                                         int part);

#ifdef __cplusplus
}
#endif
#endif
