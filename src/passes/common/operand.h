/* Operands of contractions, for passes that change the types in which they are stored. */
#ifndef HONE_PASSES_COMMON_OPERAND_H
#define HONE_PASSES_COMMON_OPERAND_H

#include "base/map.h"
#include "passes/common/rewrite.h"

/* Movement, after which the numbers are those of the node's operands. */
bool hone_operand_only_moves(const hone_node_t* node);
/* Lanes of the vectors of outputs that matrix instructions on x86 have. */
enum { HONE_BLOCK_LANES = 16 };
/* Whether what is not summed over of an operand, weights, fills vectors of so many lanes, the last
 * at least half of one; and whether the first is a whole one. */
bool hone_operand_fills_part(const hone_node_t* contract, int side, int64_t lanes);
bool hone_operand_fills_lanes(const hone_node_t* contract, int side, int64_t lanes);
/* Whether it sums up products of bytes, as whole numbers. */
bool hone_operand_are_bytes(const hone_node_t* contract);
/* Of the sums the only pair along one of the first `rank` axes of operand `side`, as channels are
 * below a window; -1: there are others, or none. */
int hone_operand_only_sum(const hone_node_t* contract, int side, int rank);
/* What is moved in the end. */
hone_value_t* hone_operand_origin(hone_value_t* value);
/* Whether products can stand side by side in groups of so many: an axis that is summed over has
 * whole ones. */
bool hone_operand_has_groups(const hone_node_t* contract, int64_t count);
/* How many products each number of operand `side` takes part in; INT64_MAX: not known. */
int64_t hone_operand_uses(const hone_node_t* contract, int side);
/* Whether some operand is weights of so few uses that reading them is what takes the time, even
 * where each of them is widened for its products. */
bool hone_operand_waits_for_weights(const hone_node_t* contract);

/* A product of rows by weights: [rows, sums] or, with any axes in front, [..., sums] by
 * [sums, columns] or [columns, sums], all of f32. */
typedef struct hone_operand_product {
  const hone_tensor_t* w;
  int w_sum;    /* axis of the weights along the sum */
  int64_t rows; /* 0: only a run knows */
  int64_t sums, columns;
} hone_operand_product_t;

/* Whether the node is one, with a row at least. */
bool hone_operand_is_product(const hone_node_t* node, hone_operand_product_t* out);

/* Axes of operand `side`: batch axes, then free ones, then those summed over. */
typedef struct hone_operand_axes {
  int n_batch, n_free, n_summed;
  int64_t axes[HONE_MAX_RANK];
} hone_operand_axes_t;

hone_operand_axes_t hone_operand_sort_axes(const hone_node_t* contract, int side);
/* `x`, of the operand's rank and of extent 1 along the axes summed over, laid out to
 * broadcast against the result. */
hone_value_t* hone_operand_lay_out(hone_builder_t* b, const hone_node_t* contract, int side,
                                   hone_value_t* x);

/* The same numbers in another dtype, rounded where they have to be. */
HONE_MUST_USE hone_status_t hone_operand_convert_tensor(const hone_allocator_t* allocator,
                                                        const hone_tensor_t* tensor,
                                                        hone_dtype_t dtype,
                                                        hone_tensor_t** out_tensor);

/* Operands in another dtype, which has room for the numbers or to which they are to be rounded.
 * They are converted where they were made, behind all that only moves them, constants at once, and
 * none of them twice. */
typedef struct hone_operand_store {
  hone_dtype_t dtype;
  int64_t flags;   /* HONE_FLAG_… of the casts */
  bool flips_sign; /* u8 that is 128 more than the i8 that it is made of */
  bool above_most; /* what is rounded is so before the most or least of some numbers is taken */
  hone_map_t made; /* converted values by those that they come from */
  int64_t bytes;   /* of constants, as they are now */
} hone_operand_store_t;

void hone_operand_store_open(hone_operand_store_t* store, const hone_allocator_t* allocator,
                             hone_dtype_t dtype);
/* Rounded because --precision asks for it, which wants speed: numbers that instructions of bf16
 * take for 0 need not survive. */
void hone_operand_store_open_rounding(hone_operand_store_t* store,
                                      const hone_allocator_t* allocator, hone_dtype_t precision);
void hone_operand_store_close(hone_operand_store_t* store);
/* `value` in the dtype of the store; NULL: r->b has the status. */
hone_value_t* hone_operand_convert(hone_operand_store_t* store, hone_rewriter_t* r,
                                   hone_value_t* value);

#endif
