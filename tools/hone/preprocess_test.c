#include "preprocess.h"

#include <string.h>

#include "base/testing/fault.h"

static void words_are_understood(void** state) {
  (void)state;
  hone_preprocess_t steps;
  assert_ok(hone_preprocess_parse(
      "resize=320x200,crop=224,scale=1/4,mean=0.5,std=1/2/3,layout=nhwc,channels=bgr,"
      "filter=nearest",
      &steps));
  assert_int_equal(steps.resize_width, 320);
  assert_int_equal(steps.resize_height, 200);
  assert_int_equal(steps.crop_width, 224);
  assert_int_equal(steps.crop_height, 224);
  assert_true(steps.scale == 0.25);
  assert_true(steps.mean[0] == 0.5 && steps.mean[2] == 0.5);
  assert_true(steps.std[0] == 1 && steps.std[2] == 3);
  assert_int_equal(steps.layout, HONE_LAYOUT_NHWC);
  assert_int_equal(steps.channels, HONE_CHANNELS_BGR);
  assert_int_equal(steps.filter, HONE_FILTER_NEAREST);
  assert_ok(hone_preprocess_parse("resize=256", &steps));
  assert_int_equal(steps.resize_width, 256);
  assert_int_equal(steps.resize_height, 0);
  assert_ok(hone_preprocess_parse(NULL, &steps));
  assert_true(steps.scale == 1 && steps.std[1] == 1 && steps.mean[1] == 0);
}

static void wrong_words_are_refused(void** state) {
  (void)state;
  static const char* const rows[] = {
      "resize",      "resize=",       "resize=0",     "resize=-4", "resize=3x",    "resize=3x0",
      "resize=9x9x", "resize=999999", "crop=a",       "scale=0",   "scale=1/0",    "scale=1/2/3",
      "scale=x",     "scale=nan",     "mean=",        "mean=1/2",  "mean=1/2/3/4", "std=0",
      "std=1/0/1",   "layout=ncwh",   "channels=yuv", "filter=no", "size=4",       "scale=1,,",
      "=",           "scale=inf",
  };
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    hone_preprocess_t steps;
    hone_status_t status = hone_preprocess_parse(rows[i], &steps);
    if (!status) print_error("'%s' was taken\n", rows[i]);
    assert_code(status, HONE_INVALID_ARGUMENT);
  }
}

/* Two pixels side by side: (1, 2, 3) and (4, 5, 6). */
static hone_picture_t two_pixels(void) {
  hone_picture_t picture;
  assert_ok(hone_picture_create(NULL, 2, 1, 3, &picture));
  memcpy(picture.pixels, "\1\2\3\4\5\6", 6);
  return picture;
}

static hone_tensor_t* apply(const char* words, hone_value_want_t want) {
  hone_preprocess_t steps;
  hone_picture_t picture = two_pixels();
  hone_tensor_t* tensor = NULL;
  assert_ok(hone_preprocess_parse(words, &steps));
  assert_ok(hone_preprocess_apply(&steps, &picture, &want, &tensor));
  hone_picture_free(&picture);
  return tensor;
}

static void assert_floats(hone_tensor_t* tensor, int rank, const int64_t* dims,
                          const float* values) {
  assert_int_equal(hone_tensor_dtype(tensor), HONE_F32);
  assert_int_equal(hone_tensor_rank(tensor), rank);
  assert_memory_equal(hone_tensor_dims(tensor), dims, (size_t)rank * sizeof *dims);
  assert_memory_equal(hone_tensor_data(tensor), values, hone_tensor_bytes(tensor));
  hone_tensor_release(tensor);
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define FLOATS(...) ((const float[]){__VA_ARGS__})

static void layouts_put_channels_in_their_place(void** state) {
  (void)state;
  const hone_value_want_t any = {.dtype = HONE_F32, .rank = -1};
  assert_floats(apply("", any), 4, DIMS(1, 3, 1, 2), FLOATS(1, 4, 2, 5, 3, 6));
  assert_floats(apply("layout=nhwc", any), 4, DIMS(1, 1, 2, 3), FLOATS(1, 2, 3, 4, 5, 6));
  assert_floats(apply("layout=chw,channels=bgr", any), 3, DIMS(3, 1, 2), FLOATS(3, 6, 2, 5, 1, 4));
  assert_floats(apply("layout=hwc", any), 3, DIMS(1, 2, 3), FLOATS(1, 2, 3, 4, 5, 6));
  assert_floats(apply("layout=hw", any), 2, DIMS(1, 2), FLOATS(2, 5));
}

static void the_model_decides_what_is_not_said(void** state) {
  (void)state;
  assert_floats(apply("", (hone_value_want_t){.dtype = HONE_F32, .rank = 4, .dims = {1, 8, 8, 3}}),
                4, DIMS(1, 1, 2, 3), FLOATS(1, 2, 3, 4, 5, 6));
  assert_floats(apply("", (hone_value_want_t){.dtype = HONE_F32, .rank = 4, .dims = {-1, 3, 8, 3}}),
                4, DIMS(1, 3, 1, 2), FLOATS(1, 4, 2, 5, 3, 6));
  assert_floats(
      apply("", (hone_value_want_t){.dtype = HONE_F32, .rank = 4, .dims = {1, 1, -1, -1}}), 4,
      DIMS(1, 1, 1, 2), FLOATS(2, 5));
  assert_floats(apply("", (hone_value_want_t){.dtype = HONE_F32, .rank = 3, .dims = {-1, -1, 3}}),
                3, DIMS(1, 2, 3), FLOATS(1, 2, 3, 4, 5, 6));
}

static void values_are_scaled_then_shifted(void** state) {
  (void)state;
  const hone_value_want_t any = {.dtype = HONE_F32, .rank = -1};
  assert_floats(apply("scale=1/2,mean=1/2/3,std=2/4/8", any), 4, DIMS(1, 3, 1, 2),
                FLOATS(-0.25f, 0.5f, -0.25f, 0.125f, -0.1875f, 0));
}

static void integers_take_the_nearest_value(void** state) {
  (void)state;
  hone_tensor_t* tensor =
      apply("scale=100,layout=hwc", (hone_value_want_t){.dtype = HONE_U8, .rank = -1});
  assert_memory_equal(hone_tensor_data(tensor), "\x64\xc8\xff\xff\xff\xff", 6);
  hone_tensor_release(tensor);
  tensor = apply("mean=3.6,layout=hwc", (hone_value_want_t){.dtype = HONE_I8, .rank = -1});
  assert_memory_equal(hone_tensor_data(tensor), "\xfd\xfe\xff\0\1\2", 6);
  hone_tensor_release(tensor);
}

static void the_way_back_gives_the_picture(void** state) {
  (void)state;
  static const char* const rows[] = {"", "layout=nhwc", "layout=hwc,channels=bgr",
                                     "scale=1/255,mean=0.4/0.5/0.6,std=0.2/0.3/0.1",
                                     "layout=chw,scale=2"};
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    hone_preprocess_t steps;
    hone_picture_t back;
    hone_tensor_t* tensor = apply(rows[i], (hone_value_want_t){.dtype = HONE_F32, .rank = -1});
    assert_ok(hone_preprocess_parse(rows[i], &steps));
    assert_ok(hone_preprocess_undo(NULL, &steps, tensor, &back));
    assert_int_equal(back.width, 2);
    assert_int_equal(back.channels, 3);
    assert_memory_equal(back.pixels, "\1\2\3\4\5\6", 6);
    hone_picture_free(&back);
    hone_tensor_release(tensor);
  }
}

static void values_outside_are_held_to_a_pixel(void** state) {
  (void)state;
  hone_tensor_t* tensor;
  hone_picture_t picture;
  const hone_preprocess_t steps = hone_preprocess_default();
  assert_ok(hone_tensor_create(NULL, HONE_F32, 2, (int64_t[]){1, 4}, &tensor));
  memcpy(hone_tensor_data(tensor), FLOATS(-5, 0.5f, 1e9f, __builtin_nanf("")), 16);
  assert_ok(hone_preprocess_undo(NULL, &steps, tensor, &picture));
  assert_memory_equal(picture.pixels, "\0\1\xff\0", 4);
  hone_picture_free(&picture);
  hone_tensor_release(tensor);
}

static void what_is_no_picture_is_refused(void** state) {
  (void)state;
  static const struct {
    int rank;
    int64_t dims[4];
  } rows[] = {{0, {0}}, {1, {4}}, {3, {2, 4, 4}}, {4, {2, 3, 4, 4}}, {4, {1, 3, 0, 4}}};
  const hone_preprocess_t steps = hone_preprocess_default();
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    hone_tensor_t* tensor;
    hone_picture_t picture;
    assert_ok(hone_tensor_create(NULL, HONE_F32, rows[i].rank, rows[i].dims, &tensor));
    hone_status_t status = hone_preprocess_undo(NULL, &steps, tensor, &picture);
    assert_non_null(status);
    hone_status_free(status);
    hone_tensor_release(tensor);
  }
  hone_picture_t picture = two_pixels();
  hone_tensor_t* tensor;
  hone_value_want_t strings = {.dtype = HONE_STRING, .rank = -1};
  assert_code(hone_preprocess_apply(&steps, &picture, &strings, &tensor), HONE_INVALID_ARGUMENT);
  hone_picture_free(&picture);
}

static hone_status_t apply_body(const hone_allocator_t* allocator, void* context) {
  const hone_preprocess_t* steps = context;
  const hone_value_want_t any = {.dtype = HONE_F32, .rank = -1};
  hone_picture_t picture;
  hone_tensor_t* tensor;
  HONE_TRY(hone_picture_create(allocator, 6, 6, 3, &picture));
  hone_status_t status = hone_preprocess_apply(steps, &picture, &any, &tensor);
  hone_picture_free(&picture);
  if (!status) hone_tensor_release(tensor);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  hone_preprocess_t steps;
  assert_ok(hone_preprocess_parse("resize=4,crop=2,channels=gray", &steps));
  assert_true(assert_survives_faults(apply_body, &steps) >= 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_understood),
      cmocka_unit_test(wrong_words_are_refused),
      cmocka_unit_test(layouts_put_channels_in_their_place),
      cmocka_unit_test(the_model_decides_what_is_not_said),
      cmocka_unit_test(values_are_scaled_then_shifted),
      cmocka_unit_test(integers_take_the_nearest_value),
      cmocka_unit_test(the_way_back_gives_the_picture),
      cmocka_unit_test(values_outside_are_held_to_a_pixel),
      cmocka_unit_test(what_is_no_picture_is_refused),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
