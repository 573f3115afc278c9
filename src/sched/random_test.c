/* Random schedules: whatever primitives accept leaves what a kernel computes as
 * it is; what they refuse leaves the kernel as it is. A schedule's text makes
 * the same kernel again, and a kernel's text reads back.
 *
 * HONE_SCHEDULE_SEED and HONE_SCHEDULE_COUNT choose others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing/draw.h"
#include "base/testing/test.h"
#include "hone/schedule.h"
#include "loop/testing/kernels.h"
#include "loop/text.h"
#include "loop/verify.h"

enum { MAX_LOOPS = 256, MAX_STEPS = 9 };

typedef struct loops {
  int n;
  const char* names[MAX_LOOPS];
} loops_t;

static bool add_loop(void* self, hone_stmt_t* stmt) {
  loops_t* loops = self;
  if (stmt->kind == HONE_STMT_LOOP && loops->n < MAX_LOOPS) loops->names[loops->n++] = stmt->name;
  return true;
}

/* A line that may make sense. Loops that are written near one another are
 * often taken together. */
static void draw_line(test_draw_t* d, const hone_kernel_t* kernel, char* line, size_t size) {
  static const int factors[] = {1, 2, 3, 4, 5, 8, 16};
  static const char* const stages[] = {"stage %s %s local",   "stage %s %s local 2",
                                       "prefetch %s %s %s",   "hasten %s %s 4",
                                       "hasten %s %s 2 none", "claim %s %s"};
  static const char* const evens[] = {"balance %s %d", "overlap %s %d", "lengthen %s %d"};
  static const char* const tails[] = {"exact", "guard", "peel", "peel", "long"};
  static const char* const ones[] = {"distribute", "distribute", "vectorize", "vectorize",
                                     "unroll",     "parallel",   "parallel",  "rfactor",
                                     "rfactor",    "partition",  "subtotal",  "hoist"};
  loops_t loops = {0};
  hone_stmt_walk(kernel->root, add_loop, &loops);
  int at = test_draw_below(d, loops.n), next = (at + 1 + test_draw_below(d, 2)) % loops.n;
  const char *a = loops.names[at], *b = loops.names[next], *c = loops.names[(next + 1) % loops.n];
  const char* buffer = kernel->buffers[test_draw_below(d, kernel->n_buffers)]->name;
  int f = factors[test_draw_below(d, 7)], g = factors[test_draw_below(d, 7)];
  switch (test_draw_below(d, 13)) {
    case 0:
    case 1:
      snprintf(line, size, "split %s %d %s", a, f, tails[test_draw_below(d, 5)]);
      break;
    case 2:
      snprintf(line, size, "fuse %s %s", a, b);
      break;
    case 3:
      snprintf(line, size, test_draw_below(d, 2) ? "reorder %s %s" : "reorder %s %s %s", b, a, c);
      break;
    case 4:
      snprintf(line, size, "tile %s %s %d %d %s", a, b, f, g, tails[test_draw_below(d, 5)]);
      break;
    case 5:
      snprintf(line, size, "merge %s %s", a, b);
      break;
    case 6:
      snprintf(line, size, evens[test_draw_below(d, 3)], a, f);
      break;
    case 7:
      snprintf(line, size, stages[test_draw_below(d, 4)], buffer, a, b);
      break;
    default: {
      const char* name = ones[test_draw_below(d, 12)];
      snprintf(line, size, "%s %s%s", name, a, strcmp(name, "partition") == 0 ? " auto" : "");
      break;
    }
  }
}

static void print_kernel(const hone_kernel_t* kernel, hone_str_t* text) {
  hone_str_init(text, NULL);
  assert_ok(hone_kernel_print(kernel, text));
}

static void fail_with(uint64_t seed, const char* what, const hone_kernel_t* kernel) {
  hone_str_t text;
  print_kernel(kernel, &text);
  fail_msg("seed %llu: %s:\n%s", (unsigned long long)seed, what, hone_str_text(&text));
}

static void assert_agrees(uint64_t seed, const hone_test_kernel_t* test, hone_kernel_t* kernel,
                          const hone_test_result_t* want) {
  hone_test_result_t got;
  hone_status_t status = hone_test_kernel_run(kernel, test->sizes, seed, &got);
  if (status) fail_with(seed, hone_status_message(status), kernel);
  if (!hone_test_result_agrees(want, &got)) fail_with(seed, "another result", kernel);
  hone_test_result_free(&got);
}

/* Some steps, of which those that are refused change nothing. Gives how many were done. */
static int schedule(test_draw_t* d, hone_kernel_t* kernel) {
  char line[512];
  int done = 0;
  for (int step = 0; step < MAX_STEPS; step++) {
    hone_str_t before, after;
    draw_line(d, kernel, line, sizeof line);
    print_kernel(kernel, &before);
    hone_status_t status = hone_schedule_apply(kernel, line);
    print_kernel(kernel, &after);
    if (status && strcmp(hone_str_text(&before), hone_str_text(&after)) != 0)
      fail_with(d->seed, line, kernel);
    if (status && !hone_status_message(status)[0]) fail_with(d->seed, "no reason", kernel);
    done += !status;
    hone_status_free(status);
    hone_str_free(&before);
    hone_str_free(&after);
    status = hone_kernel_verify(kernel);
    if (status) fail_with(d->seed, hone_status_message(status), kernel);
  }
  return done;
}

/* The schedule's text on a fresh kernel, and the kernel's text read back. */
static void check_texts(uint64_t seed, const hone_test_kernel_t* test, const hone_kernel_t* kernel,
                        const hone_test_result_t* want) {
  hone_kernel_t *again = hone_test_kernel_make(test), *back;
  hone_str_t a, b;
  assert_ok(hone_schedule_apply(again, hone_schedule_text(kernel)));
  print_kernel(kernel, &a);
  print_kernel(again, &b);
  if (strcmp(hone_str_text(&a), hone_str_text(&b)) != 0) fail_with(seed, "not replayed", again);
  assert_ok(hone_kernel_parse(NULL, hone_str_text(&a), a.size, &back));
  assert_agrees(seed, test, back, want);
  hone_str_free(&a);
  hone_str_free(&b);
  hone_kernel_destroy(again);
  hone_kernel_destroy(back);
}

static int check_seed(uint64_t seed) {
  test_draw_t draw = {.seed = seed};
  const hone_test_kernel_t* test =
      &hone_test_kernels[test_draw_below(&draw, hone_test_kernel_count)];
  hone_kernel_t *kernel = hone_test_kernel_make(test), *plain = hone_test_kernel_make(test);
  hone_test_result_t want;
  assert_ok(hone_test_kernel_run(plain, test->sizes, seed, &want));
  int done = schedule(&draw, kernel);
  assert_agrees(seed, test, kernel, &want);
  check_texts(seed, test, kernel, &want);
  hone_test_result_free(&want);
  hone_kernel_destroy(kernel);
  hone_kernel_destroy(plain);
  return done;
}

static long number_of(const char* variable, long otherwise) {
  const char* text = getenv(variable);
  return text ? strtol(text, NULL, 10) : otherwise;
}

static void schedules_keep_results(void** state) {
  long first = number_of("HONE_SCHEDULE_SEED", 1), count = number_of("HONE_SCHEDULE_COUNT", 200);
  long done = 0;
  for (long i = 0; i < count; i++) done += check_seed((uint64_t)(first + i));
  if (count >= 100) assert_true(done > count * 2); /* so that there is something to check */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(schedules_keep_results)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
