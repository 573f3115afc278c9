/* Spans of kernels, and what rounds need by them. */
#include "loop/span.h"

#include <string.h>

#include "base/testing/draw.h"
#include "base/testing/fault.h"
#include "loop/text.h"

typedef struct wanted {
  bool is_known;
  int64_t step, least, most; /* bytes */
} wanted_t;

static hone_kernel_t* parse(const char* text) {
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

static void check_spans(const char* text, const wanted_t* wanted) {
  hone_kernel_t* kernel = parse(text);
  hone_span_t spans[8];
  assert_true(kernel->n_buffers <= 8);
  assert_ok(hone_kernel_spans(kernel, spans));
  for (int i = 0; i < kernel->n_buffers; i++) {
    if (kernel->buffers[i]->role == HONE_ROLE_SCRATCH) continue;
    assert_int_equal(spans[i].is_known, wanted[i].is_known);
    if (!spans[i].is_known) continue;
    assert_int_equal(spans[i].step, wanted[i].step);
    assert_int_equal(spans[i].least, wanted[i].least);
    assert_int_equal(spans[i].most, wanted[i].most);
    assert_true(hone_span_is_sound(&spans[i]));
  }
  hone_kernel_destroy(kernel);
}

/* Windows of three rows, two apart; weights are the same for all rounds. */
static void windows_reach_into_the_next_rows(void** state) {
  (void)state;
  check_spans(
      "kernel k { input x: f32[21, 8] = 0 input w: f32[3] = 1 output y: f32[10, 8] = 0\n"
      "for i in 10 parallel { for j in 8 {\n"
      "y[i, j] = f32(0)\n"
      "for k in 3 { y[i, j] += mul(x[2*i + k, j], w[k]) } } } }",
      (wanted_t[]){{true, 64, 0, 96}, {true, 0, 0, 12}, {true, 32, 0, 32}});
}

/* Rows of 4 out of 6, each round two of them; the border above and below goes with the first and
 * the last, its sides with their rows. */
static const char bordered[] =
    "kernel k { input x: f16[8, 4] = 0 output y: f16[10, 6] = 0\n"
    "for i in 4 parallel { for k in 2 { for j in 4 { y[2*i + k + 1, j + 1] = x[2*i + k, j] } } }\n"
    "for t in 6 { y[0, t] = f16(0) y[9, t] = f16(0) }\n"
    "for s in 8 { y[s + 1, 0] = f16(0) y[s + 1, 5] = f16(0) } }";

static void borders_go_with_the_rows_beside_them(void** state) {
  (void)state;
  check_spans(bordered, (wanted_t[]){{true, 16, 0, 16}, {true, 24, 12, 36}});
  hone_kernel_t* kernel = parse(bordered);
  static const hone_fill_place_t top[] = {HONE_FILL_FIRST, HONE_FILL_LAST};
  for (int i = 0; i < 2; i++) {
    hone_fill_place_t place;
    assert_ok(hone_fill_place(kernel, kernel->root->body[1]->body[i], &place));
    assert_int_equal(place, top[i]);
    assert_ok(hone_fill_place(kernel, kernel->root->body[2]->body[i], &place));
    assert_int_equal(place, HONE_FILL_ALONG);
  }
  hone_kernel_destroy(kernel);
}

/* Rounds that each write a part of all rows have no place beside the border. */
static void parts_of_all_rows_have_no_first(void** state) {
  (void)state;
  hone_kernel_t* kernel = parse(
      "kernel k { input x: f32[8, 4] = 0 output y: f32[10, 4] = 0\n"
      "for j in 4 parallel { for i in 8 { y[i + 1, j] = x[i, j] } }\n"
      "for t in 4 { y[0, t] = f32(0) } }");
  hone_fill_place_t place;
  assert_ok(hone_fill_place(kernel, kernel->root->body[1]->body[0], &place));
  assert_int_equal(place, HONE_FILL_ALONG);
  hone_kernel_destroy(kernel);
}

static void what_is_not_even_is_not_known(void** state) {
  (void)state;
  const wanted_t none[] = {{false, 0, 0, 0}, {false, 0, 0, 0}};
  check_spans(
      "kernel k { size n 1..9 input x: f32[n] = 0 output y: f32[n] = 0\n"
      "for i in n parallel { y[i] = x[i] } }",
      none);
  check_spans(
      "kernel k { input x: f32[8] = 0 output y: f32[8] = 0\n"
      "for i in 8 { y[i] = x[i] } }",
      none);
  check_spans(
      "kernel k { input x: f32[8] = 0 output y: f32[8] = 0\n"
      "for i in 4 parallel { y[i] = x[i] } for j in 4 parallel { y[j + 4] = x[j + 4] } }",
      none);
  check_spans(
      "kernel k { input x: f32[8] = 0 output y: f32[9] = 0\n"
      "for i in 8 parallel { y[i + 1] = x[i] } y[0] = x[3] }",
      none);
  check_spans(
      "kernel k { input x: f32[8] = 0 output y: f32[8] = 0\n"
      "for i in 8 parallel { y[i] = x[max(i - 1, 0)] } }",
      (wanted_t[]){{false, 0, 0, 0}, {true, 4, 0, 4}});
  /* Three borders to ten rounds: none has a third of one. */
  check_spans(
      "kernel k { input x: f32[10] = 0 output y: f32[10, 2] = 0\n"
      "for i in 10 parallel { y[i, 0] = x[i] } for s in 3 { y[3*s, 1] = f32(0) } }",
      (wanted_t[]){{true, 4, 0, 4}, {false, 0, 0, 0}});
}

/* ---- needs ---- */

/* Whether the reader's round needs the writer's by the definition in hone/backend.h. */
static bool needs(const hone_need_t* n, int64_t writers, int64_t reader, int64_t writer) {
  int64_t low = n->reader_step * reader + n->least, high = n->reader_step * reader + n->most;
  int64_t first = (low - (low % n->writer_step + n->writer_step) % n->writer_step) / n->writer_step;
  int64_t last =
      (high - (high % n->writer_step + n->writer_step) % n->writer_step) / n->writer_step;
  first = first < 0 ? 0 : first >= writers ? writers - 1 : first;
  last = last < 0 ? 0 : last >= writers ? writers - 1 : last;
  return writer >= first && writer <= last;
}

static void check_need(const hone_need_t* n, int64_t writers, int64_t readers) {
  for (int64_t r = 0; r < readers; r++) {
    int64_t begin = hone_need_begin(n, writers, r), end = hone_need_end(n, writers, r + 1);
    for (int64_t w = 0; w < writers; w++)
      assert_int_equal(w >= begin && w < end, needs(n, writers, r, w));
  }
  for (int64_t w = 0; w <= writers; w++) {
    int64_t without = hone_need_first_without(n, writers, w), before = hone_need_count_before(n, w);
    for (int64_t r = 0; r < readers; r++) {
      if (r >= without) assert_true(hone_need_begin(n, writers, r) >= w);
      if (r < before && w) assert_true(hone_need_end(n, writers, r + 1) <= w);
    }
  }
}

static void needs_are_counted_right(void** state) {
  (void)state;
  test_draw_t draw = {.seed = 1};
  for (int i = 0; i < 3000; i++) {
    hone_need_t n = {.reader_step = 1 + test_draw_below(&draw, 40),
                     .writer_step = 1 + test_draw_below(&draw, 40)};
    n.least = (int64_t)test_draw_below(&draw, 200) - 100;
    n.most = n.least + test_draw_below(&draw, 100);
    check_need(&n, 1 + test_draw_below(&draw, 12), 1 + test_draw_below(&draw, 12));
  }
}

static hone_status_t find_spans(const hone_allocator_t* allocator, void* context) {
  hone_kernel_t* kernel;
  hone_span_t spans[4];
  (void)context;
  HONE_TRY(hone_kernel_parse(allocator, bordered, sizeof bordered - 1, &kernel));
  hone_status_t status = hone_kernel_spans(kernel, spans);
  hone_kernel_destroy(kernel);
  return status;
}

static void running_out_of_memory_is_survived(void** state) {
  (void)state;
  assert_survives_faults(find_spans, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_reach_into_the_next_rows),
      cmocka_unit_test(borders_go_with_the_rows_beside_them),
      cmocka_unit_test(parts_of_all_rows_have_no_first),
      cmocka_unit_test(what_is_not_even_is_not_known),
      cmocka_unit_test(needs_are_counted_right),
      cmocka_unit_test(running_out_of_memory_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
