/* GatherND: slices picked by tuples in the last axis of the indices. The
 * indexed axes (with the batch axes in front) are merged into one. */
#include <string.h>

#include "ops/common/indexing.h"

typedef struct tuples {
  int batch; /* leading axes that data and indices share */
  int count; /* numbers a tuple */
} tuples_t;

static bool read_tuples(hone_lower_t* l, tuples_t* t) {
  hone_value_t *x = hone_op_in(l, 0), *index = hone_op_in(l, 1);
  int64_t batch = hone_attr_int(l->node, "batch_dims", 0);
  if (hone_rank(index) < 1 || batch < 0 || batch >= hone_rank(index) || batch >= hone_rank(x)) {
    hone_op_fail(l, "batch_dims %lld does not fit data of rank %d and indices of rank %d",
                 (long long)batch, hone_rank(x), hone_rank(index));
    return false;
  }
  hone_dim_t count = hone_dim(index, -1);
  if (!hone_dim_is_int(count)) {
    hone_defer(l->b, "how long the index tuples are is not known");
    return false;
  }
  if (count.k > hone_rank(x) - batch) {
    hone_op_fail(l, "tuples of %lld indices for %d axes", (long long)count.k, hone_rank(x));
    return false;
  }
  *t = (tuples_t){(int)batch, (int)count.k};
  return true;
}

static void lower_gather_nd(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *index = hone_op_in(l, 1);
  tuples_t t;
  if (!read_tuples(l, &t)) return;
  int used = t.batch + t.count, rest = hone_rank(x) - used;
  const hone_dim_t* dims = x->type.dims;
  hone_value_t* at = hone_tuple_position(b, index, t.count, dims + t.batch);
  if (at && t.batch) {
    hone_dim_t block = hone_dim_product(b->graph->dims, t.count, dims + t.batch);
    hone_value_t* row = hone_row_number(b, hone_rank(at), at->type.dims, t.batch);
    at = hone_add(b, at, hone_mul(b, row, hone_dim_scalar(b, HONE_I64, block)));
  }
  hone_dim_t merged[HONE_MAX_RANK + 1];
  merged[0] = hone_dim_product(b->graph->dims, used, dims);
  memcpy(merged + 1, dims + used, (size_t)rest * sizeof *merged);
  hone_op_out(l, 0, hone_gather(b, hone_reshape(b, x, rest + 1, merged), at));
}

static const hone_op_t ops[] = {
    {.name = "GatherND",
     .min_opset = 11,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "batch_dims",
     .lower = lower_gather_nd},
};
HONE_OP_FAMILY(gather_nd, ops)
