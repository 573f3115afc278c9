/* Finds types for the carried values of a loop that hold in every round. */
#include "ops/common/loop_body.h"

#include "base/memory.h"

enum { MAX_TRIES = 8 };

hone_value_t** hone_op_values(hone_lower_t* l, int64_t count) {
  hone_value_t** list = hone_arena_array(l->b->graph->arena, (size_t)count, sizeof *list);
  if (!list) hone_fail_status(l->b, hone_oom());
  return list;
}

hone_value_t* hone_op_scalar(hone_builder_t* b, hone_value_t* value, hone_dtype_t dtype) {
  if (!value || !hone_type_is_known(&value->type)) return value;
  if (value->type.rank > 0) value = hone_reshape(b, value, 0, NULL);
  return value && value->type.dtype != dtype ? hone_cast(b, value, dtype) : value;
}

/* Lowers the subgraph into a fresh region with the given types. */
static bool try_types(hone_loop_body_t* loop, const hone_type_t* types, hone_value_t** carried,
                      hone_value_t** params) {
  hone_builder_t* body = &loop->body;
  hone_loop_open(loop->b, loop->graph->name, loop->n_carried, types, body, &loop->round, carried);
  if (!hone_builder_ok(body) || !hone_builder_ok(loop->b)) return false;
  loop->condition = body->graph->inputs[1];
  loop->make_params(loop, loop->round, loop->condition, carried, params);
  hone_op_subgraph(loop->l, loop->graph, body, loop->n_params, params, loop->results);
  if (loop->finish && hone_builder_ok(body)) loop->finish(loop, carried);
  return hone_builder_ok(body);
}

/* Values may change their shape from round to round, but not their dtype. */
static bool dtypes_hold(hone_loop_body_t* loop, const hone_type_t* types) {
  for (int i = 0; i < loop->n_carried; i++) {
    const hone_type_t* next = &loop->results[loop->first_carried + i]->type;
    if (types[i].kind != HONE_TYPE_TENSOR || next->kind != HONE_TYPE_TENSOR ||
        types[i].dtype == next->dtype || !types[i].dtype || !next->dtype)
      continue;
    hone_op_fail(loop->l, "value %d that the loop carries is %s, but its body makes it %s", i,
                 hone_dtype_name(types[i].dtype), hone_dtype_name(next->dtype));
    return false;
  }
  return true;
}

/* Widens `types` to what the body yields; true when nothing had to change. */
static bool types_hold(hone_loop_body_t* loop, hone_type_t* types) {
  bool hold = true;
  for (int i = 0; i < loop->n_carried; i++) {
    const hone_value_t* next = loop->results[loop->first_carried + i];
    hone_type_t cover = hone_type_cover(loop->b, &types[i], &next->type, loop->body.first_symbol);
    if (!hone_type_same(&cover, &types[i])) hold = false;
    types[i] = cover;
  }
  return hold;
}

/* The last resort: nothing is known of any carried value. */
static void forget_types(hone_loop_body_t* loop, hone_type_t* types) {
  for (int i = 0; i < loop->n_carried; i++) types[i] = hone_type_any();
}

/* Hands an error of the region that will not be closed on to the builder around it. */
static bool give_up(hone_loop_body_t* loop) {
  if (loop->body.status) hone_fail_status(loop->b, loop->body.status);
  if (loop->body.deferred) hone_defer(loop->b, loop->body.deferred);
  loop->body.status = NULL;
  return false;
}

bool hone_loop_body_build(hone_loop_body_t* loop) {
  hone_arena_t* arena = loop->b->graph->arena;
  hone_type_t* types = hone_arena_array(arena, (size_t)loop->n_carried, sizeof *types);
  hone_value_t** carried = hone_op_values(loop->l, loop->n_carried);
  hone_value_t** params = hone_op_values(loop->l, loop->n_params);
  loop->results = hone_op_values(loop->l, loop->graph->n_outputs);
  if (!types) hone_fail_status(loop->b, hone_oom());
  if (!types || !carried || !params || !loop->results) return false;
  for (int i = 0; i < loop->n_carried; i++) {
    if (!loop->initial[i]) return false;
    types[i] = loop->initial[i]->type;
  }
  for (int tries = 0; tries <= MAX_TRIES; tries++) {
    if (!try_types(loop, types, carried, params)) return give_up(loop);
    if (!dtypes_hold(loop, types)) return false;
    if (types_hold(loop, types) || tries == MAX_TRIES) break;
    if (tries == MAX_TRIES - 1) forget_types(loop, types);
  }
  return true;
}
