/* Content: the elements of small integer tensors, as dimension expressions.
 * Shape arithmetic in a model (Shape, Gather, Concat, Mul …) becomes arithmetic
 * on expressions through it, so that sizes stay symbolic and constants fold. */
#ifndef HONE_IR_CONTENT_H
#define HONE_IR_CONTENT_H

#include "ir/graph.h"

/* Sets the content of the outputs of a node just made, where it follows from
 * the content of its inputs. Without memory it stays unknown. */
void hone_content_infer(hone_graph_t* graph, hone_node_t* node);

#endif
