/* Routines from graphs: which step each node becomes. */
#ifndef HONE_RUNTIME_ROUTINE_H
#define HONE_RUNTIME_ROUTINE_H

#include "loop/chain.h"
#include "loop/kernel.h"
#include "runtime/program.h"

/* What became of a call, or of a loop: a kernel, or the reason why there is none. */
typedef struct hone_call_kernel {
  hone_kernel_t* form; /* as scheduled; NULL: interpreted */
  bool is_shared;      /* the form belongs to an equal call before */
  const char* name;    /* of the call's own kernel */
  int index;           /* among the program's kernels */
  const char* reason;  /* where there is no kernel */
  hone_work_t work;    /* over the form's sizes */
  hone_chain_t chain;  /* of a loop */
  bool is_chained;     /* part of one: it is not launched by itself */
} hone_call_kernel_t;

typedef struct hone_routine_source {
  hone_graph_t* graph; /* a root; must outlive the program */
  /* What became of a node of primitive call or loop; NULL: nothing. */
  const hone_call_kernel_t* (*find)(void* self, const hone_node_t* call);
  void* self;
  bool keep_nodes; /* launches keep what they compute as a graph too */
  /* The graph's constants go when the last kernel that reads them has them in an order of its own.
   */
  bool spends_constants;
} hone_routine_source_t;

/* Fills a program, which must be empty but for its kernels, with the routines of
 * the graph and of its regions. hone_program_finish comes next.
 * Errors: UNSUPPORTED, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_program_add_graph(hone_program_t* program,
                                                   const hone_routine_source_t* source);

/* The extents that a scheduled kernel is launched with, over its sizes: rounds
 * of its parallel loops, which count one after the other (what stands beside them
 * goes with the first), or its group loops from the outside in; and the extents of
 * the loops over work-items. */
void hone_kernel_grid(const hone_kernel_t* kernel, hone_dim_t out_groups[3],
                      hone_dim_t out_locals[3]);

#endif
