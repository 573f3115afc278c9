/* PNG through libpng. Its errors jump back to the setjmp of the call that met
 * them; all that is then needed lies in the state, none of it in locals. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "picture.h"

typedef struct png_state {
  png_structp png;
  png_infop info;
  char message[160];
  const uint8_t* data; /* reading */
  size_t size, at;
  hone_file_writer_t* writer; /* writing */
  const hone_allocator_t* allocator;
  hone_picture_t picture;
  png_bytep* rows; /* picture.height of them */
} png_state_t;

static void on_error(png_structp png, png_const_charp text) {
  png_state_t* state = png_get_error_ptr(png);
  snprintf(state->message, sizeof state->message, "%s", text);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
  (void)png;
  (void)text;
}

static hone_status_t point_at_rows(png_state_t* state) {
  size_t row_bytes = (size_t)state->picture.width * (size_t)state->picture.channels;
  state->rows = hone_alloc(state->allocator, (size_t)state->picture.height * sizeof *state->rows);
  if (!state->rows) return hone_oom();
  for (int y = 0; y < state->picture.height; y++)
    state->rows[y] = state->picture.pixels + (size_t)y * row_bytes;
  return NULL;
}

static void free_rows(png_state_t* state) {
  hone_free(state->allocator, state->rows, (size_t)state->picture.height * sizeof *state->rows);
}

/* ---- reading ---- */

static void source_read(png_structp png, png_bytep out, size_t size) {
  png_state_t* state = png_get_io_ptr(png);
  if (size > state->size - state->at) png_error(png, "the file is cut off");
  memcpy(out, state->data + state->at, size);
  state->at += size;
}

/* Has all kinds of PNG come out as 8 bits gray or RGB. */
static void ask_for_plain_pixels(png_structp png) {
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
}

static hone_status_t decode(png_state_t* state) {
  if (setjmp(png_jmpbuf(state->png)))
    return hone_status_make(HONE_INVALID_DATA, "PNG: %s", state->message);
  png_set_read_fn(state->png, state, source_read);
  png_read_info(state->png, state->info);
  ask_for_plain_pixels(state->png);
  png_read_update_info(state->png, state->info);
  png_uint_32 width = png_get_image_width(state->png, state->info);
  png_uint_32 height = png_get_image_height(state->png, state->info);
  HONE_TRY(hone_picture_create(state->allocator, (int)width, (int)height,
                               png_get_channels(state->png, state->info), &state->picture));
  HONE_TRY(point_at_rows(state));
  png_read_image(state->png, state->rows);
  png_read_end(state->png, NULL);
  return NULL;
}

hone_status_t hone_png_read(const hone_allocator_t* allocator, const uint8_t* data, size_t size,
                            hone_picture_t* out_picture) {
  png_state_t state = {.allocator = allocator, .data = data, .size = size};
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
  state.info = state.png ? png_create_info_struct(state.png) : NULL;
  hone_status_t status = state.info ? decode(&state) : hone_oom();
  png_destroy_read_struct(&state.png, &state.info, NULL);
  free_rows(&state);
  if (status) hone_picture_free(&state.picture);
  *out_picture = state.picture;
  return status;
}

/* ---- writing ---- */

static void target_write(png_structp png, png_bytep data, size_t size) {
  png_state_t* state = png_get_io_ptr(png);
  hone_file_writer_write(state->writer, data, size);
}

static void target_flush(png_structp png) { (void)png; }

static hone_status_t encode(png_state_t* state) {
  if (setjmp(png_jmpbuf(state->png)))
    return hone_status_make(HONE_INVALID_ARGUMENT, "PNG: %s", state->message);
  HONE_TRY(point_at_rows(state));
  png_set_write_fn(state->png, state, target_write, target_flush);
  png_set_IHDR(state->png, state->info, (png_uint_32)state->picture.width,
               (png_uint_32)state->picture.height, 8,
               state->picture.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(state->png, state->info);
  png_write_image(state->png, state->rows);
  png_write_end(state->png, NULL);
  return NULL;
}

hone_status_t hone_png_write(const hone_picture_t* picture, hone_file_writer_t* writer) {
  png_state_t state = {.allocator = picture->allocator, .writer = writer, .picture = *picture};
  state.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
  state.info = state.png ? png_create_info_struct(state.png) : NULL;
  hone_status_t status = state.info ? encode(&state) : hone_oom();
  png_destroy_write_struct(&state.png, &state.info);
  free_rows(&state);
  return status;
}
