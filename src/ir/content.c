/* Content rules: one function for each primitive that shape arithmetic uses. */
#include "ir/content.h"

#include <string.h>

#include "base/memory.h"

enum { MAX_CONTENT = 256 };

typedef hone_dim_t (*binary_fn)(hone_dims_t*, hone_dim_t, hone_dim_t);
typedef const hone_dim_t* (*content_fn)(hone_graph_t* graph, const hone_node_t* node,
                                        int64_t count);

/* Elements of a static, small integer or bool tensor; -1 for anything else. */
static int64_t content_count(const hone_type_t* type) {
  if (!hone_type_is_static(type)) return -1;
  if (!hone_dtype_is_int(type->dtype) && type->dtype != HONE_BOOL) return -1;
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++) {
    if (!hone_i64_mul(count, type->dims[i].k, &count) || count > MAX_CONTENT) return -1;
  }
  return count;
}

static hone_dim_t* make(hone_graph_t* graph, int64_t count) {
  return hone_arena_array(graph->arena, (size_t)count, sizeof(hone_dim_t));
}

/* The value of element `i` of an integer tensor. */
static int64_t read_element(const hone_tensor_t* tensor, int64_t i) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  size_t size = hone_dtype_size(dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char*)hone_tensor_data(tensor) + (size_t)i * size, size);
  if (hone_dtype_is_unsigned(dtype) || size == 8) return (int64_t)bits;
  int shift = 64 - 8 * (int)size;
  return (int64_t)(bits << shift) >> shift;
}

static const hone_dim_t* content_constant(hone_graph_t* graph, const hone_node_t* node,
                                          int64_t count) {
  hone_dim_t* out = make(graph, count);
  for (int64_t i = 0; out && i < count; i++) out[i] = hone_dim_int(read_element(node->constant, i));
  return out;
}

static const hone_dim_t* content_dims(hone_graph_t* graph, const hone_node_t* node, int64_t count) {
  (void)graph, (void)count;
  return node->shape;
}

static const hone_dim_t* content_iota(hone_graph_t* graph, const hone_node_t* node, int64_t count) {
  if (node->n_dims != 1) return NULL;
  hone_dim_t* out = make(graph, count);
  for (int64_t i = 0; out && i < count; i++) out[i] = hone_dim_int(i);
  return out;
}

static hone_dim_t dim_div(hone_dims_t* d, hone_dim_t a, hone_dim_t b) {
  if (hone_dim_is(b, 0)) return hone_dim_int(0);
  hone_dim_t zero = hone_dim_int(0), minus = hone_dim_int(-1);
  hone_dim_t down = hone_dim_floordiv(d, a, b);
  if (hone_dim_min_value(a) >= 0 && hone_dim_min_value(b) > 0) return down;
  if (!hone_dim_is_int(b) || b.k < 0) return hone_dim_int(INT64_MIN); /* not known */
  hone_dim_t up = hone_dim_mul(d, minus, hone_dim_floordiv(d, hone_dim_mul(d, a, minus), b));
  return hone_dim_select_lt(d, a, zero, up, down);
}

static hone_dim_t dim_rem(hone_dims_t* d, hone_dim_t a, hone_dim_t b) {
  if (hone_dim_is(b, 0)) return hone_dim_int(0);
  if (hone_dim_min_value(a) >= 0 && hone_dim_min_value(b) > 0) return hone_dim_mod(d, a, b);
  hone_dim_t quotient = dim_div(d, a, b);
  if (hone_dim_is(quotient, INT64_MIN)) return quotient; /* not known */
  return hone_dim_sub(d, a, hone_dim_mul(d, quotient, b));
}

static hone_dim_t dim_xor(hone_dims_t* d, hone_dim_t a, hone_dim_t b) {
  return hone_dim_select_eq(d, a, b, hone_dim_int(0), hone_dim_int(1));
}

static hone_dim_t dim_eq(hone_dims_t* d, hone_dim_t a, hone_dim_t b) {
  return hone_dim_select_eq(d, a, b, hone_dim_int(1), hone_dim_int(0));
}

static hone_dim_t dim_lt(hone_dims_t* d, hone_dim_t a, hone_dim_t b) {
  return hone_dim_select_lt(d, a, b, hone_dim_int(1), hone_dim_int(0));
}

static const binary_fn binaries[HONE_PRIM_COUNT] = {
    [HONE_PRIM_ADD] = hone_dim_add, [HONE_PRIM_SUB] = hone_dim_sub, [HONE_PRIM_MUL] = hone_dim_mul,
    [HONE_PRIM_DIV] = dim_div,      [HONE_PRIM_MIN] = hone_dim_min, [HONE_PRIM_MAX] = hone_dim_max,
    [HONE_PRIM_EQ] = dim_eq,        [HONE_PRIM_LT] = dim_lt,        [HONE_PRIM_REM] = dim_rem,
};

/* Of truth values, which are 0 and 1. */
static const binary_fn logical[HONE_PRIM_COUNT] = {
    [HONE_PRIM_AND] = hone_dim_min, [HONE_PRIM_OR] = hone_dim_max,  [HONE_PRIM_XOR] = dim_xor,
    [HONE_PRIM_EQ] = dim_eq,        [HONE_PRIM_MIN] = hone_dim_min, [HONE_PRIM_MAX] = hone_dim_max,
};

/* Narrow and unsigned types wrap, expressions do not. */
static bool is_exact(hone_dtype_t dtype) { return dtype == HONE_I64 || dtype == HONE_I32; }

static const hone_dim_t* content_binary(hone_graph_t* graph, const hone_node_t* node,
                                        int64_t count) {
  const hone_dim_t *a = node->inputs[0]->content, *b = node->inputs[1]->content;
  hone_dtype_t dtype = node->inputs[0]->type.dtype;
  binary_fn f = dtype == HONE_BOOL ? logical[node->prim] : binaries[node->prim];
  if (!f || !a || !b || !(dtype == HONE_BOOL || is_exact(dtype))) return NULL;
  hone_dim_t* out = make(graph, count);
  for (int64_t i = 0; out && i < count; i++) {
    out[i] = f(graph->dims, a[i], b[i]);
    if (hone_dim_is_bad(out[i]) || hone_dim_is(out[i], INT64_MIN)) return NULL;
  }
  return out;
}

/* neg and abs */
static const hone_dim_t* content_unary(hone_graph_t* graph, const hone_node_t* node,
                                       int64_t count) {
  const hone_dim_t* in = node->inputs[0]->content;
  bool negate = node->prim == HONE_PRIM_NEG;
  if (!in || !is_exact(node->inputs[0]->type.dtype) || !(negate || node->prim == HONE_PRIM_ABS))
    return NULL;
  hone_dim_t* out = make(graph, count);
  for (int64_t i = 0; out && i < count; i++) {
    hone_dim_t minus = hone_dim_mul(graph->dims, in[i], hone_dim_int(-1));
    out[i] = negate ? minus : hone_dim_max(graph->dims, in[i], minus);
    if (hone_dim_is_bad(out[i])) return NULL;
  }
  return out;
}

static const hone_dim_t* content_select(hone_graph_t* graph, const hone_node_t* node,
                                        int64_t count) {
  const hone_dim_t *c = node->inputs[0]->content, *x = node->inputs[1]->content;
  const hone_dim_t* y = node->inputs[2]->content;
  if (!c || !x || !y) return NULL;
  hone_dim_t* out = make(graph, count);
  for (int64_t i = 0; out && i < count; i++)
    out[i] = hone_dim_select_eq(graph->dims, c[i], hone_dim_int(0), y[i], x[i]);
  return out;
}

static bool fits(hone_dim_t d, hone_dtype_t dtype) {
  if (dtype == HONE_I64) return true;
  if (dtype == HONE_I32)
    return hone_dim_min_value(d) >= INT32_MIN && hone_dim_max_value(d) <= INT32_MAX;
  return dtype == HONE_BOOL && hone_dim_min_value(d) >= 0 && hone_dim_max_value(d) <= 1;
}

static const hone_dim_t* content_cast(hone_graph_t* graph, const hone_node_t* node, int64_t count) {
  (void)graph;
  const hone_dim_t* in = node->inputs[0]->content;
  for (int64_t i = 0; in && i < count; i++)
    if (!fits(in[i], node->dtype)) return NULL;
  return in;
}

static const hone_dim_t* content_reshape(hone_graph_t* graph, const hone_node_t* node,
                                         int64_t count) {
  (void)graph, (void)count;
  return node->inputs[0]->content;
}

/* ---- movement: elements of the input, `step[axis]` apart along each axis of the result ---- */

typedef struct view {
  int64_t first, step[HONE_MAX_RANK];
} view_t;

static void find_steps(const hone_type_t* type, int64_t* step) {
  int64_t apart = 1;
  for (int axis = type->rank - 1; axis >= 0; axis--) {
    step[axis] = apart;
    apart *= type->dims[axis].k;
  }
}

static const hone_dim_t* look(hone_graph_t* graph, const hone_node_t* node, int64_t count,
                              const view_t* view) {
  const hone_type_t* type = &node->outputs[0]->type;
  hone_dim_t* out = make(graph, count);
  for (int64_t i = 0; out && i < count; i++) {
    int64_t at = view->first;
    for (int64_t axis = type->rank - 1, left = i; axis >= 0; left /= type->dims[axis--].k)
      at += left % type->dims[axis].k * view->step[axis];
    out[i] = node->inputs[0]->content[at];
  }
  return out;
}

/* Whether the input's elements are known; their steps then. */
static bool look_at(const hone_node_t* node, view_t* view) {
  *view = (view_t){0};
  if (!node->inputs[0]->content) return false;
  find_steps(&node->inputs[0]->type, view->step);
  return true;
}

static const hone_dim_t* content_permute(hone_graph_t* graph, const hone_node_t* node,
                                         int64_t count) {
  view_t in, view = {0};
  if (!look_at(node, &in)) return NULL;
  for (int i = 0; i < node->n_axes; i++) view.step[i] = in.step[node->axes[i]];
  return look(graph, node, count, &view);
}

static const hone_dim_t* content_expand(hone_graph_t* graph, const hone_node_t* node,
                                        int64_t count) {
  view_t view;
  if (!look_at(node, &view)) return NULL;
  for (int i = 0; i < node->n_dims; i++)
    if (hone_dim_is(node->inputs[0]->type.dims[i], 1)) view.step[i] = 0;
  return look(graph, node, count, &view);
}

static const hone_dim_t* content_slice(hone_graph_t* graph, const hone_node_t* node,
                                       int64_t count) {
  view_t view;
  if (!look_at(node, &view)) return NULL;
  for (int i = 0; i < node->n_dims; i++) {
    if (!hone_dim_is_int(node->lo[i]) || !hone_dim_is_int(node->step[i])) return NULL;
    int64_t lo = node->lo[i].k, step = node->step[i].k;
    int64_t last = lo + (node->outputs[0]->type.dims[i].k - 1) * step;
    if (lo < 0 || step < 1 || last >= node->inputs[0]->type.dims[i].k) return NULL;
    view.first += lo * view.step[i];
    view.step[i] *= step;
  }
  return look(graph, node, count, &view);
}

static const hone_dim_t* content_flip(hone_graph_t* graph, const hone_node_t* node, int64_t count) {
  view_t view;
  if (!look_at(node, &view)) return NULL;
  for (int i = 0; i < node->n_axes; i++) {
    int64_t* step = &view.step[node->axes[i]];
    view.first += (node->inputs[0]->type.dims[node->axes[i]].k - 1) * *step;
    *step = -*step;
  }
  return look(graph, node, count, &view);
}

/* Elements that stand together for each index of the axes before `axis`. */
static int64_t elements_from(const hone_type_t* type, int axis) {
  int64_t count = 1;
  for (int i = axis; i < type->rank; i++) count *= type->dims[i].k;
  return count;
}

static const hone_dim_t* content_concat(hone_graph_t* graph, const hone_node_t* node,
                                        int64_t count) {
  int axis = (int)node->axes[0];
  int64_t row = elements_from(&node->outputs[0]->type, axis), from = 0;
  hone_dim_t* out = make(graph, count);
  for (int i = 0; out && i < node->n_inputs; i++) {
    const hone_value_t* part = node->inputs[i];
    int64_t n = content_count(&part->type);
    if (!part->content || n < 0) return NULL;
    int64_t wide = elements_from(&part->type, axis);
    for (int64_t k = 0; k < n; k++) out[k / wide * row + from + k % wide] = part->content[k];
    from += wide;
  }
  return out;
}

/* Rows of a table. */
static const hone_dim_t* content_gather(hone_graph_t* graph, const hone_node_t* node,
                                        int64_t count) {
  const hone_value_t *x = node->inputs[0], *index = node->inputs[1];
  if (!x->content || !index->content || x->type.rank < 1) return NULL;
  int64_t n = x->type.dims[0].k, row = elements_from(&x->type, 1);
  hone_dim_t* out = make(graph, count);
  for (int64_t i = 0; out && i < count; i++) {
    hone_dim_t at = index->content[i / row];
    if (!hone_dim_is_int(at) || at.k < 0 || at.k >= n) return NULL;
    out[i] = x->content[at.k * row + i % row];
  }
  return out;
}

static binary_fn combine_fn(hone_combine_t combine) {
  static const hone_prim_t prims[] = {
      [HONE_COMBINE_SET] = HONE_PRIM_INPUT, [HONE_COMBINE_ADD] = HONE_PRIM_ADD,
      [HONE_COMBINE_MUL] = HONE_PRIM_MUL,   [HONE_COMBINE_MIN] = HONE_PRIM_MIN,
      [HONE_COMBINE_MAX] = HONE_PRIM_MAX,
  };
  return binaries[prims[combine]];
}

/* Over the only axis of a list. */
static const hone_dim_t* content_reduce(hone_graph_t* graph, const hone_node_t* node,
                                        int64_t count) {
  const hone_value_t* in = node->inputs[0];
  int64_t n = content_count(&in->type);
  if (!in->content || in->type.rank != 1 || node->n_axes != 1 || n < 1) return NULL;
  if (in->type.dtype != HONE_I64 && in->type.dtype != HONE_I32) return NULL;
  hone_dim_t* out = make(graph, count);
  if (!out) return NULL;
  out[0] = in->content[0];
  for (int64_t i = 1; i < n; i++)
    out[0] = combine_fn(node->combine)(graph->dims, out[0], in->content[i]);
  return hone_dim_is_bad(out[0]) ? NULL : out;
}

static const content_fn rules[HONE_PRIM_COUNT] = {
    [HONE_PRIM_CONSTANT] = content_constant, [HONE_PRIM_DIMS] = content_dims,
    [HONE_PRIM_IOTA] = content_iota,         [HONE_PRIM_SELECT] = content_select,
    [HONE_PRIM_CAST] = content_cast,         [HONE_PRIM_RESHAPE] = content_reshape,
    [HONE_PRIM_PERMUTE] = content_permute,   [HONE_PRIM_EXPAND] = content_expand,
    [HONE_PRIM_SLICE] = content_slice,       [HONE_PRIM_FLIP] = content_flip,
    [HONE_PRIM_CONCAT] = content_concat,     [HONE_PRIM_GATHER] = content_gather,
    [HONE_PRIM_REDUCE] = content_reduce,     [HONE_PRIM_NEG] = content_unary,
    [HONE_PRIM_ABS] = content_unary,
};

void hone_content_infer(hone_graph_t* graph, hone_node_t* node) {
  hone_value_t* out = node->outputs[0];
  int64_t count = content_count(&out->type);
  if (count < 0) return;
  bool binary = hone_prim_info(node->prim)->family == HONE_FAMILY_BINARY;
  content_fn rule = binary ? content_binary : rules[node->prim];
  if (rule) out->content = rule(graph, node, count);
}
