/* Lists of integers: what one opset has as an attribute, another has as an
 * input. Lowerings read both the same way. */
#include "base/memory.h"
#include "ops/op.h"

static const hone_dim_t* attr_dims(hone_lower_t* l, const char* attr, int* out_count) {
  const int64_t* ints = hone_attr_ints(l->node, attr, out_count);
  hone_dim_t* dims = hone_arena_array(l->b->graph->arena, (size_t)*out_count, sizeof *dims);
  if (!dims) return (void*)hone_fail_status(l->b, hone_oom());
  for (int i = 0; i < *out_count; i++) dims[i] = hone_d(ints[i]);
  return dims;
}

const hone_dim_t* hone_op_list(hone_lower_t* l, const char* attr, int index, int* out_count) {
  *out_count = 0;
  if (attr && hone_attr_has(l->node, attr)) return attr_dims(l, attr, out_count);
  return index < 0 ? NULL : hone_op_known_dims(l, index, out_count);
}

const int64_t* hone_op_ints(hone_lower_t* l, const char* attr, int index, int* out_count) {
  const hone_dim_t* dims = hone_op_list(l, attr, index, out_count);
  if (!dims) return NULL;
  int64_t* ints = hone_arena_array(l->b->graph->arena, (size_t)*out_count, sizeof *ints);
  if (!ints) return (void*)hone_fail_status(l->b, hone_oom());
  for (int i = 0; i < *out_count; i++) {
    if (!hone_dim_is_int(dims[i]))
      return (void*)hone_defer(l->b, "a list of integers must be known to build the node");
    ints[i] = dims[i].k;
  }
  return ints;
}

const int64_t* hone_op_axes(hone_lower_t* l, const char* attr, int index, int rank,
                            int* out_count) {
  const int64_t* ints = hone_op_ints(l, attr, index, out_count);
  if (!ints) return NULL;
  int64_t* axes = hone_arena_array(l->b->graph->arena, (size_t)*out_count, sizeof *axes);
  if (!axes) return (void*)hone_fail_status(l->b, hone_oom());
  uint32_t seen = 0;
  for (int i = 0; i < *out_count; i++) {
    axes[i] = hone_axis(l->b, ints[i], rank);
    if (seen & (1u << axes[i]) && hone_builder_ok(l->b))
      hone_op_fail(l, "axis %lld is named twice", (long long)ints[i]);
    seen |= 1u << axes[i];
  }
  return hone_builder_ok(l->b) ? axes : NULL;
}
