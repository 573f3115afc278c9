/* The CPU's schedules keep what kernels compute: random graphs for several shapes of machine, and
 * what the recipes make of the nests they are for. */
#include "backends/common/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/str.h"
#include "passes/testing/random_graph.h"

enum { GRAPHS = 60, NODES = 25 };

static void check_graph(uint64_t seed) {
  free(test_schedule_run(test_random_graph(seed, NODES), test_random_graph(seed, NODES), seed));
}

static void schedules_keep_results(void** state) {
  static const hone_cpu_shape_t shapes[] = {{8, 16}, {16, 32}, {4, 32}, {2, 8}};
  for (uint64_t seed = 0; seed < GRAPHS; seed++) {
    test_schedule_shape = shapes[seed % 4];
    check_graph(seed);
  }
}

static void any_choice_keeps_results(void** state) {
  static const hone_cpu_shape_t shapes[] = {{8, 16}, {16, 32}, {4, 32}, {2, 8}};
  for (uint64_t seed = 0; seed < GRAPHS; seed++) {
    uint32_t bits = hone_random_u32(seed, 77), more = hone_random_u32(seed, 78);
    test_schedule_shape = shapes[seed % 4];
    test_schedule_choice = (hone_cpu_choice_t){.rows = 1 + (int)(bits % 7),
                                               .vectors = 1 + (int)(bits >> 4) % 3,
                                               .lanes_of_weights = bits >> 28 & 1,
                                               .order = (hone_lanes_order_t)((bits >> 8) % 3),
                                               .innermost = (int)(bits >> 12) % 4,
                                               .sum_unroll = 1 << (bits >> 16) % 3,
                                               .block = (int)(bits >> 20) % 3 * 4,
                                               .no_pack = more & 1,
                                               .no_tile = more % 8 == 2,
                                               .unroll = 1 << (more >> 4) % 3,
                                               .no_columns = more >> 8 & 1,
                                               .no_lanes = more % 16 == 3,
                                               .parallel = (int)(more >> 12) % 4 - 1};
    check_graph(1000 + seed);
  }
  test_schedule_choice = (hone_cpu_choice_t){0};
}

/* ---- what the recipes make of the nests they are for ---- */

static int64_t second_cache; /* of what is scheduled for */
static int registers = 16;
static int lanes = 8;
static bool has_blocks;
static int threads; /* 0: it does not matter how many */

static char* scheduled(const char* symbols, const char* lines) {
  test_schedule_shape = (hone_cpu_shape_t){.lanes = lanes,
                                           .registers = registers,
                                           .threads = threads,
                                           .second_cache = second_cache,
                                           .has_dot4 = lanes == 16 || has_blocks,
                                           .has_dot2_bf16 = lanes == 16 || has_blocks,
                                           .has_block_int8 = has_blocks,
                                           .has_block_bf16 = has_blocks};
  return test_schedule_run(hone_graph_of_text(symbols, lines), hone_graph_of_text(symbols, lines),
                           1);
}

static void a_product_is_tiled(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[12, 40]\n"
                         "  %1 \"w\" = input : f32[40, 48]\n"
                         "  %2 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 : f32[12, 48]\n"
                         "  return %2 \"y\"\n");
  test_schedule_expect(text, 4,
                       (const char* const[]){"vector", "unroll", "distribute", "parallel"});
  free(text);
}

/* So many numbers, parted by commas, which repeat after `period`. */
static void append_numbers(hone_str_t* lines, int count, int period) {
  for (int i = 0; i < count; i++) hone_str_appendf(lines, "%s%d", i ? ", " : "", i % period);
}

static char* schedule_many_weights(int on) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines, "  %0 \"x\" = input : f32[49, 8]\n  %1 = constant {");
  append_numbers(&lines, 8 * 96, 7);
  hone_str_append(&lines,
                  "} : f32[8, 96]\n"
                  "  %2 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 : f32[49, 96]\n"
                  "  return %2 \"y\"\n");
  threads = on;
  char* text = scheduled("", hone_str_text(&lines));
  threads = 0;
  hone_str_free(&lines);
  return text;
}

/* Two threads have about as many rows each, and go through all lanes; of more threads each has
 * lanes of its own. */
static void few_threads_share_rows_beside_many_weights(void** state) {
  char* text = schedule_many_weights(2);
  test_schedule_expect(
      text, 4, (const char* const[]){"balance i 25", "i.b25.o_i1.o", "i.b24.o_i1.o", "parallel"});
  free(text);
  text = schedule_many_weights(16);
  assert_null(strstr(text, "balance"));
  free(text);
}

static void weights_are_packed(void** state) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines, "  %0 \"x\" = input : f32[12, 10]\n  %1 = constant {");
  append_numbers(&lines, 240, 7);
  hone_str_append(&lines,
                  "} : f32[24, 10]\n"
                  "  %2 = contract %0 %1 dtype=f32 axes=[1, 1] batch=0 : f32[12, 24]\n"
                  "  return %2 \"y\"\n");
  char* text = scheduled("", hone_str_text(&lines));
  test_schedule_expect(text, 2, (const char* const[]){"vector", "pack in1 0/"});
  free(text);
  hone_str_free(&lines);
}

/* Three channels in front, steps of two: the compiler keeps what the next row sees again. */
static void windows_that_overlap_leave_registers_for_it(void** state) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines,
                  "  %0 \"x\" = input : f32[1, 3, 9, 25]\n"
                  "  %1 = window %0 axes=[2, 3] shape=[3, 3] hi=[1, 1] step=[2, 2]"
                  " : f32[1, 3, 4, 12, 3, 3]\n"
                  "  %2 = constant {");
  append_numbers(&lines, 864, 7);
  hone_str_append(&lines,
                  "} : f32[32, 3, 3, 3]\n"
                  "  %3 = contract %1 %2 dtype=f32 axes=[1, 1, 4, 2, 5, 3] batch=0"
                  " : f32[1, 4, 12, 32]\n"
                  "  return %3 \"y\"\n");
  char* text = scheduled("", hone_str_text(&lines));
  test_schedule_expect(text, 2, (const char* const[]){"f32[4, 16]", "in 3 unroll reduction"});
  free(text);
  hone_str_free(&lines);
}

/* Convolutions of three channels, windows of three rows and 2 apart, with AVX-512: of what x is
 * turned into, and weights of 32 times so many. */
static void expect_tiles_of_eight(const char* turned, int weights, const char* sums,
                                  const char* instruction) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_appendf(&lines, "%s  %%3 = constant {", turned);
  append_numbers(&lines, 32 * weights, 7);
  hone_str_append(&lines, sums);
  lanes = 16;
  registers = 32;
  char* text = scheduled("", hone_str_text(&lines));
  lanes = 8;
  registers = 16;
  test_schedule_expect(text, 2, (const char* const[]){"32[8, 32]", instruction});
  free(text);
  hone_str_free(&lines);
}

/* So do pairs of columns that are as far apart as rows. */
static void windows_of_pairs_do_too(void** state) {
  expect_tiles_of_eight(
      "  %0 \"x\" = input : f32[1, 3, 5, 58]\n"
      "  %1 = cast %0 dtype=bf16 : bf16[1, 3, 5, 58]\n"
      "  %2 = window %1 axes=[2, 3] shape=[3, 4] hi=[1, 1] step=[2, 2]"
      " : bf16[1, 3, 2, 28, 3, 4]\n",
      3 * 3 * 4,
      "} : bf16[32, 3, 3, 4]\n"
      "  %4 = contract %2 %3 dtype=f32 axes=[1, 1, 4, 2, 5, 3] batch=0"
      " : f32[1, 2, 28, 32]\n"
      "  return %4 \"y\"\n",
      "as dot2_bf16_bf16_x16");
}

/* So do fours of columns that are twice as far apart as rows. */
static void windows_of_fours_do_too(void** state) {
  expect_tiles_of_eight(
      "  %0 \"x\" = input : i32[1, 3, 5, 62]\n"
      "  %1 = cast %0 dtype=u8 : u8[1, 3, 5, 62]\n"
      "  %2 = window %1 axes=[2, 3] shape=[3, 8] hi=[1, 1] step=[2, 2]"
      " : u8[1, 3, 2, 28, 3, 8]\n",
      3 * 3 * 8,
      "} : i8[32, 3, 3, 8]\n"
      "  %4 = contract %2 %3 dtype=i32 axes=[1, 1, 4, 2, 5, 3] batch=0"
      " : i32[1, 2, 28, 32]\n"
      "  return %4 \"y\"\n",
      "as dot4_u8_i8_x16");
}

/* 37 rows of 128 numbers by columns, of these types. */
static char* scheduled_narrow_product(const char* from, const char* a, const char* b,
                                      const char* sum, int columns) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_appendf(&lines,
                   "  %%0 \"x\" = input : %s[37, 128]\n"
                   "  %%1 = cast %%0 dtype=%s : %s[37, 128]\n  %%2 = constant {",
                   from, a, a);
  append_numbers(&lines, 128 * columns, 7);
  hone_str_appendf(&lines,
                   "} : %s[128, %d]\n"
                   "  %%3 = contract %%1 %%2 dtype=%s axes=[1, 0] batch=0 : %s[37, %d]\n"
                   "  return %%3 \"y\"\n",
                   b, columns, sum, sum, columns);
  char* text = scheduled("", hone_str_text(&lines));
  hone_str_free(&lines);
  return text;
}

/* Tiles are as high and wide as the instructions take, and the sum goes to them as it is. What they
 * ask for comes in streams: each round's share is a line of each. */
static void matrix_instructions_add_to_blocks(void** state) {
  static const struct {
    int lanes;
    const char *from, *a, *b, *sum, *lines[3];
  } cases[] = {
      {16,
       "i32",
       "u8",
       "i8",
       "i32",
       {"i32[21, 32]", "k.o.i in 16 reduction as block4_u8_i8_x16", "in 21 {"}},
      {16, "i32", "u8", "u8", "i32", {"i32[16, 16]", "as block4_u8_u8_x16", "in 16 {"}},
      {16,
       "f32",
       "bf16",
       "bf16",
       "f32",
       {"f32[21, 16]",
        "for ask in 16 {\n          prefetch in1[(i1.o + 1), 0, 0, (128*i.o + 32*k.o.o + 256*ask)]",
        "k.o.i in 16 reduction as block2_bf16_bf16_x16"}},
      {4, "i32", "u8", "i8", "i32", {"i32[8, 8]", "in 32 reduction as block4_u8_i8_x4", "in 8 {"}},
      {4, "f32", "bf16", "bf16", "f32", {"f32[8, 8]", "as block2_bf16_bf16_x4", "in 2 {"}},
  };
  has_blocks = true;
  registers = 32;
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    lanes = cases[i].lanes;
    char* text = scheduled_narrow_product(cases[i].from, cases[i].a, cases[i].b, cases[i].sum, 48);
    test_schedule_expect(text, 3, cases[i].lines);
    free(text);
  }
  has_blocks = false;
  registers = 16;
  lanes = 8;
}

/* Behind whole vectors of lanes half of one, in tiles of its own; less than that goes with vectors.
 */
static void matrix_instructions_do_part_of_a_vector(void** state) {
  (void)state;
  has_blocks = true;
  registers = 32;
  lanes = 16;
  char *half = scheduled_narrow_product("f32", "bf16", "bf16", "f32", 40),
       *less = scheduled_narrow_product("f32", "bf16", "bf16", "f32", 20);
  test_schedule_expect(half, 3, (const char* const[]){"f32[21, 32]", "f32[21, 8]", "in 8 {"});
  test_schedule_expect(less, 1, (const char* const[]){"as dot2_bf16_bf16_x16"});
  assert_null(strstr(half, "as dot2"));
  assert_null(strstr(less, "as block2"));
  free(half);
  free(less);
  has_blocks = false;
  registers = 16;
  lanes = 8;
}

/* What a tile writes is asked for between instructions, and never inside of one. */
static void tiles_of_instructions_claim_what_they_write(void** state) {
  (void)state;
  has_blocks = true;
  registers = 32;
  second_cache = 1 << 10;
  lanes = 16;
  char* text = scheduled_narrow_product("f32", "bf16", "bf16", "f32", 48);
  test_schedule_expect(text, 2,
                       (const char* const[]){"claim out0",
                                             "in 16 reduction as block2_bf16_bf16_x16 {\n"
                                             "          for i.i.1 in 21 {"});
  free(text);
  has_blocks = false;
  registers = 16;
  second_cache = 0;
  lanes = 8;
}

/* 3 x 3 windows of so many lines of so many pixels. */
static char* scheduled_lines(int lines_of_image, int pixels) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_appendf(&lines,
                   "  %%0 \"x\" = input : i32[1, %d, %d, 64]\n"
                   "  %%1 = cast %%0 dtype=u8 : u8[1, %d, %d, 64]\n"
                   "  %%2 = window %%1 axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1]"
                   " : u8[1, %d, %d, 64, 3, 3]\n  %%3 = constant {",
                   lines_of_image + 2, pixels + 2, lines_of_image + 2, pixels + 2, lines_of_image,
                   pixels);
  append_numbers(&lines, 32 * 64 * 9, 7);
  hone_str_appendf(&lines,
                   "} : i8[32, 64, 3, 3]\n"
                   "  %%4 = contract %%2 %%3 dtype=i32 axes=[3, 1, 4, 2, 5, 3] batch=0"
                   " : i32[1, %d, %d, 32]\n"
                   "  return %%4 \"y\"\n",
                   lines_of_image, pixels);
  test_schedule_choice.order = HONE_LANES_ORDER_FIRST;
  char* text = scheduled("", hone_str_text(&lines));
  test_schedule_choice = (hone_cpu_choice_t){0};
  hone_str_free(&lines);
  return text;
}

/* Two lines of few pixels go together, the last of an odd number with the one before; four of so
 * few that an instruction does two, and has sums for what lies between. */
static void matrix_instructions_do_two_lines(void** state) {
  (void)state;
  has_blocks = true;
  registers = 32;
  lanes = 16;
  char *even = scheduled_lines(6, 10), *odd = scheduled_lines(5, 10), *four = scheduled_lines(7, 7);
  test_schedule_expect(even, 2, (const char* const[]){"i32[20, 32]", "as block4_u8_i8_x16"});
  test_schedule_expect(odd, 3,
                       (const char* const[]){"i32[20, 32]", "w.o in 3", "as block4_u8_i8_x16"});
  test_schedule_expect(four, 3,
                       (const char* const[]){"i32[4, 9, 32]", "w.o in 2", "as block4_u8_i8_x16"});
  free(even);
  free(odd);
  free(four);
  has_blocks = false;
  registers = 16;
  lanes = 8;
}

static void few_outputs_are_summed_in_lanes(void** state) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines,
                  "  %0 \"x\" = input : f32[5, 9, 32]\n"
                  "  %1 = window %0 axes=[1] shape=[3] hi=[1] step=[1] : f32[5, 7, 32, 3]\n"
                  "  %2 = constant {");
  append_numbers(&lines, 96, 7);
  hone_str_append(&lines,
                  "} : f32[1, 32, 3]\n"
                  "  %3 = contract %1 %2 dtype=f32 axes=[2, 1, 3, 2] batch=0 : f32[5, 7, 1]\n"
                  "  return %3 \"y\"\n");
  char* text = scheduled("", hone_str_text(&lines));
  test_schedule_expect(text, 4,
                       (const char* const[]){"vector", "rfactor", "pack in1 0 2 1", "fuse k"});
  free(text);
  hone_str_free(&lines);
}

/* A product of so many rows with weights for so many outputs, and what `tail` makes of it. */
static char* scheduled_product(int rows, int outputs, const char* tail) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_appendf(&lines, "  %%0 \"x\" = input : f32[%d, 10]\n  %%1 = constant {", rows);
  append_numbers(&lines, 10 * outputs, 7);
  hone_str_appendf(&lines,
                   "} : f32[%d, 10]\n"
                   "  %%2 = contract %%0 %%1 dtype=f32 axes=[1, 1] batch=0 : f32[%d, %d]\n%s",
                   outputs, rows, outputs, tail);
  char* text = scheduled("", hone_str_text(&lines));
  hone_str_free(&lines);
  return text;
}

static char* scheduled_outputs(int outputs, const char* tail) {
  return scheduled_product(12, outputs, tail);
}

static void outputs_that_fill_no_vector_share_one(void** state) {
  static const int outputs[] = {3, 5, 9, 17, 20, 27};
  for (size_t i = 0; i < TEST_COUNT(outputs); i++) {
    char* text = scheduled_outputs(outputs[i], "  return %2 \"y\"\n");
    test_schedule_expect(text, 2, (const char* const[]){"pack in1 0/", " vector {"});
    if (strstr(text, "local acc: f32[]")) fail_msg("sums one by one in:\n%s", text);
    free(text);
  }
}

/* Threads get rows of their own: all lanes of a block of rows, those that blocks of lanes leave
 * over too, and of few weights even where there are more of them than data. */
static void rows_go_by_blocks(void** state) {
  static const struct {
    int rows, outputs;
    const char* words[2];
  } cases[] = {{784, 17, {"exact", "merge"}}, {196, 256, {" 14 exact", "in 14 parallel"}}};
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    char* text = scheduled_product(cases[i].rows, cases[i].outputs, "  return %2 \"y\"\n");
    test_schedule_expect(text, 2, cases[i].words);
    const char* first = strstr(text, " parallel {");
    if (!first || strstr(first + 1, " parallel {")) fail_msg("not one parallel loop in:\n%s", text);
    free(text);
  }
}

/* 101 rows are no whole tiles, and a lane that is left over goes through them outside of all loops:
 * threads share the nests all the same. */
static void rows_left_over_at_the_top_leave_threads_their_share(void** state) {
  char* text = scheduled_product(101, 17, "  return %2 \"y\"\n");
  const char* first = strstr(text, " parallel {");
  if (!first || !strstr(first + 1, " parallel {")) fail_msg("a nest that is not shared:\n%s", text);
  free(text);
}

/* Weights of a batch, which two loops of the output count. */
static void weights_of_a_cut_batch_are_packed(void** state) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines, "  %0 \"x\" = input : f32[2, 6, 3, 2]\n  %1 = constant {");
  append_numbers(&lines, 384, 7);
  hone_str_append(&lines,
                  "} : f32[12, 16, 2]\n"
                  "  %2 = reshape %0 shape=[12, 3, 2] : f32[12, 3, 2]\n"
                  "  %3 = contract %2 %1 dtype=f32 axes=[0, 0, 2, 2] batch=1 : f32[12, 3, 16]\n"
                  "  %4 = reshape %3 shape=[2, 6, 3, 16] : f32[2, 6, 3, 16]\n"
                  "  %5 = permute %4 axes=[0, 2, 1, 3] : f32[2, 3, 6, 16]\n"
                  "  return %5 \"y\"\n");
  char* text = scheduled("", hone_str_text(&lines));
  test_schedule_expect(text, 2, (const char* const[]){"vector", "pack in1 0 1/16"});
  free(text);
  hone_str_free(&lines);
}

/* That the schedule of seven products, as of quarters, has two lines. */
static void expect_of_batch(int rows, int sums, int columns, const char* one, const char* other) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_appendf(&lines, "  %%0 \"x\" = input : f32[7, %d, %d]\n  %%1 = constant {", rows, sums);
  append_numbers(&lines, 7 * sums * columns, 11);
  hone_str_appendf(&lines,
                   "} : f32[7, %d, %d]\n"
                   "  %%2 = contract %%0 %%1 dtype=f32 axes=[0, 0, 2, 1] batch=1 : f32[7, %d, %d]\n"
                   "  return %%2 \"y\"\n",
                   sums, columns, rows, columns);
  char* text = scheduled("", hone_str_text(&lines));
  test_schedule_expect(text, 2, (const char* const[]){one, other});
  free(text);
  hone_str_free(&lines);
}

/* Data of one product is used for all of its lanes before the next. */
static void products_of_few_batches_come_one_after_the_other(void** state) {
  expect_of_batch(12, 5, 96, "pack in1 0 2/", "reorder i i2.o");
}

/* Where products of a batch have many rows, and there are registers, blocks of lanes are wide,
 * and each goes through all rows. */
static void batches_of_many_rows_have_wide_tiles(void** state) {
  lanes = 16;
  registers = 32;
  expect_of_batch(128, 3, 128, ": f32[6, 64]", "reorder i i2.o i1 i2.i");
  expect_of_batch(28, 3, 128, ": f32[14, 32]", "reorder i i2.o i1 i2.i");
  lanes = 8;
  registers = 16;
  expect_of_batch(128, 3, 128, ": f32[6, 16]", "reorder i i1.o i2.o");
}

/* Two threads have rows of their own in all products of a batch, where those make several tiles. */
static void few_threads_share_rows_of_batches(void** state) {
  threads = 2;
  expect_of_batch(64, 5, 96, "split i1 32 exact", "reorder i i1.i");
  expect_of_batch(67, 5, 96, "balance i1 34", "reorder i i1.b34.i");
  expect_of_batch(48, 5, 96, "pack in1 0 2/", "reorder i i1.o");
  threads = 8;
  expect_of_batch(512, 5, 96, "pack in1 0 2/", "reorder i i1.o");
  threads = 0;
}

/* Phases of a transposed convolution beside its channels, which fill vectors by themselves. */
static void weights_of_phases_and_channels_are_packed(void** state) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines, "  %0 \"x\" = input : f32[12, 10]\n  %1 = constant {");
  append_numbers(&lines, 320, 7);
  hone_str_append(&lines,
                  "} : f32[10, 2, 16]\n"
                  "  %2 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 : f32[12, 2, 16]\n"
                  "  return %2 \"y\"\n");
  char* text = scheduled("", hone_str_text(&lines));
  test_schedule_expect(text, 2, (const char* const[]){"pack in1 2/16 1 0 2%16", " vector {"});
  free(text);
  hone_str_free(&lines);
}

static void outputs_that_lie_apart_are_lanes(void** state) {
  char* text = scheduled_outputs(16,
                                 "  %3 = permute %2 axes=[1, 0] : f32[16, 12]\n"
                                 "  return %3 \"y\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"pack in1 0/", " vector {"});
  free(text);
}

/* Windows that see all there is, whose steps follow one another in both operands; of their results
 * no two lie side by side where others stand between them. */
static void weights_of_whole_windows_are_packed(void** state) {
  static const char* const rests[] = {
      "  return %2 \"y\"\n",
      "  %3 = reshape %2 shape=[3, 24, 1] : f32[3, 24, 1]\n"
      "  %4 = abs %3 : f32[3, 24, 1]\n"
      "  %5 = neg %3 : f32[3, 24, 1]\n"
      "  %6 = concat %4 %5 axes=[2] : f32[3, 24, 2]\n"
      "  return %6 \"y\"\n",
  };
  for (size_t k = 0; k < TEST_COUNT(rests); k++) {
    hone_str_t lines;
    hone_str_init(&lines, hone_allocator_system());
    hone_str_append(&lines, "  %0 \"x\" = input : f32[3, 20, 3]\n  %1 = constant {");
    append_numbers(&lines, 1440, 7);
    hone_str_append(&lines,
                    "} : f32[24, 20, 3]\n"
                    "  %2 = contract %0 %1 dtype=f32 axes=[1, 1, 2, 2] batch=0 : f32[3, 24]\n");
    hone_str_append(&lines, rests[k]);
    char* text = scheduled("", hone_str_text(&lines));
    test_schedule_expect(text, 2, (const char* const[]){"pack in1 0/", " vector {"});
    free(text);
    hone_str_free(&lines);
  }
}

/* A depthwise convolution that reads channels first and gives channels last. */
static void data_that_lanes_would_gather_gets_them(void** state) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines, "  %0 \"x\" = input : f32[12, 19]\n  %1 = constant {");
  append_numbers(&lines, 48, 7);
  hone_str_append(&lines,
                  "} : f32[12, 4]\n"
                  "  %2 = window %0 axes=[1] shape=[4] hi=[1] step=[1] : f32[12, 16, 4]\n"
                  "  %3 = contract %2 %1 dtype=f32 axes=[0, 0, 2, 1] batch=1 : f32[12, 16]\n"
                  "  %4 = permute %3 axes=[1, 0] : f32[16, 12]\n"
                  "  return %4 \"y\"\n");
  char* text = scheduled("", hone_str_text(&lines));
  test_schedule_expect(text, 2,
                       (const char* const[]){" vector {", "in0[i1, (k + i.1.i + 8*i.1.o)]"});
  free(text);
  hone_str_free(&lines);
}

/* Threads share the places that are looked up, not rows of which a run may have one. */
/* Rows by rows, whose lanes lie apart in both: a block of one is copied, the rest goes as it can.
 */
static void an_operand_of_rows_is_copied_turned(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[16, 12]\n"
                         "  %1 \"y\" = input : f32[20, 12]\n"
                         "  %2 = contract %0 %1 dtype=f32 axes=[1, 1] batch=0 : f32[16, 20]\n"
                         "  return %2 \"z\"\n");
  test_schedule_expect(text, 4,
                       (const char* const[]){"stage in1 i1.o local", "pack in1.s 1 0",
                                             "in1.s.p[k, i1.i", " vector {"});
  free(text);
}

/* Of results that lie the other way than both operands: lanes go along what is read. */
static void results_are_put_down_across_lanes_of_data(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[20, 16]\n"
                         "  %1 \"y\" = input : f32[12, 20]\n"
                         "  %2 = contract %0 %1 dtype=f32 axes=[0, 1] batch=0 : f32[16, 12]\n"
                         "  return %2 \"z\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"in0[k, (i.1.i + 8*i.1.o)]", " vector {"});
  free(text);
}

static void lookups_are_shared_out_by_table(void** state) {
  char* text = scheduled("symbol \"n\" input 1 64\n",
                         "  %0 \"x\" <0 dim 0> = input : f32[n, 300]\n"
                         "  %1 \"at\" = input : i64[300]\n"
                         "  %2 = iota dtype=i64 axes=[0] shape=[300] : i64[300]\n"
                         "  %3 = eq %1 %2 : bool[300]\n"
                         "  %4 = cast %3 dtype=i64 : i64[300]\n"
                         "  %5 = permute %0 axes=[1, 0] : f32[300, n]\n"
                         "  %6 = gather %5 %4 : f32[300, n]\n"
                         "  %7 = permute %6 axes=[1, 0] : f32[n, 300]\n"
                         "  return %7 \"y\"\n");
  test_schedule_expect(text, 1, (const char* const[]){" in 300 parallel {"});
  free(text);
}

static void loops_along_which_weights_repeat_are_cut(void** state) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines, "  %0 \"x\" <0 dim 0> = input : f32[n, 10]\n  %1 = constant {");
  append_numbers(&lines, 160, 7);
  hone_str_append(&lines,
                  "} : f32[8, 2, 10]\n"
                  "  %2 = slice %0 lo=[1, 0] hi=[n, 10] step=[1, 1] : f32[(n - 1), 10]\n"
                  "  %3 = contract %1 %2 dtype=f32 axes=[2, 1] batch=0 : f32[8, 2, (n - 1)]\n"
                  "  %4 = permute %3 axes=[0, 2, 1] : f32[8, (n - 1), 2]\n"
                  "  %5 = reshape %4 shape=[8, (2*n - 2)] : f32[8, (2*n - 2)]\n"
                  "  return %5 \"y\"\n");
  char* text = scheduled("symbol \"n\" input 2 64\n", hone_str_text(&lines));
  test_schedule_expect(text, 3, (const char* const[]){" 2 exact", " vector {", "pack in"});
  free(text);
  hone_str_free(&lines);
}

/* A product of rows by weights. */
static char* scheduled_matrix(const char* symbols, const char* rows, int sums, int columns,
                              const char* tail) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_appendf(&lines, "  %%0 \"x\" <0 dim %d> = input : f32[%s, %d]\n  %%1 = constant {",
                   rows[0] != 'n', rows, sums);
  append_numbers(&lines, columns * sums, 7);
  hone_str_appendf(&lines,
                   "} : f32[%d, %d]\n"
                   "  %%2 = contract %%0 %%1 dtype=f32 axes=[%d, 1] batch=0 : f32[%s, %d]\n%s",
                   columns, sums, strchr(rows, ',') ? 2 : 1, rows, columns, tail);
  char* text = scheduled(symbols, hone_str_text(&lines));
  hone_str_free(&lines);
  return text;
}

/* Rows of which only a run knows how many there are. */
static char* scheduled_sums(const char* rows, int sums, const char* tail) {
  return scheduled_matrix("symbol \"n\" input 1 64\n", rows, sums, 40, tail);
}

static char* scheduled_rows(const char* rows, const char* tail) {
  return scheduled_sums(rows, 10, tail);
}

static void open_rows_are_cut_evenly(void** state) {
  char* text = scheduled_rows("n", "  return %2 \"y\"\n");
  test_schedule_expect(text, 4,
                       (const char* const[]){"balance", "prefetch in1", ".b2.o", "parallel"});
  free(text);
}

/* Registers for 13 rows, which would leave over up to 12. */
static void they_are_so_where_tiles_could_be_high(void** state) {
  registers = 32;
  char* text = scheduled_rows("n", "  return %2 \"y\"\n");
  registers = 16;
  test_schedule_expect(text, 1, (const char* const[]){"balance i 8"});
  free(text);
}

/* Lanes that are less than a block, beside blocks that threads share. */
static void so_are_those_of_the_lanes_left_over(void** state) {
  char* text = scheduled_matrix("symbol \"n\" input 1 64\n", "n", 10, 56, "  return %2 \"y\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"for i1.t.o in 1 parallel", "balance i4 8"});
  free(text);
}

/* Blocks of 72 rows go through four blocks of lanes each; of 150 rows the last 78 are the rest. */
static void many_open_rows_go_through_groups_of_lanes(void** state) {
  char* text =
      scheduled_matrix("symbol \"n\" input 150 1300\n", "n", 4, 1280, "  return %2 \"y\"\n");
  test_schedule_expect(text, 4,
                       (const char* const[]){"split i1.o 4 exact", " long", "balance i.t",
                                             "prefetch in1[(i1.o.i + 4*i1.o.o + 1)"});
  free(text);
}

/* Rows that only a run knows, cut evenly, beside the border of a pad. */
static void threads_share_open_rows_with_a_border(void** state) {
  char* text = scheduled_rows("12, n",
                              "  %3 = constant {0} : f32[]\n"
                              "  %4 = pad %2 %3 lo=[1, 1, 0] hi=[1, 1, 0] : f32[14, n + 2, 40]\n"
                              "  return %4 \"y\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"balance", "parallel"});
  free(text);
}

static void open_rows_of_a_known_factor_go_in_blocks(void** state) {
  char* text = scheduled_rows("n, 49", "  return %2 \"y\"\n");
  test_schedule_expect(text, 3, (const char* const[]){" 49 exact", "fuse i_i1.o i2.o", "parallel"});
  if (strstr(text, "eq(")) fail_msg("a tile of open height in:\n%s", text);
  free(text);
}

static void a_row_is_summed_in_lanes(void** state) {
  char* text = scheduled("symbol \"n\" input 0 64\n",
                         "  %0 \"x\" <0 dim 0> = input : f32[n, 40]\n"
                         "  %1 = reduce %0 combine=add axes=[1] : f32[n]\n"
                         "  return %1 \"y\"\n");
  test_schedule_expect(text, 3, (const char* const[]){"vector", "rfactor", "parallel"});
  free(text);
}

/* Of all elements: no loop of the output is around the sum, and another reads it. */
static void a_whole_is_summed_in_lanes(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[3, 5, 40]\n"
                         "  %1 = reduce %0 combine=min axes=[0, 1, 2] : f32[]\n"
                         "  %2 = reshape %1 shape=[1, 1, 1] : f32[1, 1, 1]\n"
                         "  %3 = expand %2 shape=[3, 5, 40] : f32[3, 5, 40]\n"
                         "  %4 = sub %0 %3 : f32[3, 5, 40]\n"
                         "  return %4 \"rest\"\n");
  test_schedule_expect(text, 4,
                       (const char* const[]){"fuse k k3_k4", "rfactor", "vector", "split i"});
  assert_null(strstr(text, "parallel"));
  free(text);
}

static void a_column_is_summed_beside_others(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[40, 24]\n"
                         "  %1 = reduce %0 combine=add axes=[0] : f32[24]\n"
                         "  return %1 \"y\"\n");
  test_schedule_expect(text, 3, (const char* const[]){"vector", "distribute", "parallel"});
  free(text);
}

/* Rows of a table: all channels of a row look it up once, be they whole vectors or part of one.
 * Where each result looks up numbers of its own, what is computed of the sums has lanes. */
static void lanes_look_up_the_same_once(void** state) {
  static const struct {
    const char *table, *row, *words[3];
  } cases[] = {{"50, 40", ", 40", {"split i1 32", "hoist i1.i.1", "in 32 vector"}},
               {"50, 3", ", 3", {"split i1 3", "hoist i1.i.1", "in 3 vector"}},
               {"50", "", {"split i 8", "distribute", "vectorize i.i.2"}}};
  char graph[512];
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    const char* row = cases[i].row;
    snprintf(graph, sizeof graph,
             "  %%0 \"x\" = input : f32[%s]\n"
             "  %%1 \"i\" = input : i32[24, 2]\n"
             "  %%2 = gather %%0 %%1 : f32[24, 2%s]\n"
             "  %%3 = reduce %%2 combine=add axes=[1] : f32[24%s]\n"
             "  %%4 = exp %%3 : f32[24%s]\n"
             "  return %%4 \"y\"\n",
             cases[i].table, row, row, row);
    char* text = scheduled("", graph);
    test_schedule_expect(text, 3, cases[i].words);
    free(text);
  }
}

/* Some steps down each tree: 14 at a time, for all rows, and the last 14 once more where there
 * are no whole groups. */
static void chains_of_lookups_take_turns(void** state) {
  static const struct {
    int trees;
    const char* words[2];
  } cases[] = {{28, {"split i 14 exact", "unroll i.i"}},
               {35, {"overlap i 14", "unroll i.w.i"}},
               {7, {"parallel", "unroll i\""}}};
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    int n = cases[i].trees;
    hone_str_t lines;
    hone_str_init(&lines, hone_allocator_system());
    hone_str_appendf(&lines,
                     "  %%0 \"x\" <0 dim 0> = input : i32[n, %d]\n"
                     "  %%1 \"t\" = input : i32[50]\n",
                     n);
    for (int step = 2; step < 8; step++)
      hone_str_appendf(&lines, "  %%%d = gather %%1 %%%d : i32[n, %d]\n", step,
                       step == 2 ? 0 : step - 1, n);
    hone_str_appendf(&lines,
                     "  %%8 = permute %%7 axes=[1, 0] : i32[%d, n]\n"
                     "  return %%8 \"y\"\n",
                     n);
    char* text = scheduled("symbol \"n\" input 1 64\n", hone_str_text(&lines));
    test_schedule_expect(text, 2, cases[i].words);
    free(text);
    hone_str_free(&lines);
  }
}

/* Of pictures, channels last or few, and of a column whose length is open. */
static void long_sums_are_added_by_parts(void** state) {
  static const char* const shapes[][2] = {
      {"h, w, 32", "0, 1"}, {"h, w, 4", "0, 1"}, {"h, 24", "0"}, {"5000, 3", "0"}};
  char graph[512];
  for (int i = 0; i < 4; i++) {
    const char* left = i == 1 ? "4" : i == 2 ? "24" : i == 3 ? "3" : "32";
    snprintf(graph, sizeof graph,
             "  %%0 \"x\" <0 dim 0%s> = input : f32[%s]\n"
             "  %%1 = reduce %%0 combine=add axes=[%s] : f32[%s]\n"
             "  return %%1 \"y\"\n",
             i < 2 ? ", 1 dim 1" : "", shapes[i][0], shapes[i][1], left);
    char* text = scheduled("symbol \"h\" input 0 9000\nsymbol \"w\" input 0 9000\n", graph);
    test_schedule_expect(text, 1, (const char* const[]){"subtotal"});
    if (i == 2) /* what is left over has lanes, too */
      test_schedule_expect(text, 1, (const char* const[]){"for i.i.13 in 8 vector"});
    free(text);
  }
}

/* Means of columns of pictures, channels last, that are given channels first. */
static void sums_of_what_is_turned_get_lanes(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[40, 50, 32]\n"
                         "  %1 = reduce %0 combine=add axes=[0] : f32[50, 32]\n"
                         "  %2 = permute %1 axes=[1, 0] : f32[32, 50]\n"
                         "  return %2 \"y\"\n");
  test_schedule_expect(text, 1, (const char* const[]){"acc2[i.i.1] += in0[k, i1, ("});
  free(text);
}

/* Rows of pictures that follow one another are one sum, of four vectors that are added up first. */
static void sums_of_rows_are_of_several_vectors(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[9, 20, 24]\n"
                         "  %1 = reduce %0 combine=max axes=[1, 2] : f32[9]\n"
                         "  return %1 \"y\"\n");
  test_schedule_expect(
      text, 3,
      (const char* const[]){"in 15 reduction", "local acc.r: f32[32]", "rfactor k_k1.i.c.i"});
  free(text);
}

static void short_sums_are_not(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[7, 7, 32]\n"
                         "  %1 = reduce %0 combine=add axes=[0, 1] : f32[32]\n"
                         "  return %1 \"y\"\n");
  assert_null(strstr(text, "subtotal"));
  free(text);
}

/* The kernel of a depthwise convolution by windows of 3 x 3, of 4 x 14 results for each of 16
 * lanes, scheduled. */
static char* scheduled_depthwise(const char* dtype) {
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines, "  %0 \"x\" = input : f32[6, 16, 16]\n");
  hone_str_appendf(&lines, "  %%1 = cast %%0 dtype=%s : %s[6, 16, 16]\n", dtype, dtype);
  hone_str_append(&lines, "  %2 = window %1 axes=[0, 1] shape=[3, 3] hi=[1, 1] step=[1, 1]");
  hone_str_appendf(&lines, " : %s[4, 14, 16, 3, 3]\n  %%3 = constant {", dtype);
  append_numbers(&lines, 144, 7);
  hone_str_appendf(&lines, "} : %s[16, 3, 3]\n", dtype);
  hone_str_append(
      &lines,
      "  %4 = contract %2 %3 dtype=f32 axes=[2, 0, 3, 1, 4, 2] batch=1 : f32[16, 4, 14]\n"
      "  %5 = permute %4 axes=[1, 2, 0] : f32[4, 14, 16]\n"
      "  return %5 \"y\"\n");
  char* text = scheduled("", hone_str_text(&lines));
  hone_str_free(&lines);
  return text;
}

/* Columns of its windows in pairs of rows, for all places that see them. */
static void narrow_windows_of_each_lane_go_in_pairs(void** state) {
  lanes = 16;
  registers = 32;
  char* text = scheduled_depthwise("bf16");
  lanes = 8;
  registers = 16;
  test_schedule_expect(
      text, 3,
      (const char* const[]){"in 3 unroll reduction", "as dot3_apart_bf16_bf16_x16", "1%4"});
  free(text);
}

/* Two lines of an image are a tile, which reads what both see once: all steps are written out. */
static void windows_of_each_lane_share_lines(void** state) {
  char* text = scheduled_depthwise("f32");
  test_schedule_expect(
      text, 4,
      (const char* const[]){"acc5: f32[14, 8]", "fuse i.i i1.i", "for k in 3 unroll reduction",
                            "for k3 in 3 unroll reduction"});
  free(text);
}

/* What is computed of channels that lie last and put down where they come first: channels are
 * lanes, whose numbers lie side by side, and stand around the last of the other loops. */
static void lanes_go_where_less_lies_apart(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[6, 10, 16]\n"
                         "  %1 = permute %0 axes=[2, 0, 1] : f32[16, 6, 10]\n"
                         "  %2 = mul %1 %1 : f32[16, 6, 10]\n"
                         "  %3 = add %2 %1 : f32[16, 6, 10]\n"
                         "  %4 = exp %3 : f32[16, 6, 10]\n"
                         "  %5 = mul %4 %1 : f32[16, 6, 10]\n"
                         "  %6 = reshape %5 shape=[16, 6, 10, 1] : f32[16, 6, 10, 1]\n"
                         "  %7 = reshape %2 shape=[16, 6, 10, 1] : f32[16, 6, 10, 1]\n"
                         "  %8 = concat %6 %7 axes=[3] : f32[16, 6, 10, 2]\n"
                         "  %9 = reshape %8 shape=[16, 6, 20] : f32[16, 6, 20]\n"
                         "  %10 = abs %9 : f32[16, 6, 20]\n"
                         "  return %10 \"y\"\n");
  test_schedule_expect(
      text, 3, (const char* const[]){"split i 8 peel", "reorder i1_i2 i3 i.i", "vectorize i.i"});
  free(text);
}

/* Rows of [3, 24] turned to where rows of [24] stood are consecutive in whole vectors alone. */
static void rows_that_lie_apart_are_lanes_where_vectors_do_not(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[3, 6, 24]\n"
                         "  %1 = permute %0 axes=[1, 0, 2] : f32[6, 3, 24]\n"
                         "  %2 = reshape %1 shape=[6, 72] : f32[6, 72]\n"
                         "  %3 = slice %2 lo=[0, 0] hi=[3, 72] step=[1, 1] : f32[3, 72]\n"
                         "  %4 = slice %2 lo=[3, 0] hi=[6, 72] step=[1, 1] : f32[3, 72]\n"
                         "  %5 = add %3 %4 : f32[3, 72]\n"
                         "  return %5 \"y\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"split i1 8", "in 8 vector"});
  free(text);
}

/* One column of two, narrow: picked up by lanes where enough is computed of it, and left where it
 * is only copied. */
static void columns_that_lie_apart_have_lanes_where_it_pays(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f16[64, 2]\n"
                         "  %1 = slice %0 lo=[0, 0] hi=[64, 1] step=[1, 1] : f16[64, 1]\n"
                         "  %2 = mul %1 %1 : f16[64, 1]\n"
                         "  %3 = add %2 %1 : f16[64, 1]\n"
                         "  return %3 \"y\"\n");
  test_schedule_expect(text, 1, (const char* const[]){"in 8 vector"});
  free(text);
  text = scheduled("",
                   "  %0 \"x\" = input : f16[64, 2]\n"
                   "  %1 = slice %0 lo=[0, 0] hi=[64, 1] step=[1, 1] : f16[64, 1]\n"
                   "  %2 = neg %1 : f16[64, 1]\n"
                   "  return %2 \"y\"\n");
  assert_null(strstr(text, "vector"));
  free(text);
}

/* Pairs put side by side, of which each lane computes one number of both. */
static void stacks_of_single_numbers_have_lanes(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[24, 1]\n"
                         "  %1 = mul %0 %0 : f32[24, 1]\n"
                         "  %2 = add %1 %0 : f32[24, 1]\n"
                         "  %3 = sub %1 %2 : f32[24, 1]\n"
                         "  %4 = concat %2 %3 axes=[1] : f32[24, 2]\n"
                         "  %5 = abs %4 : f32[24, 2]\n"
                         "  return %5 \"y\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"in 8 vector", "unroll"});
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_keep_results),
      cmocka_unit_test(any_choice_keeps_results),
      cmocka_unit_test(columns_that_lie_apart_have_lanes_where_it_pays),
      cmocka_unit_test(stacks_of_single_numbers_have_lanes),
      cmocka_unit_test(a_product_is_tiled),
      cmocka_unit_test(few_threads_share_rows_beside_many_weights),
      cmocka_unit_test(weights_are_packed),
      cmocka_unit_test(windows_that_overlap_leave_registers_for_it),
      cmocka_unit_test(windows_of_pairs_do_too),
      cmocka_unit_test(windows_of_fours_do_too),
      cmocka_unit_test(matrix_instructions_add_to_blocks),
      cmocka_unit_test(matrix_instructions_do_part_of_a_vector),
      cmocka_unit_test(tiles_of_instructions_claim_what_they_write),
      cmocka_unit_test(matrix_instructions_do_two_lines),
      cmocka_unit_test(few_outputs_are_summed_in_lanes),
      cmocka_unit_test(outputs_that_fill_no_vector_share_one),
      cmocka_unit_test(rows_go_by_blocks),
      cmocka_unit_test(rows_left_over_at_the_top_leave_threads_their_share),
      cmocka_unit_test(weights_of_a_cut_batch_are_packed),
      cmocka_unit_test(products_of_few_batches_come_one_after_the_other),
      cmocka_unit_test(batches_of_many_rows_have_wide_tiles),
      cmocka_unit_test(few_threads_share_rows_of_batches),
      cmocka_unit_test(weights_of_phases_and_channels_are_packed),
      cmocka_unit_test(outputs_that_lie_apart_are_lanes),
      cmocka_unit_test(weights_of_whole_windows_are_packed),
      cmocka_unit_test(data_that_lanes_would_gather_gets_them),
      cmocka_unit_test(an_operand_of_rows_is_copied_turned),
      cmocka_unit_test(results_are_put_down_across_lanes_of_data),
      cmocka_unit_test(lookups_are_shared_out_by_table),
      cmocka_unit_test(loops_along_which_weights_repeat_are_cut),
      cmocka_unit_test(open_rows_are_cut_evenly),
      cmocka_unit_test(they_are_so_where_tiles_could_be_high),
      cmocka_unit_test(so_are_those_of_the_lanes_left_over),
      cmocka_unit_test(many_open_rows_go_through_groups_of_lanes),
      cmocka_unit_test(threads_share_open_rows_with_a_border),
      cmocka_unit_test(open_rows_of_a_known_factor_go_in_blocks),
      cmocka_unit_test(a_row_is_summed_in_lanes),
      cmocka_unit_test(a_whole_is_summed_in_lanes),
      cmocka_unit_test(a_column_is_summed_beside_others),
      cmocka_unit_test(lanes_look_up_the_same_once),
      cmocka_unit_test(chains_of_lookups_take_turns),
      cmocka_unit_test(long_sums_are_added_by_parts),
      cmocka_unit_test(sums_of_what_is_turned_get_lanes),
      cmocka_unit_test(sums_of_rows_are_of_several_vectors),
      cmocka_unit_test(short_sums_are_not),
      cmocka_unit_test(narrow_windows_of_each_lane_go_in_pairs),
      cmocka_unit_test(windows_of_each_lane_share_lines),
      cmocka_unit_test(lanes_go_where_less_lies_apart),
      cmocka_unit_test(rows_that_lie_apart_are_lanes_where_vectors_do_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
