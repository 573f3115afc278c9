/* Calls made of nodes, and nodes of calls: what recognition and fusion do to a
 * graph. Neither changes what is computed. Both take time in proportion to the
 * graph, however many calls there are, and keep the values that are used
 * outside of a group (the same pointers, with other numbers). Not thread-safe
 * on one graph. On failure, which is OUT_OF_MEMORY only, the graph can only be
 * destroyed. */
#ifndef HONE_IR_OUTLINE_H
#define HONE_IR_OUTLINE_H

#include "ir/graph.h"

typedef struct hone_group {
  const char* label;  /* of the call: a word of a-z, 0-9 and _ */
  const char* origin; /* of the call; NULL: that of the group's last node */
  /* These become the first inputs of the call, in this order, those of them
   * that it needs. The others follow in the order of their first use. */
  int n_first;
  hone_value_t* const* first;
  hone_node_t* call; /* out: the call; NULL where the group stays as it was */
} hone_group_t;

/* Whether a value has next to no cost, so that it is made where it is needed
 * instead of being passed around: a constant of one element, iota and dims, and
 * reshapes and expands of such (a few in a row). */
bool hone_value_is_cheap(const hone_value_t* value);
/* Whether a value is what rounding leaves over of what `rounded` is a cast of, rounded itself. */
bool hone_value_is_rest(const hone_value_t* value, const hone_value_t* rounded);

/* Puts the nodes of each group of `graph` into one call in their place:
 * group_of[i] is the group of graph->nodes[i], or -1. Inputs of the call are
 * the values that come from outside, its outputs those that are used outside,
 * or are the graph's, in the order of their nodes. Cheap values are nobody's
 * members: each group gets copies of those it uses, and so it does of expands
 * that are in no group (with reshapes right below them), so that nothing is
 * passed around in an expanded form.
 *
 * A group stays as it was when a node of it binds a symbol, when a path leaves
 * it and comes back (also over other groups: then one of them stays), or when
 * nothing of it is needed. Nodes may be reordered. */
HONE_MUST_USE hone_status_t hone_graph_outline(hone_graph_t* graph, int n_groups,
                                               hone_group_t* groups, const int* group_of);

/* The reverse: puts the nodes of calls with that label (NULL: of all) in the
 * place of the calls, in regions too. They carry the label from then on. */
HONE_MUST_USE hone_status_t hone_graph_inline(hone_graph_t* graph, const char* label);

#endif
