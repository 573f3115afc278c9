/* Backend: what a kind of device offers to hone. One constant descriptor a
 * backend; also the interface of backends outside hone's tree.
 *
 * There are two kinds. A backend that takes whole graphs (an interpreter, a
 * vendor's engine) has compile, run and destroy. A backend that runs kernels
 * has the slots from `open` on instead: hone's own compiler makes the kernels
 * and the plan, and the backend schedules, renders, builds and launches them.
 *
 * Rules of the interface: `struct_size` first; fields are only added at the
 * end; a slot marked optional may be NULL. hone checks arguments before it
 * calls, so backends need not.
 *
 * Thread-safety: enumerate and compile may be called from any thread; one
 * program may be run by several threads at once unless said otherwise. */
#ifndef HONE_BACKEND_H
#define HONE_BACKEND_H

#include "hone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_graph hone_graph_t;     /* ir/graph.h */
typedef struct hone_program hone_program_t; /* the backend's own */

enum { HONE_DEVICE_NAME_SIZE = 64, HONE_DEVICE_TEXT_SIZE = 160 };

/* A device that was found. */
typedef struct hone_device_info {
  char name[HONE_DEVICE_NAME_SIZE];        /* "ref:0": what --device takes */
  char description[HONE_DEVICE_TEXT_SIZE]; /* for people */
  int compute_units;                       /* cores, multiprocessors; 0: not known */
  uint64_t memory_bytes;                   /* 0: not known */
  bool usable;
  char reason[HONE_DEVICE_TEXT_SIZE]; /* why not, and what to do; "" when usable */
} hone_device_info_t;

/* Called after each node of a run that is profiled. Strings live until the
 * program is destroyed or the call returns, whichever is earlier. */
typedef struct hone_profile_event {
  const char* origin;    /* the model's node: "name (OpType)"; "" when there is none */
  const char* primitive; /* "contract" */
  uint64_t start_ns;     /* of a monotonic clock */
  uint64_t duration_ns;
  uint64_t output_bytes; /* of freshly made results; views count 0 */
  /* Of compiled programs only. */
  const void* step;   /* tells steps apart, for comparing; NULL: not of a program's step */
  int depth;          /* 0: of the whole; more: within ifs and loops, told before these are */
  uint64_t device_ns; /* by the device's own clock; 0: not known */
  uint64_t launch_ns; /* by that clock, before these: from handing the launch to the driver until it
                         started */
} hone_profile_event_t;
typedef void (*hone_profile_fn)(void* self, const hone_profile_event_t* event);

typedef struct hone_compile_options {
  size_t struct_size;
  const hone_allocator_t* allocator; /* of the program and of its runs */
} hone_compile_options_t;

typedef struct hone_run_options {
  size_t struct_size;
  uint64_t seed; /* for random operators without one of their own; 0: another for each run */
  hone_profile_fn profile; /* NULL: no profile */
  void* profile_self;
  /* Part of a larger run: 0, or what tells the rounds of the loops around it
   * apart for random operators. */
  uint64_t round_key;
  bool profile_inner; /* also what runs within ifs and loops of compiled programs */
} hone_run_options_t;

/* ---- what a backend that runs kernels deals in ---- */

typedef struct hone_kernel hone_kernel_t; /* loop/kernel.h */
typedef struct hone_tactic hone_tactic_t; /* tune/tactic.h: a way to schedule kernels */
typedef struct hone_device
    hone_device_t; /* an opened device; the backend's own, as the next four */
typedef struct hone_memory hone_memory_t; /* a block of memory that kernels can reach */
typedef struct hone_stream hone_stream_t; /* a queue: what is put there is done in that order */
typedef struct hone_event hone_event_t;   /* a point in a stream */
typedef struct hone_module hone_module_t; /* loaded kernels */

typedef enum hone_memory_kind {
  HONE_MEMORY_DEVICE, /* for kernels only */
  HONE_MEMORY_HOST,   /* of the host, and fast to copy to and from the device ("pinned") */
} hone_memory_kind_t;

/* What schedules are made for. */
typedef struct hone_device_properties {
  size_t struct_size;
  char target[HONE_DEVICE_TEXT_SIZE];   /* what code is built for: "x86-64-v3", "sm_90" */
  char compiler[HONE_DEVICE_TEXT_SIZE]; /* who builds it, with the version */
  char driver[HONE_DEVICE_TEXT_SIZE];   /* "" when there is none */
  bool shares_host_memory;              /* blocks can be mapped for nothing */
  int compute_units;                    /* cores, multiprocessors */
  int vector_bytes;                     /* of the widest vector instructions; 0: scalars only */
  int vector_registers;                 /* 0: the compiler's business */
  int64_t max_group_size;               /* work-items in a group; 1: there are no groups */
  size_t shared_bytes;                  /* memory that a group shares; 0: none */
  size_t cache_bytes[3];                /* first, second and third level; 0: not known */
  size_t alignment;                     /* of a buffer's offset in its block */
  double peak_gflops;                   /* f32, whole device; 0: not known */
  double peak_gbytes;                   /* memory traffic a second in 10^9; 0: not known */
  bool deterministic;                   /* as it was opened */
  bool guard;                           /* as it was opened */
  bool watches_ends;                    /* guard: accesses behind the end of a block fail */
  char model[HONE_DEVICE_TEXT_SIZE]; /* what times depend on beside the target: "AMD EPYC 7B13" */
  bool fast_bf16, fast_f16;          /* products of these, summed in f32, are faster than of f32 */
  bool has_dot4; /* intrinsics dot4_…: sums of products of four bytes for each lane of a vector */
  bool fast_int8;     /* each of them is one instruction, so that bytes need no widening */
  bool has_dot2_bf16; /* intrinsics dot2_bf16_bf16_…, which are why fast_bf16 is true: of weights
                         only */
  bool has_dot2_i16;  /* intrinsics dot2_i16_…: of two numbers of 16 bits, modulo 2^32 */
  bool is_immediate;  /* what is put into a stream is done when the call returns */
  bool mixed_int8;    /* fast_int8 is true of bytes without a sign times bytes with one only */
  bool has_dot_nibbles; /* intrinsics dot16_i8_u4_…, dot32_i8_u4_… */
  bool has_dot8; /* intrinsics dot8_u8_i8_…: of eight bytes, by weights that are small enough to be
                    added up in 16 bits; faster than has_dot4 where fast_int8 is not true */
  bool has_sparse_int8; /* intrinsic sparse_u8_i8: of bytes by constants that are mostly zero */
  bool has_dot_apart;   /* intrinsics dotN_apart_u8_i8_…: two to four bytes of each lane's own */
  /* Intrinsics block…: blocks of sums that matrix instructions add to, of bytes and of bf16. */
  bool has_block_int8, has_block_bf16;
  bool fast_blocks;         /* several times as fast as the same products by vectors */
  double flops_per_cycle;   /* of f32 on one core, fused ones counted twice; 0: not known */
  uint64_t compiler_digest; /* of the command and the program that `compiler` is; 0: not known */
} hone_device_properties_t;

typedef struct hone_open_options {
  size_t struct_size;
  const hone_allocator_t* allocator; /* NULL: the system's */
  const char* target; /* NULL: this machine; otherwise code can be built, maybe not run */
  int threads;        /* at most so many; 0: all */
  /* Results must not depend on which thread did what, nor on how many there
   * are: no reduction whose parts or their order vary. */
  bool deterministic;
  /* Kernels are watched for accesses outside of their buffers, which is slow. hone puts
   * marks around buffers; a backend may do more (catch reads and writes behind the end
   * of a block), and shall refuse to wrap memory in which it cannot. */
  bool guard;
} hone_open_options_t;

/* A buffer of a kernel: a part of a block. Whether the kernel is handed a
 * pointer, a part made for it, or the block and the offset is between the
 * backend's render and launch; any multiple of the device's alignment will do. */
typedef struct hone_argument {
  hone_memory_t* memory; /* NULL: no bytes */
  size_t offset;         /* bytes */
} hone_argument_t;

/* One run of one kernel. */
typedef struct hone_launch {
  size_t struct_size;
  const hone_module_t* module;
  int entry; /* which of the module's kernels, in the order they were built */
  int n_buffers;
  const hone_argument_t* buffers; /* in the order of the kernel's */
  int n_sizes;
  const int64_t* sizes; /* values of its run-time sizes, in the kernel's order */
  int64_t groups[3];    /* extents of its parallel (group) axes, outermost first; 1 where none */
  int64_t locals[3];    /* extents of its local axes */
  int64_t grain;        /* groups that are worth a thread's while, where groups are shared out among
                           threads; 0: any */
  /* NULL: none wanted. Else gets an event of the launch, the caller's to destroy; it is left alone
   * where there is nothing to run. */
  hone_event_t** out_event;
  int64_t nanoseconds; /* that one thread is expected to take at least; 0: not known */
} hone_launch_t;

/* Of launches that take turns: round r of the reader, which comes later, may run once the writer's
 * rounds have been done from (reader_step * r + least) / writer_step to (reader_step * r + most) /
 * writer_step, rounded down, as far as there are such rounds; what lies before counts as the
 * first, what lies behind as the last. Rounds of a launch go by the row-major number of its
 * groups. */
typedef struct hone_need {
  int reader, writer;               /* which of the launches */
  int64_t reader_step, writer_step; /* positive */
  int64_t least, most;
} hone_need_t;

/* Round r of a launch touches bytes step * r + least to before step * r + most of a buffer; the
 * first also any before those, the last any behind. */
typedef struct hone_turn_reach {
  int64_t step, least, most;
} hone_turn_reach_t;

/* Where a share keeps what it makes of a window's value. At first, byte k of the value is at
 * origin + k - begin of the memory. What would come to lie beyond `end` comes to lie at `place` and
 * behind instead, with all that is still needed. The share before reads what it needs of this one
 * below `place`, where it stays. */
typedef struct hone_turn_part {
  int64_t begin; /* first byte of the value that is the share's */
  int64_t origin, place, end;
} hone_turn_part_t;

/* What one launch of those that take turns makes and one other alone reads. Few rounds of it are
 * needed at a time, so memory holds no more of it than these, which then stay in the cache. */
typedef struct hone_turn_window {
  int writer, writer_buffer, reader, reader_buffer; /* launches, and which of their buffers */
  hone_turn_reach_t written, read;
  int64_t bytes;                 /* of the value */
  const hone_turn_part_t* parts; /* by share */
} hone_turn_window_t;

/* How launches take turns. Threads have shares of all of them: of launch l, share s is rounds
 * begins[hone_turn_begin_at(plan, l, s)] to before the next one's. Rounds need none of the shares
 * before their own, so that shares may be begun from the last on. A share goes strip by strip: some
 * rounds of the first launch, then of each other those whose needs are met. */
typedef struct hone_turn_plan {
  int count; /* launches */
  int n_needs;
  const hone_need_t* needs;
  int n_shares;
  const int64_t* begins;
  int64_t strips;
  int n_windows;
  const hone_turn_window_t* windows;
} hone_turn_plan_t;

enum {
  HONE_TURNS_MOST = 12,    /* launches */
  HONE_TURNS_BUFFERS = 16, /* of each */
  HONE_TURNS_WINDOWS = HONE_TURNS_MOST,
  HONE_TURNS_SHARES = 64, /* of which any may have windows */
  HONE_TURNS_WEIGHTS = 2  /* times the bytes of all their weights are in a second cache */
};

/* Where in `begins` the first round of a launch's share is. */
static inline int hone_turn_begin_at(const hone_turn_plan_t* plan, int launch, int share) {
  return launch * (plan->n_shares + 1) + share;
}

typedef struct hone_blob {
  void* data; /* from the allocator that the call was given */
  size_t size;
} hone_blob_t;

/* Of a dense tensor. */
typedef struct hone_extents {
  hone_dtype_t dtype;
  int rank;
  int64_t dims[HONE_MAX_RANK];
} hone_extents_t;

typedef struct hone_backend {
  size_t struct_size;
  const char* name;    /* "ref"; the part of a device's name before ':' */
  const char* summary; /* one line */
  /* Required. Writes at most `room` devices and gives how many there are. */
  hone_status_t (*enumerate)(int room, hone_device_info_t* out_devices, int* out_count);
  /* Whole graphs: these three or none. The graph outlives the program. */
  hone_status_t (*compile)(const hone_graph_t* graph, const hone_compile_options_t* options,
                           hone_program_t** out_program);
  /* Inputs in the order of the graph's, borrowed; outputs are new references
   * for the caller, NULL on failure. */
  hone_status_t (*run)(hone_program_t* program, const hone_run_options_t* options, int n_inputs,
                       hone_tensor_t* const* inputs, int n_outputs, hone_tensor_t** out_outputs);
  /* NULL is allowed. */
  void (*destroy)(hone_program_t* program);

  /* Kernels: all of the following or none, but for those called optional. */

  /* Opens device `index` of those enumerated. */
  hone_status_t (*open)(int index, const hone_open_options_t* options, hone_device_t** out_device);
  void (*close)(hone_device_t* device); /* nothing made from it may be left */
  void (*properties)(const hone_device_t* device, hone_device_properties_t* out_properties);
  /* Optional. Whether it still answers; a status that says what to do if not. */
  hone_status_t (*health)(hone_device_t* device);

  /* Memory. Sizes in bytes; the contents are undefined. */
  hone_status_t (*alloc)(hone_device_t* device, hone_memory_kind_t kind, size_t size,
                         hone_memory_t** out_memory);
  void (*free)(hone_device_t* device, hone_memory_t* memory);
  /* A block over memory of the caller, used in place, which must outlive it: what kernels
   * write is there once the stream has been waited for. Optional; may refuse with UNSUPPORTED
   * (alignment, another address space). */
  hone_status_t (*wrap)(hone_device_t* device, void* data, size_t size, hone_memory_t** out_memory);
  /* Where the host sees the block, until unmap; waits for the stream first.
   * Optional for devices that do not share the host's memory. */
  hone_status_t (*map)(hone_stream_t* stream, hone_memory_t* memory, size_t offset, size_t size,
                       void** out_data);
  hone_status_t (*unmap)(hone_stream_t* stream, hone_memory_t* memory, void* data);
  /* In the stream's order. The host's side must stay as it is until the stream
   * has come that far. */
  hone_status_t (*copy_in)(hone_stream_t* stream, hone_memory_t* memory, size_t offset,
                           const void* data, size_t size);
  hone_status_t (*copy_out)(hone_stream_t* stream, void* data, const hone_memory_t* memory,
                            size_t offset, size_t size);
  hone_status_t (*copy)(hone_stream_t* stream, hone_memory_t* to, size_t to_offset,
                        const hone_memory_t* from, size_t from_offset, size_t size);

  /* Streams and events. A stream belongs to one thread at a time. */
  hone_status_t (*stream_create)(hone_device_t* device, hone_stream_t** out_stream);
  void (*stream_destroy)(hone_stream_t* stream);
  hone_status_t (*synchronize)(hone_stream_t* stream); /* gives what failed in it since the last */
  hone_status_t (*event_record)(hone_stream_t* stream, hone_event_t** out_event);
  void (*event_destroy)(hone_event_t* event);
  hone_status_t (*event_wait)(hone_stream_t* stream, hone_event_t* event); /* stream after event */
  hone_status_t (*event_synchronize)(hone_event_t* event);                 /* host after event */
  bool (*event_done)(hone_event_t* event);
  /* Both have been reached; nanoseconds between them. */
  hone_status_t (*event_elapsed)(hone_event_t* from, hone_event_t* to, uint64_t* out_ns);
  /* Calls fn(self) once the stream has come that far, from any thread. */
  hone_status_t (*callback)(hone_stream_t* stream, void (*fn)(void* self), void* self);

  /* Code. */

  /* Whether the device can run the kernel; if not, `why` (a text in a buffer of
   * HONE_DEVICE_TEXT_SIZE) names what is missing. */
  bool (*supports)(const hone_device_t* device, const hone_kernel_t* kernel, char* why);
  /* Gives the kernel the schedule that fits the device: its best guess. Optional
   * where there are tactics, and not called then. */
  hone_status_t (*schedule)(const hone_device_t* device, hone_kernel_t* kernel);
  /* Source text of a scheduled kernel as the function `name`, ended with 0. */
  hone_status_t (*render)(const hone_device_t* device, const hone_kernel_t* kernel,
                          const char* name, hone_blob_t* out_source);
  /* Sources to one loadable blob whose entry i is the function names[i]. */
  hone_status_t (*build)(hone_device_t* device, int count, const char* const* names,
                         const char* const* sources, hone_blob_t* out_binary);
  hone_status_t (*load)(hone_device_t* device, const hone_blob_t* binary, int count,
                        const char* const* names, hone_module_t** out_module);
  void (*unload)(hone_device_t* device, hone_module_t* module);
  /* Returns at once where the device works on its own. */
  hone_status_t (*launch)(hone_stream_t* stream, const hone_launch_t* launch);

  /* Optional. Tactic `index` of those that the device can choose from; NULL
   * past the last. */
  const hone_tactic_t* (*tactic)(const hone_device_t* device, int index);
  /* Optional. The properties with what takes time to find out: who builds
   * kernels, and the model. What measured times are kept under. */
  hone_status_t (*identify)(hone_device_t* device, hone_device_properties_t* out_properties);
  /* Optional. From now on a build may take so many seconds for each kernel,
   * and fails with UNAVAILABLE after that; 0: as long as it usually may. */
  void (*limit_build)(hone_device_t* device, double seconds);
  /* Optional. The machine code of each source, as text for people: `names` and
   * `sources` as build takes them; `count` texts, each ended with 0. */
  hone_status_t (*assembly)(hone_device_t* device, int count, const char* const* names,
                            const char* const* sources, hone_blob_t* out_texts);
  /* Optional, for whole graphs. Writes the bytes that a run takes besides its inputs and
   * outputs; false: only a run can tell. */
  bool (*working_bytes)(const hone_program_t* program, int n_inputs, const hone_extents_t* inputs,
                        uint64_t* out_bytes);
  /* Optional, for kernels. Of a launch's event, which has been reached: nanoseconds from handing
   * the launch to the driver until it started, and from there to its end. */
  hone_status_t (*launch_times)(hone_event_t* launch, uint64_t* out_started_ns,
                                uint64_t* out_ran_ns);
  /* Optional, for kernels. As so many launches one after another; but a round may run as soon as
   * those that it needs have, and all that is put into the stream before. Groups and locals are
   * positive; no events are wanted. */
  hone_status_t (*launch_turns)(hone_stream_t* stream, const hone_launch_t* launches,
                                const hone_turn_plan_t* plan);
} hone_backend_t;

/* True for a backend that runs kernels, false for one that takes whole graphs. */
static inline bool hone_backend_runs_kernels(const hone_backend_t* backend) {
  return backend->open != NULL;
}

/* All backends of this build. */
HONE_API int hone_backend_total(void);
HONE_API const hone_backend_t* hone_backend_at(int index); /* NULL out of range */
/* The backend that a device name ("ref", "ref:0") asks for; NULL when there is none. */
HONE_API const hone_backend_t* hone_backend_find(const char* device);
/* Which device of its backend a name asks for: 1 of "cpu:1", 0 of "cpu". -1
 * when what is behind the colon is no such number. */
HONE_API int hone_device_index(const char* device);

#ifdef __cplusplus
}
#endif
#endif
