#include "picture.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

/* A smooth ramp, which JPEG changes but little. */
static hone_picture_t ramp(int width, int height, int channels) {
  hone_picture_t picture;
  assert_ok(hone_picture_create(NULL, width, height, channels, &picture));
  for (int i = 0; i < width * height * channels; i++)
    picture.pixels[i] = (uint8_t)(i / channels * 200 / (width * height) + i % channels * 20);
  return picture;
}

static int largest_difference(const hone_picture_t* a, const hone_picture_t* b) {
  assert_int_equal(a->width, b->width);
  assert_int_equal(a->height, b->height);
  assert_int_equal(a->channels, b->channels);
  int largest = 0;
  for (int i = 0; i < a->width * a->height * a->channels; i++) {
    int difference = abs(a->pixels[i] - b->pixels[i]);
    if (difference > largest) largest = difference;
  }
  return largest;
}

static const struct {
  const char* name;
  int tolerance;
} formats[] = {{"a.png", 0}, {"a.ppm", 0}, {"a.jpg", 6}};

static void what_is_written_is_read_back(void** state) {
  (void)state;
  for (size_t f = 0; f < TEST_COUNT(formats); f++)
    for (int channels = 1; channels <= 3; channels += 2)
      for (int size = 1; size < 30; size += 14) {
        hone_picture_t picture = ramp(size, size + 3, channels), back;
        const char* path = test_folder_file(&folder, formats[f].name);
        assert_ok(hone_picture_write(&picture, path));
        assert_ok(hone_picture_read(NULL, path, &back));
        assert_true(largest_difference(&picture, &back) <= formats[f].tolerance);
        hone_picture_free(&picture);
        hone_picture_free(&back);
      }
}

static void a_file_cut_off_anywhere_is_refused(void** state) {
  (void)state;
  hone_picture_t picture = ramp(9, 7, 3), back;
  for (size_t f = 0; f < TEST_COUNT(formats); f++) {
    char* data;
    size_t size;
    const char* path = test_folder_file(&folder, formats[f].name);
    assert_ok(hone_picture_write(&picture, path));
    assert_ok(hone_file_read(NULL, path, 0, &data, &size));
    for (size_t cut = 0; cut < size; cut++) {
      hone_status_t status = hone_picture_read_memory(NULL, (uint8_t*)data, cut, &back);
      if (!status) print_error("%s cut to %zu of %zu bytes was read\n", path, cut, size);
      assert_non_null(status);
      assert_null(back.pixels);
      hone_status_free(status);
    }
    hone_free(NULL, data, size + 1);
  }
  hone_picture_free(&picture);
}

static void absurd_sizes_are_refused(void** state) {
  (void)state;
  hone_picture_t picture;
  assert_code(hone_picture_create(NULL, 0, 1, 3, &picture), HONE_INVALID_DATA);
  assert_code(hone_picture_create(NULL, 1, -1, 3, &picture), HONE_INVALID_DATA);
  assert_code(hone_picture_create(NULL, 1 << 17, 1, 3, &picture), HONE_INVALID_DATA);
  assert_code(hone_picture_create(NULL, 60000, 60000, 3, &picture), HONE_INVALID_DATA);
}

static hone_code_t pnm_code(const char* text, size_t size) {
  hone_picture_t picture;
  hone_status_t status = hone_picture_read_memory(NULL, (const uint8_t*)text, size, &picture);
  hone_code_t code = hone_status_code(status);
  hone_status_free(status);
  hone_picture_free(&picture);
  return code;
}

static void anymaps_are_read_by_their_header(void** state) {
  (void)state;
  hone_picture_t picture;
  const char text[] = "P5 # a comment\n2 # another\n1\n15\n\x0f\x07";
  assert_ok(hone_picture_read_memory(NULL, (const uint8_t*)text, sizeof text - 1, &picture));
  assert_int_equal(picture.width, 2);
  assert_int_equal(picture.channels, 1);
  assert_memory_equal(picture.pixels, "\xff\x77", 2);
  hone_picture_free(&picture);
  assert_int_equal(pnm_code("P5 2 1 15 a", 11), HONE_INVALID_DATA);
  assert_int_equal(pnm_code("P5 0 1 15 ", 10), HONE_INVALID_DATA);
  assert_int_equal(pnm_code("P5 99999999 99999999 15 ", 24), HONE_INVALID_DATA);
  assert_int_equal(pnm_code("P5 -1 1 15 aa", 13), HONE_INVALID_DATA);
  assert_int_equal(pnm_code("P5 1 1 65535 aa", 15), HONE_UNSUPPORTED);
  assert_int_equal(pnm_code("GIF89a", 6), HONE_INVALID_DATA);
}

static void a_failed_write_names_the_path_and_leaves_nothing(void** state) {
  (void)state;
  hone_picture_t picture = ramp(200, 200, 3);
  hone_status_t status = hone_picture_write(&picture, test_folder_file(&folder, "none/a.png"));
  assert_non_null(strstr(hone_status_message(status), "none/a.png"));
  assert_code(status, HONE_NOT_FOUND);
  assert_code(hone_picture_write(&picture, test_folder_file(&folder, "a.gif")),
              HONE_INVALID_ARGUMENT);
  assert_int_equal(test_folder_entries(&folder), 0);
  hone_picture_free(&picture);
}

static void a_full_disk_is_an_error(void** state) {
  (void)state;
  hone_picture_t picture = ramp(200, 200, 3);
  hone_status_t (*const encoders[])(const hone_picture_t*, hone_file_writer_t*) = {
      hone_png_write, hone_jpeg_write, hone_pnm_write};
  for (size_t i = 0; i < TEST_COUNT(encoders); i++) {
    hone_file_writer_t* writer;
    assert_ok(hone_file_writer_create(NULL, "/dev/full", &writer));
    assert_ok(encoders[i](&picture, writer));
    assert_code(hone_file_writer_commit(writer), HONE_IO);
  }
  hone_picture_free(&picture);
}

static hone_status_t read_body(const hone_allocator_t* allocator, void* context) {
  hone_picture_t picture;
  HONE_TRY(hone_picture_read(allocator, context, &picture));
  hone_picture_free(&picture);
  return NULL;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  hone_picture_t picture = ramp(5, 5, 3);
  for (size_t f = 0; f < TEST_COUNT(formats); f++) {
    char* path = strdup(test_folder_file(&folder, formats[f].name));
    assert_ok(hone_picture_write(&picture, path));
    assert_true(assert_survives_faults(read_body, path) >= 1);
    free(path);
  }
  hone_picture_free(&picture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_is_written_is_read_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_file_cut_off_anywhere_is_refused, set_up, tear_down),
      cmocka_unit_test(absurd_sizes_are_refused),
      cmocka_unit_test(anymaps_are_read_by_their_header),
      cmocka_unit_test_setup_teardown(a_failed_write_names_the_path_and_leaves_nothing, set_up,
                                      tear_down),
      cmocka_unit_test(a_full_disk_is_an_error),
      cmocka_unit_test_setup_teardown(survives_running_out_of_memory, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
