/* What is different about the structure of two models. */
#ifndef HONE_TOOLS_DIFF_STRUCTURE_H
#define HONE_TOOLS_DIFF_STRUCTURE_H

#include "ir/model.h"

typedef struct hone_change {
  char sign;          /* '~' changed, '-' only in the first, '+' only in the second */
  const char* what;   /* "node", "weight", "input", "output", "opset" */
  const char* name;   /* of a node: its name, or what it makes */
  const char* detail; /* "Relu became Sigmoid" */
} hone_change_t;

typedef struct hone_changes {
  int64_t count;
  hone_change_t* items;
} hone_changes_t;

/* Nodes are matched by what they make, all else by name. In `arena`; names are
 * the models'. */
HONE_MUST_USE hone_status_t hone_diff_structure(hone_arena_t* arena, const hone_model_t* a,
                                                const hone_model_t* b, hone_changes_t* out_changes);

#endif
