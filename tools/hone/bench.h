/* `hone bench`: what its parts share. cmd_bench.c opens the entries and has
 * rounds.h time them by turns; bench_print.c and bench_json.c report. */
#ifndef HONE_TOOLS_BENCH_H
#define HONE_TOOLS_BENCH_H

#include "base/str.h"
#include "json.h"
#include "machine.h"
#include "progress.h"
#include "rounds.h"
#include "run.h"

/* One model or engine on one device. */
typedef struct hone_bench_entry {
  hone_run_t run; /* its subject, session and inputs */
  hone_tensor_t** outputs;
  hone_session_info_t info;
  hone_times_t times;
  int threads; /* that a run may use */
} hone_bench_entry_t;

typedef struct hone_bench {
  hone_cli_t* cli;
  hone_arena_t* arena;
  hone_machine_t machine;
  int n_entries;
  hone_bench_entry_t* entries;
  hone_contestant_t* contestants; /* one an entry */
  hone_rounds_options_t rounds;
  hone_progress_t progress;
} hone_bench_t;

/* Runs an entry once; its outputs are then there, until they are dropped. */
HONE_MUST_USE hone_status_t hone_bench_run_entry(void* entry);
void hone_bench_drop_outputs(void* entry);

/* The argument of an option above 0; a usage error (noted) when it is none. */
double hone_bench_number(hone_cli_t* cli, const char* option, double fallback);
/* "12.3 ms" at the right end of a column; "-" for 0. */
void hone_bench_append_ms(hone_str_t* line, double ms);
HONE_MUST_USE hone_status_t hone_bench_print_machine(const hone_bench_t* bench, hone_str_t* line);
HONE_MUST_USE hone_status_t hone_bench_print(const hone_bench_t* bench);
/* The report for machines; `root` is printed and freed with it. */
HONE_MUST_USE hone_status_t hone_bench_print_json(const hone_bench_t* bench, json_t* root);

#endif
