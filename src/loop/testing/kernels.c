/* Kernels that tests share. */
#include "loop/testing/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/random.h"
#include "loop/interpret.h"
#include "loop/text.h"

const hone_test_kernel_t hone_test_kernels[] = {
    {"matmul",
     "kernel matmul {\n"
     "  input a: f32[12, 20] = 0\n"
     "  input b: f32[20, 16] = 1 constant\n"
     "  output out: f32[12, 16] = 0\n"
     "  local acc: f32[]\n"
     "  for i in 12 {\n"
     "    for j in 16 {\n"
     "      acc[] = f32(0)\n"
     "      for k in 20 reduction {\n"
     "        acc[] += mul(a[i, k], b[k, j])\n"
     "      }\n"
     "      out[i, j] = max(acc[], f32(0))\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"matmul_bytes",
     "kernel matmul_bytes {\n"
     "  input a: u8[12, 20] = 0\n"
     "  input b: i8[40, 20] = 1 constant\n"
     "  output out: f32[12, 40] = 0\n"
     "  local acc: i32[]\n"
     "  for i in 12 {\n"
     "    for j in 40 {\n"
     "      acc[] = i32(0)\n"
     "      for k in 20 reduction {\n"
     "        acc[] += mul(cast.i32(a[i, k]), cast.i32(b[j, k]))\n"
     "      }\n"
     "      out[i, j] = cast.f32(acc[])\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"some_bytes",
     "kernel some_bytes {\n"
     "  input a: u8[12, 20] = 0\n"
     "  input b: i8[11, 20] = 1 constant\n"
     "  output out: f32[12, 11] = 0\n"
     "  local acc: i32[]\n"
     "  for i in 12 {\n"
     "    for j in 11 {\n"
     "      acc[] = i32(0)\n"
     "      for k in 20 reduction {\n"
     "        acc[] += mul(cast.i32(a[i, k]), cast.i32(b[j, k]))\n"
     "      }\n"
     "      out[i, j] = cast.f32(acc[])\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"matmul_slight",
     "kernel matmul_slight {\n"
     "  input a: u8[12, 24] = 0\n"
     "  input b: i8[40, 24] = 1 constant slight 1\n"
     "  output out: f32[12, 40] = 0\n"
     "  local acc: i32[]\n"
     "  for i in 12 {\n"
     "    for j in 40 {\n"
     "      acc[] = i32(0)\n"
     "      for k in 24 reduction {\n"
     "        acc[] += mul(cast.i32(a[i, k]), cast.i32(b[j, k]))\n"
     "      }\n"
     "      out[i, j] = cast.f32(acc[])\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"matmul_shorts",
     "kernel matmul_shorts {\n"
     "  input a: i16[12, 10] = 0\n"
     "  input b: i16[10, 40] = 1 constant\n"
     "  output out: i32[12, 40] = 0\n"
     "  local acc: i32[]\n"
     "  for i in 12 {\n"
     "    for j in 40 {\n"
     "      acc[] = i32(0)\n"
     "      for k in 10 reduction {\n"
     "        acc[] += mul(cast.i32(a[i, k]), cast.i32(b[k, j]))\n"
     "      }\n"
     "      out[i, j] = acc[]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"depthwise_bytes",
     "kernel depthwise_bytes {\n"
     "  input a: u8[6, 9, 24] = 0\n"
     "  input b: i8[24, 3, 3] = 1 constant\n"
     "  output out: i32[4, 7, 24] = 0\n"
     "  local acc: i32[]\n"
     "  for y in 4 {\n"
     "    for x in 7 {\n"
     "      for c in 24 {\n"
     "        acc[] = i32(0)\n"
     "        for i in 3 reduction {\n"
     "          for j in 3 reduction {\n"
     "            acc[] += mul(cast.i32(a[(y + i), (x + j), c]), cast.i32(b[c, i, j]))\n"
     "          }\n"
     "        }\n"
     "        out[y, x, c] = acc[]\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"few_shorts",
     "kernel few_shorts {\n"
     "  input a: i16[12, 10] = 0\n"
     "  input b: i16[10, 3] = 1 constant\n"
     "  output out: i32[12, 3] = 0\n"
     "  local acc: i32[]\n"
     "  for i in 12 {\n"
     "    for j in 3 {\n"
     "      acc[] = i32(0)\n"
     "      for k in 10 reduction {\n"
     "        acc[] += mul(cast.i32(a[i, k]), cast.i32(b[k, j]))\n"
     "      }\n"
     "      out[i, j] = acc[]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"matmul_sizes",
     "kernel matmul_sizes {\n"
     "  size m 1..100\n"
     "  size n 1..100\n"
     "  input a: f32[m, 6] = 0\n"
     "  input b: f32[n, 6] = 1\n"
     "  output out: f32[m, n] = 0\n"
     "  local acc: f32[]\n"
     "  for i in m {\n"
     "    for j in n {\n"
     "      acc[] = f32(0)\n"
     "      for k in 6 reduction {\n"
     "        acc[] += mul(a[i, k], b[j, k])\n"
     "      }\n"
     "      out[i, j] = acc[]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {7, 10}},
    {"conv",
     "kernel conv {\n"
     "  input x: f32[4, 9, 10] = 0\n"
     "  input w: f32[8, 4, 3, 3] = 1 constant\n"
     "  output out: f32[8, 9, 10] = 0\n"
     "  local acc: f32[]\n"
     "  for o in 8 {\n"
     "    for y in 9 {\n"
     "      for z in 10 {\n"
     "        acc[] = f32(0)\n"
     "        for c in 4 reduction {\n"
     "          for ky in 3 reduction {\n"
     "            for kx in 3 reduction {\n"
     "              %1 = and(lt(index(0), index(y + ky)), lt(index(y + ky), index(10)))\n"
     "              %2 = and(lt(index(0), index(z + kx)), lt(index(z + kx), index(11)))\n"
     "              %3 = x[c, min(max(y + ky - 1, 0), 8), min(max(z + kx - 1, 0), 9)]\n"
     "              acc[] += mul(select(and(%1, %2), %3, f32(0)), w[o, c, ky, kx])\n"
     "            }\n"
     "          }\n"
     "        }\n"
     "        out[o, y, z] = max(acc[], f32(0))\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"softmax",
     "kernel softmax {\n"
     "  input x: f32[5, 24] = 0\n"
     "  output out: f32[5, 24] = 0\n"
     "  local most: f32[]\n"
     "  local sum: f32[]\n"
     "  for i in 5 {\n"
     "    most[] = f32(-inf)\n"
     "    for j in 24 reduction {\n"
     "      most[] max= x[i, j]\n"
     "    }\n"
     "    sum[] = f32(0)\n"
     "    for k in 24 reduction {\n"
     "      sum[] += exp(sub(x[i, k], most[]))\n"
     "    }\n"
     "    for l in 24 {\n"
     "      out[i, l] = div(exp(sub(x[i, l], most[])), sum[])\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"concat",
     "kernel concat {\n"
     "  input x: f16[6, 10] = 0\n"
     "  input y: f16[6, 7] = 1\n"
     "  output out: f16[6, 20] = 0\n"
     "  for i in 6 {\n"
     "    for j in 20 {\n"
     "      %1 = select(lt(index(j), index(10)), x[i, min(j, 9)], y[i, min(max(j - 10, 0), 6)])\n"
     "      out[i, j] = mul(select(lt(index(j), index(17)), %1, f16(0.5)), f16(1.5))\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    /* A product in a place of its own for each element. */
    {"outer",
     "kernel outer {\n"
     "  input x: f32[6] = 0\n"
     "  input y: f32[8] = 1\n"
     "  output out: f32[6, 8] = 0\n"
     "  local acc: f32[]\n"
     "  for i in 6 {\n"
     "    for j in 8 {\n"
     "      acc[] = f32(0)\n"
     "      acc[] += mul(x[i], y[j])\n"
     "      out[i, j] = acc[]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"border",
     "kernel border {\n"
     "  size n 0..50\n"
     "  input x: f32[n] = 0\n"
     "  output out: f32[n + 3] = 0\n"
     "  for i in n {\n"
     "    out[i + 2] = neg(x[i])\n"
     "  }\n"
     "  for j in 2 {\n"
     "    out[j] = f32(0)\n"
     "  }\n"
     "  out[n + 2] = f32(0)\n"
     "}\n",
     {37}},
    {"sum_all",
     "kernel sum_all {\n"
     "  size n 0..1000\n"
     "  input x: i32[n, 8] = 0\n"
     "  output out: i32[] = 0\n"
     "  out[] = i32(0)\n"
     "  for i in n reduction {\n"
     "    for j in 8 reduction {\n"
     "      out[] += x[i, j]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {13}},
    {"two_nests",
     "kernel two_nests {\n"
     "  input x: f32[16, 12] = 0\n"
     "  output out: f32[16, 12] = 0\n"
     "  output total: f32[16] = 1\n"
     "  for i in 16 {\n"
     "    for j in 12 {\n"
     "      out[i, j] = tanh(x[i, j])\n"
     "    }\n"
     "  }\n"
     "  for p in 16 {\n"
     "    total[p] = f32(0)\n"
     "    for q in 12 reduction {\n"
     "      total[p] += out[p, q]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"quantized",
     "kernel quantized {\n"
     "  input a: u8[6, 24] = 0\n"
     "  input b: i8[24, 32] = 1 constant\n"
     "  output out: i32[6, 32] = 0\n"
     "  for i in 6 {\n"
     "    for j in 32 {\n"
     "      out[i, j] = i32(0)\n"
     "      for k in 24 reduction {\n"
     "        out[i, j] += mul(cast.i32(b[k, j]), cast.i32(a[i, k]))\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"two_sums",
     "kernel two_sums {\n"
     "  input x: i32[4, 8] = 0\n"
     "  output out: i32[4, 8] = 0\n"
     "  output total: i32[] = 1\n"
     "  for i in 4 {\n"
     "    for j in 8 {\n"
     "      out[i, j] = add(x[i, j], x[i, 0])\n"
     "    }\n"
     "  }\n"
     "  total[] = i32(0)\n"
     "  for k in 8 reduction {\n"
     "    total[] += x[0, k]\n"
     "  }\n"
     "}\n",
     {0}},
    {"gather",
     "kernel gather {\n"
     "  size n 0..50\n"
     "  input x: f32[10, 4] = 0\n"
     "  input at: i64[n] = 1\n"
     "  output out: f32[n, 4] = 0\n"
     "  error failed: i64[1]\n"
     "  checks 1\n"
     "  for i in n {\n"
     "    check 0 \"index out of range (Gather_3)\" lt(at[i], i64(10))\n"
     "    let row in 0..9 = max(min(at[i], i64(9)), i64(0))\n"
     "    for j in 4 {\n"
     "      out[i, j] = x[row, j]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {11}},
    {"lookup",
     "kernel lookup {\n"
     "  input x: f32[10, 4] = 0\n"
     "  input at: i64[6] = 1\n"
     "  output out: f32[6, 4] = 0\n"
     "  error failed: i64[1]\n"
     "  checks 1\n"
     "  for i in 6 {\n"
     "    for j in 4 {\n"
     "      check 0 \"index out of range (Gather_3)\" lt(at[i], i64(10))\n"
     "      let row in 0..9 = max(min(at[i], i64(9)), i64(0))\n"
     "      let column in 0..3 = rem(add(at[i], index(j)), i64(4))\n"
     "      out[i, j] = x[row, column]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"attention",
     "kernel attention {\n"
     "  input q: f32[2, 37, 5] = 0\n"
     "  input k: f32[2, 11, 5] = 1\n"
     "  input mask: f32[11] = 2\n"
     "  input v: f32[2, 11, 17] = 3\n"
     "  output out: f32[37, 2, 17] = 0\n"
     "  local score: f32[]\n"
     "  local row: f32[11]\n"
     "  local most: f32[]\n"
     "  local power: f32[11]\n"
     "  local all: f32[]\n"
     "  local sum: f32[]\n"
     "  for i in 37 {\n"
     "    for h in 2 {\n"
     "      for j in 11 {\n"
     "        score[] = f32(0)\n"
     "        for d in 5 reduction {\n"
     "          score[] += mul(q[h, i, d], k[h, j, d])\n"
     "        }\n"
     "        row[j] = add(mul(score[], f32(0.5)), mask[j])\n"
     "      }\n"
     "      most[] = f32(-inf)\n"
     "      for j1 in 11 reduction {\n"
     "        most[] max= row[j1]\n"
     "      }\n"
     "      for j2 in 11 {\n"
     "        power[j2] = exp(sub(row[j2], most[]))\n"
     "      }\n"
     "      all[] = f32(0)\n"
     "      for j3 in 11 reduction {\n"
     "        all[] += power[j3]\n"
     "      }\n"
     "      for e in 17 {\n"
     "        sum[] = f32(0)\n"
     "        for j4 in 11 reduction {\n"
     "          sum[] += mul(power[j4], v[h, j4, e])\n"
     "        }\n"
     "        out[i, h, e] = div(sum[], all[])\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {0}},
    {"attention_sizes",
     "kernel attention_sizes {\n"
     "  size n 1..80\n"
     "  size m 1..20\n"
     "  input q: f32[2, n, 5] = 0\n"
     "  input k: f32[2, m, 5] = 1\n"
     "  input mask: f32[m] = 2\n"
     "  input v: f32[2, m, 17] = 3\n"
     "  output out: f32[n, 2, 17] = 0\n"
     "  local score: f32[]\n"
     "  local row: f32[m]\n"
     "  local most: f32[]\n"
     "  local power: f32[m]\n"
     "  local all: f32[]\n"
     "  local sum: f32[]\n"
     "  for i in n {\n"
     "    for h in 2 {\n"
     "      for j in m {\n"
     "        score[] = f32(0)\n"
     "        for d in 5 reduction {\n"
     "          score[] += mul(q[h, i, d], k[h, j, d])\n"
     "        }\n"
     "        row[j] = add(mul(score[], f32(0.5)), mask[j])\n"
     "      }\n"
     "      most[] = f32(-inf)\n"
     "      for j1 in m reduction {\n"
     "        most[] max= row[j1]\n"
     "      }\n"
     "      for j2 in m {\n"
     "        power[j2] = exp(sub(row[j2], most[]))\n"
     "      }\n"
     "      all[] = f32(0)\n"
     "      for j3 in m reduction {\n"
     "        all[] += power[j3]\n"
     "      }\n"
     "      for e in 17 {\n"
     "        sum[] = f32(0)\n"
     "        for j4 in m reduction {\n"
     "          sum[] += mul(power[j4], v[h, j4, e])\n"
     "        }\n"
     "        out[i, h, e] = div(sum[], all[])\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {21, 7}},
};
const int hone_test_kernel_count = (int)TEST_COUNT(hone_test_kernels);

const hone_test_kernel_t* hone_test_kernel(const char* name) {
  for (int i = 0; i < hone_test_kernel_count; i++)
    if (strcmp(hone_test_kernels[i].name, name) == 0) return &hone_test_kernels[i];
  fail_msg("no kernel %s", name);
  return NULL;
}

hone_kernel_t* hone_test_kernel_make(const hone_test_kernel_t* kernel) {
  hone_kernel_t* made = NULL;
  assert_ok(hone_kernel_parse(NULL, kernel->text, strlen(kernel->text), &made));
  return made;
}

/* ---- running ---- */

static int64_t count_elements(const hone_buffer_t* buffer, const int64_t* symbols,
                              int64_t extents[HONE_MAX_BUFFER_RANK]) {
  int64_t count = 1;
  for (int i = 0; i < buffer->rank; i++) {
    extents[i] = hone_dim_eval(buffer->dims[i], symbols);
    count *= extents[i];
  }
  return count;
}

/* Which element of the array as the model has it is element `at`; -1: none. */
static int64_t unpacked(const hone_buffer_t* buffer, const int64_t* extents, int64_t at) {
  const hone_packing_t* packing = buffer->packing;
  if (!packing) return at;
  int64_t index[HONE_MAX_BUFFER_RANK] = {0}, flat = 0;
  for (int i = buffer->rank - 1; i >= 0; i--) {
    index[packing->axes[i].source] += at % extents[i] * packing->axes[i].stride;
    at /= extents[i];
  }
  for (int i = 0; i < packing->rank; i++) {
    if (index[i] >= packing->dims[i]) return -1;
    flat = flat * packing->dims[i] + index[i];
  }
  return flat;
}

/* Small numbers: quarters in [-2, 2), or indices in [0, 10). */
static void fill(const hone_buffer_t* buffer, const int64_t* extents, int64_t count, uint64_t seed,
                 char* data) {
  size_t size = hone_dtype_size(buffer->dtype);
  for (int64_t i = 0; i < count; i++) {
    int64_t from = unpacked(buffer, extents, i);
    uint32_t random = hone_random_u32(seed + (uint64_t)buffer->value, (uint64_t)from);
    double value =
        buffer->dtype == HONE_I64 ? (double)(random % 10) : (double)(random % 16) / 4 - 2;
    hone_from_double(buffer->dtype, from < 0 ? 0 : value, true, data + (size_t)i * size);
  }
}

static void append_result(hone_test_result_t* out, const hone_buffer_t* buffer, int64_t count,
                          const char* data) {
  out->values = realloc(out->values, (size_t)(out->count + count + 1) * sizeof *out->values);
  for (int64_t i = 0; i < count; i++)
    out->values[out->count + i] =
        hone_to_double(buffer->dtype, data + (size_t)i * hone_dtype_size(buffer->dtype));
  out->count += count;
}

hone_status_t hone_test_kernel_run(hone_kernel_t* kernel, const int64_t* sizes, uint64_t seed,
                                   hone_test_result_t* out) {
  enum { MAX_PARAMETERS = 8 };
  void* parameters[MAX_PARAMETERS] = {0};
  int64_t counts[MAX_PARAMETERS], extents[HONE_MAX_BUFFER_RANK];
  int n = 0;
  int64_t* symbols = calloc((size_t)hone_dims_symbol_count(kernel->dims) + 1, sizeof *symbols);
  for (int i = 0; i < kernel->n_sizes; i++)
    symbols[hone_dim_as_symbol(kernel->sizes[i])->id] = sizes[i];
  *out = (hone_test_result_t){0};
  for (; n < kernel->n_buffers && kernel->buffers[n]->role != HONE_ROLE_SCRATCH; n++) {
    const hone_buffer_t* buffer = kernel->buffers[n];
    counts[n] = count_elements(buffer, symbols, extents);
    parameters[n] = calloc((size_t)counts[n] + 64, hone_dtype_size(buffer->dtype));
    if (buffer->role == HONE_ROLE_INPUT) fill(buffer, extents, counts[n], seed, parameters[n]);
  }
  hone_status_t status = hone_kernel_interpret(kernel, sizes, parameters);
  for (int i = 0; i < n; i++) {
    if (kernel->buffers[i]->role == HONE_ROLE_OUTPUT)
      append_result(out, kernel->buffers[i], counts[i], parameters[i]);
    free(parameters[i]);
  }
  free(symbols);
  return status;
}

void hone_test_result_free(hone_test_result_t* result) {
  free(result->values);
  *result = (hone_test_result_t){0};
}

bool hone_test_result_agrees(const hone_test_result_t* a, const hone_test_result_t* b) {
  if (a->count != b->count) return false;
  for (int64_t i = 0; i < a->count; i++) {
    double x = a->values[i], y = b->values[i];
    if (x != y && !(fabs(x - y) <= 1e-4 * (1 + fabs(x)))) return false;
  }
  return true;
}
