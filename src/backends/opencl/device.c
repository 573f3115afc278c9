/* Devices: those of all platforms, one after the other, as opencl:0, opencl:1, … */
#include <stdio.h>
#include <string.h>

#include "backends/opencl/opencl.h"
#include "base/memory.h"
#include "tune/tactic.h"

enum {
  MAX_PLATFORMS = 16,
  MAX_DEVICES = 64,
  LEAST_VERSION = 102, /* 1.2 */
  BUFFER_ALIGNMENT = 64,
  MOST_CPU_VECTOR = 32, /* bytes: LLVM cuts wider ones into halves, on its usual settings */
};

/* ---- what a driver says ---- */

/* A value of fixed size; 0 when the driver does not know it. */
static uint64_t number(const hone_opencl_api_t* cl, cl_device_id id, cl_device_info what) {
  uint64_t value = 0; /* drivers write 4 or 8 bytes, the machine is little-endian */
  return cl->GetDeviceInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

/* Text, cut to `size`; "" when it is not known or does not fit 4 KB. */
static void text(const hone_opencl_api_t* cl, cl_device_id id, cl_device_info what, char* out,
                 size_t size) {
  char buffer[4096] = "";
  if (cl->GetDeviceInfo(id, what, sizeof buffer, buffer, NULL) != CL_SUCCESS) *buffer = 0;
  buffer[sizeof buffer - 1] = 0;
  snprintf(out, size, "%s", buffer);
}

/* "OpenCL 1.2 …" is 102; 0 for anything else. */
static int version_of(const hone_opencl_api_t* cl, cl_device_id id) {
  char version[64];
  int major, minor;
  text(cl, id, CL_DEVICE_VERSION, version, sizeof version);
  if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2) return 0; /* NOLINT(cert-err34-c) */
  return major * 100 + minor;
}

static bool has_extension(const hone_opencl_api_t* cl, cl_device_id id, const char* name) {
  char extensions[4096];
  text(cl, id, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  return strstr(extensions, name) != NULL;
}

/* ---- finding ---- */

/* Devices of all platforms; no status, for drivers that fail are as good as none. */
static int find(const hone_opencl_api_t* cl, cl_device_id* out_ids) {
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint n_platforms = 0;
  if (cl->GetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS) return 0;
  if (n_platforms > MAX_PLATFORMS) n_platforms = MAX_PLATFORMS;
  cl_uint total = 0;
  for (cl_uint p = 0; p < n_platforms && total < MAX_DEVICES; p++) {
    cl_uint room = MAX_DEVICES - total, count = 0;
    if (cl->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, room, out_ids + total, &count) ==
        CL_SUCCESS)
      total += count < room ? count : room;
  }
  return (int)total;
}

/* Writes why hone cannot use the device; "" when it can. */
static void judge(const hone_opencl_api_t* cl, cl_device_id id, char* why, size_t size) {
  *why = 0;
  if (!number(cl, id, CL_DEVICE_AVAILABLE))
    snprintf(why, size, "the driver says it is not available");
  else if (!number(cl, id, CL_DEVICE_COMPILER_AVAILABLE))
    snprintf(why, size, "the driver has no compiler: install its full package");
  else if (!number(cl, id, CL_DEVICE_ENDIAN_LITTLE))
    snprintf(why, size, "it is big-endian, which hone does not support");
  else if (version_of(cl, id) < LEAST_VERSION)
    snprintf(why, size, "its driver is older than OpenCL 1.2: install a newer one");
}

static void describe(const hone_opencl_api_t* cl, cl_device_id id, hone_device_info_t* info) {
  char name[96], driver[48];
  text(cl, id, CL_DEVICE_NAME, name, sizeof name);
  text(cl, id, CL_DRIVER_VERSION, driver, sizeof driver);
  snprintf(info->description, sizeof info->description, "%s (driver %s)", name, driver);
  info->compute_units = (int)number(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS);
  info->memory_bytes = number(cl, id, CL_DEVICE_GLOBAL_MEM_SIZE);
  judge(cl, id, info->reason, sizeof info->reason);
  info->usable = !*info->reason;
}

/* The one line that stands for devices that are not there. */
static void describe_none(const char* why, hone_device_info_t* info) {
  snprintf(info->name, sizeof info->name, "opencl:0");
  snprintf(info->description, sizeof info->description, "no OpenCL device");
  snprintf(info->reason, sizeof info->reason, "%s",
           why ? why
               : "the OpenCL library finds no driver: install one (Debian: pocl-opencl-icd for "
                 "CPUs, or the GPU vendor's)");
}

hone_status_t hone_opencl_enumerate(int room, hone_device_info_t* out_devices, int* out_count) {
  const char* why;
  const hone_opencl_api_t* cl = hone_opencl_library(&why);
  cl_device_id ids[MAX_DEVICES];
  int count = cl ? find(cl, ids) : 0;
  *out_count = count ? count : 1;
  for (int i = 0; i < room && i < *out_count; i++) {
    out_devices[i] = (hone_device_info_t){0};
    if (!count) {
      describe_none(cl ? NULL : why, &out_devices[i]);
      continue;
    }
    snprintf(out_devices[i].name, sizeof out_devices[i].name, "opencl:%d", i);
    describe(cl, ids[i], &out_devices[i]);
  }
  return NULL;
}

/* ---- opening ---- */

static size_t largest_group(const hone_opencl_api_t* cl, cl_device_id id) {
  size_t sizes[16] = {0}, group = (size_t)number(cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  cl->GetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
  return sizes[0] < group ? sizes[0] : group; /* groups are launched along one dimension */
}

static void read_compiler(const hone_opencl_api_t* cl, cl_device_id id, char* out, size_t size) {
  char version[1024] = "";
  cl_platform_id platform = NULL;
  if (cl->GetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform, NULL) ==
      CL_SUCCESS)
    cl->GetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version, version, NULL);
  version[sizeof version - 1] = 0;
  snprintf(out, size, "%s", version);
}

static void read_properties(hone_device_t* device) {
  const hone_opencl_api_t* cl = device->cl;
  cl_device_id id = device->id;
  hone_device_properties_t* p = &device->properties;
  p->struct_size = sizeof *p;
  text(cl, id, CL_DEVICE_NAME, p->target, sizeof p->target);
  read_compiler(cl, id, p->compiler, sizeof p->compiler);
  text(cl, id, CL_DRIVER_VERSION, p->driver, sizeof p->driver);
  p->shares_host_memory = number(cl, id, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  p->compute_units = (int)number(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS);
  p->vector_bytes = (int)number(cl, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT) * 4;
  p->max_group_size = (int64_t)largest_group(cl, id);
  p->shared_bytes = (size_t)number(cl, id, CL_DEVICE_LOCAL_MEM_SIZE);
  p->cache_bytes[device->is_cpu ? 2 : 1] = (size_t)number(cl, id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  p->alignment = BUFFER_ALIGNMENT;
  if (!device->is_cpu) return;
  p->vector_registers = p->vector_bytes > MOST_CPU_VECTOR ? 32 : 16;
  if (p->vector_bytes > MOST_CPU_VECTOR) p->vector_bytes = MOST_CPU_VECTOR;
}

/* Takes `threads` compute units of a CPU only; what a GPU does is its own business. */
static hone_status_t limit_threads(hone_device_t* device, int threads) {
  uint64_t units = number(device->cl, device->id, CL_DEVICE_MAX_COMPUTE_UNITS);
  if (!device->is_cpu || threads <= 0 || (uint64_t)threads >= units) return NULL;
  const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_BY_COUNTS, threads,
                                              CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  hone_status_t status =
      HONE_CL(device, CreateSubDevices, (device->id, how, 1, &device->part, NULL));
  if (status) return hone_status_annotate(status, "limiting the device to %d threads", threads);
  device->id = device->part;
  return NULL;
}

static hone_status_t start(hone_device_t* device, const hone_open_options_t* options) {
  device->is_cpu = (number(device->cl, device->id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  HONE_TRY(limit_threads(device, options->threads));
  read_properties(device);
  device->memory_bytes = number(device->cl, device->id, CL_DEVICE_GLOBAL_MEM_SIZE);
  device->properties.guard = options->guard;
  device->has_f64 = has_extension(device->cl, device->id, "cl_khr_fp64");
  if (options->target && strcmp(options->target, device->properties.target) != 0)
    return hone_status_make(HONE_UNSUPPORTED,
                            "opencl builds for its own device '%s' only, not for '%s'",
                            device->properties.target, options->target);
  cl_int code;
  device->context = device->cl->CreateContext(NULL, 1, &device->id, NULL, NULL, &code);
  return hone_opencl_check(code, "CreateContext");
}

hone_status_t hone_opencl_open(int index, const hone_open_options_t* options,
                               hone_device_t** out_device) {
  const char* why;
  const hone_opencl_api_t* cl = hone_opencl_library(&why);
  if (!cl) return hone_status_make(HONE_UNAVAILABLE, "opencl: %s", why);
  cl_device_id ids[MAX_DEVICES];
  int count = find(cl, ids);
  if (index < 0 || index >= count)
    return hone_status_make(HONE_UNAVAILABLE,
                            "opencl:%d: there are %d OpenCL devices; see `hone devices`", index,
                            count);
  char reason[HONE_DEVICE_TEXT_SIZE];
  judge(cl, ids[index], reason, sizeof reason);
  if (*reason) return hone_status_make(HONE_UNAVAILABLE, "opencl:%d: %s", index, reason);
  const hone_allocator_t* allocator =
      options->allocator ? options->allocator : hone_allocator_system();
  hone_device_t* device = hone_alloc(allocator, sizeof *device);
  if (!device) return hone_oom();
  *device = (hone_device_t){.allocator = allocator, .cl = cl, .id = ids[index]};
  hone_status_t status = start(device, options);
  if (status) {
    hone_opencl_close(device);
    return hone_status_annotate(status, "opencl:%d", index);
  }
  *out_device = device;
  return NULL;
}

void hone_opencl_close(hone_device_t* device) {
  if (!device) return;
  if (device->context) device->cl->ReleaseContext(device->context);
  if (device->part) device->cl->ReleaseDevice(device->part);
  hone_free(device->allocator, device, sizeof *device);
}

void hone_opencl_properties(const hone_device_t* device, hone_device_properties_t* out_properties) {
  *out_properties = device->properties;
}

hone_status_t hone_opencl_health(hone_device_t* device) {
  if (number(device->cl, device->id, CL_DEVICE_AVAILABLE)) return NULL;
  return hone_status_make(HONE_UNAVAILABLE,
                          "opencl: the driver of '%s' says that it is gone; see `hone devices`, "
                          "and restart the program",
                          device->properties.target);
}

extern const hone_tactic_t* const hone_tactics_common[];
extern const hone_tactic_t* const hone_tactics_grid[];
extern const int hone_tactic_count_common, hone_tactic_count_grid;

/* The processors of a device for CPUs are those of the cpu backend, one group a
 * thread, so they get its tactics too, in explicit vectors: drivers do not make
 * vectors of outer loops. */
const hone_tactic_t* hone_opencl_tactic(const hone_device_t* device, int index) {
  int common = device->is_cpu ? hone_tactic_count_common : 0;
  if (index < 0 || index >= common + hone_tactic_count_grid) return NULL;
  return index < common ? hone_tactics_common[index] : hone_tactics_grid[index - common];
}
