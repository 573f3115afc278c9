/* Launches that take turns, with kernels that look whether what they need has been done. */
#include "runtime/turns.h"

#include <stdatomic.h>
#include <string.h>

#include "backends/cpu/device.h"
#include "base/testing/draw.h"
#include "base/testing/fault.h"
#include "loop/span.h"
#include "loop/turn_walk.h"

enum { LAUNCHES = 6, MOST_ROUNDS = 40, MOST_SHARES = 5 };

static struct {
  int count, n_needs;
  int64_t rounds[LAUNCHES];
  hone_need_t needs[2 * LAUNCHES];
  atomic_int done[LAUNCHES][MOST_ROUNDS]; /* how often */
  atomic_int early;                       /* rounds that came before what they need */
} world;

static void look(int launch, int64_t round) {
  for (int i = 0; i < world.n_needs; i++) {
    const hone_need_t* n = &world.needs[i];
    if (n->reader != launch) continue;
    int64_t writers = world.rounds[n->writer], end = hone_need_end(n, writers, round + 1);
    for (int64_t w = hone_need_begin(n, writers, round); w < end; w++)
      if (!atomic_load(&world.done[n->writer][w])) atomic_fetch_add(&world.early, 1);
  }
}

/* The first size says which launch it is. */
static void run_rounds(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end) {
  (void)buffers;
  for (int64_t r = begin; r < end; r++) {
    look((int)sizes[0], r);
    for (volatile int k = 0; k < 100; k++) {
    }
    atomic_fetch_add(&world.done[sizes[0]][r], 1);
  }
}

/* Each reads the one before, and some another as well, by windows of random height and distance. */
static void draw_world(test_draw_t* draw) {
  memset(&world, 0, sizeof world);
  world.count = 2 + (int)test_draw_below(draw, LAUNCHES - 1);
  for (int l = 0; l < world.count; l++) world.rounds[l] = 1 + test_draw_below(draw, MOST_ROUNDS);
  for (int l = 1; l < world.count; l++)
    for (int twice = 0; twice < 1 + (int)test_draw_below(draw, 2); twice++) {
      hone_need_t* n = &world.needs[world.n_needs++];
      *n = (hone_need_t){.reader = l, .writer = twice ? (int)test_draw_below(draw, l) : l - 1};
      n->reader_step = 4 * world.rounds[n->writer];
      n->writer_step = 4 * world.rounds[l];
      n->least = (int64_t)test_draw_below(draw, 400) - 300;
      n->most = n->least + test_draw_below(draw, 600);
    }
}

static void run_world(hone_stream_t* stream, int64_t grain, int shares, int64_t strips) {
  cpu_entry_fn entries[] = {run_rounds};
  const hone_module_t module = {.n_entries = 1, .entries = entries};
  hone_launch_t launches[LAUNCHES];
  int64_t numbers[LAUNCHES], begins[LAUNCHES * (MOST_SHARES + 1)];
  double weights[LAUNCHES];
  for (int l = 0; l < world.count; l++) {
    numbers[l] = l;
    launches[l] = (hone_launch_t){.struct_size = sizeof launches[l],
                                  .module = &module,
                                  .n_sizes = 1,
                                  .sizes = &numbers[l],
                                  .groups = {world.rounds[l], 1, 1},
                                  .locals = {1, 1, 1},
                                  .grain = grain};
    weights[l] = 1 + l % 3;
  }
  hone_turn_plan_t plan = {.count = world.count,
                           .n_needs = world.n_needs,
                           .needs = world.needs,
                           .n_shares = shares,
                           .strips = strips};
  hone_turns_cut(&plan, world.rounds, weights, begins);
  assert_ok(hone_cpu_launch_turns(stream, launches, &plan));
}

static void check_world(void) {
  assert_int_equal(atomic_load(&world.early), 0);
  for (int l = 0; l < world.count; l++)
    for (int64_t r = 0; r < MOST_ROUNDS; r++)
      assert_int_equal(atomic_load(&world.done[l][r]), r < world.rounds[l]);
}

/* Checks so often on one to four threads. */
static void check_on_threads(int times, uint64_t seed,
                             void (*check)(hone_stream_t* stream, test_draw_t* draw)) {
  const hone_backend_t* cpu = hone_backend_find("cpu");
  test_draw_t draw = {.seed = seed};
  for (int threads = 1; threads <= 4; threads++) {
    const hone_open_options_t options = {.struct_size = sizeof options, .threads = threads};
    hone_device_t* device;
    hone_stream_t* stream;
    assert_ok(cpu->open(0, &options, &device));
    assert_ok(cpu->stream_create(device, &stream));
    for (int i = 0; i < times; i++) check(stream, &draw);
    cpu->stream_destroy(stream);
    cpu->close(device);
  }
}

static void check_rounds(hone_stream_t* stream, test_draw_t* draw) {
  draw_world(draw);
  run_world(stream, 1 + test_draw_below(draw, 3), 1 + (int)test_draw_below(draw, MOST_SHARES),
            1 + test_draw_below(draw, 20));
  check_world();
}

static void rounds_come_once_and_after_what_they_need(void** state) {
  (void)state;
  check_on_threads(400, 7, check_rounds);
}

/* ---- windows ---- */

/* A chain: each launch looks whether what it reads is what the one before wrote, and writes. */
enum { ROW = 128 /* bytes of a round */, MOST_BYTES = (MOST_ROUNDS + 6) * ROW };

static struct {
  hone_turn_window_t windows[LAUNCHES]; /* of what launch l hands on; the last is not used */
  hone_turn_part_t parts[LAUNCHES][MOST_SHARES];
  char values[LAUNCHES][MOST_BYTES + 1];
  atomic_int wrong; /* bytes */
  int count;        /* of windows */
} chain;

static uint8_t pattern(int launch, int64_t at) {
  return (uint8_t)(1 + (at * 31 + launch * 7 + at / 251) % 255);
}

static void read_round(const uint8_t* from, int launch, int64_t round) {
  const hone_turn_window_t* w = &chain.windows[launch - 1];
  int64_t end = hone_turn_reach_end(&w->read, round + 1, INT64_MAX, w->bytes);
  for (int64_t k = hone_turn_reach_begin(&w->read, round, w->bytes); k < end; k++)
    if (from[k] != pattern(launch - 1, k)) atomic_fetch_add(&chain.wrong, 1);
}

static void write_round(uint8_t* to, int launch, int64_t round) {
  const hone_turn_window_t* w = &chain.windows[launch];
  int64_t end = hone_turn_reach_end(&w->written, round + 1, world.rounds[launch], w->bytes);
  for (int64_t k = hone_turn_reach_begin(&w->written, round, w->bytes); k < end; k++)
    to[k] = pattern(launch, k);
}

static void run_chained(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end) {
  int launch = (int)sizes[0];
  for (int64_t r = begin; r < end; r++) {
    if (launch) read_round(buffers[0], launch, r);
    write_round(buffers[1], launch, r);
  }
}

/* Borders above and below, windows of one to three rows, one or two apart. */
static void draw_chain(test_draw_t* draw) {
  memset(&world, 0, sizeof world);
  memset(&chain, 0, sizeof chain);
  world.count = 2 + (int)test_draw_below(draw, LAUNCHES - 1);
  int64_t rounds = MOST_ROUNDS;
  for (int l = 0; l < world.count; l++) {
    hone_turn_window_t* w = &chain.windows[l];
    int apart = 1 + (int)test_draw_below(draw, 2), reach = 1 + (int)test_draw_below(draw, 3);
    int64_t border = test_draw_below(draw, 3) * ROW, odd = 4 * test_draw_below(draw, 8);
    if (rounds < 8 * apart) apart = 1;
    world.rounds[l] = rounds;
    *w = (hone_turn_window_t){.writer = l, .writer_buffer = 1, .reader = l + 1};
    w->written = (hone_turn_reach_t){ROW, border, border + ROW};
    w->bytes = 2 * border + rounds * ROW;
    w->read = (hone_turn_reach_t){apart * ROW, odd, reach * ROW - odd};
    world.needs[l] = (hone_need_t){.reader = l + 1,
                                   .writer = l,
                                   .reader_step = w->read.step,
                                   .writer_step = ROW,
                                   .least = w->read.least - w->written.most + ROW,
                                   .most = w->read.most - w->written.least - 1};
    rounds /= apart;
  }
  world.n_needs = world.count - 1;
}

static void run_chain(hone_stream_t* stream, int shares, int64_t strips, int64_t more) {
  cpu_entry_fn entries[] = {run_chained};
  const hone_module_t module = {.n_entries = 1, .entries = entries};
  hone_memory_t memories[LAUNCHES];
  hone_launch_t launches[LAUNCHES];
  hone_argument_t arguments[LAUNCHES][2] = {0};
  hone_turn_window_t windows[LAUNCHES];
  int64_t numbers[LAUNCHES], begins[LAUNCHES * (MOST_SHARES + 1)];
  double weights[LAUNCHES];
  for (int l = 0; l < world.count; l++) {
    numbers[l] = l;
    weights[l] = 1 + l % 3;
    memories[l] = (hone_memory_t){.data = chain.values[l], .size = MOST_BYTES};
    if (l) arguments[l][0].memory = &memories[l - 1];
    arguments[l][1].memory = &memories[l];
    launches[l] = (hone_launch_t){.struct_size = sizeof launches[l],
                                  .module = &module,
                                  .n_buffers = 2,
                                  .buffers = arguments[l],
                                  .n_sizes = 1,
                                  .sizes = &numbers[l],
                                  .groups = {world.rounds[l], 1, 1},
                                  .locals = {1, 1, 1}};
  }
  hone_turn_plan_t plan = {.count = world.count,
                           .n_needs = world.n_needs,
                           .needs = world.needs,
                           .n_shares = shares,
                           .strips = strips,
                           .windows = windows};
  hone_turns_cut(&plan, world.rounds, weights, begins);
  for (int l = 0; l + 1 < world.count; l++) {
    int64_t at = 64 * (l % 2), /* of what comes before */
        end = hone_turns_place_window(&plan, more, at, &chain.windows[l], chain.parts[l]),
            bytes = end * shares;
    if (end < 0 || bytes >= MOST_BYTES) continue;
    assert_true(end > at);
    hone_turns_part_blocks(&plan, end, chain.parts[l]);
    windows[plan.n_windows++] = chain.windows[l];
    memories[l].data = chain.values[l] + MOST_BYTES - bytes; /* nothing is written behind it */
    chain.count++;
  }
  assert_ok(hone_cpu_launch_turns(stream, launches, &plan));
}

static int windows_met;

static void check_chain(hone_stream_t* stream, test_draw_t* draw) {
  draw_chain(draw);
  run_chain(stream, 1 + (int)test_draw_below(draw, MOST_SHARES), 1 + test_draw_below(draw, 20),
            test_draw_below(draw, 4) * ROW);
  assert_int_equal(atomic_load(&chain.wrong), 0);
  for (int l = 0; l < world.count; l++) assert_int_equal(chain.values[l][MOST_BYTES], 0);
  windows_met += chain.count;
}

static void windows_hold_what_is_read(void** state) {
  (void)state;
  check_on_threads(300, 11, check_chain);
  assert_true(windows_met > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_come_once_and_after_what_they_need),
      cmocka_unit_test(windows_hold_what_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
