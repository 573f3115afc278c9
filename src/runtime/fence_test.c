/* Kernels that are made to leave their buffers are found, named, and stopped; others
 * run as they do without guard. */
#include <stdio.h>
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/tensor_impl.h"
#include "runtime/compile.h"

enum { ELEMENTS = 24 };

static const char* crime; /* a statement that each kernel begins with; "": none */

static hone_status_t render(const hone_device_t* device, const hone_kernel_t* kernel,
                            const char* name, hone_blob_t* out_source) {
  HONE_TRY(hone_backend_find("cpu")->render(device, kernel, name, out_source));
  char* text = out_source->data;
  char* body = strstr(text, "{\n");
  assert_non_null(body);
  hone_str_t changed;
  hone_str_init(&changed, NULL);
  hone_str_append_n(&changed, text, (size_t)(body + 2 - text));
  hone_str_append(&changed, crime);
  hone_str_append(&changed, body + 2);
  hone_free(NULL, out_source->data, out_source->size);
  HONE_TRY(hone_str_take(&changed, &text, &out_source->size));
  out_source->data = text;
  out_source->size++;
  return NULL;
}

static const char lines[] =
    "  %0 \"x\" = input : f32[24]\n"
    "  %1 \"e\" = exp %0 : f32[24] @ \"first (Exp)\"\n"
    "  %2 \"s\" = scan %1 combine=add axes=[0] : f32[24] @ \"second (CumSum)\"\n"
    "  %3 \"y\" = neg %2 : f32[24] @ \"third (Neg)\"\n"
    "  return %3 \"y\"\n";

static hone_status_t run(bool guard, hone_tensor_t** out_y) {
  hone_backend_t backend = *hone_backend_find("cpu");
  backend.render = render;
  const hone_open_options_t open = {.struct_size = sizeof open, .threads = 2, .guard = guard};
  const hone_run_options_t options = {.struct_size = sizeof options, .seed = 7};
  const int64_t dims[] = {ELEMENTS};
  hone_graph_t* graph = hone_graph_of_text("", lines);
  hone_device_t* device;
  hone_program_t* program;
  hone_tensor_t* x;
  assert_ok(backend.open(0, &open, &device));
  assert_ok(hone_compile(graph, &backend, device, NULL, NULL, &program));
  assert_ok(hone_tensor_create(NULL, HONE_F32, 1, dims, &x));
  hone_status_t status = hone_program_run(program, &options, 1, &x, 1, out_y);
  hone_tensor_release(x);
  hone_program_destroy(program);
  backend.close(device);
  hone_graph_destroy(graph);
  return status;
}

/* Runs with the statement; the message has to have all of the words. */
static void assert_caught(const char* statement, const char* const* words) {
  crime = statement;
  hone_tensor_t* y = NULL;
  hone_status_t status = run(true, &y);
  assert_null(y);
  assert_int_equal(hone_status_code(status), HONE_INTERNAL);
  for (; *words; words++)
    if (!strstr(hone_status_message(status), *words))
      fail_msg("'%s' does not say '%s'", hone_status_message(status), *words);
  hone_status_free(status);
}

static void right_kernels_run(void** state) {
  (void)state;
  crime = "";
  hone_tensor_t *plain, *guarded;
  assert_ok(run(false, &plain));
  assert_ok(run(true, &guarded));
  assert_memory_equal(plain->data, guarded->data, plain->bytes);
  hone_tensor_release(plain);
  hone_tensor_release(guarded);
}

static void writes_beside_a_buffer_are_found(void** state) {
  (void)state;
  assert_caught("  ((volatile char*)buffers[1])[96] = 1;\n",
                (const char*[]){"wrote 1 bytes 0 bytes behind the end of its output", "kernel ",
                                "node ", NULL});
  assert_caught("  ((volatile int*)buffers[1])[-2] = 1;\n",
                (const char*[]){"wrote 4 bytes", "before the start of its output", NULL});
  assert_caught("  ((volatile char*)buffers[0])[-256] = 1;\n",
                (const char*[]){"256 bytes before the start of its input 'x'", NULL});
}

/* 96 bytes take 128; what is behind them is on no page. */
static void accesses_behind_a_buffer_are_stopped(void** state) {
  (void)state;
  assert_caught("  ((volatile char*)buffers[1])[128] = 1;\n",
                (const char*[]){"behind the end of its buffer 1", "kernel ", "node ", NULL});
  assert_caught("  ((volatile char*)buffers[0])[1000];\n",
                (const char*[]){"behind the end of its buffer 0", NULL});
  assert_caught("  ((volatile char*)buffers[0])[-8000];\n",
                (const char*[]){"before the start of its buffer 0", NULL});
  assert_caught("  ((volatile char*)8)[0];\n", (const char*[]){"far from all its buffers", NULL});
}

static void the_process_goes_on(void** state) {
  for (int i = 0; i < 20; i++)
    assert_caught("  ((volatile char*)buffers[0])[1 << 11] = 1;\n", (const char*[]){"node ", NULL});
  right_kernels_run(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_kernels_run),
      cmocka_unit_test(writes_beside_a_buffer_are_found),
      cmocka_unit_test(accesses_behind_a_buffer_are_stopped),
      cmocka_unit_test(the_process_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
