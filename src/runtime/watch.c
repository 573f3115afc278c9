#include "runtime/watch.h"

#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "runtime/context.h"

typedef struct look {
  hone_context_t* context;
  hone_frame_t* frame;
  const hone_step_t* step;
  int n_inputs; /* taken so far */
  hone_tensor_t** inputs;
  hone_tensor_t** expected;
  hone_tensor_t** actual;
} look_t;

/* A reference to the host's copy: a kernel in place does not touch it. */
static hone_status_t take(const look_t* look, int value, hone_tensor_t** out_tensor) {
  HONE_TRY(hone_slot_to_host(look->context, &look->frame->slots[value], out_tensor));
  hone_tensor_retain(*out_tensor);
  return NULL;
}

static hone_status_t take_inputs(look_t* look) {
  const hone_step_t* step = look->step;
  for (int i = 0; i < step->n_inputs; i++) {
    HONE_TRY(take(look, step->inputs[i], &look->inputs[look->n_inputs]));
    look->n_inputs++;
  }
  if (!step->wants_symbols) return NULL;
  HONE_TRY(hone_context_symbols(look->context, &look->inputs[look->n_inputs]));
  look->n_inputs++;
  return NULL;
}

static hone_status_t run_reference(const look_t* look) {
  const hone_context_t* context = look->context;
  hone_run_options_t options = {.struct_size = sizeof options,
                                .seed = context->options->seed,
                                .round_key = context->round_key};
  return hone_backend_find("ref")->run(look->step->interpreted, &options, look->n_inputs,
                                       look->inputs, look->step->n_outputs, look->expected);
}

static hone_status_t compare(const look_t* look) {
  for (int i = 0; i < look->step->n_outputs; i++)
    HONE_TRY(take(look, look->step->outputs[i], &look->actual[i]));
  HONE_TRY(hone_context_synchronize(look->context));
  const hone_launched_t launched = {.program = look->context->program,
                                    .step = look->step,
                                    .n_inputs = look->n_inputs,
                                    .inputs = look->inputs,
                                    .expected = look->expected,
                                    .actual = look->actual};
  const hone_watch_t* watch = look->context->watch;
  return watch->launched(watch->self, &launched);
}

/* Where `ref` refuses the inputs the kernel says so too, or the run goes on. */
static hone_status_t run(look_t* look) {
  HONE_TRY(take_inputs(look));
  hone_status_t refused = run_reference(look);
  hone_code_t code = hone_status_code(refused);
  hone_status_free(refused);
  if (code == HONE_OUT_OF_MEMORY) return hone_oom();
  HONE_TRY(hone_step_launch(look->context, look->frame, look->step));
  return code ? NULL : compare(look);
}

static void release(int count, hone_tensor_t** tensors) {
  for (int i = 0; i < count; i++) hone_tensor_release(tensors[i]);
}

hone_status_t hone_step_watch(hone_context_t* context, hone_frame_t* frame,
                              const hone_step_t* step) {
  size_t n_inputs = (size_t)step->n_inputs + 1, n_outputs = (size_t)step->n_outputs;
  size_t bytes = (n_inputs + 2 * n_outputs) * sizeof(hone_tensor_t*);
  look_t look = {.context = context, .frame = frame, .step = step};
  look.inputs = hone_alloc(context->program->allocator, bytes);
  if (!look.inputs) return hone_oom();
  look.expected = look.inputs + n_inputs;
  look.actual = look.expected + n_outputs;
  hone_status_t status = run(&look);
  release(look.n_inputs, look.inputs);
  release(step->n_outputs, look.expected);
  release(step->n_outputs, look.actual);
  hone_free(context->program->allocator, look.inputs, bytes);
  return status;
}
