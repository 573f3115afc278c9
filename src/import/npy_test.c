#include "import/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"

/* A .npy file of version 1 put together from its parts. */
typedef struct file {
  char bytes[1024];
  size_t size;
} file_t;

static file_t file_of(const char* dictionary, const void* body, size_t body_size) {
  file_t file = {0};
  size_t length = strlen(dictionary);
  memcpy(file.bytes, "\x93NUMPY\1\0", 8);
  file.bytes[8] = (char)length;
  memcpy(file.bytes + 10, dictionary, length);
  if (body_size) memcpy(file.bytes + 10 + length, body, body_size);
  file.size = 10 + length + body_size;
  return file;
}

static hone_status_t load(const file_t* file, hone_dtype_t void_as, hone_tensor_t** out) {
  return hone_npy_load_memory(NULL, file->bytes, file->size, void_as, out);
}

static hone_tensor_t* load_ok(const char* dictionary, const void* body, size_t body_size) {
  file_t file = file_of(dictionary, body, body_size);
  hone_tensor_t* tensor = NULL;
  assert_ok(load(&file, HONE_UNKNOWN, &tensor));
  return tensor;
}

static hone_code_t load_code(const char* dictionary, const void* body, size_t body_size) {
  file_t file = file_of(dictionary, body, body_size);
  hone_tensor_t* tensor = NULL;
  hone_status_t status = load(&file, HONE_UNKNOWN, &tensor);
  hone_code_t code = hone_status_code(status);
  assert_true((tensor == NULL) == (status != NULL));
  hone_status_free(status);
  hone_tensor_release(tensor);
  return code;
}

static void every_numeric_type_is_read(void** state) {
  (void)state;
  static const struct {
    const char* descr;
    size_t size;
    hone_dtype_t dtype;
  } rows[] = {{"|b1", 1, HONE_BOOL}, {"|i1", 1, HONE_I8},    {"<i2", 2, HONE_I16},
              {"<i4", 4, HONE_I32},  {"<i8", 8, HONE_I64},   {"|u1", 1, HONE_U8},
              {"<u2", 2, HONE_U16},  {"<u4", 4, HONE_U32},   {"<u8", 8, HONE_U64},
              {"<f2", 2, HONE_F16},  {"<f4", 4, HONE_F32},   {"<f8", 8, HONE_F64},
              {"<c8", 8, HONE_C64},  {"<c16", 16, HONE_C128}};
  static const unsigned char body[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    char dictionary[100];
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }\n", rows[i].descr);
    hone_tensor_t* tensor = load_ok(dictionary, body, rows[i].size);
    assert_int_equal(hone_tensor_dtype(tensor), rows[i].dtype);
    assert_int_equal(hone_tensor_count(tensor), 1);
    if (i) assert_memory_equal(hone_tensor_data(tensor), body, rows[i].size);
    hone_tensor_release(tensor);
  }
}

static void booleans_become_0_or_1(void** state) {
  (void)state;
  hone_tensor_t* tensor =
      load_ok("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\0\1\377", 3);
  assert_memory_equal(hone_tensor_data(tensor), "\0\1\1", 3);
  hone_tensor_release(tensor);
}

static void big_endian_numbers_are_turned_round(void** state) {
  (void)state;
  hone_tensor_t* tensor =
      load_ok("{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}", "\0\0\1\2\0\0\0\3", 8);
  const int32_t* values = hone_tensor_data(tensor);
  assert_int_equal(values[0], 258);
  assert_int_equal(values[1], 3);
  hone_tensor_release(tensor);
  tensor = load_ok("{'descr': '>c8', 'fortran_order': False, 'shape': ()}",
                   "\x3f\x80\0\0\x40\0\0\0", 8); /* 1 + 2i */
  const float* complex = hone_tensor_data(tensor);
  assert_true(complex[0] == 1 && complex[1] == 2);
  hone_tensor_release(tensor);
}

static void fortran_order_is_transposed(void** state) {
  (void)state;
  hone_tensor_t* tensor =
      load_ok("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", "\1\4\2\5\3\6", 6);
  assert_int_equal(hone_tensor_rank(tensor), 2);
  assert_memory_equal(hone_tensor_data(tensor), "\1\2\3\4\5\6", 6);
  hone_tensor_release(tensor);
}

static void assert_string(const hone_tensor_t* tensor, int index, const char* want) {
  const hone_string_t* string = (const hone_string_t*)hone_tensor_data(tensor) + index;
  assert_int_equal(string->size, strlen(want));
  if (string->size) assert_memory_equal(string->data, want, string->size);
}

static void texts_become_utf8(void** state) {
  (void)state;
  hone_tensor_t* tensor = load_ok("{'descr': '<U2', 'fortran_order': False, 'shape': (2,)}",
                                  "a\0\0\0\0\0\0\0\xe9\0\0\0\x00\xf6\1\0", 16);
  assert_string(tensor, 0, "a");
  assert_string(tensor, 1, "\xc3\xa9\xf0\x9f\x98\x80");
  hone_tensor_release(tensor);
  tensor = load_ok("{'descr': '>U1', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\xe9", 4);
  assert_string(tensor, 0, "\xc3\xa9");
  hone_tensor_release(tensor);
  tensor = load_ok("{'descr': '|S3', 'fortran_order': True, 'shape': (3,)}", "ab\0\0\0\0x\0y", 9);
  assert_string(tensor, 0, "ab");
  assert_string(tensor, 1, "");
  assert_int_equal(((const hone_string_t*)hone_tensor_data(tensor))[2].size, 3);
  hone_tensor_release(tensor);
}

static void raw_bytes_need_to_be_told_their_type(void** state) {
  (void)state;
  const char* dictionary = "{'descr': '<V2', 'fortran_order': False, 'shape': (1,)}";
  file_t file = file_of(dictionary, "\x80\x3f", 2);
  hone_tensor_t* tensor;
  assert_int_equal(load_code(dictionary, "\x80\x3f", 2), HONE_UNSUPPORTED);
  assert_code(load(&file, HONE_F32, &tensor), HONE_UNSUPPORTED);
  assert_code(load(&file, HONE_STRING, &tensor), HONE_UNSUPPORTED);
  assert_ok(load(&file, HONE_BF16, &tensor));
  assert_int_equal(hone_tensor_dtype(tensor), HONE_BF16);
  hone_tensor_release(tensor);
  file = file_of("{'descr': '<f1', 'fortran_order': False, 'shape': (1,)}", "\x3f", 1);
  assert_code(load(&file, HONE_UNKNOWN, &tensor), HONE_UNSUPPORTED);
  assert_ok(load(&file, HONE_F8E5M2, &tensor));
  hone_tensor_release(tensor);
}

static void small_integers_keep_their_sign(void** state) {
  (void)state;
  file_t file = file_of("{'descr': '|V1', 'fortran_order': False, 'shape': (2,)}", "\x0f\xf7", 2);
  hone_tensor_t* tensor;
  assert_ok(load(&file, HONE_I4, &tensor));
  assert_memory_equal(hone_tensor_data(tensor), "\xff\x07", 2);
  hone_tensor_release(tensor);
  assert_ok(load(&file, HONE_U4, &tensor));
  assert_memory_equal(hone_tensor_data(tensor), "\x0f\x07", 2);
  hone_tensor_release(tensor);
}

static void odd_but_right_headers_are_read(void** state) {
  (void)state;
  static const char* const rows[] = {
      "{\"shape\":(1,1),\"descr\":\"|u1\",\"fortran_order\":False}",
      "{'descr': '|u1', 'fortran_order': True, 'shape': (1L, 1L), }     \n",
      "{ 'fortran_order' : False , 'descr' : '=u1' , 'shape' : ( 1 , 1 , ) , }",
  };
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    hone_tensor_t* tensor = load_ok(rows[i], "\7", 1);
    assert_int_equal(hone_tensor_rank(tensor), 2);
    hone_tensor_release(tensor);
  }
}

static void wrong_headers_are_refused(void** state) {
  (void)state;
  static const struct {
    const char* dictionary;
    hone_code_t code;
  } rows[] = {
      {"", HONE_INVALID_DATA},
      {"{}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,)", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (0,)}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1 1)}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,,)}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': 1}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'descr': '|u1', 'shape': (1,)}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'x': 1}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False 'shape': (1,)}", HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
       HONE_INVALID_DATA},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
       HONE_INVALID_DATA},
      {"{'descr': '<U0', 'fortran_order': False, 'shape': (99999999,)}", HONE_INVALID_DATA},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", HONE_UNSUPPORTED},
      {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}", HONE_UNSUPPORTED},
      {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", HONE_UNSUPPORTED},
      {"{'descr': '<f0', 'fortran_order': False, 'shape': (1,)}", HONE_UNSUPPORTED},
      {"{'descr': 'f4', 'fortran_order': False, 'shape': (1,)}", HONE_UNSUPPORTED},
      {"{'descr': '', 'fortran_order': False, 'shape': (1,)}", HONE_UNSUPPORTED},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", HONE_UNSUPPORTED},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': "
       "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
       HONE_UNSUPPORTED},
  };
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    hone_code_t code = load_code(rows[i].dictionary, "\7", 1);
    if (code != rows[i].code) print_error("%s\n", rows[i].dictionary);
    assert_int_equal(code, rows[i].code);
  }
  assert_int_equal(
      load_code("{'descr': '<U1', 'fortran_order': False, 'shape': ()}", "\0\xd8\0\0", 4),
      HONE_INVALID_DATA);
}

static void a_file_cut_off_anywhere_is_refused(void** state) {
  (void)state;
  file_t file = file_of("{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}", "abcd", 4);
  for (size_t size = 0; size < file.size; size++) {
    hone_tensor_t* tensor;
    assert_code(hone_npy_load_memory(NULL, file.bytes, size, HONE_UNKNOWN, &tensor),
                HONE_INVALID_DATA);
    assert_null(tensor);
  }
}

static void versions_2_and_3_have_a_longer_length(void** state) {
  (void)state;
  file_t file = file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", "\7", 1);
  memmove(file.bytes + 12, file.bytes + 10, file.size - 10);
  memset(file.bytes + 10, 0, 2);
  file.size += 2;
  for (char version = 1; version < 5; version++) {
    file.bytes[6] = version;
    hone_tensor_t* tensor;
    if (version == 2 || version == 3)
      assert_ok(load(&file, HONE_UNKNOWN, &tensor));
    else
      assert_code(load(&file, HONE_UNKNOWN, &tensor),
                  version == 1 ? HONE_INVALID_DATA : HONE_UNSUPPORTED);
    hone_tensor_release(tensor);
  }
}

/* ---- writing ---- */

static hone_tensor_t* strings_of(const char* a, const char* b) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, HONE_STRING, 1, (int64_t[]){2}, &tensor));
  assert_ok(hone_tensor_set_string(tensor, 0, a, strlen(a)));
  assert_ok(hone_tensor_set_string(tensor, 1, b, strlen(b)));
  return tensor;
}

static void what_is_written_is_read_back(void** state) {
  (void)state;
  test_folder_t folder;
  test_folder_make(&folder);
  const char* path = test_folder_file(&folder, "a.npy");
  for (int number = 1; number < HONE_DTYPE_COUNT; number++) {
    hone_dtype_t dtype = (hone_dtype_t)number;
    hone_tensor_t *tensor, *back;
    if (dtype == HONE_STRING) continue;
    assert_ok(hone_tensor_create(NULL, dtype, 3, (int64_t[]){2, 1, 3}, &tensor));
    for (size_t i = 0; i < hone_tensor_bytes(tensor); i++)
      ((char*)hone_tensor_data(tensor))[i] = (char)(i % 2);
    assert_ok(hone_npy_save_file(NULL, tensor, path));
    assert_ok(hone_npy_load_file(NULL, path, dtype, &back));
    assert_int_equal(hone_tensor_dtype(back), dtype);
    assert_int_equal(hone_tensor_rank(back), 3);
    assert_memory_equal(hone_tensor_data(back), hone_tensor_data(tensor),
                        hone_tensor_bytes(tensor));
    hone_tensor_release(tensor);
    hone_tensor_release(back);
  }
  hone_tensor_t *texts = strings_of("", "h\xc3\xa9llo"), *back;
  assert_ok(hone_npy_save_file(NULL, texts, path));
  assert_ok(hone_npy_load_file(NULL, path, HONE_UNKNOWN, &back));
  assert_string(back, 0, "");
  assert_string(back, 1, "h\xc3\xa9llo");
  hone_tensor_release(texts);
  hone_tensor_release(back);
  test_folder_remove(&folder);
}

static void the_header_is_what_numpy_writes(void** state) {
  (void)state;
  hone_tensor_t* tensor;
  hone_npy_image_t image;
  assert_ok(hone_tensor_create(NULL, HONE_F32, 1, (int64_t[]){3}, &tensor));
  assert_ok(hone_npy_image_make(NULL, tensor, &image));
  assert_int_equal(image.header_size, 128);
  assert_memory_equal(
      image.header, "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
      66);
  assert_int_equal(image.header[127], '\n');
  assert_ptr_equal(image.body, hone_tensor_data(tensor));
  hone_npy_image_free(&image);
  hone_tensor_release(tensor);
}

static void what_the_format_cannot_hold_is_refused(void** state) {
  (void)state;
  hone_npy_image_t image;
  hone_tensor_t *bad = strings_of("ok", "\xff"), *none, *zero;
  assert_code(hone_npy_image_make(NULL, bad, &image), HONE_UNSUPPORTED);
  hone_tensor_release(bad);
  assert_ok(hone_none_create(NULL, &none));
  assert_code(hone_npy_image_make(NULL, none, &image), HONE_UNSUPPORTED);
  hone_tensor_release(none);
  assert_ok(hone_tensor_create(NULL, HONE_STRING, 0, NULL, &zero));
  assert_ok(hone_tensor_set_string(zero, 0, "a\0", 2));
  assert_code(hone_npy_image_make(NULL, zero, &image), HONE_UNSUPPORTED);
  hone_tensor_release(zero);
}

static hone_status_t there_and_back(const hone_allocator_t* allocator, void* context) {
  const file_t* file = context;
  hone_tensor_t* tensor;
  hone_npy_image_t image;
  HONE_TRY(hone_npy_load_memory(allocator, file->bytes, file->size, HONE_UNKNOWN, &tensor));
  hone_status_t status = hone_npy_image_make(allocator, tensor, &image);
  hone_npy_image_free(&image);
  hone_tensor_release(tensor);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  file_t texts =
      file_of("{'descr': '<U1', 'fortran_order': True, 'shape': (2, 1)}", "a\0\0\0b\0\0\0", 8);
  assert_true(assert_survives_faults(there_and_back, &texts) >= 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_numeric_type_is_read),
      cmocka_unit_test(booleans_become_0_or_1),
      cmocka_unit_test(big_endian_numbers_are_turned_round),
      cmocka_unit_test(fortran_order_is_transposed),
      cmocka_unit_test(texts_become_utf8),
      cmocka_unit_test(raw_bytes_need_to_be_told_their_type),
      cmocka_unit_test(small_integers_keep_their_sign),
      cmocka_unit_test(odd_but_right_headers_are_read),
      cmocka_unit_test(wrong_headers_are_refused),
      cmocka_unit_test(a_file_cut_off_anywhere_is_refused),
      cmocka_unit_test(versions_2_and_3_have_a_longer_length),
      cmocka_unit_test(what_is_written_is_read_back),
      cmocka_unit_test(the_header_is_what_numpy_writes),
      cmocka_unit_test(what_the_format_cannot_hold_is_refused),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
