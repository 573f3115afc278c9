/* Code: sources to a blob, blobs to kernels, kernels to work.
 *
 * A kernel's parameters are, for each buffer, `__global uchar* block, ulong
 * offset` (bytes: blocks are shared, and sub-buffers would have to lie on
 * boundaries that differ from driver to driver), then each run-time size as
 * `long`. It is launched along dimension 0 only, groups and work-items counted
 * row by row, so that no driver's limits on the others matter.
 *
 * A blob is a header, the key of the driver that built it, the source and the
 * driver's binary. Another driver builds from the source. */
#include <string.h>

#include "backends/opencl/opencl.h"
#include "base/memory.h"
#include "base/str.h"

typedef struct entry {
  cl_kernel kernel;
  pthread_mutex_t lock; /* a kernel holds the arguments of one launch at a time */
} entry_t;

struct hone_module {
  cl_program program;
  int count; /* entries that are made */
  int room;
  entry_t* entries;
};

typedef struct header {
  char magic[8];
  uint64_t key_size, source_size, binary_size; /* of what follows, in this order */
} header_t;

static const char magic[8] = {'h', 'o', 'n', 'e', 'o', 'c', 'l', '1'};

/* ---- programs ---- */

static hone_status_t build_failed(hone_device_t* device, cl_program program, cl_int code) {
  char* log = NULL;
  size_t size = 0;
  device->cl->GetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  if (size) log = hone_alloc(device->allocator, size);
  if (log)
    device->cl->GetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  hone_status_t status = hone_status_make(
      code == CL_BUILD_PROGRAM_FAILURE ? HONE_INTERNAL : HONE_UNAVAILABLE,
      "opencl: the compiler of '%s' refuses the kernels (error %d): %.*s",
      device->properties.target, code, log ? (int)(size < 2000 ? size : 2000) : 0, log ? log : "");
  hone_free(device->allocator, log, size);
  return status;
}

/* Builds the program, or releases it and makes it NULL. */
static hone_status_t finish_program(hone_device_t* device, cl_program* program) {
  cl_device_fp_config floats = 0;
  device->cl->GetDeviceInfo(device->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL);
  const char* options = floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
                            ? "-w -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
                            : "-w -cl-std=CL1.2";
  cl_int code = device->cl->BuildProgram(*program, 1, &device->id, options, NULL, NULL);
  if (code == CL_SUCCESS) return NULL;
  hone_status_t status = build_failed(device, *program, code);
  device->cl->ReleaseProgram(*program);
  *program = NULL;
  return status;
}

/* Of a binary, or of a source. */
static hone_status_t make_program(hone_device_t* device, bool is_binary, const void* code,
                                  size_t size, cl_program* out_program) {
  cl_int error, state;
  const char* source = code;
  const unsigned char* binary = code;
  *out_program =
      is_binary ? device->cl->CreateProgramWithBinary(device->context, 1, &device->id, &size,
                                                      &binary, &state, &error)
                : device->cl->CreateProgramWithSource(device->context, 1, &source, &size, &error);
  HONE_TRY(hone_opencl_check(error, "CreateProgram"));
  return finish_program(device, out_program);
}

/* ---- blobs ---- */

/* What must be the same for a binary to fit. */
static void append_key(const hone_device_t* device, hone_str_t* str) {
  const hone_device_properties_t* p = &device->properties;
  hone_str_appendf(str, "%s\n%s\n%s\n", p->target, p->compiler, p->driver);
}

/* Asked for them, PoCL compiles each kernel once more, for groups of any size;
 * what it compiles in earnest is in a cache of its own. */
static bool gives_binaries(const hone_device_t* device) {
  return !strstr(device->properties.compiler, "PoCL");
}

static hone_status_t write_blob(hone_device_t* device, const hone_str_t* source, cl_program program,
                                hone_blob_t* out_binary) {
  size_t size = 0;
  if (gives_binaries(device))
    HONE_TRY(HONE_CL(device, GetProgramInfo,
                     (program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL)));
  hone_str_t key;
  hone_str_init(&key, device->allocator);
  append_key(device, &key);
  header_t header = {.key_size = key.size, .source_size = source->size, .binary_size = size};
  memcpy(header.magic, magic, sizeof magic);
  hone_blob_t blob = {.size = sizeof header + key.size + source->size + size};
  blob.data = key.failed ? NULL : hone_alloc(device->allocator, blob.size);
  if (!blob.data) {
    hone_str_free(&key);
    return hone_oom();
  }
  unsigned char* at = blob.data;
  memcpy(at, &header, sizeof header);
  memcpy(at += sizeof header, hone_str_text(&key), key.size);
  memcpy(at += key.size, hone_str_text(source), source->size);
  at += source->size;
  hone_str_free(&key);
  hone_status_t status = NULL;
  if (size)
    status = HONE_CL(device, GetProgramInfo, (program, CL_PROGRAM_BINARIES, sizeof at, &at, NULL));
  if (status)
    hone_free(device->allocator, blob.data, blob.size);
  else
    *out_binary = blob;
  return status;
}

hone_status_t hone_opencl_build(hone_device_t* device, int count, const char* const* names,
                                const char* const* sources, hone_blob_t* out_binary) {
  (void)names;
  hone_str_t source;
  hone_str_init(&source, device->allocator);
  hone_opencl_prelude(device, &source);
  for (int i = 0; i < count; i++) hone_str_append(&source, sources[i]);
  cl_program program;
  hone_status_t status =
      source.failed ? hone_oom()
                    : make_program(device, false, hone_str_text(&source), source.size, &program);
  if (!status) {
    status = write_blob(device, &source, program, out_binary);
    device->cl->ReleaseProgram(program);
  }
  hone_str_free(&source);
  return status;
}

/* False when the sizes do not add up to the blob's. */
static bool read_header(const hone_blob_t* blob, header_t* out) {
  if (blob->size < sizeof *out) return false;
  memcpy(out, blob->data, sizeof *out);
  size_t left = blob->size - sizeof *out;
  const uint64_t parts[] = {out->key_size, out->source_size, out->binary_size};
  for (int i = 0; i < 3; i++) {
    if (parts[i] > left) return false;
    left -= (size_t)parts[i];
  }
  return left == 0 && memcmp(out->magic, magic, sizeof magic) == 0;
}

static bool key_fits(const hone_device_t* device, const char* key, size_t size) {
  hone_str_t own;
  hone_str_init(&own, device->allocator);
  append_key(device, &own);
  bool fits = !own.failed && own.size == size && memcmp(hone_str_text(&own), key, size) == 0;
  hone_str_free(&own);
  return fits;
}

static hone_status_t load_program(hone_device_t* device, const hone_blob_t* blob,
                                  cl_program* out_program) {
  header_t header;
  if (!read_header(blob, &header))
    return hone_status_make(
        HONE_INVALID_DATA, "opencl: %zu bytes that are no code for it; build it again", blob->size);
  const char* key = (const char*)blob->data + sizeof header;
  const char* source = key + header.key_size;
  const unsigned char* binary = (const unsigned char*)source + header.source_size;
  if (header.binary_size && key_fits(device, key, header.key_size)) {
    hone_status_t status =
        make_program(device, true, binary, (size_t)header.binary_size, out_program);
    if (!status) return NULL;
    hone_status_free(status); /* the source is as good, if slower */
  }
  return make_program(device, false, source, (size_t)header.source_size, out_program);
}

/* ---- kernels ---- */

static hone_status_t make_entries(hone_device_t* device, hone_module_t* module,
                                  const char* const* names) {
  for (; module->count < module->room; module->count++) {
    entry_t* entry = &module->entries[module->count];
    cl_int code;
    entry->kernel = device->cl->CreateKernel(module->program, names[module->count], &code);
    if (code != CL_SUCCESS)
      return hone_status_annotate(hone_opencl_check(code, "CreateKernel"), "kernel '%s'",
                                  names[module->count]);
    pthread_mutex_init(&entry->lock, NULL);
  }
  return NULL;
}

hone_status_t hone_opencl_load(hone_device_t* device, const hone_blob_t* binary, int count,
                               const char* const* names, hone_module_t** out_module) {
  hone_module_t* module = hone_alloc(device->allocator, sizeof *module);
  if (!module) return hone_oom();
  *module = (hone_module_t){.room = count};
  module->entries = hone_alloc(device->allocator, (size_t)count * sizeof *module->entries);
  hone_status_t status = module->entries || !count ? NULL : hone_oom();
  if (!status) status = load_program(device, binary, &module->program);
  if (!status) status = make_entries(device, module, names);
  if (status)
    hone_opencl_unload(device, module);
  else
    *out_module = module;
  return status;
}

void hone_opencl_unload(hone_device_t* device, hone_module_t* module) {
  if (!module) return;
  for (int i = 0; i < module->count; i++) {
    device->cl->ReleaseKernel(module->entries[i].kernel);
    pthread_mutex_destroy(&module->entries[i].lock);
  }
  if (module->program) device->cl->ReleaseProgram(module->program);
  hone_free(device->allocator, module->entries, (size_t)module->room * sizeof *module->entries);
  hone_free(device->allocator, module, sizeof *module);
}

/* ---- launching ---- */

static hone_status_t set_arguments(const hone_device_t* device, cl_kernel kernel,
                                   const hone_launch_t* launch) {
  cl_uint next = 0;
  for (int i = 0; i < launch->n_buffers; i++) {
    const hone_argument_t* argument = &launch->buffers[i];
    cl_mem buffer = argument->memory ? argument->memory->buffer : NULL;
    cl_ulong offset = argument->offset;
    HONE_TRY(HONE_CL(device, SetKernelArg, (kernel, next++, sizeof(cl_mem), &buffer)));
    HONE_TRY(HONE_CL(device, SetKernelArg, (kernel, next++, sizeof offset, &offset)));
  }
  for (int i = 0; i < launch->n_sizes; i++) {
    cl_long size = launch->sizes[i];
    HONE_TRY(HONE_CL(device, SetKernelArg, (kernel, next++, sizeof size, &size)));
  }
  return NULL;
}

hone_status_t hone_opencl_launch(hone_stream_t* stream, const hone_launch_t* launch) {
  int64_t groups, locals, items;
  if (!hone_dims_count(3, launch->groups, &groups) ||
      !hone_dims_count(3, launch->locals, &locals) || !hone_i64_mul(groups, locals, &items))
    return hone_status_make(HONE_OUT_OF_RANGE, "opencl: more work-items than 2^63");
  if (!items) return NULL;
  const size_t global = (size_t)items, local = (size_t)locals;
  entry_t* entry = &launch->module->entries[launch->entry];
  cl_event event, *wanted = launch->out_event ? &event : NULL;
  pthread_mutex_lock(&entry->lock);
  hone_status_t status = set_arguments(stream->device, entry->kernel, launch);
  if (!status)
    status = HONE_CL(stream->device, EnqueueNDRangeKernel,
                     (stream->queue, entry->kernel, 1, NULL, &global, &local, 0, NULL, wanted));
  pthread_mutex_unlock(&entry->lock);
  if (!status && wanted) status = hone_opencl_event_of(stream->device, event, launch->out_event);
  return status;
}
