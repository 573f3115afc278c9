/* Passes: rewrites of the graph between lowering and kernels.
 *
 * A pass is one file of this folder, src/passes/NAME.c, that exports one
 * constant descriptor hone_pass_NAME; being there is being registered. The
 * manager runs those that are on, in the order of their phases, and notes for
 * each what it did. docs/passes.md says how to write one; common/rewrite.h and
 * common/match.h are what most are written with.
 *
 * A pass leaves what the graph computes as it is: bit for bit, unless its
 * summary says otherwise. */
#ifndef HONE_PASSES_PASS_H
#define HONE_PASSES_PASS_H

#include "base/str.h"
#include "hone/backend.h"
#include "ir/graph.h"

/* Where in the order a pass stands; equal phases go by name. */
typedef enum hone_phase {
  HONE_PHASE_NONE = 0,
  HONE_PHASE_CLEAN = 100,     /* exact clean-up of what lowering wrote */
  HONE_PHASE_QUANT = 200,     /* quantized arithmetic, before its weights are folded away */
  HONE_PHASE_RECOGNISE = 300, /* softmax, attention, … become calls of their label */
  HONE_PHASE_WEIGHTS = 400,   /* arithmetic moves into constant weights */
  HONE_PHASE_LAYOUT = 500,    /* how data lies in memory */
  HONE_PHASE_TIDY = 600,      /* clean-up of what the phases before left */
  HONE_PHASE_FUSE = 700,      /* groups of nodes become kernels */
  HONE_PHASE_MEMORY = 800,    /* reuse in place */
} hone_phase_t;

enum { HONE_PASS_MAX_RUNS = 6 };

/* Of the contractions that the pass `precision` could narrow, in the order in which it finds
 * them, those that it does. */
typedef struct hone_mixture {
  int count;          /* of `narrow`; what comes later stays as it is */
  const bool* narrow; /* NULL: all are */
  /* Told of each that could be: the model's node, products in a run (0: they are no faster
   * on the device) and bytes of weights that are saved. May be NULL. */
  void (*found)(void* self, const char* node, double products, double bytes);
  void* self;
} hone_mixture_t;

typedef struct hone_pass_options {
  int n_off; /* names of passes not to run */
  const char* const* off;
  int n_on; /* names of passes to run that are off by default */
  const char* const* on;
  int n_only; /* when there are any: run these and no others */
  const char* const* only;
  bool fast_math;                /* rewrites that change rounding are welcome */
  bool exact;                    /* no rewrites that lose precision for speed */
  hone_dtype_t precision;        /* BF16, F16: of contractions' operands; UNKNOWN: as they are */
  const hone_mixture_t* mixture; /* which of them; NULL: all */
  bool bf16x3;                   /* products of f32 may be sums of three of bf16 */
  bool widens;                   /* products of `precision` are slower than of f32 here */
  bool widens_f16, widens_bf16;  /* the same for numbers that the model itself has in these types */
  bool sums_fours;               /* the device adds up products of four bytes at once */
  bool sums_apart;               /* and of two to four bytes that each lane has of its own */
  bool mixes_signs;              /* … of two without and two with a sign; of like signs slower */
  bool sums_shorts;   /* products of two numbers of 16 bits take it no longer than of two bytes */
  bool halves_shorts; /* … and half the time of two of f32 */
  bool sums_nibbles;  /* … of bytes by numbers of four bits, which take half a byte in memory */
  bool sums_slight;   /* products of eight bytes by slight weights (ir/slight.h) take it less */
  /* Its products of `precision` are so fast by matrix instructions that sums which save some of
   * them cost more; by others they are no faster than of f32. */
  bool sums_blocks;
  /* Of bf16 so fast that three of them are faster than one of f32, which they may replace. */
  bool splits;
  bool blocks_bytes; /* it has fast matrix instructions for products of bytes */
  bool sums_pairs;   /* its fast products of `precision` go in pairs, one operand being weights */
  /* Bytes of a core's own last cache and of the one that all share, on a device whose `threads`
   * may each run a part of a graph; 0: not known. */
  size_t near_cache, far_cache;
  /* What it takes to read or write a number, beside a multiply-add, by what it takes on cores that
   * do 32 operations of f32 a cycle, on which the prices in passes were found; 0: 1. */
  double word_price;
  int threads;
  int lanes;                       /* of f32 in a vector of a core; 0: there are none */
  bool by_items;                   /* items of a batch one by one, whether that pays or not */
  bool details;                    /* report each rewrite, not only each pass */
  bool verify;                     /* run the verifier after each pass, as debug builds do */
  double fold_growth;              /* constants may grow this much by folding; 0: 4 */
  const hone_backend_t* evaluator; /* computes constants; NULL: `ref` */
  const hone_backend_t* target;    /* what is compiled for; NULL: not known */
  /* Called after each pass that changed something; may be NULL. */
  void (*after)(void* self, const char* pass, const hone_graph_t* graph);
  void* after_self;
} hone_pass_options_t;

static inline double hone_pass_word_price(const hone_pass_options_t* options) {
  return options->word_price > 0 ? options->word_price : 1;
}

/* Whether products will be of narrow operands, which take half the time. */
static inline bool hone_pass_narrows(const hone_pass_options_t* options) {
  return options->precision != HONE_UNKNOWN && !options->widens;
}

/* ---- what a pass did ---- */

typedef struct hone_pass_line {
  struct hone_pass_line* next;
  const char* text;
} hone_pass_line_t;

typedef struct hone_pass_result {
  struct hone_pass_result* next; /* in the order of running */
  const char* pass;
  int phase;
  int64_t count; /* rewrites made */
  int64_t nodes_before, nodes_after;
  uint64_t duration_ns;
  hone_pass_line_t* lines;   /* what was done in sum: "folded 12 nodes (3.1 MB)" */
  hone_pass_line_t* details; /* one a rewrite, with the model's node; only when asked for */
} hone_pass_result_t;

typedef struct hone_pass_report {
  hone_arena_t* arena;
  hone_pass_result_t* first; /* passes that ran */
  hone_pass_result_t* last;
} hone_pass_report_t;

/* ---- a pass ---- */

/* What a pass gets while it runs. */
typedef struct hone_pass_context {
  const struct hone_pass* pass;
  const hone_pass_options_t* options;
  hone_phase_t phase; /* which of its phases this is */
  hone_pass_report_t* report;
  hone_pass_result_t* result;
  int64_t count;
  bool repeat; /* set by the pass: what it found lets those from `repeats` on find more */
} hone_pass_context_t;

typedef struct hone_pass {
  const char* name;    /* that of its file */
  const char* summary; /* one line: "constant subexpressions become constants" */
  hone_phase_t phases[HONE_PASS_MAX_RUNS]; /* in which it runs; zeros at the end */
  bool off;                                /* runs only when asked for by name */
  const char* repeats; /* the pass before from which on all run again where `repeat` is set */
  /* Rewrites a root graph, regions included, adds to context->count what it
   * changed, and notes lines. On failure the graph is good for nothing. */
  hone_status_t (*run)(hone_pass_context_t* context, hone_graph_t* graph);
} hone_pass_t;

/* Adds a line to the report that sums up what the pass did. */
void hone_pass_note(hone_pass_context_t* context, const char* format, ...) HONE_PRINTF(2, 3);
/* Counts one rewrite, and where details are asked for adds the line
 * "<the model's node>: <text>". */
void hone_pass_did(hone_pass_context_t* context, const hone_node_t* node, const char* format, ...)
    HONE_PRINTF(3, 4);

/* ---- the manager ---- */

/* Runs the passes that are on over a root graph. `options` may be NULL; `report`
 * (from hone_pass_report_create) too. Errors: NOT_FOUND for the name of no
 * pass, OUT_OF_MEMORY, and in debug builds what the verifier found, with the
 * pass named; the graph is then good for nothing but destruction. */
HONE_MUST_USE hone_status_t hone_passes_run(hone_graph_t* graph, const hone_pass_options_t* options,
                                            hone_pass_report_t* report);

HONE_MUST_USE hone_status_t hone_pass_report_create(const hone_allocator_t* allocator,
                                                    hone_pass_report_t* out_report);
void hone_pass_report_destroy(hone_pass_report_t* report);
/* Text for people: passes that changed or noted something, what each did. */
void hone_pass_report_print(const hone_pass_report_t* report, hone_str_t* out);

/* A JSON array with an object for each pass that ran: pass, phase, rewrites,
 * nodes_before, nodes_after, ms, notes, details. */
void hone_pass_report_json(const hone_pass_report_t* report, hone_str_t* out);

/* All passes of this build in no particular order; NULL out of range. */
int hone_pass_total(void);
const hone_pass_t* hone_pass_at(int index);
const hone_pass_t* hone_pass_find(const char* name);

#endif
