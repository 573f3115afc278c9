#include "picture_transform.h"

#include <string.h>

#include "base/testing/fault.h"

/* A gray picture of one row. */
static hone_picture_t row_of(int width, const char* pixels) {
  hone_picture_t picture;
  assert_ok(hone_picture_create(NULL, width, 1, 1, &picture));
  memcpy(picture.pixels, pixels, (size_t)width);
  return picture;
}

static void assert_row(hone_picture_t from, int width, hone_filter_t filter, const char* want) {
  hone_picture_t out;
  assert_ok(hone_picture_resize(&from, width, 1, filter, &out));
  assert_memory_equal(out.pixels, want, (size_t)width);
  hone_picture_free(&from);
  hone_picture_free(&out);
}

static void the_same_size_changes_nothing(void** state) {
  (void)state;
  assert_row(row_of(4, "\x00\x10\xff\x07"), 4, HONE_FILTER_BILINEAR, "\x00\x10\xff\x07");
  assert_row(row_of(4, "\x00\x10\xff\x07"), 4, HONE_FILTER_NEAREST, "\x00\x10\xff\x07");
}

/* Halving takes pixels by the weights 1 3 3 1 of 8; the border has 3 3 1 of 7. */
static void shrinking_mixes_all_pixels(void** state) {
  (void)state;
  assert_row(row_of(4, "\x00\x08\x10\x20"), 2, HONE_FILTER_BILINEAR, "\x06\x16");
  assert_row(row_of(6, "\x00\x00\x00\x50\x50\x50"), 3, HONE_FILTER_BILINEAR, "\x00\x28\x50");
}

/* Doubling takes a quarter of the neighbour. */
static void growing_blends_neighbours(void** state) {
  (void)state;
  assert_row(row_of(2, "\x00\x80"), 4, HONE_FILTER_BILINEAR, "\x00\x20\x60\x80");
}

static void nearest_mixes_nothing(void** state) {
  (void)state;
  assert_row(row_of(2, "\x00\x80"), 4, HONE_FILTER_NEAREST, "\x00\x00\x80\x80");
  assert_row(row_of(6, "\x01\x02\x03\x04\x05\x06"), 3, HONE_FILTER_NEAREST, "\x02\x04\x06");
}

static void both_axes_are_resized(void** state) {
  (void)state;
  hone_picture_t picture, out;
  assert_ok(hone_picture_create(NULL, 7, 5, 3, &picture));
  memset(picture.pixels, 200, 7 * 5 * 3);
  for (int width = 1; width < 20; width += 6)
    for (int height = 1; height < 20; height += 6) {
      assert_ok(hone_picture_resize(&picture, width, height, HONE_FILTER_BILINEAR, &out));
      for (int i = 0; i < width * height * 3; i++) assert_int_equal(out.pixels[i], 200);
      hone_picture_free(&out);
    }
  assert_code(hone_picture_resize(&picture, 0, 5, HONE_FILTER_BILINEAR, &out), HONE_INVALID_DATA);
  hone_picture_free(&picture);
}

static void the_shorter_side_decides(void** state) {
  (void)state;
  hone_picture_t picture;
  int width, height;
  assert_ok(hone_picture_create(NULL, 30, 20, 1, &picture));
  hone_picture_fit_shorter(&picture, 10, &width, &height);
  assert_int_equal(width, 15);
  assert_int_equal(height, 10);
  hone_picture_free(&picture);
}

static void a_crop_is_the_middle(void** state) {
  (void)state;
  hone_picture_t picture, out;
  assert_ok(hone_picture_create(NULL, 4, 3, 1, &picture));
  memcpy(picture.pixels, "abcdefghijkl", 12);
  assert_ok(hone_picture_crop(&picture, 2, 1, &out));
  assert_memory_equal(out.pixels, "fg", 2);
  hone_picture_free(&out);
  assert_code(hone_picture_crop(&picture, 5, 1, &out), HONE_INVALID_ARGUMENT);
  hone_picture_free(&picture);
}

static void gray_and_colour(void** state) {
  (void)state;
  hone_picture_t picture, gray, back;
  assert_ok(hone_picture_create(NULL, 3, 1, 3, &picture));
  memcpy(picture.pixels, "\xff\0\0\0\xff\0\x40\x40\x40", 9);
  assert_ok(hone_picture_set_channels(&picture, 1, &gray));
  assert_memory_equal(gray.pixels, "\x4c\x96\x40", 3); /* 0.299 and 0.587 of 255; gray stays */
  assert_ok(hone_picture_set_channels(&gray, 3, &back));
  assert_memory_equal(back.pixels, "\x4c\x4c\x4c\x96\x96\x96\x40\x40\x40", 9);
  hone_picture_free(&picture);
  hone_picture_free(&gray);
  hone_picture_free(&back);
}

static hone_status_t resize_body(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_picture_t picture, out;
  HONE_TRY(hone_picture_create(allocator, 4, 4, 1, &picture));
  hone_status_t status = hone_picture_resize(&picture, 3, 3, HONE_FILTER_BILINEAR, &out);
  hone_picture_free(&picture);
  if (!status) hone_picture_free(&out);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_true(assert_survives_faults(resize_body, NULL) >= 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_size_changes_nothing),
      cmocka_unit_test(shrinking_mixes_all_pixels),
      cmocka_unit_test(growing_blends_neighbours),
      cmocka_unit_test(nearest_mixes_nothing),
      cmocka_unit_test(both_axes_are_resized),
      cmocka_unit_test(the_shorter_side_decides),
      cmocka_unit_test(a_crop_is_the_middle),
      cmocka_unit_test(gray_and_colour),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
