#include "base/trace.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/testing/fault.h"
#include "base/testing/folder.h"

static test_folder_t folder;

static int set_up(void** state) {
  (void)state;
  test_folder_make(&folder);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  test_folder_remove(&folder);
  return 0;
}

static const char* trace_path(void) { return test_folder_file(&folder, "trace.json"); }

/* The events of the file, to be freed with json_decref(*out_root). */
static json_t* load_events(json_t** out_root) {
  json_error_t error;
  *out_root = json_load_file(trace_path(), 0, &error);
  if (!*out_root) fail_msg("%s", error.text);
  json_t* events = json_object_get(*out_root, "traceEvents");
  assert_true(json_is_array(events));
  return events;
}

static const char* text_of(const json_t* event, const char* key) {
  const char* text = json_string_value(json_object_get(event, key));
  return text ? text : "(none)";
}

static double number_of(const json_t* event, const char* key) {
  return json_number_value(json_object_get(event, key));
}

static void events_are_json(void** state) {
  (void)state;
  hone_trace_t* trace;
  json_t* root;
  assert_ok(hone_trace_create(NULL, trace_path(), &trace));
  int64_t start = hone_clock_ns();
  hone_trace_begin(trace, "a \"node\"\n");
  hone_trace_end(trace);
  hone_trace_complete(trace, "kernel", start, 1234567);
  hone_trace_counter(trace, "bytes", 0.5);
  hone_trace_counter(trace, "bytes", NAN);
  assert_int_not_equal(access(trace_path(), F_OK), 0); /* not before it is whole */
  assert_ok(hone_trace_close(trace));
  json_t* events = load_events(&root);
  static const char* const phases[] = {"B", "E", "X", "C"};
  assert_int_equal(json_array_size(events), TEST_COUNT(phases));
  for (size_t i = 0; i < TEST_COUNT(phases); i++) {
    const json_t* event = json_array_get(events, i);
    assert_string_equal(text_of(event, "ph"), phases[i]);
    assert_true(number_of(event, "ts") >= 0);
    assert_int_equal((long)number_of(event, "pid"), getpid());
  }
  assert_string_equal(text_of(json_array_get(events, 0), "name"), "a \"node\"\n");
  assert_true(number_of(json_array_get(events, 2), "dur") == 1234.567);
  const json_t* args = json_object_get(json_array_get(events, 3), "args");
  assert_true(number_of(args, "value") == 0.5);
  json_decref(root);
}

static void a_trace_without_events_is_json(void** state) {
  (void)state;
  hone_trace_t* trace;
  json_t* root;
  assert_ok(hone_trace_create(NULL, trace_path(), &trace));
  assert_ok(hone_trace_close(trace));
  assert_int_equal(json_array_size(load_events(&root)), 0);
  json_decref(root);
}

static void no_trace_is_off(void** state) {
  (void)state;
  hone_trace_begin(NULL, "a");
  hone_trace_end(NULL);
  hone_trace_complete(NULL, "a", 0, 1);
  hone_trace_counter(NULL, "a", 1);
  assert_ok(hone_trace_close(NULL));
  assert_int_equal(test_folder_entries(&folder), 0);
}

static void* write_spans(void* trace) {
  for (int i = 0; i < 300; i++) {
    hone_trace_begin(trace, "span");
    hone_trace_end(trace);
  }
  return NULL;
}

static void each_thread_has_its_spans(void** state) {
  (void)state;
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  hone_trace_t* trace;
  json_t *root, *events, *event;
  size_t i, begins = 0, ends = 0;
  assert_ok(hone_trace_create(NULL, trace_path(), &trace));
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, write_spans, trace), 0);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_ok(hone_trace_close(trace));
  int last = -1, changes = 0;
  events = load_events(&root);
  json_array_foreach(events, i, event) {
    begins += strcmp(text_of(event, "ph"), "B") == 0;
    ends += strcmp(text_of(event, "ph"), "E") == 0;
    changes += (int)number_of(event, "tid") != last;
    last = (int)number_of(event, "tid");
  }
  assert_int_equal(begins, 300 * THREADS);
  assert_int_equal(ends, 300 * THREADS);
  assert_true(changes >= THREADS);
  json_decref(root);
}

static void a_file_that_cannot_be_made_is_an_error(void** state) {
  (void)state;
  hone_trace_t* trace;
  assert_code(hone_trace_create(NULL, test_folder_file(&folder, "no/t.json"), &trace),
              HONE_NOT_FOUND);
  assert_null(trace);
  assert_ok(hone_trace_create(NULL, "/dev/full", &trace));
  hone_trace_begin(trace, "a");
  assert_code(hone_trace_close(trace), HONE_IO);
}

static hone_status_t trace_something(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_trace_t* trace;
  HONE_TRY(hone_trace_create(allocator, trace_path(), &trace));
  hone_trace_begin(trace, "a");
  hone_trace_end(trace);
  return hone_trace_close(trace);
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_true(assert_survives_faults(trace_something, NULL) >= 3);
  assert_int_equal(test_folder_entries(&folder), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(events_are_json),
      TEST(a_trace_without_events_is_json),
      TEST(no_trace_is_off),
      TEST(each_thread_has_its_spans),
      TEST(a_file_that_cannot_be_made_is_an_error),
      TEST(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
