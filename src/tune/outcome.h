/* Outcome: how the attempt to measure a candidate ended. Verdict: what runs of a
 * whole model said of one that was measured well. */
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

/* Where two meet, the later of this list stays. */
typedef enum hone_verdict {
  HONE_VERDICT_NONE, /* no whole was run with it */
  HONE_VERDICT_CONFIRMED,
  HONE_VERDICT_REFUSED, /* no whole got faster by it, whatever its kernel does alone */
  HONE_VERDICT_COUNT,
} hone_verdict_t;

/* "", "confirmed", "refused". */
const char* hone_verdict_name(hone_verdict_t verdict);
/* False for a name that is none. */
bool hone_verdict_parse(const char* name, hone_verdict_t* out_verdict);

#endif
