/* Command: what one subcommand of `hone` is. Each lives in a file cmd_NAME.c
 * and exports `const hone_command_t hone_command_NAME`; the build finds it.
 *
 * From this one table come parsing, --help, the man page and the completions
 * of the shell, so that they cannot differ. */
#ifndef HONE_TOOLS_COMMAND_H
#define HONE_TOOLS_COMMAND_H

#include "hone/hone.h"

typedef struct hone_cli hone_cli_t;

/* What a shell can complete after an option or as an argument. */
typedef enum hone_complete {
  HONE_COMPLETE_NOTHING,
  HONE_COMPLETE_FILE,
  HONE_COMPLETE_FOLDER,
  HONE_COMPLETE_DEVICE,
  HONE_COMPLETE_CHOICE, /* of `choices` */
} hone_complete_t;

typedef struct hone_option {
  const char* name;     /* without the dashes: "device" */
  char letter;          /* 0: no short form */
  const char* argument; /* name of its argument in the help; NULL: a flag */
  bool repeats;         /* may be given several times */
  const char* help;     /* one or two sentences without a period at the end */
  hone_complete_t complete;
  const char* choices; /* words separated by blanks; also checked when parsing */
} hone_option_t;

typedef struct hone_command {
  const char* name;
  const char* summary;              /* one line */
  const char* arguments;            /* "MODEL [OTHER]"; "" when it takes none */
  int min_arguments, max_arguments; /* max -1: any number */
  hone_complete_t complete;         /* its arguments */
  const char* description;          /* paragraphs for the man page; NULL: the summary */
  const char* examples;             /* lines "COMMAND   # what it does"; NULL: none */
  int n_options;
  const hone_option_t* options;
  /* Gives the exit code through hone_cli_fail, or 0, or one of its own. */
  int (*run)(hone_cli_t* cli);
} hone_command_t;

/* Made by the build's scan. */
extern const hone_command_t* const hone_commands[];
extern const int hone_command_count;

enum { HONE_MOST_THREADS = 4096 };

enum {
  HONE_EXIT_OK = 0,
  HONE_EXIT_FAILED = 1, /* the work failed, or found a difference */
  HONE_EXIT_USAGE = 2,  /* the command line is wrong */
  HONE_EXIT_GAPS = 3,   /* `check`: the model cannot run there */
};

/* ---- the parsed command line ---- */

int hone_cli_argument_count(const hone_cli_t* cli);
const char* hone_cli_argument(const hone_cli_t* cli, int index); /* NULL out of range */
/* Whether the option was given. */
bool hone_cli_has(const hone_cli_t* cli, const char* option);
/* Its (last) argument; `fallback` when it was not given. */
const char* hone_cli_text(const hone_cli_t* cli, const char* option, const char* fallback);
/* How often it was given, and the argument of each. */
int hone_cli_count(const hone_cli_t* cli, const char* option);
const char* hone_cli_text_at(const hone_cli_t* cli, const char* option, int index);
/* Its argument as a number; a usage error (noted, see hone_cli_usage) when it is none. */
int64_t hone_cli_int(hone_cli_t* cli, const char* option, int64_t fallback);
/* Bytes: "512", "64K", "1.5M", "2G" (powers of 1024). */
size_t hone_cli_bytes(hone_cli_t* cli, const char* option, size_t fallback);
/* False once a usage error has been noted. */
bool hone_cli_ok(const hone_cli_t* cli);

/* ---- saying things ---- */

/* Prints "hone COMMAND: message" and the advice for its code to stderr, with
 * --json also the document {"error": {code, message, advice}} to stdout, which
 * must be the only one; frees the status, and gives the exit code. */
int hone_cli_fail(hone_cli_t* cli, hone_status_t status);
/* Notes and prints a usage error; gives HONE_EXIT_USAGE. */
int hone_cli_usage(hone_cli_t* cli, const char* format, ...) HONE_PRINTF(2, 3);
/* Whether standard output (error) is a terminal that takes colours. */
bool hone_cli_is_terminal(const hone_cli_t* cli);

/* ---- what several commands share (common_options.c) ---- */

/* Rows for tables of options. */
#define HONE_OPTION_JSON \
  { .name = "json", .help = "print one JSON document for machines" }
#define HONE_OPTION_DEVICE                                                                        \
  {                                                                                               \
    .name = "device", .letter = 'd', .argument = "DEVICE",                                        \
    .help = "where to run, for example ref; see `hone devices`", .complete = HONE_COMPLETE_DEVICE \
  }
#define HONE_OPTION_DIM                                                 \
  {                                                                     \
    .name = "dim", .argument = "NAME=SIZE", .repeats = true,            \
    .help = "fix a named dimension, or give its range as NAME=MIN..MAX" \
  }
#define HONE_OPTION_THREADS \
  { .name = "threads", .argument = "COUNT", .help = "use at most so many; 0: all of them" }
#define HONE_OPTION_DETERMINISTIC                                          \
  {                                                                        \
    .name = "deterministic",                                               \
    .help = "equal inputs give equal bits, whatever the number of threads" \
  }
#define HONE_OPTION_GUARD                                                                   \
  {                                                                                         \
    .name = "guard",                                                                        \
    .help = "find kernels that access memory outside of their buffers, and name them; slow" \
  }
#define HONE_PRECISION_HELP                                                             \
  "fp32, or bf16 or fp16 for weights and operands of contractions, with sums in fp32; " \
  "bf16x3: products of fp32 by three of bf16 where that is faster; int8 for quantized " \
  "models"
#define HONE_PRECISIONS "fp32 bf16x3 bf16 fp16 int8"
#define HONE_OPTION_PRECISION                                             \
  {                                                                       \
    .name = "precision", .argument = "KIND", .help = HONE_PRECISION_HELP, \
    .complete = HONE_COMPLETE_CHOICE, .choices = HONE_PRECISIONS          \
  }
#define HONE_OPTION_EXACT                                                          \
  {                                                                                \
    .name = "exact",                                                               \
    .help = "nothing that loses precision for speed: products as they are written" \
  }
#define HONE_OPTION_NO_ENGINE_CACHE                                            \
  {                                                                            \
    .name = "no-engine-cache",                                                 \
    .help = "compile, whatever the engine cache holds, and keep nothing there" \
  }
/* What commands that compile models share. */
#define HONE_OPTIONS_COMPILE                                                           \
  HONE_OPTION_DIM, HONE_OPTION_DEVICE, HONE_OPTION_THREADS, HONE_OPTION_DETERMINISTIC, \
      HONE_OPTION_PRECISION, HONE_OPTION_EXACT, HONE_OPTION_MEM_LIMIT
#define HONE_OPTION_MEM_LIMIT                                                                   \
  {                                                                                             \
    .name = "mem-limit", .argument = "BYTES",                                                   \
    .help = "fail rather than take more memory for the model than this; K, M, G are understood" \
  }

/* The allocator that --mem-limit asks for; the system's without it. Lives as
 * long as `cli`. */
HONE_MUST_USE hone_status_t hone_cli_allocator(hone_cli_t* cli,
                                               const hone_allocator_t** out_allocator);
/* The --dim options. `out_dims` is owned by cli. */
HONE_MUST_USE hone_status_t hone_cli_dims(hone_cli_t* cli, int* out_count,
                                          const hone_dim_option_t** out_dims);
/* Loads argument `index` as a model with the allocator of --mem-limit. */
HONE_MUST_USE hone_status_t hone_cli_load(hone_cli_t* cli, int index, hone_model_t** out_model);
/* --threads, from 0; a usage error (noted) when it is no such number. */
int hone_cli_threads(hone_cli_t* cli);
/* For commands that report on a session: it keeps notes of what became of the
 * model's nodes, and --dim may name sizes for an engine as well. */
void hone_cli_set_reports(hone_cli_t* cli);
bool hone_cli_reports(const hone_cli_t* cli);
/* A session of it on `device` (NULL: --device, else "ref") with --dim, --threads,
 * --deterministic and --precision. */
HONE_MUST_USE hone_status_t hone_cli_session(hone_cli_t* cli, const hone_model_t* model,
                                             const char* device, hone_session_t** out_session);

#endif
