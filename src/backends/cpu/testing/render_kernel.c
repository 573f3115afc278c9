#include "backends/cpu/testing/render_kernel.h"

#include "backends/cpu/render.h"
#include "base/testing/test.h"
#include "hone/function.h"

void render_kernel_text(const hone_kernel_t* kernel, int lanes, const char* target,
                        hone_str_t* out_text) {
  hone_target_t parsed;
  hone_str_init(out_text, NULL);
  assert_ok(hone_target_parse(target, &parsed));
  assert_ok(hone_cpu_render(kernel, kernel->name, lanes, &parsed, out_text));
}

void render_kernel_run(const hone_kernel_t* kernel, const int64_t* sizes, int n,
                       hone_tensor_t** tensors) {
  hone_function_t* function;
  assert_ok(hone_function_build(NULL, kernel, "cpu", &function));
  assert_ok(hone_function_run(function, kernel->n_sizes, sizes, n, tensors));
  hone_function_destroy(function);
}
