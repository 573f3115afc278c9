/* ConcatFromSequence: the tensors of a sequence side by side along an axis, or
 * along a new one. */
#include "base/memory.h"
#include "ops/common/host.h"
#include "ops/common/sequence.h"

/* ---- lowering ---- */

static void join_members(hone_lower_t* l, int count, hone_value_t* const* members, int64_t axis,
                         bool new_axis) {
  hone_value_t** parts = hone_arena_array(l->b->graph->arena, (size_t)count, sizeof *parts);
  if (!parts) {
    hone_fail_status(l->b, hone_oom());
    return;
  }
  for (int i = 0; i < count; i++) {
    if (!hone_is_known(l->b, members[i])) return;
    int at = hone_axis(l->b, axis, hone_rank(members[i]) + new_axis);
    if (!hone_builder_ok(l->b)) return;
    parts[i] = new_axis ? hone_unsqueeze(l->b, members[i], at) : members[i];
    if (i == count - 1) hone_op_out(l, 0, hone_concat(l->b, count, parts, at));
  }
}

static void lower_concat(hone_lower_t* l) {
  int64_t axis = hone_attr_int(l->node, "axis", 0);
  bool new_axis = hone_attr_int(l->node, "new_axis", 0) != 0;
  if (!hone_attr_has(l->node, "axis")) {
    hone_op_fail(l, "attribute axis is missing");
    return;
  }
  hone_value_t* const* members;
  int count = hone_sequence_members(l->inputs[0], &members);
  if (count > 0) {
    join_members(l, count, members, axis, new_axis);
    return;
  }
  hone_type_t type = hone_sequence_element(&l->inputs[0]->type);
  if (type.kind == HONE_TYPE_TENSOR && new_axis) type.rank++;
  hone_op_host(l, &type);
}

/* ---- when it runs ---- */

/* Where parts go: `outer` blocks, each of which takes a run from every part. */
typedef struct layout {
  int axis, rank;
  int64_t dims[HONE_MAX_RANK];
  int64_t outer, inner;
} layout_t;

static bool same_but_axis(const hone_tensor_t* a, const hone_tensor_t* b, int axis) {
  if (hone_tensor_kind(b) != HONE_KIND_TENSOR || hone_tensor_dtype(a) != hone_tensor_dtype(b) ||
      hone_tensor_rank(a) != hone_tensor_rank(b))
    return false;
  for (int i = 0; i < hone_tensor_rank(a); i++)
    if (i != axis && hone_tensor_dims(a)[i] != hone_tensor_dims(b)[i]) return false;
  return true;
}

/* How many places item `i` takes along the joined axis. */
static int64_t part_extent(const hone_tensor_t* item, int axis, bool new_axis) {
  return new_axis ? 1 : hone_tensor_dims(item)[axis];
}

static hone_status_t plan(const hone_tensor_t* sequence, int64_t axis, bool new_axis,
                          layout_t* out) {
  const hone_tensor_t* first = hone_sequence_item(sequence, 0);
  if (!first || hone_tensor_kind(first) != HONE_KIND_TENSOR)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "ConcatFromSequence: the sequence holds no tensors");
  int rank = hone_tensor_rank(first) + new_axis;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || rank > HONE_MAX_RANK)
    return hone_status_make(HONE_INVALID_MODEL, "ConcatFromSequence: axis out of range");
  *out = (layout_t){.axis = (int)axis, .rank = rank, .outer = 1, .inner = 1};
  for (int i = 0, k = 0; i < rank; i++) {
    if (i == axis && new_axis) continue;
    int64_t extent = hone_tensor_dims(first)[k++];
    out->dims[i] = extent;
    if (i < axis) out->outer *= extent;
    if (i > axis) out->inner *= extent;
  }
  out->dims[axis] = 0;
  for (int64_t i = 0; i < hone_tensor_count(sequence); i++) {
    const hone_tensor_t* item = hone_sequence_item(sequence, i);
    if (!same_but_axis(first, item, new_axis ? -1 : (int)axis))
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "ConcatFromSequence: element %lld does not fit the first one",
                              (long long)i);
    if (!hone_i64_add(out->dims[axis], part_extent(item, (int)axis, new_axis), &out->dims[axis]))
      return hone_oom();
  }
  return NULL;
}

static hone_status_t run_concat(hone_host_call_t* call) {
  const hone_tensor_t* sequence;
  HONE_TRY(hone_host_sequence(call, 0, &sequence));
  bool new_axis = hone_attr_int(call->node, "new_axis", 0) != 0;
  layout_t layout;
  HONE_TRY(plan(sequence, hone_attr_int(call->node, "axis", 0), new_axis, &layout));
  hone_dtype_t dtype = hone_tensor_dtype(hone_sequence_item(sequence, 0));
  HONE_TRY(hone_tensor_create(call->allocator, dtype, layout.rank, layout.dims, &call->outputs[0]));
  int64_t at = 0;
  for (int64_t o = 0; o < layout.outer; o++)
    for (int64_t i = 0; i < hone_tensor_count(sequence); i++) {
      const hone_tensor_t* item = hone_sequence_item(sequence, i);
      int64_t run = part_extent(item, layout.axis, new_axis) * layout.inner;
      HONE_TRY(hone_host_copy(call->outputs[0], at, item, o * run, run));
      at += run;
    }
  return NULL;
}

static const hone_op_t ops[] = {
    {.name = "ConcatFromSequence",
     .min_opset = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis new_axis",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_concat,
     .host = run_concat},
};
HONE_OP_FAMILY(concat_from_sequence, ops)
