/* Records come fastest first: the first that fits is the answer. */
#include "tune/apply.h"

#include <string.h>

hone_status_t hone_tune_record_candidate(const hone_tune_record_t* record,
                                         const hone_space_t* space, bool* out_fits,
                                         hone_candidate_t* out_candidate) {
  hone_status_t status =
      hone_candidate_parse(space, record->parameters, strlen(record->parameters), out_candidate);
  *out_fits = !status && hone_space_is_valid(space, out_candidate);
  if (hone_status_code(status) != HONE_INVALID_DATA) return status;
  hone_status_free(status);
  return NULL;
}

typedef struct sought {
  const hone_space_t* space;
  bool found;
  hone_candidate_t candidate;
  double seconds;
} sought_t;

static hone_status_t look(void* context, const hone_tune_record_t* record) {
  sought_t* sought = context;
  bool fits;
  hone_candidate_t candidate;
  bool is_usable = record->outcome == HONE_OUTCOME_OK && record->verdict != HONE_VERDICT_REFUSED;
  if (sought->found || !is_usable) return NULL;
  HONE_TRY(hone_tune_record_candidate(record, sought->space, &fits, &candidate));
  if (!fits) return NULL;
  sought->found = true;
  sought->candidate = candidate;
  sought->seconds = record->seconds;
  return NULL;
}

hone_status_t hone_tune_apply(hone_tune_db_t* db, const hone_tune_key_t* key,
                              const hone_space_t* space, bool* out_found,
                              hone_candidate_t* out_candidate, double* out_seconds) {
  hone_tune_key_t complete = hone_tune_key_complete(key);
  sought_t sought = {.space = space, .candidate = hone_space_default(space)};
  *out_found = false;
  *out_candidate = sought.candidate;
  if (out_seconds) *out_seconds = 0;
  HONE_TRY(hone_tune_db_each(db, &complete, false, look, &sought));
  *out_found = sought.found;
  *out_candidate = sought.candidate;
  if (out_seconds) *out_seconds = sought.seconds;
  return NULL;
}
