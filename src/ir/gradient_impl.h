/* Between gradient.c, which walks the graph, and the rules. */
#ifndef HONE_IR_GRADIENT_IMPL_H
#define HONE_IR_GRADIENT_IMPL_H

#include "ir/gradient.h"

typedef struct hone_gradient {
  hone_builder_t* b;
  int n_values;            /* of the graph before the gradient was begun */
  bool* depends;           /* by value id: on one of the xs */
  hone_value_t** adjoints; /* by value id: what has come together so far; NULL is zero */
} hone_gradient_t;

/* Hands `g`, the gradient of the node's output, on to its inputs. */
typedef void (*hone_gradient_rule_t)(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g);

/* By primitive; NULL where there is none. */
extern const hone_gradient_rule_t hone_gradient_rules[HONE_PRIM_COUNT];

/* True when input `index` of the node wants a gradient. */
bool hone_gradient_wanted(const hone_gradient_t* s, const hone_node_t* node, int index);
/* Adds to the gradient of input `index`. */
void hone_gradient_add(hone_gradient_t* s, const hone_node_t* node, int index, hone_value_t* g);

#endif
