/* Engine: a model compiled for a device, as one file that runs without the
 * model, a compiler, or anything of ONNX.
 *
 * An engine file (.hone) holds the program, the built kernels and the weights,
 * which are used straight from the mapped file. It is versioned and every part
 * has a checksum. Its kernels are machine code: load engines only from where you
 * would run a program from.
 *
 * Thread-safety: an engine may be shared; sessions of it share its weights and
 * may run at the same time. */
#ifndef HONE_ENGINE_H
#define HONE_ENGINE_H

#include "hone/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_engine hone_engine_t;

/* All zeros is the default. */
typedef struct hone_engine_options {
  size_t struct_size;                /* sizeof(hone_engine_options_t), or 0 */
  const hone_allocator_t* allocator; /* NULL: the system's; must outlive all tensors made */
  const char* device;                /* "cpu", "opencl:0"; NULL: "cpu" */
  const char* target;                /* "x86-64-v3", "aarch64" …; NULL: the device at hand */
  int n_dims;
  const hone_dim_option_t* dims;
  int threads;        /* that a run may use; 0: all */
  bool deterministic; /* equal inputs give equal bits, whatever the number of threads */
  int n_passes_off;   /* names of passes not to run */
  const char* const* passes_off;
  /* Called with each piece of text when it is made; may be NULL. kind is "ir",
   * "kernels", "source", "asm", "plan", "passes" (what each did) or "passes.json"
   * (the same as JSON); name tells pieces of a kind apart. */
  void (*dump)(void* self, const char* kind, const char* name, const char* text);
  void* dump_self;
  /* "fp32", "bf16x3", "bf16", "fp16" or "int8", as in hone_session_options_t; NULL: "fp32".
   * "mixed" is compiled by hone_engine_compile_mixed (hone/mixed.h). A file that is loaded has the
   * precision that it was compiled in. */
  const char* precision;
  bool no_tuned;              /* kernels are built without asking what was tuned (hone/tune.h) */
  const char* tuned_database; /* where that is; NULL: the usual file, if there is one */
  /* Kernels that access memory outside of their buffers are found and named; slow.
   * An engine that was compiled so runs so, whoever loads its file. */
  bool guard;
  bool dump_asm;        /* "asm" too: the machine code, for which the compiler runs once more */
  bool exact;           /* nothing that loses precision for speed: products as they are written */
  bool no_engine_cache; /* compile, whatever the engine cache holds, and keep nothing there */
} hone_engine_options_t;

/* What an engine is. Texts live as long as the engine. */
typedef struct hone_engine_info {
  const char* device;    /* its backend: "cpu" */
  const char* target;    /* what its kernels were built for */
  const char* version;   /* of hone, that compiled it */
  uint64_t model_digest; /* of the model's file and the data beside it; 0: it had no file */
  uint64_t weight_bytes;
  uint64_t kernel_bytes;
  int n_kernels;
  int n_interpreted;     /* steps that run on the reference interpreter */
  bool runs_here;        /* false: built for another kind of machine */
  const char* precision; /* "fp32", "bf16", "mixed" … */
  bool guard;            /* its kernels are watched; slow */
  bool from_cache;       /* compiled before, and found in the engine cache */
} hone_engine_info_t;

/* Compiles a model, which must outlive the engine, if it was not before (hone_session_create).
 * `options` may be NULL. Errors: as hone_session_create; UNSUPPORTED for devices that take whole
 * graphs
 * ("ref"); UNAVAILABLE without a compiler. */
HONE_API HONE_MUST_USE hone_status_t hone_engine_compile(const hone_model_t* model,
                                                         const hone_engine_options_t* options,
                                                         hone_engine_t** out_engine);
/* Writes it to a file, whole or not at all. Errors: IO, OUT_OF_MEMORY. */
HONE_API HONE_MUST_USE hone_status_t hone_engine_save(hone_engine_t* engine, const char* path);
/* Maps a file, which must not change while the engine lives. Of the options only
 * allocator, device (NULL: the first of the engine's backend), threads,
 * deterministic and guard are used. Errors: NOT_FOUND, IO, INVALID_DATA (not an engine,
 * damaged, cut short), UNSUPPORTED (of another version), UNAVAILABLE (for
 * another device or machine), OUT_OF_MEMORY. */
HONE_API HONE_MUST_USE hone_status_t hone_engine_load(const char* path,
                                                      const hone_engine_options_t* options,
                                                      hone_engine_t** out_engine);
/* The same from memory, aligned to 64 bytes, which must outlive the engine. */
HONE_API HONE_MUST_USE hone_status_t hone_engine_load_memory(const void* data, size_t size,
                                                             const hone_engine_options_t* options,
                                                             hone_engine_t** out_engine);
/* NULL is allowed. Its sessions must be destroyed before. */
HONE_API void hone_engine_destroy(hone_engine_t* engine);

HONE_API void hone_engine_describe(const hone_engine_t* engine, hone_engine_info_t* out_info);

/* A session of the engine, which must outlive it. Costs next to nothing: what
 * is large belongs to the engine. Errors: UNAVAILABLE (the engine is for
 * another kind of machine), OUT_OF_MEMORY. */
HONE_API HONE_MUST_USE hone_status_t hone_session_create_from_engine(hone_engine_t* engine,
                                                                     hone_session_t** out_session);

#ifdef __cplusplus
}
#endif
#endif
