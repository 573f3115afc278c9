/* Shape rules of the primitives, one function for each shape of rule. */
#include "ir/infer.h"

#include <string.h>

#include "base/memory.h"

typedef struct rule_context {
  hone_graph_t* graph;
  const hone_node_t* node;
  const hone_type_t* in[3]; /* of the first inputs */
  hone_type_t* out;
} rule_t;

typedef hone_status_t (*rule_fn)(rule_t* r);

static hone_status_t wrong(const rule_t* r, const char* what) {
  return hone_status_make(HONE_INVALID_MODEL, "%s: %s%s%s", hone_prim_info(r->node->prim)->name,
                          what, r->node->origin ? ", at node " : "",
                          r->node->origin ? r->node->origin : "");
}

/* Room for the dimensions of output `index`, which becomes a tensor type. */
static hone_dim_t* make_out(rule_t* r, int index, hone_dtype_t dtype, int rank) {
  hone_dim_t* dims = hone_arena_array(r->graph->arena, (size_t)rank, sizeof *dims);
  r->out[index] = hone_type_tensor(dtype, rank, dims);
  return dims;
}

/* `from` may be NULL for none. */
static void copy_dims(hone_dim_t* to, const hone_dim_t* from, int count) {
  if (count) memcpy(to, from, (size_t)count * sizeof *to);
}

static hone_status_t finish(const rule_t* r) {
  const hone_type_t* out = &r->out[0];
  if (hone_dims_out_of_memory(r->graph->dims)) return hone_oom();
  if (out->rank > HONE_MAX_RANK) return wrong(r, "more axes than hone allows (16)");
  for (int i = 0; i < out->rank; i++) {
    if (hone_dim_is_bad(out->dims[i])) return wrong(r, "an extent is too large or undefined");
    if (hone_dim_is_int(out->dims[i]) && out->dims[i].k < 0)
      return wrong(r, "an extent is negative");
  }
  return NULL;
}

/* False only when the two extents are known to differ. */
static bool may_equal(hone_dim_t a, hone_dim_t b) {
  return !(hone_dim_is_int(a) && hone_dim_is_int(b) && a.k != b.k);
}

static bool axis_ok(int64_t axis, int rank) { return axis >= 0 && axis < rank; }

/* Every axis in range and none twice. */
static bool axes_ok(const hone_node_t* node, int rank) {
  uint32_t seen = 0;
  for (int i = 0; i < node->n_axes; i++) {
    if (!axis_ok(node->axes[i], rank) || seen & (1u << node->axes[i])) return false;
    seen |= 1u << node->axes[i];
  }
  return true;
}

/* ---- sources ---- */

/* What all items of a sequence have in common; their extents may differ. */
static hone_type_t item_type(const hone_tensor_t* sequence) {
  static const hone_type_kind_t kinds[] = {
      [HONE_KIND_TENSOR] = HONE_TYPE_TENSOR,
      [HONE_KIND_SEQUENCE] = HONE_TYPE_SEQUENCE,
      [HONE_KIND_MAP] = HONE_TYPE_MAP,
      [HONE_KIND_NONE] = HONE_TYPE_OPTIONAL,
  };
  hone_type_t type = {
      .kind = HONE_TYPE_TENSOR, .dtype = hone_tensor_dtype(sequence), .rank = HONE_RANK_NONE};
  for (int64_t i = 0; i < hone_tensor_count(sequence); i++) {
    const hone_tensor_t* item = hone_sequence_item(sequence, i);
    hone_type_t own = {.kind = kinds[hone_tensor_kind(item)],
                       .dtype = hone_tensor_dtype(item),
                       .rank = hone_tensor_rank(item)};
    if (i == 0) type = own;
    if (own.kind != type.kind) return hone_type_any();
    if (own.dtype != type.dtype) type.dtype = HONE_UNKNOWN;
    if (own.rank != type.rank) type.rank = -1;
  }
  return type;
}

/* Constants of other kinds turn up when a node that was kept whole is built. */
static hone_status_t container_constant(rule_t* r, const hone_tensor_t* constant) {
  r->out[0] = hone_type_any();
  r->out[0].kind = HONE_TYPE_OPTIONAL;
  if (hone_tensor_kind(constant) == HONE_KIND_NONE) return NULL;
  r->out[0].kind = HONE_TYPE_MAP;
  if (hone_tensor_kind(constant) == HONE_KIND_MAP) return NULL;
  r->out[0].kind = HONE_TYPE_SEQUENCE;
  hone_type_t item = item_type(constant);
  r->out[0].element = hone_arena_memdup(r->graph->arena, &item, sizeof item);
  return r->out[0].element ? NULL : hone_oom();
}

static hone_status_t rule_constant(rule_t* r) {
  const hone_tensor_t* constant = r->node->constant;
  if (!constant) return wrong(r, "has no content");
  if (hone_tensor_kind(constant) != HONE_KIND_TENSOR) return container_constant(r, constant);
  int rank = hone_tensor_rank(constant);
  hone_dim_t* dims = make_out(r, 0, hone_tensor_dtype(constant), rank);
  if (!dims) return hone_oom();
  for (int i = 0; i < rank; i++) dims[i] = hone_dim_int(hone_tensor_dims(constant)[i]);
  return finish(r);
}

static hone_status_t rule_shape(rule_t* r) {
  if (r->node->dtype == HONE_UNKNOWN) return wrong(r, "has no dtype");
  hone_dim_t* dims = make_out(r, 0, r->node->dtype, r->node->n_dims);
  if (!dims) return hone_oom();
  copy_dims(dims, r->node->shape, r->node->n_dims);
  return finish(r);
}

static hone_status_t rule_iota(rule_t* r) {
  if (r->node->n_axes != 1 || !axis_ok(r->node->axes[0], r->node->n_dims))
    return wrong(r, "axis out of range");
  return rule_shape(r);
}

static hone_status_t rule_dims(rule_t* r) {
  hone_dim_t* dims = make_out(r, 0, HONE_I64, 1);
  if (!dims) return hone_oom();
  dims[0] = hone_dim_int(r->node->n_dims);
  return NULL;
}

/* ---- elementwise ---- */

static hone_status_t check_same_shape(const rule_t* r, const hone_type_t* a, const hone_type_t* b) {
  if (a->rank != b->rank) return wrong(r, "operands of different rank");
  for (int i = 0; i < a->rank; i++)
    if (!may_equal(a->dims[i], b->dims[i])) return wrong(r, "operands of different shape");
  return NULL;
}

static hone_status_t copy_shape(rule_t* r, const hone_type_t* from, const hone_type_t* other,
                                hone_dtype_t dtype) {
  hone_dim_t* dims = make_out(r, 0, dtype, from->rank);
  if (!dims) return hone_oom();
  for (int i = 0; i < from->rank; i++)
    dims[i] = hone_dim_is_int(from->dims[i]) ? from->dims[i] : other->dims[i];
  return finish(r);
}

static hone_dtype_t unary_dtype(hone_prim_t prim, hone_dtype_t dtype) {
  if (prim == HONE_PRIM_ABS && dtype == HONE_C64) return HONE_F32;
  if (prim == HONE_PRIM_ABS && dtype == HONE_C128) return HONE_F64;
  return dtype;
}

static hone_status_t rule_unary(rule_t* r) {
  return copy_shape(r, r->in[0], r->in[0], unary_dtype(r->node->prim, r->in[0]->dtype));
}

static hone_status_t rule_binary(rule_t* r) {
  if (r->in[0]->dtype != r->in[1]->dtype) return wrong(r, "operands of different dtype");
  HONE_TRY(check_same_shape(r, r->in[0], r->in[1]));
  bool compares = r->node->prim == HONE_PRIM_EQ || r->node->prim == HONE_PRIM_LT;
  return copy_shape(r, r->in[0], r->in[1], compares ? HONE_BOOL : r->in[0]->dtype);
}

static hone_status_t rule_select(rule_t* r) {
  if (r->in[0]->dtype != HONE_BOOL) return wrong(r, "the condition is not bool");
  if (r->in[1]->dtype != r->in[2]->dtype) return wrong(r, "operands of different dtype");
  HONE_TRY(check_same_shape(r, r->in[0], r->in[1]));
  HONE_TRY(check_same_shape(r, r->in[1], r->in[2]));
  return copy_shape(r, r->in[1], r->in[2], r->in[1]->dtype);
}

static hone_status_t rule_cast(rule_t* r) {
  if (r->node->dtype == HONE_UNKNOWN) return wrong(r, "has no dtype");
  if (r->node->prim == HONE_PRIM_BITCAST &&
      (hone_dtype_bits(r->node->dtype) != hone_dtype_bits(r->in[0]->dtype) ||
       r->in[0]->dtype == HONE_STRING))
    return wrong(r, "the two types have different sizes");
  return copy_shape(r, r->in[0], r->in[0], r->node->dtype);
}

/* ---- movement ---- */

static hone_status_t rule_reshape(rule_t* r) {
  const hone_node_t* node = r->node;
  hone_dim_t before = hone_dim_product(r->graph->dims, r->in[0]->rank, r->in[0]->dims);
  hone_dim_t after = hone_dim_product(r->graph->dims, node->n_dims, node->shape);
  if (!may_equal(before, after)) return wrong(r, "the shapes have different numbers of elements");
  hone_dim_t* dims = make_out(r, 0, r->in[0]->dtype, node->n_dims);
  if (!dims) return hone_oom();
  copy_dims(dims, node->shape, node->n_dims);
  return finish(r);
}

static hone_status_t rule_permute(rule_t* r) {
  if (r->node->n_axes != r->in[0]->rank || !axes_ok(r->node, r->in[0]->rank))
    return wrong(r, "axes are not a permutation");
  hone_dim_t* dims = make_out(r, 0, r->in[0]->dtype, r->in[0]->rank);
  if (!dims) return hone_oom();
  for (int i = 0; i < r->node->n_axes; i++) dims[i] = r->in[0]->dims[r->node->axes[i]];
  return finish(r);
}

static hone_status_t rule_expand(rule_t* r) {
  if (r->node->n_dims != r->in[0]->rank) return wrong(r, "changes the rank");
  hone_dim_t* dims = make_out(r, 0, r->in[0]->dtype, r->in[0]->rank);
  if (!dims) return hone_oom();
  for (int i = 0; i < r->in[0]->rank; i++) {
    if (!hone_dim_is(r->in[0]->dims[i], 1) && !may_equal(r->in[0]->dims[i], r->node->shape[i]))
      return wrong(r, "an extent that is not 1 would change");
    dims[i] = r->node->shape[i];
  }
  return finish(r);
}

static hone_status_t rule_slice(rule_t* r) {
  hone_dims_t* d = r->graph->dims;
  const hone_node_t* node = r->node;
  if (node->n_dims != r->in[0]->rank) return wrong(r, "needs one range an axis");
  hone_dim_t* dims = make_out(r, 0, r->in[0]->dtype, r->in[0]->rank);
  if (!dims) return hone_oom();
  for (int i = 0; i < node->n_dims; i++) {
    if (hone_dim_max_value(node->step[i]) < 1) return wrong(r, "a step is not positive");
    if (hone_dim_max_value(node->lo[i]) < 0) return wrong(r, "starts before the first element");
    if (hone_dim_min_value(node->hi[i]) > hone_dim_max_value(r->in[0]->dims[i]))
      return wrong(r, "ends behind the last element");
    dims[i] = hone_dim_ceildiv(d, hone_dim_sub(d, node->hi[i], node->lo[i]), node->step[i]);
  }
  return finish(r);
}

static hone_status_t rule_pad(rule_t* r) {
  hone_dims_t* d = r->graph->dims;
  const hone_node_t* node = r->node;
  if (node->n_dims != r->in[0]->rank) return wrong(r, "needs one pair of pads an axis");
  if (r->in[1]->rank != 0 || r->in[1]->dtype != r->in[0]->dtype)
    return wrong(r, "the value is not a scalar of the same dtype");
  hone_dim_t* dims = make_out(r, 0, r->in[0]->dtype, r->in[0]->rank);
  if (!dims) return hone_oom();
  for (int i = 0; i < node->n_dims; i++) {
    if (hone_dim_max_value(node->lo[i]) < 0 || hone_dim_max_value(node->hi[i]) < 0)
      return wrong(r, "a pad is negative");
    dims[i] = hone_dim_add(d, r->in[0]->dims[i], hone_dim_add(d, node->lo[i], node->hi[i]));
  }
  return finish(r);
}

static hone_status_t rule_flip(rule_t* r) {
  if (!axes_ok(r->node, r->in[0]->rank)) return wrong(r, "axis out of range or named twice");
  return copy_shape(r, r->in[0], r->in[0], r->in[0]->dtype);
}

static hone_status_t check_concat_part(const rule_t* r, const hone_type_t* part, int64_t axis) {
  const hone_type_t* first = r->in[0];
  if (part->rank != first->rank || part->dtype != first->dtype)
    return wrong(r, "parts of different rank or dtype");
  for (int i = 0; i < first->rank; i++)
    if (i != axis && !may_equal(first->dims[i], part->dims[i]))
      return wrong(r, "parts of different shape");
  return NULL;
}

static hone_status_t rule_concat(rule_t* r) {
  const hone_node_t* node = r->node;
  if (node->n_axes != 1 || !axis_ok(node->axes[0], r->in[0]->rank))
    return wrong(r, "axis out of range");
  int64_t axis = node->axes[0];
  hone_dim_t* dims = make_out(r, 0, r->in[0]->dtype, r->in[0]->rank);
  if (!dims) return hone_oom();
  copy_dims(dims, r->in[0]->dims, r->in[0]->rank);
  for (int i = 1; i < node->n_inputs; i++) {
    const hone_type_t* part = &node->inputs[i]->type;
    HONE_TRY(check_concat_part(r, part, axis));
    for (int k = 0; k < part->rank; k++)
      if (k == axis)
        dims[k] = hone_dim_add(r->graph->dims, dims[k], part->dims[k]);
      else if (!hone_dim_is_int(dims[k]))
        dims[k] = part->dims[k];
  }
  return finish(r);
}

static hone_dim_t window_extent(hone_dims_t* d, hone_dim_t n, hone_dim_t size, hone_dim_t dilation,
                                hone_dim_t stride) {
  hone_dim_t one = hone_dim_int(1);
  hone_dim_t reach = hone_dim_mul(d, hone_dim_sub(d, size, one), dilation);
  hone_dim_t room = hone_dim_sub(d, hone_dim_sub(d, n, reach), one);
  hone_dim_t count = hone_dim_add(d, hone_dim_floordiv(d, room, stride), one);
  return hone_dim_max(d, count, hone_dim_int(0));
}

static hone_status_t rule_window(rule_t* r) {
  const hone_node_t* node = r->node;
  int rank = r->in[0]->rank;
  if (node->n_dims != node->n_axes || !axes_ok(node, rank))
    return wrong(r, "axes and sizes do not fit");
  hone_dim_t* dims = make_out(r, 0, r->in[0]->dtype, rank + node->n_axes);
  if (!dims) return hone_oom();
  copy_dims(dims, r->in[0]->dims, rank);
  for (int i = 0; i < node->n_axes; i++) {
    if (hone_dim_max_value(node->step[i]) < 1 || hone_dim_max_value(node->hi[i]) < 1 ||
        hone_dim_max_value(node->shape[i]) < 1)
      return wrong(r, "a size, stride or dilation is not positive");
    hone_dim_t* at = &dims[node->axes[i]];
    *at = window_extent(r->graph->dims, *at, node->shape[i], node->hi[i], node->step[i]);
    dims[rank + i] = node->shape[i];
  }
  return finish(r);
}

/* ---- whole-tensor ---- */

static hone_status_t rule_reduce(rule_t* r) {
  const hone_type_t* in = r->in[0];
  if (!axes_ok(r->node, in->rank)) return wrong(r, "axis out of range or named twice");
  if (r->node->combine == HONE_COMBINE_SET) return wrong(r, "cannot combine by set");
  hone_dim_t* dims = make_out(r, 0, in->dtype, in->rank - r->node->n_axes);
  if (!dims) return hone_oom();
  uint32_t gone = 0;
  for (int i = 0; i < r->node->n_axes; i++) gone |= 1u << r->node->axes[i];
  for (int i = 0, k = 0; i < in->rank; i++)
    if (!(gone & (1u << i))) dims[k++] = in->dims[i];
  return finish(r);
}

/* Marks the axes of operand `side` that the pairs name; false if one is bad. */
static bool contract_axes(const hone_node_t* node, int side, int rank, uint32_t* used) {
  *used = 0;
  for (int i = side; i < node->n_axes; i += 2) {
    if (!axis_ok(node->axes[i], rank) || *used & (1u << node->axes[i])) return false;
    *used |= 1u << node->axes[i];
  }
  return true;
}

static hone_status_t rule_contract(rule_t* r) {
  const hone_node_t* node = r->node;
  const hone_type_t *a = r->in[0], *b = r->in[1];
  uint32_t used_a, used_b;
  if (node->n_axes % 2 || node->n_batch < 0 || node->n_batch * 2 > node->n_axes ||
      !contract_axes(node, 0, a->rank, &used_a) || !contract_axes(node, 1, b->rank, &used_b))
    return wrong(r, "axis pairs out of range or named twice");
  for (int i = 0; i < node->n_axes; i += 2)
    if (!may_equal(a->dims[node->axes[i]], b->dims[node->axes[i + 1]]))
      return wrong(r, "paired axes have different extents");
  int rank = a->rank + b->rank - node->n_axes + node->n_batch, k = 0;
  hone_dim_t* dims = make_out(r, 0, node->dtype, rank);
  if (!dims) return hone_oom();
  for (; k < node->n_batch; k++) dims[k] = a->dims[node->axes[2 * k]];
  for (int i = 0; i < a->rank; i++)
    if (!(used_a & (1u << i))) dims[k++] = a->dims[i];
  for (int i = 0; i < b->rank; i++)
    if (!(used_b & (1u << i))) dims[k++] = b->dims[i];
  return finish(r);
}

static hone_status_t rule_gather(rule_t* r) {
  const hone_type_t *x = r->in[0], *index = r->in[1];
  if (x->rank < 1) return wrong(r, "cannot index a scalar");
  if (!hone_dtype_is_int(index->dtype)) return wrong(r, "indices are not integers");
  hone_dim_t* dims = make_out(r, 0, x->dtype, index->rank + x->rank - 1);
  if (!dims) return hone_oom();
  copy_dims(dims, index->dims, index->rank);
  copy_dims(dims + index->rank, x->dims + 1, x->rank - 1);
  return finish(r);
}

static hone_status_t rule_scatter(rule_t* r) {
  const hone_type_t *x = r->in[0], *index = r->in[1], *updates = r->in[2];
  if (x->rank < 1) return wrong(r, "cannot index a scalar");
  if (!hone_dtype_is_int(index->dtype)) return wrong(r, "indices are not integers");
  if (updates->dtype != x->dtype) return wrong(r, "updates of another dtype");
  if (updates->rank != index->rank + x->rank - 1) return wrong(r, "updates of a wrong rank");
  for (int i = 0; i < updates->rank; i++) {
    hone_dim_t want = i < index->rank ? index->dims[i] : x->dims[i - index->rank + 1];
    if (!may_equal(updates->dims[i], want)) return wrong(r, "updates of a wrong shape");
  }
  return copy_shape(r, x, x, x->dtype);
}

static hone_status_t rule_scan(rule_t* r) {
  if (r->node->n_axes != 1 || !axis_ok(r->node->axes[0], r->in[0]->rank))
    return wrong(r, "axis out of range");
  return copy_shape(r, r->in[0], r->in[0], r->in[0]->dtype);
}

static hone_status_t rule_sort(rule_t* r) {
  const hone_type_t* in = r->in[0];
  if (r->node->n_axes != 1 || !axis_ok(r->node->axes[0], in->rank))
    return wrong(r, "axis out of range");
  if (r->node->n_dims != 1 || hone_dim_max_value(r->node->shape[0]) < 0 ||
      hone_dim_min_value(r->node->shape[0]) > hone_dim_max_value(in->dims[r->node->axes[0]]))
    return wrong(r, "more elements are wanted than there are");
  hone_dim_t* dims = make_out(r, 0, in->dtype, in->rank);
  if (!dims) return hone_oom();
  copy_dims(dims, in->dims, in->rank);
  dims[r->node->axes[0]] = r->node->shape[0];
  HONE_TRY(finish(r));
  r->out[1] = hone_type_tensor(HONE_I64, r->out[0].rank, r->out[0].dims);
  return NULL;
}

static hone_status_t rule_none(rule_t* r) {
  (void)r;
  return NULL;
}

/* A family's rule unless the primitive has one of its own. */
static const rule_fn family_rules[] = {
    [HONE_FAMILY_SOURCE] = rule_none,   [HONE_FAMILY_UNARY] = rule_unary,
    [HONE_FAMILY_BINARY] = rule_binary, [HONE_FAMILY_SELECT] = rule_select,
    [HONE_FAMILY_CAST] = rule_cast,     [HONE_FAMILY_MOVEMENT] = rule_none,
    [HONE_FAMILY_WHOLE] = rule_none,    [HONE_FAMILY_CONTROL] = rule_none,
};

static const rule_fn prim_rules[HONE_PRIM_COUNT] = {
    [HONE_PRIM_CONSTANT] = rule_constant, [HONE_PRIM_IOTA] = rule_iota,
    [HONE_PRIM_DIMS] = rule_dims,         [HONE_PRIM_RANDOM] = rule_shape,
    [HONE_PRIM_RESHAPE] = rule_reshape,   [HONE_PRIM_PERMUTE] = rule_permute,
    [HONE_PRIM_EXPAND] = rule_expand,     [HONE_PRIM_SLICE] = rule_slice,
    [HONE_PRIM_PAD] = rule_pad,           [HONE_PRIM_FLIP] = rule_flip,
    [HONE_PRIM_CONCAT] = rule_concat,     [HONE_PRIM_WINDOW] = rule_window,
    [HONE_PRIM_REDUCE] = rule_reduce,     [HONE_PRIM_CONTRACT] = rule_contract,
    [HONE_PRIM_GATHER] = rule_gather,     [HONE_PRIM_SCATTER] = rule_scatter,
    [HONE_PRIM_SCAN] = rule_scan,         [HONE_PRIM_SORT] = rule_sort,
};

static hone_status_t check_form(const rule_t* r) {
  const hone_prim_info_t* info = hone_prim_info(r->node->prim);
  int n = r->node->n_inputs;
  if (n < info->min_inputs || (info->max_inputs >= 0 && n > info->max_inputs))
    return wrong(r, "has a wrong number of inputs");
  if (info->family == HONE_FAMILY_CONTROL) return NULL;
  for (int i = 0; i < n; i++)
    if (!r->node->inputs[i] || !hone_type_is_known(&r->node->inputs[i]->type))
      return wrong(r, "an input is not a tensor of known type");
  return NULL;
}

hone_status_t hone_infer(hone_graph_t* graph, const hone_node_t* node,
                         hone_type_t out_types[HONE_MAX_INFERRED]) {
  rule_t r = {.graph = graph, .node = node, .out = out_types};
  HONE_TRY(check_form(&r));
  for (int i = 0; i < node->n_inputs && i < 3; i++)
    r.in[i] = node->inputs[i] ? &node->inputs[i]->type : NULL;
  rule_fn rule = prim_rules[node->prim];
  return rule ? rule(&r) : family_rules[hone_prim_info(node->prim)->family](&r);
}
