/* What a run gives away. */
#ifndef HONE_RUNTIME_OUTPUT_H
#define HONE_RUNTIME_OUTPUT_H

#include "runtime/program.h"

/* A reference to `result` for the caller, who may keep it longer than the model, or the engine's
 * file: of weights, which lie there, to a copy; the same of what is in a sequence or a map. Errors:
 * OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_output_own(const hone_program_t* program, hone_tensor_t* result,
                                            hone_tensor_t** out_output);

#endif
