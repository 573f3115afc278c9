/* Engines: what is loaded gives what was compiled; what is damaged or foreign is
 * refused or still right, and never crashes. */
#include "hone/engine.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"
#include "import/testing/sample.h"
#include "runtime/engine_impl.h"
#include "runtime/testing/rich_model.h"

enum { OUTPUTS = 4, PLACES = 1000 };

typedef struct fixture {
  hone_model_t* model;
  hone_session_t* reference; /* on `ref` */
  hone_tensor_t* inputs[3];
  hone_tensor_t* want[OUTPUTS];
  test_folder_t folder;
  char path[PATH_MAX];
} fixture_t;

static hone_tensor_t* make(hone_dtype_t dtype, int rank, const int64_t* dims) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, dtype, rank, dims, &tensor));
  return tensor;
}

static void make_inputs(hone_tensor_t* inputs[3]) {
  inputs[0] = make(HONE_F32, 4, (int64_t[]){2, 1, 4, 4});
  float* x = hone_tensor_data(inputs[0]);
  for (int i = 0; i < 32; i++) x[i] = (float)(i % 7) - 2;
  inputs[1] = make(HONE_I64, 1, (int64_t[]){2});
  memcpy(hone_tensor_data(inputs[1]), (int64_t[]){4, -1}, 2 * sizeof(int64_t));
  inputs[2] = make(HONE_STRING, 1, (int64_t[]){2});
  assert_ok(hone_tensor_set_string(inputs[2], 0, "hello", 5));
  assert_ok(hone_tensor_set_string(inputs[2], 1, "", 0));
}

static void release(int count, hone_tensor_t** tensors) {
  for (int i = 0; i < count; i++) hone_tensor_release(tensors[i]);
}

/* Saves the model's engine and forgets it. */
static void save(fixture_t* f) {
  hone_engine_t* engine;
  assert_ok(hone_engine_compile(f->model, NULL, &engine));
  assert_ok(hone_engine_save(engine, f->path));
  hone_engine_destroy(engine);
}

static int set_up(void** state) {
  fixture_t* f = hone_alloc(NULL, sizeof *f);
  assert_non_null(f);
  *state = f;
  f->model = test_rich_model();
  make_inputs(f->inputs);
  const hone_session_options_t options = {.device = "ref"};
  assert_ok(hone_session_create(f->model, &options, &f->reference));
  assert_ok(hone_session_run(f->reference, NULL, 3, f->inputs, OUTPUTS, f->want));
  test_folder_make(&f->folder);
  snprintf(f->path, sizeof f->path, "%s", test_folder_file(&f->folder, "rich.hone"));
  save(f);
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  hone_session_destroy(f->reference);
  hone_model_destroy(f->model);
  release(3, f->inputs);
  release(OUTPUTS, f->want);
  test_folder_remove(&f->folder);
  hone_free(NULL, f, sizeof *f);
  return 0;
}

/* ---- comparing ---- */

static bool same_string(const hone_tensor_t* a, const hone_tensor_t* b, int64_t i) {
  const hone_string_t* x = (const hone_string_t*)hone_tensor_data(a) + i;
  const hone_string_t* y = (const hone_string_t*)hone_tensor_data(b) + i;
  return x->size == y->size && (!x->size || memcmp(x->data, y->data, x->size) == 0);
}

static bool same(const hone_tensor_t* a, const hone_tensor_t* b) {
  if (hone_tensor_dtype(a) != hone_tensor_dtype(b) || hone_tensor_count(a) != hone_tensor_count(b))
    return false;
  for (int64_t i = 0; i < hone_tensor_count(a); i++) {
    if (hone_tensor_dtype(a) == HONE_STRING) {
      if (!same_string(a, b, i)) return false;
      continue;
    }
    float x = ((const float*)hone_tensor_data(a))[i], y = ((const float*)hone_tensor_data(b))[i];
    if (!(fabsf(x - y) <= 1e-4f * (1 + fabsf(y)))) return false;
  }
  return true;
}

static bool runs_right(const fixture_t* f, hone_engine_t* engine) {
  hone_session_t* session;
  assert_ok(hone_session_create_from_engine(engine, &session));
  hone_tensor_t* got[OUTPUTS];
  hone_status_t status = hone_session_run(session, NULL, 3, f->inputs, OUTPUTS, got);
  bool right = !status;
  for (int i = 0; i < OUTPUTS && right; i++) right = same(got[i], f->want[i]);
  hone_status_free(status);
  release(OUTPUTS, got);
  hone_session_destroy(session);
  return right;
}

/* ---- tests ---- */

static void a_loaded_engine_gives_what_the_model_gives(void** state) {
  const fixture_t* f = *state;
  hone_engine_t* engine;
  assert_ok(hone_engine_load(f->path, NULL, &engine));
  assert_true(runs_right(f, engine));
  hone_engine_info_t info;
  hone_engine_describe(engine, &info);
  assert_string_equal(info.device, "cpu");
  assert_true(info.runs_here && info.n_kernels > 0 && info.kernel_bytes > 0);
  assert_true(info.weight_bytes >= 18 * sizeof(float));
  hone_engine_destroy(engine);
}

static void guards_go_with_the_file(void** state) {
  fixture_t* f = *state;
  const char* path = test_folder_file(&f->folder, "guarded");
  const hone_engine_options_t options = {.struct_size = sizeof options, .guard = true};
  hone_engine_t *made, *loaded, *plain;
  hone_engine_info_t info;
  assert_ok(hone_engine_compile(f->model, &options, &made));
  assert_ok(hone_engine_save(made, path));
  hone_engine_destroy(made);
  assert_ok(hone_engine_load(path, NULL, &loaded));
  hone_engine_describe(loaded, &info);
  assert_true(info.guard);
  assert_true(runs_right(f, loaded));
  hone_engine_destroy(loaded);
  assert_ok(hone_engine_load(f->path, NULL, &plain));
  hone_engine_describe(plain, &info);
  assert_false(info.guard);
  hone_engine_destroy(plain);
}

static void sessions_know_names_and_types(void** state) {
  const fixture_t* f = *state;
  hone_engine_t* engine;
  hone_session_t* session;
  assert_ok(hone_engine_load(f->path, NULL, &engine));
  assert_ok(hone_session_create_from_engine(engine, &session));
  assert_int_equal(hone_session_input_count(session), 3);
  for (int i = 0; i < 3; i++) {
    char want[128], got[128];
    assert_string_equal(hone_session_input_name(session, i),
                        hone_session_input_name(f->reference, i));
    hone_session_input_type(f->reference, i, want, sizeof want);
    hone_session_input_type(session, i, got, sizeof got);
    assert_string_equal(got, want);
  }
  assert_int_equal(hone_session_output_count(session), OUTPUTS);
  for (int i = 0; i < OUTPUTS; i++)
    assert_string_equal(hone_session_output_name(session, i),
                        hone_session_output_name(f->reference, i));
  hone_tensor_t* got[OUTPUTS];
  hone_tensor_t* wrong[] = {f->inputs[1], f->inputs[1], f->inputs[2]};
  assert_code(hone_session_run(session, NULL, 3, wrong, OUTPUTS, got), HONE_INVALID_ARGUMENT);
  hone_session_destroy(session);
  hone_engine_destroy(engine);
}

/* What explains a program stays with it. */
static void assert_same_work(const hone_work_t* a, const hone_work_t* b) {
  const int64_t sizes[64] = {3, 5, 7, 2, 9, 4};
  hone_work_amount_t x = hone_work_eval(a, sizes), y = hone_work_eval(b, sizes);
  assert_float_equal(x.arithmetic, y.arithmetic, 0);
  assert_float_equal(x.transcendental, y.transcendental, 0);
  assert_float_equal(x.read, y.read, 0);
  assert_float_equal(x.written, y.written, 0);
}

static double compare_routines(const hone_routine_t* a, const hone_routine_t* b) {
  double bytes = 0;
  const int64_t ones[64] = {1, 1, 1, 1, 1, 1, 1, 1};
  assert_int_equal(a->n_steps, b->n_steps);
  for (int s = 0; s < a->n_steps; s++) {
    if (a->steps[s].kind != HONE_STEP_LAUNCH) continue;
    assert_same_work(&a->steps[s].work, &b->steps[s].work);
    bytes += hone_work_eval(&a->steps[s].work, ones).written;
  }
  return bytes;
}

static void a_loaded_engine_can_be_explained(void** state) {
  fixture_t* f = *state;
  const char* path = test_folder_file(&f->folder, "explained.hone");
  hone_engine_t *made, *loaded;
  assert_ok(hone_engine_compile(f->model, NULL, &made));
  made->program->kernels[0].predicted_seconds = 0.25;
  made->program->kernels[0].stack_bytes = 4096;
  assert_ok(hone_engine_save(made, path));
  assert_ok(hone_engine_load(path, NULL, &loaded));
  const hone_program_t *a = made->program, *b = loaded->program;
  assert_int_equal(a->n_kernels, b->n_kernels);
  for (int i = 0; i < a->n_kernels; i++) {
    assert_true(a->kernels[i].tactic[0] && a->kernels[i].why[0]);
    assert_string_equal(a->kernels[i].tactic, b->kernels[i].tactic);
    assert_string_equal(a->kernels[i].why, b->kernels[i].why);
    assert_float_equal(a->kernels[i].predicted_seconds, b->kernels[i].predicted_seconds, 0);
    assert_int_equal(a->kernels[i].stack_bytes, b->kernels[i].stack_bytes);
  }
  double bytes = 0;
  for (int r = 0; r < a->n_routines; r++) bytes += compare_routines(a->routines[r], b->routines[r]);
  assert_true(bytes > 0);
  hone_engine_destroy(loaded);
  hone_engine_destroy(made);
}

/* ---- damage ---- */

typedef struct bytes {
  char* data; /* aligned to 64 bytes, as allocators give */
  size_t size;
} bytes_t;

static bytes_t read_file(const char* path) {
  bytes_t bytes;
  assert_ok(hone_file_read(NULL, path, 0, &bytes.data, &bytes.size));
  return bytes;
}

static void check_refused_or_right(const fixture_t* f, const char* data, size_t size) {
  hone_engine_t* engine;
  hone_status_t status = hone_engine_load_memory(data, size, NULL, &engine);
  if (status) {
    hone_code_t code = hone_status_code(status);
    assert_true(code == HONE_INVALID_DATA || code == HONE_UNSUPPORTED);
    assert_true(hone_status_message(status)[0]);
    hone_status_free(status);
    return;
  }
  assert_true(runs_right(f, engine));
  hone_engine_destroy(engine);
}

static void a_cut_file_is_refused(void** state) {
  const fixture_t* f = *state;
  bytes_t bytes = read_file(f->path);
  for (size_t i = 0; i < PLACES; i++) {
    size_t size = bytes.size * i / PLACES;
    char* cut = hone_alloc(NULL, size + 1); /* so that a sanitizer sees what is beyond */
    assert_non_null(cut);
    memcpy(cut, bytes.data, size);
    hone_engine_t* engine;
    assert_code(hone_engine_load_memory(cut, size, NULL, &engine), HONE_INVALID_DATA);
    assert_null(engine);
    hone_free(NULL, cut, size + 1);
  }
  hone_free(NULL, bytes.data, bytes.size + 1);
}

static void a_flipped_bit_is_noticed_or_harmless(void** state) {
  const fixture_t* f = *state;
  bytes_t bytes = read_file(f->path);
  for (uint64_t i = 0; i < PLACES; i++) {
    size_t at = i < 256 ? (size_t)i : hone_random_u32(1, i) % bytes.size; /* the head whole */
    char mask = (char)(1 << (hone_random_u32(2, i) % 8));
    bytes.data[at] ^= mask;
    check_refused_or_right(f, bytes.data, bytes.size);
    bytes.data[at] ^= mask;
  }
  check_refused_or_right(f, bytes.data, bytes.size);
  hone_free(NULL, bytes.data, bytes.size + 1);
}

/* ---- strangers ---- */

static void expect_failure(const char* path, const hone_engine_options_t* options, hone_code_t code,
                           const char* words) {
  hone_engine_t* engine;
  hone_status_t status = hone_engine_load(path, options, &engine);
  assert_int_equal(hone_status_code(status), code);
  if (!strstr(hone_status_message(status), words))
    fail_msg("'%s' does not say '%s'", hone_status_message(status), words);
  hone_status_free(status);
  assert_null(engine);
}

static void strangers_are_refused_with_the_reason(void** state) {
  fixture_t* f = *state;
  const char* path = test_folder_file(&f->folder, "other");
  expect_failure(path, NULL, HONE_NOT_FOUND, path);
  assert_ok(hone_file_write(path, "not an engine, but long enough to be one, were it one", 50));
  expect_failure(path, NULL, HONE_INVALID_DATA, "not an engine file");
  bytes_t bytes = read_file(f->path);
  bytes.data[8] = 12; /* the version */
  assert_ok(hone_file_write(path, bytes.data, bytes.size));
  expect_failure(path, NULL, HONE_UNSUPPORTED, "version 12");
  enum { HEAD = 64 + 4 * 32, CHECKSUM = 32 };
  bytes.data[8] = 10;
  memset(bytes.data + CHECKSUM, 0, 8);
  uint64_t checksum = XXH64(bytes.data, HEAD, 0); /* little end first, as this machine has it */
  memcpy(bytes.data + CHECKSUM, &checksum, sizeof checksum);
  assert_ok(hone_file_write(path, bytes.data, bytes.size));
  expect_failure(path, NULL, HONE_UNSUPPORTED, "version 10");
  hone_free(NULL, bytes.data, bytes.size + 1);
  const hone_engine_options_t elsewhere = {.device = "ref"};
  expect_failure(f->path, &elsewhere, HONE_UNAVAILABLE, "compiled for 'cpu', not for 'ref'");
}

static void whole_graph_devices_have_no_engines(void** state) {
  const fixture_t* f = *state;
  hone_engine_t* engine;
  const hone_engine_options_t options = {.device = "ref"};
  assert_code(hone_engine_compile(f->model, &options, &engine), HONE_UNSUPPORTED);
  const hone_engine_options_t nowhere = {.device = "nowhere"};
  assert_code(hone_engine_compile(f->model, &nowhere, &engine), HONE_NOT_FOUND);
}

static void a_save_that_fails_leaves_nothing(void** state) {
  const fixture_t* f = *state;
  hone_engine_t* engine;
  const char* path = test_folder_file(&f->folder, "no/such/folder.hone");
  assert_ok(hone_engine_load(f->path, NULL, &engine));
  hone_status_t status = hone_engine_save(engine, path);
  assert_non_null(status);
  hone_status_free(status);
  hone_engine_destroy(engine);
}

static void a_loaded_engine_is_saved_the_same(void** state) {
  const fixture_t* f = *state;
  hone_engine_t* engine;
  const char* path = test_folder_file(&f->folder, "again.hone");
  assert_ok(hone_engine_load(f->path, NULL, &engine));
  assert_ok(hone_engine_save(engine, path));
  hone_engine_destroy(engine);
  bytes_t first = read_file(f->path), second = read_file(path);
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.data, second.data, first.size);
  hone_free(NULL, first.data, first.size + 1);
  hone_free(NULL, second.data, second.size + 1);
}

/* ---- sessions at once ---- */

typedef struct user {
  const fixture_t* f;
  hone_engine_t* engine;
  bool right;
} user_t;

static void* use_engine(void* argument) {
  user_t* user = argument;
  user->right = true;
  for (int i = 0; i < 5 && user->right; i++) user->right = runs_right(user->f, user->engine);
  return NULL;
}

static void many_sessions_share_an_engine(void** state) {
  enum { USERS = 16 };
  const fixture_t* f = *state;
  hone_engine_t* engine;
  assert_ok(hone_engine_load(f->path, NULL, &engine));
  pthread_t threads[USERS];
  user_t users[USERS];
  for (int i = 0; i < USERS; i++) {
    users[i] = (user_t){f, engine, false};
    assert_int_equal(pthread_create(&threads[i], NULL, use_engine, &users[i]), 0);
  }
  for (int i = 0; i < USERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < USERS; i++) assert_true(users[i].right);
  hone_engine_destroy(engine);
}

/* ---- memory that runs out ---- */

static hone_status_t load_and_run(const hone_allocator_t* allocator, void* context) {
  const fixture_t* f = context;
  const hone_engine_options_t options = {.allocator = allocator, .threads = 1};
  hone_engine_t* engine;
  hone_session_t* session = NULL;
  hone_tensor_t* got[OUTPUTS] = {NULL};
  HONE_TRY(hone_engine_load(f->path, &options, &engine));
  hone_status_t status = hone_session_create_from_engine(engine, &session);
  if (!status) status = hone_session_run(session, NULL, 3, f->inputs, OUTPUTS, got);
  release(OUTPUTS, got);
  hone_session_destroy(session);
  hone_engine_destroy(engine);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  assert_survives_faults(load_and_run, *state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loaded_engine_gives_what_the_model_gives),
      cmocka_unit_test(guards_go_with_the_file),
      cmocka_unit_test(sessions_know_names_and_types),
      cmocka_unit_test(a_loaded_engine_can_be_explained),
      cmocka_unit_test(a_cut_file_is_refused),
      cmocka_unit_test(a_flipped_bit_is_noticed_or_harmless),
      cmocka_unit_test(strangers_are_refused_with_the_reason),
      cmocka_unit_test(whole_graph_devices_have_no_engines),
      cmocka_unit_test(a_save_that_fails_leaves_nothing),
      cmocka_unit_test(a_loaded_engine_is_saved_the_same),
      cmocka_unit_test(many_sessions_share_an_engine),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
