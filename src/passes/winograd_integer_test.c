/* Convolutions of bytes by tiles: the same bits as before, at the ends of what bytes and sums
 * can be too, and which tiles there are. */
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/random.h"
#include "base/str.h"
#include "passes/pass.h"

/* A convolution of `x`, bytes made of a float: times `scale`, plus `middle`. */
typedef struct conv {
  const char *x, *w; /* types of their elements */
  int height, width, channels, filters;
  double scale, middle;
  int zero;         /* in the pad */
  int weights;      /* 0: at random; 1: the ends, at random; 2: all the largest */
  int down, across; /* elements of the windows; down 0: they are lines */
} conv_t;

static void put_weights(hone_str_t* text, const conv_t* c, uint64_t seed) {
  bool has_sign = strcmp(c->w, "i8") == 0;
  int least = has_sign ? -128 : 0, most = has_sign ? 127 : 255;
  int taps = (c->down ? c->down : 1) * c->across;
  for (int i = 0; i < c->filters * c->channels * taps; i++) {
    uint32_t word = hone_random_u32(seed, (uint64_t)i);
    int value = c->weights == 0   ? least + (int)(word % (uint32_t)(most - least + 1))
                : c->weights == 1 ? (word & 1 ? least : most)
                                  : most;
    hone_str_appendf(text, "%s%d", i ? ", " : "", value);
  }
}

/* %18 from %16, the padded picture, and %1. */
static void put_convolution(hone_str_t* text, const conv_t* c) {
  int h = c->height + 2 - (c->down ? c->down - 1 : 0), w = c->width + 2 - (c->across - 1);
  if (c->down)
    hone_str_appendf(text,
                     "%%17 = window %%16 axes=[1, 2] shape=[%d, %d] hi=[1, 1] step=[1, 1] : "
                     "%s[1, %d, %d, %d, %d, %d]\n",
                     c->down, c->across, c->x, h, w, c->channels, c->down, c->across);
  else
    hone_str_appendf(text,
                     "%%17 = window %%16 axes=[2] shape=[%d] hi=[1] step=[1] : "
                     "%s[1, %d, %d, %d, %d]\n",
                     c->across, c->x, h, w, c->channels, c->across);
  hone_str_appendf(text,
                   "%%18 = contract %%17 %%1 dtype=i32 axes=[%s] batch=0 : "
                   "i32[1, %d, %d, %d]\nreturn %%18\n",
                   c->down ? "3, 1, 4, 2, 5, 3" : "3, 1, 4, 2", h, w, c->filters);
}

static hone_graph_t* make_graph(const conv_t* c, uint64_t seed) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  int h = c->height, w = c->width, n = c->channels;
  bool has_sign = strcmp(c->x, "i8") == 0;
  hone_str_appendf(&text, "%%0 = input : f32[1, %d, %d, %d]\n%%1 = constant {", h, w, n);
  put_weights(&text, c, seed);
  hone_str_appendf(&text, "} : %s[%d, %d", c->w, c->filters, n);
  if (c->down) hone_str_appendf(&text, ", %d", c->down);
  hone_str_appendf(&text, ", %d]\n", c->across);
  const double numbers[] = {c->scale, c->middle, has_sign ? -128 : 0, has_sign ? 127 : 255};
  static const char* const steps[] = {"mul", "add", "max", "min"};
  for (int i = 0; i < 4; i++) {
    hone_str_appendf(&text, "%%%d = constant {%g} : f32[1, 1, 1, 1]\n", 2 + 3 * i, numbers[i]);
    hone_str_appendf(&text, "%%%d = expand %%%d shape=[1, %d, %d, %d] : f32[1, %d, %d, %d]\n",
                     3 + 3 * i, 2 + 3 * i, h, w, n, h, w, n);
    hone_str_appendf(&text, "%%%d = %s %%%d %%%d : f32[1, %d, %d, %d]\n", 4 + 3 * i, steps[i],
                     i ? 1 + 3 * i : 0, 3 + 3 * i, h, w, n);
  }
  hone_str_appendf(&text, "%%14 = cast %%13 dtype=%s : %s[1, %d, %d, %d]\n", c->x, c->x, h, w, n);
  hone_str_appendf(&text, "%%15 = constant {%d} : %s[]\n", c->zero, c->x);
  hone_str_appendf(&text,
                   "%%16 = pad %%14 %%15 lo=[0, 1, 1, 0] hi=[0, 1, 1, 0] : %s[1, %d, %d, %d]\n",
                   c->x, h + 2, w + 2, n);
  put_convolution(&text, c);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

/* What devices differ in. */
static const hone_pass_options_t shorts = {.sums_shorts = true},
                                 fast_bytes = {.halves_shorts = true}, none = {0},
                                 blocks = {.halves_shorts = true, .blocks_bytes = true};

/* Results along an axis of a tile; 0: it stays a convolution. */
static int rewrite(hone_graph_t* graph, hone_pass_options_t options) {
  const char* only = "winograd";
  hone_pass_report_t report;
  options.n_only = 1;
  options.only = &only;
  options.verify = options.exact = options.details = true;
  assert_ok(hone_pass_report_create(NULL, &report));
  assert_ok(hone_passes_run(graph, &options, &report));
  int tile = 0;
  if (report.first && report.first->details)
    tile = strstr(report.first->details->text, "by tiles of 4") ? 4 : 2;
  hone_pass_report_destroy(&report);
  return tile;
}

static int check_on(const hone_pass_options_t* device, const conv_t* c, uint64_t seed) {
  hone_graph_t *before = make_graph(c, seed), *after = make_graph(c, seed);
  int tile = rewrite(after, *device);
  if (tile) assert_same_results(before, after, seed, 0);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
  return tile;
}

static int check(const conv_t* c, uint64_t seed) { return check_on(&shorts, c, seed); }

static int pick(uint64_t seed, int what, int low, int high) {
  return low + (int)(hone_random_u32(seed, (uint64_t)(1000 + what)) % (uint32_t)(high - low + 1));
}

static void random_convolutions_stay_the_same(void** state) {
  enum { ROUNDS = 24 };
  int taken = 0;
  (void)state;
  for (uint64_t seed = 0; seed < ROUNDS; seed++) {
    bool has_sign = pick(seed, 0, 0, 1);
    conv_t c = {.x = has_sign ? "i8" : "u8",
                .w = pick(seed, 1, 0, 3) ? "i8" : "u8",
                .height = pick(seed, 2, 12, 18),
                .width = pick(seed, 3, 12, 18),
                .channels = 2 * pick(seed, 4, 12, 17),
                .filters = pick(seed, 5, 24, 34),
                .scale = pick(seed, 6, 0, 2) ? 64 : 1e6, /* all values, or the ends alone */
                .middle = has_sign ? 0 : 128,
                .zero = has_sign ? pick(seed, 7, -128, 127) : pick(seed, 7, 0, 255),
                .weights = pick(seed, 8, 0, 2),
                .down = 3,
                .across = 3};
    taken += check(&c, seed) != 0;
  }
  print_message("%d of %d by tiles, the others would gain nothing\n", taken, ROUNDS);
  assert_true(taken > ROUNDS / 2);
}

/* As large as sums can be for tiles of 4 x 4, and larger. */
static void large_sums_get_smaller_tiles(void** state) {
  (void)state;
  conv_t c = {.x = "u8",
              .w = "i8",
              .height = 12,
              .width = 12,
              .channels = 114,
              .filters = 32,
              .middle = 255,
              .zero = 255,
              .weights = 2,
              .down = 3,
              .across = 3};
  assert_int_equal(check(&c, 1), 4);
  c.channels = 116;
  assert_int_equal(check(&c, 1), 2);
  c.x = "i8";
  c.zero = c.middle = -128;
  c.channels = 226;
  assert_int_equal(check(&c, 1), 4);
  c.channels = 230;
  assert_int_equal(check(&c, 1), 2);
}

/* Lines, of 3 to 7 elements, and windows of other sizes. */
static void other_windows_stay_the_same(void** state) {
  static const int windows[][2] = {{0, 3}, {0, 5}, {0, 7}, {5, 5}, {4, 3}, {7, 5}};
  (void)state;
  for (size_t i = 0; i < TEST_COUNT(windows); i++)
    for (int weights = 0; weights < 3; weights++) {
      conv_t c = {.x = i % 2 ? "i8" : "u8",
                  .w = "i8",
                  .height = 14 + (int)i,
                  .width = 30,
                  .channels = 64,
                  .filters = 64,
                  .scale = weights ? 1e6 : 64,
                  .middle = i % 2 ? 0 : 128,
                  .zero = i % 2 ? -128 : 255,
                  .weights = weights,
                  .down = windows[i][0],
                  .across = windows[i][1]};
      bool is_too_large = c.down * c.across == 35 && weights; /* for sums of 2^25 */
      assert_int_equal(check(&c, i), is_too_large ? 2 : 4);
    }
}

static const conv_t usual = {.x = "u8",
                             .w = "i8",
                             .height = 16,
                             .width = 16,
                             .channels = 32,
                             .filters = 32,
                             .down = 3,
                             .across = 3};

/* Where products of bytes take half as long tiles must have enough results for their weights, and
 * of lines, which have half the products, gain nothing; nor where matrix instructions multiply. */
static void fast_bytes_need_larger_pictures(void** state) {
  (void)state;
  conv_t c = usual;
  c.channels = c.filters = c.scale = 64;
  c.middle = c.zero = 128;
  assert_int_equal(check_on(&fast_bytes, &c, 1), 4);
  assert_int_equal(check_on(&blocks, &c, 1), 0);
  c.height = c.width = 8;
  assert_int_equal(check(&c, 1), 4);
  assert_int_equal(check_on(&fast_bytes, &c, 1), 0);
  c.width = 200;
  c.down = 0;
  assert_int_equal(check(&c, 1), 4);
  assert_int_equal(check_on(&fast_bytes, &c, 1), 0);
}

/* Without products of 16 bits in twos, and for channels that are no pairs. */
static void others_stay_as_they_are(void** state) {
  (void)state;
  conv_t c = usual;
  hone_graph_t* graph = make_graph(&c, 0);
  assert_int_equal(rewrite(graph, none), 0);
  hone_graph_destroy(graph);
  c.channels = 33;
  assert_int_equal(check(&c, 0), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_convolutions_stay_the_same),
      cmocka_unit_test(other_windows_stay_the_same),
      cmocka_unit_test(large_sums_get_smaller_tiles),
      cmocka_unit_test(fast_bytes_need_larger_pictures),
      cmocka_unit_test(others_stay_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
