/* A convolution described by its elements, with a schedule that leaves tile
 * sizes, an order of loops and vectors open: tuning chooses among them, and what
 * it found is what is built from then on.
 *
 *   hone-tune_conv2d [TRIALS] [SIZE] [DEVICE] [DATABASE]
 *
 * TRIALS is 20 unless given, SIZE (the picture's height and width) 224, DEVICE
 * cpu, DATABASE conv2d.db in the folder where it is run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hone/hone.h"

enum { FILTERS = 64, CHANNELS = 3, WINDOW = 7, STRIDE = 2, PAD = 3, ROUNDS = 5 };

/* ---- the convolution ---- */

/* y[f, i, j] = sum over c, h, w of x[c, 2 i + h, 2 j + w] * k[f, c, h, w]; the
 * picture has its margin already. */
typedef struct conv {
  int64_t size, out; /* of the picture with its margin, of the result */
  hone_te_tensor_t *x, *k;
  hone_te_reduce_axis_t* axes[3];
} conv_t;

static hone_te_value_t at_window(hone_te_t* te, hone_te_value_t at, hone_te_value_t offset) {
  hone_te_value_t start = hone_te_apply2(te, "mul", at, hone_te_number(te, HONE_I64, STRIDE));
  return hone_te_apply2(te, "add", start, offset);
}

static hone_te_value_t element(void* self, hone_te_t* te, const hone_te_value_t* at) {
  const conv_t* conv = self;
  hone_te_value_t c = hone_te_axis(te, conv->axes[0]), h = hone_te_axis(te, conv->axes[1]),
                  w = hone_te_axis(te, conv->axes[2]);
  hone_te_value_t in[] = {c, at_window(te, at[1], h), at_window(te, at[2], w)};
  hone_te_value_t x = hone_te_read(te, conv->x, in);
  hone_te_value_t k = hone_te_read(te, conv->k, (hone_te_value_t[]){at[0], c, h, w});
  return hone_te_reduce(te, "add", hone_te_apply2(te, "mul", x, k), 3, conv->axes);
}

static hone_status_t make_kernel(conv_t* conv, hone_kernel_t** out) {
  const int64_t x[] = {CHANNELS, conv->size, conv->size}, k[] = {FILTERS, CHANNELS, WINDOW, WINDOW};
  const int64_t y[] = {FILTERS, conv->out, conv->out};
  const char* names[] = {"f", "i", "j"};
  hone_te_t* te;
  HONE_TRY(hone_te_create(NULL, "conv2d", &te));
  conv->x = hone_te_placeholder(te, "x", HONE_F32, 3, x);
  conv->k = hone_te_placeholder(te, "k", HONE_F32, 4, k);
  conv->axes[0] = hone_te_reduce_axis(te, "c", CHANNELS);
  conv->axes[1] = hone_te_reduce_axis(te, "h", WINDOW);
  conv->axes[2] = hone_te_reduce_axis(te, "w", WINDOW);
  hone_te_compute(te, "y", HONE_F32, 3, y, names, element, conv);
  hone_status_t status = hone_te_finish(te, out);
  hone_te_destroy(te);
  return status;
}

/* ---- the template ---- */

static hone_status_t define(void* self, hone_space_t* space) {
  const conv_t* conv = self;
  static const char *const axes[] = {"c", "h", "w"}, *const lanes[] = {"none", "vector"};
  HONE_TRY(hone_space_define_split(space, "tile_f", FILTERS, 2, 8));
  HONE_TRY(hone_space_define_split(space, "tile_j", conv->out, 2, 32));
  HONE_TRY(hone_space_define_order(space, "order", 3, axes));
  return hone_space_define_words(space, "lanes", 2, lanes);
}

/* Tiles of f and j; the sum goes around the tile, in the order chosen. */
static const char tiles[] =
    "split f %d\nsplit j %d\nreorder f.o i j.o f.i j.i\n"
    "distribute j.i\ndistribute f.i\nreorder %s %s %s f.i.1 j.i.1\nparallel f.o\n";
static const char vectors[] =
    "vectorize j.i.0\nvectorize j.i.1\nvectorize j.i.2\n"
    "unroll f.i.0\nunroll f.i.1\nunroll f.i.2\n";

static hone_status_t schedule(void* self, const hone_space_t* space, const hone_candidate_t* c,
                              hone_kernel_t* kernel) {
  char text[512];
  const char* order[3];
  for (int i = 0; i < 3; i++) order[i] = hone_candidate_word(space, c, "order", i);
  snprintf(text, sizeof text, tiles, (int)hone_candidate_number(space, c, "tile_f", 1),
           (int)hone_candidate_number(space, c, "tile_j", 1), order[0], order[1], order[2]);
  HONE_TRY(hone_schedule_apply(kernel, text));
  bool is_vector = hone_candidate_word(space, c, "lanes", 0)[0] == 'v';
  return is_vector ? hone_schedule_apply(kernel, vectors) : NULL;
}

/* ---- running ---- */

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static hone_status_t make_tensor(int rank, const int64_t* dims, unsigned seed,
                                 hone_tensor_t** out) {
  HONE_TRY(hone_tensor_create(NULL, HONE_F32, rank, dims, out));
  float* data = hone_tensor_data(*out);
  for (int64_t i = 0; i < hone_tensor_count(*out); i++) {
    seed = seed * 1103515245u + 12345u;
    data[i] = (float)(seed >> 16 & 0x7fff) / 32768.0f - 0.5f;
  }
  return NULL;
}

static hone_status_t make_tensors(const conv_t* conv, hone_tensor_t* out[4]) {
  const int64_t x[] = {CHANNELS, conv->size, conv->size}, k[] = {FILTERS, CHANNELS, WINDOW, WINDOW};
  const int64_t y[] = {FILTERS, conv->out, conv->out};
  HONE_TRY(make_tensor(3, x, 1, &out[0]));
  HONE_TRY(make_tensor(4, k, 2, &out[1]));
  HONE_TRY(make_tensor(3, y, 3, &out[2]));
  return make_tensor(3, y, 4, &out[3]);
}

/* Builds, runs, and gives the best time in seconds. */
static hone_status_t time_build(const hone_template_t* form, const hone_template_options_t* options,
                                hone_tensor_t* const* tensors, double* out) {
  hone_template_result_t built;
  HONE_TRY(hone_template_build(form, options, &built));
  hone_status_t status = NULL;
  *out = INFINITY;
  for (int i = 0; i < ROUNDS && !status; i++) {
    double start = now();
    status = hone_function_run(built.function, 0, NULL, 3, tensors);
    *out = fmin(*out, now() - start);
  }
  if (!status) printf("%8.3f ms  %s (%s)\n", *out * 1e3, built.candidate, built.why);
  hone_function_destroy(built.function);
  return status;
}

static double difference(const hone_tensor_t* a, const hone_tensor_t* b) {
  const float *x = hone_tensor_data(a), *y = hone_tensor_data(b);
  double worst = 0;
  for (int64_t i = 0; i < hone_tensor_count(a); i++)
    worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
  return worst;
}

static bool report(void* self, const hone_tuning_progress_t* p) {
  printf("trial %3lld  %-12s %8.3f ms%s  %s %s\n", (long long)p->trials, p->outcome,
         p->seconds * 1e3, p->is_gain ? " *" : "  ", p->parameters, p->message);
  return true;
}

static hone_status_t tune(const hone_template_t* form, const char* device, const char* database,
                          int64_t trials) {
  hone_tuning_t* tuning;
  const hone_tuning_options_t options = {.struct_size = sizeof options,
                                         .device = device,
                                         .database = database,
                                         .budget_seconds = HUGE_VAL,
                                         .trials = trials,
                                         .strategy = "random",
                                         .runs = 3,
                                         .repeats = 1,
                                         .progress = report};
  HONE_TRY(hone_template_tune(form, &options, &tuning));
  printf("%s\n", hone_tuning_report(tuning)->stop);
  hone_tuning_destroy(tuning);
  return NULL;
}

/* Untuned and tuned must agree. */
static hone_status_t compare(const conv_t* conv, const hone_template_t* form, const char* device,
                             const char* database) {
  hone_tensor_t* t[4] = {NULL};
  double before = 0, after = 0;
  hone_template_options_t options = {.struct_size = sizeof options, .device = device};
  options.no_tuned = true;
  hone_status_t status = make_tensors(conv, t);
  if (!status) status = time_build(form, &options, t, &before);
  options.no_tuned = false;
  options.database = database;
  hone_tensor_t* tuned[3] = {t[0], t[1], t[3]};
  if (!status) status = time_build(form, &options, tuned, &after);
  if (!status) {
    double worst = difference(t[2], t[3]);
    printf("tuning made it %.2f times as fast; results differ by %.1e\n", before / after, worst);
    if (!(worst < 1e-3)) status = hone_status_make(HONE_INTERNAL, "results differ");
  }
  for (int i = 0; i < 4; i++) hone_tensor_release(t[i]);
  return status;
}

static hone_status_t run(int64_t trials, int64_t size, const char* device, const char* database) {
  conv_t conv = {.size = size + 2 * PAD};
  conv.out = (conv.size - WINDOW) / STRIDE + 1;
  hone_kernel_t* kernel;
  HONE_TRY(make_kernel(&conv, &kernel));
  const hone_template_t form = {.struct_size = sizeof form,
                                .name = "tiled_conv2d",
                                .kernel = kernel,
                                .space = define,
                                .schedule = schedule,
                                .self = &conv};
  hone_status_t status = tune(&form, device, database, trials);
  if (!status) status = compare(&conv, &form, device, database);
  hone_kernel_free(kernel);
  return status;
}

int main(int argc, char** argv) {
  long trials = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
  long size = argc > 2 ? strtol(argv[2], NULL, 10) : 224;
  if (trials < 1 || size < 2) {
    fprintf(stderr, "usage: hone-tune_conv2d [TRIALS] [SIZE] [DEVICE] [DATABASE]\n");
    return 2;
  }
  hone_status_t status =
      run(trials, size, argc > 3 ? argv[3] : "cpu", argc > 4 ? argv[4] : "conv2d.db");
  if (!status) return 0;
  fprintf(stderr, "tune_conv2d: %s\n", hone_status_message(status));
  hone_status_free(status);
  return 1;
}
