/* `hone compile --precision mixed`: inputs to measure on, and what was chosen. */
#ifndef HONE_TOOLS_COMPILE_MIXED_H
#define HONE_TOOLS_COMPILE_MIXED_H

#include <jansson.h>
#include <stdio.h>

#include "command.h"
#include "hone/mixed.h"

bool hone_mixed_is_asked(const hone_cli_t* cli);
/* --error-bound; a usage error (noted) when it is no number above 0. 0: not given. */
double hone_mixed_bound(hone_cli_t* cli);
/* Compiles on the inputs of --data, or random ones. */
HONE_MUST_USE hone_status_t hone_mixed_compile(hone_cli_t* cli, const hone_model_t* model,
                                               const hone_engine_options_t* options,
                                               hone_engine_t** out_engine,
                                               hone_mixed_report_t** out_report);
/* A line on the whole. */
void hone_mixed_print(const hone_mixed_report_t* report, FILE* to);
/* A line for each contraction that could be narrow. */
void hone_mixed_explain(const hone_mixed_report_t* report, FILE* to);
json_t* hone_mixed_json(const hone_mixed_report_t* report);

#endif
