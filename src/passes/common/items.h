/* Items: which axis of a value goes along the items of a batch, such as images, where each
 * item's part follows from that item alone. */
#ifndef HONE_PASSES_COMMON_ITEMS_H
#define HONE_PASSES_COMMON_ITEMS_H

#include "ir/builder.h"

enum {
  HONE_ITEMS_NONE = -1, /* instead of an axis: the same for all items */
  HONE_ITEMS_MIXED = -2 /* nothing that can be told apart */
};

typedef struct hone_items {
  hone_dim_t count;
  int* axis; /* by value of a graph */
} hone_items_t;

/* The axis of a node's output, once those of its operands are known. */
int hone_items_axis_of(const hone_items_t* items, hone_dims_t* dims, const hone_node_t* node);

/* The node for one item, whose axis has an extent of 1: `inputs` are what its operands have
 * become. Operands that are the same for all items are made to fit. NULL: b has the error. */
hone_value_t* hone_items_copy(const hone_items_t* items, hone_builder_t* b, const hone_node_t* node,
                              hone_value_t* const* inputs);

#endif
