/* Advice: what a profile gives reason to try. Each piece is given when a figure is
 * beyond its threshold, which an option of the command sets. */
#ifndef HONE_TOOLS_ADVICE_H
#define HONE_TOOLS_ADVICE_H

#include "reporting.h"

enum { HONE_MOST_ADVICE = 16, HONE_ADVICE_SIZE = 400 };

typedef struct hone_thresholds {
  double utilisation;   /* least share of the time in kernels */
  double efficiency;    /* least share of what the device could do */
  double memory;        /* least share of the planned block in use */
  double fragmentation; /* most of it that nobody needs */
  double interpreted;   /* most of the time in interpreted steps */
  double bound;         /* most of the kernels' time in those that memory limits */
  double layout;        /* most of the time in steps that only move data */
  double small;         /* seconds: launches below are small */
} hone_thresholds_t;

/* Rows for tables of options. */
#define HONE_OPTION_THRESHOLDS                                                                 \
  {.name = "min-utilisation",                                                                  \
   .argument = "SHARE",                                                                        \
   .help = "advise when less of the time is spent in kernels; 0.8 without it"},                \
      {.name = "min-efficiency",                                                               \
       .argument = "SHARE",                                                                    \
       .help = "advise when kernels do less of what the device could do; 0.5 without it"},     \
      {.name = "min-memory-use",                                                               \
       .argument = "SHARE",                                                                    \
       .help = "advise when less of the planned block is in use over a run; 0.25 without it"}, \
      {.name = "max-fragmentation",                                                            \
       .argument = "SHARE",                                                                    \
       .help = "advise when more of the planned block is never needed; 0.15 without it"},      \
      {.name = "max-interpreted",                                                              \
       .argument = "SHARE",                                                                    \
       .help = "advise when more of the time is spent interpreting; 0.05 without it"},         \
      {.name = "max-memory-bound",                                                             \
       .argument = "SHARE",                                                                    \
       .help = "advise when more of the time is limited by memory; 0.5 without it"},           \
      {.name = "max-layout",                                                                   \
       .argument = "SHARE",                                                                    \
       .help = "advise when more of the time goes into moving data about; 0.1 without it"},    \
  {                                                                                            \
    .name = "small-us", .argument = "TIME",                                                    \
    .help = "launches below so many microseconds are small; 5 without it"                      \
  }

/* False after a usage error, which has been printed. */
bool hone_thresholds_read(hone_cli_t* cli, hone_thresholds_t* out);

struct hone_advice {
  int count;
  char lines[HONE_MOST_ADVICE][HONE_ADVICE_SIZE];
};

/* Never empty: where there is nothing to advise it says so. */
void hone_advise(const hone_report_t* report, const hone_thresholds_t* thresholds,
                 hone_advice_t* out);

#endif
