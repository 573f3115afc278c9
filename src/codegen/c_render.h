/* Kernels as source text of the languages that look like C.
 *
 * What all of them share is written here: loops, dimension expressions,
 * addresses, terms. Values are computed by functions of one naming scheme, so
 * that the text is the same in each language and a prelude in that language
 * says what they are:
 *
 *   hone_<dtype>, hone_<dtype>v          a type, HONE_LANES of it
 *   hone_<op>_<dtype>[v](…)              the primitives, fma, minc, maxc, relu
 *   hone_cast_<to>[_up|_down][_sat]_<from>[v](x), hone_round_<dtype>[v](x)
 *   hone_bitcast_<to>_<from>[v](x)
 *   hone_load_<dtype>[v](p), hone_store_<dtype>[v](p, x), hone_load_<dtype>v_by(p, stride)
 *   hone_splat_<dtype>v(x), hone_iota_<dtype>v(x), hone_reduce_<combine>_<dtype>v(x)
 *   and those of c_text.h
 *
 * <dtype> of a value is the type it is computed in (hone_c_computing).
 * What languages do in their own way is a dialect: the function's head, the
 * loops that threads share, the memory that groups share.
 *
 * Loops of kind UNROLL are written out, so that buffers indexed by numbers can
 * become registers. A VECTOR loop whose statements are stores with indices
 * linear in its variable becomes vectors; any other becomes a plain loop. */
#ifndef HONE_CODEGEN_C_RENDER_H
#define HONE_CODEGEN_C_RENDER_H

#include "codegen/c_text.h"

typedef struct hone_c_render hone_c_render_t;

typedef struct hone_dialect {
  const char* spaces[HONE_SPACE_COUNT]; /* before the type of what lies there: "__global " */
  const char* barrier;                  /* a statement; NULL: there are no groups */
  int max_lanes;                        /* of a vector; 1: there are none */
  bool (*has_dtype)(const void* self, hone_dtype_t dtype);
  /* Whether vectors can do `prim` on that computing type, and whether their
   * lanes can be added (min …) to one element. NULL: always. */
  bool (*has_vector)(hone_prim_t prim, hone_dtype_t dtype);
  bool (*has_fold)(hone_dtype_t dtype);
  /* Writes the function's head up to its first statement. */
  void (*begin)(hone_c_render_t* render, const char* name);
  /* Declares the variable of a PARALLEL, GROUP or ITEM loop, in a block that
   * was opened for it; may open more. NULL: they are plain loops. Also called
   * for what stands at the top beside PARALLEL loops, which goes with their first round. */
  void (*bind)(hone_c_render_t* render, const hone_stmt_t* loop);
  const void* self;
} hone_dialect_t;

struct hone_c_render {
  hone_kernel_t* kernel; /* unrolled loops expanded */
  const hone_dialect_t* dialect;
  hone_str_t text;
  hone_status_t status; /* the first error; writing goes on */
  int depth;            /* of blocks */
  int lanes;            /* HONE_LANES of this kernel */
  /* The vector loop around, NULL for scalars. Its variable stands for its
   * first lane, which is a number: to[its id]; nothing else is mapped. */
  const hone_stmt_t* vector;
  hone_dim_t* to;
  bool* is_mapped;
  int n_symbols;
  /* By term id: the statement it was computed for. */
  int* computed;
  int statement;
};

/* The source of `kernel` as the function `name`, ended with 0. Errors:
 * UNSUPPORTED for what the dialect cannot say, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_c_render(const hone_kernel_t* kernel, const char* name,
                                          const hone_dialect_t* dialect, hone_blob_t* out_source);

/* The type that values of `dtype` are computed in: f32 for f16, i8 for i4 … */
hone_dtype_t hone_c_computing(hone_dtype_t dtype);
/* The type its elements have in memory: u16 for f16, itself mostly. */
hone_dtype_t hone_c_stored(hone_dtype_t dtype);

/* ---- for dialects ---- */

/* A line at the current depth. */
void hone_c_line(hone_c_render_t* render, const char* format, ...) HONE_PRINTF(2, 3);
void hone_c_open(hone_c_render_t* render, const char* format, ...) HONE_PRINTF(2, 3); /* … { */
void hone_c_close(hone_c_render_t* render);
/* Remembers an error. */
void hone_c_fail(hone_c_render_t* render, hone_status_t status);
/* An expression of the first lane. */
void hone_c_put_dim(hone_c_render_t* render, hone_dim_t d);
/* The next axis of a grid: the first loop of the kind in the body; NULL: none. */
const hone_stmt_t* hone_c_inner_axis(const hone_stmt_t* loop, hone_loop_kind_t kind);
/* Work-items in a group: those of the first chain of ITEM loops. 0: not known. */
int64_t hone_c_count_items(const hone_kernel_t* kernel);

/* ---- between the renderer's own files ---- */

/* d changes by *out_step with each lane; false when it does so irregularly. */
bool hone_c_step(const hone_c_render_t* render, hone_dim_t d, int64_t* out_step);
/* Elements from one lane to the next of buffer[index]; false as above. */
bool hone_c_access_step(const hone_c_render_t* render, const hone_buffer_t* buffer,
                        const hone_dim_t* index, int64_t* out_step);
/* "x_0 + (i_3 * 64 + 8)" */
void hone_c_put_address(hone_c_render_t* render, const hone_buffer_t* buffer,
                        const hone_dim_t* index);
/* Writes the lines that compute `term`, for hone_c_put_operand to name. */
void hone_c_compute(hone_c_render_t* render, const hone_term_t* term);
/* The value, as a vector where asked. */
void hone_c_put_operand(hone_c_render_t* render, const hone_term_t* term, bool wide);
/* Whether it differs from lane to lane. */
bool hone_c_is_wide(const hone_c_render_t* render, const hone_term_t* term);
/* Refuses grids other than PARALLEL loops at the top or one chain of GROUP loops. */
void hone_c_check_grid(hone_c_render_t* render);
/* "hone_load_f32v"; "hone_load_f32v_own" for a vector of f32 in a local array at a
 * place that is known and a multiple of the vector's size, as local arrays are. */
void hone_c_put_access(hone_c_render_t* render, const char* op, const hone_buffer_t* buffer,
                       const hone_dim_t* index, bool wide);
/* "hone_add_f32v" */
void hone_c_put_name(hone_c_render_t* render, const char* op, hone_dtype_t dtype, bool wide);

#endif
