/* Kernels as a shared library, built by the system's C compiler. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/device.h"
#include "backends/cpu/vendor.h"
#include "base/memory.h"
#include "codegen/prelude.h"

/* ---- building ---- */

static hone_status_t find_compiler(hone_device_t* device) {
  if (device->prelude) return NULL;
  HONE_TRY(hone_compiler_find(device->arena, &device->target, &device->compiler));
  if (!device->cache)
    HONE_TRY(hone_cache_open(device->allocator, HONE_CACHE_KERNELS, NULL, 0, &device->cache));
  return hone_prelude_make(device->arena, "cpu.inc", hone_cpu_lanes(device), &device->prelude);
}

static hone_build_options_t build_options(const hone_device_t* device) {
  return (hone_build_options_t){.target = &device->target,
                                .compiler = &device->compiler,
                                .cache = device->cache,
                                .parallel = device->threads,
                                .time_limit_ms = device->build_limit_ms};
}

static hone_status_t build(const hone_device_t* device, hone_arena_t* arena, int count,
                           const hone_unit_t* units, hone_blob_t* out_binary) {
  hone_build_options_t options = build_options(device);
  char* bytes;
  HONE_TRY(hone_toolchain_build(device->allocator, &options, count, units, &bytes,
                                &out_binary->size, NULL));
  out_binary->data = bytes;
  return NULL;
}

static hone_status_t give_text(const hone_allocator_t* allocator, const char* text,
                               hone_blob_t* out) {
  size_t size = strlen(text) + 1;
  out->data = hone_alloc(allocator, size);
  if (!out->data) return hone_oom();
  memcpy(out->data, text, size);
  out->size = size;
  return NULL;
}

static hone_status_t assembly(const hone_device_t* device, hone_arena_t* arena, int count,
                              const hone_unit_t* units, hone_blob_t* out_texts) {
  hone_build_options_t options = build_options(device);
  const char** texts = hone_arena_array(arena, (size_t)count, sizeof *texts);
  if (!texts) return hone_oom();
  HONE_TRY(hone_toolchain_assembly(device->allocator, &options, count, units, arena, texts));
  for (int i = 0; i < count; i++) HONE_TRY(give_text(device->allocator, texts[i], &out_texts[i]));
  return NULL;
}

typedef hone_status_t (*use_fn)(const hone_device_t* device, hone_arena_t* arena, int count,
                                const hone_unit_t* units, hone_blob_t* out);

static const char* export_kernel(hone_arena_t* arena, const char* source) {
  size_t size = sizeof HONE_KERNEL_EXPORT + strlen(source) + 1;
  char* text = hone_arena_alloc(arena, size);
  if (text) snprintf(text, size, "%s\n%s", HONE_KERNEL_EXPORT, source);
  return text;
}

/* Makes units of the sources, and hands them to `use`. */
static hone_status_t with_units(hone_device_t* device, int count, const char* const* names,
                                const char* const* sources, use_fn use, hone_blob_t* out) {
  pthread_mutex_lock(&device->mutex);
  hone_status_t status = find_compiler(device);
  pthread_mutex_unlock(&device->mutex);
  hone_arena_t* arena = NULL;
  if (!status) status = hone_arena_create(device->allocator, &arena);
  hone_unit_t* units = status ? NULL : hone_arena_array(arena, (size_t)count, sizeof *units);
  if (!status && !units) status = hone_oom();
  for (int i = 0; i < count && !status; i++) {
    const char* text = export_kernel(arena, sources[i]);
    if (!text) status = hone_oom();
    units[i] = (hone_unit_t){.name = names[i], .prelude = device->prelude, .text = text};
  }
  if (!status) status = use(device, arena, count, units, out);
  hone_arena_destroy(arena);
  return status;
}

hone_status_t hone_cpu_build(hone_device_t* device, int count, const char* const* names,
                             const char* const* sources, hone_blob_t* out_binary) {
  return with_units(device, count, names, sources, build, out_binary);
}

hone_status_t hone_cpu_assembly(hone_device_t* device, int count, const char* const* names,
                                const char* const* sources, hone_blob_t* out_texts) {
  return with_units(device, count, names, sources, assembly, out_texts);
}

void hone_cpu_limit_build(hone_device_t* device, double seconds) {
  device->build_limit_ms = seconds > 0 ? (int64_t)(seconds * 1e3) + 1 : 0;
}

/* ---- what times depend on ---- */

/* What Linux calls the processor; "" where it does not say. */
static void read_model(char* out, size_t size) {
  char line[256];
  FILE* file = fopen("/proc/cpuinfo", "re");
  *out = 0;
  while (file && !*out && fgets(line, sizeof line, file)) {
    const char* colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    while (isspace((unsigned char)*++colon)) continue;
    snprintf(out, size, "%.*s", (int)strcspn(colon, "\n"), colon);
  }
  if (file) fclose(file);
}

hone_status_t hone_cpu_identify(hone_device_t* device, hone_device_properties_t* out_properties) {
  pthread_mutex_lock(&device->mutex);
  hone_status_t status = find_compiler(device);
  pthread_mutex_unlock(&device->mutex);
  *out_properties = device->properties;
  if (status) return status;
  snprintf(out_properties->compiler, sizeof out_properties->compiler, "%s",
           device->compiler.version);
  out_properties->compiler_digest = device->compiler.digest;
  if (device->target.runs_here) read_model(out_properties->model, sizeof out_properties->model);
  return NULL;
}

/* ---- loading ---- */

static hone_status_t find_entries(hone_module_t* module, const char* const* names) {
  for (int i = 0; i < module->n_entries; i++) {
    void* symbol;
    HONE_TRY(hone_library_symbol(module->library, names[i], &symbol));
    memcpy(&module->entries[i], &symbol, sizeof symbol); /* a function is no object in ISO C */
  }
  return NULL;
}

static hone_status_t foreign(const hone_target_t* target) {
  hone_target_t here;
  HONE_TRY(hone_target_parse("native", &here));
  return hone_status_make(HONE_UNAVAILABLE,
                          "kernels for %s do not run on this machine, which is %s: compile the "
                          "model here, or for a target that both have",
                          target->name, here.name);
}

hone_status_t hone_cpu_load(hone_device_t* device, const hone_blob_t* binary, int count,
                            const char* const* names, hone_module_t** out_module) {
  *out_module = NULL;
  if (!device->target.runs_here) return foreign(&device->target);
  hone_module_t* module = hone_alloc(device->allocator, sizeof *module);
  if (!module) return hone_oom();
  module->n_entries = count;
  module->entries = hone_alloc(device->allocator, (size_t)count * sizeof *module->entries);
  hone_status_t status = module->entries ? NULL : hone_oom();
  if (!status)
    status = hone_library_open(device->allocator, binary->data, binary->size, &module->library);
  if (!status) status = find_entries(module, names);
  if (!status) status = hone_vendor_bind(module->library);
  if (status)
    hone_cpu_unload(device, module);
  else
    *out_module = module;
  return status;
}

void hone_cpu_unload(hone_device_t* device, hone_module_t* module) {
  if (!module) return;
  hone_library_close(module->library);
  size_t bytes = (size_t)module->n_entries * sizeof *module->entries;
  hone_free(device->allocator, module->entries, bytes);
  hone_free(device->allocator, module, sizeof *module);
}
