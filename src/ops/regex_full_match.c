/* RegexFullMatch: whether each string as a whole matches a pattern. */
#include "ops/common/host.h"
#include "ops/common/regex.h"

static hone_status_t make_regex(const hone_allocator_t* allocator, const hone_onnx_node_t* node,
                                hone_regex_t** out_regex) {
  int count;
  const hone_string_t* pattern = hone_attr_strings(node, "pattern", &count);
  *out_regex = NULL;
  if (count != 1)
    return hone_status_make(HONE_INVALID_MODEL, "RegexFullMatch: attribute pattern is missing");
  return hone_regex_create(allocator, pattern->data, pattern->size, out_regex);
}

static hone_status_t match_all(const hone_regex_t* regex, const hone_tensor_t* x,
                               hone_tensor_t* out) {
  unsigned char* results = hone_tensor_data(out);
  for (int64_t i = 0; i < hone_tensor_count(x); i++) {
    hone_string_t text = hone_host_string(x, i);
    bool matches;
    HONE_TRY(hone_regex_full_match(regex, text.data, text.size, &matches));
    results[i] = matches;
  }
  return NULL;
}

static hone_status_t run_match(hone_host_call_t* call) {
  const hone_tensor_t* x;
  hone_regex_t* regex;
  HONE_TRY(hone_host_strings(call, 0, &x));
  HONE_TRY(hone_tensor_create(call->allocator, HONE_BOOL, hone_tensor_rank(x), hone_tensor_dims(x),
                              &call->outputs[0]));
  HONE_TRY(make_regex(call->allocator, call->node, &regex));
  hone_status_t status = match_all(regex, x, call->outputs[0]);
  hone_regex_destroy(regex);
  return status;
}

/* A bad pattern is told now. */
static void lower_match(hone_lower_t* l) {
  hone_regex_t* regex;
  hone_status_t status = make_regex(l->b->graph->allocator, l->node, &regex);
  hone_regex_destroy(regex);
  if (status) {
    hone_fail_status(l->b, status);
    return;
  }
  hone_type_t type = l->inputs[0]->type;
  type.dtype = HONE_BOOL;
  hone_op_host(l, &type);
}

static const hone_op_t ops[] = {
    {.name = "RegexFullMatch",
     .min_opset = 20,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "pattern",
     .lower = lower_match,
     .host = run_match},
};
HONE_OP_FAMILY(regex_full_match, ops)
