/* Between the files that move nodes from one graph to another. */
#ifndef HONE_IR_GRAPH_IMPL_H
#define HONE_IR_GRAPH_IMPL_H

#include "ir/graph.h"

/* Puts a node that exists at the end of `graph`; its values get their numbers
 * from hone_graph_number. False when memory is out. */
bool hone_graph_place(hone_graph_t* graph, hone_node_t* node);
/* Numbers the values anew, in the order of the nodes. False when memory is out. */
bool hone_graph_number(hone_graph_t* graph);

#endif
