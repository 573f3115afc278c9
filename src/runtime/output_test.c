#include "runtime/output.h"

#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "base/testing/fault.h"
#include "base/testing/test.h"

/* A program of two weights, whose elements are the test's. */
typedef struct fixture {
  float numbers[4];
  hone_tensor_t *weight, *words;
  hone_weight_t weights[2];
  hone_program_t program;
} fixture_t;

static int set_up(void** state) {
  static fixture_t f;
  const int64_t dims[] = {4}, one[] = {1};
  f = (fixture_t){.numbers = {1, 2, 3, 4}};
  assert_ok(hone_tensor_wrap(NULL, HONE_F32, 1, dims, f.numbers, NULL, NULL, &f.weight));
  assert_ok(hone_tensor_create(NULL, HONE_STRING, 1, one, &f.words));
  assert_ok(hone_tensor_set_string(f.words, 0, "word", 4));
  f.weights[0].tensor = f.weight;
  f.weights[1].tensor = f.words;
  f.program =
      (hone_program_t){.allocator = hone_allocator_system(), .n_weights = 2, .weights = f.weights};
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  hone_tensor_release(f->weight);
  hone_tensor_release(f->words);
  return 0;
}

static hone_tensor_t* own(const fixture_t* f, hone_tensor_t* result) {
  hone_tensor_t* output;
  assert_ok(hone_output_own(&f->program, result, &output));
  return output;
}

static hone_tensor_t* view_of_end(fixture_t* f) {
  hone_tensor_t* view;
  const int64_t dims[] = {2, 1};
  assert_ok(hone_tensor_wrap(NULL, HONE_F32, 2, dims, f->numbers + 2, NULL, NULL, &view));
  return view;
}

static void what_is_no_weight_is_handed_on(void** state) {
  const fixture_t* f = *state;
  hone_tensor_t* made;
  const int64_t dims[] = {4};
  assert_ok(hone_tensor_create(NULL, HONE_F32, 1, dims, &made));
  assert_ptr_equal(own(f, made), made);
  hone_tensor_release(made);
  hone_tensor_release(made);
}

static void weights_and_their_views_are_copied(void** state) {
  fixture_t* f = *state;
  hone_tensor_t *view = view_of_end(f), *whole = own(f, f->weight), *end = own(f, view);
  memset(f->numbers, 0, sizeof f->numbers);
  assert_float_equal(((const float*)hone_tensor_data(whole))[3], 4, 0);
  assert_int_equal(hone_tensor_rank(end), 2);
  assert_float_equal(((const float*)hone_tensor_data(end))[0], 3, 0);
  hone_tensor_release(view);
  hone_tensor_release(whole);
  hone_tensor_release(end);
}

static void strings_are_copied(void** state) {
  const fixture_t* f = *state;
  hone_tensor_t* output = own(f, f->words);
  const hone_string_t* string = hone_tensor_data(output);
  assert_ptr_not_equal(output, f->words);
  assert_int_equal(string->size, 4);
  assert_memory_equal(string->data, "word", 4);
  hone_tensor_release(output);
}

static void a_sequence_keeps_its_other_items(void** state) {
  const fixture_t* f = *state;
  hone_tensor_t *made, *sequence;
  const int64_t dims[] = {4};
  assert_ok(hone_tensor_create(NULL, HONE_F32, 1, dims, &made));
  hone_tensor_t* const items[] = {made, f->weight};
  assert_ok(hone_sequence_create(NULL, HONE_KIND_SEQUENCE, 2, items, &sequence));
  hone_tensor_t* output = own(f, sequence);
  assert_ptr_not_equal(output, sequence);
  assert_ptr_equal(output->items[0], made);
  assert_ptr_not_equal(output->items[1], f->weight);
  assert_float_equal(((const float*)hone_tensor_data(output->items[1]))[1], 2, 0);
  hone_tensor_release(output);
  hone_tensor_release(sequence);
  hone_tensor_release(made);
}

static hone_status_t own_all(const hone_allocator_t* allocator, void* context) {
  fixture_t* f = context;
  hone_tensor_t *sequence, *output = NULL;
  hone_tensor_t* const items[] = {f->weight, f->words};
  hone_program_t program = f->program;
  program.allocator = allocator;
  HONE_TRY(hone_sequence_create(allocator, HONE_KIND_SEQUENCE, 2, items, &sequence));
  hone_status_t status = hone_output_own(&program, sequence, &output);
  hone_tensor_release(output);
  hone_tensor_release(sequence);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  assert_survives_faults(own_all, *state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_is_no_weight_is_handed_on),
      TEST(weights_and_their_views_are_copied),
      TEST(strings_are_copied),
      TEST(a_sequence_keeps_its_other_items),
      TEST(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
