/* Program: a graph made ready for a device that runs kernels.
 *
 * A graph, and each region of its control flow, is a routine: values, and steps
 * in the order in which they run. Steps launch kernels, have nodes that no
 * kernel expresses interpreted by `ref` on the host, or run other routines (if,
 * loop). Extents are expressions over symbols whose values come from the inputs
 * (known before a run starts) or from what steps make (late).
 *
 * Where values live: in a block of memory that is planned for each vector of
 * symbol values (runtime/plan.h), on the heap when they are late or leave the
 * routine, on the host when an interpreted step makes them. Each is written
 * once. It can be on the device, on the host, or both; it is copied to where a
 * step wants it the first time that happens.
 *
 * Ownership: everything hangs from the program's arena; it owns its modules
 * and weights. The device outlives it.
 * Thread-safety: constant once made, but for what a mutex guards: any number of
 * threads may run one program at once, each run in a context of its own. */
#ifndef HONE_RUNTIME_PROGRAM_H
#define HONE_RUNTIME_PROGRAM_H

#include <pthread.h>

#include "base/room.h"
#include "base/str.h"
#include "hone/backend.h"
#include "ir/graph.h"
#include "loop/span.h"
#include "loop/work.h"

typedef enum hone_place {
  HONE_PLACE_INPUT,  /* handed to the routine */
  HONE_PLACE_WEIGHT, /* the same in every run */
  HONE_PLACE_ARENA,  /* planned */
  HONE_PLACE_HEAP,   /* memory of its own, made when the value is */
  HONE_PLACE_VIEW,   /* the bytes of another value, under other extents or another dtype */
  HONE_PLACE_HOST,   /* made by an interpreted step or by control flow */
} hone_place_t;

/* A symbol that gets its value once this value exists. */
typedef struct hone_program_bind {
  int symbol;
  bool is_dim; /* extent `index`, else element `index` */
  int64_t index;
  bool is_early; /* the symbol has its value already, from its definition */
} hone_program_bind_t;

/* What a symbol stands for, where that is known: an expression over symbols with smaller ids. */
typedef struct hone_program_definition {
  int symbol;
  hone_dim_t expression;
} hone_program_definition_t;

/* Here and in steps, what every run looks at stands first: small runs wait for memory more than
 * they compute. */
typedef struct hone_program_value {
  hone_place_t place;
  hone_dtype_t dtype;
  int rank;
  int shape;     /* where an instance keeps its bytes and extents; -1: it does not */
  bool is_known; /* a dense tensor whose dtype and rank are known */
  bool is_late;  /* its extents are not known when the routine starts */
  int n_binds;
  const hone_program_bind_t* binds;
  const hone_dim_t* dims;
  const char* name; /* "" when the model has none */
  int view_of;      /* VIEW: a value that is no view */
  int weight;       /* WEIGHT: index into the program's */
  int in_place_of;  /* ARENA: an input of its step whose place it may take; -1: none */
  bool has_window;  /* ARENA: where launches take turns, its place is in the windows' block */
  int first, last;  /* steps that make it and read it last; inputs and weights: -1; outputs of the
                       routine, and what steps of kind DIMS make, live to n_steps */
} hone_program_value_t;

typedef enum hone_step_kind {
  HONE_STEP_LAUNCH,
  HONE_STEP_VIEW, /* outputs[0] is a view of inputs[0] */
  HONE_STEP_INTERPRET,
  HONE_STEP_IF,
  HONE_STEP_LOOP,
  HONE_STEP_DIMS, /* outputs[0], i64[n_sizes], is what `sizes` come to */
} hone_step_kind_t;

enum { HONE_BUFFER_ERROR = -1 }; /* instead of a value: the step's error word */

/* What must hold of sizes for a kernel to be right. */
typedef struct hone_guard {
  hone_dim_t a, b;
  bool equal; /* a == b, else a <= b */
} hone_guard_t;

typedef struct hone_routine hone_routine_t;

typedef struct hone_step {
  hone_step_kind_t kind;
  bool is_late;       /* what it needs to start is not known when the routine starts */
  bool has_binds;     /* its outputs give symbols their values */
  bool wants_symbols; /* INTERPRET: its last input is their values, i64[symbols] */
  bool gives_tensors; /* INTERPRET: all results are dense tensors */
  bool keeps_on;      /* LOOP: the condition is handed on by each round, or a constant that holds */
  int n_inputs, n_outputs;
  int n_drops; /* values that nobody needs once it has run */
  int n_buffers;
  int n_sizes;       /* LAUNCH, DIMS */
  int n_guards;      /* LAUNCH: where one does not hold, the step is interpreted instead */
  int numbers;       /* LAUNCH: where an instance keeps what sizes, groups and locals come to */
  int kernel;        /* LAUNCH: index into the program's */
  int error;         /* LAUNCH: index of its error word; -1: none */
  int n_carried;     /* LOOP */
  const int* inputs; /* values; -1: left out */
  const int* outputs;
  const int* drops;
  const int* buffers; /* LAUNCH: values, or HONE_BUFFER_ERROR */
  const hone_dim_t* sizes;
  const hone_guard_t* guards;
  hone_routine_t* bodies[2]; /* IF, LOOP */
  /* INTERPRET, and LAUNCH with guards */
  hone_program_t* interpreted;
  hone_graph_t* graph; /* of this node alone; owned */
  const char* name;    /* of the kernel, or the primitive */
  const char* origin;  /* the model's node that errors name */
  const char* nodes;   /* all of the model's nodes that went into it, a line each */
  const char* reason;  /* INTERPRET: why; "" otherwise */
  /* LAUNCH */
  hone_dim_t groups[3], locals[3];
  int n_checks;
  const char* const* checks; /* what each says when it fails */
  hone_work_t work;          /* over the program's symbols */
  const hone_span_t* spans;  /* of its buffers; NULL: none are known */
} hone_step_t;

typedef struct hone_instance hone_instance_t; /* runtime/instance.h */

enum { HONE_MAX_INSTANCES = 8, HONE_LAUNCH_NUMBERS = 8 /* beside the sizes */ };

struct hone_routine {
  int index; /* in the program's list */
  int n_values, n_steps, n_inputs, n_outputs;
  hone_program_value_t* values;
  hone_step_t* steps;
  const int* inputs;
  const int* outputs;
  int n_key; /* symbols that its early sizes depend on */
  const int* key;
  int n_numbers; /* of an instance */
  int n_first;   /* inputs and weights that give symbols their values */
  const int* first;
  int n_turns; /* of launches that run together (runtime/turns.h), the first first */
  struct hone_turns* turns;
  int64_t window_bytes;          /* of the one block in which all windows are; 0: there are none */
  int window_first, window_last; /* the first and last step with one */
  int n_early; /* definitions of symbols that steps bind, but whose values follow from what is known
                  when the routine starts */
  const int* early;
  /* Those used lately, the latest first; guarded by the program's mutex. */
  int n_instances;
  hone_instance_t* instances[HONE_MAX_INSTANCES];
};

/* A kernel as the device runs it. */
typedef struct hone_program_kernel {
  const char* name;         /* the function's, from its content */
  const char* source;       /* NULL when the engine does not carry it */
  int entry;                /* in the module */
  const char* tactic;       /* who scheduled it: a recipe or a tactic; "" nobody */
  const char* why;          /* that one was chosen; "" not said */
  double predicted_seconds; /* of one launch; 0: nobody predicts */
  int64_t stack_bytes;      /* of a thread's stack that its arrays take */
} hone_program_kernel_t;

typedef struct hone_weight {
  hone_tensor_t* tensor;    /* owned */
  struct hone_block* block; /* on the device; NULL: no kernel reads it */
  bool is_copy;             /* the device could not use the tensor's own memory */
} hone_weight_t;

struct hone_program {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_device_properties_t properties;
  hone_arena_t* arena;
  hone_dims_t* dims; /* the same symbol ids as in the graph */
  int n_definitions; /* by symbol, rising */
  hone_program_definition_t* definitions;
  int n_routines, routines_room;
  hone_routine_t** routines; /* [0] is the whole */
  int n_kernels;
  hone_program_kernel_t* kernels;
  hone_module_t* module; /* NULL without kernels */
  hone_blob_t binary;    /* what it was loaded from; empty when a mapped file holds it */
  size_t code_bytes;     /* of what it was loaded from */
  size_t file_bytes;     /* of an engine's file, but for weights; 0: there is none */
  int n_weights, weights_room;
  hone_weight_t* weights;
  hone_room_t* room; /* of packed weights; NULL: there are none */
  int n_errors;      /* error words */
  bool lost_tuned;   /* the database of tuned kernels failed, and was left out */
  pthread_mutex_t mutex;
  struct hone_context* idle; /* contexts that no run is using */
};

/* The value whose bytes it is. */
static inline int hone_routine_base_of(const hone_routine_t* routine, int value) {
  const hone_program_value_t* v = &routine->values[value];
  return v->place == HONE_PLACE_VIEW ? v->view_of : value;
}

/* An empty program for an opened device. */
HONE_MUST_USE hone_status_t hone_program_create(const hone_allocator_t* allocator,
                                                const hone_backend_t* backend,
                                                hone_device_t* device,
                                                hone_program_t** out_program);
void hone_program_destroy(hone_program_t* program); /* NULL is allowed; no run may be going on */

/* Adds a weight; takes a reference. Gives its index, -1 when memory is out. */
int hone_program_add_weight(hone_program_t* program, hone_tensor_t* tensor);
/* Forgets weights that no step reads. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_program_drop_weights(hone_program_t* program);
/* Adds an empty routine; NULL when memory is out. */
hone_routine_t* hone_program_add_routine(hone_program_t* program);
/* Once all routines are complete: finds what is late, the keys, the lifetimes and
 * the places of values, and puts weights that kernels read on the device. */
HONE_MUST_USE hone_status_t hone_program_finish(hone_program_t* program);

/* Runs on borrowed inputs in the routine's order; outputs are new references,
 * NULL on failure. Errors: what steps meet, with the model's node. */
HONE_MUST_USE hone_status_t hone_program_run(hone_program_t* program,
                                             const hone_run_options_t* options, int n_inputs,
                                             hone_tensor_t* const* inputs, int n_outputs,
                                             hone_tensor_t** out_outputs);

/* What a run takes, in bytes, for given values of the symbols (by id). */
typedef struct hone_program_memory {
  size_t weights;            /* of the model */
  size_t copied;             /* weights again, where the device cannot use the host's */
  size_t planned;            /* blocks of all routines */
  size_t unshared;           /* what those would be without reuse */
  size_t least;              /* most of their values alive at once: no plan takes less */
  int n_planned, n_in_place; /* values in those blocks; of these: in place of an input */
  size_t heap; /* most at once, beyond the outputs: other values, what interpreted steps work in */
  size_t inputs, outputs;
  size_t tables; /* what the program is: its file but for weights, code, tables, and the contexts
                    that a run works in */
  size_t stacks; /* of all threads that run kernels */
  bool has_late; /* there are values or steps whose size only a run can tell: more is needed */
} hone_program_memory_t;
HONE_MUST_USE hone_status_t hone_program_memory(hone_program_t* program, const int64_t* symbols,
                                                hone_program_memory_t* out_memory);
/* What it takes whatever the sizes, when so many contexts are in use (program_tables.c). */
size_t hone_program_tables(const hone_program_t* program, size_t contexts);
/* Arrays on the stacks of all threads that may run its kernels. */
size_t hone_program_stacks(const hone_program_t* program);
/* What the sums of hone_program_memory lack. */
typedef struct hone_program_unknown {
  int routine, step;
  int value;        /* that the step makes, of a size that only a run can tell; -1: what the step
                       itself works in */
  const char* type; /* of the value, with the sizes that a run finds as symbols; "" not known */
  int64_t most;     /* bytes; -1: there is no bound */
} hone_program_unknown_t;
/* Calls visit for each. */
HONE_MUST_USE hone_status_t hone_program_visit_unknown(
    const hone_program_t* program, const int64_t* symbols,
    void (*visit)(void* self, const hone_program_unknown_t* unknown), void* self);
/* Where an intermediate value is, for given values of the symbols. */
typedef struct hone_program_placed {
  int routine, value;
  size_t bytes, offset; /* the offset in the routine's block */
  size_t block;         /* bytes of that block */
  size_t contexts;      /* that have such a block each */
  int first, last;      /* steps */
  bool is_planned;      /* else it is on the heap */
  int in_place_of;      /* the value whose place it took; -1: none */
} hone_program_placed_t;
/* Calls visit for each planned value and each on the heap whose size is known, routine
 * by routine. */
HONE_MUST_USE hone_status_t hone_program_visit_values(
    const hone_program_t* program, const int64_t* symbols,
    void (*visit)(void* self, const hone_program_placed_t* placed), void* self);
/* The plan of the whole for such values, as text with a row for each value. */
HONE_MUST_USE hone_status_t hone_program_print_plan(hone_program_t* program, const int64_t* symbols,
                                                    hone_str_t* out);
/* Steps that `ref` runs, and the bytes of all weights. */
int hone_program_interpreted(const hone_program_t* program);
uint64_t hone_program_weight_bytes(const hone_program_t* program);
/* Gives the symbols that are early in a routine their values from those of others. */
void hone_routine_define(const hone_program_t* program, const hone_routine_t* routine,
                         int64_t* symbols);
/* Whether the symbol's value follows from the extents of the inputs. */
bool hone_program_knows(const hone_program_t* program, int symbol);
/* Symbol values from the extents of the inputs, -1 where they do not tell. */
void hone_program_bind_inputs(const hone_program_t* program, hone_tensor_t* const* inputs,
                              int64_t* out_symbols);

#endif
