/* Builder calls for control flow: regions are opened, built and closed. */
#include <string.h>

#include "base/memory.h"
#include "ir/builder.h"

void hone_region_open(hone_builder_t* b, const char* name, hone_builder_t* body) {
  *body = (hone_builder_t){.parent = b, .origin = b->origin, .graph = b->graph};
  body->first_symbol = hone_dims_symbol_count(b->graph->dims);
  if (!hone_builder_ok(b)) return;
  hone_graph_t* region;
  hone_status_t status = hone_graph_create_region(b->graph, name, &region);
  if (status)
    hone_fail_status(b, status); /* what is built on goes nowhere */
  else
    body->graph = region;
}

hone_value_t* hone_param(hone_builder_t* body, const hone_type_t* type) {
  return hone_input(body, NULL, type);
}

/* Hands what went wrong in a body on to the builder around it. */
static void adopt_errors(hone_builder_t* b, hone_builder_t* body) {
  if (body->status) hone_fail_status(b, body->status);
  if (body->deferred) hone_defer(b, body->deferred);
  body->status = NULL;
}

/* Makes `count` results values of the body's graph and its outputs. */
static void set_results(hone_builder_t* body, int count, hone_value_t* const* results) {
  hone_value_t** list = hone_arena_array(body->graph->arena, (size_t)count, sizeof *list);
  if (!list) {
    hone_fail_status(body, hone_oom());
    return;
  }
  for (int i = 0; i < count; i++) {
    list[i] = hone_resolve(body, results[i]);
    if (!list[i] && hone_builder_ok(body)) hone_fail(body, HONE_INTERNAL, "a result is missing");
  }
  if (!hone_builder_ok(body)) return;
  hone_status_t status = hone_graph_set_outputs(body->graph, count, list, NULL);
  if (status) hone_fail_status(body, status);
}

/* Appends the outer values that a body captures, first captured first. */
static void append_captures(const hone_builder_t* body, hone_value_t** list, int* n) {
  int at = *n + body->n_captures;
  *n = at;
  for (const hone_capture_t* c = body->captures; c; c = c->next) list[--at] = c->outer;
}

typedef struct symbol_check {
  int limit;
  bool inner; /* found a symbol made inside the region */
} symbol_check_t;

static void check_symbol(void* self, const hone_symbol_t* symbol) {
  symbol_check_t* check = self;
  if (symbol->id >= check->limit) check->inner = true;
}

static bool is_inner(hone_dim_t dim, int first_symbol) {
  symbol_check_t check = {.limit = first_symbol};
  hone_dim_visit_symbols(dim, check_symbol, &check);
  return check.inner;
}

/* Elements of sequences and optionals may differ from one to the next, so of
 * their extents nothing is said. */
static const hone_type_t* cover_elements(hone_builder_t* b, const hone_type_t* x,
                                         const hone_type_t* y) {
  if (!x || !y) return NULL;
  hone_type_t bare_x = *x, bare_y = *y;
  bare_x.dims = bare_y.dims = NULL;
  if (x->rank == HONE_RANK_NONE) bare_x.rank = y->rank;
  if (y->rank == HONE_RANK_NONE) bare_y.rank = x->rank;
  if (x->rank == HONE_RANK_NONE && !x->dtype) bare_x.dtype = y->dtype;
  if (y->rank == HONE_RANK_NONE && !y->dtype) bare_y.dtype = x->dtype;
  hone_type_t cover = hone_type_cover(b, &bare_x, &bare_y, 0);
  hone_type_t* element = hone_arena_memdup(b->graph->arena, &cover, sizeof cover);
  if (!element) hone_fail_status(b, hone_oom());
  return element;
}

static void cover_dims(hone_builder_t* b, const hone_type_t* x, const hone_type_t* y,
                       int first_symbol, hone_type_t* out) {
  out->dims = NULL;
  if (x->rank != y->rank) out->rank = -1;
  if (out->rank < 0) return;
  if (!x->dims || !y->dims) return;
  hone_dim_t* dims = hone_arena_array(b->graph->arena, (size_t)x->rank, sizeof *dims);
  if (!dims) {
    hone_fail_status(b, hone_oom());
    *out = hone_type_any();
    return;
  }
  for (int i = 0; i < x->rank; i++) {
    bool keep = hone_dim_same(x->dims[i], y->dims[i]) && !is_inner(x->dims[i], first_symbol);
    dims[i] = keep ? x->dims[i] : hone_d(-1);
  }
  out->dims = dims;
}

hone_type_t hone_type_cover(hone_builder_t* b, const hone_type_t* x, const hone_type_t* y,
                            int first_symbol) {
  if (x->kind != y->kind || x->kind == HONE_TYPE_ANY) return hone_type_any();
  hone_type_t out = *x;
  if (x->dtype != y->dtype) out.dtype = HONE_UNKNOWN;
  if (x->kind == HONE_TYPE_TENSOR)
    cover_dims(b, x, y, first_symbol, &out);
  else
    out.element = cover_elements(b, x->element, y->element);
  return out;
}

hone_type_t hone_fresh_extents(hone_builder_t* b, const hone_type_t* type) {
  hone_type_t out = *type;
  if (type->kind != HONE_TYPE_TENSOR || type->rank <= 0) return out;
  hone_dim_t* dims = hone_arena_array(b->graph->arena, (size_t)type->rank, sizeof *dims);
  if (!dims) {
    hone_fail_status(b, hone_oom());
    return hone_type_any();
  }
  for (int i = 0; i < type->rank; i++) {
    bool open = !type->dims || hone_dim_is(type->dims[i], -1);
    dims[i] = open ? hone_d_result(b, 0, INT32_MAX) : type->dims[i];
  }
  out.dims = dims;
  return out;
}

/* The type of a result seen from outside, where it may come from either body. */
static hone_type_t outside_type(hone_builder_t* b, int first_symbol, const hone_type_t* x,
                                const hone_type_t* y) {
  hone_type_t cover = hone_type_cover(b, x, y, first_symbol);
  return hone_fresh_extents(b, &cover);
}

/* Binds the extents of `value` that are fresh symbols to what it turns out to be. */
void hone_bind_extents(hone_builder_t* b, hone_value_t* value, int first_symbol) {
  for (int i = 0; i < value->type.rank; i++) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(value->type.dims[i]);
    if (!symbol || symbol->id < first_symbol || symbol->origin != HONE_SYMBOL_RESULT) continue;
    hone_status_t status = hone_value_bind(b->graph, value, symbol->id, true, i);
    if (status) hone_fail_status(b, status);
  }
}

static void collect_outputs(hone_builder_t* b, hone_node_t* node, int first_symbol,
                            hone_value_t** outputs) {
  for (int i = 0; node && i < node->n_outputs; i++) {
    outputs[i] = node->outputs[i];
    hone_bind_extents(b, outputs[i], first_symbol);
  }
}

/* The condition, then what each branch captures. */
static hone_value_t** if_inputs(hone_builder_t* b, hone_value_t* condition,
                                const hone_builder_t* then_body, const hone_builder_t* else_body,
                                int* out_count) {
  size_t total = (size_t)(1 + then_body->n_captures + else_body->n_captures);
  hone_value_t** inputs = hone_arena_array(b->graph->arena, total, sizeof *inputs);
  if (!inputs) return (void*)hone_fail_status(b, hone_oom());
  inputs[0] = condition;
  *out_count = 1;
  append_captures(then_body, inputs, out_count);
  append_captures(else_body, inputs, out_count);
  return inputs;
}

void hone_if(hone_builder_t* b, hone_value_t* condition, hone_builder_t* then_body,
             hone_value_t* const* then_outputs, hone_builder_t* else_body,
             hone_value_t* const* else_outputs, int n_outputs, hone_value_t** outputs) {
  for (int i = 0; i < n_outputs; i++) outputs[i] = NULL;
  if (hone_builder_ok(then_body)) set_results(then_body, n_outputs, then_outputs);
  if (hone_builder_ok(else_body)) set_results(else_body, n_outputs, else_outputs);
  adopt_errors(b, then_body);
  adopt_errors(b, else_body);
  condition = hone_resolve(b, condition);
  if (!hone_builder_ok(b) || !condition) return;
  int n_inputs = 0;
  hone_value_t** inputs = if_inputs(b, condition, then_body, else_body, &n_inputs);
  hone_type_t* types = hone_arena_array(b->graph->arena, (size_t)n_outputs, sizeof *types);
  if (!types) hone_fail_status(b, hone_oom());
  if (!inputs || !types) return;
  int first = then_body->first_symbol, now = hone_dims_symbol_count(b->graph->dims);
  for (int i = 0; i < n_outputs; i++)
    types[i] = outside_type(b, first, &then_body->graph->outputs[i]->type,
                            &else_body->graph->outputs[i]->type);
  hone_node_t node = {.prim = HONE_PRIM_IF,
                      .n_inputs = n_inputs,
                      .inputs = inputs,
                      .n_outputs = n_outputs,
                      .n_regions = 2,
                      .regions = {then_body->graph, else_body->graph}};
  collect_outputs(b, hone_emit_typed(b, &node, types), now, outputs);
}

void hone_loop_open(hone_builder_t* b, const char* name, int n_carried, const hone_type_t* types,
                    hone_builder_t* body, hone_value_t** out_round, hone_value_t** out_carried) {
  hone_region_open(b, name, body);
  hone_type_t round = hone_type_tensor(HONE_I64, 0, NULL);
  hone_type_t condition = hone_type_tensor(HONE_BOOL, 0, NULL);
  *out_round = hone_param(body, &round);
  hone_param(body, &condition);
  for (int i = 0; i < n_carried; i++) {
    hone_type_t type = hone_fresh_extents(body, &types[i]);
    out_carried[i] = hone_param(body, &type);
    if (out_carried[i]) hone_bind_extents(body, out_carried[i], body->first_symbol);
  }
}

/* The type of what stacks up: one more axis for the rounds. */
static hone_type_t stacked_type(hone_builder_t* b, const hone_builder_t* body,
                                const hone_type_t* element, hone_dim_t rounds) {
  hone_type_t inner = outside_type(b, body->first_symbol, element, element);
  if (!hone_type_is_known(&inner) || inner.rank >= HONE_MAX_RANK) return hone_type_any();
  hone_dim_t* dims = hone_arena_array(b->graph->arena, (size_t)inner.rank + 1, sizeof *dims);
  if (!dims) {
    hone_fail_status(b, hone_oom());
    return hone_type_any();
  }
  dims[0] = rounds;
  if (inner.rank) memcpy(dims + 1, inner.dims, (size_t)inner.rank * sizeof *dims);
  return hone_type_tensor(inner.dtype, inner.rank + 1, dims);
}

/* How often the body runs where that is known; a fresh symbol otherwise. */
static hone_dim_t round_count(hone_builder_t* b, const hone_value_t* trip_count,
                              bool unconditional) {
  if (unconditional && trip_count && trip_count->content &&
      hone_dim_min_value(trip_count->content[0]) >= 0)
    return trip_count->content[0];
  return hone_d_result(b, 0, INT32_MAX);
}

/* What the body yields: condition, carried values, stacked ones. */
static void set_loop_results(hone_builder_t* body, hone_value_t* next_condition, int n_carried,
                             hone_value_t* const* next, int n_stacked,
                             hone_value_t* const* stacked) {
  if (!hone_builder_ok(body)) return;
  if (!next_condition) next_condition = hone_scalar_i64(body, HONE_BOOL, 1);
  size_t count = (size_t)(1 + n_carried + n_stacked);
  hone_value_t** results = hone_arena_array(body->graph->arena, count, sizeof *results);
  if (!results) {
    hone_fail_status(body, hone_oom());
    return;
  }
  results[0] = next_condition;
  for (int i = 0; i < n_carried; i++) results[1 + i] = next[i];
  for (int i = 0; i < n_stacked; i++) results[1 + n_carried + i] = stacked[i];
  set_results(body, (int)count, results);
}

/* What the loop reads: trip count, condition, carried values, captures. */
static hone_value_t** loop_inputs(hone_builder_t* b, const hone_builder_t* body,
                                  hone_value_t* trip_count, hone_value_t* condition, int n_carried,
                                  hone_value_t* const* initial, int* out_count) {
  size_t total = (size_t)(2 + n_carried + body->n_captures);
  hone_value_t** inputs = hone_arena_array(b->graph->arena, total, sizeof *inputs);
  if (!inputs) return (void*)hone_fail_status(b, hone_oom());
  int n = 0;
  inputs[n++] = hone_resolve(b, trip_count);
  inputs[n++] = hone_resolve(b, condition);
  for (int i = 0; i < n_carried; i++) inputs[n++] = hone_resolve(b, initial[i]);
  append_captures(body, inputs, &n);
  for (int i = 0; i < n; i++)
    if (!inputs[i]) return (void*)hone_fail(b, HONE_INTERNAL, "an operand of a loop is missing");
  *out_count = n;
  return inputs;
}

void hone_loop_close(hone_builder_t* b, hone_builder_t* body, hone_value_t* trip_count,
                     hone_value_t* condition, int n_carried, hone_value_t* const* initial,
                     hone_value_t* next_condition, hone_value_t* const* next, int n_stacked,
                     hone_value_t* const* stacked, hone_value_t** outputs) {
  int n_outputs = n_carried + n_stacked, n_inputs = 0;
  for (int i = 0; i < n_outputs; i++) outputs[i] = NULL;
  bool unconditional = !condition && !next_condition;
  if (!trip_count) trip_count = hone_scalar_i64(b, HONE_I64, INT64_MAX);
  if (!condition) condition = hone_scalar_i64(b, HONE_BOOL, 1);
  set_loop_results(body, next_condition, n_carried, next, n_stacked, stacked);
  adopt_errors(b, body);
  if (!hone_builder_ok(b)) return;
  hone_value_t** inputs =
      loop_inputs(b, body, trip_count, condition, n_carried, initial, &n_inputs);
  hone_type_t* types = hone_arena_array(b->graph->arena, (size_t)n_outputs, sizeof *types);
  if (!types) hone_fail_status(b, hone_oom());
  if (!inputs || !types) return;
  int now = hone_dims_symbol_count(b->graph->dims);
  for (int i = 0; i < n_carried; i++) {
    const hone_type_t* param = &body->graph->inputs[2 + i]->type;
    types[i] = outside_type(b, body->first_symbol, param, param);
  }
  hone_dim_t rounds = round_count(b, inputs[0], unconditional);
  for (int i = 0; i < n_stacked; i++)
    types[n_carried + i] =
        stacked_type(b, body, &body->graph->outputs[1 + n_carried + i]->type, rounds);
  hone_node_t node = {.prim = HONE_PRIM_LOOP,
                      .n_inputs = n_inputs,
                      .inputs = inputs,
                      .n_outputs = n_outputs,
                      .n_carried = n_carried,
                      .n_regions = 1,
                      .regions = {body->graph}};
  collect_outputs(b, hone_emit_typed(b, &node, types), now, outputs);
}
