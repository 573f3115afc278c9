/* The inside of the C renderer, for render*.c only. */
#ifndef HONE_BACKENDS_CPU_RENDER_IMPL_H
#define HONE_BACKENDS_CPU_RENDER_IMPL_H

#include "backends/cpu/render.h"
#include "loop/block.h"
#include "loop/intrinsic.h"
#include "loop/quantized.h"
#include "loop/span.h"

/* How a local buffer is kept. */
typedef enum hone_storage {
  HONE_STORAGE_ARRAY,
  HONE_STORAGE_SCALARS, /* a variable for each element: all indices are numbers */
  HONE_STORAGE_VECTORS, /* a vector variable for each `lanes` elements */
} hone_storage_t;

/* Whether all that a kernel makes of functions is rounded behind; looked up when first asked for.
 */
typedef enum hone_rounding {
  HONE_ROUNDING_UNKNOWN,
  HONE_ROUNDING_ALL,
  HONE_ROUNDING_SOME
} hone_rounding_t;

typedef struct hone_renderer {
  hone_kernel_t* kernel; /* unrolled loops expanded */
  hone_str_t* out;
  int depth;
  int lanes;
  const hone_target_t* target;
  int n_temporaries;
  const hone_stmt_t* vector;  /* the vector loop around, or NULL */
  hone_storage_t* storage;    /* by buffer id */
  const hone_stmt_t** scopes; /* by buffer id: where it is declared */
  int64_t* ends;              /* by buffer id: elements beyond are not used */
  hone_reach_t* sums;         /* by buffer id (loop/quantized.h) */
  hone_str_t* head;           /* what the function begins with: read or computed once */
  hone_map_t* once;           /* terms in there, by id, as `done` of a statement */
  const hone_stmt_t *first_fill, *last_fill; /* loops of one round at the top, or NULL */
  const hone_stmt_t* begins_alike; /* a block's sums, all rows of which begin as the first one */
  const hone_term_t* begins_with;  /* that is what lies at this load of it, or 0; NULL: in memory */
  hone_dim_t begins_at;            /* the offset of that load */
  bool has_sums;                   /* of a block in registers, where the text is now */
  const char* keeper;        /* of such sums anywhere; NULL: there are none (render_block.c) */
  hone_rounding_t rounding;  /* of what functions give (render_function.c) */
  hone_rounding_t exponents; /* of softmax (render_exponents.c) */
  hone_map_t* quantizations; /* numbers in there that quantizing takes (render_quantize.c) */
  hone_status_t status;
} hone_renderer_t;

/* A term's text in the statement that is being written. */
typedef struct hone_operand {
  int temporary;  /* tN */
  bool is_vector; /* lanes elements, else one */
} hone_operand_t;

/* The type that values of a dtype are computed in: f32 for f16. */
hone_dtype_t hone_cpu_computing(hone_dtype_t dtype);
/* Name of the C type of an element in memory. */
const char* hone_cpu_storage_type(hone_dtype_t dtype);

/* render_fit.c: makes every vector loop as long as vectors are, or shorter where the lanes
 * that are too many do no harm. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_render_fit_vectors(hone_kernel_t* kernel, int lanes);
/* render_fill.c: takes apart fills beside the parallel loop whose stores go with different rounds
 * of it (loop/span.h). Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_render_part_fills(hone_renderer_t* r);
hone_fill_place_t hone_render_fill_place(const hone_renderer_t* r, const hone_stmt_t* loop);
/* render_together.c: vector loops that stand together become one. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_render_join_vectors(hone_kernel_t* kernel);
/* Whether a store may share temporaries with the `n` before it: all give values to
 * buffers of the kernel, or to places of others that lie apart, and it reads none that they
 * write. */
bool hone_render_may_follow(hone_kernel_t* kernel, const hone_stmt_t* const* stores, int n,
                            const hone_stmt_t* next);
/* render_function.c: a function of f32 that is no primitive; false: the term is none. */
bool hone_render_function(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done,
                          hone_operand_t* out);

/* render_term.c: writes what computes the term before the statement. */
hone_operand_t hone_render_term(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done);
/* Notes what has computed the term. */
hone_operand_t hone_render_note(hone_renderer_t* r, hone_map_t* done, const hone_term_t* term,
                                hone_operand_t to);
/* The same in the function's head: of a number that is written, or read once. */
hone_operand_t hone_render_once(hone_renderer_t* r, const hone_term_t* term);
/* Writes into the head, until it is closed. */
hone_renderer_t hone_render_open_head(const hone_renderer_t* r);
void hone_render_close_head(hone_renderer_t* r, const hone_renderer_t* head);
/* render_quantize.c: what is rounded to a byte, as one or as a wider number, also less the zero
 * point; false: the term is not. */
bool hone_render_quantized(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done,
                           hone_operand_t* out);
/* Whether it is a byte of that type, or one as a wider number; nothing is written. */
bool hone_render_is_quantized(hone_renderer_t* r, const hone_term_t* term, hone_dtype_t byte);
/* The same as the i32 that byte_u8, byte_i16 or signed_i8 of prelude/cpu_quantize.inc makes a
 * number of. */
bool hone_render_quantized_whole(hone_renderer_t* r, const hone_term_t* term, hone_map_t* done,
                                 hone_operand_t* out);
/* render_quantized_sum.c: the quotient of the sum of two bytes by a number, as far as it is rounded
 * to a whole number between both; false: it is none such that could be computed without dividing.
 */
bool hone_render_quantized_sum(hone_renderer_t* r, const hone_term_t* sum, double scale,
                               double least, double greatest, hone_map_t* done,
                               hone_operand_t* out);
/* "t7", or splat_f32v(t7) where a vector is wanted of a scalar. */
void hone_render_operand(hone_renderer_t* r, hone_operand_t operand, hone_dtype_t dtype,
                         bool as_vector);
/* render_access.c: how an offset moves with the lanes of the vector loop around. */
typedef enum hone_lane_pattern {
  HONE_LANES_SAME,    /* one element for all */
  HONE_LANES_NEXT,    /* consecutive */
  HONE_LANES_STRIDED, /* a fixed number of elements apart */
  HONE_LANES_ANY,
} hone_lane_pattern_t;
hone_lane_pattern_t hone_render_pattern(const hone_renderer_t* r, hone_dim_t offset,
                                        int64_t* out_stride);
/* The offset of the first lane. */
hone_dim_t hone_render_first_lane(hone_renderer_t* r, hone_dim_t offset);
/* Whether the vector loop around has fewer rounds than a vector has lanes. */
bool hone_render_is_part(const hone_renderer_t* r);
bool hone_render_is_array(const hone_renderer_t* r, const hone_buffer_t* buffer);
/* Of 16 bits, computed in f32. */
bool hone_render_is_half(hone_dtype_t dtype);
/* Whether small numbers of what is stored need not survive. */
bool hone_render_is_flushed(const hone_stmt_t* stmt);
/* What is stored. Storing rounds by itself: a cast that would do so before is left out. */
const hone_term_t* hone_render_stored_term(const hone_renderer_t* r, const hone_stmt_t* stmt);
hone_operand_t hone_render_load(hone_renderer_t* r, const hone_buffer_t* buffer,
                                const hone_dim_t* index);
void hone_render_store(hone_renderer_t* r, const hone_stmt_t* stmt, hone_map_t* done);
/* Whether two stores, one behind the other, could be such a pair. */
bool hone_render_may_pair(const hone_stmt_t* first, const hone_stmt_t* second);
/* Two stores whose vectors lie side by side, in one, of quantized bytes or of bf16 that may lose
 * small numbers; false: they are not such. */
bool hone_render_store_pair(hone_renderer_t* r, const hone_stmt_t* first, const hone_stmt_t* second,
                            hone_map_t* done);
/* The same for two, or copies, whose lanes go to every second place, by turns. */
bool hone_render_store_woven(hone_renderer_t* r, const hone_stmt_t* first,
                             const hone_stmt_t* second, hone_map_t* done);
/* render_woven.c: four of `n` narrow ones whose lanes go to every fourth place, by turns, in one.
 */
enum { HONE_RENDER_FOUR = 4 };
bool hone_render_store_four(hone_renderer_t* r, const hone_stmt_t* const* stores, int n,
                            hone_map_t* done);
/* render_exponents.c: whether the term is an exponent of softmax that is only rounded to bf16, and
 * summed up, behind. */
bool hone_render_is_rough_exponent(hone_renderer_t* r, const hone_term_t* term);
/* render_clip.c: what is stored is `held` between bounds, which are infinite where there is none.
 */
typedef struct hone_clip {
  const hone_term_t* held;
  double low, high;
} hone_clip_t;
/* False: it has no bounds, or bounds that it is not rounded before. */
bool hone_render_find_clip(const hone_renderer_t* r, const hone_stmt_t* stmt,
                           hone_clip_t* out_clip);
/* ", low, high", as the prelude takes them. */
void hone_render_put_bounds(hone_renderer_t* r, const hone_clip_t* clip);
/* A whole vector; false: see above, or it does not go to consecutive places. */
bool hone_render_store_clipped(hone_renderer_t* r, const hone_stmt_t* stmt, hone_map_t* done);
/* render_lookup.c: the rounds of a loop of one look-up, a let and a store, of bytes in a table,
 * from `begin` to `end` (NULL: all); false: it is none, or the target has no instruction for that.
 */
bool hone_render_lookup(hone_renderer_t* r, const hone_stmt_t* loop, const char* begin,
                        const char* end);
/* render_turned.c: of `n` stores, one behind the other, those whose lanes lie apart, but side by
 * side from one store to the next, or what they load so. Gives how many it has written; 0: none. */
int hone_render_store_turned(hone_renderer_t* r, const hone_stmt_t* const* stores, int n,
                             hone_map_t* done);
/* Stores a value that is computed already, whatever the statement's own is. */
void hone_render_store_value(hone_renderer_t* r, const hone_stmt_t* stmt, hone_operand_t value);
/* "x_0 + (i * 4 + 2)" */
void hone_render_address(hone_renderer_t* r, const hone_buffer_t* buffer, const hone_dim_t* index,
                         hone_dim_t offset);
/* render_intrinsic.c: the loop's text for this backend; NULL where it stays a loop. */
const hone_intrinsic_text_t* hone_render_intrinsic_text(const hone_stmt_t* loop);
void hone_render_intrinsic(hone_renderer_t* r, const hone_stmt_t* loop);
/* Whether the target has what the text needs; else that is noted. */
bool hone_render_has_feature(hone_renderer_t* r, const hone_stmt_t* loop, const char* feature);
/* render_product.c: a loop that a library computes; the variables for the libraries, inside
 * of the function and behind it; and the condition that stands in front of the loop. */
bool hone_render_is_product(const hone_stmt_t* loop);
void hone_render_declare_libraries(hone_renderer_t* r);
void hone_render_define_libraries(hone_renderer_t* r);
void hone_render_open_product(hone_renderer_t* r, const hone_stmt_t* loop);
/* render_product.c: a sparse product, a call in place of the loop. */
bool hone_render_is_sparse(const hone_stmt_t* loop);
void hone_render_sparse(hone_renderer_t* r, const hone_stmt_t* loop);
/* render_block.c: a block of sums, a call in place of the loop. */
bool hone_render_is_block(const hone_stmt_t* loop);
void hone_render_block(hone_renderer_t* r, const hone_stmt_t* loop);
/* Takes the sums that a block in the loop adds to into registers, until _close is called with that
 * block; false: none stay there for all of it. */
bool hone_render_open_sums(hone_renderer_t* r, const hone_stmt_t* loop, hone_block_t* out_block);
void hone_render_close_sums(hone_renderer_t* r, const hone_block_t* block);
/* What a kernel with such sums ends with. */
void hone_render_end_sums(hone_renderer_t* r);
/* Rounds of the loop that it takes where it stores what sums begin with that the next statement
 * takes: one where that is the same in each row, and none where it lies in memory so already, or is
 * 0; -1: all, or it stores something else. */
int hone_render_begin_alike(hone_renderer_t* r, const hone_stmt_t* rows, const hone_stmt_t* next);
/* Begins a line for one lane after the other: the head of a loop whose variable
 * is the vector loop's. */
void hone_render_open_lanes(hone_renderer_t* r);
hone_operand_t hone_render_fresh(hone_renderer_t* r, hone_dtype_t dtype, bool is_vector);
/* A vector whose lanes are given one by one; those of no round are 0. */
hone_operand_t hone_render_fresh_lanes(hone_renderer_t* r, hone_dtype_t dtype);
void hone_render_storage(hone_renderer_t* r);
void hone_render_declarations(hone_renderer_t* r, const hone_stmt_t* scope);
/* Notes that something cannot be written (the first reason stays). */
void hone_render_refuse(hone_renderer_t* r, const char* what);

#endif
