/* A driver without kernels, on a clock of its own: building and running take
 * the time that the test says, at once. */
#ifndef HONE_TUNE_TESTING_FAKE_DRIVER_H
#define HONE_TUNE_TESTING_FAKE_DRIVER_H

#include "tune/measure.h"

typedef struct fake_driver {
  double now;           /* the clock; seconds */
  double build_seconds; /* that building takes */
  double first_factor;  /* how much slower the first run is; 0: as fast as the others */
  /* How long a run takes; negative: -1 does not build, -2 fails to run, -3 is
   * wrong, -4 never ends, -5 is fatal. */
  double (*cost)(const hone_space_t* space, const hone_candidate_t* candidate);
  int builds, repeats, runs, releases, prepared;
  double last; /* cost of the candidate at hand */
} fake_driver_t;

hone_measurer_t fake_measurer(fake_driver_t* driver);
hone_clock_t fake_clock(fake_driver_t* driver);

#endif
