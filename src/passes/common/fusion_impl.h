/* The inside of planning kernels, for fusion*.c only. */
#ifndef HONE_PASSES_COMMON_FUSION_IMPL_H
#define HONE_PASSES_COMMON_FUSION_IMPL_H

#include "passes/common/fusion.h"

typedef enum hone_fusion_kind {
  HONE_FUSION_MAP,      /* elementwise and movement */
  HONE_FUSION_REDUCE,   /* … with reductions over the rows of one shape */
  HONE_FUSION_CONTRACT, /* … with one contraction, or a chain of two */
  HONE_FUSION_WHOLE,    /* a scan, scatter or concat, with what it reads */
} hone_fusion_kind_t;

struct hone_fusion_group {
  hone_fusion_kind_t kind;
  int first, last;           /* lowest and highest node */
  int merged;                /* the group it has gone into, or -1 */
  const hone_node_t* anchor; /* that made it what it is; its only node at first */
  const hone_value_t* shape; /* the extents that its loops run over */
  const hone_value_t* rows;  /* REDUCE: the operand, when its rows are short enough to keep */
};

typedef struct hone_fusion_search {
  const hone_fusion_t* f;
  const int* index_of; /* by value: its node */
  int* uses;           /* by value: readers, and outputs of the graph */
  int* last_reader;    /* by value: the last node that reads it */
  int* seen;           /* by node: the number of the last search that came by */
  int number;
  int* tree; /* by node: how many nodes of its group are above it, each counted for every way */
} hone_fusion_search_t;

/* ---- fusion.c ---- */

hone_fusion_kind_t hone_fusion_kind_of(const hone_node_t* node);
/* Whether it is elementwise, or gives its operand's elements another order or shape. */
bool hone_fusion_keeps_shape(const hone_node_t* node);
/* The group of a node, or of what makes a value; -1: it has none. */
int hone_fusion_group_at(const hone_fusion_t* f, int node);
int hone_fusion_group_of(const hone_fusion_t* f, const int* index_of, const hone_value_t* v);
int hone_fusion_start_group(hone_fusion_t* f, const hone_node_t* node, int index);
void hone_fusion_merge(hone_fusion_t* f, int from, int into);
void hone_fusion_move(hone_fusion_t* f, int node, int group);
/* Whether all would be looked at too often in one group. */
bool hone_fusion_grows_too_large(const hone_fusion_search_t* s, int one, int other);
/* Whether one reader alone reads the group, and which. */
int hone_fusion_only_reader(const hone_fusion_t* f, const hone_fusion_search_t* s, int group,
                            bool* out_is_only);
/* Whether an output of the graph is among what the group gives. */
bool hone_fusion_gives_output(const hone_fusion_t* f, const hone_fusion_search_t* s, int group);

/* ---- fusion_chain.c ---- */

/* Follows an axis of `value` down the group's elementwise nodes and views to the result of
 * `target`, or, where that is NULL, to the first value that another group makes. */
int hone_fusion_trace(const hone_fusion_search_t* s, int group, const hone_value_t** value,
                      int axis, const hone_node_t* target, int* steps);
/* Whether neither operand comes from constants. Products of layers are better apart: weights are
 * laid out, and shared out among threads. */
bool hone_fusion_is_of_values(const hone_node_t* contract);
void hone_fusion_join_chains(hone_fusion_t* f, hone_fusion_search_t* s);

/* ---- fusion_blocks.c ---- */

void hone_fusion_join_blocks(hone_fusion_t* f, const hone_fusion_search_t* s);

/* ---- fusion_results.c ---- */

void hone_fusion_leave_followed_out(hone_fusion_t* f, const hone_fusion_search_t* s);
void hone_fusion_leave_views_out(hone_fusion_t* f, const hone_fusion_search_t* s);
void hone_fusion_leave_turned_out(hone_fusion_t* f, const hone_fusion_search_t* s);
void hone_fusion_leave_mixing_out(hone_fusion_t* f, const hone_fusion_search_t* s);

#endif
