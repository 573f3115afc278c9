/* Types in text: "f32[batch, 3]", "sequence(i64[?])", "any". */
#ifndef HONE_IR_TYPE_TEXT_H
#define HONE_IR_TYPE_TEXT_H

#include "ir/graph.h"

/* Each writes at most `size` bytes with the 0 and gives the full length. */
size_t hone_type_print(const hone_type_t* type, char* buffer, size_t size);
/* Of a run-time tensor. */
size_t hone_tensor_type_print(const hone_tensor_t* tensor, char* buffer, size_t size);

#endif
