/* Programs as bytes: everything but the weights' elements and the kernels'
 * binary, which engine files keep in sections of their own. */
#ifndef HONE_RUNTIME_ENGINE_PROGRAM_H
#define HONE_RUNTIME_ENGINE_PROGRAM_H

#include "base/shared_file.h"
#include "runtime/engine_io.h"
#include "runtime/program.h"

/* Appends the program and the names and types of the graph's inputs and outputs.
 * Errors: OUT_OF_MEMORY, UNSUPPORTED (a step that cannot be written). */
HONE_MUST_USE hone_status_t hone_program_write(hone_program_t* program, const hone_graph_t* graph,
                                               hone_str_t* out);
/* The reverse, into a program that was just created. Weights get their elements
 * from `data`, which is used in place: it lies in `file`, which weights hold on to; where that is
 * NULL it must outlive them. `out_graph` has the inputs and outputs and nothing else.
 * hone_program_finish and loading the kernels come next. Errors: INVALID_DATA, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_program_read(hone_program_t* program, const void* bytes,
                                              size_t size, const void* data, size_t data_size,
                                              hone_shared_file_t* file, hone_graph_t** out_graph);
/* Whether a program that was read hangs together: what a step reads was made
 * before, and bodies fit those that run them. Errors: INVALID_DATA, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_program_check(const hone_program_t* program);
/* Where weight `index` has its elements in the data: in order, each aligned. */
size_t hone_weight_offset(const hone_program_t* program, int index);

enum { HONE_WEIGHT_ALIGNMENT = 64 };

#endif
