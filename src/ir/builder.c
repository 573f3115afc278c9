/* The builder's core: errors, appending nodes, captures, looking at values. */
#include "ir/builder.h"

#include <string.h>

#include "base/memory.h"
#include "ir/content.h"
#include "ir/infer.h"

enum { MAX_KNOWN_DIMS = 256 };

/* ---- errors ---- */

hone_value_t* hone_fail_status(hone_builder_t* b, hone_status_t status) {
  if (b->status)
    hone_status_free(status);
  else
    b->status = status;
  return NULL;
}

hone_value_t* hone_fail(hone_builder_t* b, hone_code_t code, const char* format, ...) {
  if (b->status) return NULL;
  va_list args;
  va_start(args, format);
  b->status = hone_status_make_va(code, format, args);
  va_end(args);
  return NULL;
}

hone_value_t* hone_defer(hone_builder_t* b, const char* reason) {
  if (!b->deferred) b->deferred = reason;
  return NULL;
}

bool hone_builder_ok(const hone_builder_t* b) { return !b->status && !b->deferred; }

/* ---- captures ---- */

static hone_value_t* find_capture(const hone_builder_t* b, const hone_value_t* outer) {
  for (hone_capture_t* c = b->captures; c; c = c->next)
    if (c->outer == outer) return c->inner;
  return NULL;
}

static hone_value_t* add_capture(hone_builder_t* b, hone_value_t* outer) {
  hone_arena_t* arena = b->graph->arena;
  hone_node_t node = {.prim = HONE_PRIM_INPUT, .n_outputs = 1, .origin = b->origin};
  hone_node_t* made = hone_graph_append(b->graph, &node, &outer->type);
  hone_capture_t* capture = hone_arena_alloc(arena, sizeof *capture);
  if (!made || !capture) return hone_fail_status(b, hone_oom());
  made->outputs[0]->name = outer->name;
  made->outputs[0]->content = outer->content;
  *capture = (hone_capture_t){.next = b->captures, .outer = outer, .inner = made->outputs[0]};
  b->captures = capture;
  b->n_captures++;
  return capture->inner;
}

hone_value_t* hone_resolve(hone_builder_t* b, hone_value_t* value) {
  if (!value || value->node->graph == b->graph) return value;
  if (!b->parent) return hone_fail(b, HONE_INTERNAL, "a value of another graph was used");
  if (value->node->prim == HONE_PRIM_CONSTANT) { /* cheaper to have twice than to pass */
    hone_tensor_retain(value->node->constant);
    return hone_constant(b, value->node->constant);
  }
  hone_value_t* outer = hone_resolve(b->parent, value);
  if (!outer) return NULL;
  hone_value_t* known = find_capture(b, outer);
  return known ? known : add_capture(b, outer);
}

/* ---- appending ---- */

/* Copies every list of `node` into the arena. */
static bool copy_lists(hone_arena_t* arena, hone_node_t* node) {
  size_t dims_size = (size_t)node->n_dims * sizeof(hone_dim_t);
  if (node->axes)
    node->axes = hone_arena_memdup(arena, node->axes, (size_t)node->n_axes * sizeof *node->axes);
  if (node->n_axes && !node->axes) return false;
  const hone_dim_t** lists[] = {&node->shape, &node->lo, &node->hi, &node->step};
  for (int i = 0; i < 4; i++) {
    if (!*lists[i]) continue;
    *lists[i] = hone_arena_memdup(arena, *lists[i], dims_size);
    if (!*lists[i]) return false;
  }
  return true;
}

hone_node_t* hone_emit_typed(hone_builder_t* b, const hone_node_t* node,
                             const hone_type_t* output_types) {
  if (!hone_builder_ok(b)) return NULL;
  hone_node_t full = *node;
  full.origin = b->origin;
  if (!copy_lists(b->graph->arena, &full)) {
    hone_fail_status(b, hone_oom());
    return NULL;
  }
  hone_node_t* made = hone_graph_append(b->graph, &full, output_types);
  if (!made) hone_fail_status(b, hone_oom());
  return made;
}

/* Makes the inputs values of b's graph; false when one is missing. */
static bool resolve_inputs(hone_builder_t* b, int count, hone_value_t* const* from,
                           hone_value_t** to) {
  for (int i = 0; i < count; i++) {
    to[i] = hone_resolve(b, from[i]);
    if (!to[i]) {
      if (hone_builder_ok(b)) hone_fail(b, HONE_INTERNAL, "an operand is missing");
      return false;
    }
  }
  return true;
}

/* ---- short names ---- */

/* Expressions longer than this, and sums of more terms, get a symbol of their own, so that sizes
 * derived from sizes derived from sizes do not grow without end. */
enum { LONG_EXPRESSION = 40, LONG_SUM = 16 };

static bool is_long(hone_dim_t dim) {
  return hone_dim_size(dim) > LONG_EXPRESSION || hone_dim_term_count(dim) > LONG_SUM;
}

/* The symbol that a value of this graph, or of one around it, binds to `dim`. */
static bool find_short_name(const hone_builder_t* b, hone_dim_t dim, hone_dim_t* out_symbol) {
  for (const hone_graph_t* graph = b->graph; graph; graph = graph->parent)
    for (const hone_short_name_t* s = graph->short_names; s; s = s->next) {
      bool there = s->value->id < graph->n_values && graph->values[s->value->id] == s->value;
      if (!there || !hone_dim_same(s->expression, dim)) continue;
      *out_symbol = s->symbol;
      return true;
    }
  return false;
}

/* A long `dim`, which is extent or element `index` of `value`, by a short name. */
static hone_dim_t shorten(hone_builder_t* b, hone_value_t* value, hone_dim_t dim, bool is_dim,
                          int64_t index) {
  hone_dim_t symbol;
  if (b->is_call) return dim;
  if (!is_long(dim) || hone_dim_is_bad(dim)) return dim;
  if (find_short_name(b, dim, &symbol)) return symbol;
  symbol = hone_dim_symbol(b->graph->dims, NULL, is_dim ? HONE_SYMBOL_RESULT : HONE_SYMBOL_ELEMENT,
                           hone_dim_min_value(dim), hone_dim_max_value(dim));
  hone_short_name_t* name = hone_arena_alloc(b->graph->arena, sizeof *name);
  const hone_symbol_t* made = hone_dim_as_symbol(symbol);
  if (!made || !name) return dim;
  hone_status_t status = hone_value_bind(b->graph, value, made->id, is_dim, index);
  if (status) {
    hone_fail_status(b, status);
    return dim;
  }
  *name = (hone_short_name_t){
      .next = b->graph->short_names, .expression = dim, .symbol = symbol, .value = value};
  b->graph->short_names = name;
  return symbol;
}

static bool has_long(int64_t count, const hone_dim_t* dims) {
  for (int64_t i = 0; i < count; i++)
    if (is_long(dims[i])) return true;
  return false;
}

/* `dims` with its long entries replaced, in a copy. */
static const hone_dim_t* shorten_all(hone_builder_t* b, hone_value_t* value, int64_t count,
                                     const hone_dim_t* dims, bool is_dim) {
  if (!dims || !has_long(count, dims)) return dims;
  hone_dim_t* copy = hone_arena_memdup(b->graph->arena, dims, (size_t)count * sizeof *dims);
  if (!copy) return dims;
  for (int64_t i = 0; i < count; i++) copy[i] = shorten(b, value, copy[i], is_dim, i);
  return copy;
}

static int64_t static_count(const hone_value_t* v);

static void shorten_outputs(hone_builder_t* b, hone_node_t* node) {
  for (int i = 0; i < node->n_outputs; i++) {
    hone_value_t* value = node->outputs[i];
    value->type.dims = shorten_all(b, value, value->type.rank, value->type.dims, true);
    if (value->content)
      value->content = shorten_all(b, value, static_count(value), value->content, false);
  }
}

hone_value_t* hone_emit(hone_builder_t* b, const hone_node_t* node) {
  if (!hone_builder_ok(b)) return NULL;
  hone_value_t** inputs = hone_arena_array(b->graph->arena, (size_t)node->n_inputs, sizeof *inputs);
  if (!inputs) return hone_fail_status(b, hone_oom());
  if (!resolve_inputs(b, node->n_inputs, node->inputs, inputs)) return NULL;
  hone_node_t full = *node;
  full.inputs = inputs;
  full.n_outputs = hone_prim_info(node->prim)->outputs;
  full.origin = b->origin;
  hone_type_t types[HONE_MAX_INFERRED];
  hone_status_t status = hone_infer(b->graph, &full, types);
  if (status) return hone_fail_status(b, status);
  hone_node_t* made = hone_emit_typed(b, &full, types);
  if (!made) return NULL;
  hone_content_infer(b->graph, made);
  shorten_outputs(b, made);
  return hone_builder_ok(b) ? made->outputs[0] : NULL;
}

/* ---- looking at values ---- */

bool hone_is_known(hone_builder_t* b, const hone_value_t* x) {
  if (!x || !hone_builder_ok(b)) return false;
  if (hone_type_is_known(&x->type)) return true;
  hone_defer(b, "the rank or dtype of an operand is not known");
  return false;
}

int hone_rank(const hone_value_t* v) { return v->type.rank; }
hone_dtype_t hone_dtype_of(const hone_value_t* v) { return v->type.dtype; }

hone_dim_t hone_dim(const hone_value_t* v, int axis) {
  return v->type.dims[axis < 0 ? axis + v->type.rank : axis];
}

hone_dim_t hone_elements(hone_builder_t* b, const hone_value_t* v) {
  return hone_dim_product(b->graph->dims, v->type.rank, v->type.dims);
}

int hone_axis(hone_builder_t* b, int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
  hone_fail(b, HONE_INVALID_MODEL, "axis %lld is outside of a tensor of rank %d", (long long)axis,
            rank);
  return 0;
}

/* The number of elements where it is one; -1 otherwise. */
static int64_t static_count(const hone_value_t* v) {
  if (!hone_type_is_static(&v->type)) return -1;
  int64_t count = 1;
  for (int i = 0; i < v->type.rank; i++)
    if (!hone_i64_mul(count, v->type.dims[i].k, &count)) return -1;
  return count;
}

/* Content that is all numbers, as a constant tensor that the graph keeps. */
static const hone_tensor_t* content_tensor(hone_builder_t* b, const hone_value_t* v) {
  int64_t count = static_count(v), dims[HONE_MAX_RANK];
  for (int64_t i = 0; i < count; i++)
    if (!hone_dim_is_int(v->content[i])) return NULL;
  for (int i = 0; i < v->type.rank; i++) dims[i] = v->type.dims[i].k;
  hone_tensor_t* tensor;
  hone_status_t status =
      hone_tensor_create(b->graph->allocator, v->type.dtype, v->type.rank, dims, &tensor);
  if (status) return (void*)hone_fail_status(b, status);
  char* data = hone_tensor_data(tensor);
  size_t size = hone_dtype_size(v->type.dtype);
  for (int64_t i = 0; i < count; i++) /* little endian: the low bytes come first */
    memcpy(data + (size_t)i * size, &v->content[i].k, size);
  if (!hone_graph_keep_constant(b->graph, tensor)) return (void*)hone_fail_status(b, hone_oom());
  return tensor;
}

const hone_tensor_t* hone_known_tensor(hone_builder_t* b, hone_value_t* v) {
  if (!v || !hone_builder_ok(b)) return NULL;
  if (v->node->prim == HONE_PRIM_CONSTANT) return v->node->constant;
  return v->content ? content_tensor(b, v) : NULL;
}

static hone_dim_t bind_element(hone_builder_t* b, hone_value_t* v, int64_t index, int64_t min,
                               int64_t max) {
  if (b->is_call) {
    hone_fail(b, HONE_INTERNAL, "sizes cannot be read from values inside of a call");
    return hone_d(0);
  }
  hone_dim_t symbol = hone_dim_symbol(b->graph->dims, NULL, HONE_SYMBOL_ELEMENT, min, max);
  const hone_symbol_t* made = hone_dim_as_symbol(symbol);
  hone_status_t status = made ? hone_value_bind(b->graph, v, made->id, false, index) : hone_oom();
  if (status) hone_fail_status(b, status);
  return symbol;
}

const hone_dim_t* hone_known_dims(hone_builder_t* b, hone_value_t* v, int* out_count) {
  *out_count = 0;
  if (!v || !hone_builder_ok(b)) return NULL;
  if (!hone_type_is_known(&v->type) ||
      !(hone_dtype_is_int(v->type.dtype) || v->type.dtype == HONE_BOOL))
    return (void*)hone_defer(b, "sizes come from a tensor of unknown or non-integer type");
  int64_t count = static_count(v);
  if (count < 0 || count > MAX_KNOWN_DIMS)
    return (void*)hone_defer(b, "how many sizes there are is not known");
  if (!v->content) {
    hone_dim_t* dims = hone_arena_array(b->graph->arena, (size_t)count, sizeof *dims);
    if (!dims) return (void*)hone_fail_status(b, hone_oom());
    for (int64_t i = 0; i < count; i++)
      dims[i] = bind_element(b, v, i, INT64_MIN / 4, INT64_MAX / 4);
    v->content = dims; /* the symbols are its content from now on */
  }
  *out_count = (int)count;
  return v->content;
}

hone_dim_t hone_d_scalar(hone_builder_t* b, hone_value_t* value, int64_t min, int64_t max) {
  if (!hone_is_known(b, value)) return hone_d(0);
  if (!value->content) {
    hone_dim_t* dims = hone_arena_array(b->graph->arena, 1, sizeof *dims);
    if (!dims) {
      hone_fail_status(b, hone_oom());
      return hone_d(0);
    }
    dims[0] = bind_element(b, value, 0, min, max);
    value->content = dims;
  }
  return value->content[0];
}

/* ---- dimensions ---- */

hone_dim_t hone_d_add(hone_builder_t* b, hone_dim_t x, hone_dim_t y) {
  return hone_dim_add(b->graph->dims, x, y);
}
hone_dim_t hone_d_sub(hone_builder_t* b, hone_dim_t x, hone_dim_t y) {
  return hone_dim_sub(b->graph->dims, x, y);
}
hone_dim_t hone_d_mul(hone_builder_t* b, hone_dim_t x, hone_dim_t y) {
  return hone_dim_mul(b->graph->dims, x, y);
}
hone_dim_t hone_d_floordiv(hone_builder_t* b, hone_dim_t x, hone_dim_t y) {
  return hone_dim_floordiv(b->graph->dims, x, y);
}
hone_dim_t hone_d_ceildiv(hone_builder_t* b, hone_dim_t x, hone_dim_t y) {
  return hone_dim_ceildiv(b->graph->dims, x, y);
}
hone_dim_t hone_d_min(hone_builder_t* b, hone_dim_t x, hone_dim_t y) {
  return hone_dim_min(b->graph->dims, x, y);
}
hone_dim_t hone_d_max(hone_builder_t* b, hone_dim_t x, hone_dim_t y) {
  return hone_dim_max(b->graph->dims, x, y);
}
hone_dim_t hone_d_result(hone_builder_t* b, int64_t min, int64_t max) {
  return hone_dim_symbol(b->graph->dims, NULL, HONE_SYMBOL_RESULT, min, max);
}
