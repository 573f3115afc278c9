#include "report_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int slowest_first(const void* a, const void* b) {
  double x = ((const hone_type_sum_t*)a)->seconds, y = ((const hone_type_sum_t*)b)->seconds;
  return x > y ? -1 : x < y;
}

hone_status_t hone_types_sum(const hone_report_t* report, hone_types_t* out) {
  *out = (hone_types_t){.room = hone_report_step_count(report)};
  out->list = hone_alloc(NULL, (size_t)out->room * sizeof *out->list);
  if (!out->list) return hone_oom();
  for (int i = 0; i < out->room; i++) {
    const hone_report_step_t* step = hone_report_step(report, i);
    char name[64];
    int k = 0;
    if (!(step->runs > 0)) continue;
    hone_step_type(step, name);
    while (k < out->count && strcmp(out->list[k].name, name) != 0) k++;
    if (k == out->count) memcpy(out->list[out->count++].name, name, sizeof name);
    out->list[k].steps++;
    out->list[k].seconds += step->seconds;
  }
  qsort(out->list, (size_t)out->count, sizeof *out->list, slowest_first);
  return NULL;
}

void hone_types_free(hone_types_t* types) {
  hone_free(NULL, types->list, (size_t)types->room * sizeof *types->list);
  *types = (hone_types_t){0};
}
