/* Schedule primitives one by one: what they make and refuse, and that it computes the same. */
#include "hone/schedule.h"

#include <stdio.h>
#include <string.h>

#include "base/testing/fault.h"
#include "loop/testing/kernels.h"
#include "loop/text.h"
#include "loop/verify.h"

/* ---- helpers ---- */

/* The test kernel after a schedule, checked against the one without. */
static hone_kernel_t* scheduled(const char* name, const char* schedule) {
  const hone_test_kernel_t* test = hone_test_kernel(name);
  hone_kernel_t *plain = hone_test_kernel_make(test), *kernel = hone_test_kernel_make(test);
  hone_test_result_t want, got;
  assert_ok(hone_schedule_apply(kernel, schedule));
  assert_ok(hone_kernel_verify(kernel));
  assert_ok(hone_test_kernel_run(plain, test->sizes, 1, &want));
  assert_ok(hone_test_kernel_run(kernel, test->sizes, 1, &got));
  if (!hone_test_result_agrees(&want, &got)) {
    hone_str_t text;
    hone_str_init(&text, NULL);
    assert_ok(hone_kernel_print(kernel, &text));
    fail_msg("another result:\n%s", hone_str_text(&text));
  }
  hone_test_result_free(&want);
  hone_test_result_free(&got);
  hone_kernel_destroy(plain);
  return kernel;
}

static void assert_body(hone_kernel_t* kernel, const char* lines) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_kernel_print(kernel, &text));
  if (!strstr(hone_str_text(&text), lines)) fail_msg("no\n%s in\n%s", lines, hone_str_text(&text));
  hone_str_free(&text);
  hone_kernel_destroy(kernel);
}

static void assert_same(const char* name, const char* schedule) {
  hone_kernel_destroy(scheduled(name, schedule));
}

static void print_kernel(const hone_kernel_t* kernel, hone_str_t* text) {
  hone_str_init(text, NULL);
  assert_ok(hone_kernel_print(kernel, text));
}

/* The last line is refused for the reason, and the kernel stays as it was. */
static void assert_refused(const char* name, const char* before, const char* line,
                           const char* why) {
  hone_kernel_t* kernel = scheduled(name, before);
  hone_str_t old, new;
  print_kernel(kernel, &old);
  hone_status_t status = hone_schedule_apply(kernel, line);
  if (!status) fail_msg("not refused: %s", line);
  if (!strstr(hone_status_message(status), why))
    fail_msg("%s: not for this: %s", line, hone_status_message(status));
  hone_status_free(status);
  print_kernel(kernel, &new);
  assert_string_equal(hone_str_text(&old), hone_str_text(&new));
  hone_str_free(&old);
  hone_str_free(&new);
  hone_kernel_destroy(kernel);
}

/* ---- loops ---- */

static void split_cuts_loops(void** state) {
  assert_body(scheduled("matmul", "split j 8"),
              "    for j.o in 2 {\n"
              "      for j.i in 8 {\n"
              "        acc[] = f32(0)\n"
              "        for k in 20 reduction {\n"
              "          acc[] += mul(a[i, k], b[k, (j.i + 8*j.o)])\n");
  assert_body(scheduled("matmul", "split k 8 guard"),
              "      for k.o in 3 reduction {\n"
              "        for k.i in 8 reduction {\n"
              "          if lt(index((k.i + 8*k.o)), i64(20)) {\n");
  assert_body(scheduled("concat", "split j 8 peel"),
              "    for j.t in 4 {\n"
              "      out[i, (j.t + 16)] = mul(select(lt(index((j.t + 16)), i64(17)), y[i, 6], ");
  assert_same("matmul", "split i 5 peel");
  assert_same("matmul", "split i 5 guard\nsplit j 7 guard\nsplit k 3 guard");
  assert_same("matmul_sizes", "split i 4 peel\nsplit j 3 peel");
  assert_same("matmul_sizes", "split i 4 guard\nsplit j 3 guard");
  assert_same("matmul", "split i 5 long");
  assert_body(scheduled("matmul", "split i 3 long"), "for i.o in 3 {");
  assert_body(scheduled("matmul", "split i 3 long"), "for i.t in 3 {");
  assert_same("matmul_sizes", "split i 4 long\nsplit j 3 long");
  assert_same("sum_all", "split i 5 peel\nsplit j 3 guard");
  assert_same("softmax", "split i 2 peel\nsplit k 7 peel");
  assert_refused("matmul", "", "split k 8", "may not divide");
  assert_refused("matmul", "", "split k 24 peel", "more than");
  assert_refused("matmul", "", "split k 0", "factor");
  assert_refused("matmul", "", "split q 4", "no loop q");
  assert_refused("matmul_sizes", "", "split i 2 exact", "may not divide");
  assert_refused("matmul", "", "split i 7 long", "leaves room for");
}

static void balance_evens_out_runs(void** state) {
  assert_body(scheduled("matmul", "balance i 5"),
              "  for i.b4.o in 3 {\n"
              "    for i.b4.i in 4 {\n"
              "      for j in 16 {\n");
  assert_body(scheduled("matmul", "balance k 7"),
              "      for k.b7.o in 2 reduction {\n"
              "        for k.b7.i in 7 reduction {\n"
              "          acc[] += mul(a[i, (k.b7.i + 7*k.b7.o)], b[(k.b7.i + 7*k.b7.o), j])\n"
              "        }\n"
              "      }\n"
              "      for k.b6.o in 1 reduction {\n");
  assert_same("matmul", "balance i 5\nbalance j 3\nparallel i.b4.o");
  assert_same("matmul_sizes", "balance i 1\nbalance j 7\nbalance k 4");
  assert_same("matmul_sizes", "reorder j i\nbalance i 4\nparallel j");
  assert_refused("matmul_sizes", "balance i 4", "parallel i.b4.o", "beside one another");
  assert_same("softmax", "balance i 3");
  assert_refused("matmul", "", "balance i 0", "from 1 to");
  assert_refused("matmul", "", "balance i 65", "from 1 to");
  assert_refused("matmul", "unroll i", "balance i 4", "kind already");
  assert_refused("matmul", "partition i 5\nparallel i.p0", "balance i.p1 2", "comes last");
}

static void overlap_has_no_short_block(void** state) {
  assert_body(scheduled("matmul", "overlap i 5"),
              "  for i.w.o in 3 {\n"
              "    for i.w.i in 5 {\n"
              "      for j in 16 {\n"
              "        acc[] = f32(0)\n"
              "        for k in 20 reduction {\n"
              "          acc[] += mul(a[(i.w.i + min((5*i.w.o), 7)), k], b[k, j])\n");
  assert_body(scheduled("matmul", "overlap i 4"), "acc[] += mul(a[(i.w.i + 4*i.w.o), k], b[k, j])");
  assert_same("matmul", "overlap j 7\nparallel i");
  assert_same("matmul_sizes", "overlap i 2\noverlap j 3");
  assert_same("matmul_sizes", "overlap i 64\noverlap i.t 2");
  assert_same("softmax", "overlap i 2");
  assert_refused("matmul", "", "overlap k 8", "cannot run twice");
  assert_refused("matmul", "", "overlap i 13", "more than");
  assert_refused("matmul", "", "overlap i 0", "from 1 to");
  assert_refused("matmul", "overlap i 5", "parallel i.w.o", "the same element");
}

/* Nothing can be divided by 0 rounds. */
static void assert_fusing_nothing_refused(void) {
  static const char text[] =
      "kernel empty {\n  output y: f32[2, 0] = 0\n  for i in 2 {\n    for j in 0 {\n"
      "      y[i, j] = f32(1)\n    }\n  }\n}\n";
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(hone_allocator_system(), text, sizeof text - 1, &kernel));
  hone_status_t status = hone_sched_fuse(kernel, "i", "j");
  assert_non_null(strstr(hone_status_message(status), "no rounds"));
  hone_status_free(status);
  hone_kernel_destroy(kernel);
}

static void fuse_joins_nested_loops(void** state) {
  assert_body(scheduled("matmul", "fuse i j"), "  for i_j in 192 {\n    acc[] = f32(0)\n");
  assert_same("matmul", "fuse i j\nsplit i_j 12\nparallel i_j.o");
  assert_same("matmul_sizes", "fuse i j\nsplit i_j 8 peel\nparallel i_j.o");
  assert_same("conv", "fuse ky kx\nfuse o y\nfuse o_y z\nparallel o_y_z");
  assert_refused("matmul", "", "fuse j k", "all that is in");
  assert_refused("concat", "parallel i", "fuse i j", "kinds");
  assert_fusing_nothing_refused();
}

static void reorder_moves_loops(void** state) {
  assert_body(scheduled("concat", "reorder j i"), "  for j in 20 {\n    for i in 6 {\n");
  assert_same("conv", "reorder kx c ky\nreorder z y o");
  assert_same("sum_all", "reorder j i");
  assert_refused("matmul", "", "reorder k j", "perfect nest");
  assert_refused("concat", "", "reorder i i", "twice");
  assert_refused("concat", "parallel i", "reorder j i", "kinds come last");
}

static void tile_makes_blocks(void** state) {
  assert_body(
      scheduled("matmul", "tile i j 4 8"),
      "  for i.o in 3 {\n    for j.o in 2 {\n      for i.i in 4 {\n        for j.i in 8 {\n");
  assert_same("conv", "tile y z 4 4 guard");
  assert_same("matmul", "tile i j 5 8 peel");
  assert_refused("matmul", "", "tile i j 4 5 peel", "second extent");
  assert_refused("matmul", "", "tile i j 5 8", "may not divide");
  assert_refused("matmul", "", "tile i k 4 4", "all that is in");
}

static void distribute_gives_a_loop_each(void** state) {
  assert_body(scheduled("matmul", "distribute j"),
              "  for i in 12 {\n"
              "    for j.0 in 16 {\n"
              "      acc1[j.0] = f32(0)\n"
              "    }\n"
              "    for j.1 in 16 {\n"
              "      for k in 20 reduction {\n"
              "        acc1[j.1] += mul(a[i, k], b[k, j.1])\n"
              "      }\n"
              "    }\n"
              "    for j.2 in 16 {\n"
              "      out[i, j.2] = max(acc1[j.2], f32(0))\n");
  assert_same("matmul",
              "tile i j 4 8\ndistribute j.i\ndistribute i.i\n"
              "reorder k i.i.1 j.i.1\nvectorize j.i.0\nvectorize j.i.1\nunroll i.i.1\n"
              "vectorize j.i.2\nfuse i.o j.o\nparallel i.o_j.o");
  assert_same("matmul_sizes",
              "split i 4 peel\nsplit j 4 peel\ndistribute i.i\ndistribute j.i\nreorder i.i.0 j.o");
  assert_same("softmax", "distribute i");
  assert_same("gather", "distribute i");
  assert_same("two_nests", "distribute p\nmerge i p.0");
  assert_refused("concat", "", "distribute j", "one statement");
  assert_refused("outer", "parallel i\nparallel j", "distribute j", "share");
}

static void hoist_looks_up_once(void** state) {
  assert_body(scheduled("lookup", "hoist j"),
              "    let row in 0..9 = max(min(at[i], i64(9)), i64(0))\n"
              "    for j in 4 {\n"
              "      let column in");
  assert_refused("lookup", "hoist j", "hoist j", "changes with its rounds");
  assert_refused("lookup", "", "hoist i", "in another loop");
  assert_refused("matmul", "", "hoist k", "changes with its rounds");
}

static void merge_joins_loops(void** state) {
  assert_body(scheduled("two_nests", "merge i p"),
              "  for i in 16 {\n"
              "    for j in 12 {\n"
              "      out[i, j] = tanh(x[i, j])\n"
              "    }\n"
              "    total[i] = f32(0)\n");
  assert_same("matmul", "distribute j\nmerge j.0 j.1\nmerge j.0 j.2");
  assert_refused("softmax", "", "merge j k", "follow");
  assert_refused("matmul", "parallel i\nparallel j", "split i 3", "over threads already");
  assert_refused("two_nests", "merge i p\ndistribute i", "merge i.0 i.2", "follow");
  assert_refused("two_nests", "split i 4", "merge i.o p", "differ");
}

static void kinds_are_checked(void** state) {
  assert_body(scheduled("concat", "split j 4\nvectorize j.i\nparallel i"),
              "  for i in 6 parallel {\n    for j.o in 5 {\n      for j.i in 4 vector {\n");
  assert_refused("concat", "fuse i j", "vectorize i_j", "from 2 to 64");
  assert_same("concat", "vectorize j");
  assert_same("matmul", "split k 4\nvectorize k.i");
  assert_refused("matmul", "", "vectorize j", "more than stores");
  assert_refused("outer", "", "vectorize j", "each lane needs acc");
  assert_same("outer", "distribute j\nvectorize j.0\nvectorize j.1\nvectorize j.2");
  assert_refused("concat", "", "parallel j", "outermost");
  assert_refused("sum_all", "", "parallel i", "same element of out");
  assert_refused("sum_all", "", "unroll i", "known");
  assert_refused("two_nests", "", "parallel i", "beside one another");
  assert_refused("two_nests", "merge i p\nparallel i", "distribute i", "comes last");
  assert_refused("matmul", "partition i 5\nparallel i.p0", "split i.p1 2 peel", "comes last");
  assert_refused("matmul", "partition i 5\nparallel i.p0", "partition i.p1 2", "comes last");
  assert_refused("two_sums", "", "parallel i", "beside one another");
  assert_same("matmul_sizes", "split i 4 peel\nparallel i.o\nparallel i.t");
  assert_same("border", "split i 16 peel\nsplit i.t 4 peel\nparallel i.o\nparallel i.t.t");
  assert_same("matmul", "partition i 5\nparallel i.p1\nparallel i.p0");
  assert_refused("softmax", "distribute i", "parallel i.0", "memory of one thread");
  assert_same("matmul", "bind i group\nbind j item");
  assert_refused("matmul", "", "bind i item", "items are in");
  assert_refused("matmul", "", "bind j group", "something else");
  assert_refused("matmul", "", "bind j both", "neither");
}

static void subtotals(void** state) {
  assert_body(scheduled("matmul", "split k 4\nsubtotal k.i"),
              "      for k.o in 5 reduction {\n"
              "        for k.i.z in 1 {\n"
              "          acc.s[k.i.z] = f32(0)\n"
              "        }\n"
              "        for k.i in 4 reduction {\n"
              "          acc.s[0] += mul(a[i, (k.i + 4*k.o)], b[(k.i + 4*k.o), j])\n"
              "        }\n"
              "        for k.i.c in 1 reduction {\n"
              "          acc[] += acc.s[k.i.c]\n");
  assert_same("matmul",
              "split j 4\ndistribute j.i\nreorder k j.i.1\nsplit k 8 peel\nsubtotal k.i\n"
              "vectorize j.i.1\nvectorize k.i.z\nvectorize k.i.c\nparallel i");
  assert_same("softmax", "split k 3 peel\nsubtotal k.i");
  const char* tile =
      "split i 3 peel\nsplit j 4 peel\nreorder i.o j.o i.i j.i\ndistribute j.i\ndistribute i.i\n"
      "reorder k i.i.1 j.i.1\nvectorize j.i.1\nunroll i.i.1\nsplit k 8 peel\nsubtotal k.i";
  assert_same("matmul", tile);
  assert_refused("matmul", "", "subtotal i", "one store");
  assert_refused("concat", "", "subtotal j", "one store");
}

static void lengthen_adds_zeros(void** state) {
  assert_body(scheduled("matmul", "stage a i local\nstage b j local\nlengthen k 24"),
              "    for a.s.z in 4 {\n"
              "      a.s[0, (a.s.z + 20)] = f32(0)\n"
              "    }\n"
              "    for a.s.l in 20 {\n"
              "      a.s[0, a.s.l] = a[i, a.s.l]\n"
              "    }\n"
              "    for j in 16 {\n"
              "      for b.s.z in 4 {\n"
              "        b.s[(b.s.z + 20), 0] = f32(0)\n");
  assert_same("matmul", "stage a i local\nstage b j local\nlengthen k 24");
  assert_same("matmul", "stage a i local\nstage b j local\nlengthen k 21\nsplit k 3 exact");
  assert_refused("matmul", "stage a i local\nstage b j local", "lengthen k 20", "fewer than 20");
  assert_refused("matmul", "stage a i local", "lengthen k 24", "must be of scratch");
  assert_refused("matmul", "stage a i local\nstage b j local\nsplit k 4", "lengthen k.i 8",
                 "all of one axis");
  assert_refused("matmul", "stage a i local\nstage b j local", "lengthen j 24", "one store");
}

static void rfactor_splits_sums(void** state) {
  assert_body(scheduled("matmul", "split k 4\nrfactor k.i\nvectorize k.i"),
              "      for k.i.z in 4 {\n"
              "        acc.r[k.i.z] = f32(0)\n"
              "      }\n"
              "      for k.o in 5 reduction {\n"
              "        for k.i in 4 vector {\n"
              "          acc.r[k.i] += mul(a[i, (k.i + 4*k.o)], b[(k.i + 4*k.o), j])\n"
              "        }\n"
              "      }\n"
              "      for k.i.c in 4 reduction {\n"
              "        acc[] += acc.r[k.i.c]\n");
  assert_same("softmax",
              "split j 8\nrfactor j.i\nvectorize j.i\nsplit k 4\nrfactor k.i\nvectorize k.i");
  assert_same("sum_all", "rfactor j\nvectorize j");
  assert_refused("sum_all", "", "rfactor i", "known");
  assert_refused("concat", "", "rfactor j", "one store");
  assert_refused("conv", "", "rfactor z", "one store");
}

static void pack_moves_constants(void** state) {
  assert_body(scheduled("matmul", "pack b 1/8 0 1%8\nsplit j 8"),
              "  input b: f32[2, 20, 8] = 1 constant from [20, 16] by 1*8 0*1 1*1\n");
  assert_body(scheduled("matmul", "pack b 1/8 0 1%8\nsplit j 8"), "b[j.o, k, j.i]");
  assert_same("matmul", "pack b 1 0");
  assert_same("matmul", "pack b 1/6 0/3 0%3 1%6");
  assert_same("conv", "pack w 0/16 1/2 2 3 1%2 0/4%4 0%4");
  assert_refused("matmul", "", "pack a 1 0", "neither");
  assert_refused("matmul", "pack b 1 0", "pack b 1 0", "already");
  assert_refused("matmul", "", "pack b 1 0 0", "make it up");
  assert_refused("matmul", "", "pack b 1%4 0", "make it up");
  assert_refused("matmul", "", "pack b 1/4 0 1%5", "make it up");
  assert_refused("matmul", "", "pack b 1", "make it up");
  assert_refused("matmul", "", "pack b 1 2", "no part");
  assert_refused("matmul", "", "pack b 1/0 0", "no part");
}

static void pack_moves_scratch(void** state) {
  assert_body(scheduled("attention", "distribute h\npack row1 1 0"), "local row1.p: f32[11, 2]");
  assert_same("attention", "reorder h i\nsplit i 8 peel\ndistribute i.i\npack row15 1 0");
  assert_same("attention", "reorder h i\nsplit i 8 peel\ndistribute i.i\npack row15 1/4 0 1%4");
  assert_same("attention", "reorder h i\nsplit i 8 peel\ndistribute i.i\npack row15 1/4 0 1%4~7");
  assert_body(scheduled("attention", "distribute h\npack row1 0 1/4 1%4~7"),
              "local row1.p: f32[2, 3, 7]");
  assert_refused("matmul", "", "pack b 1/4 0 1%4~7", "no part");
  assert_refused("attention", "distribute h", "pack row1 0 1/4 1%4~3", "no part");
  assert_same("attention_sizes", "reorder h i\nsplit i 8 peel\ndistribute i.i\npack row15 1 0");
  assert_refused("attention", "", "pack row 0 0", "make it up");
}

static void prefetch_asks_ahead(void** state) {
  assert_body(scheduled("matmul",
                        "split j 8\npack b 1/8 0 1%8\nreorder j.o i j.i\n"
                        "split k 5\nprefetch b j.o k.o"),
              "        for k.o in 4 reduction {\n"
              "          prefetch b[(j.o + 1), 0, (16*min((32*i + 4*j.i + k.o), 9))]\n");
  assert_same("matmul",
              "split j 8\npack b 1/8 0 1%8\nreorder j.o i j.i\nprefetch b j.o i\n"
              "parallel j.o");
  assert_body(scheduled("matmul",
                        "split j 8\npack b 1/8 0 1%8\nreorder j.o i j.i\npartition i 5\n"
                        "prefetch b j.o i.p0\nprefetch b j.o i.p1"),
              "    for i.p1 in 7 {\n"
              "      prefetch b[(j.o + 1), 0, (16*min((i.p1 + 5), 9))]\n");
  assert_body(scheduled("matmul",
                        "split j 8\npack b 1/8 0 1%8\nsplit j.o 2\nreorder j.o.o i j.o.i j.i\n"
                        "prefetch b j.o.i k"),
              "          prefetch b[(j.o.i + 2*j.o.o + 1), 0, (16*min((k + 20*j.i), 9))]\n");
  assert_body(scheduled("attention", "prefetch k h j near"), " near\n");
  assert_same("attention", "prefetch k h j");
  assert_refused("attention", "", "prefetch k h j far", "is not near");
  assert_refused("matmul_sizes", "", "prefetch a i j", "no line");
  assert_body(scheduled("conv", "split o 2\npack w 0/2 1 2 3 0%2\nprefetch w c kx"),
              "                prefetch w[o.o, (c + 1), 0, 0, 0]\n");
  assert_refused("matmul", "", "prefetch b i k", "one of its axes");
  assert_refused("attention", "", "prefetch v e j4", "one of its axes");
  assert_refused("matmul", "", "prefetch a i i", "no loop of rounds");
  assert_refused("softmax", "", "prefetch most i j", "scratch");
}

#define TWO_PARTS "split j 8\npack b 1/8 0 1%8\nreorder j.o i j.i\npartition i 5\n"

static void hasten_asks_for_as_many_as_it_takes(void** state) {
  assert_body(scheduled("matmul", TWO_PARTS "prefetch b j.o i.p0\nhasten b j.o 8"),
              "      for ask in 2 {\n"
              "        prefetch b[(j.o + 1), 0, (32*i.p0 + 16*ask)]\n");
  assert_same("matmul",
              TWO_PARTS "prefetch b j.o i.p0\nprefetch b j.o i.p1\nhasten b j.o 8\nparallel j.o");
  assert_body(scheduled("matmul", TWO_PARTS "prefetch b j.o i.p0\nhasten b j.o 1 none"),
              "      for ask in 0 {\n");
  assert_same("matmul", TWO_PARTS "prefetch b j.o i.p0\nhasten b j.o 1 none");
  assert_refused("matmul", TWO_PARTS, "hasten b j.o 8", "ask for none");
  assert_refused("matmul", TWO_PARTS "prefetch b j.o i.p0", "hasten b j.o 8 all", "not none");
  assert_refused("matmul", TWO_PARTS "prefetch b j.o i.p0", "hasten b i.p0 8", "ask for none");
  assert_refused("matmul", TWO_PARTS "prefetch b j.o i.p0", "hasten b j.o 0", "0 lines");
}

#define FOUR_ROWS "split i 4\ndistribute j\ndistribute i.i\nreorder k i.i.1 j.1\n"

static void claim_asks_for_what_is_written(void** state) {
  assert_body(scheduled("matmul", FOUR_ROWS "claim out k"),
              "    claim out[(4*i.o), 0]\n    claim out[(4*i.o + 1), 0]\n"
              "    claim out[(4*i.o + 2), 0]\n    claim out[(4*i.o + 3), 0]\n"
              "    for k in 20 reduction {\n");
  assert_body(scheduled("matmul_bytes", FOUR_ROWS "claim out k"),
              "      claim out[(4*i.o + (k/5)), (16*(((3*k)/5)%3))]\n");
  assert_refused("matmul_bytes", "distribute j\ndistribute i\nreorder k i.1 j.1\n", "claim out k",
                 "too many lines");
  assert_same("matmul", FOUR_ROWS "claim out k\nparallel i.o\nvectorize j.1");
  assert_same("attention", "claim out j4");
  assert_refused("matmul", "", "claim a k", "nothing behind");
  assert_refused("matmul", "", "claim out j", "nothing behind");
  assert_refused("matmul", "unroll k", "claim out k", "number of rounds");
  assert_refused("softmax", "", "claim most j", "scratch");
}

static void partition_decides_conditions(void** state) {
  assert_body(scheduled("concat", "partition j auto"),
              "    for j.p0 in 9 {\n"
              "      out[i, j.p0] = mul(x[i, j.p0], f16(1.5))\n");
  assert_body(scheduled("concat", "partition j 10 17"),
              "    for j.p1 in 7 {\n"
              "      out[i, (j.p1 + 10)] = mul(y[i, j.p1], f16(1.5))\n"
              "    }\n"
              "    for j.p2 in 3 {\n"
              "      out[i, (j.p2 + 17)] = mul(f16(0.5), f16(1.5))\n");
  assert_body(scheduled("conv", "partition y auto\npartition z9 auto"),
              " += mul(x[c20, (y.p1 + ky21), (kx22 + z9.p1)], w[o, c20, ky21, kx22])\n");
  assert_same("matmul", "partition k 3 7\npartition i 1\nparallel i.p0\nparallel i.p1");
  assert_refused("matmul", "", "partition k auto", "no condition");
  assert_refused("matmul", "", "partition k 7 3", "rise");
  assert_refused("matmul", "", "partition k 20", "rise");
  assert_refused("matmul_sizes", "", "partition i 1", "least extent");
}

static void stage_copies_tiles(void** state) {
  assert_body(scheduled("matmul", "tile i j 4 8\nstage a i.i local"),
              "        for a.s.l in 20 {\n"
              "          a.s[0, a.s.l] = a[(i.i + 4*i.o), a.s.l]\n"
              "        }\n");
  assert_body(scheduled("matmul", "tile i j 4 8\nstage out j.o local"),
              "          out.s[i.i, j.i] = max(acc[], f32(0))\n"
              "        }\n"
              "      }\n"
              "      for out.s.w in 4 {\n");
  assert_same("conv", "partition y auto\npartition z9 auto\nstage w o local\nstage x z9.p1 local");
  assert_same("matmul_sizes", "split j 4 peel\nstage b j.o local\nstage out j.t local");
  assert_body(scheduled("matmul_sizes", "stage b i local"), "    for b.s.l in n {\n");
  assert_same("sum_all", "stage out i local\nstage x j local");
  assert_same("matmul",
              "split k 5\nsplit i 4\nsplit j 8\nbind i.o group\nbind i.i item\n"
              "stage b k.o shared");
  assert_refused("matmul", "", "stage a i shared", "no loop over items");
  assert_refused("matmul", "", "stage acc j local", "lives in");
  assert_refused("conv", "", "stage x z local", "no known size");
  assert_refused("gather", "", "stage x i local", "no known size");
  assert_refused("two_nests", "", "stage total i local", "does not use");
  assert_refused("concat", "split j 4\nvectorize j.i", "stage x j.i local", "vectorized");
  assert_refused("matmul", "", "stage a i global", "neither");
}

static void stage_copies_for_one_load(void** state) {
  assert_body(scheduled("softmax", "stage x i local 2"),
              "      sum[] += exp(sub(x.s[0, k], most[]))\n"
              "    }\n"
              "    for l in 24 {\n"
              "      out[i, l] = div(exp(sub(x[i, l], most[])), sum[])\n");
  assert_same("softmax", "stage x i local 2\nstage x i local 1");
  assert_same("softmax", "stage x i local 1\npack x.s 1 0");
  assert_refused("softmax", "", "stage x i local 4", "does not use");
  assert_refused("softmax", "", "stage x i local 0", "from 1");
  assert_refused("matmul", "", "stage acc i local 1", "lives in");
  assert_refused("two_sums", "", "stage out i local 1", "does not use");
}

static void tensorize_marks_loops(void** state) {
  const char* before =
      "split j 16\nsplit k 4\npack b 1/16 0/4 1%16 0%4\ndistribute j.i\nreorder k.o j.i.1 k.i";
  char schedule[512];
  snprintf(schedule, sizeof schedule, "%s\ntensorize j.i.1 dot4_u8_i8_x16", before);
  assert_body(scheduled("quantized", schedule),
              "        for j.i.1 in 16 as dot4_u8_i8_x16 {\n"
              "          for k.i in 4 reduction {\n");
  snprintf(schedule, sizeof schedule, "%s\ntensorize j.i.1 dot4_u8_i8_x16\nsplit k.i 2", before);
  assert_body(scheduled("quantized", schedule), "        for j.i.1 in 16 {\n");
  assert_refused("quantized", before, "tensorize j.i.1 dot4_u8_i8_x8", "not what");
  assert_refused("quantized", before, "tensorize k.i dot4_i8", "not what");
  assert_refused("quantized", before, "tensorize k.i matmul", "no intrinsic");
  snprintf(schedule, sizeof schedule, "%s\ntensorize j.i.1 dot4_u8_i8_x16", before);
  assert_refused("quantized", schedule, "prefetch b j.o j.i.1", "no loop of rounds");
  assert_refused("quantized", "split j 16\nsplit k 4\ndistribute j.i\nreorder k.o j.i.1 k.i",
                 "tensorize j.i.1 dot4_u8_i8_x16", "side by side");
}

/* Eights of weights that are not slight would not fit 16 bits. */
static void tensorize_wants_slight_weights(void** state) {
  const char* before =
      "split j 8\nsplit k 8\nsplit k.i 4\npack b 0/8 1/8 1/4%2 0%8 1%4\ndistribute j.i\n"
      "reorder k.o j.i.1 k.i.o k.i.i";
  const char* other =
      "split j 8\nsplit k 8 exact\nsplit k.i 4\npack b 1/8 0/8 0/4%2 1%8 0%4\n"
      "distribute j.i\nreorder k.o j.i.1 k.i.o k.i.i";
  char schedule[512];
  snprintf(schedule, sizeof schedule, "%s\ntensorize j.i.1 dot8_u8_i8_x8", before);
  assert_body(scheduled("matmul_slight", schedule),
              "        for j.i.1 in 8 as dot8_u8_i8_x8 {\n"
              "          for k.i.o in 2 reduction {\n");
  assert_refused("quantized", other, "tensorize j.i.1 dot8_u8_i8_x8", "not slight");
}

/* ---- dependences ---- */

static hone_kernel_t* parsed(const char* text) {
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

/* `line` on a kernel with two buffers and this body. */
static void assert_depends(const char* body, const char* line, bool refused) {
  char text[1024];
  snprintf(text, sizeof text,
           "kernel k { input x: f32[100] = 0 output out: f32[100, 100] = 0\n"
           "output y: f32[200] = 1 %s }",
           body);
  hone_kernel_t* kernel = parsed(text);
  hone_status_t status = hone_schedule_apply(kernel, line);
  if (!status == refused) fail_msg("%s: %s", line, body);
  if (status && !strstr(hone_status_message(status), "same element"))
    fail_msg("%s", hone_status_message(status));
  hone_status_free(status);
  hone_kernel_destroy(kernel);
}

static void dependences_are_seen(void** state) {
  assert_depends("for i in 9 { y[i] = y[i] }", "parallel i", false);
  assert_depends("for i in 9 { y[i] = y[i + 1] }", "parallel i", true);
  assert_depends("for i in 9 { y[i] = y[i + 9] }", "parallel i", false);
  assert_depends("for i in 9 { y[i] = y[i + 8] }", "parallel i", true);
  assert_depends("for i in 9 { y[2*i] = y[2*i + 1] }", "parallel i", false);
  assert_depends("for i in 9 { y[0] = x[i] }", "parallel i", true);
  assert_depends("for i in 9 { y[i / 2] = x[i] }", "parallel i", true);
  assert_depends("for i in 9 { out[i / 2, i % 2] = x[i] }", "parallel i", false);
  assert_depends("for i in 9 { out[i / 2, i % 3] = x[i] }", "parallel i", true);
  assert_depends("for i in 16 { out[i / 9, i % 9] = x[i] } for j in 2 { out[1, j + 7] = x[j] }",
                 "parallel i", false);
  assert_depends("for i in 17 { out[i / 9, i % 9] = x[i] } for j in 2 { out[1, j + 7] = x[j] }",
                 "parallel i", true);
  assert_depends(
      "for i in 9 { for j in 4 { out[(4 * (i % 3) + j) / 6, (4 * (i % 3) + j) % 6 + 10 * (i / 3)] "
      "= x[i] } } for k in 2 { out[1, k + 26] = x[k] }",
      "parallel i", true);
  assert_depends("for i in 9 { for j in 8 { y[8*i + j] = x[i] } }", "parallel i", false);
  assert_depends("for i in 9 { for j in 9 { y[8*i + j] = x[i] } }", "parallel i", true);
  assert_depends("for i in 9 { for j in 9 { out[i + 1, j] = out[i, j] } }", "parallel i", true);
  assert_depends("for i in 9 { for j in 9 { out[i + 1, j] = out[i, j] } }", "reorder j i", false);
  assert_depends("for i in 9 { for j in 9 { out[i + 1, j] = out[i, j + 1] } }", "reorder j i",
                 true);
  assert_depends("for i in 9 { for j in 9 { y[i] += x[j] } }", "reorder j i", false);
  assert_depends("for i in 9 { for j in 9 { y[i + j] += x[j] } }", "reorder j i", false);
  assert_depends("for i in 9 { for j in 9 { y[i + j] = x[j] } }", "reorder j i", true);
  assert_depends("for i in 9 { for j in 9 { y[i + j] += y[i] } }", "reorder j i", true);
  assert_depends("for i in 9 { y[i] = x[i]\n out[0, i] = y[i] }", "distribute i", false);
  assert_depends("for i in 9 { y[i] = x[i]\n out[0, i] = y[i + 1] }", "distribute i", true);
  assert_depends("for i in 9 { y[i] = x[i] } for j in 9 { out[0, j] = y[j + 1] }", "merge i j",
                 true);
  assert_depends("for i in 9 { y[i] = x[i] } for j in 9 { out[0, j] = y[j] }", "merge i j", false);
}

/* ---- text ---- */

static void schedules_are_noted_and_replayed(void** state) {
  const char* schedule =
      "tile i j 4 8 exact\ndistribute j.i\ndistribute i.i\nreorder k i.i.1 j.i.1\n"
      "pack b 1/8 0 1%8\nvectorize j.i.1\nparallel i.o\n";
  hone_kernel_t* kernel = scheduled("matmul", schedule);
  assert_string_equal(hone_schedule_text(kernel), schedule);
  hone_kernel_t* again = scheduled("matmul", hone_schedule_text(kernel));
  hone_str_t a, b;
  print_kernel(kernel, &a);
  print_kernel(again, &b);
  assert_string_equal(hone_str_text(&a), hone_str_text(&b));
  hone_str_free(&a);
  hone_str_free(&b);
  hone_kernel_destroy(kernel);
  hone_kernel_destroy(again);
  assert_same("matmul", "# nothing\n\n  \t\n");
  assert_refused("matmul", "", "explode i", "no schedule primitive");
  assert_refused("matmul", "", "# a line\nsplit i", "line 2: it is written 'split LOOP");
  assert_refused("matmul", "", "split i four", "whole number");
  assert_refused("matmul", "", "split i 4 somehow", "none of");
}

static void primitives_are_listed(void** state) {
  int n = 0;
  bool found = false;
  for (; hone_schedule_help(n); n++) found |= strncmp(hone_schedule_help(n), "split ", 6) == 0;
  assert_true(found);
  assert_true(n >= 11);
  assert_null(hone_schedule_help(-1));
}

static hone_status_t apply_all(const hone_allocator_t* allocator, void* context) {
  const char* schedule = *(const char**)context;
  const char* text = hone_test_kernel("matmul")->text;
  hone_kernel_t* kernel;
  HONE_TRY(hone_kernel_parse(allocator, text, strlen(text), &kernel));
  hone_status_t status = hone_schedule_apply(kernel, schedule);
  hone_kernel_destroy(kernel);
  return status;
}

static void memory_may_run_out(void** state) {
  const char* schedules[] = {
      "tile i j 4 8\npack b 1/8 0 1%8\ndistribute j.i\n"
      "distribute i.i\nreorder k i.i.1 j.i.1\nparallel i.o",
      "split k 8 peel\nrfactor k.i\nfuse i j\nsplit i_j 7 guard",
  };
  for (size_t i = 0; i < TEST_COUNT(schedules); i++)
    assert_survives_faults(apply_all, &schedules[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(split_cuts_loops),
      cmocka_unit_test(balance_evens_out_runs),
      cmocka_unit_test(overlap_has_no_short_block),
      cmocka_unit_test(fuse_joins_nested_loops),
      cmocka_unit_test(reorder_moves_loops),
      cmocka_unit_test(tile_makes_blocks),
      cmocka_unit_test(distribute_gives_a_loop_each),
      cmocka_unit_test(hoist_looks_up_once),
      cmocka_unit_test(merge_joins_loops),
      cmocka_unit_test(kinds_are_checked),
      cmocka_unit_test(rfactor_splits_sums),
      cmocka_unit_test(subtotals),
      cmocka_unit_test(lengthen_adds_zeros),
      cmocka_unit_test(pack_moves_constants),
      cmocka_unit_test(pack_moves_scratch),
      cmocka_unit_test(prefetch_asks_ahead),
      cmocka_unit_test(hasten_asks_for_as_many_as_it_takes),
      cmocka_unit_test(claim_asks_for_what_is_written),
      cmocka_unit_test(partition_decides_conditions),
      cmocka_unit_test(stage_copies_tiles),
      cmocka_unit_test(stage_copies_for_one_load),
      cmocka_unit_test(tensorize_marks_loops),
      cmocka_unit_test(tensorize_wants_slight_weights),
      cmocka_unit_test(dependences_are_seen),
      cmocka_unit_test(schedules_are_noted_and_replayed),
      cmocka_unit_test(primitives_are_listed),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
