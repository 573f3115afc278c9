/* Context: what one run of a program works in: a stream, the values of the
 * symbols, and for each routine the values of its current run. Contexts are kept
 * by the program and used again, with their memory.
 *
 * Thread-safety: a context belongs to the thread whose run it is. */
#ifndef HONE_RUNTIME_CONTEXT_H
#define HONE_RUNTIME_CONTEXT_H

#include "runtime/instance.h"

/* Bytes from one error word to the next: what offsets of buffers must be multiples of. */
enum { HONE_ERROR_STRIDE = 256 };

/* Memory that slots share: on the device, and the host's tensor where that is
 * what the device works in. */
typedef struct hone_block {
  int references; /* of slots */
  hone_memory_t* memory;
  hone_tensor_t* tensor; /* owned; NULL: the device's own memory */
  size_t bytes;
  bool is_arena; /* a frame's planned block: its bytes serve other values later */
  size_t fence;  /* bytes of marks behind what is in it (fence.c) */
  bool is_fenced;
  bool is_weight; /* the program's; as those of frames it is not counted */
  bool is_own;    /* made by hone_slot_allocate: once nobody uses it, it may serve another value */
  int handed_out; /* 1: a large output of the last run, 2: of the one before; 0: neither */
  struct hone_block* next_garbage;
} hone_block_t;

/* A value during a run. */
typedef struct hone_slot {
  hone_block_t* block; /* where the device has it; NULL: it does not */
  size_t offset;
  hone_tensor_t* tensor; /* where the host has it, owned; NULL: it does not */
  hone_dtype_t dtype;    /* with rank, bytes and dims: of what is in the block */
  int rank;
  size_t bytes;
  int64_t dims[HONE_MAX_RANK]; /* last: few of them are looked at */
} hone_slot_t;

/* One routine of a run. */
typedef struct hone_frame {
  const hone_routine_t* routine;
  hone_slot_t* slots;        /* by value */
  hone_instance_t* instance; /* of this run, or of the last one; a reference */
  hone_block_t arena;
  size_t arena_room; /* bytes */
  void* room;        /* of a loop's body: what the loop needs (control.c); NULL: not yet */
  size_t room_bytes;
} hone_frame_t;

typedef struct hone_context {
  struct hone_context* next; /* idle ones */
  hone_program_t* program;
  hone_stream_t* stream;
  int64_t* symbols;
  hone_frame_t* frames;  /* by routine */
  hone_slot_t* results;  /* of the whole, empty between runs */
  hone_memory_t* errors; /* the program's error words */
  char* words;           /* room for them on the host */
  bool shares_errors;    /* that room is their memory */
  bool has_checked;      /* a launch since the last look could have failed a check */
  size_t garbage_bytes;
  hone_block_t* garbage; /* blocks that the stream may still be using, the latest first */
  hone_block_t* headers; /* of blocks that are gone, for others */
  hone_slot_t rounds;    /* numbers of rounds of loops (control.c), empty at first */
  int64_t first_round;   /* among them */
  const hone_run_options_t* options;
  const struct hone_watch* watch; /* runtime/watch.h; NULL: none */
  hone_event_t** launched; /* where the event of the next launch goes; NULL: nobody wants it */
  uint64_t round_key;
  int depth;     /* of routines: only the outermost is profiled */
  bool is_named; /* the status on its way names the node that failed */
} hone_context_t;

/* One of the program's idle contexts, or a new one. Thread-safe. */
HONE_MUST_USE hone_status_t hone_context_take(hone_program_t* program,
                                              hone_context_t** out_context);
void hone_context_give_back(hone_context_t* context);
void hone_contexts_destroy(hone_program_t* program);

/* Waits for the stream, frees garbage but for a few blocks that may serve again, and reports
 * checks that failed. */
HONE_MUST_USE hone_status_t hone_context_synchronize(hone_context_t* context);

/* ---- slots (slot.c) ---- */

/* An empty slot of a type; without extents the caller sets them. Here and below those that the
 * rank does not count are left alone: they are most of a slot, and small kernels take no longer
 * than they. */
static inline void hone_slot_begin(hone_slot_t* slot, hone_dtype_t dtype, int rank,
                                   const int64_t* dims, size_t bytes) {
  slot->block = NULL;
  slot->offset = 0;
  slot->tensor = NULL;
  slot->dtype = dtype;
  slot->rank = rank;
  for (int i = 0; dims && i < rank; i++) slot->dims[i] = dims[i];
  slot->bytes = bytes;
}

/* `to` is as `from`, whose references go over to it. */
static inline void hone_slot_copy(const hone_slot_t* from, hone_slot_t* to) {
  hone_slot_begin(to, from->dtype, from->rank, from->dims, from->bytes);
  to->block = from->block;
  to->offset = from->offset;
  to->tensor = from->tensor;
}

/* The same, and `from` is empty. */
static inline void hone_slot_move(hone_slot_t* from, hone_slot_t* to) {
  hone_slot_copy(from, to);
  from->block = NULL;
  from->tensor = NULL;
}

/* References of slots: planned memory and weights are there without. */
static inline void hone_block_retain(hone_block_t* block) {
  if (block && !block->is_arena && !block->is_weight) block->references++;
}
void hone_block_drop(hone_context_t* context, hone_block_t* block);
/* Frees blocks that nobody uses; the stream must be done with them. Of the context's own, which
 * may serve again, up to `spare` bytes are kept, and all that were handed out. */
void hone_context_free_garbage(hone_context_t* context, size_t spare);
void hone_context_free_headers(hone_context_t* context);
/* The run's large outputs, which the caller has too, will serve the next run once the caller is
 * done with them: fresh memory would cost more than many a kernel that fills it. Those of the run
 * before are kept where the caller still has them, for callers that hold on to the last outputs
 * while they run. */
void hone_context_hand_out(hone_context_t* context, int count, hone_slot_t* outputs);
/* Gives up what was handed out. */
void hone_context_free_handed_out(hone_context_t* context);
void hone_slot_drop_held(hone_context_t* context, hone_slot_t* slot);
static inline void hone_slot_drop(hone_context_t* context, hone_slot_t* slot) {
  if (slot->block || slot->tensor) hone_slot_drop_held(context, slot);
}
/* `to`, which is empty, becomes another reference to the same. */
void hone_slot_share(const hone_slot_t* from, hone_slot_t* to);
/* Takes over a reference of a host's tensor. */
void hone_slot_set(hone_slot_t* slot, hone_tensor_t* owned);
/* Memory of its own, on the device, for what dtype, rank, dims and bytes say. */
HONE_MUST_USE hone_status_t hone_slot_make_block(hone_context_t* context, size_t bytes,
                                                 hone_block_t** out_block);
HONE_MUST_USE hone_status_t hone_slot_allocate(hone_context_t* context, hone_slot_t* slot);
/* Sees to it that the device has it. */
HONE_MUST_USE hone_status_t hone_slot_to_device(hone_context_t* context, hone_slot_t* slot,
                                                hone_argument_t* out_argument);
/* Sees to it that the host has it, waiting for the stream where it must; borrowed. */
HONE_MUST_USE hone_status_t hone_slot_to_host(hone_context_t* context, hone_slot_t* slot,
                                              hone_tensor_t** out_tensor);
/* The same, but its elements are there once the stream has been waited for. */
HONE_MUST_USE hone_status_t hone_slot_send_to_host(const hone_context_t* context,
                                                   hone_slot_t* slot);
/* An element of it as an integer, 0 where there is none, waiting for the stream where it must. */
HONE_MUST_USE hone_status_t hone_slot_read(hone_context_t* context, hone_slot_t* slot,
                                           int64_t index, int64_t* out_number);
/* Moves it out of planned memory, which will serve other values. */
HONE_MUST_USE hone_status_t hone_slot_keep(hone_context_t* context, hone_slot_t* slot);
/* `to`, which is empty, becomes the same bytes under the dtype and extents that it has. */
HONE_MUST_USE hone_status_t hone_slot_view(hone_context_t* context, hone_slot_t* from,
                                           hone_slot_t* to);

/* A number on the host. The tensor that the slot has serves again where nobody holds on to it. */
HONE_MUST_USE hone_status_t hone_slot_set_number(hone_context_t* context, hone_dtype_t dtype,
                                                 int64_t number, hone_slot_t* slot);
/* Slots without memory: what a value whose shape is known has in this run, and a stack of `count`
 * of what `part` has, along a new first axis. */
HONE_MUST_USE hone_status_t hone_slot_shape(const hone_context_t* context,
                                            const hone_program_value_t* value, hone_slot_t* out);
HONE_MUST_USE hone_status_t hone_slot_shape_stack(const hone_slot_t* part, int64_t count,
                                                  hone_slot_t* out);
/* Copies it to place `index` of a stack on the device. */
HONE_MUST_USE hone_status_t hone_slot_put(hone_context_t* context, hone_slot_t* part,
                                          const hone_slot_t* stack, int64_t index);

/* Planned memory for the frame's instance; gives it back. */
HONE_MUST_USE hone_status_t hone_frame_reserve(hone_context_t* context, hone_frame_t* frame);
void hone_frame_release(const hone_context_t* context, hone_frame_t* frame);

/* ---- marks around memory, where the device was opened with guard (fence.c) ---- */

/* A block for what the slot says, at an offset, between marks. */
HONE_MUST_USE hone_status_t hone_fence_allocate(hone_context_t* context, hone_slot_t* slot);
/* After a launch: whether the marks around its buffers are as they were. */
HONE_MUST_USE hone_status_t hone_fence_check(hone_context_t* context, const hone_frame_t* frame,
                                             const hone_step_t* step);

/* ---- running (run.c, control.c, interpret.c, watch.c) ---- */

/* Whether somebody looks at each step, so that none take turns. */
bool hone_context_runs_apart(const hone_context_t* context);
/* Runs a routine whose input slots are set; `outputs` (empty) get its results. */
HONE_MUST_USE hone_status_t hone_routine_run(hone_context_t* context, hone_routine_t* routine,
                                             hone_slot_t* outputs);
HONE_MUST_USE hone_status_t hone_step_launch(hone_context_t* context, hone_frame_t* frame,
                                             const hone_step_t* step);
/* The same with the context's watch. */
HONE_MUST_USE hone_status_t hone_step_watch(hone_context_t* context, hone_frame_t* frame,
                                            const hone_step_t* step);
/* Values of all symbols as a tensor, i64[symbols]; owned by the caller. */
HONE_MUST_USE hone_status_t hone_context_symbols(const hone_context_t* context,
                                                 hone_tensor_t** out_tensor);
HONE_MUST_USE hone_status_t hone_step_interpret(hone_context_t* context, hone_frame_t* frame,
                                                const hone_step_t* step);
HONE_MUST_USE hone_status_t hone_step_if(hone_context_t* context, hone_frame_t* frame,
                                         const hone_step_t* step);
HONE_MUST_USE hone_status_t hone_step_loop(hone_context_t* context, hone_frame_t* frame,
                                           const hone_step_t* step);
/* What the frame of a loop's body keeps between runs. */
void hone_loop_free_room(hone_context_t* context, hone_frame_t* frame);

/* Whether a launch alone makes the value, in memory of its own: where a loop stacks it, rounds may
 * write it where it belongs. */
bool hone_value_is_launched(const hone_routine_t* body, int v);

/* ---- rounds of a loop at once (at_once.c) ---- */

/* How many of the first `rounds` of a loop its threads can share out; 0: none. */
int64_t hone_loop_count_at_once(const hone_program_t* program, const hone_step_t* step,
                                const int64_t* symbols, int64_t rounds);
/* Runs so many; `wholes` get the stacked outputs, with room for `limit` rounds. They are the
 * caller's to drop in any case. */
HONE_MUST_USE hone_status_t hone_loop_run_at_once(hone_context_t* context,
                                                  const hone_frame_t* frame,
                                                  const hone_step_t* step, int64_t limit,
                                                  int64_t rounds, hone_slot_t* wholes);

#endif
