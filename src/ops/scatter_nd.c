/* ScatterND: slices replaced by (or combined with) updates, at index tuples. */
#include <string.h>

#include "ops/common/indexing.h"

static void lower_scatter_nd(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *index = hone_op_in(l, 1);
  hone_combine_t combine = hone_scatter_combine(l);
  if (!hone_builder_ok(b)) return;
  if (hone_rank(index) < 1 || hone_rank(x) < 1) {
    hone_op_fail(l, "data and indices need at least one axis");
    return;
  }
  hone_dim_t count = hone_dim(index, -1);
  if (!hone_dim_is_int(count)) {
    hone_defer(b, "how long the index tuples are is not known");
    return;
  }
  if (count.k > hone_rank(x)) {
    hone_op_fail(l, "tuples of %lld indices for %d axes", (long long)count.k, hone_rank(x));
    return;
  }
  int used = (int)count.k, rest = hone_rank(x) - used;
  hone_dim_t merged[HONE_MAX_RANK + 1];
  merged[0] = hone_dim_product(b->graph->dims, used, x->type.dims);
  memcpy(merged + 1, x->type.dims + used, (size_t)rest * sizeof *merged);
  hone_value_t* at = hone_tuple_position(b, index, used, x->type.dims);
  hone_value_t* rows = hone_reshape(b, x, rest + 1, merged);
  hone_value_t* out = hone_scatter(b, combine, rows, at, hone_op_in(l, 2));
  hone_op_out(l, 0, hone_reshape_like(b, out, x));
}

static const hone_op_t ops[] = {
    {.name = "ScatterND",
     .min_opset = 11,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "reduction",
     .lower = lower_scatter_nd},
};
HONE_OP_FAMILY(scatter_nd, ops)
