#include "hone/tensor.h"

#include <pthread.h>
#include <string.h>

#include "base/tensor_impl.h"
#include "base/testing/fault.h"

static void a_tensor_is_zeros_of_its_shape(void** state) {
  (void)state;
  const int64_t dims[] = {2, 3};
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_F32, 2, dims, &tensor));
  assert_int_equal(hone_tensor_kind(tensor), HONE_KIND_TENSOR);
  assert_int_equal(hone_tensor_dtype(tensor), HONE_F32);
  assert_int_equal(hone_tensor_rank(tensor), 2);
  assert_memory_equal(hone_tensor_dims(tensor), dims, sizeof dims);
  assert_int_equal(hone_tensor_count(tensor), 6);
  assert_int_equal(hone_tensor_bytes(tensor), 24);
  assert_int_equal((uintptr_t)hone_tensor_data(tensor) % 64, 0);
  const float* data = hone_tensor_data(tensor);
  for (int i = 0; i < 6; i++) assert_true(data[i] == 0);
  assert_null(hone_sequence_item(tensor, 0));
  hone_tensor_release(tensor);
}

static void scalars_and_empty_shapes_are_shapes(void** state) {
  (void)state;
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_I64, 0, NULL, &tensor));
  assert_int_equal(hone_tensor_count(tensor), 1);
  hone_tensor_release(tensor);
  const int64_t dims[] = {INT64_MAX, 0, 1};
  assert_ok(hone_tensor_create(NULL, HONE_F64, 3, dims, &tensor));
  assert_int_equal(hone_tensor_count(tensor), 0);
  assert_int_equal(hone_tensor_bytes(tensor), 0);
  assert_non_null(hone_tensor_data(tensor));
  hone_tensor_release(tensor);
  hone_tensor_release(NULL);
}

static void bad_shapes_are_refused(void** state) {
  (void)state;
  const int64_t negative[] = {2, -1}, product[] = {INT64_MAX / 2, 3}, bytes[] = {INT64_MAX / 2};
  const int64_t ones[HONE_MAX_RANK + 1] = {1};
  hone_tensor_t* tensor = (hone_tensor_t*)1;
  assert_code(hone_tensor_create(NULL, HONE_F32, 2, negative, &tensor), HONE_INVALID_ARGUMENT);
  assert_null(tensor);
  assert_code(hone_tensor_create(NULL, HONE_F32, 2, product, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(hone_tensor_create(NULL, HONE_F32, 1, bytes, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(hone_tensor_create(NULL, HONE_F32, 1, NULL, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(hone_tensor_create(NULL, HONE_F32, -1, ones, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(hone_tensor_create(NULL, HONE_F32, HONE_MAX_RANK + 1, ones, &tensor),
              HONE_INVALID_ARGUMENT);
  assert_code(hone_tensor_create(NULL, HONE_UNKNOWN, 0, NULL, &tensor), HONE_INVALID_ARGUMENT);
  assert_code(hone_tensor_create(NULL, HONE_DTYPE_COUNT, 0, NULL, &tensor), HONE_INVALID_ARGUMENT);
}

static void raw_ones_have_the_shape_and_strings_are_empty(void** state) {
  (void)state;
  const int64_t dims[] = {2, 3}, large[] = {INT64_MAX / 2, 3};
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create_raw(NULL, HONE_F64, 2, dims, &tensor));
  assert_int_equal(hone_tensor_bytes(tensor), 48);
  assert_int_equal((uintptr_t)hone_tensor_data(tensor) % 64, 0);
  memset(hone_tensor_data(tensor), 1, 48);
  hone_tensor_release(tensor);
  assert_ok(hone_tensor_create_raw(NULL, HONE_STRING, 2, dims, &tensor));
  assert_int_equal(((const hone_string_t*)hone_tensor_data(tensor))[5].size, 0);
  hone_tensor_release(tensor);
  assert_code(hone_tensor_create_raw(NULL, HONE_F32, 2, large, &tensor), HONE_OUT_OF_RANGE);
  assert_null(tensor);
}

static void count_call(void* owner) { ++*(int*)owner; }

static void wrapped_memory_is_given_back_once(void** state) {
  (void)state;
  int calls = 0;
  float data[4] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_wrap(NULL, HONE_F32, 1, dims, data, count_call, &calls, &tensor));
  assert_ptr_equal(hone_tensor_data(tensor), data);
  hone_tensor_retain(tensor);
  hone_tensor_release(tensor);
  assert_int_equal(calls, 0);
  hone_tensor_release(tensor);
  assert_int_equal(calls, 1);
  assert_code(hone_tensor_wrap(NULL, HONE_F32, 1, dims, NULL, count_call, &calls, &tensor),
              HONE_INVALID_ARGUMENT);
  assert_null(tensor);
  assert_int_equal(calls, 1);
}

static void a_sequence_keeps_its_items(void** state) {
  (void)state;
  int calls = 0;
  char byte = 7;
  hone_tensor_t *item, *sequence;
  assert_ok(hone_tensor_wrap(NULL, HONE_U8, 0, NULL, &byte, count_call, &calls, &item));
  hone_tensor_t* items[] = {item, item};
  assert_ok(hone_sequence_create(NULL, HONE_KIND_SEQUENCE, 2, items, &sequence));
  hone_tensor_release(item);
  assert_int_equal(calls, 0);
  assert_int_equal(hone_tensor_count(sequence), 2);
  assert_int_equal(hone_tensor_dtype(sequence), HONE_U8);
  assert_ptr_equal(hone_sequence_item(sequence, 1), item);
  assert_null(hone_sequence_item(sequence, 2));
  assert_null(hone_sequence_item(sequence, -1));
  hone_tensor_release(sequence);
  assert_int_equal(calls, 1);
}

static void bad_sequences_are_refused(void** state) {
  (void)state;
  hone_tensor_t *out, *none, *items[] = {NULL};
  assert_code(hone_sequence_create(NULL, HONE_KIND_SEQUENCE, 1, items, &out),
              HONE_INVALID_ARGUMENT);
  assert_code(hone_sequence_create(NULL, HONE_KIND_SEQUENCE, -1, items, &out),
              HONE_INVALID_ARGUMENT);
  assert_code(hone_sequence_create(NULL, HONE_KIND_TENSOR, 0, NULL, &out), HONE_INVALID_ARGUMENT);
  assert_ok(hone_none_create(NULL, &none));
  assert_int_equal(hone_tensor_kind(none), HONE_KIND_NONE);
  assert_code(hone_sequence_create(NULL, HONE_KIND_MAP, 1, &none, &out), HONE_INVALID_ARGUMENT);
  hone_tensor_release(none);
}

static void deep_nesting_is_freed_without_the_stack(void** state) {
  (void)state;
  enum { DEPTH = 200000 };
  hone_tensor_t* outer;
  assert_ok(hone_none_create(NULL, &outer));
  for (int i = 0; i < DEPTH; i++) {
    hone_tensor_t* inner = outer;
    assert_ok(hone_sequence_create(NULL, HONE_KIND_SEQUENCE, 1, &inner, &outer));
    hone_tensor_release(inner);
  }
  hone_tensor_release(outer);
}

static void strings_are_copied_and_replaced(void** state) {
  (void)state;
  const int64_t dims[] = {2};
  char word[] = "a\0b";
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_STRING, 1, dims, &tensor));
  assert_ok(hone_tensor_set_string(tensor, 1, word, 3));
  word[0] = 'z';
  const hone_string_t* strings = hone_tensor_data(tensor);
  assert_int_equal(strings[0].size, 0);
  assert_int_equal(strings[1].size, 3);
  assert_memory_equal(strings[1].data, "a\0b", 3);
  assert_ok(hone_tensor_set_string(tensor, 1, strings[1].data + 1, 2));
  assert_memory_equal(strings[1].data, "\0b", 2);
  assert_ok(hone_tensor_set_string(tensor, 1, NULL, 0));
  assert_int_equal(strings[1].size, 0);
  assert_code(hone_tensor_set_string(tensor, 2, "x", 1), HONE_OUT_OF_RANGE);
  assert_code(hone_tensor_set_string(tensor, -1, "x", 1), HONE_OUT_OF_RANGE);
  hone_tensor_release(tensor);
}

static void only_own_strings_are_set(void** state) {
  (void)state;
  hone_string_t string = {"x", 1};
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_wrap(NULL, HONE_STRING, 0, NULL, &string, NULL, NULL, &tensor));
  assert_code(hone_tensor_set_string(tensor, 0, "y", 1), HONE_INVALID_ARGUMENT);
  hone_tensor_release(tensor);
  assert_ok(hone_tensor_create(NULL, HONE_F32, 0, NULL, &tensor));
  assert_code(hone_tensor_set_string(tensor, 0, "y", 1), HONE_INVALID_ARGUMENT);
  hone_tensor_release(tensor);
}

static hone_status_t make_strings(const hone_allocator_t* allocator, hone_tensor_t* tensor) {
  (void)allocator;
  HONE_TRY(hone_tensor_set_string(tensor, 0, "first", 5));
  HONE_TRY(hone_tensor_set_string(tensor, 1, "second", 6));
  return hone_tensor_set_string(tensor, 0, "again", 5);
}

static hone_status_t everything(const hone_allocator_t* allocator, void* context) {
  (void)context;
  const int64_t dims[] = {2};
  hone_tensor_t *strings, *wrapped, *pair = NULL;
  float data[2] = {0};
  HONE_TRY(hone_tensor_create(allocator, HONE_STRING, 1, dims, &strings));
  hone_status_t status = make_strings(allocator, strings);
  if (!status) status = hone_tensor_wrap(allocator, HONE_F32, 1, dims, data, NULL, NULL, &wrapped);
  if (!status) {
    hone_tensor_t* items[] = {strings, wrapped};
    status = hone_sequence_create(allocator, HONE_KIND_MAP, 2, items, &pair);
    hone_tensor_release(wrapped);
  }
  hone_tensor_release(strings);
  hone_tensor_release(pair);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_int_equal(assert_survives_faults(everything, NULL), 6);
}

static void* retain_and_release(void* tensor) {
  for (int i = 0; i < 5000; i++) {
    hone_tensor_retain(tensor);
    hone_tensor_release(tensor);
  }
  hone_tensor_release(tensor);
  return NULL;
}

static void counting_is_atomic(void** state) {
  (void)state;
  enum { THREADS = 4 };
  int calls = 0;
  char byte = 0;
  pthread_t threads[THREADS];
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_wrap(NULL, HONE_U8, 0, NULL, &byte, count_call, &calls, &tensor));
  for (int i = 0; i < THREADS; i++) {
    hone_tensor_retain(tensor);
    assert_int_equal(pthread_create(&threads[i], NULL, retain_and_release, tensor), 0);
  }
  hone_tensor_release(tensor);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(calls, 1);
}

typedef struct maker {
  int fills, frees;
} maker_t;

static void fill_seven(void* context, void* data) {
  (*(maker_t**)context)->fills++;
  memset(data, 7, 4);
}

static void count_free(void* owner) { ((maker_t*)owner)->frees++; }

/* Made of a tensor that only it holds. */
static hone_status_t make_late(maker_t* maker, int64_t count, hone_tensor_t** out) {
  static char byte;
  hone_tensor_t* from;
  assert_ok(hone_tensor_wrap(NULL, HONE_U8, 0, NULL, &byte, count_free, maker, &from));
  hone_status_t status = hone_tensor_create_late(NULL, HONE_U8, 1, &count, fill_seven, &maker,
                                                 sizeof maker, from, out);
  hone_tensor_release(from);
  return status;
}

static void* ask(void* tensor) { return hone_tensor_data(tensor); }

static void late_elements_are_made_when_somebody_asks(void** state) {
  (void)state;
  enum { THREADS = 4 };
  maker_t maker = {0};
  pthread_t threads[THREADS];
  hone_tensor_t* tensor;
  assert_ok(make_late(&maker, 4, &tensor));
  assert_int_equal(hone_tensor_bytes(tensor), 4);
  assert_int_equal(maker.fills, 0);
  assert_int_equal(maker.frees, 0);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, ask, tensor), 0);
  for (int i = 0; i < THREADS; i++) {
    void* data;
    pthread_join(threads[i], &data);
    assert_memory_equal(data, "\7\7\7\7", 4);
  }
  assert_int_equal(maker.fills, 1);
  assert_int_equal(maker.frees, 1);
  hone_tensor_release(tensor);
  assert_int_equal(maker.frees, 1);
}

static void late_elements_can_be_made_elsewhere(void** state) {
  (void)state;
  maker_t maker = {0};
  hone_tensor_t* tensor;
  assert_ok(make_late(&maker, 4, &tensor));
  for (int i = 1; i <= 2; i++) {
    char elements[5] = {0};
    hone_tensor_fill(tensor, elements);
    assert_memory_equal(elements, "\7\7\7\7", 5);
    assert_true(hone_tensor_is_late(tensor));
    assert_int_equal(maker.fills, i);
  }
  assert_memory_equal(hone_tensor_data(tensor), "\7\7\7\7", 4);
  assert_false(hone_tensor_is_late(tensor));
  hone_tensor_release(tensor);
  assert_int_equal(maker.frees, 1);
}

static void late_elements_that_nobody_asks_for_are_never_made(void** state) {
  (void)state;
  maker_t maker = {0};
  hone_tensor_t* tensor;
  assert_ok(make_late(&maker, 4, &tensor));
  hone_tensor_release(tensor);
  assert_int_equal(maker.fills, 0);
  assert_int_equal(maker.frees, 1);
  assert_code(make_late(&maker, -1, &tensor), HONE_INVALID_ARGUMENT);
  assert_int_equal(maker.frees, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tensor_is_zeros_of_its_shape),
      cmocka_unit_test(scalars_and_empty_shapes_are_shapes),
      cmocka_unit_test(bad_shapes_are_refused),
      cmocka_unit_test(raw_ones_have_the_shape_and_strings_are_empty),
      cmocka_unit_test(wrapped_memory_is_given_back_once),
      cmocka_unit_test(a_sequence_keeps_its_items),
      cmocka_unit_test(bad_sequences_are_refused),
      cmocka_unit_test(deep_nesting_is_freed_without_the_stack),
      cmocka_unit_test(strings_are_copied_and_replaced),
      cmocka_unit_test(only_own_strings_are_set),
      cmocka_unit_test(survives_running_out_of_memory),
      cmocka_unit_test(counting_is_atomic),
      cmocka_unit_test(late_elements_are_made_when_somebody_asks),
      cmocka_unit_test(late_elements_can_be_made_elsewhere),
      cmocka_unit_test(late_elements_that_nobody_asks_for_are_never_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
