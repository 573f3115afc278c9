/* DepthToSpace and SpaceToDepth: blocks of pixels to channels and back. Both
 * split axes into six, permute those and merge them. */
#include <string.h>

#include "ops/op.h"

typedef struct block {
  hone_dim_t size, n, c, h, w; /* of the input */
  bool crd;
} block_t;

static bool read_block(hone_lower_t* l, block_t* block) {
  hone_value_t* x = hone_op_in(l, 0);
  int64_t size = hone_attr_int(l->node, "blocksize", 0);
  const char* mode = hone_attr_string(l->node, "mode", "DCR");
  block->crd = strcmp(mode, "CRD") == 0;
  if (size < 1 || hone_rank(x) != 4 || (!block->crd && strcmp(mode, "DCR") != 0)) {
    hone_op_fail(l, "needs blocksize >= 1 (is %lld), four axes (has %d) and mode DCR or CRD",
                 (long long)size, hone_rank(x));
    return false;
  }
  block->size = hone_d(size);
  block->n = hone_dim(x, 0);
  block->c = hone_dim(x, 1);
  block->h = hone_dim(x, 2);
  block->w = hone_dim(x, 3);
  return true;
}

static hone_value_t* shuffle(hone_builder_t* b, hone_value_t* x, const hone_dim_t* split,
                             const int64_t* axes, const hone_dim_t* merged) {
  x = hone_permute(b, hone_reshape(b, x, 6, split), axes);
  return hone_reshape(b, x, 4, merged);
}

static void lower_depth_to_space(hone_lower_t* l) {
  static const int64_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
  hone_builder_t* b = l->b;
  block_t k;
  if (!read_block(l, &k)) return;
  hone_dim_t s = k.size, c = hone_d_floordiv(b, k.c, hone_d_mul(b, s, s));
  hone_dim_t first[] = {k.n, s, s, c, k.h, k.w}, last[] = {k.n, c, s, s, k.h, k.w};
  hone_dim_t merged[] = {k.n, c, hone_d_mul(b, k.h, s), hone_d_mul(b, k.w, s)};
  hone_op_out(l, 0, shuffle(b, hone_op_in(l, 0), k.crd ? last : first, k.crd ? crd : dcr, merged));
}

static void lower_space_to_depth(hone_lower_t* l) {
  static const int64_t dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
  hone_builder_t* b = l->b;
  block_t k;
  if (!read_block(l, &k)) return;
  hone_dim_t s = k.size, h = hone_d_floordiv(b, k.h, s), w = hone_d_floordiv(b, k.w, s);
  hone_dim_t split[] = {k.n, k.c, h, s, w, s};
  hone_dim_t merged[] = {k.n, hone_d_mul(b, k.c, hone_d_mul(b, s, s)), h, w};
  hone_op_out(l, 0, shuffle(b, hone_op_in(l, 0), split, k.crd ? crd : dcr, merged));
}

static const hone_op_t ops[] = {
    {.name = "DepthToSpace",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "blocksize mode",
     .lower = lower_depth_to_space},
    {.name = "SpaceToDepth",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "blocksize mode",
     .lower = lower_space_to_depth},
};
HONE_OP_FAMILY(depth_to_space, ops)
