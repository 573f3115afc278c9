/* Reports: what they say adds up, before and after running. */
#include "hone/report.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"
#include "hone/engine.h"
#include "import/testing/sample.h"
#include "runtime/session_impl.h"
#include "runtime/testing/rich_model.h"

enum { OUTPUTS = 4 };

typedef struct fixture {
  hone_model_t* model;
  hone_session_t* session; /* on the cpu, with notes */
  hone_tensor_t* inputs[3];
  test_folder_t folder;
  char path[PATH_MAX]; /* of its engine */
} fixture_t;

static hone_tensor_t* make(hone_dtype_t dtype, int rank, const int64_t* dims) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, dtype, rank, dims, &tensor));
  return tensor;
}

static int set_up(void** state) {
  fixture_t* f = hone_alloc(NULL, sizeof *f);
  assert_non_null(f);
  *state = f;
  f->model = test_rich_model();
  f->inputs[0] = make(HONE_F32, 4, (int64_t[]){2, 1, 4, 4});
  f->inputs[1] = make(HONE_I64, 1, (int64_t[]){2});
  memcpy(hone_tensor_data(f->inputs[1]), (int64_t[]){4, -1}, 2 * sizeof(int64_t));
  f->inputs[2] = make(HONE_STRING, 1, (int64_t[]){2});
  const hone_session_options_t options = {.device = "cpu", .explain = true};
  assert_ok(hone_session_create(f->model, &options, &f->session));
  hone_engine_t* engine;
  test_folder_make(&f->folder);
  snprintf(f->path, sizeof f->path, "%s", test_folder_file(&f->folder, "rich.hone"));
  assert_ok(hone_engine_compile(f->model, NULL, &engine));
  assert_ok(hone_engine_save(engine, f->path));
  hone_engine_destroy(engine);
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  hone_session_destroy(f->session);
  hone_model_destroy(f->model);
  test_folder_remove(&f->folder);
  for (int i = 0; i < 3; i++) hone_tensor_release(f->inputs[i]);
  hone_free(NULL, f, sizeof *f);
  return 0;
}

static hone_report_t* report_of(const fixture_t* f) {
  hone_report_t* report;
  const hone_report_options_t options = {.n_inputs = 3, .inputs = f->inputs};
  assert_ok(hone_report_create(f->session, &options, &report));
  return report;
}

/* ---- before running ---- */

static void bytes_add_up(void** state) {
  const fixture_t* f = *state;
  hone_report_t* report = report_of(f);
  const hone_report_memory_t* m = hone_report_memory(report);
  assert_int_equal(m->total, m->weights + m->copied + m->planned + m->heap + m->inputs +
                                 m->outputs + m->tables + m->stacks);
  assert_true(m->tables > sizeof(hone_report_memory_t));
  assert_true(m->inputs >= 2 * 16 * 4 + 16 && m->weights >= 18 * 4 && m->outputs > 0);
  assert_true(m->least <= m->planned && m->planned <= m->unshared);
  hone_report_destroy(report);
}

static bool overlap(const hone_report_value_t* a, const hone_report_value_t* b) {
  bool alive = a->begin <= b->end && b->begin <= a->end;
  uint64_t at_a = a->block + a->offset, at_b = b->block + b->offset;
  return alive && at_a < at_b + b->bytes && at_b < at_a + a->bytes;
}

static void values_alive_together_share_no_bytes(void** state) {
  hone_report_t* report = report_of(*state);
  for (int i = 0; i < hone_report_value_count(report); i++) {
    const hone_report_value_t* a = hone_report_value(report, i);
    assert_true(a->name[0] && a->first <= a->last && a->begin <= a->end);
    if (a->is_planned) assert_true(a->offset + a->bytes <= a->block_bytes);
    for (int k = 0; k < i; k++) {
      const hone_report_value_t* b = hone_report_value(report, k);
      if (!a->is_planned || !b->is_planned || a->in_place || b->in_place) continue;
      assert_false(overlap(a, b));
    }
  }
  assert_null(hone_report_value(report, hone_report_value_count(report)));
  hone_report_destroy(report);
}

static void blocks_fill_what_is_planned(void** state) {
  hone_report_t* report = report_of(*state);
  uint64_t end = 0;
  int routines = 0, last = -1;
  for (int i = 0; i < hone_report_value_count(report); i++) {
    const hone_report_value_t* value = hone_report_value(report, i);
    if (!value->is_planned || value->routine == last) continue;
    assert_int_equal(value->block, end);
    assert_true(value->blocks >= 1);
    end += value->block_bytes * (uint64_t)value->blocks;
    last = value->routine;
    routines++;
  }
  assert_true(routines > 0);
  assert_int_equal(end, hone_report_memory(report)->planned);
  hone_report_destroy(report);
}

static const hone_report_step_t* step_at(const hone_report_t* report, int place) {
  const hone_report_step_t* found = NULL;
  for (int i = 0; i < hone_report_step_count(report); i++) {
    const hone_report_step_t* step = hone_report_step(report, i);
    if (step->place != place) continue;
    assert_null(found);
    found = step;
  }
  return found;
}

/* A step of another routine follows the step that runs it, or comes back from it. */
static void steps_have_a_place_each(void** state) {
  hone_report_t* report = report_of(*state);
  const hone_report_step_t* before = NULL;
  int bodies = 0;
  for (int p = 0; p < hone_report_step_count(report); p++) {
    const hone_report_step_t* step = step_at(report, p);
    assert_non_null(step);
    bool begins = step->index == 0 && p > 0;
    bodies += begins;
    if (begins)
      assert_int_not_equal(step->routine, before->routine);
    else if (p > 0 && step->routine == before->routine)
      assert_int_equal(step->index, before->index + 1);
    before = step;
  }
  assert_true(bodies > 0);
  hone_report_destroy(report);
}

static void every_node_is_accounted_for(void** state) {
  const fixture_t* f = *state;
  hone_report_t* report = report_of(f);
  assert_true(hone_report_is_compiled(report));
  assert_int_equal(hone_report_node_count(report), hone_model_node_count(f->model));
  int there = 0;
  for (int i = 0; i < hone_report_node_count(report); i++) {
    const hone_report_node_t* node = hone_report_node(report, i);
    const hone_report_step_t* step = hone_report_step(report, node->step);
    there += step != NULL;
    if (step) assert_non_null(strstr(step->nodes, node->name));
  }
  assert_true(there > 0);
  int kernels = 0, host = 0;
  for (int i = 0; i < hone_report_step_count(report); i++) {
    const hone_report_step_t* step = hone_report_step(report, i);
    host += strcmp(step->kind, "host") == 0; /* strings */
    if (strcmp(step->kind, "interpreted") == 0) assert_true(step->why[0]);
    if (strcmp(step->kind, "kernel") != 0) continue;
    kernels++;
    assert_true(step->name[0] && step->tactic[0]);
    assert_float_equal(step->limit, 0, 0); /* nobody asked */
  }
  assert_true(kernels > 0 && host > 0);
  hone_report_destroy(report);
}

static void sizes_can_be_chosen(void** state) {
  const fixture_t* f = *state;
  hone_report_t *small, *large;
  hone_dim_option_t dim = {"n", 1, 1};
  hone_report_options_t options = {.n_dims = 1, .dims = &dim};
  assert_ok(hone_report_create(f->session, NULL, &small));
  int64_t least = hone_report_size(small, "n");
  if (least >= 0) {
    dim.max = least + 7;
    assert_ok(hone_report_create(f->session, &options, &large));
    assert_int_equal(hone_report_size(large, "n"), least + 7);
    assert_true(hone_report_memory(large)->inputs > hone_report_memory(small)->inputs);
    hone_report_destroy(large);
    dim.max = INT64_MAX;
    assert_code(hone_report_create(f->session, &options, &large), HONE_OUT_OF_RANGE);
    assert_null(large);
  }
  assert_int_equal(hone_report_size(small, "nothing"), -1);
  hone_report_destroy(small);
}

/* ---- running ---- */

static void assert_times_add_up(const hone_report_t* report) {
  const hone_report_times_t* times = hone_report_times(report);
  double sum = times->rest;
  for (int i = 0; i < hone_report_step_count(report); i++)
    sum += hone_report_step(report, i)->seconds;
  assert_true(times->whole > 0 && times->rest >= 0);
  assert_float_equal(sum, times->profiled, 1e-9);
  assert_true(times->kernels + times->interpreted + times->host <= times->profiled + 1e-12);
}

static void count_event(void* self, const hone_profile_event_t* event) { ++*(int*)self; }

static void times_of_steps_sum_to_the_whole(void** state) {
  const fixture_t* f = *state;
  hone_report_t* report = report_of(f);
  int events = 0;
  assert_ok(hone_report_measure(report, 3, 3, (hone_tensor_t**)f->inputs, count_event, &events));
  assert_times_add_up(report);
  assert_true(hone_report_times(report)->kernels > 0);
  double runs = 0;
  for (int i = 0; i < hone_report_step_count(report); i++)
    runs += hone_report_step(report, i)->runs;
  assert_float_equal(runs, events, 1e-6);
  assert_ok(hone_report_measure(report, 2, 3, (hone_tensor_t**)f->inputs, NULL, NULL));
  assert_int_equal(hone_report_times(report)->runs, 2);
  assert_times_add_up(report);
  assert_code(hone_report_measure(report, 0, 3, (hone_tensor_t**)f->inputs, NULL, NULL),
              HONE_INVALID_ARGUMENT);
  hone_report_destroy(report);
}

static void other_devices_have_times_of_nodes(void** state) {
  const fixture_t* f = *state;
  hone_session_t* session;
  hone_report_t* report;
  assert_ok(hone_session_create(f->model, NULL, &session));
  assert_ok(hone_report_create(session, NULL, &report));
  assert_false(hone_report_is_compiled(report));
  assert_int_equal(hone_report_step_count(report), 0);
  assert_int_equal(hone_report_memory(report)->total, 0);
  assert_ok(hone_report_measure(report, 2, 3, (hone_tensor_t**)f->inputs, NULL, NULL));
  assert_times_add_up(report);
  assert_true(hone_report_step_count(report) > 3);
  assert_string_equal(hone_report_step(report, 0)->kind, "node");
  hone_report_destroy(report);
  hone_session_destroy(session);
}

static void the_device_is_measured_once(void** state) {
  const fixture_t* f = *state;
  hone_report_t* report;
  const hone_report_options_t options = {.n_inputs = 3, .inputs = f->inputs, .limits = true};
  for (int i = 0; i < 2; i++) {
    assert_ok(hone_report_create(f->session, &options, &report));
    const hone_report_device_t* device = hone_report_device(report);
    assert_true(device->gflops >= device->gflops_one && device->gflops_one > 0);
    assert_true(device->gflops_bf16 >= device->gflops && device->gflops_int8 >= device->gflops);
    assert_true(device->n_levels >= 1 && device->level_gbytes[device->n_levels - 1] > 0);
    if (i) assert_string_equal(device->source, "measured earlier");
    bool limited = false;
    for (int s = 0; s < hone_report_step_count(report); s++)
      limited |= hone_report_step(report, s)->limit > 0;
    assert_true(limited);
    hone_report_destroy(report);
  }
}

/* Engines do not carry their model: they serve all sizes alike. */
static void engines_are_reported_too(void** state) {
  const fixture_t* f = *state;
  hone_engine_t* engine;
  hone_session_t* session;
  hone_report_t *report, *other;
  const hone_dim_option_t dims[] = {{"n", 2, 2}, {"m", 2, 2}, {"k", 2, 2}};
  const hone_report_options_t options = {.n_dims = 3, .dims = dims};
  assert_ok(hone_report_create(f->session, &options, &other));
  assert_ok(hone_engine_load(f->path, NULL, &engine));
  assert_ok(hone_session_create_from_engine(engine, &session));
  assert_ok(hone_report_create(session, &options, &report));
  assert_int_equal(hone_report_node_count(report), 0);
  assert_int_equal(hone_report_step_count(report), hone_report_step_count(other));
  const hone_report_memory_t *x = hone_report_memory(report), *y = hone_report_memory(other);
  assert_int_equal(x->planned, y->planned);
  assert_int_equal(x->weights + x->heap + x->outputs, y->weights + y->heap + y->outputs);
  assert_int_equal(x->copied, 0);
  for (int i = 0; i < hone_report_step_count(report); i++) {
    const hone_report_step_t *a = hone_report_step(report, i), *b = hone_report_step(other, i);
    assert_string_equal(a->nodes, b->nodes);
    assert_float_equal(a->arithmetic, b->arithmetic, 0);
  }
  hone_report_destroy(report);
  hone_report_destroy(other);
  hone_session_destroy(session);
  hone_engine_destroy(engine);
}

/* Inputs whose equal names stand for two sizes run in another program than others. */
static void names_of_two_sizes_are_reported(void** state) {
  (void)state;
  const char* const nodes[] = {"- MatMul a,b > y", NULL};
  const hone_onnx_dim_t dims[] = {{-1, "n"}, {3}, {0}};
  hone_tensor_t* apart[] = {make(HONE_F32, 2, (int64_t[]){2, 3}),
                            make(HONE_F32, 2, (int64_t[]){3, 3})};
  hone_tensor_t* alike[] = {apart[1], apart[1]};
  const hone_session_options_t how = {.device = "cpu", .explain = true};
  hone_model_t* model;
  hone_session_t* session;
  hone_report_t* report;
  assert_ok(hone_sample_model(NULL, "a b", "y", nodes, &model));
  for (int i = 0; i < 2; i++) test_declare(model, &model->graph->inputs[i], HONE_F32, 2, dims);
  assert_ok(hone_session_create(model, &how, &session));
  hone_report_options_t options = {.n_inputs = 2, .inputs = apart};
  assert_ok(hone_report_create(session, &options, &report));
  assert_ok(hone_report_measure(report, 2, 2, apart, NULL, NULL));
  assert_times_add_up(report);
  assert_true(hone_report_times(report)->kernels > 0);
  assert_true(hone_report_node(report, 0)->step >= 0);
  assert_code(hone_report_measure(report, 2, 2, alike, NULL, NULL), HONE_INVALID_ARGUMENT);
  hone_report_destroy(report);
  hone_session_destroy(session);
  hone_model_destroy(model);
  for (int i = 0; i < 2; i++) hone_tensor_release(apart[i]);
}

/* Squeeze leaves a rank that only the size tells: each size has a program of its own, as long as
 * there are few. */
static void nodes_that_wait_for_sizes_become_kernels(void** state) {
  (void)state;
  const char* const nodes[] = {"- Squeeze x > s", "- Relu s > y", NULL};
  const hone_onnx_dim_t dims[] = {{-1, "n"}, {3}, {0}};
  const hone_session_options_t how = {.device = "cpu", .explain = true};
  hone_model_t* model;
  hone_session_t* session;
  assert_ok(hone_sample_model(NULL, "x", "y", nodes, &model));
  test_declare(model, &model->graph->inputs[0], HONE_F32, 2, dims);
  assert_ok(hone_session_create(model, &how, &session));
  for (int64_t n = 1; n <= 8; n++) {
    hone_tensor_t *x = make(HONE_F32, 2, (int64_t[]){n, 3}), *y;
    ((float*)hone_tensor_data(x))[3 * n - 1] = 7;
    hone_report_options_t options = {.n_inputs = 1, .inputs = &x};
    hone_report_t* report;
    assert_ok(hone_report_create(session, &options, &report));
    assert_ok(hone_report_measure(report, 1, 1, &x, NULL, NULL));
    assert_int_equal(hone_report_times(report)->interpreted > 0, n > 4);
    assert_ok(hone_session_run(session, NULL, 1, &x, 1, &y));
    assert_int_equal(hone_tensor_rank(y), n == 1 ? 1 : 2);
    assert_float_equal(((float*)hone_tensor_data(y))[3 * n - 1], 7, 0);
    hone_tensor_release(x);
    hone_tensor_release(y);
    hone_report_destroy(report);
  }
  hone_session_destroy(session);
  hone_model_destroy(model);
}

static hone_status_t report_and_measure(const hone_allocator_t* allocator, void* context) {
  const fixture_t* f = context;
  const hone_engine_options_t options = {.allocator = allocator, .threads = 1};
  const hone_report_options_t how = {.n_inputs = 3, .inputs = f->inputs};
  hone_engine_t* engine;
  hone_session_t* session = NULL;
  hone_report_t* report = NULL;
  HONE_TRY(hone_engine_load(f->path, &options, &engine));
  hone_status_t status = hone_session_create_from_engine(engine, &session);
  if (!status) status = hone_report_create(session, &how, &report);
  if (!status) status = hone_report_measure(report, 1, 3, (hone_tensor_t**)f->inputs, NULL, NULL);
  hone_report_destroy(report);
  hone_session_destroy(session);
  hone_engine_destroy(engine);
  return status;
}

static void memory_may_run_out(void** state) { assert_survives_faults(report_and_measure, *state); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_add_up),
      cmocka_unit_test(values_alive_together_share_no_bytes),
      cmocka_unit_test(blocks_fill_what_is_planned),
      cmocka_unit_test(steps_have_a_place_each),
      cmocka_unit_test(every_node_is_accounted_for),
      cmocka_unit_test(sizes_can_be_chosen),
      cmocka_unit_test(times_of_steps_sum_to_the_whole),
      cmocka_unit_test(other_devices_have_times_of_nodes),
      cmocka_unit_test(the_device_is_measured_once),
      cmocka_unit_test(engines_are_reported_too),
      cmocka_unit_test(names_of_two_sizes_are_reported),
      cmocka_unit_test(nodes_that_wait_for_sizes_become_kernels),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
