/* Backend: what a kind of device offers to hone. One constant descriptor a
 * backend; also the interface of backends outside hone's tree.
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
} hone_run_options_t;

typedef struct hone_backend {
  size_t struct_size;
  const char* name;    /* "ref"; the part of a device's name before ':' */
  const char* summary; /* one line */
  /* Required. Writes at most `room` devices and gives how many there are. */
  hone_status_t (*enumerate)(int room, hone_device_info_t* out_devices, int* out_count);
  /* Required. The graph outlives the program. */
  hone_status_t (*compile)(const hone_graph_t* graph, const hone_compile_options_t* options,
                           hone_program_t** out_program);
  /* Required. Inputs in the order of the graph's, borrowed; outputs are new
   * references for the caller, NULL on failure. */
  hone_status_t (*run)(hone_program_t* program, const hone_run_options_t* options, int n_inputs,
                       hone_tensor_t* const* inputs, int n_outputs, hone_tensor_t** out_outputs);
  /* Required. NULL is allowed. */
  void (*destroy)(hone_program_t* program);
} hone_backend_t;

/* All backends of this build. */
HONE_API int hone_backend_total(void);
HONE_API const hone_backend_t* hone_backend_at(int index); /* NULL out of range */
/* The backend that a device name ("ref", "ref:0") asks for; NULL when there is none. */
HONE_API const hone_backend_t* hone_backend_find(const char* device);

#ifdef __cplusplus
}
#endif
#endif
