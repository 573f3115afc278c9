/* All units: every row with each of its dtypes, then random graphs. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "verify/verify.h"

static const hone_verify_family_t* const families[] = {
    &hone_verify_source, &hone_verify_elementwise, &hone_verify_cast,  &hone_verify_movement,
    &hone_verify_reduce, &hone_verify_contract,    &hone_verify_index, &hone_verify_control,
};
enum { FAMILIES = sizeof families / sizeof *families };

static const char* const verdicts[HONE_VERIFY_VERDICT_COUNT] = {"absent", "same", "interpreted",
                                                                "differs", "failed"};

const char* hone_verify_verdict_name(hone_verify_verdict_t verdict) { return verdicts[verdict]; }

/* A seed of its own for each name, so that a unit alone gets the same numbers. */
static uint64_t seed_of(const char* name, uint64_t seed) {
  uint64_t hash = 14695981039346656037u ^ seed;
  for (const char* c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  return hash;
}

static void name_unit(hone_verify_unit_t* unit) {
  const hone_verify_row_t* row = unit->row;
  const char* to = "";
  bool casts = row->prim == HONE_PRIM_CAST || row->prim == HONE_PRIM_BITCAST;
  if (casts) to = hone_dtype_name((hone_dtype_t)row->parameter);
  snprintf(unit->name, sizeof unit->name, "%s%s%s%s%s.%s", hone_prim_info(row->prim)->name,
           row->variant ? "." : "", row->variant ? row->variant : "", casts ? "." : "", to,
           hone_dtype_name(unit->dtype));
}

static int count_units(void) {
  int count = 0;
  for (int f = 0; f < FAMILIES; f++)
    for (int r = 0; r < families[f]->count; r++)
      count += __builtin_popcountll(families[f]->rows[r].dtypes);
  return count;
}

static hone_verify_unit_t* add_row(hone_verify_unit_t* at, const hone_verify_row_t* row,
                                   uint64_t seed) {
  for (int dtype = 0; dtype < HONE_DTYPE_COUNT; dtype++) {
    if (!(row->dtypes & HONE_VERIFY_BIT(dtype))) continue;
    at->row = row;
    at->dtype = (hone_dtype_t)dtype;
    name_unit(at);
    at->seed = seed_of(at->name, seed);
    at++;
  }
  return at;
}

hone_status_t hone_verify_plan(hone_arena_t* arena, int n_random, uint64_t seed, int* out_count,
                               hone_verify_unit_t** out_units) {
  *out_count = count_units() + n_random;
  *out_units = hone_arena_array(arena, (size_t)*out_count, sizeof **out_units);
  if (!*out_units) return hone_oom();
  hone_verify_unit_t* at = *out_units;
  for (int f = 0; f < FAMILIES; f++)
    for (int r = 0; r < families[f]->count; r++) at = add_row(at, &families[f]->rows[r], seed);
  for (int i = 0; i < n_random; i++, at++) {
    snprintf(at->name, sizeof at->name, "random.%d", i);
    at->seed = seed_of(at->name, seed);
  }
  return NULL;
}
