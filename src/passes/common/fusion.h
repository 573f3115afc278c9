/* Which nodes of a graph one kernel computes: the plan that `fuse` carries out. */
#ifndef HONE_PASSES_COMMON_FUSION_H
#define HONE_PASSES_COMMON_FUSION_H

#include "ir/graph.h"

typedef struct hone_fusion_group hone_fusion_group_t;

typedef struct hone_fusion {
  const hone_graph_t* graph;
  int n_nodes; /* of the graph when it was planned; outlining changes it */
  int n_groups;
  int64_t longest_row;
  int* group_of;               /* by node: its group, or -1 */
  hone_fusion_group_t* groups; /* by group */
} hone_fusion_t;

/* Plans one graph; its regions are left alone. Rows of sums that are summed over in turn, as the
 * scores of attention, may have `longest_row` elements. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_fusion_plan(const hone_graph_t* graph, int64_t longest_row,
                                             hone_fusion_t* out_fusion);
void hone_fusion_free(hone_fusion_t* fusion);
/* The node that the group is named after. */
const char* hone_fusion_origin(const hone_fusion_t* fusion, int group);

/* Whether a node can be part of a kernel at all. */
bool hone_fusion_is_member(const hone_node_t* node);
/* Movement of one operand, which is nothing but another index. */
bool hone_fusion_is_view(const hone_node_t* node);
/* The permute that puts the rows side by side which the gather looks up, where those are not much
 * fewer than the table has; NULL: there is none. */
const hone_value_t* hone_fusion_turned_rows(const hone_graph_t* graph, const hone_node_t* gather);
/* The operand of a node that casts or reshapes it, or adds, takes or multiplies with what is
 * cheap; NULL: the node does something else. */
hone_value_t* hone_fusion_widened(const hone_node_t* node);
/* The narrower value that this one is made of by a cast and arithmetic with cheap values, as
 * dequantizing does, which each reader can do for itself; NULL: there is none. */
hone_value_t* hone_fusion_narrow(const hone_value_t* value);

#endif
