/* Reporting: what `plan`, `explain` and `profile` share: a model or an engine made
 * ready, inputs for it, and the report on it (hone/report.h). */
#ifndef HONE_TOOLS_REPORTING_H
#define HONE_TOOLS_REPORTING_H

#include "base/str.h"
#include "hone/report.h"
#include "json.h"
#include "run.h"

typedef struct hone_reporting {
  hone_run_t run; /* its inputs, subject and session */
  hone_report_t* report;
  bool guesses; /* inputs have sizes that nobody gave */
} hone_reporting_t;

/* Opens the first argument on --device (else cpu, or what the engine is for), for
 * the sizes of --dim. */
HONE_MUST_USE hone_status_t hone_reporting_open(hone_cli_t* cli, hone_reporting_t* out);
/* Reads the inputs of the command line, makes up the rest, and makes the report
 * anew for them; `limits`: with what the device can do. */
HONE_MUST_USE hone_status_t hone_reporting_add_inputs(hone_reporting_t* r, bool limits);
/* hone_report_measure on these inputs. */
HONE_MUST_USE hone_status_t hone_reporting_measure(hone_reporting_t* r, int runs,
                                                   hone_profile_fn profile, void* self);
void hone_reporting_close(hone_reporting_t* r);

/* ---- what is said of it ---- */

enum { HONE_AMOUNT_SIZE = 32 };

/* "1.53 MB", "20 B" */
void hone_print_bytes(double bytes, char out[HONE_AMOUNT_SIZE]);
/* "1.53 ms", "20.1 us" */
void hone_print_seconds(double seconds, char out[HONE_AMOUNT_SIZE]);
/* The type of the model's node that stands for the step, "Conv"; else its name. */
void hone_step_type(const hone_report_step_t* step, char out[64]);
/* Of what the device could do, 0 … 1, while the step ran; 0: not known. */
double hone_step_share(const hone_report_step_t* step);
bool hone_step_is(const hone_report_step_t* step, const char* kind);
/* "model.onnx on cpu (x86-64-v4), batch = 1" */
void hone_print_subject(const hone_reporting_t* r, hone_str_t* out);
/* A line that says so where sizes were guessed. */
HONE_MUST_USE hone_status_t hone_print_guess(const hone_reporting_t* r, hone_str_t* line);

/* Sums over what was measured. */
typedef struct hone_usage {
  double kernel_share;          /* of a run's time: in kernels */
  double launch_share;          /* of it: between handing them to the driver and their start */
  double launches;              /* of kernels, in a run */
  double limit_share;           /* of what the device could do, while kernels ran */
  double compute_share;         /* of its operations a second */
  double bandwidth_share;       /* of its bytes a second from memory */
  double memory_bound;          /* share of the kernels' time in those that memory limits */
  double average_bytes;         /* of planned values alive, over the time of a run */
  double memory_efficiency;     /* the average, of the planned block */
  double fragmentation;         /* of the planned block: what no value needs at the peak */
  int n_kernels, n_interpreted; /* steps */
} hone_usage_t;
hone_usage_t hone_report_usage(const hone_report_t* report);
/* Planned bytes of values that are alive while the step at that place of the whole runs. */
double hone_report_alive(const hone_report_t* report, int place);

/* ---- documents for machines (report_json.c) ---- */

json_t* hone_json_subject(const hone_reporting_t* r);
json_t* hone_json_memory(const hone_report_t* report);
json_t* hone_json_unknown(const hone_report_t* report);
json_t* hone_json_values(const hone_report_t* report);
json_t* hone_json_device(const hone_report_t* report);
json_t* hone_json_times(const hone_report_t* report);
/* Those whose nodes or name contain `filter` (NULL: all). */
json_t* hone_json_steps(const hone_report_t* report, const char* filter);
json_t* hone_json_nodes(const hone_report_t* report, const char* filter);
bool hone_step_matches(const hone_report_step_t* step, const char* filter);

/* ---- pages for people (report_html.c) ---- */

typedef struct hone_advice hone_advice_t; /* advice.h */
/* A page by itself: the plan, and with `advice` all of a profile. Written whole or
 * not at all. */
HONE_MUST_USE hone_status_t hone_report_write_page(const hone_reporting_t* r,
                                                   const hone_advice_t* advice, const char* path);

#endif
