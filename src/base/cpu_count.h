/* How many CPUs this process may use: those of its affinity mask, or fewer
 * where a control group gives it less time than that. */
#ifndef HONE_BASE_CPU_COUNT_H
#define HONE_BASE_CPU_COUNT_H

#include <stdbool.h>
#include <stddef.h>

/* At least 1. A quota of part of a CPU counts as a whole one. */
int hone_cpu_count(void);

/* The parts, for tests. `root` stands for "/". */
int hone_cpu_count_affinity(void);
/* CPUs' worth of time that the control groups (version 1 and 2, all the
 * levels above this process too) allow; 0 when there is no limit. */
double hone_cpu_quota(const char* root);

/* From the text of cpu.max ("150000 100000", "max 100000"); 0: no limit. */
double hone_cpu_quota_v2(const char* cpu_max);
/* From the texts of cpu.cfs_quota_us and cpu.cfs_period_us; 0: no limit. */
double hone_cpu_quota_v1(const char* quota, const char* period);
/* The group of `controller` ("cpu"; "" is version 2) in the text of
 * /proc/self/cgroup. False when it is not there or longer than `size`. */
bool hone_cgroup_path(const char* text, const char* controller, char* out_path, size_t size);

#endif
