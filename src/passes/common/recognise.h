/* Recognition: subgraphs that a pattern describes become calls of its label.
 * The arithmetic stays what it is; what is gained is that later stages see
 * "softmax" instead of five primitives, in whatever spelling the model had it. */
#ifndef HONE_PASSES_COMMON_RECOGNISE_H
#define HONE_PASSES_COMMON_RECOGNISE_H

#include "passes/common/pattern.h"
#include "passes/pass.h"

typedef struct hone_recognition {
  const char* label;
  const char* pattern; /* see pattern.h; a value named x has the axes of the result */
  const char* inputs;  /* names, parted by spaces: the first inputs of the call */
  /* Whether a match is wanted; NULL: always. */
  bool (*accept)(const hone_pattern_match_t* match);
} hone_recognition_t;

/* Wraps all that the table describes, in the root graph and in the bodies of if
 * and loop. Each node belongs to one call at most; nodes are tried from the last
 * to the first, rows in order, so that what reaches farthest wins. Nothing but
 * the pattern's root may be used elsewhere (what only repeats an input may: it
 * then stays outside). */
HONE_MUST_USE hone_status_t hone_recognise(hone_pass_context_t* context, hone_graph_t* graph,
                                           int count, const hone_recognition_t* table);

#endif
