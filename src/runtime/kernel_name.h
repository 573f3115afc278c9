/* Names of kernels for people: what was recognised, and the operators they came from. */
#ifndef HONE_RUNTIME_KERNEL_NAME_H
#define HONE_RUNTIME_KERNEL_NAME_H

#include "ir/graph.h"

/* "attention_softmax_12": labels, then operators, of the call's nodes, at most three
 * together, and its number. In the arena; NULL when memory is out. */
const char* hone_kernel_name(hone_arena_t* arena, const hone_node_t* call, int number);

/* The same for the kernel of all rounds of a loop. */
const char* hone_kernel_loop_name(hone_arena_t* arena, const hone_node_t* loop, int number);

#endif
