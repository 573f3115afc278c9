/* If: one of two subgraphs. Where the condition is known now, only the branch
 * that is taken is built, in place. */
#include "ops/common/loop_body.h"

static void set_outputs(hone_lower_t* l, hone_value_t* const* values) {
  for (int i = 0; i < l->n_outputs; i++) hone_op_out(l, i, values[i]);
}

static void build_taken(hone_lower_t* l, const hone_onnx_graph_t* branch) {
  hone_value_t** results = hone_op_values(l, branch->n_outputs);
  if (!results) return;
  hone_op_subgraph(l, branch, l->b, 0, NULL, results);
  set_outputs(l, results);
}

static void build_both(hone_lower_t* l, hone_value_t* condition,
                       const hone_onnx_graph_t* then_branch, const hone_onnx_graph_t* else_branch) {
  hone_value_t** then_results = hone_op_values(l, then_branch->n_outputs);
  hone_value_t** else_results = hone_op_values(l, else_branch->n_outputs);
  hone_value_t** results = hone_op_values(l, l->n_outputs);
  if (!then_results || !else_results || !results) return;
  hone_builder_t then_body, else_body;
  hone_region_open(l->b, then_branch->name, &then_body);
  hone_op_subgraph(l, then_branch, &then_body, 0, NULL, then_results);
  hone_region_open(l->b, else_branch->name, &else_body);
  hone_op_subgraph(l, else_branch, &else_body, 0, NULL, else_results);
  hone_if(l->b, condition, &then_body, then_results, &else_body, else_results, l->n_outputs,
          results);
  set_outputs(l, results);
}

static void lower_if(hone_lower_t* l) {
  const hone_onnx_graph_t* then_branch = hone_attr_graph(l->node, "then_branch");
  const hone_onnx_graph_t* else_branch = hone_attr_graph(l->node, "else_branch");
  if (!then_branch || !else_branch) {
    hone_op_fail(l, "If needs the subgraphs then_branch and else_branch");
    return;
  }
  if (then_branch->n_outputs < l->n_outputs || else_branch->n_outputs < l->n_outputs) {
    hone_op_fail(l, "the branches give %lld and %lld values where %d are wanted",
                 (long long)then_branch->n_outputs, (long long)else_branch->n_outputs,
                 l->n_outputs);
    return;
  }
  hone_value_t* condition = hone_op_scalar(l->b, hone_op_in(l, 0), HONE_BOOL);
  if (!condition) return;
  const hone_tensor_t* known = hone_known_tensor(l->b, condition);
  if (known)
    build_taken(l, hone_tensor_i64(known, 0) ? then_branch : else_branch);
  else
    build_both(l, condition, then_branch, else_branch);
}

static const hone_op_t ops[] = {
    {.name = "If",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .flags = HONE_OP_ANY_TYPE,
     .attrs = "then_branch else_branch",
     .lower = lower_if},
};
HONE_OP_FAMILY(if, ops)
