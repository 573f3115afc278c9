/* Kernel: one function that a device runs, as a tree of loops and stores.
 *
 * A kernel computes output buffers from input buffers. Its body is a tree:
 *
 *   for i in 4096 parallel {        LOOP: a range 0 … extent - 1
 *     acc[] = 0                     STORE: combine SET
 *     for k in 768 {
 *       acc[] += mul(a[i, k], b[k]) STORE: combine ADD, MUL, MIN or MAX
 *     }
 *     out[i] = max(acc[], 0)
 *   }
 *
 * Indices, extents and offsets are dimension expressions (ir/dim.h) over the
 * loops' variables, the kernel's run-time sizes and integers bound by LET.
 * They live in a hone_dims_t of the kernel's own. Variables have ranges, so
 * that (8*i + j) / 8 with j in 0 … 7 is i without anybody's help.
 *
 * Values are terms: a DAG of elementwise primitives (ir/prim.h, with the same
 * semantics), loads, constants and indices used as numbers. Equal terms are
 * the same pointer.
 *
 * Rules
 * - Every index of a load or store lies inside its buffer whenever it is
 *   evaluated, also in the branch of a select that is not taken. Lowering
 *   clamps what would not (the part of a pad outside its operand). A buffer
 *   without elements still has 64 readable bytes.
 * - A loop that is not serial or unrolled runs its rounds in any order and at
 *   once: they must not depend on one another. Where a loop at the top is
 *   parallel, all else at the top but lets runs at the same time.
 * - Local and shared buffers exist once for each round of the loops that
 *   enclose all their uses; what they hold at first is undefined.
 * - Text form: loop/text.h. Verifier: loop/verify.h.
 *
 * Ownership: everything lives in the kernel's arena and goes with it.
 * Thread-safety: one thread at a time while it changes. */
#ifndef HONE_LOOP_KERNEL_H
#define HONE_LOOP_KERNEL_H

#include "base/map.h"
#include "hone/backend.h"
#include "ir/dim.h"
#include "ir/prim.h"

typedef enum hone_buffer_space {
  HONE_SPACE_GLOBAL, /* a parameter of the kernel */
  HONE_SPACE_SHARED, /* one for each group */
  HONE_SPACE_LOCAL,  /* one for each thread: registers where all indices are numbers, else stack */
  HONE_SPACE_COUNT
} hone_buffer_space_t;

typedef enum hone_role {
  HONE_ROLE_SCRATCH, /* every buffer that is no parameter */
  HONE_ROLE_INPUT,
  HONE_ROLE_OUTPUT,
  HONE_ROLE_ERROR, /* one i64: 0, or 1 + the number of a CHECK that failed */
  HONE_ROLE_COUNT
} hone_role_t;

/* Tiles have more axes than tensors. */
enum { HONE_MAX_BUFFER_RANK = 48 };

/* How a constant lies anew (sched/pack.c): the element of the new array at
 * i[0], i[1], … is that of the old one whose index along axis d is the sum of
 * i[a] * axes[a].stride over the axes with source d; zero where there is none.
 * Whoever compiles the kernel lays the constant out once. */
typedef struct hone_packing_axis {
  int source;     /* axis of the old array */
  int64_t stride; /* in that axis */
} hone_packing_axis_t;

typedef struct hone_packing {
  int rank; /* of the old array */
  int64_t* dims;
  hone_packing_axis_t* axes; /* one for each of the buffer's */
  /* A matrix of i8 in which most numbers are zero, as a table of the others, whose bytes the
   * buffer's extents say nothing about; these and the axes are as they were. Only the intrinsic
   * sparse_u8_i8 reads such a table (runtime/packing_sparse.c has its form). */
  bool is_sparse;
  int sums, columns; /* of a sparse one: the axis along which products are added up; the other */
  /* Of u8: eight numbers that follow one another lie in a word of 32 bits (loop/nibbles.h), which
   * only the intrinsics dot16_i8_u4 and dot32_i8_u4 read. */
  bool in_nibbles;
} hone_packing_t;

/* A dense row-major array. Parameters come first in the kernel's list. */
typedef struct hone_buffer {
  int id; /* index into the kernel's list */
  const char* name;
  hone_dtype_t dtype;
  int rank;
  const hone_dim_t* dims;
  hone_buffer_space_t space;
  hone_role_t role;
  int value; /* which input or output of the graph's node it is */
  /* Where its contents are known when the kernel is compiled (weights), so
   * that `pack` may lay them out anew. */
  bool is_constant;
  /* Of f32: what quantizations read from it was tried (loop/quantized.h): they need not divide. Of
   * integers: what is looked up by them is there, and would be if all were zero; nothing checks. */
  bool is_proven;
  /* Of f32: whole numbers of what is computed with it and quantized fit an i32. */
  bool is_bounded;
  /* Of i8: 1 + the axis, as the model has it, along which it is slight (ir/slight.h); or 0. */
  int slight;
  bool is_sparse;    /* Of i8: most numbers are zero (loop/sparse.h). */
  bool fits_nibbles; /* Of u8: all numbers have four bits (loop/nibbles.h). */
  /* Of an output: no element is stored twice, however many statements schedules have made of the
   * one that stores them. Not said in the text of a kernel. */
  bool is_stored_once;
  const hone_packing_t* packing; /* NULL: as the model has it */
} hone_buffer_t;

typedef enum hone_term_kind {
  HONE_TERM_CONST, /* bits */
  HONE_TERM_INDEX, /* dim, as a number of type i64 */
  HONE_TERM_LOAD,  /* buffer[index] */
  HONE_TERM_PRIM,  /* prim(args): unary, binary, select, cast and bitcast */
} hone_term_kind_t;

typedef struct hone_term hone_term_t;
struct hone_term {
  hone_term_kind_t kind;
  int id; /* order of making: arguments have smaller ones */
  uint64_t hash;
  const hone_term_t* next; /* in its bucket */
  uint64_t symbols;        /* bit id % 64 of each symbol that occurs in it */
  hone_dtype_t dtype;
  hone_prim_t prim;
  int64_t flags; /* HONE_FLAG_… of a cast */
  int n_args;
  const hone_term_t* args[3];
  uint64_t bits[2]; /* CONST: the element's bytes, little end first, the rest zero */
  hone_dim_t dim;
  const hone_buffer_t* buffer;
  const hone_dim_t* index; /* buffer->rank entries */
};

typedef enum hone_loop_kind {
  HONE_LOOP_SERIAL,
  HONE_LOOP_PARALLEL, /* over threads; outermost only: the launch's grid of a CPU */
  HONE_LOOP_VECTOR,   /* lanes of a vector: innermost, extent known */
  HONE_LOOP_UNROLL,   /* extent known */
  HONE_LOOP_GROUP,    /* over groups: the launch's groups */
  HONE_LOOP_ITEM,     /* over the work-items of a group */
  HONE_LOOP_KIND_COUNT
} hone_loop_kind_t;

typedef enum hone_stmt_kind {
  HONE_STMT_LOOP,
  HONE_STMT_STORE,
  HONE_STMT_IF,      /* children when `value` (bool) holds */
  HONE_STMT_LET,     /* symbol = value (i64), for the statements that follow in its block */
  HONE_STMT_CHECK,   /* `value` (bool) must hold, else the kernel's result is an error */
  HONE_STMT_BARRIER, /* of a group */
  /* buffer[index] will soon be read, or written: a hint, which may point anywhere. */
  HONE_STMT_PREFETCH,
  HONE_STMT_KIND_COUNT
} hone_stmt_kind_t;

typedef struct hone_stmt hone_stmt_t;
struct hone_stmt {
  hone_stmt_kind_t kind;
  hone_stmt_t* parent; /* NULL: at the top of the kernel */
  /* LOOP and IF: what is inside, in order. */
  int n_body, body_room;
  hone_stmt_t** body;
  /* LOOP, LET: the variable, a symbol of the kernel's dims. */
  hone_dim_t var;
  /* LOOP */
  const char* name; /* of the variable; unique in the kernel */
  hone_dim_t extent;
  hone_loop_kind_t loop;
  bool is_reduction;     /* its rounds add to the same elements */
  const char* intrinsic; /* name of one that computes all of it (loop/intrinsic.h); or NULL */
  /* STORE, PREFETCH */
  const hone_buffer_t* buffer;
  const hone_dim_t* index;
  bool is_near;  /* PREFETCH: into the first cache alone, else the second */
  bool is_claim; /* PREFETCH: it will be written */
  /* STORE */
  hone_combine_t combine;
  /* STORE, IF, LET, CHECK */
  const hone_term_t* value;
  /* CHECK */
  const char* message; /* "index out of range (Gather_3)" */
  int check;           /* its number */
};

struct hone_kernel {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;
  hone_dims_t* dims;
  const char* name;   /* "conv_12" */
  const char* origin; /* the model's nodes, separated by commas */
  int n_buffers, buffers_room;
  hone_buffer_t** buffers;
  /* Symbols of its dims that a launch gives, in order. */
  int n_sizes, sizes_room;
  hone_dim_t* sizes;
  int n_checks;
  bool by_parts;     /* its long sums of floats are to be added up part by part, to lose less */
  hone_stmt_t* root; /* an IF without condition: the top of the tree */
  int n_terms;
  size_t n_term_buckets;
  const hone_term_t** term_buckets;
  int n_names; /* for fresh ones */
  /* The schedule as it was applied, one primitive a line (sched/). */
  struct hone_str* schedule;
  /* Who chose it: the name of a recipe or tactic, and its reason in a few words;
   * "" as it was lowered. Static, or in the arena. Not part of the text form. */
  const char *tactic, *why;
  bool out_of_memory; /* a term is NULL because of this */
};

/* ---- kernels ---- */

HONE_MUST_USE hone_status_t hone_kernel_create(const hone_allocator_t* allocator, const char* name,
                                               hone_kernel_t** out_kernel);
void hone_kernel_destroy(hone_kernel_t* kernel); /* NULL is allowed */
/* A deep copy with everything of its own: what a search changes. */
HONE_MUST_USE hone_status_t hone_kernel_clone(const hone_kernel_t* kernel,
                                              hone_kernel_t** out_kernel);

/* All of the following give NULL when memory is out (and set out_of_memory). */

/* Names and dims are copied. `name` NULL makes one. Parameters go before scratch buffers,
 * whose numbers change. */
hone_buffer_t* hone_kernel_buffer(hone_kernel_t* kernel, const char* name, hone_dtype_t dtype,
                                  int rank, const hone_dim_t* dims, hone_buffer_space_t space,
                                  hone_role_t role);
/* Zeroed, for the buffer of an array of `rank`, which gets `axes` axes. */
hone_packing_t* hone_packing_create(hone_kernel_t* kernel, int rank, int axes);
/* What is known of a constant, which another buffer stands for too. */
void hone_buffer_know(hone_buffer_t* buffer, const hone_buffer_t* like);
/* Gives `buffer` a packing like another one, of this kernel or not. */
hone_packing_t* hone_packing_clone(hone_kernel_t* kernel, hone_buffer_t* buffer,
                                   const hone_packing_t* like);
/* Elements of a constant input of the dtype; 0: it is none, or only a run knows its extents. */
int64_t hone_buffer_count_constant(const hone_buffer_t* buffer, hone_dtype_t dtype);
/* A run-time size: a symbol of the kernel with that range. */
hone_dim_t hone_kernel_size(hone_kernel_t* kernel, const char* name, int64_t min, int64_t max);
/* A name nobody has: "i" with a number behind where it is taken. In the arena. */
const char* hone_kernel_fresh_name(hone_kernel_t* kernel, const char* base);
/* The buffer of the role and number; NULL when there is none. */
hone_buffer_t* hone_kernel_find_buffer(const hone_kernel_t* kernel, hone_role_t role, int value);

/* ---- terms; interned, and simplified where that is exact ---- */

const hone_term_t* hone_term_const(hone_kernel_t* kernel, hone_dtype_t dtype, const void* element);
/* Rounded to the dtype. */
const hone_term_t* hone_term_number(hone_kernel_t* kernel, hone_dtype_t dtype, double value);
const hone_term_t* hone_term_index(hone_kernel_t* kernel, hone_dim_t dim);
const hone_term_t* hone_term_load(hone_kernel_t* kernel, const hone_buffer_t* buffer,
                                  const hone_dim_t* index);
/* `dtype` matters for cast and bitcast only; elsewhere it follows from the arguments. */
const hone_term_t* hone_term_prim(hone_kernel_t* kernel, hone_prim_t prim, hone_dtype_t dtype,
                                  int64_t flags, int n_args, const hone_term_t* const* args);
const hone_term_t* hone_term_binary(hone_kernel_t* kernel, hone_prim_t prim, const hone_term_t* a,
                                    const hone_term_t* b);
/* a < b as a bool term; decided by the ranges where they allow it. */
const hone_term_t* hone_term_lt(hone_kernel_t* kernel, hone_dim_t a, hone_dim_t b);
const hone_term_t* hone_term_select(hone_kernel_t* kernel, const hone_term_t* condition,
                                    const hone_term_t* x, const hone_term_t* y);
/* The neutral element of a combine: what a reduction over nothing gives. */
const hone_term_t* hone_term_neutral(hone_kernel_t* kernel, hone_combine_t combine,
                                     hone_dtype_t dtype);
/* Whether it is the CONST true (or false) of type bool. */
bool hone_term_is_true(const hone_term_t* term);
bool hone_term_is_false(const hone_term_t* term);
/* What to put in place of symbols and of accesses to buffers. */
typedef struct hone_substitution {
  hone_dim_t symbol;     /* the only thing that is replaced, by *to; without one all that follows */
  int n;                 /* symbols from n on stay */
  const hone_dim_t* to;  /* by symbol id */
  const bool* is_mapped; /* NULL: all are */
  /* By buffer id: what stands in its place, with the same index; NULL: none does. */
  hone_buffer_t* const* buffers;
  /* Moves accesses of `from` to `into`; NULL: none. `reindex` gets the old
   * index, symbols already replaced, and writes that of `into`. */
  const hone_buffer_t* from;
  const hone_buffer_t* into;
  /* Whether an access with that index, symbols already replaced, moves; NULL: all do. */
  bool (*moves)(void* self, const hone_dim_t* old);
  void (*reindex)(void* self, hone_kernel_t* kernel, const hone_dim_t* old, hone_dim_t* out);
  /* A buffer of one integer whose loads become `value`; NULL: none. */
  const hone_buffer_t* constant;
  hone_dim_t value;
  /* Instead of symbols: what stands for an expression (see hone_dim_rename); NULL: none. */
  hone_dim_t (*rename)(void* self, hone_dim_t part);
  void* self;
} hone_substitution_t;
hone_dim_t hone_substitution_dim(hone_kernel_t* kernel, hone_dim_t d,
                                 const hone_substitution_t* by);
/* The term with everything replaced, simplified anew. */
const hone_term_t* hone_term_replace(hone_kernel_t* kernel, const hone_term_t* term,
                                     const hone_substitution_t* by);

/* ---- statements ---- */

/* Each is appended to the body of `parent` (NULL: to the top). */

/* Makes the loop's variable: `name` made unique, range 0 … largest extent - 1. */
hone_stmt_t* hone_stmt_loop(hone_kernel_t* kernel, hone_stmt_t* parent, const char* name,
                            hone_dim_t extent, hone_loop_kind_t kind);
hone_stmt_t* hone_stmt_store(hone_kernel_t* kernel, hone_stmt_t* parent,
                             const hone_buffer_t* buffer, const hone_dim_t* index,
                             hone_combine_t combine, const hone_term_t* value);
hone_stmt_t* hone_stmt_if(hone_kernel_t* kernel, hone_stmt_t* parent, const hone_term_t* condition);
/* A symbol with the range [min, max], which the value must keep to. */
hone_stmt_t* hone_stmt_let(hone_kernel_t* kernel, hone_stmt_t* parent, const char* name,
                           int64_t min, int64_t max, const hone_term_t* value);
hone_stmt_t* hone_stmt_check(hone_kernel_t* kernel, hone_stmt_t* parent,
                             const hone_term_t* condition, const char* message);
hone_stmt_t* hone_stmt_barrier(hone_kernel_t* kernel, hone_stmt_t* parent);
hone_stmt_t* hone_stmt_prefetch(hone_kernel_t* kernel, hone_stmt_t* parent,
                                const hone_buffer_t* buffer, const hone_dim_t* index);
/* Takes it out of its parent's body, with what is inside. */
void hone_stmt_remove(hone_stmt_t* stmt);
/* Puts a removed (or new) statement at `position` of parent's body; -1: last. */
bool hone_stmt_insert(hone_kernel_t* kernel, hone_stmt_t* parent, int position, hone_stmt_t* stmt);
int hone_stmt_position(const hone_stmt_t* stmt); /* in its parent's body */
/* A deep copy, in no parent: its loops get fresh names and variables, and
 * `by` is applied. */
hone_stmt_t* hone_stmt_copy(hone_kernel_t* kernel, const hone_stmt_t* stmt,
                            const hone_substitution_t* by);
/* Appends copies of what is in `from`, a statement of another kernel, to `parent`'s body. `by` has
 * something for each symbol and buffer of that kernel. */
bool hone_stmt_import(hone_kernel_t* kernel, hone_stmt_t* parent, const hone_stmt_t* from,
                      const hone_substitution_t* by);
/* Replaces symbols and buffers in a statement and all inside. */
bool hone_stmt_replace(hone_kernel_t* kernel, hone_stmt_t* stmt, const hone_substitution_t* by);
/* One symbol by an expression. */
bool hone_stmt_replace_var(hone_kernel_t* kernel, hone_stmt_t* stmt, hone_dim_t var, hone_dim_t to);
/* Pre-order walk: calls visit for the statement and all inside; stops when it gives false. */
bool hone_stmt_walk(hone_stmt_t* stmt, bool (*visit)(void* self, hone_stmt_t* stmt), void* self);
static inline bool hone_stmt_is_parallel(const hone_stmt_t* stmt) {
  return stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_PARALLEL;
}
/* Whether it does nothing but store constants to parameters, so that it may be done in any order
 * and by several threads. */
bool hone_stmt_is_fill(const hone_stmt_t* stmt);
/* Whether each round of the loop is a look-up: names for what is found, and checks, then a store.
 */
bool hone_stmt_is_lookup(const hone_stmt_t* loop);
/* The loop of that name; NULL when there is none. */
hone_stmt_t* hone_kernel_find_loop(const hone_kernel_t* kernel, const char* name);
/* The same for an access that is not in a term; the new index is in the arena. */
bool hone_index_replace(hone_kernel_t* kernel, const hone_buffer_t** buffer,
                        const hone_dim_t** index, const hone_substitution_t* by);
const hone_dim_t* hone_index_copy(hone_kernel_t* kernel, int rank, const hone_dim_t* index);
/* Whether the term mentions the symbol. */
bool hone_term_uses(const hone_term_t* term, hone_dim_t symbol);
/* Whether the term loads from the buffer. */
bool hone_term_reads(const hone_term_t* term, const hone_buffer_t* buffer);
/* Whether it is a cast that rounds to bf16, and may make 0 of numbers below 2^-126. */
bool hone_term_flushes(const hone_term_t* term);
/* Offset in elements of buffer[index]. */
hone_dim_t hone_buffer_offset(hone_kernel_t* kernel, const hone_buffer_t* buffer,
                              const hone_dim_t* index);

#endif
