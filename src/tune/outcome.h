/* Outcome: how the attempt to measure a candidate ended. */
#ifndef HONE_TUNE_OUTCOME_H
#define HONE_TUNE_OUTCOME_H

#include <stdbool.h>

typedef enum hone_outcome {
  HONE_OUTCOME_OK,
  HONE_OUTCOME_BUILD_FAILED,
  HONE_OUTCOME_RUN_FAILED,
  HONE_OUTCOME_WRONG_RESULT, /* it ran, and computed something else */
  HONE_OUTCOME_TIMEOUT,      /* building or running took longer than allowed */
  HONE_OUTCOME_COUNT,
} hone_outcome_t;

/* "ok", "build failed", "run failed", "wrong result", "timeout". */
const char* hone_outcome_name(hone_outcome_t outcome);
/* False for a name that is none. */
bool hone_outcome_parse(const char* name, hone_outcome_t* out_outcome);

#endif
