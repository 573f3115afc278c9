/* SequenceMap: a subgraph applied to each element of a sequence. Where the
 * members are known it is written out once for each; otherwise it is a loop
 * that carries the sequences made so far. */
#include "ops/common/loop_body.h"
#include "ops/common/sequence.h"

enum { MAX_COPIES = 64 };

static bool is_sequence(const hone_value_t* value) {
  return value->type.kind == HONE_TYPE_SEQUENCE;
}

/* How many members all sequence inputs are known to have; -1: not known. */
static int known_count(const hone_lower_t* l) {
  int known = -1;
  for (int i = 0; i < l->n_inputs; i++) {
    if (!is_sequence(l->inputs[i])) continue;
    hone_value_t* const* members;
    int count = hone_sequence_members(l->inputs[i], &members);
    if (count < 0 || (known >= 0 && known != count)) return -1;
    known = count;
  }
  return known;
}

static void write_out(hone_lower_t* l, const hone_onnx_graph_t* graph, int count) {
  int n_outputs = (int)graph->n_outputs;
  hone_value_t** params = hone_op_values(l, l->n_inputs);
  hone_value_t** results = hone_op_values(l, n_outputs);
  hone_value_t** members = hone_op_values(l, (int64_t)n_outputs * count);
  if (!params || !results || !members) return;
  for (int k = 0; k < count && hone_builder_ok(l->b); k++) {
    for (int i = 0; i < l->n_inputs; i++) {
      hone_value_t* const* of;
      params[i] = l->inputs[i];
      if (is_sequence(params[i]) && hone_sequence_members(params[i], &of) > k) params[i] = of[k];
    }
    hone_op_subgraph(l, graph, l->b, l->n_inputs, params, results);
    for (int o = 0; o < n_outputs; o++) members[o * count + k] = results[o];
  }
  for (int o = 0; o < l->n_outputs && hone_builder_ok(l->b); o++)
    hone_op_out(l, o, hone_sequence_of(l, l->b, count, members + (ptrdiff_t)o * count));
}

/* Elements of the sequences at this round; tensors as they are. */
static void make_params(hone_loop_body_t* loop, hone_value_t* round, hone_value_t* condition,
                        hone_value_t* const* carried, hone_value_t** params) {
  (void)condition, (void)carried;
  hone_lower_t* l = loop->l;
  for (int i = 0; i < l->n_inputs; i++) {
    params[i] = l->inputs[i];
    if (!is_sequence(params[i])) continue;
    hone_type_t type = hone_sequence_element(&params[i]->type);
    hone_value_t* inputs[] = {params[i], round};
    params[i] = hone_sequence_call(l, &loop->body, "SequenceAt", 2, inputs, &type);
  }
}

/* What a round yields joins the sequences. */
static void join_results(hone_loop_body_t* loop, hone_value_t* const* carried) {
  for (int i = 0; i < loop->n_carried && hone_builder_ok(&loop->body); i++) {
    hone_value_t* inputs[] = {carried[i], loop->results[i]};
    if (!inputs[1]) return;
    hone_type_t type = hone_sequence_joined(&loop->body, &carried[i]->type, &inputs[1]->type);
    loop->results[i] = hone_sequence_call(loop->l, &loop->body, "SequenceInsert", 2, inputs, &type);
  }
}

static void write_loop(hone_lower_t* l, const hone_onnx_graph_t* graph) {
  int n_outputs = (int)graph->n_outputs;
  hone_type_t count_type = hone_type_tensor(HONE_I64, 0, NULL);
  hone_value_t* count = hone_sequence_call(l, l->b, "SequenceLength", 1, l->inputs, &count_type);
  hone_value_t** initial = hone_op_values(l, n_outputs);
  hone_value_t** results = hone_op_values(l, n_outputs);
  if (!initial || !results) return;
  for (int i = 0; i < n_outputs; i++) initial[i] = hone_sequence_of(l, l->b, 0, NULL);
  hone_loop_body_t loop = {.l = l,
                           .b = l->b,
                           .graph = graph,
                           .n_carried = n_outputs,
                           .initial = initial,
                           .make_params = make_params,
                           .finish = join_results,
                           .n_params = l->n_inputs};
  if (!hone_loop_body_build(&loop)) return;
  hone_loop_close(l->b, &loop.body, count, NULL, n_outputs, initial, NULL, loop.results, 0, NULL,
                  results);
  for (int i = 0; i < l->n_outputs; i++) hone_op_out(l, i, results[i]);
}

static void lower_map(hone_lower_t* l) {
  const hone_onnx_graph_t* graph = hone_attr_graph(l->node, "body");
  if (!graph || graph->n_outputs < l->n_outputs) {
    hone_op_fail(l, "SequenceMap needs a subgraph 'body' that gives %d values", l->n_outputs);
    return;
  }
  for (int i = 0; i < l->n_inputs; i++) {
    const hone_value_t* x = l->inputs[i];
    if (!x) {
      hone_op_fail(l, "input %d is missing", i);
      return;
    }
    if (i == 0 && x->type.kind == HONE_TYPE_TENSOR) {
      hone_op_fail(l, "input 0 is a tensor; a sequence is needed");
      return;
    }
    if (x->type.kind == HONE_TYPE_ANY || (i == 0 && !is_sequence(x))) {
      hone_defer(l->b, "whether an input is a sequence is not known");
      return;
    }
  }
  int count = known_count(l);
  if (count >= 0 && count <= MAX_COPIES)
    write_out(l, graph, count);
  else
    write_loop(l, graph);
}

static const hone_op_t ops[] = {
    {.name = "SequenceMap",
     .min_opset = 17,
     .min_inputs = 1,
     .max_inputs = -1,
     .attrs = "body",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_map},
};
HONE_OP_FAMILY(sequence_map, ops)
