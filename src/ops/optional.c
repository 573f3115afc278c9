/* Optional, OptionalHasElement, OptionalGetElement. An optional with content
 * is its content, so making one and looking into it cost nothing where the
 * kind is known. */
#include "ops/common/host.h"
#include "ops/common/sequence.h"

static bool has_content(const hone_type_t* type) {
  return type->kind == HONE_TYPE_TENSOR || type->kind == HONE_TYPE_SEQUENCE ||
         type->kind == HONE_TYPE_MAP;
}

/* ---- when it runs ---- */

static hone_status_t run_optional(hone_host_call_t* call) {
  return hone_none_create(call->allocator, &call->outputs[0]);
}

static hone_status_t run_has_element(hone_host_call_t* call) {
  const hone_tensor_t* x = call->n_inputs ? call->inputs[0] : NULL;
  HONE_TRY(hone_tensor_create(call->allocator, HONE_BOOL, 0, NULL, &call->outputs[0]));
  *(unsigned char*)hone_tensor_data(call->outputs[0]) = x && hone_tensor_kind(x) != HONE_KIND_NONE;
  return NULL;
}

static hone_status_t run_get_element(hone_host_call_t* call) {
  if (hone_tensor_kind(call->inputs[0]) == HONE_KIND_NONE)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "OptionalGetElement: the optional has no element");
  call->outputs[0] = call->inputs[0];
  hone_tensor_retain(call->outputs[0]);
  return NULL;
}

/* ---- lowering ---- */

static void lower_optional(hone_lower_t* l) {
  if (hone_op_in(l, 0)) {
    hone_op_out(l, 0, l->inputs[0]);
    return;
  }
  hone_type_t none = {.kind = HONE_TYPE_OPTIONAL, .rank = -1};
  hone_op_host(l, &none);
}

static void lower_has_element(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_type_t type = hone_type_tensor(HONE_BOOL, 0, NULL);
  if (!x || has_content(&x->type))
    hone_op_out(l, 0, hone_scalar_i64(l->b, HONE_BOOL, x != NULL));
  else
    hone_op_host(l, &type);
}

static void lower_get_element(hone_lower_t* l) {
  hone_value_t* x = l->inputs[0];
  if (has_content(&x->type)) {
    hone_op_out(l, 0, x);
    return;
  }
  hone_type_t type = hone_sequence_element(&x->type);
  hone_op_host(l, &type);
}

static const hone_op_t ops[] = {
    {.name = "Optional",
     .min_opset = 15,
     .max_inputs = 1,
     .attrs = "type",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_optional,
     .host = run_optional},
    {.name = "OptionalHasElement",
     .min_opset = 15,
     .max_inputs = 1,
     .attrs = "",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_has_element,
     .host = run_has_element},
    {.name = "OptionalGetElement",
     .min_opset = 15,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_get_element,
     .host = run_get_element},
};
HONE_OP_FAMILY(optional, ops)
