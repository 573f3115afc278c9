/* CDist (com.microsoft): distances between each row of A and each row of B. */
#include <string.h>

#include "ops/common/distances.h"
#include "ops/common/ms.h"

static void lower_c_dist(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *y = hone_op_in(l, 1);
  const char* metric = hone_attr_string(l->node, "metric", "sqeuclidean");
  bool rooted = strcmp(metric, "euclidean") == 0;
  if (!rooted && strcmp(metric, "sqeuclidean") != 0) {
    hone_fail(b, HONE_UNSUPPORTED, "metric '%s' is not supported; euclidean and sqeuclidean are",
              metric);
    return;
  }
  if (hone_rank(x) != 2 || hone_rank(y) != 2) {
    hone_op_fail(l, "the inputs have rank %d and %d; both must be matrices", hone_rank(x),
                 hone_rank(y));
    return;
  }
  hone_value_t* sums = hone_squared_distances(b, x, y);
  hone_op_out(l, 0, rooted ? hone_sqrt(b, sums) : sums);
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "CDist",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "metric",
     .lower = lower_c_dist},
};
HONE_OP_FAMILY(ms_c_dist, ops)
