/* Blocks of sums by matrix instructions against the interpreter: those of this machine, those of
 * aarch64 under qemu, and AMX with its tiles written in C, which refuse what the instructions
 * would. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/render.h"
#include "backends/cpu/testing/render_program.h"
#include "base/float_convert.h"
#include "base/random.h"
#include "base/testing/fault.h"
#include "loop/block.h"
#include "loop/interpret.h"
#include "loop/text.h"

enum { BLOCKS = 2 };

typedef struct block_case {
  const char *name, *target, *other; /* one that has it, and one that has not */
  hone_dtype_t a, b;
  int rows, vectors, steps;
  int rounds;     /* of a loop around that goes on with the same sums, and asks; 0: there is none */
  bool is_uneven; /* rows of sums begin with numbers of their own */
  int width;      /* rows of a line, of which a has one more; 0: there are no lines */
  int part;       /* lanes of a single vector; 0: all */
  enum { NUMBERS, ZEROS, MEMORY } start; /* what rows that are not uneven begin with */
} block_case_t;

#define AMX "x86-64-v4+vnni+bf16+amx"
#define I8MM "aarch64-dotprod+i8mm"
#define BF16 "aarch64-dotprod+bf16"

static const block_case_t cases[] = {
    {"block4_u8_i8_x16", AMX, "x86-64-v4+vnni+bf16", HONE_U8, HONE_I8, 32, 2, 32, 3},
    {"block4_u8_i8_x16", AMX, "x86-64-v4+vnni", HONE_U8, HONE_I8, 1, 1, 10, 0, true},
    {"block4_i8_u8_x16", AMX, "x86-64-v4+vnni+bf16", HONE_I8, HONE_U8, 19, 2, 24, 2, true},
    {"block4_i8_i8_x16", AMX, "x86-64-v4+vnni+bf16", HONE_I8, HONE_I8, 16, 2, 16},
    {"block4_u8_u8_x16", AMX, "x86-64-v4+vnni+bf16", HONE_U8, HONE_U8, 27, 1, 48},
    {"block2_bf16_bf16_x16", AMX, "x86-64-v4+vnni+bf16", HONE_BF16, HONE_BF16, 32, 2, 32, 2},
    {"block2_bf16_bf16_x16", AMX, "x86-64-v4+vnni+bf16", HONE_BF16, HONE_BF16, 17, 2, 16, 0, true},
    {"block2_bf16_bf16_x16", AMX, "x86-64-v4", HONE_BF16, HONE_BF16, 7, 1, 12},
    {"block2_bf16_bf16_x16", AMX, "x86-64-v4", HONE_BF16, HONE_BF16, 14, 2, 16, 3, false, 7},
    {"block4_u8_i8_x16", AMX, "x86-64-v4+vnni", HONE_U8, HONE_I8, 23, 1, 16, 0, true, 14},
    {"block2_bf16_bf16_x16", AMX, "x86-64-v4", HONE_BF16, HONE_BF16, 20, 1, 12, 2, false, 0, 8},
    {"block2_bf16_bf16_x16", AMX, "x86-64-v4", HONE_BF16, HONE_BF16, 31, 2, 16, 2, .start = ZEROS},
    {"block2_bf16_bf16_x16", AMX, "x86-64-v4", HONE_BF16, HONE_BF16, 18, 2, 16, 0, .start = MEMORY},
    {"block4_u8_i8_x16", AMX, "x86-64-v4+vnni", HONE_U8, HONE_I8, 5, 1, 16, 3, .start = MEMORY},
    {"block4_i8_i8_x16", AMX, "x86-64-v4+vnni", HONE_I8, HONE_I8, 9, 1, 16, 0, true, 0, 13},
    {"block4_u8_i8_x4", I8MM, "aarch64-dotprod", HONE_U8, HONE_I8, 8, 2, 6, 2},
    {"block4_u8_i8_x4", I8MM, "aarch64-dotprod+bf16", HONE_U8, HONE_I8, 5, 1, 2},
    {"block4_i8_i8_x4", I8MM, "aarch64-dotprod", HONE_I8, HONE_I8, 7, 2, 8},
    {"block4_i8_i8_x4", I8MM, "aarch64", HONE_I8, HONE_I8, 1, 2, 4},
    {"block4_u8_u8_x4", I8MM "+bf16", "aarch64-dotprod", HONE_U8, HONE_U8, 2, 1, 16},
    {"block2_bf16_bf16_x4", BF16, "aarch64-dotprod", HONE_BF16, HONE_BF16, 8, 2, 10},
    {"block2_bf16_bf16_x4", BF16, "aarch64-dotprod+i8mm", HONE_BF16, HONE_BF16, 3, 1, 4},
};

static bool is_amx(const block_case_t* c) { return strcmp(c->target, AMX) == 0; }
static int lanes_of(const block_case_t* c) { return is_amx(c) ? 16 : 4; }
static int used_lanes(const block_case_t* c) { return c->part ? c->part : lanes_of(c); }
static int group_of(const block_case_t* c) { return c->a == HONE_BF16 ? 2 : 4; }
static hone_dtype_t sums_of(const block_case_t* c) {
  return c->a == HONE_BF16 ? HONE_F32 : HONE_I32;
}

static int rounds_of(const block_case_t* c) { return c->rounds ? c->rounds : 1; }
static int rows_of_a(const block_case_t* c) {
  return c->width ? (c->rows + c->width - 1) / c->width * (c->width + 1) : c->rows;
}

/* What sums begin with: a vector after the other, for each row. */
static void put_start(hone_str_t* text, const block_case_t* c) {
  const char* sum = hone_dtype_name(sums_of(c));
  hone_str_appendf(text, "    for r in %d {\n", c->rows);
  for (int v = 0; v < c->vectors; v++) {
    hone_str_appendf(text, "      for z%d in %d vector { acc[r, %d, z%d] = ", v, used_lanes(c), v,
                     v);
    if (c->is_uneven)
      hone_str_appendf(text, "cast.%s(a[i, r, 0, 0]) }\n", sum);
    else if (c->start == MEMORY)
      hone_str_appendf(text, "start[0, 0, %d, z%d] }\n", v, v);
    else
      hone_str_appendf(text, "%s(%d) }\n", sum, c->start == ZEROS ? 0 : 3 + v);
  }
  hone_str_append(text, "    }\n");
}

/* Rows of a and lines of b with something beside them, which is not to be read. */
static hone_kernel_t* make_kernel(const block_case_t* c) {
  hone_str_t text;
  hone_kernel_t* kernel;
  const char *a = hone_dtype_name(c->a), *b = hone_dtype_name(c->b);
  const char* sum = hone_dtype_name(sums_of(c));
  int lanes = used_lanes(c), group = group_of(c), steps = rounds_of(c) * c->steps;
  hone_str_init(&text, NULL);
  hone_str_appendf(
      &text,
      "kernel blocks {\n  input a: %s[%d, %d, %d, %d] = 0\n  input b: %s[%d, %d, %d, %d] = 1\n"
      "  input start: %s[1, 1, %d, %d] = 2\n"
      "  output out: %s[%d, %d, %d, %d] = 0\n  local acc: %s[%d, %d, %d]\n"
      "  for i in %d parallel {\n",
      a, BLOCKS, rows_of_a(c), steps + 1, group, b, steps, c->vectors + 1, lanes, group, sum,
      c->vectors, lanes, sum, BLOCKS, c->rows, c->vectors, lanes, sum, c->rows, c->vectors, lanes,
      BLOCKS);
  put_start(&text, c);
  if (c->rounds)
    hone_str_appendf(&text,
                     "    for o in %d reduction {\n"
                     "      claim out[i, o, 0, 0]\n"
                     "      for q2 in 3 { prefetch b[o + q2, 0, 0, 0] }\n",
                     c->rounds);
  char step[32] = "s", row[48] = "y";
  if (c->width)
    snprintf(row, sizeof row, "(y / %d) * %d + y %% %d", c->width, c->width + 1, c->width);
  if (c->rounds) snprintf(step, sizeof step, "o * %d + s", c->steps);
  hone_str_appendf(
      &text,
      "    for s in %d reduction as %s { for y in %d { for w in %d { for l in %d {\n"
      "      for k in %d reduction {\n"
      "        acc[y, w, l] += mul(cast.%s(a[i, %s, %s, k]), cast.%s(b[%s, w, l, k]))\n"
      "      }\n    } } } }%s\n"
      "    for q in %d { for x in %d { for u in %d vector { out[i, q, x, u] = acc[q, x, u] } } }\n"
      "  }\n}\n",
      c->steps, c->name, c->rows, c->vectors, lanes, group, sum, row, step, sum, step,
      c->rounds ? " }" : "", c->rows, c->vectors, lanes);
  assert_false(text.failed);
  assert_ok(hone_kernel_parse(NULL, text.data, text.size, &kernel));
  hone_str_free(&text);
  return kernel;
}

/* ---- data ---- */

/* Elements of all values; floats that are not too small to be told from zero. */
static hone_tensor_t* make_tensor(hone_dtype_t dtype, const int64_t dims[4]) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, dtype, 4, dims, &tensor));
  char* to = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    uint32_t word = hone_random_u32(11, (uint64_t)i + (uint64_t)dtype * 1000);
    if (dtype == HONE_BF16 || dtype == HONE_F32)
      hone_from_double(dtype, ((double)word / 4294967296.0 - 0.5) * 4, true,
                       to + (int64_t)hone_dtype_size(dtype) * i);
    else
      to[i * (int64_t)hone_dtype_size(dtype)] = (char)word;
  }
  return tensor;
}

typedef struct data {
  hone_tensor_t *a, *b, *start, *out, *want;
} data_t;

static data_t make_data(const block_case_t* c, hone_kernel_t* kernel) {
  const int64_t a[] = {BLOCKS, rows_of_a(c), rounds_of(c) * c->steps + 1, group_of(c)};
  const int64_t b[] = {rounds_of(c) * c->steps, c->vectors + 1, used_lanes(c), group_of(c)};
  const int64_t out[] = {BLOCKS, c->rows, c->vectors, used_lanes(c)};
  const int64_t start[] = {1, 1, c->vectors, used_lanes(c)};
  data_t data = {make_tensor(c->a, a), make_tensor(c->b, b), make_tensor(sums_of(c), start),
                 make_tensor(sums_of(c), out), make_tensor(sums_of(c), out)};
  void* parameters[] = {hone_tensor_data(data.a), hone_tensor_data(data.b),
                        hone_tensor_data(data.start), hone_tensor_data(data.want)};
  assert_ok(hone_kernel_interpret(kernel, NULL, parameters));
  return data;
}

static void check(const data_t* data) {
  const float *got = hone_tensor_data(data->out), *want = hone_tensor_data(data->want);
  if (hone_tensor_dtype(data->out) == HONE_I32) {
    assert_memory_equal(got, want, hone_tensor_bytes(data->out));
    return;
  }
  for (int64_t i = 0; i < hone_tensor_count(data->out); i++)
    assert_true(fabsf(got[i] - want[i]) <= 2e-5f * (1 + fabsf(want[i])));
}

static void release(data_t* data) {
  hone_tensor_release(data->a);
  hone_tensor_release(data->b);
  hone_tensor_release(data->start);
  hone_tensor_release(data->out);
  hone_tensor_release(data->want);
}

/* ---- running ---- */

/* Tiles in C need no AVX-512: without it vectors of 64 bytes are made of what there is. */
static void use_vectors_of_here(hone_target_t* target) {
  hone_target_t host;
  assert_ok(hone_target_parse("x86-64-v4", &host));
  if (host.runs_here) return;
  assert_ok(hone_target_parse("x86-64-v3", &host));
  assert_true(host.n_flags < HONE_TARGET_FLAGS);
  memcpy(target->flags, host.flags, sizeof host.flags);
  target->flags[host.n_flags] = "-DHONE_AMX";
  target->n_flags = host.n_flags + 1;
}

static void run(const block_case_t* c, const char* before, const test_folder_t* folder) {
  hone_target_t target;
  hone_kernel_t* kernel = make_kernel(c);
  data_t data = make_data(c, kernel);
  assert_ok(hone_target_parse(c->target, &target));
  if (before) use_vectors_of_here(&target);
  const render_program_t program = {
      .kernel = kernel,
      .lanes = lanes_of(c),
      .rounds = BLOCKS,
      .target = &target,
      .before = before,
      .runs_here = before != NULL,
      .n = 4,
      .tensors = {data.a, data.b, data.start, data.out},
  };
  render_program_run(&program, folder);
  check(&data);
  hone_kernel_destroy(kernel);
  release(&data);
}

static void blocks_of_aarch64_are_right(void** state) {
  (void)state;
  test_folder_t folder;
  if (!render_program_has_aarch64()) skip();
  test_folder_make(&folder);
  for (size_t i = 0; i < TEST_COUNT(cases); i++)
    if (!is_amx(&cases[i])) run(&cases[i], NULL, &folder);
  test_folder_remove(&folder);
}

/* What the instructions of AMX do, by the manual; shapes that do not agree are a fault. */
static const char tiles_in_c[] =
    "#include <string.h>\n"
    "static unsigned char tile[8][16][64];\n"
    "static int tile_rows[8], tile_bytes[8];\n"
    "#define HONE_TILE_SHAPES(s) do { for (int i = 0; i < 8; i++) { tile_rows[i] = (s).rows[i]; "
    "\\\n"
    "  tile_bytes[i] = (s).bytes[i]; if ((s).palette != 1 || (s).first_row || tile_rows[i] > 16 || "
    "\\\n"
    "  tile_bytes[i] > 64 || !tile_rows[i] != !tile_bytes[i]) __builtin_trap(); } memset(tile, 0, "
    "sizeof tile); } while (0)\n"
    "#define HONE_TILE_RELEASE() memset(tile_rows, 0, sizeof tile_rows)\n"
    "#define HONE_TILE_CLEAR(t) memset(tile[t], 0, sizeof tile[t])\n"
    "#define HONE_TILE_LOAD(t, from, step) for (int i = 0; i < tile_rows[t]; i++) \\\n"
    "  memcpy(tile[t][i], (const char*)(from) + i * (step), tile_bytes[t])\n"
    "#define HONE_TILE_STORE(t, to, step) for (int i = 0; i < tile_rows[t]; i++) \\\n"
    "  memcpy((char*)(to) + i * (step), tile[t][i], tile_bytes[t])\n"
    "static int whole(char sign, unsigned char x) { return sign == 's' ? (signed char)x : x; }\n"
    "static float real(const unsigned char* p) {\n"
    "  unsigned x = (unsigned)p[1] << 24 | (unsigned)p[0] << 16; float f; memcpy(&f, &x, 4);\n"
    "  return f; }\n"
    "static void add(const char* name, unsigned char* c, const unsigned char* a,\n"
    "                const unsigned char* b) {\n"
    "  int sum; float real_sum;\n"
    "  memcpy(&sum, c, 4); memcpy(&real_sum, c, 4);\n"
    "  for (int i = 0; i < 4; i++) sum += whole(name[4], a[i]) * whole(name[5], b[i]);\n"
    "  for (int i = 0; i < 4; i += 2) real_sum += real(a + i) * real(b + i);\n"
    "  memcpy(c, strcmp(name, \"tdpbf16ps\") ? (void*)&sum : (void*)&real_sum, 4); }\n"
    "static void dot(const char* name, int c, int a, int b) {\n"
    "  if (!tile_rows[c] || tile_rows[a] != tile_rows[c] || tile_bytes[b] != tile_bytes[c] ||\n"
    "      tile_bytes[a] != 4 * tile_rows[b]) __builtin_trap();\n"
    "  for (int m = 0; m < tile_rows[c]; m++) for (int k = 0; k < tile_rows[b]; k++)\n"
    "    for (int n = 0; n < tile_bytes[c] / 4; n++)\n"
    "      add(name, tile[c][m] + 4 * n, tile[a][m] + 4 * k, tile[b][k] + 4 * n); }\n"
    "#define HONE_TILE_DOT(name, c, a, b) dot(name, c, a, b)\n";

static void blocks_of_amx_are_right(void** state) {
  (void)state;
  hone_target_t vectors, tiles;
  test_folder_t folder;
  assert_ok(hone_target_parse("x86-64-v3", &vectors));
  assert_ok(hone_target_parse(AMX, &tiles));
  if (!vectors.runs_here) {
    print_message("not run: this machine has no AVX2, which stands around tiles\n");
    skip();
  }
  if (!tiles.runs_here) print_message("tiles are in C: this machine has no AMX\n");
  test_folder_make(&folder);
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    if (!is_amx(&cases[i])) continue;
    run(&cases[i], tiles_in_c, &folder);
    if (tiles.runs_here) run(&cases[i], NULL, &folder);
  }
  test_folder_remove(&folder);
}

/* Whatever asks for memory in between. */
static void sums_of_amx_stay_in_tiles(void** state) {
  (void)state;
  hone_target_t target;
  assert_ok(hone_target_parse(AMX, &target));
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    if (!is_amx(&cases[i])) continue;
    hone_kernel_t* kernel = make_kernel(&cases[i]);
    hone_str_t text;
    hone_str_init(&text, NULL);
    assert_ok(hone_cpu_render(kernel, "blocks", lanes_of(&cases[i]), &target, &text));
    const char* kernel_begin = strstr(hone_str_text(&text), "void blocks(");
    assert_non_null(kernel_begin);
    const char* begins = cases[i].start == ZEROS ? "hone_amx_clear(" : "hone_amx_open(";
    const char *open = strstr(kernel_begin, begins), *dot = strstr(kernel_begin, "hone_amx_");
    const char* ask = strstr(kernel_begin, "__builtin_prefetch(");
    assert_ptr_equal(open, dot);
    const char* store = strstr(kernel_begin, "hone_store_");
    assert_true(cases[i].start != NUMBERS ? store > open : store < open);
    assert_true(cases[i].rounds ? ask && open < ask : !ask);
    hone_str_free(&text);
    hone_kernel_destroy(kernel);
  }
}

/* ---- refusals ---- */

static void targets_without_the_instruction_refuse(void** state) {
  (void)state;
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    hone_kernel_t* kernel = make_kernel(&cases[i]);
    hone_target_t target;
    hone_str_t text;
    assert_ok(hone_target_parse(cases[i].other, &target));
    hone_str_init(&text, NULL);
    hone_status_t status = hone_cpu_render(kernel, "blocks", lanes_of(&cases[i]), &target, &text);
    assert_int_equal(hone_status_code(status), HONE_UNSUPPORTED);
    assert_non_null(strstr(hone_status_message(status), cases[i].name));
    assert_non_null(strstr(hone_status_message(status), target.name));
    hone_status_free(status);
    hone_str_free(&text);
    hone_kernel_destroy(kernel);
  }
}

static void every_block_is_tried(void** state) {
  (void)state;
  for (int i = 0; hone_intrinsic_at(i); i++) {
    bool found = !hone_intrinsic_at(i)->block.of;
    for (size_t k = 0; k < TEST_COUNT(cases); k++)
      found |= strcmp(cases[k].name, hone_intrinsic_at(i)->name) == 0;
    assert_true(found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_of_aarch64_are_right),
      cmocka_unit_test(blocks_of_amx_are_right),
      cmocka_unit_test(sums_of_amx_stay_in_tiles),
      cmocka_unit_test(targets_without_the_instruction_refuse),
      cmocka_unit_test(every_block_is_tried),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
