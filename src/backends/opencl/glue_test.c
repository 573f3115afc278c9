/* The slots of the descriptor that move bytes and run code, with kernels
 * written by hand. Without an OpenCL device the tests that need one are skipped. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/library.h"
#include "backends/opencl/testing/device.h"
#include "hone/backend.h"

enum { COUNT = 1000, SIZE = 48 };

static const hone_backend_t* be;
static hone_device_t* device; /* NULL: there is none */
static hone_stream_t* stream;

static const char* const names[] = {"vector_add", "matmul"};
static const char* const sources[] = {
    "__kernel void vector_add(__global uchar* m0, ulong o0, __global uchar* m1, ulong o1,\n"
    "                         __global uchar* m2, ulong o2, long n) {\n"
    "  __global const float* a = (__global const float*)(m0 + o0);\n"
    "  __global const float* b = (__global const float*)(m1 + o1);\n"
    "  __global float* c = (__global float*)(m2 + o2);\n"
    "  long i = get_global_id(0);\n"
    "  if (i < n) c[i] = a[i] + b[i];\n"
    "}\n",
    "__kernel void matmul(__global uchar* m0, ulong o0, __global uchar* m1, ulong o1,\n"
    "                     __global uchar* m2, ulong o2, long n) {\n"
    "  __global const float* a = (__global const float*)(m0 + o0);\n"
    "  __global const float* b = (__global const float*)(m1 + o1);\n"
    "  __global float* c = (__global float*)(m2 + o2);\n"
    "  long i = get_group_id(0), j = get_local_id(0);\n"
    "  __local float row[256];\n"
    "  for (long k = j; k < n; k += get_local_size(0)) row[k] = a[i * n + k];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  float sum = 0;\n"
    "  for (long k = 0; k < n; k++) sum += row[k] * b[k * n + j];\n"
    "  c[i * n + j] = sum;\n"
    "}\n"};

/* ---- set up ---- */

static int open_device(void** state) {
  (void)state;
  test_device_t opened = test_device_open();
  be = opened.backend;
  device = opened.device;
  stream = opened.stream;
  return 0;
}

static int close_device(void** state) {
  (void)state;
  test_device_close(&(test_device_t){be, device, stream});
  return 0;
}

static void need_device(void) {
  if (!device) skip();
}

static hone_memory_t* make_block(size_t size) {
  hone_memory_t* memory;
  assert_ok(be->alloc(device, HONE_MEMORY_DEVICE, size, &memory));
  return memory;
}

static hone_blob_t build(void) {
  hone_blob_t blob;
  assert_ok(be->build(device, 2, names, sources, &blob));
  return blob;
}

static void drop(hone_blob_t* blob) { free(blob->data); }

static hone_module_t* load(const hone_blob_t* blob) {
  hone_module_t* module;
  assert_ok(be->load(device, blob, 2, names, &module));
  return module;
}

/* ---- devices ---- */

static void test_names_and_reasons(void** state) {
  (void)state;
  hone_device_info_t infos[4];
  int count;
  assert_ok(be->enumerate(4, infos, &count));
  assert_true(count >= 1);
  assert_string_equal(infos[0].name, "opencl:0");
  assert_true(infos[0].usable == (infos[0].reason[0] == 0));
  assert_true(strlen(infos[0].description) > 0);
}

static void test_missing_library_says_what_to_do(void** state) {
  (void)state;
  hone_opencl_api_t api;
  char why[HONE_DEVICE_TEXT_SIZE];
  assert_false(hone_opencl_library_open("libnot_there.so", &api, why, sizeof why));
  assert_non_null(strstr(why, "libnot_there.so cannot be opened: install a driver"));
  assert_false(hone_opencl_library_open("libc.so.6", &api, why, sizeof why));
  assert_string_equal(why, "libc.so.6 has no clGetPlatformIDs: OpenCL 1.2 or later is needed");
}

static void test_no_such_device(void** state) {
  (void)state;
  hone_device_t* none;
  hone_open_options_t options = {.struct_size = sizeof options};
  assert_code(be->open(1000, &options, &none), HONE_UNAVAILABLE);
  if (!device) return;
  options.target = "pdp-11";
  assert_code(be->open(0, &options, &none), HONE_UNSUPPORTED);
}

static void test_properties(void** state) {
  (void)state;
  need_device();
  hone_device_properties_t p;
  be->properties(device, &p);
  assert_true(strlen(p.target) && strlen(p.driver) && strlen(p.compiler));
  assert_true(p.compute_units >= 1 && p.max_group_size >= 1 && p.alignment >= 1);
  assert_ok(be->health(device));
}

static void test_threads_are_limited(void** state) {
  (void)state;
  need_device();
  hone_device_t* limited;
  hone_open_options_t options = {.struct_size = sizeof options, .threads = 1};
  hone_device_info_t info;
  int count;
  assert_ok(be->enumerate(1, &info, &count));
  if (!strstr(info.description, "pthread")) skip(); /* CPUs can be parted */
  assert_ok(be->open(0, &options, &limited));
  hone_device_properties_t p;
  be->properties(limited, &p);
  assert_int_equal(p.compute_units, 1);
  be->close(limited);
}

/* ---- memory ---- */

static void test_copies(void** state) {
  (void)state;
  need_device();
  uint8_t in[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; i++) in[i] = (uint8_t)(i * 7);
  hone_memory_t *one = make_block(COUNT + 64), *two;
  assert_ok(be->alloc(device, HONE_MEMORY_HOST, COUNT, &two));
  assert_ok(be->copy_in(stream, one, 64, in, COUNT));
  assert_ok(be->copy(stream, two, 0, one, 64, COUNT));
  assert_ok(be->copy_out(stream, out, two, 0, COUNT));
  assert_ok(be->copy_in(stream, one, 0, in, 0)); /* nothing is fine */
  assert_ok(be->synchronize(stream));
  assert_memory_equal(in, out, COUNT);
  be->free(device, one);
  be->free(device, two);
}

static void test_mapping(void** state) {
  (void)state;
  need_device();
  hone_memory_t* memory = make_block(COUNT);
  char* seen;
  assert_ok(be->map(stream, memory, 100, 10, (void**)&seen));
  memcpy(seen, "0123456789", 10);
  assert_ok(be->unmap(stream, memory, seen));
  char out[10];
  assert_ok(be->copy_out(stream, out, memory, 100, 10));
  assert_ok(be->synchronize(stream));
  assert_memory_equal(out, "0123456789", 10);
  be->free(device, memory);
}

static void test_blocks_without_bytes(void** state) {
  (void)state;
  need_device();
  hone_memory_t* memory = make_block(0);
  be->free(device, memory);
  be->free(device, NULL);
}

static void test_too_much_memory(void** state) {
  (void)state;
  need_device();
  hone_memory_t* memory;
  assert_code(be->alloc(device, HONE_MEMORY_DEVICE, (size_t)1 << 60, &memory), HONE_OUT_OF_MEMORY);
}

static void test_wrapped_memory(void** state) {
  (void)state;
  need_device();
  _Alignas(64) char data[128] = "in place";
  hone_memory_t* memory;
  hone_status_t status = be->wrap(device, data, sizeof data, &memory);
  if (hone_status_code(status) == HONE_UNSUPPORTED) {
    hone_status_free(status);
    skip();
  }
  assert_ok(status);
  char out[128];
  assert_ok(be->copy_out(stream, out, memory, 0, sizeof out));
  assert_ok(be->synchronize(stream));
  assert_string_equal(out, "in place");
  be->free(device, memory);
  assert_code(be->wrap(device, data + 1, 64, &memory), HONE_UNSUPPORTED);
}

/* ---- code ---- */

static void launch(const hone_module_t* module, int entry, int n_buffers,
                   const hone_argument_t* buffers, int64_t size, int64_t groups, int64_t locals) {
  hone_launch_t what = {.struct_size = sizeof what,
                        .module = module,
                        .entry = entry,
                        .n_buffers = n_buffers,
                        .buffers = buffers,
                        .n_sizes = 1,
                        .sizes = &size,
                        .groups = {groups, 1, 1},
                        .locals = {locals, 1, 1}};
  assert_ok(be->launch(stream, &what));
}

/* c = a + b, all three in one block. */
static void check_vector_add(const hone_module_t* module) {
  enum { BYTES = 4096 };
  float a[COUNT], b[COUNT], c[COUNT];
  for (int i = 0; i < COUNT; i++) a[i] = (float)i, b[i] = (float)(i * i);
  hone_memory_t* block = make_block((size_t)3 * BYTES);
  hone_argument_t buffers[] = {{block, 0}, {block, BYTES}, {block, (size_t)2 * BYTES}};
  assert_ok(be->copy_in(stream, block, 0, a, sizeof a));
  assert_ok(be->copy_in(stream, block, BYTES, b, sizeof b));
  launch(module, 0, 3, buffers, COUNT, 16, 64);
  assert_ok(be->copy_out(stream, c, block, (size_t)2 * BYTES, sizeof c));
  assert_ok(be->synchronize(stream));
  for (int i = 0; i < COUNT; i++) assert_true(c[i] == a[i] + b[i]);
  be->free(device, block);
}

static void test_vector_add(void** state) {
  (void)state;
  need_device();
  hone_blob_t blob = build();
  hone_module_t* module = load(&blob);
  check_vector_add(module);
  be->unload(device, module);
  drop(&blob);
}

static void test_matmul(void** state) {
  (void)state;
  need_device();
  static float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
  for (int i = 0; i < SIZE * SIZE; i++) a[i] = (float)(i % 7 - 3), b[i] = (float)(i % 5 - 2);
  hone_argument_t buffers[3];
  for (int i = 0; i < 3; i++) buffers[i] = (hone_argument_t){make_block(sizeof a), 0};
  assert_ok(be->copy_in(stream, buffers[0].memory, 0, a, sizeof a));
  assert_ok(be->copy_in(stream, buffers[1].memory, 0, b, sizeof b));
  hone_blob_t blob = build();
  hone_module_t* module = load(&blob);
  launch(module, 1, 3, buffers, SIZE, SIZE, SIZE);
  assert_ok(be->copy_out(stream, c, buffers[2].memory, 0, sizeof c));
  assert_ok(be->synchronize(stream));
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++) {
      float sum = 0;
      for (int k = 0; k < SIZE; k++) sum += a[i * SIZE + k] * b[k * SIZE + j];
      assert_true(c[i * SIZE + j] == sum);
    }
  be->unload(device, module);
  drop(&blob);
  for (int i = 0; i < 3; i++) be->free(device, buffers[i].memory);
}

static void test_no_work_items(void** state) {
  (void)state;
  need_device();
  hone_blob_t blob = build();
  hone_module_t* module = load(&blob);
  hone_argument_t none[3] = {{NULL, 0}};
  launch(module, 0, 3, none, 0, 0, 64);
  assert_ok(be->synchronize(stream));
  be->unload(device, module);
  drop(&blob);
}

static void test_source_serves_another_driver(void** state) {
  (void)state;
  need_device();
  hone_blob_t blob = build();
  char* key = (char*)blob.data + 32; /* the header's size; another driver's key differs */
  key[0] ^= 1;
  hone_module_t* module = load(&blob);
  check_vector_add(module);
  be->unload(device, module);
  drop(&blob);
}

static void test_damaged_code_is_refused(void** state) {
  (void)state;
  need_device();
  hone_blob_t blob = build();
  hone_module_t* module;
  for (size_t size = 0; size < 64; size += 7) {
    hone_blob_t cut = {blob.data, size};
    assert_code(be->load(device, &cut, 2, names, &module), HONE_INVALID_DATA);
  }
  ((uint8_t*)blob.data)[15] ^= 0x80; /* the key's size: huge */
  assert_code(be->load(device, &blob, 2, names, &module), HONE_INVALID_DATA);
  drop(&blob);
}

static void test_bad_source_gives_the_log(void** state) {
  (void)state;
  need_device();
  const char* name = "broken";
  const char* source = "__kernel void broken(void) { undeclared_thing = 1; }\n";
  hone_blob_t blob;
  hone_status_t status = be->build(device, 1, &name, &source, &blob);
  assert_int_equal(hone_status_code(status), HONE_INTERNAL);
  assert_non_null(strstr(hone_status_message(status), "undeclared_thing"));
  hone_status_free(status);
}

static void test_unknown_kernel(void** state) {
  (void)state;
  need_device();
  hone_blob_t blob = build();
  const char* wrong[] = {"vector_add", "vector_subtract"};
  hone_module_t* module;
  hone_status_t status = be->load(device, &blob, 2, wrong, &module);
  assert_int_equal(hone_status_code(status), HONE_NOT_FOUND);
  assert_non_null(strstr(hone_status_message(status), "vector_subtract"));
  hone_status_free(status);
  drop(&blob);
}

/* ---- streams ---- */

static void test_events_order_streams(void** state) {
  (void)state;
  need_device();
  enum { BYTES = 1 << 20, ROUNDS = 8 };
  char *in = calloc(1, BYTES), *out = calloc(1, BYTES);
  hone_stream_t* second;
  assert_ok(be->stream_create(device, &second));
  hone_memory_t *one = make_block(BYTES), *two = make_block(BYTES);
  for (int round = 1; round <= ROUNDS; round++) {
    hone_event_t *copied, *read;
    memset(in, round, BYTES);
    assert_ok(be->copy_in(stream, one, 0, in, BYTES));
    assert_ok(be->copy(stream, two, 0, one, 0, BYTES));
    assert_ok(be->event_record(stream, &copied));
    assert_ok(be->event_wait(second, copied));
    assert_ok(be->copy_out(second, out, two, 0, BYTES));
    assert_ok(be->event_record(second, &read));
    assert_ok(be->event_synchronize(read));
    assert_true(be->event_done(read) && be->event_done(copied));
    assert_memory_equal(in, out, BYTES);
    be->event_destroy(copied);
    be->event_destroy(read);
  }
  be->free(device, one);
  be->free(device, two);
  be->stream_destroy(second);
  free(in);
  free(out);
}

static void test_elapsed(void** state) {
  (void)state;
  need_device();
  enum { BYTES = 1 << 22 };
  hone_memory_t *one = make_block(BYTES), *two = make_block(BYTES);
  hone_event_t *from, *to;
  uint64_t forward, backward;
  assert_ok(be->event_record(stream, &from));
  assert_ok(be->copy(stream, two, 0, one, 0, BYTES));
  assert_ok(be->event_record(stream, &to));
  assert_ok(be->synchronize(stream));
  assert_ok(be->event_elapsed(from, to, &forward));
  assert_ok(be->event_elapsed(to, from, &backward));
  assert_true(forward > 0);
  assert_int_equal(backward, 0);
  be->event_destroy(from);
  be->event_destroy(to);
  be->free(device, one);
  be->free(device, two);
}

static void test_launches_are_timed(void** state) {
  (void)state;
  need_device();
  hone_blob_t blob = build();
  hone_module_t* module = load(&blob);
  hone_memory_t* block = make_block(12 * SIZE * SIZE);
  const int64_t size = SIZE;
  hone_event_t* launched = NULL;
  hone_argument_t buffers[3];
  for (size_t i = 0; i < 3; i++) buffers[i] = (hone_argument_t){block, 4 * i * SIZE * SIZE};
  hone_launch_t what = {.struct_size = sizeof what,
                        .module = module,
                        .entry = 1,
                        .n_buffers = 3,
                        .buffers = buffers,
                        .n_sizes = 1,
                        .sizes = &size,
                        .groups = {SIZE, 1, 1},
                        .locals = {SIZE, 1, 1},
                        .out_event = &launched};
  uint64_t started = 0, ran = 0;
  assert_ok(be->launch(stream, &what));
  assert_non_null(launched);
  assert_ok(be->synchronize(stream));
  assert_ok(be->launch_times(launched, &started, &ran));
  assert_true(started > 0 && ran > 0 && started + ran < 60ull * 1000 * 1000 * 1000);
  be->event_destroy(launched);
  launched = NULL;
  what.groups[0] = 0;
  assert_ok(be->launch(stream, &what));
  assert_null(launched);
  be->free(device, block);
  be->unload(device, module);
  drop(&blob);
}

static void note(void* self) { atomic_fetch_add((atomic_int*)self, 1); }

static void test_callback(void** state) {
  (void)state;
  need_device();
  atomic_int calls = 0;
  for (int i = 0; i < 3; i++) assert_ok(be->callback(stream, note, &calls));
  assert_ok(be->synchronize(stream));
  while (atomic_load(&calls) < 3) continue; /* the driver may call a little later */
  assert_int_equal(atomic_load(&calls), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_and_reasons),
      cmocka_unit_test(test_missing_library_says_what_to_do),
      cmocka_unit_test(test_no_such_device),
      cmocka_unit_test(test_properties),
      cmocka_unit_test(test_threads_are_limited),
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_mapping),
      cmocka_unit_test(test_blocks_without_bytes),
      cmocka_unit_test(test_too_much_memory),
      cmocka_unit_test(test_wrapped_memory),
      cmocka_unit_test(test_vector_add),
      cmocka_unit_test(test_matmul),
      cmocka_unit_test(test_no_work_items),
      cmocka_unit_test(test_source_serves_another_driver),
      cmocka_unit_test(test_damaged_code_is_refused),
      cmocka_unit_test(test_bad_source_gives_the_log),
      cmocka_unit_test(test_unknown_kernel),
      cmocka_unit_test(test_events_order_streams),
      cmocka_unit_test(test_elapsed),
      cmocka_unit_test(test_launches_are_timed),
      cmocka_unit_test(test_callback),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
