/* Rewriting a graph in place, node by node.
 *
 * A sweep walks the nodes in order and writes the list of nodes anew. For each
 * node it asks a rule; what the rule builds goes into the list just there, so
 * that everything it may look at (the operands of the node, and what they were
 * made from) stands before it, and single assignment holds by construction.
 * When the rule gives a value, that one takes the place of the node's: later
 * nodes, outputs and the symbols that the old value bound are moved over to it.
 * What nobody needs any more is dropped when the sweep is over.
 *
 * Regions are swept when the node they belong to is reached. A rule sees one
 * graph at a time; regions are closed, so it need not care which. The insides
 * of calls are left alone: who looks for a label expects what was put there. */
#ifndef HONE_PASSES_COMMON_REWRITE_H
#define HONE_PASSES_COMMON_REWRITE_H

#include "ir/builder.h"
#include "passes/pass.h"

typedef struct hone_rewriter hone_rewriter_t;

/* Looks at `node`, whose inputs have been rewritten already. Builds with
 * r->b and gives the value that takes the place of output 0, or NULL to leave
 * the node as it is. Whoever gives a value also calls hone_pass_did. Values
 * built in vain are harmless. Of a node with several outputs, those not
 * replaced (hone_rewrite_replace) keep the node alive. */
typedef hone_value_t* (*hone_rule_fn)(hone_rewriter_t* r, hone_node_t* node);

struct hone_rewriter {
  hone_pass_context_t* context;
  hone_graph_t* graph; /* the one being swept: the root or a region */
  hone_builder_t* b;   /* builds into it; notes the origin of the node at hand */
  void* self;          /* the pass's own */
  hone_rule_fn rule;
  bool skip_regions; /* leave all regions alone */
  int first_new;     /* nodes from this one on were made for the node at hand */
};

/* One sweep over a root graph and all regions in it; then drops what is dead. */
HONE_MUST_USE hone_status_t hone_rewrite_once(hone_pass_context_t* context, hone_graph_t* graph,
                                              hone_rule_fn rule, void* self);
/* Sweeps until nothing changes (at most 16 times). */
HONE_MUST_USE hone_status_t hone_rewrite(hone_pass_context_t* context, hone_graph_t* graph,
                                         hone_rule_fn rule, void* self);
/* One sweep of a rewriter whose context, self, rule and skip_regions are set.
 * `graph` may be a region when regions are skipped. */
HONE_MUST_USE hone_status_t hone_rewrite_sweep(hone_rewriter_t* rewriter, hone_graph_t* graph);

/* One sweep over a graph and all regions in it, those of calls too: for passes that look for
 * primitives, whatever they are part of. */
HONE_MUST_USE hone_status_t hone_rewrite_everywhere(hone_pass_context_t* context,
                                                    hone_graph_t* graph, hone_rule_fn rule,
                                                    void* self);

/* Has `now` take the place of `old`, an output of the node at hand, for all
 * that comes later. Both of one dtype and shape, as far as those of `old` are
 * known. */
void hone_rewrite_replace(hone_rewriter_t* r, hone_value_t* old, hone_value_t* now);
/* What has taken the place of `value` by now; itself when nothing has. */
hone_value_t* hone_rewrite_resolve(hone_value_t* value);
/* Copies `node` (attributes, origin) with other inputs; its output, typed anew. */
hone_value_t* hone_rewrite_copy(hone_rewriter_t* r, const hone_node_t* node,
                                hone_value_t* const* inputs);
/* Notes in what is built from now on, for the node at hand, that it comes from
 * `also` as well: "conv1 (Conv) + bn1 (BatchNormalization)". */
void hone_rewrite_blend(hone_rewriter_t* r, const hone_node_t* also);

/* True when one use is all there is, symbols it binds included. */
bool hone_rewrite_used_once(const hone_value_t* value);

#endif
