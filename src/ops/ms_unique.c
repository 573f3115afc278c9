/* Unique of com.microsoft: of a list, by first occurrence; values, where each
 * element stands among them, and how often each occurs. */
#include "base/memory.h"
#include "ops/common/ms.h"

/* The node with sorted = 0. */
static const hone_onnx_node_t* unsorted(hone_lower_t* l) {
  hone_arena_t* arena = l->b->graph->arena;
  hone_onnx_node_t* node = hone_arena_memdup(arena, l->node, sizeof *node);
  hone_onnx_attr_t* attr = hone_arena_alloc(arena, sizeof *attr);
  int64_t* zero = hone_arena_alloc(arena, sizeof *zero);
  if (!node || !attr || !zero) {
    hone_fail_status(l->b, hone_oom());
    return NULL;
  }
  *attr = (hone_onnx_attr_t){.name = "sorted", .kind = HONE_ATTR_INT, .count = 1, .ints = zero};
  node->n_attrs = 1;
  node->attrs = attr;
  return node;
}

static void lower_unique(hone_lower_t* l) {
  hone_value_t *x = hone_op_in(l, 0), *out[4];
  hone_lower_t inner = *l;
  inner.node = unsorted(l);
  if (!inner.node || !hone_ms_delegate(&inner, "Unique", 11, 1, &x, 4, out)) return;
  hone_op_out(l, 0, out[0]);
  hone_op_out(l, 1, out[2]);
  hone_op_out(l, 2, out[3]);
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "Unique",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .lower = lower_unique},
};
HONE_OP_FAMILY(ms_unique, ops)
