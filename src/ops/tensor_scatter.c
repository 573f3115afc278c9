/* TensorScatter: an update written into a cache along one axis, for each
 * sample of the batch from its own position on. */
#include <string.h>

#include "ops/common/indexing.h"

/* The cache's position along `axis` of each element of the update. */
static hone_value_t* positions(hone_lower_t* l, int axis, bool circular) {
  hone_builder_t* b = l->b;
  hone_value_t *cache = hone_op_in(l, 0), *update = hone_op_in(l, 1), *first = hone_op_in(l, 2);
  hone_value_t* at = hone_iota(b, HONE_I64, hone_rank(update), update->type.dims, axis);
  if (first) {
    hone_dim_t shape[HONE_MAX_RANK];
    for (int i = 0; i < hone_rank(update); i++) shape[i] = hone_d(1);
    shape[0] = hone_dim(first, 0);
    first = hone_reshape(b, hone_cast(b, first, HONE_I64), hone_rank(update), shape);
    at = hone_add(b, at, first);
  }
  if (!circular) return at;
  return hone_floor_mod(b, at, hone_dim_scalar(b, HONE_I64, hone_dim(cache, axis)));
}

static void lower_tensor_scatter(hone_lower_t* l) {
  hone_value_t *cache = hone_op_in(l, 0), *update = hone_op_in(l, 1), *first = hone_op_in(l, 2);
  const char* mode = hone_attr_string(l->node, "mode", "linear");
  bool circular = strcmp(mode, "circular") == 0;
  if (!circular && strcmp(mode, "linear") != 0) {
    hone_op_fail(l, "mode '%s' is unknown; use linear or circular", mode);
    return;
  }
  int axis = hone_axis(l->b, hone_attr_int(l->node, "axis", -2), hone_rank(cache));
  if (!hone_builder_ok(l->b)) return;
  if (axis == 0 || hone_rank(update) != hone_rank(cache) || (first && hone_rank(first) != 1)) {
    hone_op_fail(l,
                 "needs an axis behind the batch, an update of the cache's rank and one "
                 "write index for each sample");
    return;
  }
  hone_value_t* at = positions(l, axis, circular);
  hone_op_out(l, 0, hone_scatter_along(l->b, HONE_COMBINE_SET, cache, at, update, axis));
}

static const hone_op_t ops[] = {
    {.name = "TensorScatter",
     .min_opset = 24,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "axis mode",
     .lower = lower_tensor_scatter},
};
HONE_OP_FAMILY(tensor_scatter, ops)
