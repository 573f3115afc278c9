/* FlexAttention: attention whose scores, and weights, pass through subgraphs. */
#include "ops/common/heads.h"

/* x through the subgraph `name`; x itself where there is none. */
static hone_value_t* modify(hone_lower_t* l, const char* name, hone_value_t* x) {
  const hone_onnx_graph_t* graph = hone_attr_graph(l->node, name);
  if (!graph || !x) return x;
  if (graph->n_outputs != 1) {
    hone_op_fail(l, "%s has %lld outputs; it must have one", name, (long long)graph->n_outputs);
    return NULL;
  }
  hone_value_t* out = NULL;
  hone_op_subgraph(l, graph, l->b, 1, &x, &out);
  if (!out || !hone_is_known(l->b, out)) return NULL;
  return hone_cast(l->b, out, hone_dtype_of(x));
}

static void lower_flex_attention(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *q = hone_op_in(l, 0), *k = hone_op_in(l, 1), *v = hone_op_in(l, 2);
  for (int i = 0; i < 3; i++) {
    if (hone_rank(hone_op_in(l, i)) == 4) continue;
    hone_op_fail(l, "input %d has rank %d; it must have 4", i, hone_rank(hone_op_in(l, i)));
    return;
  }
  hone_dtype_t work = hone_dtype_of(q) == HONE_F64 ? HONE_F64 : HONE_F32;
  int64_t precision = hone_attr_int(l->node, "softmax_precision", (int64_t)work);
  if (precision != HONE_F32 && precision != HONE_F16 && precision != HONE_F64 &&
      precision != HONE_BF16) {
    hone_op_fail(l, "softmax_precision is %lld; it must be 1, 10, 11 or 16", (long long)precision);
    return;
  }
  hone_dtype_t dtype = (hone_dtype_t)precision;
  hone_value_t* scores = hone_heads_scores(l, q, k, work);
  if (hone_attr_has(l->node, "scale"))
    scores = hone_mul_number(b, scores, hone_attr_float(l->node, "scale", 1));
  else
    scores = hone_mul(b, scores, hone_heads_scale(b, q, work));
  scores = modify(l, "score_mod", hone_cast(b, scores, dtype));
  hone_value_t* p = modify(l, "prob_mod", hone_softmax(b, scores, -1));
  hone_value_t* y = hone_heads_values(l, p, v, dtype);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(v)));
}

static const hone_op_t ops[] = {
    {.domain = "ai.onnx.preview",
     .name = "FlexAttention",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "prob_mod scale score_mod softmax_precision",
     .lower = lower_flex_attention},
};
HONE_OP_FAMILY(flex_attention, ops)
