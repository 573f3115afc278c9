/* Tactic set: all tactics that can build one kernel, as one search space.
 *
 * Its first parameter, `tactic`, is the tactic's name; those of each tactic
 * follow as TACTIC.PARAMETER. Parameters of tactics that are not chosen are
 * settled at their defaults (space.h). The set's default is the default of the
 * tactic that the model of cost expects most of. */
#ifndef HONE_TUNE_TACTIC_SET_H
#define HONE_TUNE_TACTIC_SET_H

#include "tune/database.h"
#include "tune/tactic.h"

enum { HONE_TACTIC_SET_MOST = 6, HONE_TACTIC_SET_NAME = 128 };

typedef struct hone_tactic_entry {
  const hone_tactic_t* tactic;
  hone_space_t* space; /* of the tactic alone */
  const void* facts;
  int first; /* its parameters in the joint space begin here */
} hone_tactic_entry_t;

typedef struct hone_tactic_set {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;
  hone_device_properties_t properties;
  hone_space_t* space;
  int n_entries;
  hone_tactic_entry_t entries[HONE_TACTIC_SET_MOST];
  char name[HONE_TACTIC_SET_NAME]; /* "contract+plain+rows": what its spaces are kept under */
} hone_tactic_set_t;

/* `tactic(context, i)` gives the tactics there are, NULL past the last. Errors:
 * UNSUPPORTED with what each is missing when none can build it, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t
hone_tactic_set_create(const hone_allocator_t* allocator, hone_kernel_t* kernel,
                       const hone_device_properties_t* properties,
                       const hone_tactic_t* (*tactic)(const hone_device_t* device, int index),
                       const hone_device_t* device, hone_tactic_set_t** out_set);
/* The same of a single tactic. */
HONE_MUST_USE hone_status_t
hone_tactic_set_create_single(const hone_allocator_t* allocator, hone_kernel_t* kernel,
                              const hone_device_properties_t* properties,
                              const hone_tactic_t* tactic, hone_tactic_set_t** out_set);
void hone_tactic_set_destroy(hone_tactic_set_t* set); /* NULL is allowed */

/* The tactic that a candidate of the joint space chooses. */
const hone_tactic_t* hone_tactic_set_chosen(const hone_tactic_set_t* set,
                                            const hone_candidate_t* candidate);
/* Gives the kernel the candidate's schedule. */
HONE_MUST_USE hone_status_t hone_tactic_set_build(const hone_tactic_set_t* set,
                                                  hone_kernel_t* kernel,
                                                  const hone_candidate_t* candidate);
/* Seconds that the model of cost expects. */
double hone_tactic_set_cost(const hone_tactic_set_t* set, const hone_candidate_t* candidate);

/* What a database says of a kernel. */
typedef struct hone_tuned {
  bool found; /* it knows the kernel */
  hone_candidate_t candidate;
  double seconds, default_seconds; /* 0: not known */
  int trials;                      /* that were measured well */
  int refused;                     /* of them, by whole runs */
  double untested; /* seconds of the fastest that no whole has run, if it is faster than the
                      candidate by more than measurements stray; else 0 */
} hone_tuned_t;

/* The fastest candidate of the key that the set still has and that whole runs
 * confirmed, if it is faster than the default by more than measurements stray;
 * else the default. `key` has kernel, device and so on; the tactic is the set's
 * name. Errors: those of reading the database. */
HONE_MUST_USE hone_status_t hone_tactic_set_tuned(const hone_tactic_set_t* set, hone_tune_db_t* db,
                                                  const hone_tune_key_t* key,
                                                  hone_tuned_t* out_tuned);

/* A candidate that is worth a try in a whole. */
typedef struct hone_offer {
  const char* parameters; /* as the database has them; NULL: there is none */
  double seconds;
} hone_offer_t;

/* What a database offers for a kernel. */
typedef struct hone_offers {
  hone_offer_t confirmed; /* that is in use */
  hone_offer_t untested;  /* faster than that by more than measurements stray */
  double default_seconds; /* 0: not known */
} hone_offers_t;

/* Texts go into `arena`. `retry`: those that were refused are untested again. Errors as above. */
HONE_MUST_USE hone_status_t hone_tactic_set_offers(const hone_tactic_set_t* set, hone_tune_db_t* db,
                                                   const hone_tune_key_t* key, bool retry,
                                                   hone_arena_t* arena, hone_offers_t* out_offers);
/* The key of a kernel on a device; texts are those of the arguments and of
 * `out_device`, which has room for all. */
enum { HONE_TUNE_DEVICE_SIZE = 2 * HONE_DEVICE_TEXT_SIZE + 32 };
hone_tune_key_t hone_tactic_set_key(const hone_tactic_set_t* set, const char* digest,
                                    char out_device[HONE_TUNE_DEVICE_SIZE]);

#endif
