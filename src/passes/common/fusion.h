/* Which nodes of a graph one kernel computes: the plan that `fuse` carries out. */
#ifndef HONE_PASSES_COMMON_FUSION_H
#define HONE_PASSES_COMMON_FUSION_H

#include "ir/graph.h"

typedef struct hone_fusion_group hone_fusion_group_t;

typedef struct hone_fusion {
  const hone_graph_t* graph;
  int n_nodes; /* of the graph when it was planned; outlining changes it */
  int n_groups;
  int* group_of;               /* by node: its group, or -1 */
  hone_fusion_group_t* groups; /* by group */
} hone_fusion_t;

/* Plans one graph; its regions are left alone. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_fusion_plan(const hone_graph_t* graph, hone_fusion_t* out_fusion);
void hone_fusion_free(hone_fusion_t* fusion);
/* The node that the group is named after. */
const char* hone_fusion_origin(const hone_fusion_t* fusion, int group);

/* Whether a node can be part of a kernel at all. */
bool hone_fusion_is_member(const hone_node_t* node);
/* Movement of one operand, which is nothing but another index. */
bool hone_fusion_is_view(const hone_node_t* node);

#endif
