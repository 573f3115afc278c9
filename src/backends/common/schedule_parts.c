/* Sums of a tile that are added up part by part, so that they lose less: where a part ends, the
 * tile's sums go to what they have come to, in the cache, and begin again. */
#include "backends/common/schedule_impl.h"
#include "base/memory.h"

enum { LONGEST = 16 /* numbers in a part */ };

/* Some rounds of a sum's loop, `most` at most. */
static hone_stmt_t* cut_part(hone_recipe_t* r, const hone_stmt_t* sum, int64_t most) {
  char name[HONE_LOOP_NAME], inner[HONE_LOOP_NAME];
  int64_t rounds = most;
  if (!hone_loop_name(name, sum->name, "") || !hone_loop_name(inner, name, ".i")) return NULL;
  if (hone_dim_is_int(sum->extent))
    while (rounds > most / 2 && sum->extent.k % rounds) rounds--;
  if (rounds <= most / 2) rounds = most;
  return hone_recipe_did(r, hone_sched_split(r->kernel, name, rounds, HONE_TAIL_PEEL))
             ? hone_kernel_find_loop(r->kernel, inner)
             : NULL;
}

/* The loop of which each run adds up a part: as many of the sum's as go through few enough numbers,
 * or some rounds of the innermost one. NULL: the sum is a part. */
static hone_stmt_t* find_part(hone_recipe_t* r, hone_stmt_t* sum) {
  hone_stmt_t* part = NULL;
  int64_t inside = 1, count;
  for (; hone_stmt_is_loop(sum) && sum->is_reduction; sum = sum->parent) {
    bool fits = hone_dim_is_int(sum->extent) && hone_i64_mul(inside, sum->extent.k, &count) &&
                count <= LONGEST;
    if (!fits && !part && sum->loop == HONE_LOOP_SERIAL) return cut_part(r, sum, LONGEST / inside);
    if (!fits) return part;
    inside = count;
    if (sum->loop == HONE_LOOP_SERIAL) part = sum;
  }
  return NULL;
}

void hone_schedule_parts(hone_recipe_t* r, const char* sum) {
  char inner[HONE_LOOP_NAME];
  hone_stmt_t* loop = hone_kernel_find_loop(r->kernel, sum);
  if (!loop && hone_loop_name(inner, sum, ".i")) loop = hone_kernel_find_loop(r->kernel, inner);
  hone_stmt_t* part = loop ? find_part(r, loop) : NULL;
  if (part) hone_recipe_did(r, hone_sched_subtotal(r->kernel, part->name));
}
