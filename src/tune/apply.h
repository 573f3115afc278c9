/* Apply: reads what was tuned before. */
#ifndef HONE_TUNE_APPLY_H
#define HONE_TUNE_APPLY_H

#include "tune/database.h"
#include "tune/space.h"

/* Reads the candidate of a record; false when the space lacks it or finds it
 * not valid. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_tune_record_candidate(const hone_tune_record_t* record,
                                                       const hone_space_t* space, bool* out_fits,
                                                       hone_candidate_t* out_candidate);

#endif
