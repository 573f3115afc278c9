/* Loop: a subgraph run again and again, with values carried from each round to
 * the next and others stacked up. */
#include "ops/common/loop_body.h"

/* The round and the condition with the rank that the subgraph declares. */
static hone_value_t* declared_scalar(hone_builder_t* b, const hone_onnx_value_info_t* info,
                                     hone_value_t* value) {
  hone_dim_t one = hone_d(1);
  return info->type.rank == 1 ? hone_reshape(b, value, 1, &one) : value;
}

static void make_params(hone_loop_body_t* loop, hone_value_t* round, hone_value_t* condition,
                        hone_value_t* const* carried, hone_value_t** params) {
  if (loop->graph->n_inputs != loop->n_params) return; /* hone_op_subgraph tells */
  params[0] = declared_scalar(&loop->body, &loop->graph->inputs[0], round);
  params[1] = declared_scalar(&loop->body, &loop->graph->inputs[1], condition);
  for (int i = 0; i < loop->n_carried; i++) params[2 + i] = carried[i];
}

static bool is_true(hone_builder_t* b, hone_value_t* value) {
  const hone_tensor_t* known = hone_known_tensor(b, value);
  return known && hone_tensor_count(known) == 1 && hone_tensor_i64(known, 0);
}

/* NULL when it is true in every round. */
static hone_value_t* next_condition(hone_loop_body_t* loop, bool starts_true) {
  hone_value_t* next = hone_op_scalar(&loop->body, loop->results[0], HONE_BOOL);
  bool constant = is_true(&loop->body, next) || (starts_true && next == loop->condition);
  return constant ? NULL : next;
}

static void lower_loop(hone_lower_t* l) {
  const hone_onnx_graph_t* graph = hone_attr_graph(l->node, "body");
  int n_carried = l->n_inputs > 2 ? l->n_inputs - 2 : 0;
  if (!graph || graph->n_outputs < 1 + n_carried) {
    hone_op_fail(l, "Loop needs a subgraph 'body' that gives a condition and %d carried values",
                 n_carried);
    return;
  }
  int n_stacked = (int)graph->n_outputs - 1 - n_carried, n_outputs = n_carried + n_stacked;
  hone_loop_body_t loop = {.l = l,
                           .b = l->b,
                           .graph = graph,
                           .n_carried = n_carried,
                           .initial = n_carried ? l->inputs + 2 : NULL,
                           .make_params = make_params,
                           .n_params = 2 + n_carried,
                           .first_carried = 1};
  for (int i = 0; i < n_carried; i++)
    if (!l->inputs[2 + i]) {
      hone_op_fail(l, "input %d, a value that the loop carries, is missing", 2 + i);
      return;
    }
  hone_value_t* trip_count = hone_op_scalar(l->b, hone_op_in(l, 0), HONE_I64);
  hone_value_t* condition = hone_op_scalar(l->b, hone_op_in(l, 1), HONE_BOOL);
  if (is_true(l->b, condition)) condition = NULL;
  hone_value_t** results = hone_op_values(l, n_outputs);
  if (!results || !hone_loop_body_build(&loop)) return;
  hone_loop_close(l->b, &loop.body, trip_count, condition, n_carried, loop.initial,
                  next_condition(&loop, !condition), loop.results + 1, n_stacked,
                  loop.results + 1 + n_carried, results);
  for (int i = 0; i < l->n_outputs && i < n_outputs; i++) hone_op_out(l, i, results[i]);
}

static const hone_op_t ops[] = {
    {.name = "Loop",
     .min_opset = 1,
     .max_inputs = -1,
     .attrs = "body",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_loop},
};
HONE_OP_FAMILY(loop, ops)
