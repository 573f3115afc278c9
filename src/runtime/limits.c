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
#include "runtime/routine.h"

enum {
  TIMES = 12,                /* the best of so many counts */
  ENOUGH_NS = 1000000,       /* of one time */
  MOST_ROUNDS = 1 << 24,     /* that it takes to fill it */
  UNITS = 8,                 /* vectors of the reading kernel that are summed side by side */
  LARGE_SET = 256 << 20,     /* bytes: the largest working set that is tried */
  DEPTH = 256,               /* of the products, which stay in the first cache */
  DEFAULT_CACHE = 256 << 10, /* second level, where it is not known */
};

/* ---- the two kernels ---- */

/* Tiles of products, as a matrix product has them: `rows` by two vectors. */
static const char peak_text[] =
    "kernel peak {\n"
    "  size groups 1..65536\n"
    "  size rounds 1..16777216\n"
    "  input a: f32[%d, %d] = 0\n"
    "  input b: f32[%d, 2, %d] = 1\n"
    "  output out: f32[groups, %d, 2, %d] = 0\n"
    "  local acc: f32[%d, 2, %d]\n"
    "  for g in groups parallel {\n"
    "    for r in %d unroll { for v in 2 unroll { for l in %d vector {\n"
    "      acc[r, v, l] = f32(0)\n"
    "    } } }\n"
    "    for t in rounds reduction { for k in %d reduction {\n"
    "      for r1 in %d unroll { for v1 in 2 unroll { for l1 in %d vector {\n"
    "        acc[r1, v1, l1] += mul(a[k, r1], b[k, v1, l1])\n"
    "      } } }\n"
    "    } }\n"
    "    for r2 in %d unroll { for v2 in 2 unroll { for l2 in %d vector {\n"
    "      out[g, r2, v2, l2] = acc[r2, v2, l2]\n"
    "    } } }\n"
    "  }\n"
    "}\n";

static const char read_text[] =
    "kernel read {\n"
    "  size groups 1..65536\n"
    "  size rounds 1..16777216\n"
    "  size chunk 1..16777216\n"
    "  input x: f32[groups, chunk, %d, %d] = 0\n"
    "  output out: f32[groups, %d, %d] = 0\n"
    "  local acc: f32[%d, %d]\n"
    "  for g in groups parallel {\n"
    "    for r in %d unroll { for l in %d vector { acc[r, l] = f32(0) } }\n"
    "    for t in rounds reduction { for k in chunk reduction {\n"
    "      for r1 in %d unroll { for l1 in %d vector { acc[r1, l1] += x[g, k, r1, l1] } }\n"
    "    } }\n"
    "    for r2 in %d unroll { for l2 in %d vector { out[g, r2, l2] = acc[r2, l2] } }\n"
    "  }\n"
    "}\n";

/* What a compiler keeps in registers is its own affair: several tiles are tried. */
static const int tile_rows[] = {12, 6, 4};

enum {
  PEAKS = sizeof tile_rows / sizeof *tile_rows,
  READ = PEAKS, /* the kernel behind those */
  KERNELS,
  MOST_SIZES = 3,
  MOST_BUFFERS = 3,
  TEXT = 2048
};

static void put_peak(char* text, int rows, int lanes) {
  snprintf(text, TEXT, peak_text, DEPTH, rows, DEPTH, lanes, rows, lanes, rows, lanes, rows, lanes,
           DEPTH, rows, lanes, rows, lanes);
}

static void put_read(char* text, int lanes) {
  snprintf(text, TEXT, read_text, UNITS, lanes, UNITS, lanes, UNITS, lanes, UNITS, lanes, UNITS,
           lanes, UNITS, lanes);
}

/* ---- building ---- */

typedef struct probe {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;
  const hone_device_properties_t* properties;
  int threads, lanes;
  hone_kernel_t* kernels[KERNELS];
  hone_module_t* module;
  hone_stream_t* stream;
  hone_memory_t* memory[MOST_BUFFERS]; /* of the kernel at hand */
} probe_t;

static hone_status_t make_kernels(probe_t* p) {
  char texts[KERNELS][TEXT];
  for (int i = 0; i < PEAKS; i++) put_peak(texts[i], tile_rows[i], p->lanes);
  put_read(texts[READ], p->lanes);
  for (int i = 0; i < KERNELS; i++) {
    HONE_TRY(hone_kernel_parse(p->allocator, texts[i], strlen(texts[i]), &p->kernels[i]));
    char why[HONE_DEVICE_TEXT_SIZE] = "";
    if (!p->backend->supports(p->device, p->kernels[i], why))
      return hone_status_make(HONE_UNSUPPORTED, "%s", why);
  }
  return NULL;
}

static hone_status_t build(probe_t* p) {
  static const char* const names[KERNELS] = {"hone_limit_12", "hone_limit_6", "hone_limit_4",
                                             "hone_limit_read"};
  hone_blob_t sources[KERNELS] = {{0}}, binary = {0};
  const char* texts[KERNELS];
  hone_status_t status = NULL;
  for (int i = 0; i < KERNELS && !status; i++) {
    status = p->backend->render(p->device, p->kernels[i], names[i], &sources[i]);
    texts[i] = sources[i].data;
  }
  if (!status) status = p->backend->build(p->device, KERNELS, names, texts, &binary);
  if (!status) status = p->backend->load(p->device, &binary, KERNELS, names, &p->module);
  for (int i = 0; i < KERNELS; i++) hone_free(p->allocator, sources[i].data, sources[i].size);
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
    size_t bytes = (size_t)count * sizeof(float);
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
  double seconds;
  int64_t sizes[MOST_SIZES] = {threads, 1};
  HONE_TRY(time_kernel(p, which, sizes, &seconds));
  *out_gflops = 2.0 * threads * DEPTH * tile_rows[which] * 2 * p->lanes / seconds * 1e-9;
  return NULL;
}

/* The tile that is best on one thread is taken for all of them. */
static hone_status_t measure_peak(probe_t* p, hone_limits_t* out) {
  int best = 0;
  for (int i = 0; i < PEAKS; i++) {
    double gflops;
    HONE_TRY(measure_flops(p, i, 1, &gflops));
    if (gflops <= out->gflops_one) continue;
    out->gflops_one = gflops;
    best = i;
  }
  if (p->threads > 1) HONE_TRY(measure_flops(p, best, p->threads, &out->gflops));
  if (out->gflops < out->gflops_one) out->gflops = out->gflops_one;
  return NULL;
}

static hone_status_t measure_level(probe_t* p, size_t bytes, double* out_gbytes) {
  double seconds;
  size_t piece = (size_t)UNITS * (size_t)p->lanes * sizeof(float);
  int64_t chunk = (int64_t)(bytes / piece / (size_t)p->threads);
  if (chunk < 1) chunk = 1;
  int64_t sizes[MOST_SIZES] = {p->threads, 1, chunk};
  HONE_TRY(time_kernel(p, READ, sizes, &seconds));
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
  HONE_TRY(make_kernels(p));
  HONE_TRY(build(p));
  HONE_TRY(p->backend->stream_create(p->device, &p->stream));
  HONE_TRY(measure_peak(p, out));
  HONE_TRY(measure_levels(p, out));
  out->source = HONE_LIMITS_MEASURED;
  return NULL;
}

/* ---- keeping ---- */

static hone_cache_key_t key_of(const hone_backend_t* backend,
                               const hone_device_properties_t* properties) {
  static const char purpose[] = "limits of a device, second form";
  char sizes[128];
  snprintf(sizes, sizeof sizes, "%d %zu %zu %zu", properties->compute_units,
           properties->cache_bytes[0], properties->cache_bytes[1], properties->cache_bytes[2]);
  const void* parts[] = {
      purpose, backend->name, properties->target, properties->driver, properties->compiler, sizes};
  size_t lengths[sizeof parts / sizeof *parts];
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) lengths[i] = strlen(parts[i]);
  return hone_cache_key((int)(sizeof parts / sizeof *parts), parts, lengths);
}

enum { FIELDS = 2 + 2 * HONE_MEMORY_LEVELS };

static void list_fields(hone_limits_t* limits, double* fields[FIELDS]) {
  int n = 0;
  fields[n++] = &limits->gflops_one;
  fields[n++] = &limits->gflops;
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
  return limits->gflops > 0;
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
    out_limits->gflops = properties.peak_gflops;
    out_limits->levels[HONE_MEMORY_LEVELS - 1].gbytes = properties.peak_gbytes;
    out_limits->source = HONE_LIMITS_DEVICE;
    return NULL;
  }
  int lanes = properties.vector_bytes / (int)sizeof(float);
  probe_t p = {.allocator = allocator ? allocator : hone_allocator_system(),
               .backend = backend,
               .device = device,
               .properties = &properties,
               .threads = properties.compute_units > 0 ? properties.compute_units : 1,
               .lanes = lanes < 4    ? 4
                        : lanes > 16 ? 16
                                     : lanes};
  hone_cache_t* cache;
  HONE_TRY(hone_cache_open(p.allocator, HONE_CACHE_KERNELS, NULL, 0, &cache));
  hone_status_t status = find(&p, cache, out_limits);
  hone_cache_close(cache);
  return status;
}

/* ---- using them ---- */

double hone_limits_compute_seconds(const hone_limits_t* limits, const hone_work_amount_t* work) {
  if (!(limits->gflops > 0)) return 0;
  return hone_work_operations(work) / limits->gflops * 1e-9;
}

double hone_limits_memory_seconds(const hone_limits_t* limits, const hone_work_amount_t* work) {
  double bytes = work->read + work->written, gbytes = 0;
  for (int i = 0; i < HONE_MEMORY_LEVELS && !(gbytes > 0); i++) {
    const hone_memory_level_t* level = &limits->levels[i];
    if (level->gbytes > 0 && (!(level->bytes > 0) || bytes <= level->bytes)) gbytes = level->gbytes;
  }
  return gbytes > 0 ? bytes / gbytes * 1e-9 : 0;
}
