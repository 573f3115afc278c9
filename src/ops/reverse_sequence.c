/* ReverseSequence: the first sequence_lens[i] time steps of sample i, reversed. */
#include <string.h>

#include "ops/common/indexing.h"

/* Row batch * T + t of the source for every (batch, t). */
static hone_value_t* source_rows(hone_builder_t* b, hone_value_t* lengths, const hone_dim_t* grid) {
  hone_value_t* t = hone_iota(b, HONE_I64, 2, grid, 1);
  hone_value_t* length = hone_unsqueeze(b, hone_cast(b, lengths, HONE_I64), 1);
  hone_value_t* mirrored = hone_add_number(b, hone_sub(b, length, t), -1);
  hone_value_t* at = hone_select(b, hone_lt(b, t, length), mirrored, t);
  hone_value_t* row = hone_iota(b, HONE_I64, 2, grid, 0);
  return hone_add(b, hone_mul(b, row, hone_dim_scalar(b, HONE_I64, grid[1])), at);
}

static void lower_reverse_sequence(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *lengths = hone_op_in(l, 1);
  int64_t time = hone_attr_int(l->node, "time_axis", 0);
  int64_t batch = hone_attr_int(l->node, "batch_axis", 1);
  int rank = hone_rank(x);
  if (rank < 2 || hone_rank(lengths) != 1 || time + batch != 1 || time * batch != 0) {
    hone_op_fail(l, "time_axis and batch_axis must be 0 and 1 or 1 and 0, sequence_lens a list");
    return;
  }
  if (time == 0) x = hone_move_axis(b, x, 0, 1); /* to batch, time, … */
  if (!x) return;
  hone_dim_t grid[2] = {hone_dim(x, 0), hone_dim(x, 1)}, merged[HONE_MAX_RANK];
  merged[0] = hone_d_mul(b, grid[0], grid[1]);
  memcpy(merged + 1, x->type.dims + 2, (size_t)(rank - 2) * sizeof *merged);
  x = hone_gather(b, hone_reshape(b, x, rank - 1, merged), source_rows(b, lengths, grid));
  hone_op_out(l, 0, time == 0 ? hone_move_axis(b, x, 0, 1) : x);
}

static const hone_op_t ops[] = {
    {.name = "ReverseSequence",
     .min_opset = 10,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "batch_axis time_axis",
     .lower = lower_reverse_sequence},
};
HONE_OP_FAMILY(reverse_sequence, ops)
