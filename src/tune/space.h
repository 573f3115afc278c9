/* Space: the ways in which one kernel can be built, as named parameters with a
 * finite, ordered list of choices each.
 *
 * A parameter is a number (a tile's size), a word (an annotation, a tactic's
 * variant), a split of an extent into factors, or an order of axes. A
 * candidate picks one choice of each parameter. Candidates are numbered in
 * mixed radix, the last parameter running fastest, and have a text form that
 * parses back:
 *
 *     tile_m=4 tile_k=16x2x8 order=n,m,k inner=vector
 *
 * Nothing here knows what a kernel is: a schedule recipe or a template reads
 * the choices by name. Not thread-safe while parameters are being defined. */
#ifndef HONE_TUNE_SPACE_H
#define HONE_TUNE_SPACE_H

#include "base/str.h"
#include "hone/space.h"

enum {
  HONE_SPACE_MOST_PARAMETERS = 32,
  HONE_SPACE_MOST_CHOICES = 60000, /* of one parameter */
  HONE_SPACE_MOST_PARTS = 8,       /* factors of a split, axes of an order */
};

typedef enum hone_parameter_kind {
  HONE_PARAMETER_NUMBER,
  HONE_PARAMETER_WORD,
  HONE_PARAMETER_SPLIT,
  HONE_PARAMETER_ORDER,
} hone_parameter_kind_t;

typedef struct hone_parameter {
  const char* name;
  hone_parameter_kind_t kind;
  int parts;             /* numbers that make up a choice; 1 for numbers and words */
  int n_choices;         /* at least 1 */
  const int64_t* values; /* [n_choices][parts]; of words and orders: indices into `words` */
  int n_words;           /* 0 for numbers and splits */
  const char* const* words;
} hone_parameter_t;

/* Which choice each parameter takes; entries past the last parameter are 0. */
struct hone_candidate {
  uint16_t choice[HONE_SPACE_MOST_PARAMETERS];
};

/* Whether a candidate may be tried; a pure function. */
typedef bool (*hone_space_rule_t)(const hone_space_t* space, const hone_candidate_t* candidate,
                                  void* context);

HONE_MUST_USE hone_status_t hone_space_create(const hone_allocator_t* allocator,
                                              hone_space_t** out_space);
void hone_space_destroy(hone_space_t* space); /* NULL is allowed */

/* ---- defining: hone/space.h, and what follows ---- */

/* Only candidates for which all rules added say true are valid. At most 8 rules. */
HONE_MUST_USE hone_status_t hone_space_add_rule(hone_space_t* space, hone_space_rule_t rule,
                                                void* context);
/* A parameter like one of another space, under a name of its own. Errors as above. */
HONE_MUST_USE hone_status_t hone_space_define_like(hone_space_t* space, const char* name,
                                                   const hone_parameter_t* parameter);
/* Where some choices say nothing given others (those of a recipe that was not
 * chosen), `settle` gives them one value, so that what is built alike is one
 * candidate. Candidates that it would change are not valid, and a search only
 * proposes what it settled. A pure function; at most one for a space. */
typedef void (*hone_space_settle_t)(const hone_space_t* space, void* context,
                                    hone_candidate_t* candidate);
void hone_space_set_settle(hone_space_t* space, hone_space_settle_t settle, void* context);
/* The candidate that a search tries first, and that is used untuned; without
 * one it is the first choice of each parameter. Need not be valid. */
void hone_space_set_default(hone_space_t* space, const hone_candidate_t* candidate);
/* One more that every search tries right after the default; more than
 * HONE_SPACE_MOST_STARTS are forgotten. */
enum { HONE_SPACE_MOST_STARTS = 4 };
void hone_space_add_start(hone_space_t* space, const hone_candidate_t* candidate);

/* ---- asking ---- */

int hone_space_parameter_count(const hone_space_t* space);
const hone_parameter_t* hone_space_parameter(const hone_space_t* space, int index);
/* -1: there is none of that name. */
int hone_space_find(const hone_space_t* space, const char* name);
/* Candidates, valid or not: the product of the numbers of choices; 1 without parameters. */
uint64_t hone_space_size(const hone_space_t* space);
/* Candidate `index` % size, and the index of a candidate. */
hone_candidate_t hone_space_at(const hone_space_t* space, uint64_t index);
uint64_t hone_space_index(const hone_space_t* space, const hone_candidate_t* candidate);
/* Changes choices that say nothing to the one value they have then. */
void hone_space_settle(const hone_space_t* space, hone_candidate_t* candidate);
/* Whether each choice exists, is settled, and every rule agrees. */
bool hone_space_is_valid(const hone_space_t* space, const hone_candidate_t* candidate);
hone_candidate_t hone_space_default(const hone_space_t* space);
/* In the order in which they were added; NULL past the last. */
const hone_candidate_t* hone_space_start(const hone_space_t* space, int index);

/* ---- text ---- */

/* Appends the text form; "" for a space without parameters. */
void hone_candidate_print(const hone_space_t* space, const hone_candidate_t* candidate,
                          hone_str_t* str);
/* Reads it back. Every parameter must be there, once, in any order. Errors:
 * INVALID_DATA, naming the parameter and the byte. */
HONE_MUST_USE hone_status_t hone_candidate_parse(const hone_space_t* space, const char* text,
                                                 size_t size, hone_candidate_t* out_candidate);

/* ---- features: a candidate as numbers for a model of its cost ---- */

int hone_space_feature_count(const hone_space_t* space);
/* Writes that many: numbers and factors as they are, a word as 0 or 1 for each
 * of its words, an order as the place of each axis. */
void hone_space_features(const hone_space_t* space, const hone_candidate_t* candidate,
                         double* out_features);

#endif
