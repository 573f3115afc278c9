/* Convolutions of pictures of few channels against themselves with the channels last. */
#include <stdio.h>

#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "passes/testing/graph_run.h"

typedef struct shape {
  const char *data, *weights, *sums; /* types */
  int batch, channels, window, before, behind, step;
  bool is_last; /* channels are so already */
  bool is_second;
} shape_t;

enum { SIDE = 11, OUTPUTS = 16 };

/* Weights differ everywhere. */
static void add_weights(hone_str_t* text, const shape_t* s) {
  hone_str_append(text, "%1 = constant {");
  for (int i = 0; i < OUTPUTS * s->channels * s->window * s->window; i++)
    hone_str_appendf(text, "%s%d", i ? ", " : "", (i * 7919) % 41 - 20);
  hone_str_appendf(text, "} : %s[%d, %d, %d, %d]\n", s->weights, OUTPUTS, s->channels, s->window,
                   s->window);
}

static void write_image(char out[64], const shape_t* s, int side) {
  if (s->is_last)
    snprintf(out, 64, "%d, %d, %d, %d", s->batch, side, side, s->channels);
  else
    snprintf(out, 64, "%d, %d, %d, %d", s->batch, s->channels, side, side);
}

static hone_graph_t* make_graph(const shape_t* s) {
  int padded = SIDE + s->before + s->behind, results = (padded - s->window) / s->step + 1;
  hone_str_t text;
  hone_str_init(&text, NULL);
  char x[64], pad[64], window[64];
  write_image(x, s, SIDE);
  write_image(pad, s, padded);
  write_image(window, s, results);
  hone_str_appendf(&text, "%%0 = input : %s[%s]\n", s->data, x);
  add_weights(&text, s);
  const char *front = s->is_last ? "0, " : "0, 0, ", *end = s->is_last ? ", 0" : "";
  hone_str_appendf(&text,
                   "%%2 = constant {3} : %s[]\n%%3 = pad %%0 %%2 lo=[%s%d, %d%s] hi=[%s%d, %d%s] : "
                   "%s[%s]\n",
                   s->data, front, s->before, s->before, end, front, s->behind, s->behind, end,
                   s->data, pad);
  int first = s->is_last ? 1 : 2;
  hone_str_appendf(&text,
                   "%%4 = window %%3 axes=[%d, %d] shape=[%d, %d] hi=[1, 1] step=[%d, %d] : "
                   "%s[%s, %d, %d]\n",
                   first, first + 1, s->window, s->window, s->step, s->step, s->data, window,
                   s->window, s->window);
  int channels = s->is_last ? 3 : 1;
  if (s->is_second)
    hone_str_appendf(&text,
                     "%%5 = contract %%1 %%4 dtype=%s axes=[1, %d, 2, 4, 3, 5] batch=0 : "
                     "%s[%d, %d, %d, %d]\nreturn %%5\n",
                     s->sums, channels, s->sums, OUTPUTS, s->batch, results, results);
  else
    hone_str_appendf(&text,
                     "%%5 = contract %%4 %%1 dtype=%s axes=[%d, 1, 4, 2, 5, 3] batch=0 : "
                     "%s[%d, %d, %d, %d]\nreturn %%5\n",
                     s->sums, channels, s->sums, s->batch, results, results, OUTPUTS);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static void expect(shape_t s, int64_t rewrites) {
  const hone_pass_options_t options = {.sums_blocks = true, .blocks_bytes = true};
  hone_graph_t *before = make_graph(&s), *after = make_graph(&s);
  assert_int_equal(test_pass_run(after, &options, "pictures"), rewrites);
  if (rewrites) assert_same_results(before, after, 1, 0); /* whole numbers, of few bits */
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void bytes_are_convolved_alike(void** state) {
  (void)state;
  expect((shape_t){"u8", "i8", "i32", 1, 3, 7, 3, 3, 2, false, false}, 1);
  expect((shape_t){"i8", "i8", "i32", 2, 2, 5, 0, 0, 1, false, false}, 1);
  expect((shape_t){"u8", "i8", "i32", 1, 3, 5, 2, 1, 2, true, false}, 1);
  expect((shape_t){"u8", "i8", "i32", 1, 4, 6, 1, 2, 1, false, true}, 1);
}

static void halves_are_convolved_alike(void** state) {
  (void)state;
  expect((shape_t){"bf16", "bf16", "f32", 1, 3, 3, 1, 1, 2, false, false}, 1);
  expect((shape_t){"bf16", "bf16", "f32", 2, 3, 4, 0, 1, 1, true, true}, 1);
}

static void others_stay_as_they_are(void** state) {
  (void)state;
  expect((shape_t){"u8", "i8", "i32", 1, 3, 4, 1, 1, 1, false, false}, 0);   /* short lines */
  expect((shape_t){"u8", "i8", "i32", 1, 1, 7, 1, 1, 1, false, false}, 0);   /* one channel */
  expect((shape_t){"u8", "i8", "i32", 1, 5, 7, 1, 1, 1, false, false}, 0);   /* many */
  expect((shape_t){"u8", "i8", "i32", 1, 4, 7, 1, 1, 1, true, false}, 0);    /* as they should be */
  expect((shape_t){"f32", "f32", "f32", 1, 3, 7, 1, 1, 1, false, false}, 0); /* wide */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_are_convolved_alike),
      cmocka_unit_test(halves_are_convolved_alike),
      cmocka_unit_test(others_stay_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
