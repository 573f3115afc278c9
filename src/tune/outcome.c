/* The names of outcomes, as they stand in databases and exports. */
#include "tune/outcome.h"

#include <string.h>

static const char* const names[HONE_OUTCOME_COUNT] = {
    [HONE_OUTCOME_OK] = "ok",
    [HONE_OUTCOME_BUILD_FAILED] = "build failed",
    [HONE_OUTCOME_RUN_FAILED] = "run failed",
    [HONE_OUTCOME_WRONG_RESULT] = "wrong result",
    [HONE_OUTCOME_TIMEOUT] = "timeout",
};

const char* hone_outcome_name(hone_outcome_t outcome) {
  return (unsigned)outcome < HONE_OUTCOME_COUNT ? names[outcome] : "unknown";
}

bool hone_outcome_parse(const char* name, hone_outcome_t* out_outcome) {
  for (int i = 0; i < HONE_OUTCOME_COUNT; i++) {
    if (strcmp(names[i], name) != 0) continue;
    *out_outcome = (hone_outcome_t)i;
    return true;
  }
  return false;
}
