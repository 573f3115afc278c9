/* A matrix product described by its elements, scheduled by hand in several
 * ways, built for a device, checked against one another and timed.
 *
 *   hone-schedule_matmul [SIZE] [DEVICE]
 *
 * SIZE is a multiple of 64, 512 unless given; DEVICE is cpu unless given. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hone/hone.h"

enum { ROUNDS = 5 };

/* ---- the product ---- */

typedef struct matmul {
  hone_te_tensor_t *a, *b;
  hone_te_reduce_axis_t* k;
} matmul_t;

/* c[x, y] = sum over k of a[x, k] * b[k, y] */
static hone_te_value_t element(void* self, hone_te_t* te, const hone_te_value_t* at) {
  matmul_t* m = self;
  hone_te_value_t k = hone_te_axis(te, m->k);
  hone_te_value_t a = hone_te_read(te, m->a, (hone_te_value_t[]){at[0], k});
  hone_te_value_t b = hone_te_read(te, m->b, (hone_te_value_t[]){k, at[1]});
  return hone_te_reduce(te, "add", hone_te_apply2(te, "mul", a, b), 1, &m->k);
}

static hone_status_t make_product(int64_t n, hone_kernel_t** out) {
  const int64_t dims[2] = {n, n};
  const char* axes[2] = {"x", "y"};
  hone_te_t* te;
  matmul_t m;
  HONE_TRY(hone_te_create(NULL, "matmul", &te));
  m.a = hone_te_placeholder(te, "a", HONE_F32, 2, dims);
  m.b = hone_te_placeholder(te, "b", HONE_F32, 2, dims);
  m.k = hone_te_reduce_axis(te, "k", n);
  hone_te_compute(te, "c", HONE_F32, 2, dims, axes, element, &m);
  hone_status_t status = hone_te_finish(te, out);
  hone_te_destroy(te);
  return status;
}

/* ---- the schedules ---- */

typedef struct schedule {
  const char* name;
  const char* text; /* L stands for the lanes of a vector */
} schedule_t;

static const schedule_t schedules[] = {
    {"basic", ""},
    {"tiled",
     "tile x y 32 32\nsplit k 32\n"
     "distribute y.i\ndistribute x.i\nreorder k.o x.i.1 y.i.1 k.i\n"},
    {"vectorized",
     "split y L\nreorder y.o x y.i\ndistribute y.i\nreorder k y.i.1\n"
     "vectorize y.i.0\nvectorize y.i.1\nvectorize y.i.2\nparallel y.o\n"},
    {"registers",
     "tile x y 4 L\ndistribute y.i\ndistribute x.i\nreorder k x.i.1 y.i.1\n"
     "vectorize y.i.0\nvectorize y.i.1\nvectorize y.i.2\n"
     "unroll x.i.0\nunroll x.i.1\nunroll x.i.2\nparallel x.o\n"},
};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

/* The text with the number in place of each L. */
static void fill_in(const char* text, int lanes, char* out, size_t size) {
  size_t length = 0;
  for (; *text && length + 16 < size; text++)
    if (*text == 'L')
      length += (size_t)snprintf(out + length, size - length, "%d", lanes);
    else
      out[length++] = *text;
  out[length] = 0;
}

/* Elements of f32 in a vector of the device. */
static hone_status_t find_lanes(const char* device, int* out) {
  const hone_backend_t* backend = hone_backend_find(device);
  hone_open_options_t options = {.struct_size = sizeof options,
                                 .allocator = hone_allocator_system()};
  hone_device_properties_t properties = {.struct_size = sizeof properties};
  hone_device_t* opened;
  *out = 4;
  if (!backend || !hone_backend_runs_kernels(backend)) return NULL;
  HONE_TRY(backend->open(0, &options, &opened));
  backend->properties(opened, &properties);
  backend->close(opened);
  if (properties.vector_bytes > 16) *out = properties.vector_bytes / 4;
  return NULL;
}

/* ---- running ---- */

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static hone_status_t make_matrix(int64_t n, unsigned seed, hone_tensor_t** out) {
  HONE_TRY(hone_tensor_create(NULL, HONE_F32, 2, (const int64_t[]){n, n}, out));
  float* data = hone_tensor_data(*out);
  for (int64_t i = 0; i < n * n; i++) {
    seed = seed * 1103515245u + 12345u;
    data[i] = (float)(seed >> 16 & 0x7fff) / 32768.0f - 0.5f;
  }
  return NULL;
}

/* The best time of several runs, in seconds. */
static hone_status_t time_runs(hone_function_t* function, hone_tensor_t* const* tensors,
                               double* out) {
  *out = INFINITY;
  HONE_TRY(hone_function_run(function, 0, NULL, 3, tensors));
  for (int i = 0; i < ROUNDS; i++) {
    double start = now();
    HONE_TRY(hone_function_run(function, 0, NULL, 3, tensors));
    double taken = now() - start;
    if (taken < *out) *out = taken;
  }
  return NULL;
}

static hone_status_t run_schedule(const schedule_t* schedule, int64_t n, const char* device,
                                  int lanes, hone_tensor_t* const* tensors, double* out_seconds) {
  char text[1024];
  hone_kernel_t* kernel;
  hone_function_t* function = NULL;
  fill_in(schedule->text, lanes, text, sizeof text);
  HONE_TRY(make_product(n, &kernel));
  hone_status_t status = hone_schedule_apply(kernel, text);
  if (!status) status = hone_function_build(NULL, kernel, device, &function);
  if (!status) status = time_runs(function, tensors, out_seconds);
  hone_function_destroy(function);
  hone_kernel_free(kernel);
  return hone_status_annotate(status, "%s", schedule->name);
}

/* The largest difference between two results. */
static double difference(const hone_tensor_t* a, const hone_tensor_t* b) {
  const float *x = hone_tensor_data(a), *y = hone_tensor_data(b);
  double most = 0;
  for (int64_t i = 0; i < hone_tensor_count(a); i++) {
    double d = fabs((double)x[i] - (double)y[i]);
    if (d > most) most = d;
  }
  return most;
}

static hone_status_t run_all(int64_t n, const char* device, hone_tensor_t* const* a_b_c,
                             hone_tensor_t* first) {
  int lanes;
  double basic = 0;
  HONE_TRY(find_lanes(device, &lanes));
  printf("%lld x %lld on %s, best of %d runs\n", (long long)n, (long long)n, device, ROUNDS);
  for (int i = 0; i < SCHEDULES; i++) {
    hone_tensor_t* tensors[3] = {a_b_c[0], a_b_c[1], i ? a_b_c[2] : first};
    double seconds;
    HONE_TRY(run_schedule(&schedules[i], n, device, lanes, tensors, &seconds));
    double off = i ? difference(first, tensors[2]) : 0;
    if (!i) basic = seconds;
    printf("%-11s %9.3f ms %8.2f Gflop/s %7.2f x\n", schedules[i].name, seconds * 1e3,
           2.0 * (double)n * (double)n * (double)n / seconds / 1e9, basic / seconds);
    if (!(off < 1e-3))
      return hone_status_make(HONE_INTERNAL, "%s: another result, by %g", schedules[i].name, off);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 512;
  const char* device = argc > 2 ? argv[2] : "cpu";
  hone_tensor_t* tensors[4] = {NULL};
  hone_status_t status =
      n > 0 && n % 64 == 0
          ? NULL
          : hone_status_make(HONE_INVALID_ARGUMENT, "the size must be a multiple of 64");
  for (unsigned i = 0; i < 4 && !status; i++) status = make_matrix(n, i, &tensors[i]);
  if (!status) status = run_all(n, device, tensors, tensors[3]);
  for (int i = 0; i < 4; i++) hone_tensor_release(tensors[i]);
  if (status) fprintf(stderr, "%s\n", hone_status_message(status));
  hone_status_free(status);
  return status != NULL;
}
