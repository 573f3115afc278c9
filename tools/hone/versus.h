/* Versus: `hone bench --vs`: hone's entries beside peers, which are programs of their
 * own (child.h) that speak in lines of JSON (bench/peer.py says which).
 *
 * Before anything is timed, the answers of all are compared. Then they take turns:
 * whoever's turn it is runs for a while, the others are held. A peer that cannot run
 * the model, crashes, hangs, answers wrongly or takes more threads than it was given
 * is listed with the reason, and the others go on. */
#ifndef HONE_TOOLS_VERSUS_H
#define HONE_TOOLS_VERSUS_H

#include "bench.h"
#include "child.h"
#include "json.h"

enum { HONE_REASON_SIZE = 320, HONE_VERSION_SIZE = 96 };

/* One of those that take turns. */
typedef struct hone_racer {
  const char* name;          /* "hone", or the peer's */
  hone_bench_entry_t* entry; /* NULL: a peer */
  hone_child_t child;        /* of a peer */
  const char* state;         /* "ok", "cannot", "crashed", "hung", "wrong", "threads" */
  char why[HONE_REASON_SIZE];
  char version[HONE_VERSION_SIZE];
  double error; /* largest difference to the reference by its tensor's largest value; -1: none */
  double hone_error; /* of hone's answers to this peer's, in the same way; -1: none */
  double prepare_ms, load_ms, first_ms; /* conversion and compilation; the rest; the first run */
  double cpus;                          /* busy ones while it ran, the most of any turn */
  int64_t n_runs;
  double* milliseconds; /* of all runs */
  double* round_ms;     /* median of each turn */
  double ratio;         /* of a peer: its round_ms by hone's, the median of the rounds */
  hone_times_t times;
} hone_racer_t;

typedef struct hone_versus {
  hone_bench_t* bench;
  char program[4096]; /* that runs peers, with a name as its argument */
  char folder[128];   /* for inputs and answers */
  double limit_s;     /* of any answer of a peer */
  double tolerance;
  int rounds, most_rounds; /* as asked for, and at most where they disagree */
  int n_rounds;            /* that were taken */
  const char* reference;   /* whose answers count: a peer's name, or "hone" */
  int n_answers;
  hone_tensor_t** answers; /* of the reference */
  hone_tensor_t** hones;   /* of hone's first entry; NULL inside: none */
  int n_racers;
  hone_racer_t* racers;     /* hone's first */
  double limit_ms;          /* least time that the hardware needs; 0: not known */
  const hone_racer_t* best; /* of the peers; NULL: none ran */
  double lowest, highest;   /* of its ratios in the rounds */
} hone_versus_t;

/* Opens the peers of --vs, compares answers, and measures. `versus` is to be closed in
 * any case. */
HONE_MUST_USE hone_status_t hone_versus_run(hone_bench_t* bench, hone_versus_t* versus);
void hone_versus_close(hone_versus_t* versus);
HONE_MUST_USE hone_status_t hone_versus_print(const hone_versus_t* versus);
HONE_MUST_USE hone_status_t hone_versus_print_json(const hone_versus_t* versus);

/* On the progress bar: "loading onnxruntime". */
void hone_versus_show(hone_versus_t* versus, double part, const char* what, const char* name);
bool hone_racer_is_ok(const hone_racer_t* racer);
/* Out of the race, with a sentence. */
void hone_racer_drop(hone_racer_t* racer, const char* state, const char* format, ...)
    HONE_PRINTF(3, 4);

/* ---- peers (versus_peer.c) ---- */

/* Finds the program that runs peers. Errors: NOT_FOUND. */
HONE_MUST_USE hone_status_t hone_versus_find_program(hone_versus_t* versus);
/* Starts a peer and has it load the model and answer once, or, for `reference`, answer
 * as plainly as it can. What goes wrong with it drops it. */
HONE_MUST_USE hone_status_t hone_peer_load(const hone_versus_t* versus, hone_racer_t* racer,
                                           bool reference);
/* A turn: appends its times. */
HONE_MUST_USE hone_status_t hone_peer_turn(const hone_versus_t* versus, hone_racer_t* racer,
                                           double seconds, int64_t most);
/* Where a peer puts its answers; in the arena, NULL: out of memory. */
const char* hone_peer_answers_path(const hone_versus_t* versus, const hone_racer_t* racer);
void hone_racer_add_time(hone_racer_t* racer, double ms);

/* ---- turns (versus_turns.c) ---- */

/* Has all take turns until their rounds agree, and finds times and the best peer. */
HONE_MUST_USE hone_status_t hone_versus_take_turns(hone_versus_t* versus);

/* ---- answers (versus_answers.c) ---- */

HONE_MUST_USE hone_status_t hone_versus_write_inputs(const hone_versus_t* versus);
/* Reads the answers of a peer, or runs hone's entry; those of the reference are kept. */
HONE_MUST_USE hone_status_t hone_versus_keep_reference(hone_versus_t* versus, hone_racer_t* racer);
/* Drops the racer if its answers are not the reference's, and finds how far hone's are from a
 * peer's. Hone's first entry comes first. */
HONE_MUST_USE hone_status_t hone_versus_check_answers(hone_versus_t* versus, hone_racer_t* racer);

#endif
