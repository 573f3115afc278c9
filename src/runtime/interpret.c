/* Interpreted steps: nodes that no kernel expresses, run by `ref` on tensors of
 * the host. */
#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "runtime/context.h"

typedef struct call {
  hone_context_t* context;
  hone_frame_t* frame;
  const hone_step_t* step;
  int n_inputs; /* those left out are not passed; the symbols come last */
  hone_tensor_t** inputs;
  hone_tensor_t** outputs;
  bool* is_planned; /* by input: its bytes serve other values later */
} call_t;

/* Planned memory is lent where no result can hold on to it. */
static hone_status_t lend(call_t* call, const hone_slot_t* slot, hone_tensor_t** out_tensor) {
  const hone_program_t* program = call->context->program;
  void* data = NULL;
  HONE_TRY(hone_context_synchronize(call->context));
  if (slot->block->tensor) {
    data = (char*)slot->block->tensor->data + slot->offset;
  } else {
    HONE_TRY(program->backend->map(call->context->stream, slot->block->memory, slot->offset,
                                   slot->bytes, &data));
    HONE_TRY(program->backend->unmap(call->context->stream, slot->block->memory, data));
  }
  return hone_tensor_wrap(program->allocator, slot->dtype, slot->rank, slot->dims, data, NULL, NULL,
                          out_tensor);
}

static hone_status_t take_input(call_t* call, hone_slot_t* slot) {
  hone_tensor_t** tensor = &call->inputs[call->n_inputs];
  bool planned = slot->block && slot->block->is_arena && !slot->tensor;
  const hone_device_properties_t* device = &call->context->program->properties;
  if (planned && call->step->gives_tensors && device->shares_host_memory && slot->bytes) {
    HONE_TRY(lend(call, slot, tensor));
    call->is_planned[call->n_inputs++] = true;
    return NULL;
  }
  HONE_TRY(hone_slot_to_host(call->context, slot, tensor));
  hone_tensor_retain(*tensor);
  call->n_inputs++;
  return NULL;
}

hone_status_t hone_context_symbols(const hone_context_t* context, hone_tensor_t** out_tensor) {
  const hone_program_t* program = context->program;
  int64_t count = hone_dims_symbol_count(program->dims);
  HONE_TRY(hone_tensor_create(program->allocator, HONE_I64, 1, &count, out_tensor));
  memcpy((*out_tensor)->data, context->symbols, (size_t)count * sizeof(int64_t));
  return NULL;
}

static hone_status_t take_symbols(call_t* call) {
  HONE_TRY(hone_context_symbols(call->context, &call->inputs[call->n_inputs]));
  call->n_inputs++;
  return NULL;
}

static hone_status_t copy_tensor(const call_t* call, hone_tensor_t** tensor) {
  hone_tensor_t* copy;
  const hone_tensor_t* from = *tensor;
  HONE_TRY(hone_tensor_create_raw(call->context->program->allocator, from->dtype, from->rank,
                                  from->dims, &copy));
  memcpy(copy->data, hone_tensor_data(from), from->bytes);
  hone_tensor_release(*tensor);
  *tensor = copy;
  return NULL;
}

/* A result may be an input itself. */
static hone_status_t keep_lent(const call_t* call) {
  for (int i = 0; i < call->step->n_outputs; i++)
    for (int k = 0; k < call->n_inputs; k++)
      if (call->is_planned[k] && call->outputs[i] == call->inputs[k]) {
        HONE_TRY(copy_tensor(call, &call->outputs[i]));
        break;
      }
  return NULL;
}

/* Kernels were made for the declared extents. */
static hone_status_t check_result(const call_t* call, int which) {
  const hone_program_value_t* value = &call->frame->routine->values[call->step->outputs[which]];
  const hone_tensor_t* tensor = call->outputs[which];
  if (!value->is_known) return NULL;
  bool ok = tensor->kind == HONE_KIND_TENSOR && tensor->dtype == value->dtype &&
            tensor->rank == value->rank;
  for (int i = 0; ok && i < value->rank; i++) {
    bool bound = false;
    for (int b = 0; b < value->n_binds; b++)
      bound = bound || (value->binds[b].is_dim && value->binds[b].index == i);
    ok = bound || hone_dim_eval(value->dims[i], call->context->symbols) == tensor->dims[i];
  }
  if (ok) return NULL;
  return hone_status_make(HONE_INVALID_MODEL, "result '%s' is not of the type that was declared",
                          value->name);
}

static hone_status_t take_results(call_t* call) {
  for (int i = 0; i < call->step->n_outputs; i++) {
    if (!call->outputs[i]) continue;
    HONE_TRY(check_result(call, i));
    hone_slot_set(&call->frame->slots[call->step->outputs[i]], call->outputs[i]);
    call->outputs[i] = NULL;
  }
  return NULL;
}

static hone_status_t run(call_t* call) {
  const hone_step_t* step = call->step;
  for (int i = 0; i < step->n_inputs; i++)
    if (step->inputs[i] >= 0) HONE_TRY(take_input(call, &call->frame->slots[step->inputs[i]]));
  if (step->wants_symbols) HONE_TRY(take_symbols(call));
  hone_run_options_t options = {.struct_size = sizeof options,
                                .seed = call->context->options->seed,
                                .round_key = call->context->round_key};
  hone_status_t status = hone_backend_find("ref")->run(
      step->interpreted, &options, call->n_inputs, call->inputs, step->n_outputs, call->outputs);
  if (status) {
    call->context->is_named = step->origin[0] != 0; /* by `ref` */
    return status;
  }
  HONE_TRY(keep_lent(call));
  return take_results(call);
}

hone_status_t hone_step_interpret(hone_context_t* context, hone_frame_t* frame,
                                  const hone_step_t* step) {
  size_t n_inputs = (size_t)step->n_inputs + 1, n_outputs = (size_t)step->n_outputs;
  size_t bytes = (n_inputs + n_outputs) * sizeof(hone_tensor_t*) + n_inputs * sizeof(bool);
  call_t call = {.context = context, .frame = frame, .step = step};
  call.inputs = hone_alloc(context->program->allocator, bytes);
  if (!call.inputs) return hone_oom();
  call.outputs = call.inputs + n_inputs;
  call.is_planned = (bool*)(void*)(call.outputs + n_outputs);
  hone_status_t status = run(&call);
  for (int i = 0; i < call.n_inputs; i++) hone_tensor_release(call.inputs[i]);
  for (int i = 0; i < step->n_outputs; i++) hone_tensor_release(call.outputs[i]);
  hone_free(context->program->allocator, call.inputs, bytes);
  return status;
}
