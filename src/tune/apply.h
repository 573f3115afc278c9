/* Apply: uses what was tuned before, without measuring anything. */
#ifndef HONE_TUNE_APPLY_H
#define HONE_TUNE_APPLY_H

#include "tune/database.h"
#include "tune/space.h"

/* The fastest candidate of the key that the space still has and finds valid;
 * records of another recipe are passed over. `key` is completed (see
 * database.h): only results of this very device count. `out_found` false:
 * there is none, and the candidate is the space's default. `out_seconds` may
 * be NULL. Errors: those of reading the database. */
HONE_MUST_USE hone_status_t hone_tune_apply(hone_tune_db_t* db, const hone_tune_key_t* key,
                                            const hone_space_t* space, bool* out_found,
                                            hone_candidate_t* out_candidate, double* out_seconds);

/* Reads the candidate of a record; false when the space lacks it or finds it
 * not valid. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_tune_record_candidate(const hone_tune_record_t* record,
                                                       const hone_space_t* space, bool* out_fits,
                                                       hone_candidate_t* out_candidate);

#endif
