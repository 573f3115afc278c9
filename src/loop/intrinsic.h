/* Intrinsics: what some devices do in one instruction, or a library in one call.
 * Each is a small kernel, its pattern, a block of another's sums (loop/block.h), or the product of
 * two matrices of any size (loop/product.h); a nest of loops that computes the same may be marked
 * with its name (hone_stmt_t.intrinsic, sched/tensorize.c). A renderer that has a text for it
 * writes that instead of the loops, and a call in front of them; others write the loops, which stay
 * what they were. */
#ifndef HONE_LOOP_INTRINSIC_H
#define HONE_LOOP_INTRINSIC_H

#include "loop/kernel.h"

enum { HONE_MAX_OPERANDS = 4, HONE_INTRINSIC_TEXTS = 2 };

/* How a backend writes it: an expression in its language that gives the results
 * of all lanes, in which $0, $1, … are pointers to the first elements of the
 * pattern's inputs, and the number of its output is what that was before; $s is the step of
 * operand 0, $n the number of lanes, $h "_half" where they fill half a vector at most. */
typedef struct hone_intrinsic_text {
  const char* backend; /* "cpu"; NULL: none */
  const char* feature; /* what the target must have: "avx512vnni" */
  const char* text;
} hone_intrinsic_text_t;

/* What matrix instructions do: the sums of another intrinsic for several rows and vectors at once,
 * whose text is the name of a function (backends/cpu/render_block.c). */
typedef struct hone_intrinsic_block {
  const char* of;     /* the other one; NULL: it is no block */
  int group;          /* numbers of a step that lie side by side in operand 0 */
  int rows, vectors;  /* at most, of a block */
  int height, depth;  /* rows and steps that one instruction takes */
  int least;          /* steps of an instruction for which it is worth its time */
  int fewest;         /* the same where a sum takes several instructions */
  double cycles;      /* for a step of `height` rows of one vector */
  double load_cycles; /* for what a step reads of so many rows, or of a vector */
  /* Sums stay in registers between calls: NAME_open takes them there, NAME_close back, NAME_end is
   * what a kernel ends with. NULL: each call reads and writes them. */
  const char* keeps;
} hone_intrinsic_block_t;

typedef struct hone_intrinsic {
  const char* name;
  /* A kernel in text: one nest over parameters only; NULL: a product, or a block. */
  const char* pattern;
  hone_intrinsic_block_t block;
  hone_intrinsic_text_t texts[HONE_INTRINSIC_TEXTS];
  int lanes; /* a loop of fewer rounds, but the same else, is a part of it; 0: none is */
  /* Each lane has data of its own, and the second loop's step in operand 0 may be any. */
  bool is_apart;
  int turned; /* vectors that hold numbers of the lanes' own in the order in which it takes them */
  /* Lanes whose weights, operand 1, have to be slight (ir/slight.h), since it adds up in 16 bits;
   * 0: any will do. */
  int slight_lanes;
  bool is_sparse;  /* a product of u8 by i8 with a sparse packing, which `tensorize` gives it */
  bool in_nibbles; /* operand 1 fits nibbles, in words, which `tensorize` makes of its packing */
} hone_intrinsic_t;

/* What stands for a parameter of the pattern: element `offset` of a buffer and those behind. */
typedef struct hone_operand_range {
  const hone_buffer_t* buffer;
  hone_dim_t offset;
  int64_t step; /* of the innermost loop */
} hone_operand_range_t;

/* NULL when there is none of that name. */
const hone_intrinsic_t* hone_intrinsic_find(const char* name);
/* All there are, by `index` from 0; NULL past the last. */
const hone_intrinsic_t* hone_intrinsic_at(int index);
/* NULL where the backend writes the loops. */
const hone_intrinsic_text_t* hone_intrinsic_text(const hone_intrinsic_t* intrinsic,
                                                 const char* backend);
/* Whether it is the product of two matrices, by a library or a function. */
bool hone_intrinsic_is_product(const hone_intrinsic_t* intrinsic);
/* The block of sums of `dot`; NULL: there is none. */
const hone_intrinsic_t* hone_intrinsic_block_of(const hone_intrinsic_t* dot);

/* Whether the loop with all that is in it computes the pattern, on elements that
 * lie in memory as the pattern's do. Operands, by number of the pattern's
 * parameter, are given when it does; of a product those of a, b and c. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_intrinsic_match(hone_kernel_t* kernel, const hone_stmt_t* loop,
                                                 const hone_intrinsic_t* intrinsic, bool* out,
                                                 hone_operand_range_t operands[HONE_MAX_OPERANDS]);

#endif
