/* Finding out what a device can do, by doing it. */
#include "runtime/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "base/trace.h"
#include "codegen/cache.h"
#include "loop/text.h"
#include "runtime/limits_kernels.h"
#include "runtime/routine.h"

enum {
  TIMES = 12,                /* the best of so many counts */
  ENOUGH_NS = 1000000,       /* of one time */
  MOST_ROUNDS = 1 << 24,     /* that it takes to fill it */
  LARGE_SET = 256 << 20,     /* bytes: the largest working set that is tried */
  DEFAULT_CACHE = 256 << 10, /* second level, where it is not known */
  KERNELS = HONE_LIMIT_PRODUCTS + 1,
  MOST_SIZES = 3,
  MOST_BUFFERS = 3,
};

/* ---- building ---- */

typedef struct probe {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;
  const hone_device_properties_t* properties;
  int threads;
  int n_products;
  hone_limit_product_t products[HONE_LIMIT_PRODUCTS];
  hone_kernel_t* kernels[KERNELS]; /* those of the products, and the reading one */
  hone_module_t* module;
  hone_stream_t* stream;
  hone_memory_t* memory[MOST_BUFFERS]; /* of the kernel at hand */
} probe_t;

static hone_status_t make_kernel(probe_t* p, int which) {
  hone_str_t text;
  hone_str_init(&text, p->allocator);
  if (which < p->n_products)
    hone_limit_put_product(&p->products[which], &text);
  else
    hone_limit_put_read(hone_limit_lanes(p->properties), &text);
  hone_status_t status = text.failed ? hone_oom()
                                     : hone_kernel_parse(p->allocator, hone_str_text(&text),
                                                         text.size, &p->kernels[which]);
  hone_str_free(&text);
  HONE_TRY(status);
  char why[HONE_DEVICE_TEXT_SIZE] = "";
  if (p->backend->supports(p->device, p->kernels[which], why)) return NULL;
  return hone_status_make(HONE_UNSUPPORTED, "%s", why);
}

static hone_status_t build(probe_t* p) {
  hone_blob_t sources[KERNELS] = {{0}}, binary = {0};
  const char *names[KERNELS], *texts[KERNELS];
  char room[KERNELS][32];
  int n = p->n_products + 1;
  hone_status_t status = NULL;
  for (int i = 0; i < n && !status; i++) {
    snprintf(room[i], sizeof room[i], "hone_limit_%d", i);
    names[i] = room[i];
    status = p->backend->render(p->device, p->kernels[i], names[i], &sources[i]);
    texts[i] = sources[i].data;
  }
  if (!status) status = p->backend->build(p->device, n, names, texts, &binary);
  if (!status) status = p->backend->load(p->device, &binary, n, names, &p->module);
  for (int i = 0; i < n; i++) hone_free(p->allocator, sources[i].data, sources[i].size);
  hone_free(p->allocator, binary.data, binary.size);
  return status;
}

static void close_probe(probe_t* p) {
  if (p->stream) p->backend->stream_destroy(p->stream);
  if (p->module) p->backend->unload(p->device, p->module);
  for (int i = 0; i < KERNELS; i++) hone_kernel_destroy(p->kernels[i]);
}

/* ---- running ---- */

static int n_buffers(const hone_kernel_t* kernel) {
  int n = 0;
  while (n < kernel->n_buffers && kernel->buffers[n]->role != HONE_ROLE_SCRATCH) n++;
  return n;
}

static hone_status_t fill(const probe_t* p, hone_memory_t* memory, size_t bytes) {
  enum { PIECE = 1 << 16 };
  static const float zeros[PIECE / sizeof(float)];
  for (size_t at = 0; at < bytes; at += PIECE) {
    size_t size = bytes - at < PIECE ? bytes - at : PIECE;
    HONE_TRY(p->backend->copy_in(p->stream, memory, at, zeros, size));
  }
  return p->backend->synchronize(p->stream);
}

/* `sizes` are the kernel's, in its order. */
static hone_status_t make_buffers(probe_t* p, const hone_kernel_t* kernel, const int64_t* sizes) {
  int64_t symbols[16] = {0};
  for (int i = 0; i < kernel->n_sizes; i++)
    symbols[hone_dim_as_symbol(kernel->sizes[i])->id] = sizes[i];
  for (int i = 0; i < n_buffers(kernel); i++) {
    const hone_buffer_t* buffer = kernel->buffers[i];
    int64_t count = 1;
    for (int k = 0; k < buffer->rank; k++) count *= hone_dim_eval(buffer->dims[k], symbols);
    size_t bytes = (size_t)count * hone_dtype_size(buffer->dtype);
    HONE_TRY(p->backend->alloc(p->device, HONE_MEMORY_DEVICE, bytes, &p->memory[i]));
    HONE_TRY(fill(p, p->memory[i], bytes));
  }
  return NULL;
}

static void drop_buffers(probe_t* p) {
  for (int i = 0; i < MOST_BUFFERS; i++) {
    if (p->memory[i]) p->backend->free(p->device, p->memory[i]);
    p->memory[i] = NULL;
  }
}

static hone_status_t launch(const probe_t* p, int which, const int64_t* sizes, int64_t* out_ns) {
  const hone_kernel_t* kernel = p->kernels[which];
  hone_argument_t arguments[MOST_BUFFERS] = {{0}};
  for (int i = 0; i < MOST_BUFFERS; i++) arguments[i].memory = p->memory[i];
  const hone_launch_t call = {.struct_size = sizeof call,
                              .module = p->module,
                              .entry = which,
                              .n_buffers = n_buffers(kernel),
                              .buffers = arguments,
                              .n_sizes = kernel->n_sizes,
                              .sizes = sizes,
                              .groups = {sizes[0], 1, 1},
                              .locals = {1, 1, 1}};
  int64_t start = hone_clock_ns();
  HONE_TRY(p->backend->launch(p->stream, &call));
  HONE_TRY(p->backend->synchronize(p->stream));
  *out_ns = hone_clock_ns() - start;
  return NULL;
}

/* Seconds that one of the rounds takes; sizes[1] is their number. */
static hone_status_t time_rounds(const probe_t* p, int which, int64_t* sizes, double* out_seconds) {
  int64_t ns = 0, best = INT64_MAX;
  sizes[1] = 1;
  HONE_TRY(launch(p, which, sizes, &ns)); /* the first one also warms up */
  HONE_TRY(launch(p, which, sizes, &ns));
  while (ns < ENOUGH_NS && sizes[1] < MOST_ROUNDS) {
    sizes[1] *= 2;
    HONE_TRY(launch(p, which, sizes, &ns));
  }
  for (int i = 0; i < TIMES; i++) {
    HONE_TRY(launch(p, which, sizes, &ns));
    if (ns < best) best = ns;
  }
  *out_seconds = (double)(best > 0 ? best : 1) * 1e-9 / (double)sizes[1];
  return NULL;
}

static hone_status_t time_kernel(probe_t* p, int which, int64_t* sizes, double* out_seconds) {
  sizes[1] = 1;
  hone_status_t status = make_buffers(p, p->kernels[which], sizes);
  if (!status) status = time_rounds(p, which, sizes, out_seconds);
  drop_buffers(p);
  return status;
}

/* ---- what is measured ---- */

static hone_status_t measure_flops(probe_t* p, int which, int threads, double* out_gflops) {
  const hone_limit_product_t* product = &p->products[which];
  double seconds, products = (double)product->rows * product->vectors * product->lanes *
                             product->halves * product->group * HONE_LIMIT_DEPTH;
  int64_t sizes[MOST_SIZES] = {threads, 1};
  HONE_TRY(time_kernel(p, which, sizes, &seconds));
  *out_gflops = 2.0 * threads * products / seconds * 1e-9;
  return NULL;
}

/* The kernel that is best on one thread is taken for all of them. */
static hone_status_t measure_peak(probe_t* p, hone_peak_t peak, hone_limits_t* out) {
  double *one = &out->gflops_one[peak], *all = &out->gflops[peak];
  int best = -1;
  for (int i = 0; i < p->n_products; i++) {
    if (p->products[i].peak != peak) continue;
    double gflops;
    HONE_TRY(measure_flops(p, i, 1, &gflops));
    if (gflops <= *one) continue;
    *one = gflops;
    best = i;
  }
  if (best >= 0 && p->threads > 1) HONE_TRY(measure_flops(p, best, p->threads, all));
  if (*all < *one) *all = *one;
  return NULL;
}

/* What is slower than f32 had better be done in that. */
static void raise_to_floats(double gflops[HONE_PEAKS]) {
  for (int i = 0; i < HONE_PEAKS; i++)
    if (gflops[i] < gflops[HONE_PEAK_F32]) gflops[i] = gflops[HONE_PEAK_F32];
}

static hone_status_t measure_peaks(probe_t* p, hone_limits_t* out) {
  for (int i = 0; i < HONE_PEAKS; i++) HONE_TRY(measure_peak(p, (hone_peak_t)i, out));
  raise_to_floats(out->gflops_one);
  raise_to_floats(out->gflops);
  return NULL;
}

static hone_status_t measure_level(probe_t* p, size_t bytes, double* out_gbytes) {
  double seconds;
  size_t piece = (size_t)HONE_LIMIT_UNITS * (size_t)hone_limit_lanes(p->properties) * sizeof(float);
  int64_t chunk = (int64_t)(bytes / piece / (size_t)p->threads);
  if (chunk < 1) chunk = 1;
  int64_t sizes[MOST_SIZES] = {p->threads, 1, chunk};
  HONE_TRY(time_kernel(p, p->n_products, sizes, &seconds));
  *out_gbytes = (double)chunk * (double)piece * p->threads / seconds * 1e-9;
  return NULL;
}

/* Half of the second level's caches, half of the third level, and beyond it. The
 * last is cut to what is decent to ask for, and may then still be cached. */
static hone_status_t measure_levels(probe_t* p, hone_limits_t* out) {
  size_t second = p->properties->cache_bytes[1] ? p->properties->cache_bytes[1] : DEFAULT_CACHE;
  size_t third = p->properties->cache_bytes[2];
  size_t sets[HONE_MEMORY_LEVELS] = {second * (size_t)p->threads / 2, third / 2,
                                     third ? 4 * third : 64 * second};
  for (int i = 0; i < HONE_MEMORY_LEVELS; i++) {
    hone_memory_level_t* level = &out->levels[i];
    bool is_last = i == HONE_MEMORY_LEVELS - 1;
    if (sets[i] > LARGE_SET) sets[i] = LARGE_SET;
    if (!is_last && (!sets[i] || sets[i] >= LARGE_SET || (i && sets[i] <= sets[i - 1]))) continue;
    level->bytes = is_last ? 0 : 2.0 * (double)sets[i];
    HONE_TRY(measure_level(p, sets[i], &level->gbytes));
  }
  return NULL;
}

static hone_status_t measure(probe_t* p, hone_limits_t* out) {
  for (int i = 0; i <= p->n_products; i++) HONE_TRY(make_kernel(p, i));
  HONE_TRY(build(p));
  HONE_TRY(p->backend->stream_create(p->device, &p->stream));
  HONE_TRY(measure_peaks(p, out));
  HONE_TRY(measure_levels(p, out));
  out->source = HONE_LIMITS_MEASURED;
  return NULL;
}

/* ---- keeping ---- */

static hone_cache_key_t key_of(const hone_backend_t* backend,
                               const hone_device_properties_t* properties) {
  static const char purpose[] = "limits of a device, third form";
  char sizes[128];
  snprintf(sizes, sizeof sizes, "%d %zu %zu %zu", properties->compute_units,
           properties->cache_bytes[0], properties->cache_bytes[1], properties->cache_bytes[2]);
  const void* parts[] = {
      purpose, backend->name, properties->target, properties->driver, properties->compiler, sizes};
  size_t lengths[sizeof parts / sizeof *parts];
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) lengths[i] = strlen(parts[i]);
  return hone_cache_key((int)(sizeof parts / sizeof *parts), parts, lengths);
}

enum { FIELDS = 2 * HONE_PEAKS + 2 * HONE_MEMORY_LEVELS };

static void list_fields(hone_limits_t* limits, double* fields[FIELDS]) {
  int n = 0;
  for (int i = 0; i < HONE_PEAKS; i++) {
    fields[n++] = &limits->gflops_one[i];
    fields[n++] = &limits->gflops[i];
  }
  for (int i = 0; i < HONE_MEMORY_LEVELS; i++) {
    fields[n++] = &limits->levels[i].bytes;
    fields[n++] = &limits->levels[i].gbytes;
  }
}

static void keep(hone_cache_t* cache, hone_cache_key_t key, hone_limits_t* limits) {
  double* fields[FIELDS];
  hone_str_t text;
  list_fields(limits, fields);
  hone_str_init(&text, NULL);
  for (int i = 0; i < FIELDS; i++) hone_str_appendf(&text, "%.9g\n", *fields[i]);
  if (!text.failed) hone_cache_put(cache, key, hone_str_text(&text), text.size + 1);
  hone_str_free(&text);
}

/* False for what makes no sense: it is measured again then. */
static bool read_fields(const char* text, size_t size, hone_limits_t* limits) {
  double* fields[FIELDS];
  list_fields(limits, fields);
  if (!size || text[size - 1]) return false;
  for (int i = 0; i < FIELDS; i++) {
    char* end;
    *fields[i] = strtod(text, &end);
    if (end == text || !(*fields[i] >= 0 && *fields[i] < 1e30)) return false;
    text = end;
  }
  return limits->gflops[HONE_PEAK_F32] > 0;
}

static bool find_kept(hone_cache_t* cache, hone_cache_key_t key, const hone_allocator_t* allocator,
                      hone_limits_t* out) {
  char* data;
  size_t size;
  if (!hone_cache_get(cache, key, allocator, &data, &size)) return false;
  hone_limits_t kept = {.threads = out->threads, .source = HONE_LIMITS_KEPT};
  bool good = read_fields(data, size, &kept);
  hone_free(allocator, data, size);
  if (good) *out = kept;
  return good;
}

/* ---- the whole ---- */

static hone_status_t find(probe_t* p, hone_cache_t* cache, hone_limits_t* out) {
  hone_cache_key_t key = key_of(p->backend, p->properties);
  if (find_kept(cache, key, p->allocator, out)) return NULL;
  hone_status_t status = measure(p, out);
  close_probe(p);
  if (!status) {
    keep(cache, key, out);
    return NULL;
  }
  *out = (hone_limits_t){.threads = out->threads};
  if (hone_status_code(status) != HONE_UNSUPPORTED) return status;
  hone_status_free(status); /* a device without f32 has no such roofline */
  return NULL;
}

hone_status_t hone_limits_find(const hone_allocator_t* allocator, const hone_backend_t* backend,
                               hone_device_t* device, hone_limits_t* out_limits) {
  hone_device_properties_t properties;
  backend->properties(device, &properties);
  *out_limits = (hone_limits_t){.threads = properties.compute_units};
  if (properties.peak_gflops > 0 && properties.peak_gbytes > 0) {
    out_limits->gflops[HONE_PEAK_F32] = properties.peak_gflops;
    raise_to_floats(out_limits->gflops);
    out_limits->levels[HONE_MEMORY_LEVELS - 1].gbytes = properties.peak_gbytes;
    out_limits->source = HONE_LIMITS_DEVICE;
    return NULL;
  }
  probe_t p = {.allocator = allocator ? allocator : hone_allocator_system(),
               .backend = backend,
               .device = device,
               .properties = &properties,
               .threads = properties.compute_units > 0 ? properties.compute_units : 1};
  p.n_products = hone_limit_products(&properties, p.products);
  hone_cache_t* cache;
  HONE_TRY(hone_cache_open(p.allocator, HONE_CACHE_KERNELS, NULL, 0, &cache));
  hone_status_t status = find(&p, cache, out_limits);
  hone_cache_close(cache);
  return status;
}

/* ---- using them ---- */

double hone_limits_compute_seconds(const hone_limits_t* limits, const hone_work_amount_t* work) {
  const double* gflops = limits->gflops;
  if (!(gflops[HONE_PEAK_F32] > 0)) return 0;
  double floats = hone_work_operations(work) - work->bf16 - work->int8;
  return (floats / gflops[HONE_PEAK_F32] + work->bf16 / gflops[HONE_PEAK_BF16] +
          work->int8 / gflops[HONE_PEAK_INT8]) *
         1e-9;
}

double hone_limits_memory_seconds(const hone_limits_t* limits, const hone_work_amount_t* work) {
  double bytes = work->read + work->written, gbytes = 0;
  for (int i = 0; i < HONE_MEMORY_LEVELS && !(gbytes > 0); i++) {
    const hone_memory_level_t* level = &limits->levels[i];
    if (level->gbytes > 0 && (!(level->bytes > 0) || bytes <= level->bytes)) gbytes = level->gbytes;
  }
  return gbytes > 0 ? bytes / gbytes * 1e-9 : 0;
}
