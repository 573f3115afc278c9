#include "base/cpu_count.h"

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Masks of up to 8192 CPUs; the kernel refuses a mask smaller than its own. */
int hone_cpu_count_affinity(void) {
  enum { MASK_CPUS = 8192 };
  unsigned long mask[MASK_CPUS / (8 * sizeof(unsigned long))] = {0};
  if (!sched_getaffinity(0, sizeof mask, (cpu_set_t*)(void*)mask)) {
    int count = CPU_COUNT_S(sizeof mask, (cpu_set_t*)(void*)mask);
    if (count > 0) return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 && online < INT_MAX ? (int)online : 1;
}

static double quota_ratio(long long quota, long long period) {
  return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

double hone_cpu_quota_v2(const char* cpu_max) {
  char* rest;
  long long quota = strtoll(cpu_max, &rest, 10);
  if (rest == cpu_max) return 0; /* "max" */
  return quota_ratio(quota, strtoll(rest, NULL, 10));
}

double hone_cpu_quota_v1(const char* quota, const char* period) {
  return quota_ratio(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* Whether `name` is one of the names, with commas between, of `length` bytes at `list`. */
static bool list_has(const char* list, size_t length, const char* name) {
  size_t wanted = strlen(name);
  for (size_t start = 0; start <= length;) {
    size_t end = start;
    while (end < length && list[end] != ',') end++;
    if (end - start == wanted && strncmp(list + start, name, wanted) == 0) return true;
    start = end + 1;
  }
  return false;
}

/* Lines are "number:controllers:path"; version 2 has no controllers. */
bool hone_cgroup_path(const char* text, const char* controller, char* out_path, size_t size) {
  for (const char *line = text, *next; *line; line = next) {
    size_t length = strcspn(line, "\n");
    next = line + length + (line[length] == '\n');
    const char* first = memchr(line, ':', length);
    const char* second = first ? memchr(first + 1, ':', length - (size_t)(first + 1 - line)) : NULL;
    if (!second || !list_has(first + 1, (size_t)(second - first - 1), controller)) continue;
    size_t path_length = length - (size_t)(second + 1 - line);
    if (path_length >= size) return false;
    memcpy(out_path, second + 1, path_length);
    out_path[path_length] = 0;
    return true;
  }
  return false;
}

/* The first bytes of a small file, as text; false when it cannot be read. */
static bool read_text(const char* path, char* out, size_t size) {
  FILE* file = fopen(path, "re");
  if (!file) return false;
  size_t got = fread(out, 1, size - 1, file);
  fclose(file);
  out[got] = 0;
  return true;
}

/* What two limits together allow, 0 being none. */
static double smaller_limit(double a, double b) {
  if (a <= 0) return b;
  return b > 0 && b < a ? b : a;
}

enum { TEXT_SIZE = 64, PATH_SIZE = 4096, FULL_PATH_SIZE = 2 * PATH_SIZE };

static double group_quota_v2(const char* folder) {
  char path[FULL_PATH_SIZE + 32], text[TEXT_SIZE];
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  return read_text(path, text, sizeof text) ? hone_cpu_quota_v2(text) : 0;
}

static double group_quota_v1(const char* folder) {
  char path[FULL_PATH_SIZE + 32], quota[TEXT_SIZE], period[TEXT_SIZE];
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!read_text(path, quota, sizeof quota)) return 0;
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  return read_text(path, period, sizeof period) ? hone_cpu_quota_v1(quota, period) : 0;
}

/* The tightest limit from `group` up to the mount itself. */
static double mount_quota(const char* root, const char* mount, char* group,
                          double (*group_quota)(const char* folder)) {
  double tightest = 0;
  for (;;) {
    char folder[FULL_PATH_SIZE];
    int length = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, mount, group);
    if (length > 0 && (size_t)length < sizeof folder)
      tightest = smaller_limit(tightest, group_quota(folder));
    char* slash = strrchr(group, '/');
    if (!slash) return tightest;
    *slash = 0;
  }
}

double hone_cpu_quota(const char* root) {
  char text[PATH_SIZE], group[PATH_SIZE], path[FULL_PATH_SIZE];
  double quota = 0;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!read_text(path, text, sizeof text)) return 0;
  if (hone_cgroup_path(text, "", group, sizeof group))
    quota = mount_quota(root, "", group, group_quota_v2);
  if (hone_cgroup_path(text, "cpu", group, sizeof group))
    quota = smaller_limit(quota, mount_quota(root, "/cpu", group, group_quota_v1));
  return quota;
}

int hone_cpu_count(void) {
  int count = hone_cpu_count_affinity();
  double quota = hone_cpu_quota("");
  if (quota <= 0 || quota >= count) return count;
  int whole = (int)quota;
  return quota > whole ? whole + 1 : whole;
}
