/* `hone run`: what its parts share. cmd_run.c puts them in a row:
 * run_inputs.c reads, the session runs, run_outputs.c writes files, and
 * run_print.c or run_json.c reports. */
#ifndef HONE_TOOLS_RUN_H
#define HONE_TOOLS_RUN_H

#include "base/arena.h"
#include "base/trace.h"
#include "command.h"
#include "json.h"
#include "preprocess.h"
#include "subject.h"
#include "top_k.h"
#include "value.h"

/* An output: where it goes, and what is to be said of it. */
typedef struct hone_run_output {
  const char* name;
  const char* path;    /* NULL: no file of its own */
  const char* archive; /* .npz for all outputs; NULL: none */
  const hone_preprocess_t* steps;
  int64_t top_k; /* 0: none */
  hone_top_t top;
  hone_tensor_t* tensor;
} hone_run_output_t;

typedef struct hone_run {
  hone_cli_t* cli;
  const hone_allocator_t* allocator; /* of everything that the model's size decides */
  hone_arena_t* arena;               /* of everything else */
  hone_subject_t subject;            /* of `run`: what the session is of */
  hone_model_t* model;               /* of `diff` */
  hone_session_t* session;           /* owned where there is a model */
  int n_models;                      /* arguments before the inputs */
  bool make_up;                      /* whether an input without a file is random */
  double random_low;                 /* random floats go from here to 1 */
  int n_inputs, n_outputs;
  hone_value_want_t* wants; /* of each input */
  hone_preprocess_t* steps; /* of each, if its file is a picture */
  hone_tensor_t** inputs;   /* NULL until read */
  const char** sources;     /* the file of each, or "random" */
  hone_run_output_t* outputs;
  hone_labels_t labels;
  int n_runs;
  double* milliseconds; /* of each run */
} hone_run_t;

/* Finds out what the inputs of the session have to be. */
HONE_MUST_USE hone_status_t hone_run_plan_inputs(hone_run_t* run);
/* Reads every input that is not there from the files of the command line, or makes it up. */
HONE_MUST_USE hone_status_t hone_run_read_inputs(hone_run_t* run);
/* Whether that input came from no file. */
bool hone_run_made_up(const hone_run_t* run, int index);

/* Decides where each output goes, so that a wrong name shows before the model runs. */
HONE_MUST_USE hone_status_t hone_run_plan_outputs(hone_run_t* run);
HONE_MUST_USE hone_status_t hone_run_write_outputs(hone_run_t* run);

/* A value's name as the name of a file: nothing in it leads elsewhere. NULL: out of memory. */
char* hone_run_file_name(hone_arena_t* arena, const char* name);

/* A name before '=' (for `split` ':': before the last ':'), found among `count` names.
 * Gives its index and what follows; -1 when there is none of them. */
int hone_run_match_name(const hone_run_t* run, bool outputs, const char* text, char split,
                        const char** out_rest);
/* "it takes image: f32[1, 3, h, w], weights: f32[26]" or "it gives a, b", for
 * messages; in the arena. */
const char* hone_run_list(const hone_run_t* run, bool outputs);

/* A hone_profile_fn that writes to a hone_trace_t. */
void hone_run_record(void* self, const hone_profile_event_t* event);
/* Best and median time of a run in milliseconds. */
void hone_run_times(const hone_run_t* run, double* out_best, double* out_median);
HONE_MUST_USE hone_status_t hone_run_print(const hone_run_t* run);
HONE_MUST_USE hone_status_t hone_run_print_json(const hone_run_t* run);

/* Rows for tables of options: inputs from files. */
#define HONE_OPTION_INPUT                                                                   \
  {                                                                                         \
    .name = "input", .letter = 'i', .argument = "NAME=FILE", .repeats = true,               \
    .help = "read an input; without NAME the next one that has no file, or all of an .npz", \
    .complete = HONE_COMPLETE_FILE                                                          \
  }
#define HONE_OPTION_SHAPE                                                               \
  {                                                                                     \
    .name = "shape", .argument = "NAME=SIZE,SIZE…", .repeats = true,                    \
    .help = "the shape of an input that is random, or whose file has none (.raw, .txt)" \
  }

/* Name, type and source of each input; the caller's. */
json_t* hone_json_inputs(const hone_run_t* run);

#endif
