/* Records of other recipes, or of spaces that have changed, are no candidates. */
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
