/* The recipes for CPUs, which every backend for them shares. */
#ifndef HONE_BACKENDS_CPU_SCHEDULE_H
#define HONE_BACKENDS_CPU_SCHEDULE_H

#include "backends/common/schedule.h"

#endif
