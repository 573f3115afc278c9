/* Launches that take turns, with kernels that look whether what they need has been done. */
#include "runtime/turns.h"

#include <stdatomic.h>
#include <string.h>

#include "backends/cpu/device.h"
#include "base/testing/draw.h"
#include "base/testing/fault.h"
#include "loop/span.h"

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

static void rounds_come_once_and_after_what_they_need(void** state) {
  (void)state;
  const hone_backend_t* cpu = hone_backend_find("cpu");
  test_draw_t draw = {.seed = 7};
  for (int threads = 1; threads <= 4; threads++) {
    const hone_open_options_t options = {.struct_size = sizeof options, .threads = threads};
    hone_device_t* device;
    hone_stream_t* stream;
    assert_ok(cpu->open(0, &options, &device));
    assert_ok(cpu->stream_create(device, &stream));
    for (int i = 0; i < 400; i++) {
      draw_world(&draw);
      run_world(stream, 1 + test_draw_below(&draw, 3), 1 + (int)test_draw_below(&draw, MOST_SHARES),
                1 + test_draw_below(&draw, 20));
      check_world();
    }
    cpu->stream_destroy(stream);
    cpu->close(device);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_come_once_and_after_what_they_need),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
