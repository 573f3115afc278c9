/* `hone diff`: what its parts share. cmd_diff.c puts them in a row:
 * diff_recorded.c reads recorded values, diff_values.c runs models and looks at
 * values inside them, diff_case.c writes the small model, diff_print.c reports. */
#ifndef HONE_TOOLS_DIFF_H
#define HONE_TOOLS_DIFF_H

#include "base/map.h"
#include "diff_structure.h"
#include "difference.h"
#include "run.h"

/* A value that was compared. */
typedef struct hone_diff_row {
  const char* name;
  hone_difference_t difference;
} hone_diff_row_t;

/* Node numbers of a model's main graph, ascending. */
typedef struct hone_diff_nodes {
  int64_t count;
  int64_t* items;
} hone_diff_nodes_t;

typedef struct hone_diff {
  hone_run_t run;        /* of the first model, with the inputs */
  hone_model_t* other;   /* the second model; NULL: recorded values */
  hone_model_t* subject; /* whose nodes are named: the second model, or the only one */
  hone_tolerance_t tolerance;
  hone_map_t expected; /* name to tensor, one reference each: by the first model, or recorded */
  hone_map_t actual;   /* the same by the subject */
  hone_changes_t changes;
  int n_outputs;
  hone_diff_row_t* outputs; /* those that could be compared */
  int64_t n_compared;       /* values, outputs included */
  int64_t n_unknown;        /* recorded values that the model does not have */
  bool differs;
  int64_t node;             /* the first one that differs; -1: none is known */
  hone_diff_row_t first;    /* its output */
  hone_diff_nodes_t before; /* nodes before it that could be at fault as well */
  const char* folder;       /* of the small model; NULL: not written */
  int case_inputs, case_outputs;
} hone_diff_t;

/* Takes over a reference; a value that is there already is replaced. */
HONE_MUST_USE hone_status_t hone_diff_put(hone_map_t* values, const char* name,
                                          hone_tensor_t* tensor);

/* ---- recorded values ---- */

/* Reads the files of --against to diff->expected, and to the inputs of the run. */
HONE_MUST_USE hone_status_t hone_diff_read_recorded(hone_diff_t* diff);

/* ---- values ---- */

/* Runs `model` on the inputs and puts its outputs, and the values of `names`,
 * into `values`. */
HONE_MUST_USE hone_status_t hone_diff_run(hone_diff_t* diff, const hone_model_t* model,
                                          int64_t count, const char* const* names,
                                          hone_map_t* values);
/* Compares outputs, then the values between nodes; finds the first that differs. */
HONE_MUST_USE hone_status_t hone_diff_compare(hone_diff_t* diff);
/* The nodes of `model` that take part in making the value `name`, as far back
 * as the values that have been compared; without Constant nodes. */
HONE_MUST_USE hone_status_t hone_diff_makers(hone_diff_t* diff, const hone_model_t* model,
                                             const char* name, hone_diff_nodes_t* out_nodes);
/* "conv3", or what the node makes when it has no name. */
const char* hone_diff_node_name(const hone_onnx_node_t* node);

/* ---- the small model, and the report ---- */

/* Writes the node that differs as a model with its inputs to diff->folder. */
HONE_MUST_USE hone_status_t hone_diff_write_case(hone_diff_t* diff);
HONE_MUST_USE hone_status_t hone_diff_print(const hone_diff_t* diff);
HONE_MUST_USE hone_status_t hone_diff_print_json(const hone_diff_t* diff);

/* ---- kernels ---- */

/* Compares the kernels of argument 0 on --device with `ref`, and reports. */
HONE_MUST_USE hone_status_t hone_diff_kernels(hone_cli_t* cli, hone_tolerance_t tolerance,
                                              bool* out_differs);

#endif
