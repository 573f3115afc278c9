/* Guards: what a kernel takes for granted of sizes that are not known to be so
 * when it is made. Types promise most of it; what is left (two open extents that
 * ought to be equal) is looked at when the sizes are there. */
#ifndef HONE_RUNTIME_GUARD_H
#define HONE_RUNTIME_GUARD_H

#include "runtime/program.h"

/* Guards of all nodes of a region and of regions in it, over symbols of `dims`,
 * which are the graph's. The list is in `arena`. */
HONE_MUST_USE hone_status_t hone_guards_of(hone_dims_t* dims, hone_arena_t* arena,
                                           const hone_graph_t* region, int* out_count,
                                           hone_guard_t** out_guards);
/* Whether those of a launch hold; else `ref` runs the step. */
bool hone_guards_hold(const hone_step_t* step, const int64_t* symbols);

#endif
