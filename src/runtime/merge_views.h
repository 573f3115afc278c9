/* Views that need no step. */
#ifndef HONE_RUNTIME_MERGE_VIEWS_H
#define HONE_RUNTIME_MERGE_VIEWS_H

#include "runtime/program.h"

/* Takes out the views of a routine whose steps are complete, where their readers can do without.
 * Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_routine_merge_views(hone_program_t* program,
                                                     hone_routine_t* routine);

#endif
