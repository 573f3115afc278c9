/* The names of outcomes and verdicts, as they stand in databases and exports. */
#include "tune/outcome.h"

#include <string.h>

static const char* const names[HONE_OUTCOME_COUNT] = {
    [HONE_OUTCOME_OK] = "ok",
    [HONE_OUTCOME_BUILD_FAILED] = "build failed",
    [HONE_OUTCOME_RUN_FAILED] = "run failed",
    [HONE_OUTCOME_WRONG_RESULT] = "wrong result",
    [HONE_OUTCOME_TIMEOUT] = "timeout",
};

static const char* const verdicts[HONE_VERDICT_COUNT] = {
    [HONE_VERDICT_NONE] = "",
    [HONE_VERDICT_CONFIRMED] = "confirmed",
    [HONE_VERDICT_REFUSED] = "refused",
};

/* The place of a name; -1: it is none of them. */
static int find(const char* const* list, int count, const char* name) {
  for (int i = 0; i < count; i++)
    if (strcmp(list[i], name) == 0) return i;
  return -1;
}

const char* hone_outcome_name(hone_outcome_t outcome) {
  return (unsigned)outcome < HONE_OUTCOME_COUNT ? names[outcome] : "unknown";
}

bool hone_outcome_parse(const char* name, hone_outcome_t* out_outcome) {
  int index = find(names, HONE_OUTCOME_COUNT, name);
  if (index >= 0) *out_outcome = (hone_outcome_t)index;
  return index >= 0;
}

const char* hone_verdict_name(hone_verdict_t verdict) {
  return (unsigned)verdict < HONE_VERDICT_COUNT ? verdicts[verdict] : "";
}

bool hone_verdict_parse(const char* name, hone_verdict_t* out_verdict) {
  int index = find(verdicts, HONE_VERDICT_COUNT, name);
  if (index >= 0) *out_verdict = (hone_verdict_t)index;
  return index >= 0;
}
