/* cpu: kernels as C, built by the system's compiler, run by a pool of threads. */
#include <stdio.h>
#include <string.h>

#include "backends/cpu/device.h"
#include "backends/cpu/render.h"
#include "base/cpu_count.h"
#include "base/memory.h"

static hone_status_t enumerate(int room, hone_device_info_t* out_devices, int* out_count) {
  *out_count = 1;
  if (room < 1) return NULL;
  int cores = hone_cpu_count();
  *out_devices = (hone_device_info_t){.compute_units = cores, .usable = true};
  snprintf(out_devices->name, sizeof out_devices->name, "cpu:0");
  snprintf(out_devices->description, sizeof out_devices->description, "this machine, %d core%s",
           cores, cores == 1 ? "" : "s");
  return NULL;
}

static void find_properties(hone_device_t* device) {
  const hone_target_t* target = &device->target;
  hone_device_properties_t* p = &device->properties;
  p->struct_size = sizeof *p;
  snprintf(p->target, sizeof p->target, "%s", target->name);
  p->shares_host_memory = true;
  p->is_immediate = true;
  p->compute_units = device->threads;
  p->vector_bytes = target->vector_bytes;
  p->vector_registers = target->vector_registers;
  p->has_dot4 = hone_target_has(target, "dot4");
  p->fast_int8 = target->has_vnni;
  p->mixed_int8 = target->has_vnni && target->arch == HONE_ARCH_X86_64;
  p->fast_bf16 = p->has_dot2_bf16 = target->has_bf16;
  p->has_dot_apart = hone_target_has(target, "dot_apart");
  p->has_dot2_i16 = hone_target_has(target, "dot2_i16");
  p->has_dot_nibbles = hone_target_has(target, "dot_nibbles");
  p->has_dot8 = hone_target_has(target, "dot8") && !target->has_vnni;
  p->has_sparse_int8 = hone_target_has(target, "sparse_u8_i8");
  p->has_block_int8 = hone_target_has(target, "amx") || hone_target_has(target, "i8mm");
  p->has_block_bf16 = hone_target_has(target, "amx") || hone_target_has(target, "bf16");
  p->fast_blocks = target->has_amx;
  p->flops_per_cycle = target->flops_per_cycle;
  p->max_group_size = 1;
  p->cache_bytes[0] = (size_t)target->l1_bytes;
  p->cache_bytes[1] = (size_t)target->l2_bytes;
  p->cache_bytes[2] = (size_t)target->l3_bytes;
  p->alignment = 64;
  p->deterministic = device->deterministic;
  p->guard = p->watches_ends = device->guard;
}

static void close(hone_device_t* device) {
  if (!device) return;
  hone_cache_close(device->cache);
  hone_arena_destroy(device->arena);
  pthread_mutex_destroy(&device->mutex);
  hone_free(device->allocator, device, sizeof *device);
}

static hone_status_t open(int index, const hone_open_options_t* options,
                          hone_device_t** out_device) {
  *out_device = NULL;
  if (index != 0)
    return hone_status_make(HONE_NOT_FOUND, "there is no device 'cpu:%d'; this machine is cpu:0",
                            index);
  const hone_allocator_t* allocator =
      options->allocator ? options->allocator : hone_allocator_system();
  hone_device_t* device = hone_alloc(allocator, sizeof *device);
  if (!device) return hone_oom();
  device->allocator = allocator;
  device->deterministic = options->deterministic;
  device->guard = options->guard;
  device->threads = options->threads > 0 ? options->threads : hone_cpu_count();
  pthread_mutex_init(&device->mutex, NULL);
  hone_status_t status = hone_arena_create(allocator, &device->arena);
  if (!status) status = hone_target_parse(options->target, &device->target);
  if (status) {
    close(device);
    return status;
  }
  find_properties(device);
  *out_device = device;
  return NULL;
}

static void properties(const hone_device_t* device, hone_device_properties_t* out_properties) {
  *out_properties = device->properties;
}

int hone_cpu_lanes(const hone_device_t* device) {
  int lanes = device->target.vector_bytes / (int)sizeof(float);
  return lanes < 4 ? 4 : lanes;
}

/* ---- kernels ---- */

static bool supports(const hone_device_t* device, const hone_kernel_t* kernel, char* why) {
  (void)device;
  for (int i = 0; i < kernel->n_buffers; i++) {
    hone_dtype_t dtype = kernel->buffers[i]->dtype;
    if (hone_cpu_has_dtype(dtype)) continue;
    snprintf(why, HONE_DEVICE_TEXT_SIZE, "no kernels over elements of type %s",
             hone_dtype_name(dtype));
    return false;
  }
  return true;
}

extern const hone_tactic_t *const hone_tactics_common[], *const hone_tactics_cpu[];
extern const int hone_tactic_count_common, hone_tactic_count_cpu;

static const hone_tactic_t* tactic(const hone_device_t* device, int index) {
  if (index >= 0 && index < hone_tactic_count_common) return hone_tactics_common[index];
  index -= hone_tactic_count_common;
  return index >= 0 && index < hone_tactic_count_cpu ? hone_tactics_cpu[index] : NULL;
}

static hone_status_t render(const hone_device_t* device, const hone_kernel_t* kernel,
                            const char* name, hone_blob_t* out_source) {
  hone_str_t text;
  hone_str_init(&text, device->allocator);
  hone_status_t status =
      hone_cpu_render(kernel, name, hone_cpu_lanes(device), &device->target, &text);
  if (status) {
    hone_str_free(&text);
    return status;
  }
  char* data;
  HONE_TRY(hone_str_take(&text, &data, &out_source->size));
  out_source->data = data;
  out_source->size++; /* the 0 */
  return NULL;
}

extern const hone_backend_t hone_backend_cpu;
const hone_backend_t hone_backend_cpu = {
    .struct_size = sizeof(hone_backend_t),
    .name = "cpu",
    .summary = "C compiled for this machine, run by a pool of threads",
    .enumerate = enumerate,
    .open = open,
    .close = close,
    .properties = properties,
    .alloc = hone_cpu_alloc,
    .free = hone_cpu_free,
    .wrap = hone_cpu_wrap,
    .map = hone_cpu_map,
    .unmap = hone_cpu_unmap,
    .copy_in = hone_cpu_copy_in,
    .copy_out = hone_cpu_copy_out,
    .copy = hone_cpu_copy,
    .stream_create = hone_cpu_stream_create,
    .stream_destroy = hone_cpu_stream_destroy,
    .synchronize = hone_cpu_synchronize,
    .event_record = hone_cpu_event_record,
    .event_destroy = hone_cpu_event_destroy,
    .event_wait = hone_cpu_event_wait,
    .event_synchronize = hone_cpu_event_synchronize,
    .event_done = hone_cpu_event_done,
    .event_elapsed = hone_cpu_event_elapsed,
    .callback = hone_cpu_callback,
    .supports = supports,
    .render = render,
    .build = hone_cpu_build,
    .load = hone_cpu_load,
    .unload = hone_cpu_unload,
    .launch = hone_cpu_launch,
    .launch_turns = hone_cpu_launch_turns,
    .tactic = tactic,
    .identify = hone_cpu_identify,
    .limit_build = hone_cpu_limit_build,
    .assembly = hone_cpu_assembly,
};
