/* StringConcat: strings of two tensors, one behind the other. */
#include "base/str.h"
#include "ops/common/host.h"

static hone_status_t run_concat(hone_host_call_t* call) {
  const hone_tensor_t *x, *y;
  HONE_TRY(hone_host_strings(call, 0, &x));
  HONE_TRY(hone_host_strings(call, 1, &y));
  if (hone_tensor_count(x) != hone_tensor_count(y))
    return hone_status_make(HONE_INVALID_ARGUMENT, "StringConcat: the shapes do not broadcast");
  HONE_TRY(hone_tensor_create(call->allocator, HONE_STRING, hone_tensor_rank(x),
                              hone_tensor_dims(x), &call->outputs[0]));
  hone_str_t joined;
  hone_str_init(&joined, call->allocator);
  hone_status_t status = NULL;
  for (int64_t i = 0; i < hone_tensor_count(x) && !status; i++) {
    hone_string_t a = hone_host_string(x, i), b = hone_host_string(y, i);
    joined.size = 0;
    hone_str_append_n(&joined, a.data, a.size);
    hone_str_append_n(&joined, b.data, b.size);
    status = joined.failed
                 ? hone_status_make(HONE_OUT_OF_MEMORY, "StringConcat: out of memory")
                 : hone_tensor_set_string(call->outputs[0], i, hone_str_text(&joined), joined.size);
  }
  hone_str_free(&joined);
  return status;
}

static void lower_concat(hone_lower_t* l) {
  hone_broadcast(l->b, 2, l->inputs);
  if (hone_builder_ok(l->b)) hone_op_host(l, &l->inputs[0]->type);
}

static const hone_op_t ops[] = {
    {.name = "StringConcat",
     .min_opset = 20,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "",
     .lower = lower_concat,
     .host = run_concat},
};
HONE_OP_FAMILY(string_concat, ops)
