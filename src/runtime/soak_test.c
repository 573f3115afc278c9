/* Sixteen sessions of one engine on as many threads: every result is right, and
 * what is held between rounds stays what it is. Without arguments a few rounds
 * of it; `--seconds N` goes on for that long and looks at the process too. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "hone/engine.h"
#include "runtime/testing/rich_model.h"

enum { USERS = 16, RUNS = 8, ROUNDS = 4, OUTPUTS = 4, LARGEST = 6 };

static double seconds; /* 0: ROUNDS rounds */

/* A batch of each size up to LARGEST, and what `ref` makes of it. */
typedef struct sample {
  hone_tensor_t *inputs[3], *want[OUTPUTS];
} sample_t;

typedef struct user {
  hone_session_t* session;
  const sample_t* samples;
  int first;
  int wrong; /* results */
} user_t;

static void make_sample(sample_t* sample, hone_session_t* reference, int size) {
  assert_ok(hone_tensor_create(NULL, HONE_F32, 4, (int64_t[]){size, 1, 4, 4}, &sample->inputs[0]));
  float* x = hone_tensor_data(sample->inputs[0]);
  for (int i = 0; i < size * 16; i++) x[i] = (float)((i * 5 + size) % 11) - 4;
  assert_ok(hone_tensor_create(NULL, HONE_I64, 1, (int64_t[]){2}, &sample->inputs[1]));
  memcpy(hone_tensor_data(sample->inputs[1]), (int64_t[]){4, -1}, 2 * sizeof(int64_t));
  assert_ok(hone_tensor_create(NULL, HONE_STRING, 1, (int64_t[]){1}, &sample->inputs[2]));
  assert_ok(hone_tensor_set_string(sample->inputs[2], 0, "word", 4));
  assert_ok(hone_session_run(reference, NULL, 3, sample->inputs, OUTPUTS, sample->want));
}

static void free_sample(sample_t* sample) {
  for (int i = 0; i < 3; i++) hone_tensor_release(sample->inputs[i]);
  for (int i = 0; i < OUTPUTS; i++) hone_tensor_release(sample->want[i]);
}

static bool same(const hone_tensor_t* a, const hone_tensor_t* b) {
  if (hone_tensor_dtype(a) != hone_tensor_dtype(b) || hone_tensor_count(a) != hone_tensor_count(b))
    return false;
  const float *x = hone_tensor_data(a), *y = hone_tensor_data(b);
  for (int64_t i = 0; hone_tensor_dtype(a) == HONE_F32 && i < hone_tensor_count(a); i++)
    if (!(fabsf(x[i] - y[i]) <= 1e-4f * (1 + fabsf(y[i])))) return false;
  return true;
}

static void* use_session(void* argument) {
  user_t* user = argument;
  for (int i = 0; i < RUNS; i++) {
    const sample_t* sample = &user->samples[(user->first + i) % LARGEST];
    hone_tensor_t* got[OUTPUTS] = {NULL};
    hone_status_t status = hone_session_run(user->session, NULL, 3, sample->inputs, OUTPUTS, got);
    bool right = !status;
    for (int k = 0; k < OUTPUTS && right; k++) right = same(got[k], sample->want[k]);
    user->wrong += !right;
    hone_status_free(status);
    for (int k = 0; k < OUTPUTS; k++) hone_tensor_release(got[k]);
  }
  return NULL;
}

static void play_round(user_t users[USERS]) {
  pthread_t threads[USERS];
  for (int i = 0; i < USERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, use_session, &users[i]), 0);
  for (int i = 0; i < USERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < USERS; i++) assert_int_equal(users[i].wrong, 0);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Bytes of the process in memory; 0 where the system does not say. */
static long resident(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "re");
  if (!file) return 0;
  if (fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* A session makes a context for each thread that meets others in it, and keeps
 * it: what is held may grow until there are USERS of them with every size, a few
 * kilobytes each, and no further. */
static void play(user_t users[USERS], const hone_limit_allocator_t* memory) {
  enum { CONTEXT = LARGEST * 64 << 10, SLACK = 4 << 20 };
  double end = now() + seconds;
  int rounds = 0;
  play_round(users);
  size_t held = hone_limit_allocator_in_use(memory);
  long before = resident();
  for (; rounds < ROUNDS || now() < end; rounds++) {
    play_round(users);
    assert_true(hone_limit_allocator_in_use(memory) <= held + (size_t)USERS * CONTEXT);
  }
  if (seconds <= 0) return;
  long after = resident();
  print_message("%d rounds of %d runs in %.0f s; the process had %.2f MB, then %.2f MB\n", rounds,
                USERS * RUNS, seconds, (double)before / 1e6, (double)after / 1e6);
  assert_true(after <= before + SLACK);
}

static void sessions_of_one_engine_stay_right(void** state) {
  (void)state;
  hone_model_t* model = test_rich_model();
  hone_session_t* reference;
  hone_engine_t* engine;
  hone_limit_allocator_t* memory;
  sample_t samples[LARGEST];
  user_t users[USERS];
  assert_ok(hone_session_create(model, &(hone_session_options_t){.device = "ref"}, &reference));
  for (int i = 0; i < LARGEST; i++) make_sample(&samples[i], reference, i + 1);
  assert_ok(hone_limit_allocator_create(NULL, SIZE_MAX, &memory));
  const hone_engine_options_t options = {.allocator = hone_limit_allocator_get(memory)};
  assert_ok(hone_engine_compile(model, &options, &engine));
  for (int i = 0; i < USERS; i++) {
    users[i] = (user_t){.samples = samples, .first = i};
    assert_ok(hone_session_create_from_engine(engine, &users[i].session));
  }
  play(users, memory);
  for (int i = 0; i < USERS; i++) hone_session_destroy(users[i].session);
  hone_engine_destroy(engine);
  assert_int_equal(hone_limit_allocator_in_use(memory), 0);
  hone_limit_allocator_destroy(memory);
  for (int i = 0; i < LARGEST; i++) free_sample(&samples[i]);
  hone_session_destroy(reference);
  hone_model_destroy(model);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sessions_of_one_engine_stay_right)};
  if (argc == 3 && strcmp(argv[1], "--seconds") == 0) seconds = strtod(argv[2], NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
