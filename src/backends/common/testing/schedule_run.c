#include "backends/common/testing/schedule_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/device.h"
#include "backends/ref/testing/same_results.h"
#include "base/float_convert.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/str.h"
#include "base/tensor_impl.h"
#include "base/testing/test.h"
#include "loop/interpret.h"
#include "loop/text.h"
#include "runtime/compile.h"

enum { MOST_TENSORS = 32, MOST_KERNELS = 512 };

/* ---- a device that interprets kernels ---- */

hone_cpu_shape_t test_schedule_shape;
hone_cpu_choice_t test_schedule_choice;
hone_pass_options_t test_schedule_passes;

/* Texts of kernels, one behind the other, each ended with 0. */
typedef struct kernels {
  int count;
  hone_kernel_t* list[MOST_KERNELS];
} kernels_t;

/* What passes ask is what the test's shape has, whatever this machine has. */
static void properties(const hone_device_t* device, hone_device_properties_t* out) {
  const hone_cpu_shape_t* shape = &test_schedule_shape;
  hone_backend_find("cpu")->properties(device, out);
  out->vector_bytes = 4 * shape->lanes;
  out->vector_registers = shape->registers;
  out->has_dot4 = shape->has_dot4;
  out->fast_int8 = shape->fast_int8;
  out->mixed_int8 = shape->mixed_int8;
  out->fast_bf16 = out->has_dot2_bf16 = shape->has_dot2_bf16;
  out->has_dot2_i16 = shape->has_dot2_i16;
  out->has_dot_apart = shape->has_dot_apart;
  out->has_dot8 = shape->has_dot8;
  out->has_dot_nibbles = shape->has_dot_nibbles;
  out->has_sparse_int8 = false;
  out->has_block_int8 = shape->has_block_int8;
  out->has_block_bf16 = shape->has_block_bf16;
  out->fast_blocks = shape->has_block_int8;
  out->flops_per_cycle = (shape->halves_vectors ? 2 : 4) * shape->lanes;
  out->cache_bytes[0] = 32 << 10;
  out->cache_bytes[1] = 1 << 20;
  out->cache_bytes[2] = 32 << 20;
}

static hone_status_t schedule(const hone_device_t* device, hone_kernel_t* kernel) {
  return hone_cpu_schedule(kernel, &test_schedule_shape, &test_schedule_choice);
}

static hone_status_t render(const hone_device_t* device, const hone_kernel_t* kernel,
                            const char* name, hone_blob_t* out_source) {
  hone_str_t text;
  hone_str_init(&text, device->allocator);
  HONE_TRY(hone_kernel_print(kernel, &text));
  char* data;
  HONE_TRY(hone_str_take(&text, &data, &out_source->size));
  out_source->data = data;
  out_source->size++;
  return NULL;
}

static hone_status_t build(hone_device_t* device, int count, const char* const* names,
                           const char* const* sources, hone_blob_t* out_binary) {
  hone_str_t text;
  hone_str_init(&text, device->allocator);
  for (int i = 0; i < count; i++) hone_str_append_n(&text, sources[i], strlen(sources[i]) + 1);
  char* data;
  HONE_TRY(hone_str_take(&text, &data, &out_binary->size));
  out_binary->data = data;
  out_binary->size++;
  return NULL;
}

static hone_status_t load(hone_device_t* device, const hone_blob_t* binary, int count,
                          const char* const* names, hone_module_t** out_module) {
  kernels_t* kernels = calloc(1, sizeof *kernels);
  assert_non_null(kernels);
  assert_true(count <= MOST_KERNELS);
  const char* text = binary->data;
  for (int i = 0; i < count; i++, text += strlen(text) + 1) {
    hone_status_t status =
        hone_kernel_parse(device->allocator, text, strlen(text), &kernels->list[i]);
    if (status) fail_msg("%s\n%s", hone_status_message(status), text);
    kernels->count++;
  }
  *out_module = (hone_module_t*)(void*)kernels;
  return NULL;
}

static void unload(hone_device_t* device, hone_module_t* module) {
  kernels_t* kernels = (kernels_t*)(void*)module;
  for (int i = 0; i < kernels->count; i++) hone_kernel_destroy(kernels->list[i]);
  free(kernels);
}

static hone_status_t launch(hone_stream_t* stream, const hone_launch_t* l) {
  kernels_t* kernels = (kernels_t*)(void*)(uintptr_t)l->module;
  void* buffers[64];
  assert_true(l->n_buffers <= 64);
  for (int i = 0; i < l->n_buffers; i++) {
    const hone_argument_t* argument = &l->buffers[i];
    buffers[i] = argument->memory ? argument->memory->data + argument->offset : NULL;
  }
  return hone_kernel_interpret(kernels->list[l->entry], l->sizes, buffers);
}

static hone_backend_t interpreting_backend(void) {
  hone_backend_t backend = *hone_backend_find("cpu");
  backend.tactic = NULL;
  backend.properties = properties;
  backend.schedule = schedule;
  backend.render = render;
  backend.build = build;
  backend.load = load;
  backend.unload = unload;
  backend.launch = launch;
  backend.launch_turns = NULL; /* each launch is looked at */
  return backend;
}

/* ---- running ---- */

static int64_t extent(hone_dim_t dim, const int64_t* symbols) {
  return hone_dim_eval(dim, symbols);
}

static hone_tensor_t* make_input(const hone_type_t* type, const int64_t* symbols, uint64_t seed) {
  int64_t dims[HONE_MAX_RANK];
  hone_tensor_t* tensor;
  for (int i = 0; i < type->rank; i++) dims[i] = extent(type->dims[i], symbols);
  assert_ok(hone_tensor_create(NULL, type->dtype, type->rank, dims, &tensor));
  for (int64_t i = 0; i < tensor->count; i++) {
    uint32_t word = hone_random_u32(seed, (uint64_t)i);
    bool is_float = hone_dtype_is_float(type->dtype);
    double value = is_float ? word / 1073741824.0 - 2 : word % (type->dtype == HONE_BOOL ? 2 : 4);
    hone_from_double(type->dtype, value, true,
                     (char*)tensor->data + (size_t)i * hone_dtype_size(type->dtype));
  }
  return tensor;
}

static void assert_close(const hone_tensor_t* a, const hone_tensor_t* b, uint64_t seed) {
  assert_int_equal(a->dtype, b->dtype);
  assert_int_equal(a->count, b->count);
  size_t size = hone_dtype_size(a->dtype);
  for (int64_t i = 0; i < a->count; i++) {
    double x = hone_to_double(a->dtype, (const char*)a->data + (size_t)i * size);
    double y = hone_to_double(b->dtype, (const char*)b->data + (size_t)i * size);
    if (x == y || (isnan(x) && isnan(y))) continue;
    if (!(fabs(x - y) <= 2e-3 * fmax(1, fabs(y))))
      fail_msg("graph %llu, element %lld: %g, but ref has %g", (unsigned long long)seed,
               (long long)i, x, y);
  }
}

static void compare_runs(hone_program_t* program, const hone_graph_t* plain, uint64_t seed) {
  const hone_backend_t* ref = hone_backend_find("ref");
  const hone_compile_options_t options = {.struct_size = sizeof options,
                                          .allocator = hone_allocator_system()};
  const hone_run_options_t run = {.struct_size = sizeof run, .seed = 7};
  hone_program_t* reference;
  hone_tensor_t *inputs[MOST_TENSORS], *got[MOST_TENSORS], *want[MOST_TENSORS];
  int64_t symbols[256];
  int n = plain->n_outputs, n_symbols = hone_dims_symbol_count(plain->dims);
  assert_true(n <= MOST_TENSORS && plain->n_inputs <= MOST_TENSORS && n_symbols <= 256);
  for (int i = 0; i < n_symbols; i++) {
    const hone_symbol_t* symbol = hone_dims_symbol(plain->dims, i);
    int64_t size = 1 + (int64_t)(hone_random_u32(seed, (uint64_t)(1000 + i)) % 9);
    symbols[i] = size < symbol->min ? symbol->min : size > symbol->max ? symbol->max : size;
  }
  for (int i = 0; i < plain->n_inputs; i++)
    inputs[i] = make_input(&plain->inputs[i]->type, symbols, seed + (uint64_t)i);
  assert_ok(ref->compile(plain, &options, &reference));
  hone_status_t mine = hone_program_run(program, &run, plain->n_inputs, inputs, n, got);
  hone_status_t theirs = ref->run(reference, &run, plain->n_inputs, inputs, n, want);
  if (hone_status_code(mine) != hone_status_code(theirs))
    fail_msg("graph %llu: %s, but ref says: %s", (unsigned long long)seed,
             hone_status_message(mine), hone_status_message(theirs));
  for (int i = 0; i < n && !mine; i++) assert_close(got[i], want[i], seed);
  for (int i = 0; i < n && !mine; i++) {
    hone_tensor_release(got[i]);
    hone_tensor_release(want[i]);
  }
  hone_status_free(mine);
  hone_status_free(theirs);
  for (int i = 0; i < plain->n_inputs; i++) hone_tensor_release(inputs[i]);
  ref->destroy(reference);
}

/* The text of the longest kernel; "" where there is none. */
static char* copy_longest(const hone_program_t* program) {
  const char* longest = "";
  for (int i = 0; i < program->n_kernels; i++)
    if (strlen(program->kernels[i].source) > strlen(longest)) longest = program->kernels[i].source;
  char* text = strdup(longest);
  assert_non_null(text);
  return text;
}

char* test_schedule_run(hone_graph_t* graph, hone_graph_t* plain, uint64_t seed) {
  hone_backend_t backend = interpreting_backend();
  const hone_open_options_t open = {
      .struct_size = sizeof open, .allocator = hone_allocator_system(), .threads = 1};
  hone_device_t* device;
  hone_program_t* program;
  assert_ok(backend.open(0, &open, &device));
  const hone_compile_settings_t settings = {.passes = &test_schedule_passes};
  assert_ok(hone_compile(graph, &backend, device, &settings, NULL, &program));
  char* text = copy_longest(program);
  compare_runs(program, plain, seed);
  hone_program_destroy(program);
  backend.close(device);
  hone_graph_destroy(graph);
  hone_graph_destroy(plain);
  return text;
}

void test_schedule_expect(const char* text, int count, const char* const* lines) {
  for (int i = 0; i < count; i++)
    if (!strstr(text, lines[i])) fail_msg("no '%s' in:\n%s", lines[i], text);
}

void test_schedule_numbers(hone_str_t* text, int count, int most) {
  for (int i = 0; i < count; i++)
    hone_str_appendf(text, "%s%d", i ? ", " : "", i * 7919 % (2 * most + 1) - most);
}

hone_graph_t* test_schedule_product(int rows, int sums, int columns) {
  enum { MOST = 6 };
  char count[16] = "n";
  if (rows) snprintf(count, sizeof count, "%d", rows);
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "  %%0 \"x\"%s = input : f32[%s, %d]\n  %%1 = constant {",
                   rows ? "" : " <0 dim 0>", count, sums);
  test_schedule_numbers(&text, sums * columns, MOST);
  hone_str_appendf(&text,
                   "} : f32[%d, %d]\n"
                   "  %%2 = contract %%0 %%1 dtype=f32 axes=[1, 0] batch=0 : f32[%s, %d]\n"
                   "  return %%2 \"y\"\n",
                   sums, columns, count, columns);
  hone_graph_t* graph =
      hone_graph_of_text(rows ? "" : "symbol \"n\" input 1 64\n", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}
