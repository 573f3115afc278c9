/* Tensors, sequences, maps and optionals to bytes and back. */
#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "import/onnx.h"

static hone_status_t there_and_back(const hone_allocator_t* allocator, const hone_tensor_t* tensor,
                                    hone_onnx_type_kind_t kind, hone_tensor_t** out_tensor) {
  void* data;
  size_t size;
  HONE_TRY(hone_onnx_save_tensor(allocator, tensor, kind, &data, &size));
  hone_status_t status = hone_onnx_load_tensor_memory(allocator, data, size, kind, out_tensor);
  hone_free(allocator, data, size);
  return status;
}

static hone_tensor_t* ints(int64_t count, const int32_t* values) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_I32, 1, &count, &tensor));
  memcpy(hone_tensor_data(tensor), values, (size_t)count * sizeof *values);
  return tensor;
}

static hone_tensor_t* group(hone_kind_t kind, hone_tensor_t* a, hone_tensor_t* b) {
  hone_tensor_t* sequence;
  assert_ok(hone_sequence_create(NULL, kind, 2, (hone_tensor_t*[]){a, b}, &sequence));
  hone_tensor_release(a);
  hone_tensor_release(b);
  return sequence;
}

static void assert_equal(const hone_tensor_t* a, const hone_tensor_t* b) {
  assert_int_equal(hone_tensor_kind(a), hone_tensor_kind(b));
  assert_int_equal(hone_tensor_count(a), hone_tensor_count(b));
  if (hone_tensor_kind(a) != HONE_KIND_TENSOR) {
    for (int64_t i = 0; i < hone_tensor_count(a); i++) {
      assert_equal(hone_sequence_item(a, i), hone_sequence_item(b, i));
    }
    return;
  }
  assert_int_equal(hone_tensor_dtype(a), hone_tensor_dtype(b));
  assert_int_equal(hone_tensor_rank(a), hone_tensor_rank(b));
  assert_int_equal(hone_tensor_bytes(a), hone_tensor_bytes(b));
  const hone_string_t *x = hone_tensor_data(a), *y = hone_tensor_data(b);
  if (hone_tensor_dtype(a) != HONE_STRING) {
    assert_memory_equal(x, y, hone_tensor_bytes(a));
    return;
  }
  for (int64_t i = 0; i < hone_tensor_count(a); i++) {
    assert_int_equal(x[i].size, y[i].size);
    assert_memory_equal(x[i].data, y[i].data, x[i].size);
  }
}

static void assert_comes_back(hone_tensor_t* tensor, hone_onnx_type_kind_t kind) {
  hone_tensor_t* again;
  assert_ok(there_and_back(NULL, tensor, kind, &again));
  assert_equal(tensor, again);
  hone_tensor_release(again);
  hone_tensor_release(tensor);
}

static hone_tensor_t* texts(void) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_STRING, 1, (int64_t[]){2}, &tensor));
  assert_ok(hone_tensor_set_string(tensor, 0, "one", 3));
  assert_ok(hone_tensor_set_string(tensor, 1, "t\0o", 3));
  return tensor;
}

static const int32_t numbers[] = {1, -2, 3};

static void values_come_back(void** state) {
  hone_tensor_t *none, *keys;
  assert_comes_back(ints(3, numbers), HONE_ONNX_TYPE_TENSOR);
  assert_comes_back(ints(0, numbers), HONE_ONNX_TYPE_NONE);
  assert_comes_back(ints(3, numbers), HONE_ONNX_TYPE_OPTIONAL);
  assert_comes_back(texts(), HONE_ONNX_TYPE_TENSOR);
  assert_ok(hone_none_create(NULL, &none));
  assert_comes_back(none, HONE_ONNX_TYPE_OPTIONAL);
  assert_comes_back(group(HONE_KIND_SEQUENCE, ints(3, numbers), texts()), HONE_ONNX_TYPE_SEQUENCE);
  assert_ok(hone_none_create(NULL, &none));
  assert_comes_back(group(HONE_KIND_SEQUENCE, ints(3, numbers), none), HONE_ONNX_TYPE_SEQUENCE);
  hone_tensor_t* pair = group(HONE_KIND_SEQUENCE, ints(1, numbers), ints(2, numbers));
  assert_comes_back(group(HONE_KIND_MAP, texts(), pair), HONE_ONNX_TYPE_MAP);
  assert_ok(hone_tensor_create(NULL, HONE_I64, 1, (int64_t[]){2}, &keys));
  pair = group(HONE_KIND_SEQUENCE, ints(1, numbers), ints(2, numbers));
  pair = group(HONE_KIND_SEQUENCE, group(HONE_KIND_MAP, keys, pair), ints(3, numbers));
  assert_comes_back(pair, HONE_ONNX_TYPE_SEQUENCE);
}

static void kinds_must_fit(void** state) {
  hone_tensor_t *tensor = ints(3, numbers), *again;
  void* data;
  size_t size;
  assert_code(hone_onnx_save_tensor(NULL, tensor, HONE_ONNX_TYPE_SEQUENCE, &data, &size),
              HONE_INVALID_ARGUMENT);
  assert_code(hone_onnx_save_tensor(NULL, NULL, HONE_ONNX_TYPE_TENSOR, &data, &size),
              HONE_INVALID_ARGUMENT);
  assert_code(hone_onnx_load_tensor_memory(NULL, "", 0, HONE_ONNX_TYPE_TENSOR, &again),
              HONE_INVALID_MODEL);
  assert_code(hone_onnx_load_tensor_memory(NULL, "", 0, (hone_onnx_type_kind_t)77, &again),
              HONE_INVALID_ARGUMENT);
  hone_tensor_release(tensor);
}

/* SparseTensorProto of dims [2, 3] with 5 and 6 at (0, 2) and (1, 1): the
 * indices as one number each, and as rows. */
static const char linear[] =
    "\x0a\x08\x08\x02\x10\x06\x2a\x02\x05\x06"
    "\x12\x08\x08\x02\x10\x07\x3a\x02\x02\x04\x18\x02\x18\x03";
static const char rows[] =
    "\x0a\x08\x08\x02\x10\x06\x2a\x02\x05\x06"
    "\x12\x0c\x08\x02\x08\x02\x10\x07\x3a\x04\x00\x02\x01\x01\x18\x02\x18\x03";

static void assert_sparse(const char* bytes, size_t size) {
  static const int32_t dense[] = {0, 0, 5, 0, 6, 0};
  hone_tensor_t* tensor;
  assert_ok(hone_onnx_load_tensor_memory(NULL, bytes, size, HONE_ONNX_TYPE_SPARSE, &tensor));
  assert_int_equal(hone_tensor_rank(tensor), 2);
  assert_memory_equal(hone_tensor_data(tensor), dense, sizeof dense);
  hone_tensor_release(tensor);
  char outside[64];
  memcpy(outside, bytes, size);
  outside[size - 1] = 1; /* dims [2, 1] */
  hone_status_t status =
      hone_onnx_load_tensor_memory(NULL, outside, size, HONE_ONNX_TYPE_SPARSE, &tensor);
  assert_non_null(strstr(hone_status_message(status), "outside"));
  hone_status_free(status);
}

static void sparse_values_become_dense(void** state) {
  assert_sparse(linear, sizeof linear - 1);
  assert_sparse(rows, sizeof rows - 1);
}

static hone_status_t pass(const hone_allocator_t* allocator, void* context) {
  hone_tensor_t* again;
  HONE_TRY(there_and_back(allocator, context, HONE_ONNX_TYPE_MAP, &again));
  hone_tensor_release(again);
  return NULL;
}

static void survives_faults(void** state) {
  hone_tensor_t* pair = group(HONE_KIND_SEQUENCE, ints(1, numbers), texts());
  hone_tensor_t* map = group(HONE_KIND_MAP, texts(), pair);
  assert_survives_faults(pass, map);
  hone_tensor_release(map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_come_back),
      cmocka_unit_test(kinds_must_fit),
      cmocka_unit_test(sparse_values_become_dense),
      cmocka_unit_test(survives_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
