/* MaxUnpool: zeros, with the input's elements at the places that MaxPool
 * found them. Indices count in the shape that undoes the pooling; a larger
 * output_shape adds zeros behind it. */
#include "ops/op.h"

/* One entry of an attribute that may be missing or short. */
static hone_dim_t entry(const hone_lower_t* l, const char* name, int index, int64_t fallback) {
  int count;
  const int64_t* list = hone_attr_ints(l->node, name, &count);
  return hone_d(index < count ? list[index] : fallback);
}

static void unpooled_shape(hone_lower_t* l, hone_dim_t* shape) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int n = hone_rank(x) - 2;
  for (int i = 0; i < hone_rank(x); i++) shape[i] = hone_dim(x, i);
  for (int i = 0; i < n; i++) {
    hone_dim_t steps = hone_d_sub(b, shape[2 + i], hone_d(1));
    hone_dim_t pads = hone_d_add(b, entry(l, "pads", i, 0), entry(l, "pads", n + i, 0));
    hone_dim_t last = hone_d_sub(b, entry(l, "kernel_shape", i, 1), pads);
    shape[2 + i] = hone_d_add(b, hone_d_mul(b, steps, entry(l, "strides", i, 1)), last);
  }
}

static void lower_max_unpool(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *index = hone_op_in(l, 1);
  int rank = hone_rank(x), count, n_kernel;
  hone_attr_ints(l->node, "kernel_shape", &n_kernel);
  if (rank < 3 || n_kernel != rank - 2 || hone_rank(index) != rank) {
    hone_op_fail(l, "needs X [N, C, D1 … Dn], indices of that shape and n kernel extents");
    return;
  }
  hone_dim_t shape[HONE_MAX_RANK], none[HONE_MAX_RANK], more[HONE_MAX_RANK];
  unpooled_shape(l, shape);
  hone_dim_t total = hone_dim_product(b->graph->dims, rank, shape);
  hone_value_t* out =
      hone_scatter(b, HONE_COMBINE_SET, hone_full(b, hone_dtype_of(x), 0, 1, &total),
                   hone_ravel(b, index), hone_ravel(b, x));
  out = hone_reshape(b, out, rank, shape);
  const hone_dim_t* wanted = hone_op_known_dims(l, 2, &count);
  if (wanted && count != rank) {
    hone_op_fail(l, "output_shape has %d entries, the input %d axes", count, rank);
    return;
  }
  for (int i = 0; i < rank; i++) {
    none[i] = hone_d(0);
    more[i] = wanted ? hone_d_sub(b, wanted[i], shape[i]) : hone_d(0);
  }
  hone_op_out(l, 0, hone_pad(b, out, none, more, NULL));
}

static const hone_op_t ops[] = {
    {.name = "MaxUnpool",
     .min_opset = 9,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "kernel_shape pads strides",
     .lower = lower_max_unpool},
};
HONE_OP_FAMILY(max_unpool, ops)
