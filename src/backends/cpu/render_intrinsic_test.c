/* Each intrinsic against the interpreter: on this machine where it has the
 * instructions, those of aarch64 under qemu; and refused by targets that have
 * them not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/render.h"
#include "backends/cpu/testing/render_kernel.h"
#include "backends/cpu/testing/render_program.h"
#include "base/float_convert.h"
#include "base/random.h"
#include "base/testing/fault.h"
#include "loop/interpret.h"
#include "loop/intrinsic.h"
#include "loop/nibbles.h"
#include "loop/slight.h"
#include "loop/text.h"
#include "runtime/packing.h"

enum { ROWS = 3, STEPS = 5, MOST = 64, TEXT = 2048 };

typedef struct row {
  const char* name;
  int lanes, group;
  hone_dtype_t a, b, c;
  const char *target, *other; /* one that has it, and one that has not */
  int part;                   /* rounds of the loop, where they are fewer than lanes */
} row_t;

static const row_t rows[] = {
    {"dot4_u8_i8_x16", 16, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni", "aarch64"},
    {"dot4_i8_u8_x16", 16, 4, HONE_I8, HONE_U8, HONE_I32, "x86-64-v4+vnni", "aarch64"},
    {"dot4_u8_i8_x8", 8, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64-v3+vnni", "aarch64"},
    {"dot4_i8_u8_x8", 8, 4, HONE_I8, HONE_U8, HONE_I32, "x86-64-v3+vnni", "aarch64"},
    {"dot4_u8_i8_x16", 16, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4", "aarch64"},
    {"dot4_i8_i8_x16", 16, 4, HONE_I8, HONE_I8, HONE_I32, "x86-64-v4", "aarch64"},
    {"dot4_u8_u8_x16", 16, 4, HONE_U8, HONE_U8, HONE_I32, "x86-64-v4", "aarch64"},
    {"dot4_u8_i8_x8", 8, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64-v3", "aarch64"},
    {"dot4_i8_i8_x8", 8, 4, HONE_I8, HONE_I8, HONE_I32, "x86-64-v3", "aarch64"},
    {"dot4_u8_u8_x8", 8, 4, HONE_U8, HONE_U8, HONE_I32, "x86-64-v3", "aarch64"},
    {"dot4_i8_u8_x8", 8, 4, HONE_I8, HONE_U8, HONE_I32, "x86-64-v3", "aarch64"},
    {"dot4_u8_i8_x4", 4, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64", "aarch64"},
    {"dot4_i8_i8_x4", 4, 4, HONE_I8, HONE_I8, HONE_I32, "x86-64", "aarch64"},
    {"dot4_u8_u8_x4", 4, 4, HONE_U8, HONE_U8, HONE_I32, "x86-64", "aarch64"},
    {"dot4_i8_u8_x4", 4, 4, HONE_I8, HONE_U8, HONE_I32, "x86-64", "aarch64"},
    {"dot2_i16_i16_x16", 16, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v4+vnni", "aarch64"},
    {"dot2_i16_i16_x16", 16, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v4", "aarch64"},
    {"dot2_i16_i16_x8", 8, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v3+vnni", "aarch64"},
    {"dot2_i16_i16_x8", 8, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v3", "aarch64"},
    {"dot2_i16_i16_x4", 4, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64", "aarch64"},
    {"dot4_u8_i8_x4", 8, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64-v3", "aarch64", 4},
    {"dot2_i16_i16_x8", 8, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v3", "aarch64", 2},
    {"dot2_i16_i16_x8", 8, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v3", "aarch64", 3},
    {"dot2_i16_i16_x4", 4, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64", "aarch64", 3},
    {"dot2_i16_i16_x8", 8, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v3", "aarch64", 4},
    {"dot2_i16_i16_x8", 8, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v3", "aarch64", 5},
    {"dot2_i16_i16_x16", 16, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v4", "aarch64", 6},
    {"dot2_i16_i16_x8", 8, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v3", "aarch64", 7},
    {"dot4_u8_i8_x16", 16, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni", "aarch64", 3},
    {"dot4_i8_i8_x16", 16, 4, HONE_I8, HONE_I8, HONE_I32, "x86-64-v4", "aarch64", 8},
    {"dot4_u8_u8_x8", 8, 4, HONE_U8, HONE_U8, HONE_I32, "x86-64-v3", "aarch64", 5},
    {"dot8_u8_i8_x8", 8, 8, HONE_U8, HONE_I8, HONE_I32, "x86-64-v3", "x86-64"},
    {"dot8_u8_i8_x16", 16, 8, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4", "aarch64"},
    {"dot16_i8_u4_x8", 8, 16, HONE_I8, HONE_U8, HONE_I32, "x86-64-v3", "x86-64"},
    {"dot32_i8_u4_x8", 8, 32, HONE_I8, HONE_U8, HONE_I32, "x86-64-v3", "x86-64"},
    {"dot32_i8_u4_x8", 8, 32, HONE_I8, HONE_U8, HONE_I32, "x86-64-v3+vnni", "x86-64"},
    {"dot16_i8_u4_x16", 16, 16, HONE_I8, HONE_U8, HONE_I32, "x86-64-v4+vnni", "aarch64"},
    {"dot32_i8_u4_x16", 16, 32, HONE_I8, HONE_U8, HONE_I32, "x86-64-v4", "aarch64"},
    {"dot32_i8_u4_x16", 16, 32, HONE_I8, HONE_U8, HONE_I32, "x86-64-v4+vnni", "aarch64"},
    {"dot16_i8_u4_x4", 4, 16, HONE_I8, HONE_U8, HONE_I32, "aarch64-dotprod", "aarch64"},
    {"dot32_i8_u4_x4", 4, 32, HONE_I8, HONE_U8, HONE_I32, "aarch64-dotprod", "aarch64"},
    {"dot4_u8_i8_x16", 16, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni", "aarch64", 11},
    {"dot4_i8_u8_x16", 16, 4, HONE_I8, HONE_U8, HONE_I32, "x86-64-v4+vnni", "aarch64", 8},
    {"dot2_i16_i16_x16", 16, 2, HONE_I16, HONE_I16, HONE_I32, "x86-64-v4+vnni", "aarch64", 7},
    {"dot3_apart_u8_i8_x16", 16, 3, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni", "x86-64-v4", 8},
    {"dot2_bf16_bf16_x16", 16, 2, HONE_BF16, HONE_BF16, HONE_F32, "x86-64-v4+bf16", "x86-64-v4", 8},
    {"dot2_apart_u8_i8_x16", 16, 2, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni", "x86-64-v4"},
    {"dot3_apart_u8_i8_x16", 16, 3, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni", "x86-64-v3+vnni"},
    {"dot3_apart_u8_i8_x16", 16, 3, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni+vbmi", "x86-64-v4"},
    {"dot4_apart_u8_i8_x16", 16, 4, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni", "x86-64-v4"},
    {"dot3_apart_u8_i8_x16", 16, 3, HONE_U8, HONE_I8, HONE_I32, "x86-64-v4+vnni", "x86-64-v4", 9},
    {"dot2_bf16_bf16_x16", 16, 2, HONE_BF16, HONE_BF16, HONE_F32, "x86-64-v4+bf16",
     "x86-64-v4+vnni"},
    {"dot2_apart_bf16_bf16_x16", 16, 2, HONE_BF16, HONE_BF16, HONE_F32, "x86-64-v4+bf16",
     "x86-64-v4+vnni"},
    {"dot3_apart_bf16_bf16_x16", 16, 3, HONE_BF16, HONE_BF16, HONE_F32, "x86-64-v4+bf16",
     "x86-64-v4"},
    {"dot3_apart_bf16_bf16_x16", 16, 3, HONE_BF16, HONE_BF16, HONE_F32, "x86-64-v4+bf16",
     "x86-64-v4", 9},
    {"dot4_apart_bf16_bf16_x16", 16, 4, HONE_BF16, HONE_BF16, HONE_F32, "x86-64-v4+bf16",
     "x86-64-v4"},
    {"dot2_bf16_bf16_x16", 16, 2, HONE_BF16, HONE_BF16, HONE_F32, "x86-64-v4+bf16",
     "x86-64-v4+vnni", 8},
    {"dot4_u8_i8_x4", 4, 4, HONE_U8, HONE_I8, HONE_I32, "aarch64-dotprod+i8mm", "aarch64"},
    {"dot4_i8_u8_x4", 4, 4, HONE_I8, HONE_U8, HONE_I32, "aarch64-dotprod+i8mm", "aarch64"},
    {"dot4_i8_i8_x4", 4, 4, HONE_I8, HONE_I8, HONE_I32, "aarch64-dotprod", "aarch64"},
    {"dot4_u8_u8_x4", 4, 4, HONE_U8, HONE_U8, HONE_I32, "aarch64-dotprod", "aarch64"},
    {"dot4_u8_i8_x4", 4, 4, HONE_U8, HONE_I8, HONE_I32, "aarch64-dotprod", "aarch64"},
    {"dot4_i8_u8_x4", 4, 4, HONE_I8, HONE_U8, HONE_I32, "aarch64-dotprod", "aarch64"},
    {"dot2_bf16_bf16_x4", 4, 2, HONE_BF16, HONE_BF16, HONE_F32, "aarch64-dotprod+bf16",
     "aarch64-dotprod"},
};

static int rounds_of(const row_t* row) { return row->part ? row->part : row->lanes; }

static bool is_slight(const row_t* row) { return row->group == HONE_SLIGHT_GROUP; }

/* The same of slight weights, [lanes, the numbers of all groups], as they are packed. */
static int print_slight(const row_t* row, char* text) {
  int lanes = row->lanes, numbers = STEPS * row->group;
  return snprintf(
      text, TEXT,
      "kernel dots {\n  input a: u8[%d, %d, 2, 4] = 0\n"
      "  input b: i8[%d, 2, %d, 4] = 1 constant slight 1 from [%d, %d] by 1*8 1*4 0*1 1*1\n"
      "  output out: i32[%d, %d] = 0\n  local acc: i32[%d]\n  for i in %d parallel {\n"
      "    for z in %d vector { acc[z] = i32(0) }\n    for s in %d reduction {\n"
      "      for lane in %d as %s { for h in 2 reduction { for k in 4 reduction {\n"
      "        acc[lane] += mul(cast.i32(a[i, s, h, k]), cast.i32(b[s, h, lane, k]))\n"
      "      } } }\n    }\n    for y in %d vector { out[i, y] = acc[y] }\n  }\n}\n",
      ROWS, STEPS, STEPS, lanes, lanes, numbers, ROWS, lanes, lanes, ROWS, lanes, STEPS, lanes,
      row->name, lanes);
}

static bool has_nibbles(const row_t* row) { return strstr(row->name, "_u4_") != NULL; }

/* The same of words of nibbles, [lanes, the numbers of all groups]. */
static int print_nibbles(const row_t* row, char* text) {
  int lanes = row->lanes, words = row->group / HONE_NIBBLES, numbers = STEPS * row->group;
  return snprintf(text, TEXT,
                  "kernel dots {\n  input a: i8[%d, %d, %d, 8] = 0\n"
                  "  input b: u8[%d, %d, %d, 8] = 1 constant nibbles from [%d, %d] by 1*%d 1*8 0*1 "
                  "1*1 nibbles\n"
                  "  output out: i32[%d, %d] = 0\n  local acc: i32[%d]\n  for i in %d parallel {\n"
                  "    for z in %d vector { acc[z] = i32(0) }\n    for s in %d reduction {\n"
                  "      for lane in %d as %s { for w in %d reduction { for k in 8 reduction {\n"
                  "        acc[lane] += mul(cast.i32(a[i, s, w, k]), cast.i32(b[s, w, lane, k]))\n"
                  "      } } }\n    }\n    for y in %d vector { out[i, y] = acc[y] }\n  }\n}\n",
                  ROWS, STEPS, words, STEPS, words, lanes, lanes, numbers, row->group, ROWS, lanes,
                  lanes, ROWS, lanes, STEPS, lanes, row->name, words, lanes);
}

static bool is_apart(const row_t* row) { return strstr(row->name, "_apart_") != NULL; }

/* The same of numbers of each lane's own, with room for `room` lanes of four weights. */
static int print_apart(const row_t* row, int room, char* text) {
  int rounds = rounds_of(row);
  const char *a = hone_dtype_name(row->a), *b = hone_dtype_name(row->b);
  const char* c = hone_dtype_name(row->c);
  return snprintf(text, TEXT,
                  "kernel dots {\n  input a: %s[%d, %d, %d, %d] = 0\n  input b: %s[%d, %d, 4] = 1\n"
                  "  output out: %s[%d, %d] = 0\n  local acc: %s[%d]\n  for i in %d parallel {\n"
                  "    for z in %d vector { acc[z] = %s(0) }\n    for s in %d reduction {\n"
                  "      for lane in %d as %s { for k in %d reduction {\n"
                  "        acc[lane] += mul(cast.%s(a[i, s, k, lane]), cast.%s(b[s, lane, k]))\n"
                  "      } }\n    }\n    for y in %d vector { out[i, y] = acc[y] }\n  }\n}\n",
                  a, ROWS, STEPS, row->group, rounds, b, STEPS, room, c, ROWS, rounds, c, rounds,
                  ROWS, rounds, c, STEPS, rounds, row->name, row->group, c, c, rounds);
}

/* out[i] = the sums over STEPS groups of row i, for each lane; b has `room` lanes. */
static hone_kernel_t* make_kernel_of(const row_t* row, int room) {
  char text[TEXT];
  int rounds = rounds_of(row);
  const char *a = hone_dtype_name(row->a), *b = hone_dtype_name(row->b);
  const char* c = hone_dtype_name(row->c);
  int n =
      is_slight(row)     ? print_slight(row, text)
      : has_nibbles(row) ? print_nibbles(row, text)
      : is_apart(row)
          ? print_apart(row, room, text)
          : snprintf(text, sizeof text,
                     "kernel dots {\n  input a: %s[%d, %d, %d] = 0\n  input b: %s[%d, %d, %d] = 1\n"
                     "  output out: %s[%d, %d] = 0\n  local acc: %s[%d]\n  for i in %d parallel {\n"
                     "    for z in %d vector { acc[z] = %s(0) }\n    for s in %d reduction {\n"
                     "      for lane in %d as %s { for k in %d reduction {\n"
                     "        acc[lane] += mul(cast.%s(a[i, s, k]), cast.%s(b[s, lane, k]))\n      "
                     "} }\n    }\n"
                     "    for y in %d vector { out[i, y] = acc[y] }\n  }\n}\n",
                     a, ROWS, STEPS, row->group, b, STEPS, room, row->group, c, ROWS, rounds, c,
                     rounds, ROWS, rounds, c, STEPS, rounds, row->name, row->group, c, c, rounds);
  assert_true(n > 0 && n < TEXT);
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, text, (size_t)n, &kernel));
  return kernel;
}

static hone_kernel_t* make_kernel(const row_t* row) { return make_kernel_of(row, row->lanes); }

typedef struct data {
  hone_tensor_t* tensors[3];
  char want[ROWS * MOST];
} data_t;

/* Elements of all values; floats that are not too small to be told from zero. */
static void fill(hone_tensor_t* tensor) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  char* to = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    uint32_t word = hone_random_u32(11, (uint64_t)i + (uint64_t)dtype * 1000);
    int64_t whole = dtype == HONE_I16 ? (int64_t)(word % 65536) - 32768 : word % 256;
    if (dtype == HONE_BF16)
      hone_from_double(dtype, ((double)word / 4294967296.0 - 0.5) * 4, true, to + 2 * i);
    else
      hone_store_i64(dtype, &whole, 1, to + i);
  }
}

/* Halves the numbers of a half of a group until they are slight. */
static void make_slight(int8_t* group, int half) {
  int above = 0, below = 0;
  for (int k = 0; k < HONE_SLIGHT_GROUP; k++) {
    if (hone_slight_half(k) != half) continue;
    *(group[k] > 0 ? &above : &below) += abs(group[k]);
  }
  if (above <= HONE_SLIGHT_MOST && below <= HONE_SLIGHT_MOST) return;
  for (int k = 0; k < HONE_SLIGHT_GROUP; k++)
    if (hone_slight_half(k) == half) group[k] /= 2;
  make_slight(group, half);
}

/* As large as slight weights can be, times bytes that are as large as they can be. */
static void fill_slight(data_t* data) {
  static const int8_t most[][HONE_SLIGHT_GROUP] = {{127, 1, -128, 0, 0, 0, 0, 0},
                                                   {64, 64, 32, 32, -64, -64, 32, 32},
                                                   {-128, 127, 0, 0, 0, 1, -127, -1}};
  int8_t* weights = hone_tensor_data(data->tensors[1]);
  for (int64_t i = 0; i < hone_tensor_count(data->tensors[1]); i += HONE_SLIGHT_GROUP) {
    if (i / HONE_SLIGHT_GROUP % 4)
      memcpy(weights + i, most[i / HONE_SLIGHT_GROUP % 3], sizeof *most);
    for (int half = 0; half < HONE_SLIGHT_HALVES; half++) make_slight(weights + i, half);
  }
  uint8_t* bytes = hone_tensor_data(data->tensors[0]);
  memset(bytes, UINT8_MAX, hone_tensor_bytes(data->tensors[0]) / ROWS);
}

/* Four bits of each number. */
static void fill_nibbles(data_t* data) {
  uint8_t* weights = hone_tensor_data(data->tensors[1]);
  for (int64_t i = 0; i < hone_tensor_count(data->tensors[1]); i++) weights[i] &= 15;
  memset(weights, 15, hone_tensor_bytes(data->tensors[1]) / 2);
  memset(hone_tensor_data(data->tensors[0]), INT8_MIN, hone_tensor_bytes(data->tensors[0]) / ROWS);
}

typedef hone_status_t (*pack_fn)(const hone_buffer_t*, const hone_tensor_t*,
                                 const hone_allocator_t*, hone_tensor_t**);

/* What the kernel, or the interpreter, reads instead of the tensor. */
static hone_tensor_t* laid_out(hone_kernel_t* kernel, hone_tensor_t* b, pack_fn pack) {
  hone_tensor_t* packed = b;
  if (kernel->buffers[1]->packing)
    assert_ok(pack(kernel->buffers[1], b, NULL, &packed));
  else
    hone_tensor_retain(b);
  return packed;
}

static data_t make_data(const row_t* row, hone_kernel_t* kernel) {
  data_t data;
  const int64_t a[] = {ROWS, STEPS, row->group, rounds_of(row)};
  const int64_t b[] = {STEPS, row->lanes, is_apart(row) ? 4 : row->group};
  const int64_t eights[] = {ROWS, STEPS, row->group / HONE_NIBBLES, HONE_NIBBLES};
  const int64_t fours[] = {ROWS, STEPS, 2, 4}, numbers[] = {row->lanes, STEPS * row->group};
  const int64_t out[] = {ROWS, rounds_of(row)};
  bool slight = is_slight(row), nibbles = has_nibbles(row), packs = slight || nibbles;
  int rank = packs || is_apart(row) ? 4 : 3;
  assert_ok(hone_tensor_create(NULL, row->a, rank,
                               slight    ? fours
                               : nibbles ? eights
                                         : a,
                               &data.tensors[0]));
  assert_ok(hone_tensor_create(NULL, row->b, packs ? 2 : 3, packs ? numbers : b, &data.tensors[1]));
  assert_ok(hone_tensor_create(NULL, row->c, 2, out, &data.tensors[2]));
  fill(data.tensors[0]);
  fill(data.tensors[1]);
  if (slight) fill_slight(&data);
  if (nibbles) fill_nibbles(&data);
  hone_tensor_t* packed = laid_out(kernel, data.tensors[1], hone_packing_lay_out);
  void* parameters[] = {hone_tensor_data(data.tensors[0]), hone_tensor_data(packed), data.want};
  assert_ok(hone_kernel_interpret(kernel, NULL, parameters));
  hone_tensor_release(packed);
  return data;
}

static void check(const row_t* row, const data_t* data, const void* got) {
  int count = ROWS * rounds_of(row);
  if (row->c == HONE_I32) {
    assert_memory_equal(got, data->want, (size_t)count * 4);
    return;
  }
  for (int i = 0; i < count; i++) {
    float x, y;
    memcpy(&x, (const char*)got + 4 * (size_t)i, 4);
    memcpy(&y, data->want + 4 * (size_t)i, 4);
    assert_true(fabsf(x - y) <= 1e-5f * (1 + fabsf(y)));
  }
}

static void release(data_t* data) {
  for (int i = 0; i < 3; i++) hone_tensor_release(data->tensors[i]);
}

/* ---- here ---- */

static void run_here(const row_t* row) {
  hone_kernel_t* kernel = make_kernel(row);
  data_t data = make_data(row, kernel);
  render_kernel_run(kernel, NULL, 3, data.tensors);
  check(row, &data, hone_tensor_data(data.tensors[2]));
  hone_kernel_destroy(kernel);
  release(&data);
}

static void intrinsics_of_this_machine_are_right(void** state) {
  (void)state;
  hone_target_t native;
  assert_ok(hone_target_parse("native", &native));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char* feature = hone_intrinsic_text(hone_intrinsic_find(rows[i].name), "cpu")->feature;
    if (hone_target_has(&native, feature) && rows[i].lanes * 4 == native.vector_bytes)
      run_here(&rows[i]);
    else
      print_message("%s not run here: %s has no %s of its vectors\n", rows[i].name, native.name,
                    feature);
  }
}

/* ---- elsewhere ---- */

static void run_elsewhere(const row_t* row, const test_folder_t* folder) {
  hone_target_t target;
  hone_kernel_t* kernel = make_kernel(row);
  data_t data = make_data(row, kernel);
  assert_ok(hone_target_parse(row->target, &target));
  hone_tensor_t* packed = laid_out(kernel, data.tensors[1], hone_packing_apply);
  const render_program_t program = {
      .kernel = kernel,
      .lanes = row->lanes,
      .rounds = ROWS,
      .target = &target,
      .n = 3,
      .tensors = {data.tensors[0], packed, data.tensors[2]},
  };
  render_program_run(&program, folder);
  check(row, &data, hone_tensor_data(data.tensors[2]));
  hone_tensor_release(packed);
  hone_kernel_destroy(kernel);
  release(&data);
}

static void intrinsics_of_aarch64_are_right(void** state) {
  (void)state;
  if (!render_program_has_aarch64()) skip();
  test_folder_t folder;
  test_folder_make(&folder);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strncmp(rows[i].target, "aarch64", 7) == 0) run_elsewhere(&rows[i], &folder);
  test_folder_remove(&folder);
}

/* Of another level of this machine than its best one. */
static void intrinsics_of_lower_levels_are_right(void** state) {
  (void)state;
  test_folder_t folder;
  test_folder_make(&folder);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    hone_target_t target;
    assert_ok(hone_target_parse(rows[i].target, &target));
    if (target.runs_here)
      run_elsewhere(&rows[i], &folder);
    else
      print_message("%s not run: this machine is no %s\n", rows[i].name, target.name);
  }
  test_folder_remove(&folder);
}

/* ---- refusals ---- */

static void targets_without_the_instruction_refuse(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    hone_kernel_t* kernel = make_kernel(&rows[i]);
    hone_target_t target;
    hone_str_t text;
    assert_ok(hone_target_parse(rows[i].other, &target));
    hone_str_init(&text, NULL);
    hone_status_t status = hone_cpu_render(kernel, "dots", rows[i].lanes, &target, &text);
    assert_int_equal(hone_status_code(status), HONE_UNSUPPORTED);
    assert_non_null(strstr(hone_status_message(status), rows[i].name));
    assert_non_null(strstr(hone_status_message(status), target.name));
    hone_status_free(status);
    hone_str_free(&text);
    hone_kernel_destroy(kernel);
  }
}

/* The lanes of no round read what is behind the last one's operand. */
static void parts_of_vectors_need_room(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    hone_target_t target;
    hone_str_t text;
    if (!rows[i].part) continue;
    hone_kernel_t* kernel = make_kernel_of(&rows[i], rows[i].part);
    assert_ok(hone_target_parse(rows[i].target, &target));
    hone_str_init(&text, NULL);
    hone_status_t status = hone_cpu_render(kernel, "dots", rows[i].lanes, &target, &text);
    assert_int_equal(hone_status_code(status), HONE_UNSUPPORTED);
    assert_non_null(strstr(hone_status_message(status), "vectors of another size"));
    hone_status_free(status);
    hone_str_free(&text);
    hone_kernel_destroy(kernel);
  }
}

static void every_intrinsic_is_tried(void** state) {
  (void)state;
  for (int i = 0; hone_intrinsic_at(i); i++) {
    bool found = !hone_intrinsic_text(hone_intrinsic_at(i), "cpu") ||
                 hone_intrinsic_at(i)->block.of; /* render_block_test.c */
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
      found |= strcmp(rows[k].name, hone_intrinsic_at(i)->name) == 0;
    assert_true(found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intrinsics_of_this_machine_are_right),
      cmocka_unit_test(intrinsics_of_aarch64_are_right),
      cmocka_unit_test(intrinsics_of_lower_levels_are_right),
      cmocka_unit_test(targets_without_the_instruction_refuse),
      cmocka_unit_test(parts_of_vectors_need_room),
      cmocka_unit_test(every_intrinsic_is_tried),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
