/* SplitToSequence: pieces of a tensor along one axis. Where their sizes are
 * known now they are slices; otherwise they are copied when it runs. */
#include "base/memory.h"
#include "ops/common/host.h"
#include "ops/common/sequence.h"

enum { MAX_PIECES = 1024 };

/* How `extent` elements are divided. */
typedef struct pieces {
  int64_t count;
  const hone_tensor_t* sizes; /* one for each piece; NULL: all of `size`, the last may be less */
  int64_t size;
} pieces_t;

static int64_t piece_size(const pieces_t* pieces, int64_t index) {
  return pieces->sizes ? hone_tensor_i64(pieces->sizes, index) : pieces->size;
}

static hone_status_t check_sizes(const hone_tensor_t* sizes, int64_t extent) {
  int64_t left = extent;
  for (int64_t i = 0; i < hone_tensor_count(sizes); i++) {
    int64_t size = hone_tensor_i64(sizes, i);
    if (size < 0 || size > left) left = -1;
    if (left < 0) break;
    left -= size;
  }
  if (left == 0) return NULL;
  return hone_status_make(HONE_INVALID_MODEL,
                          "SplitToSequence: the sizes do not add up to the extent %lld",
                          (long long)extent);
}

/* `split`: NULL, a scalar (size of each piece) or a list of sizes. */
static hone_status_t divide(const hone_tensor_t* split, int64_t extent, pieces_t* out) {
  *out = (pieces_t){.count = extent, .size = 1};
  if (!split) return NULL;
  if (hone_tensor_rank(split) > 0) {
    *out = (pieces_t){.count = hone_tensor_count(split), .sizes = split};
    return check_sizes(split, extent);
  }
  out->size = hone_tensor_i64(split, 0);
  if (out->size < 1)
    return hone_status_make(HONE_INVALID_MODEL, "SplitToSequence: pieces of size %lld",
                            (long long)out->size);
  out->count = extent / out->size + (extent % out->size != 0);
  return NULL;
}

static bool drops_axis(const hone_onnx_node_t* node, bool has_split) {
  return !has_split && hone_attr_int(node, "keepdims", 1) == 0;
}

/* ---- lowering ---- */

static void build_slices(hone_lower_t* l, int axis, int64_t extent, const pieces_t* pieces) {
  hone_value_t** members =
      hone_arena_array(l->b->graph->arena, (size_t)pieces->count, sizeof *members);
  if (!members) {
    hone_fail_status(l->b, hone_oom());
    return;
  }
  int64_t at = 0;
  for (int64_t i = 0; i < pieces->count && hone_builder_ok(l->b); i++) {
    int64_t end = at + piece_size(pieces, i);
    if (end > extent) end = extent;
    members[i] = hone_slice_axis(l->b, l->inputs[0], axis, hone_d(at), hone_d(end));
    if (drops_axis(l->node, hone_op_in(l, 1))) members[i] = hone_squeeze(l->b, members[i], axis);
    at = end;
  }
  hone_op_out(l, 0, hone_sequence_of(l, l->b, (int)pieces->count, members));
}

static void lower_split(hone_lower_t* l) {
  hone_value_t *x = l->inputs[0], *split = hone_op_in(l, 1);
  int axis = hone_axis(l->b, hone_attr_int(l->node, "axis", 0), hone_rank(x));
  if (!hone_builder_ok(l->b)) return;
  hone_dim_t extent = hone_dim(x, axis);
  const hone_tensor_t* known = split ? hone_known_tensor(l->b, split) : NULL;
  pieces_t pieces = {.count = MAX_PIECES + 1};
  if (hone_dim_is_int(extent) && (known || !split)) {
    hone_status_t status = divide(known, extent.k, &pieces);
    if (status) {
      hone_fail_status(l->b, status);
      return;
    }
  }
  if (pieces.count <= MAX_PIECES) {
    build_slices(l, axis, extent.k, &pieces);
    return;
  }
  hone_type_t element = x->type;
  if (drops_axis(l->node, split)) element.rank--;
  hone_type_t type = hone_sequence_type(l->b, &element);
  hone_op_host(l, &type);
}

/* ---- when it runs ---- */

/* The elements [at, at + size) of `axis`, without that axis if `drop`. */
static hone_status_t copy_piece(hone_host_call_t* call, const hone_tensor_t* x, int axis,
                                int64_t at, int64_t size, bool drop, hone_tensor_t** out) {
  int64_t dims[HONE_MAX_RANK], outer = 1, inner = 1;
  int rank = 0;
  for (int i = 0; i < hone_tensor_rank(x); i++) {
    int64_t extent = hone_tensor_dims(x)[i];
    if (i < axis) outer *= extent;
    if (i > axis) inner *= extent;
    if (i != axis || !drop) dims[rank++] = i == axis ? size : extent;
  }
  HONE_TRY(hone_tensor_create(call->allocator, hone_tensor_dtype(x), rank, dims, out));
  int64_t extent = hone_tensor_dims(x)[axis];
  for (int64_t o = 0; o < outer; o++)
    HONE_TRY(hone_host_copy(*out, o * size * inner, x, (o * extent + at) * inner, size * inner));
  return NULL;
}

static hone_status_t copy_pieces(hone_host_call_t* call, const hone_tensor_t* x, int axis,
                                 const pieces_t* pieces, bool drop, hone_tensor_t** items) {
  int64_t at = 0, extent = hone_tensor_dims(x)[axis];
  for (int64_t i = 0; i < pieces->count; i++) {
    int64_t size = piece_size(pieces, i);
    if (size > extent - at) size = extent - at;
    HONE_TRY(copy_piece(call, x, axis, at, size, drop, &items[i]));
    at += size;
  }
  return hone_sequence_create(call->allocator, HONE_KIND_SEQUENCE, pieces->count, items,
                              &call->outputs[0]);
}

static hone_status_t run_split(hone_host_call_t* call) {
  const hone_tensor_t *x, *split = NULL;
  HONE_TRY(hone_host_tensor(call, 0, &x));
  if (call->n_inputs > 1 && call->inputs[1]) HONE_TRY(hone_host_tensor(call, 1, &split));
  int64_t axis = hone_attr_int(call->node, "axis", 0);
  if (axis < 0) axis += hone_tensor_rank(x);
  if (axis < 0 || axis >= hone_tensor_rank(x))
    return hone_status_make(HONE_INVALID_MODEL, "SplitToSequence: axis out of range");
  pieces_t pieces;
  HONE_TRY(divide(split, hone_tensor_dims(x)[axis], &pieces));
  size_t bytes;
  if (!hone_size_mul((size_t)pieces.count + 1, sizeof(hone_tensor_t*), &bytes)) return hone_oom();
  hone_tensor_t** items = hone_alloc(call->allocator, bytes);
  if (!items) return hone_oom();
  hone_status_t status =
      copy_pieces(call, x, (int)axis, &pieces, drops_axis(call->node, split), items);
  for (int64_t i = 0; i < pieces.count; i++) hone_tensor_release(items[i]);
  hone_free(call->allocator, items, bytes);
  return status;
}

static const hone_op_t ops[] = {
    {.name = "SplitToSequence",
     .min_opset = 11,
     .min_inputs = 1,
     .max_inputs = 2,
     .attrs = "axis keepdims",
     .lower = lower_split,
     .host = run_split},
};
HONE_OP_FAMILY(split_to_sequence, ops)
