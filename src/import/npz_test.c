#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"
#include "import/npy.h"
#include "import/zip_format.h"

/* numpy.savez and numpy.savez_compressed of {"a": [1, 2, 3] (i4), "b": zeros(200)}. */
static const char* const samples[] = {"tests/fuzz_corpus/npz/stored.npz",
                                      "tests/fuzz_corpus/npz/deflated.npz"};

typedef struct bytes {
  char* data;
  size_t size;
} bytes_t;

static bytes_t read_sample(int which) {
  bytes_t bytes;
  assert_ok(hone_file_read(NULL, samples[which], 0, &bytes.data, &bytes.size));
  return bytes;
}

static void release(bytes_t bytes) { hone_free(NULL, bytes.data, bytes.size + 1); }

/* Opens and reads every array; the first error. */
static hone_status_t read_all(const hone_allocator_t* allocator, const void* data, size_t size) {
  hone_npz_t* npz;
  hone_status_t status = NULL;
  HONE_TRY(hone_npz_open_memory(allocator, data, size, &npz));
  for (int i = 0; i < hone_npz_count(npz) && !status; i++) {
    hone_tensor_t* tensor;
    status = hone_npz_read(npz, i, HONE_UNKNOWN, &tensor);
    hone_tensor_release(tensor);
  }
  hone_npz_close(npz);
  return status;
}

static void archives_of_numpy_are_read(void** state) {
  (void)state;
  for (size_t i = 0; i < TEST_COUNT(samples); i++) {
    hone_npz_t* npz;
    hone_tensor_t* tensor;
    assert_ok(hone_npz_open_file(NULL, samples[i], &npz));
    assert_int_equal(hone_npz_count(npz), 2);
    assert_string_equal(hone_npz_name(npz, 0), "a");
    assert_null(hone_npz_name(npz, 2));
    assert_int_equal(hone_npz_find(npz, "b"), 1);
    assert_int_equal(hone_npz_find(npz, "c"), -1);
    assert_ok(hone_npz_read(npz, 0, HONE_UNKNOWN, &tensor));
    assert_int_equal(hone_tensor_dtype(tensor), HONE_I32);
    assert_memory_equal(hone_tensor_data(tensor), ((int32_t[]){1, 2, 3}), 12);
    hone_tensor_release(tensor);
    assert_ok(hone_npz_read(npz, 1, HONE_UNKNOWN, &tensor));
    assert_int_equal(hone_tensor_count(tensor), 200);
    hone_tensor_release(tensor);
    assert_code(hone_npz_read(npz, 2, HONE_UNKNOWN, &tensor), HONE_INVALID_ARGUMENT);
    hone_npz_close(npz);
  }
}

static void an_archive_cut_off_anywhere_is_refused(void** state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    bytes_t bytes = read_sample(which);
    for (size_t size = 0; size < bytes.size; size++)
      assert_code(read_all(NULL, bytes.data, size), HONE_INVALID_DATA);
    release(bytes);
  }
}

/* A change of any byte of the arrays shows in the checksum. */
static void damaged_elements_are_refused(void** state) {
  (void)state;
  bytes_t bytes = read_sample(0);
  size_t start = ZIP_LOCAL_SIZE + 20 + 5; /* behind the name and the extra field */
  for (size_t at = start; at < start + 128 + 12; at++) {
    bytes.data[at] ^= 0x40;
    assert_code(read_all(NULL, bytes.data, bytes.size), HONE_INVALID_DATA);
    bytes.data[at] ^= 0x40;
  }
  assert_ok(read_all(NULL, bytes.data, bytes.size));
  release(bytes);
}

/* Of compressed bytes a change may also make no difference. */
static void damaged_packed_bytes_do_no_harm(void** state) {
  (void)state;
  bytes_t bytes = read_sample(1);
  size_t refused = 0, start = ZIP_LOCAL_SIZE + 20 + 5, end = start + 60;
  for (size_t at = start; at < end; at++) {
    bytes.data[at] ^= 0x40;
    hone_status_t status = read_all(NULL, bytes.data, bytes.size);
    refused += hone_status_code(status) == HONE_INVALID_DATA;
    hone_status_free(status);
    bytes.data[at] ^= 0x40;
  }
  assert_true(refused > (end - start) / 2);
  release(bytes);
}

static unsigned char* first_central(bytes_t bytes) {
  for (size_t at = 0; at + ZIP_CENTRAL_SIZE <= bytes.size; at++)
    if (zip_get((unsigned char*)bytes.data + at, 4) == ZIP_CENTRAL)
      return (unsigned char*)bytes.data + at;
  fail_msg("the sample has no list");
  return NULL;
}

static void lies_in_the_list_are_refused(void** state) {
  (void)state;
  static const struct {
    int offset, width;
    uint64_t value;
    hone_code_t code;
  } rows[] = {
      {8, 2, ZIP_ENCRYPTED, HONE_UNSUPPORTED}, /* flags */
      {10, 2, 12, HONE_UNSUPPORTED},           /* method: bzip2 */
      {10, 2, ZIP_STORED, HONE_INVALID_DATA},  /* method: sizes differ then */
      {24, 4, 0x7fffffff, HONE_INVALID_DATA},  /* a bomb */
      {20, 4, 0x7fffffff, HONE_INVALID_DATA},  /* packed bytes beyond the file */
      {28, 2, 0xffff, HONE_INVALID_DATA},      /* name beyond the file */
      {30, 2, 0xffff, HONE_INVALID_DATA},      /* extra field beyond the file */
      {42, 4, 0x7fffffff, HONE_INVALID_DATA},  /* place of the member */
      {42, 4, 1, HONE_INVALID_DATA},
      {46, 1, 0, HONE_INVALID_DATA},   /* a zero in the name */
      {46, 1, 'b', HONE_INVALID_DATA}, /* two arrays of one name */
      {0, 1, 0, HONE_INVALID_DATA},    /* signature */
  };
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    bytes_t bytes = read_sample(1);
    zip_put(first_central(bytes) + rows[i].offset, (size_t)rows[i].width, rows[i].value);
    hone_status_t status = read_all(NULL, bytes.data, bytes.size);
    if (hone_status_code(status) != rows[i].code) print_error("row %zu\n", i);
    assert_code(status, rows[i].code);
    release(bytes);
  }
}

static hone_tensor_t* number(int32_t value) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_I32, 0, NULL, &tensor));
  *(int32_t*)hone_tensor_data(tensor) = value;
  return tensor;
}

static void what_is_written_is_read_back(void** state) {
  (void)state;
  test_folder_t folder;
  test_folder_make(&folder);
  const char* path = test_folder_file(&folder, "a.npz");
  hone_tensor_t *tensors[] = {number(7), number(8)}, *back;
  const char* names[] = {"x", "layer/y:0"};
  hone_npz_t* npz;
  assert_ok(hone_npz_save_file(NULL, 2, names, tensors, path));
  assert_ok(hone_npz_open_file(NULL, path, &npz));
  assert_int_equal(hone_npz_count(npz), 2);
  assert_ok(hone_npz_read(npz, hone_npz_find(npz, "layer/y:0"), HONE_UNKNOWN, &back));
  assert_int_equal(*(int32_t*)hone_tensor_data(back), 8);
  hone_tensor_release(back);
  hone_npz_close(npz);
  assert_ok(hone_npz_save_file(NULL, 0, NULL, NULL, path));
  assert_ok(hone_npz_open_file(NULL, path, &npz));
  assert_int_equal(hone_npz_count(npz), 0);
  hone_npz_close(npz);
  names[1] = "x";
  assert_code(hone_npz_save_file(NULL, 2, names, tensors, test_folder_file(&folder, "b.npz")),
              HONE_INVALID_ARGUMENT);
  assert_int_equal(test_folder_entries(&folder), 1);
  hone_tensor_release(tensors[0]);
  hone_tensor_release(tensors[1]);
  test_folder_remove(&folder);
}

static hone_status_t read_body(const hone_allocator_t* allocator, void* context) {
  const bytes_t* bytes = context;
  return read_all(allocator, bytes->data, bytes->size);
}

static hone_status_t write_body(const hone_allocator_t* allocator, void* context) {
  const char* names[] = {"x"};
  hone_tensor_t* tensors[] = {context};
  return hone_npz_save_file(allocator, 1, names, tensors, "/dev/null");
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  bytes_t bytes = read_sample(1);
  assert_true(assert_survives_faults(read_body, &bytes) >= 5);
  release(bytes);
  hone_tensor_t* tensor = number(7);
  assert_true(assert_survives_faults(write_body, tensor) >= 3);
  hone_tensor_release(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(archives_of_numpy_are_read),
      cmocka_unit_test(an_archive_cut_off_anywhere_is_refused),
      cmocka_unit_test(damaged_elements_are_refused),
      cmocka_unit_test(damaged_packed_bytes_do_no_harm),
      cmocka_unit_test(lies_in_the_list_are_refused),
      cmocka_unit_test(what_is_written_is_read_back),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
