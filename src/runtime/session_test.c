/* Sessions through the public API: bytes of a model in, tensors out. The
 * models are made in the form of ir/model.h and written as ONNX. */
#include "hone/session.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "import/onnx.h"
#include "import/testing/sample.h"
#include "runtime/testing/rich_model.h"

enum { MAX_OUTPUTS = 4, TRIPS = TEST_RICH_TRIPS };

/* ---- models ---- */

typedef struct bytes {
  void* data;
  size_t size;
} bytes_t;

static void drop_bytes(bytes_t* bytes) { hone_free(NULL, bytes->data, bytes->size); }

/* The model as a file holds it; the model itself goes. */
static bytes_t finish_model(hone_model_t* model) {
  bytes_t bytes;
  assert_ok(hone_onnx_save_memory(model, &bytes.data, &bytes.size));
  hone_model_destroy(model);
  return bytes;
}

static const hone_onnx_dim_t batch = {-1, "n"};

static bytes_t rich_bytes(void) { return finish_model(test_rich_model()); }

/* One node from f32 inputs that share the name of an extent. */
static bytes_t small_bytes(const char* inputs, const char* node) {
  const char* const nodes[] = {node, NULL};
  hone_model_t* model;
  assert_ok(hone_sample_model(NULL, inputs, "y", nodes, &model));
  for (int i = 0; i < model->graph->n_inputs; i++)
    test_declare(model, &model->graph->inputs[i], HONE_F32, 2,
                 (hone_onnx_dim_t[]){batch, {3}, {0}});
  return finish_model(model);
}

/* ---- runs ---- */

static hone_tensor_t* ramp(hone_dtype_t dtype, int rank, const int64_t* dims) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, dtype, rank, dims, &tensor));
  float* data = hone_tensor_data(tensor);
  for (int64_t i = 0; dtype == HONE_F32 && i < hone_tensor_count(tensor); i++) data[i] = (float)i;
  return tensor;
}

static hone_tensor_t* matrix(int64_t rows, int64_t columns) {
  return ramp(HONE_F32, 2, (int64_t[]){rows, columns});
}

/* What a run takes and gives. */
typedef struct work {
  bytes_t bytes;
  const char* device;
  int n_inputs, n_outputs;
  hone_tensor_t* inputs[3];
  hone_tensor_t* outputs[MAX_OUTPUTS];
} work_t;

static void drop_outputs(work_t* work) {
  for (int i = 0; i < work->n_outputs; i++) hone_tensor_release(work->outputs[i]);
  memset(work->outputs, 0, sizeof work->outputs);
}

static void drop_work(work_t* work) {
  drop_outputs(work);
  for (int i = 0; i < work->n_inputs; i++) hone_tensor_release(work->inputs[i]);
  drop_bytes(&work->bytes);
}

/* The rich model with n = 1: the sum of all and twice the middle of a ramp. */
static work_t rich_work(void) {
  work_t work = {.bytes = rich_bytes(), .n_inputs = 3, .n_outputs = 4};
  work.inputs[0] = ramp(HONE_F32, 4, (int64_t[]){1, 1, 4, 4});
  work.inputs[1] = ramp(HONE_I64, 1, (int64_t[]){2});
  int64_t* shape = hone_tensor_data(work.inputs[1]);
  shape[0] = 2;
  shape[1] = -1;
  work.inputs[2] = ramp(HONE_STRING, 1, (int64_t[]){2});
  assert_ok(hone_tensor_set_string(work.inputs[2], 0, "good day to you, and more than fits", 35));
  return work;
}

static hone_status_t run_session(hone_session_t* session, work_t* work) {
  return hone_session_run(session, NULL, work->n_inputs, work->inputs, work->n_outputs,
                          work->outputs);
}

static hone_status_t open_session(const hone_allocator_t* allocator, const work_t* work,
                                  hone_model_t** out_model, hone_session_t** out_session) {
  hone_model_options_t model_options = {.allocator = allocator};
  hone_session_options_t options = {.allocator = allocator, .device = work->device};
  *out_session = NULL;
  HONE_TRY(hone_model_load_memory(work->bytes.data, work->bytes.size, &model_options, out_model));
  return hone_session_create(*out_model, &options, out_session);
}

/* Everything from bytes to outputs, and all of it given back. */
static hone_status_t whole_road(const hone_allocator_t* allocator, void* context) {
  work_t* work = context;
  hone_model_t* model = NULL;
  hone_session_t* session;
  hone_status_t status = open_session(allocator, work, &model, &session);
  if (!status) status = run_session(session, work);
  drop_outputs(work);
  hone_session_destroy(session);
  hone_model_destroy(model);
  return status;
}

static void assert_rich_outputs(const work_t* work) {
  /* Rows of the window's sums start with 0+1+2+4+5+6+8+9+10 = 45; each step adds 9. */
  static const float want[] = {45, 54, 81, 90, 10, 12, 18, 20};
  const float* last = hone_tensor_data(work->outputs[0]);
  float total = 0;
  assert_int_equal(hone_tensor_rank(work->outputs[0]), 2);
  assert_int_equal(hone_tensor_dims(work->outputs[0])[0], 2);
  for (int i = 0; i < 8; i++) {
    assert_true(last[i] == want[i] + TRIPS);
    total += want[i];
  }
  for (int s = 1; s < 3; s++) {
    const float* sums = hone_tensor_data(work->outputs[s]);
    assert_int_equal(hone_tensor_dims(work->outputs[s])[0], TRIPS);
    for (int i = 0; i < TRIPS; i++) assert_true(sums[i] == total + 8.0f * (float)(i + 1));
  }
  const hone_string_t* words = hone_tensor_data(work->outputs[3]);
  assert_int_equal(words[0].size, 36);
  assert_memory_equal(words[0].data, "good day to you, and more than fits!", 36);
  assert_int_equal(words[1].size, 1);
}

static void a_model_runs_from_bytes_to_outputs(void** state) {
  work_t work = rich_work();
  hone_model_t* model;
  hone_session_t* session;
  assert_ok(open_session(NULL, &work, &model, &session));
  for (int round = 0; round < 2; round++) {
    assert_ok(run_session(session, &work));
    assert_rich_outputs(&work);
    drop_outputs(&work);
  }
  hone_session_destroy(session);
  hone_model_destroy(model);
  drop_work(&work);
}

static void outputs_outlive_session_and_model(void** state) {
  work_t work = rich_work();
  hone_model_t* model;
  hone_session_t* session;
  assert_ok(open_session(NULL, &work, &model, &session));
  assert_ok(run_session(session, &work));
  hone_session_destroy(session);
  hone_model_destroy(model);
  assert_rich_outputs(&work);
  drop_work(&work);
}

static void any_allocation_may_fail(void** state) {
  work_t work = rich_work();
  assert_true(assert_survives_faults(whole_road, &work) > 100);
  drop_work(&work);
  work = (work_t){.bytes = small_bytes("x", "- Relu x > y"), .n_inputs = 1, .n_outputs = 1};
  work.inputs[0] = matrix(2, 3);
  work.device = "null";
  assert_survives_faults(whole_road, &work);
  drop_work(&work);
}

static void any_allocation_may_fail_when_names_of_sizes_differ(void** state) {
  work_t work = {.bytes = small_bytes("a b", "- MatMul a,b > y"), .n_inputs = 2, .n_outputs = 1};
  work.inputs[0] = matrix(2, 3);
  work.inputs[1] = matrix(3, 3);
  assert_survives_faults(whole_road, &work);
  drop_work(&work);
}

/* ---- limits ---- */

/* Runs under a limit; gives the status' code and the most that was in use. */
static hone_code_t run_limited(work_t* work, size_t limit_bytes, size_t* out_peak) {
  hone_limit_allocator_t* limit;
  assert_ok(hone_limit_allocator_create(NULL, limit_bytes, &limit));
  hone_status_t status = whole_road(hone_limit_allocator_get(limit), work);
  hone_code_t code = hone_status_code(status);
  hone_status_free(status);
  *out_peak = hone_limit_allocator_peak(limit);
  assert_int_equal(hone_limit_allocator_in_use(limit), 0);
  hone_limit_allocator_destroy(limit);
  return code;
}

static void memory_stays_below_a_limit(void** state) {
  enum { STEPS = 64 };
  work_t work = rich_work();
  size_t need, peak;
  assert_int_equal(run_limited(&work, 0, &need), HONE_OK);
  assert_int_equal(run_limited(&work, need, &peak), HONE_OK);
  for (size_t i = 1; i < STEPS; i++) {
    size_t limit = need * i / STEPS;
    assert_int_equal(run_limited(&work, limit, &peak), HONE_OUT_OF_MEMORY);
    assert_true(peak <= limit);
  }
  drop_work(&work);
}

/* ---- threads ---- */

typedef struct runner {
  hone_session_t* session;
  work_t work;
  hone_code_t code;
} runner_t;

static void* run_often(void* argument) {
  runner_t* runner = argument;
  for (int i = 0; i < 10 && !runner->code; i++) {
    drop_outputs(&runner->work);
    hone_status_t status = run_session(runner->session, &runner->work);
    runner->code = hone_status_code(status);
    hone_status_free(status);
  }
  return NULL;
}

/* Two threads on one session, with the same inputs; the first's outputs are left in `work`. */
static void run_twice_at_once(work_t* work) {
  hone_model_t* model;
  runner_t runners[2] = {{.work = *work}, {.work = *work}};
  pthread_t threads[2];
  assert_ok(open_session(NULL, work, &model, &runners[0].session));
  runners[1].session = runners[0].session;
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, &runners[i]), 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(runners[i].code, HONE_OK);
  }
  for (int i = 0; i < work->n_outputs; i++)
    if (hone_tensor_dtype(runners[0].work.outputs[i]) != HONE_STRING)
      assert_memory_equal(hone_tensor_data(runners[0].work.outputs[i]),
                          hone_tensor_data(runners[1].work.outputs[i]),
                          hone_tensor_bytes(runners[0].work.outputs[i]));
  drop_outputs(&runners[1].work);
  memcpy(work->outputs, runners[0].work.outputs, sizeof work->outputs);
  hone_session_destroy(runners[0].session);
  hone_model_destroy(model);
}

static void threads_may_share_a_session(void** state) {
  work_t work = rich_work();
  run_twice_at_once(&work);
  assert_rich_outputs(&work);
  drop_work(&work);
}

/* The second reading of the model is made by whoever comes first. */
static void threads_may_share_the_reading_in_which_sizes_differ(void** state) {
  work_t work = {.bytes = small_bytes("a b", "- MatMul a,b > y"), .n_inputs = 2, .n_outputs = 1};
  work.inputs[0] = matrix(2, 3);
  work.inputs[1] = matrix(3, 3);
  run_twice_at_once(&work);
  const float* y = hone_tensor_data(work.outputs[0]);
  assert_true(y[0] == 15 && y[5] == 66);
  drop_work(&work);
}

/* ---- what is asked wrongly ---- */

/* Runs with the inputs and wants INVALID_ARGUMENT with `text` in the message. */
static void assert_refused(hone_session_t* session, int n_inputs, hone_tensor_t* const* inputs,
                           int n_outputs, const char* text) {
  hone_tensor_t* outputs[MAX_OUTPUTS] = {inputs[0], inputs[0]};
  hone_status_t status = hone_session_run(session, NULL, n_inputs, inputs, n_outputs, outputs);
  assert_int_equal(hone_status_code(status), HONE_INVALID_ARGUMENT);
  if (!strstr(hone_status_message(status), text))
    fail_msg("'%s' is not in '%s'", text, hone_status_message(status));
  for (int i = 0; i < n_outputs; i++) assert_null(outputs[i]);
  hone_status_free(status);
}

static void wrong_inputs_are_named(void** state) {
  work_t work = {.bytes = small_bytes("left right", "- Add left,right > y")};
  hone_model_t* model;
  hone_session_t* session;
  hone_tensor_t* good = matrix(2, 3);
  hone_tensor_t* bad[] = {matrix(2, 4), ramp(HONE_F32, 1, (int64_t[]){3}),
                          ramp(HONE_I32, 2, (int64_t[]){2, 3}), NULL};
  assert_ok(hone_sequence_create(NULL, HONE_KIND_SEQUENCE, 0, NULL, &bad[3]));
  assert_ok(open_session(NULL, &work, &model, &session));
  hone_tensor_t* pair[3] = {good, good, good};
  assert_refused(session, 1, pair, 1, "1 inputs given; the model takes 2");
  assert_refused(session, 3, pair, 1, "3 inputs given; the model takes 2");
  assert_refused(session, 2, pair, 2, "2 outputs wanted; the model has 1");
  assert_refused(session, 2, (hone_tensor_t*[]){good, NULL}, 1, "'right' is missing");
  for (size_t i = 0; i < TEST_COUNT(bad); i++) {
    assert_refused(session, 2, (hone_tensor_t*[]){good, bad[i]}, 1, "input 'right' is ");
    hone_tensor_release(bad[i]);
  }
  hone_tensor_release(good);
  hone_session_destroy(session);
  hone_model_destroy(model);
  drop_work(&work);
}

static void a_device_that_is_not_there_is_named(void** state) {
  work_t work = {.bytes = small_bytes("x", "- Relu x > y"), .device = "abacus:0"};
  hone_model_t* model;
  hone_session_t* session;
  hone_status_t status = open_session(NULL, &work, &model, &session);
  assert_int_equal(hone_status_code(status), HONE_NOT_FOUND);
  assert_non_null(strstr(hone_status_message(status), "abacus:0"));
  assert_null(session);
  hone_status_free(status);
  hone_model_destroy(model);
  drop_work(&work);
}

/* A condition without an element decides nothing. */
static void options_of_an_earlier_version_are_fewer(void** state) {
  (void)state;
  bytes_t bytes = rich_bytes();
  hone_model_t* model;
  hone_session_t* session;
  assert_ok(hone_model_load_memory(bytes.data, bytes.size, NULL, &model));
  hone_session_options_t options = {.precision = "what lies behind the caller's struct"};
  options.struct_size = offsetof(hone_session_options_t, precision);
  assert_ok(hone_session_create(model, &options, &session));
  hone_session_destroy(session);
  options.struct_size = sizeof options;
  assert_code(hone_session_create(model, &options, &session), HONE_INVALID_ARGUMENT);
  hone_model_destroy(model);
  drop_bytes(&bytes);
}

static void a_loop_refuses_an_empty_condition(void** state) {
  static const char* const nodes[] = {"- Loop trips,,x > y", NULL};
  static const char* const rounds[] = {"- Identity acc > next", "- Cast acc > again", NULL};
  static const int64_t trips[] = {2}, single[] = {1};
  static int64_t to_bool = 9;
  hone_model_t* model;
  assert_ok(hone_sample_model(NULL, "x", "y", nodes, &model));
  hone_onnx_graph_t* body = hone_sample_graph(model, "body", "i cond acc", "again next", rounds);
  assert_true(hone_sample_attach(model, model->graph, 0, body));
  hone_onnx_attr_t to = {.name = "to", .kind = HONE_ATTR_INT, .count = 1, .ints = &to_bool};
  to.doc = "";
  body->nodes[1].attrs = &to;
  body->nodes[1].n_attrs = 1;
  test_declare(model, &model->graph->inputs[0], HONE_F32, 1, (hone_onnx_dim_t[]){batch, {0}});
  hone_onnx_tensor_t weight = hone_sample_tensor(model, "trips", HONE_I64, 1, single, trips);
  model->graph->initializers = &weight;
  model->graph->n_initializers = 1;
  work_t work = {.bytes = finish_model(model), .n_inputs = 1, .n_outputs = 1};
  work.inputs[0] = ramp(HONE_F32, 1, (int64_t[]){0});
  hone_status_t status = whole_road(NULL, &work);
  assert_non_null(status);
  assert_int_not_equal(hone_status_code(status), HONE_INTERNAL);
  hone_status_free(status);
  drop_work(&work);
}

/* ---- what a session tells ---- */

static void a_session_tells_of_its_inputs_and_outputs(void** state) {
  work_t work = {.bytes = rich_bytes()};
  hone_model_t* model;
  hone_session_t* session;
  int64_t dims[HONE_MAX_RANK];
  char text[64];
  assert_ok(open_session(NULL, &work, &model, &session));
  assert_int_equal(hone_session_input_count(session), 3);
  assert_int_equal(hone_session_output_count(session), 4);
  assert_string_equal(hone_session_input_name(session, 0), "x");
  assert_string_equal(hone_session_output_name(session, 3), "greeting");
  assert_null(hone_session_input_name(session, 3));
  assert_null(hone_session_output_name(session, -1));
  assert_int_equal(hone_session_input_dtype(session, 2), HONE_STRING);
  assert_int_equal(hone_session_input_dtype(session, 9), HONE_UNKNOWN);
  assert_int_equal(hone_session_input_shape(session, 0, dims), 4);
  assert_true(dims[0] == -1 && dims[1] == 1 && dims[3] == 4);
  assert_int_equal(hone_session_input_type(session, 0, text, sizeof text), 15);
  assert_string_equal(text, "f32[n, 1, 4, 4]");
  assert_int_equal(hone_session_input_type(session, 0, text, 4), 15);
  assert_string_equal(text, "f32");
  hone_session_destroy(session);
  hone_model_destroy(model);
  drop_work(&work);
}

static void a_named_size_can_be_fixed_or_bounded(void** state) {
  work_t work = {.bytes = small_bytes("x", "- Relu x > y")};
  hone_model_t* model;
  hone_session_t* session;
  char name[] = "n", text[32];
  hone_dim_option_t dim = {name, 2, 4};
  hone_session_options_t options = {.n_dims = 1, .dims = &dim};
  hone_tensor_t *three = matrix(3, 3), *five = matrix(5, 3), *output;
  assert_ok(hone_model_load_memory(work.bytes.data, work.bytes.size, NULL, &model));
  assert_ok(hone_session_create(model, &options, &session));
  name[0] = '?'; /* the caller's again */
  assert_ok(hone_session_run(session, NULL, 1, &three, 1, &output));
  hone_tensor_release(output);
  assert_refused(session, 1, &five, 1, "limited to 2 to 4");
  hone_session_destroy(session);

  dim = (hone_dim_option_t){"n", 5, 5};
  assert_ok(hone_session_create(model, &options, &session));
  hone_session_output_type(session, 0, text, sizeof text);
  assert_string_equal(text, "f32[5, 3]");
  assert_refused(session, 1, &three, 1, "takes f32[5, 3]");
  hone_session_destroy(session);
  hone_tensor_release(three);
  hone_tensor_release(five);
  hone_model_destroy(model);
  drop_work(&work);
}

/* ---- options of a run ---- */

static void count_node(void* self, const hone_profile_event_t* event) {
  int* counts = self;
  counts[strstr(event->origin, "conv (Conv)") != NULL]++;
}

static void a_profile_names_the_nodes(void** state) {
  work_t work = rich_work();
  hone_model_t* model;
  hone_session_t* session;
  int counts[2] = {0};
  hone_run_options_t options = {.profile = count_node, .profile_self = counts};
  assert_ok(open_session(NULL, &work, &model, &session));
  assert_ok(hone_session_run(session, &options, 3, work.inputs, 4, work.outputs));
  assert_true(counts[0] > 0 && counts[1] > 0);
  hone_session_destroy(session);
  hone_model_destroy(model);
  drop_work(&work);
}

/* The first random number of a run. */
static float draw(hone_session_t* session, uint64_t seed, hone_tensor_t* input) {
  hone_run_options_t options = {.seed = seed};
  hone_tensor_t* output;
  assert_ok(hone_session_run(session, &options, 1, &input, 1, &output));
  float number = *(const float*)hone_tensor_data(output);
  hone_tensor_release(output);
  return number;
}

static void a_seed_repeats_random_numbers(void** state) {
  work_t work = {.bytes = small_bytes("x", "- RandomNormalLike x > y")};
  hone_model_t* model;
  hone_session_t* session;
  hone_tensor_t* x = matrix(1, 3);
  assert_ok(open_session(NULL, &work, &model, &session));
  assert_true(draw(session, 7, x) == draw(session, 7, x));
  assert_true(draw(session, 7, x) != draw(session, 8, x));
  assert_true(draw(session, 0, x) != draw(session, 0, x));
  hone_tensor_release(x);
  hone_session_destroy(session);
  hone_model_destroy(model);
  drop_work(&work);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_runs_from_bytes_to_outputs),
      cmocka_unit_test(outputs_outlive_session_and_model),
      cmocka_unit_test(any_allocation_may_fail),
      cmocka_unit_test(any_allocation_may_fail_when_names_of_sizes_differ),
      cmocka_unit_test(memory_stays_below_a_limit),
      cmocka_unit_test(threads_may_share_a_session),
      cmocka_unit_test(threads_may_share_the_reading_in_which_sizes_differ),
      cmocka_unit_test(wrong_inputs_are_named),
      cmocka_unit_test(a_device_that_is_not_there_is_named),
      cmocka_unit_test(options_of_an_earlier_version_are_fewer),
      cmocka_unit_test(a_loop_refuses_an_empty_condition),
      cmocka_unit_test(a_session_tells_of_its_inputs_and_outputs),
      cmocka_unit_test(a_named_size_can_be_fixed_or_bounded),
      cmocka_unit_test(a_profile_names_the_nodes),
      cmocka_unit_test(a_seed_repeats_random_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
