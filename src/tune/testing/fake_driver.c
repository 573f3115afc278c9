/* The fake driver: costs below 0 are ways to fail. */
#include "tune/testing/fake_driver.h"

static double now(void* context) { return ((fake_driver_t*)context)->now; }

/* Lets time pass, up to the limit. */
static hone_outcome_t pass(fake_driver_t* driver, double seconds, double limit) {
  bool in_time = seconds <= limit;
  driver->now += in_time ? seconds : limit;
  return in_time ? HONE_OUTCOME_OK : HONE_OUTCOME_TIMEOUT;
}

static hone_outcome_t build(void* context, const hone_space_t* space,
                            const hone_candidate_t* candidate, double limit, void** out_built,
                            bool* fatal, hone_status_t* out_why) {
  fake_driver_t* driver = context;
  driver->builds++;
  driver->last = driver->cost(space, candidate);
  *out_built = driver;
  if (driver->last == -5) {
    *fatal = true;
    *out_why = hone_status_make(HONE_UNAVAILABLE, "the device is gone");
    return HONE_OUTCOME_BUILD_FAILED;
  }
  hone_outcome_t outcome = pass(driver, driver->build_seconds, limit);
  if (outcome != HONE_OUTCOME_OK || driver->last != -1) return outcome;
  *out_why = hone_status_make(HONE_INVALID_ARGUMENT, "too many registers");
  return HONE_OUTCOME_BUILD_FAILED;
}

static hone_outcome_t run(void* context, void* built, int runs, double limit, double* out_seconds,
                          bool* fatal, hone_status_t* out_why) {
  fake_driver_t* driver = built;
  driver->repeats++;
  if (driver->last == -2) {
    *out_why = hone_status_make(HONE_INTERNAL, "segmentation fault");
    return HONE_OUTCOME_RUN_FAILED;
  }
  double seconds = driver->last == -4 ? 1e9 : driver->last * runs;
  if (driver->runs == 0 && driver->first_factor > 0) seconds *= driver->first_factor;
  driver->runs += runs;
  *out_seconds = seconds;
  return pass(driver, seconds, limit);
}

static hone_outcome_t check(void* context, void* built, double limit, bool* fatal,
                            hone_status_t* out_why) {
  fake_driver_t* driver = built;
  if (driver->last != -3) return HONE_OUTCOME_OK;
  *out_why = hone_status_make(HONE_INVALID_DATA, "element 3 is 7, not 5");
  return HONE_OUTCOME_WRONG_RESULT;
}

static void release(void* context, void* built) { ((fake_driver_t*)built)->releases++; }

hone_measurer_t fake_measurer(fake_driver_t* driver) {
  return (hone_measurer_t){
      .context = driver, .build = build, .run = run, .check = check, .release = release};
}

hone_clock_t fake_clock(fake_driver_t* driver) { return (hone_clock_t){now, driver}; }
