/* Rounds of loops that threads share out give what `ref` gives, whichever thread did them. */
#include <stdio.h>
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/tensor_impl.h"
#include "base/testing/fault.h"
#include "runtime/compile.h"
#include "runtime/context.h"

enum { ROWS = 96, COLUMNS = 128, THREADS = 2 };

/* Each round looks its matrix up, at a place that a list names. */
static const char symbols[] = "symbol \"n\" input 0 2147483647\n";
static const char lines[] =
    "  %0 \"x\" = input : f32[5, 96, 128]\n"
    "  %1 \"at\" <0 dim 0> = input : i64[n]\n"
    "  %2 \"w\" = input : f32[128, 128]\n"
    "  %3 = dims shape=[n] : i64[1]\n"
    "  %4 = reshape %3 shape=[] : i64[]\n"
    "  %5 = constant {1} : bool[]\n"
    "  %6 %7 = loop %4 %5 %0 %1 %2 carried=0 : f32[n, 96, 128], f32[n, 96] @ \"each (Loop)\"\n"
    "    region \"body\" {\n"
    "      %0 = input : i64[]\n"
    "      %1 = input : bool[]\n"
    "      %2 = input : f32[5, 96, 128]\n"
    "      %3 = input : i64[n]\n"
    "      %4 = input : f32[128, 128]\n"
    "      %5 = gather %3 %0 : i64[] @ \"at (Gather)\"\n"
    "      %6 = gather %2 %5 : f32[96, 128] @ \"pick (Gather)\"\n"
    "      %7 = contract %6 %4 dtype=f32 axes=[1, 0] batch=0 : f32[96, 128] @ \"a (MatMul)\"\n"
    "      %8 = contract %7 %4 dtype=f32 axes=[1, 0] batch=0 : f32[96, 128] @ \"b (MatMul)\"\n"
    "      %9 = reduce %8 combine=max axes=[1] : f32[96] @ \"m (ReduceMax)\"\n"
    "      return %1 %8 %9\n"
    "    }\n"
    "  return %6 \"y\" %7 \"m\"\n";

typedef struct fixture {
  hone_graph_t *graph, *plain;
  hone_device_t* device;
  hone_program_t *program, *reference;
} fixture_t;

static hone_status_t open_program(const hone_allocator_t* allocator, fixture_t* f) {
  const hone_backend_t* cpu = hone_backend_find("cpu");
  const hone_open_options_t open = {
      .struct_size = sizeof open, .allocator = allocator, .threads = THREADS};
  const hone_compile_settings_t settings = {.allocator = allocator};
  *f = (fixture_t){.graph = hone_graph_of_text(symbols, lines)};
  HONE_TRY(cpu->open(0, &open, &f->device));
  return hone_compile(f->graph, cpu, f->device, &settings, NULL, &f->program);
}

static void close_program(fixture_t* f) {
  hone_program_destroy(f->program);
  if (f->device) hone_backend_find("cpu")->close(f->device);
  hone_graph_destroy(f->graph);
}

static const hone_run_options_t plain_run = {.struct_size = sizeof plain_run, .seed = 7};

typedef struct tensors {
  hone_tensor_t* in[3];
  hone_tensor_t* out[2];
} tensors_t;

/* Round i takes matrix i % 5, but for `wrong`, which takes one that is not there. */
static void fill(tensors_t* t, int64_t n, int64_t wrong) {
  const int64_t x[] = {5, ROWS, COLUMNS}, w[] = {COLUMNS, COLUMNS};
  *t = (tensors_t){.out = {NULL}};
  assert_ok(hone_tensor_create(NULL, HONE_F32, 3, x, &t->in[0]));
  assert_ok(hone_tensor_create(NULL, HONE_I64, 1, &n, &t->in[1]));
  assert_ok(hone_tensor_create(NULL, HONE_F32, 2, w, &t->in[2]));
  for (int64_t i = 0; i < t->in[0]->count; i++) ((float*)t->in[0]->data)[i] = (float)(i % 7) - 3;
  for (int64_t i = 0; i < t->in[2]->count; i++) ((float*)t->in[2]->data)[i] = (float)(i % 5) - 2;
  for (int64_t i = 0; i < n; i++) ((int64_t*)t->in[1]->data)[i] = i == wrong ? 5 : i % 5;
}

static void drop(tensors_t* t) {
  for (int i = 0; i < 3; i++) hone_tensor_release(t->in[i]);
  for (int i = 0; i < 2; i++) hone_tensor_release(t->out[i]);
}

static hone_status_t run(const fixture_t* f, tensors_t* t) {
  return hone_program_run(f->program, &plain_run, 3, t->in, 2, t->out);
}

static const hone_step_t* loop_of(const hone_program_t* program) {
  const hone_routine_t* whole = program->routines[0];
  for (int s = 0; s < whole->n_steps; s++)
    if (whole->steps[s].kind == HONE_STEP_LOOP) return &whole->steps[s];
  fail_msg("there is no loop");
  return NULL;
}

/* All numbers are small and whole, so that sums are exact. */
static void check(const tensors_t* t, int64_t n) {
  const float *x = t->in[0]->data, *w = t->in[2]->data, *y = t->out[0]->data;
  float row[COLUMNS];
  for (int64_t i = 0; i < n; i++)
    for (int r = 0; r < ROWS; r += 31) {
      for (int c = 0; c < COLUMNS; c++) {
        row[c] = 0;
        for (int k = 0; k < COLUMNS; k++)
          row[c] += x[(i % 5 * ROWS + r) * COLUMNS + k] * w[k * COLUMNS + c];
      }
      for (int c = 0; c < COLUMNS; c++) {
        float sum = 0;
        for (int k = 0; k < COLUMNS; k++) sum += row[k] * w[k * COLUMNS + c];
        assert_true(y[(i * ROWS + r) * COLUMNS + c] == sum);
      }
    }
}

static void as_many_rounds_as_there_are_threads_for(void** state) {
  (void)state;
  fixture_t f;
  assert_ok(open_program(NULL, &f));
  const hone_step_t* loop = loop_of(f.program);
  for (int64_t n = 0; n < 8; n++) {
    int64_t sizes[1] = {n};
    assert_int_equal(hone_loop_count_at_once(f.program, loop, sizes, n), n - n % THREADS);
    tensors_t t;
    fill(&t, n, -1);
    assert_ok(run(&f, &t));
    assert_int_equal(t.out[0]->count, n * ROWS * COLUMNS);
    check(&t, n);
    drop(&t);
  }
  close_program(&f);
}

static void the_first_round_that_fails_is_named(void** state) {
  (void)state;
  fixture_t f;
  assert_ok(open_program(NULL, &f));
  for (int64_t wrong = 0; wrong < 5; wrong++) {
    tensors_t t;
    char words[32];
    fill(&t, 5, wrong);
    hone_status_t status = run(&f, &t);
    assert_int_equal(hone_status_code(status), HONE_OUT_OF_RANGE);
    snprintf(words, sizeof words, "round %d", (int)wrong);
    assert_non_null(strstr(hone_status_message(status), "pick (Gather)"));
    if (wrong < 4) assert_non_null(strstr(hone_status_message(status), words));
    hone_status_free(status);
    drop(&t);
    fill(&t, 5, -1);
    assert_ok(run(&f, &t));
    check(&t, 5);
    drop(&t);
  }
  close_program(&f);
}

/* Two threads, and the loop itself for the round that is left over. */
static void each_thread_has_memory_of_its_own(void** state) {
  (void)state;
  fixture_t f;
  hone_program_memory_t one, many, odd;
  assert_ok(open_program(NULL, &f));
  assert_ok(hone_program_memory(f.program, (int64_t[]){1}, &one));
  assert_ok(hone_program_memory(f.program, (int64_t[]){4}, &many));
  assert_ok(hone_program_memory(f.program, (int64_t[]){5}, &odd));
  assert_true(one.planned > 0);
  assert_int_equal(many.planned, THREADS * one.planned);
  assert_int_equal(odd.planned, (THREADS + 1) * one.planned);
  /* Rounds write where their results belong; how many they are stays from run to run. */
  assert_int_equal(one.heap, sizeof(int64_t));
  assert_int_equal(many.heap, sizeof(int64_t));
  close_program(&f);
}

/* Whichever threads came in time. */
static void all_memory_is_there_after_one_run(void** state) {
  (void)state;
  fixture_t f;
  assert_ok(open_program(NULL, &f));
  int body = loop_of(f.program)->bodies[0]->index;
  for (int64_t n = 4; n < 8; n += 2) {
    tensors_t t;
    fill(&t, n, -1);
    assert_ok(run(&f, &t));
    drop(&t);
    int contexts = 0, filled = 0;
    for (const hone_context_t* c = f.program->idle; c; c = c->next) {
      contexts++;
      filled += c->frames[body].arena.memory != NULL;
    }
    assert_int_equal(contexts, 1 + THREADS);
    assert_int_equal(filled, THREADS);
  }
  close_program(&f);
}

/* Memory runs out in the run only. */
static hone_status_t run_once(const hone_allocator_t* allocator, void* context) {
  tensors_t* t = context;
  fixture_t f;
  hone_gate_t gate;
  hone_gate_init(&gate, hone_allocator_system());
  assert_ok(open_program(&gate.allocator, &f));
  gate.behind = allocator;
  hone_status_t status = run(&f, t);
  for (int i = 0; i < 2; i++) {
    hone_tensor_release(t->out[i]);
    t->out[i] = NULL;
  }
  close_program(&f);
  return status;
}

static void threads_survive_running_out_of_memory(void** state) {
  (void)state;
  tensors_t t;
  fill(&t, 3, -1);
  assert_survives_faults(run_once, &t);
  drop(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_many_rounds_as_there_are_threads_for),
      cmocka_unit_test(the_first_round_that_fails_is_named),
      cmocka_unit_test(each_thread_has_memory_of_its_own),
      cmocka_unit_test(all_memory_is_there_after_one_run),
      cmocka_unit_test(threads_survive_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
