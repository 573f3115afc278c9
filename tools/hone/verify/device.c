/* The device under test: graphs in, tensors out. */
#include "runtime/device.h"

#include <stdio.h>

#include "runtime/compile.h"
#include "verify/verify.h"

static hone_status_t describe(hone_verify_device_t* device) {
  enum { ROOM = 32 };
  hone_device_info_t infos[ROOM];
  int count, index = hone_device_index(device->name);
  HONE_TRY(device->backend->enumerate(ROOM, infos, &count));
  bool there = index >= 0 && index < count && index < ROOM;
  snprintf(device->description, sizeof device->description, "%s",
           there ? infos[index].description : "");
  return NULL;
}

hone_status_t hone_verify_device_open(const char* name, int threads, bool guard,
                                      hone_verify_device_t* out_device) {
  *out_device = (hone_verify_device_t){.name = name};
  HONE_TRY(hone_device_backend(name, &out_device->backend));
  HONE_TRY(describe(out_device));
  if (!hone_backend_runs_kernels(out_device->backend)) return NULL;
  hone_open_options_t options = {.struct_size = sizeof options,
                                 .allocator = hone_allocator_system(),
                                 .threads = threads,
                                 .guard = guard};
  return hone_device_open(name, &options, &out_device->backend, &out_device->device);
}

void hone_verify_device_close(hone_verify_device_t* device) {
  if (device->device) device->backend->close(device->device);
}

hone_status_t hone_verify_compile(const hone_verify_device_t* device, hone_graph_t* graph,
                                  hone_program_t** out_program) {
  /* The same kernels, whatever has been tuned here. */
  static const hone_compile_settings_t settings = {.no_tuned = true};
  if (device->device)
    return hone_compile(graph, device->backend, device->device, &settings, NULL, out_program);
  hone_compile_options_t options = {.struct_size = sizeof options,
                                    .allocator = hone_allocator_system()};
  return device->backend->compile(graph, &options, out_program);
}

hone_status_t hone_verify_run(const hone_verify_device_t* device, hone_program_t* program,
                              int n_inputs, hone_tensor_t* const* inputs, int n_outputs,
                              hone_tensor_t** out_outputs) {
  const hone_run_options_t options = {.struct_size = sizeof options, .seed = 7};
  return (device->device ? hone_program_run : device->backend->run)(program, &options, n_inputs,
                                                                    inputs, n_outputs, out_outputs);
}

void hone_verify_drop_program(const hone_verify_device_t* device, hone_program_t* program) {
  if (device->device)
    hone_program_destroy(program);
  else if (program)
    device->backend->destroy(program);
}

void hone_verify_release(int count, hone_tensor_t** tensors) {
  for (int i = 0; i < count; i++) hone_tensor_release(tensors[i]);
}
