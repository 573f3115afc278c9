/* Session: a model made ready on a device, to be run again and again.
 *
 * Thread-safety: several threads may run one session at once. */
#ifndef HONE_SESSION_H
#define HONE_SESSION_H

#include "hone/backend.h"
#include "hone/dim_option.h"
#include "hone/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_session hone_session_t;

/* All zeros is the default. */
typedef struct hone_session_options {
  size_t struct_size;                /* sizeof(hone_session_options_t), or 0 */
  const hone_allocator_t* allocator; /* NULL: the system's; must outlive all tensors made */
  const char* device;                /* "cpu", "ref:0" …; NULL: "ref" */
  int n_dims;
  const hone_dim_option_t* dims;
  int threads;        /* that a run may use, on devices that are made of threads; 0: all */
  bool deterministic; /* equal inputs give equal bits, whatever the number of threads */
  /* What contractions take their operands in: "bf16", "fp16" (sums, and all the
   * rest, stay in f32), "fp32", or "int8" for models that are quantized. "bf16x3":
   * f32, whose products may be sums of three of bf16 where that is faster, as by matrix
   * instructions; they lose some 2^-17 of what is added up. NULL: "fp32". Inputs and outputs
   * keep their types. */
  const char* precision;
  bool explain;  /* keep notes of what became of the model's nodes, for hone/report.h */
  bool no_tuned; /* kernels are built without asking what was tuned (hone/tune.h) */
  const char* tuned_database; /* where that is; NULL: the usual file, if there is one */
  /* Kernels that access memory outside of their buffers are found and named; slow. */
  bool guard;
  bool exact;           /* nothing that loses precision for speed: products as they are written */
  bool no_engine_cache; /* compile, whatever the engine cache holds, and keep nothing there */
} hone_session_options_t;

/* What a session is made of. Texts live as long as the session. */
typedef struct hone_session_info {
  const char* device;    /* its backend: "cpu" */
  const char* target;    /* what its kernels were built for; "" where there are none */
  const char* precision; /* "fp32", "bf16" … */
  int n_kernels;         /* distinct ones */
  int n_interpreted;     /* steps that run on the reference interpreter */
  uint64_t weight_bytes;
  bool from_cache; /* compiled before, and found in the engine cache */
} hone_session_info_t;

/* Lowers the model and compiles it for the device, if it was not before: compiled models whose
 * files are large are kept in the engine cache (docs/runtime.md), and mapped from there. A gap is
 * an error that names the node. The model must outlive the session. `options` may be NULL. Errors:
 * UNSUPPORTED, INVALID_MODEL, UNAVAILABLE, NOT_FOUND, OUT_OF_MEMORY. */
HONE_API HONE_MUST_USE hone_status_t hone_session_create(const hone_model_t* model,
                                                         const hone_session_options_t* options,
                                                         hone_session_t** out_session);
HONE_API void hone_session_destroy(hone_session_t* session); /* NULL is allowed */

HONE_API void hone_session_describe(const hone_session_t* session, hone_session_info_t* out_info);

HONE_API int hone_session_input_count(const hone_session_t* session);
HONE_API int hone_session_output_count(const hone_session_t* session);
/* NULL out of range; valid as long as the session. */
HONE_API const char* hone_session_input_name(const hone_session_t* session, int index);
HONE_API const char* hone_session_output_name(const hone_session_t* session, int index);
/* The type in text, "f32[batch, 3, 224, 224]"; writes at most `size` bytes
 * with the 0 and gives the full length. */
HONE_API size_t hone_session_input_type(const hone_session_t* session, int index, char* buffer,
                                        size_t size);
HONE_API size_t hone_session_output_type(const hone_session_t* session, int index, char* buffer,
                                         size_t size);
/* Element type of an input that is a tensor; HONE_UNKNOWN otherwise. */
HONE_API hone_dtype_t hone_session_input_dtype(const hone_session_t* session, int index);
/* Writes the extents of an input that is a tensor, -1 for those that vary, to
 * `out_dims` (room for HONE_MAX_RANK) and gives its rank; -1 when the rank is
 * not known or the input is no tensor. */
HONE_API int hone_session_input_shape(const hone_session_t* session, int index, int64_t* out_dims);

/* Runs on borrowed inputs in the session's order. `out_outputs` gets a new
 * reference for each output (NULL for all on failure). `options` may be NULL.
 * Errors: INVALID_ARGUMENT for a wrong number, dtype or shape of inputs (names
 * the input, what it is and what it should be), and what running meets. */
HONE_API HONE_MUST_USE hone_status_t hone_session_run(hone_session_t* session,
                                                      const hone_run_options_t* options,
                                                      int n_inputs, hone_tensor_t* const* inputs,
                                                      int n_outputs, hone_tensor_t** out_outputs);

#ifdef __cplusplus
}
#endif
#endif
