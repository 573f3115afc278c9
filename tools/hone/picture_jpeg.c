/* JPEG through libjpeg. Its errors jump back to the setjmp of the call that
 * met them; all that is then needed lies in the state, none of it in locals. */
/* clang-format off */
#include <stdio.h> /* jpeglib.h needs it */
#include <jpeglib.h>
#include <jerror.h>
/* clang-format on */
#include <setjmp.h>

#include "base/memory.h"
#include "picture.h"

enum { QUALITY = 95, BUFFER_SIZE = 4096 };

typedef struct jpeg_errors {
  struct jpeg_error_mgr base; /* must be first */
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
} jpeg_errors_t;

static void on_error(j_common_ptr common) {
  jpeg_errors_t* errors = (jpeg_errors_t*)common->err;
  common->err->format_message(common, errors->message);
  longjmp(errors->jump, 1);
}

/* Of the warnings only those matter which say that pixels are missing. */
static void on_message(j_common_ptr common, int level) {
  int code = common->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) on_error(common);
}

static struct jpeg_error_mgr* catch_errors(jpeg_errors_t* errors) {
  jpeg_std_error(&errors->base);
  errors->base.error_exit = on_error;
  errors->base.emit_message = on_message;
  return &errors->base;
}

/* ---- reading ---- */

typedef struct decoder {
  struct jpeg_decompress_struct jpeg;
  jpeg_errors_t errors;
  const hone_allocator_t* allocator;
  hone_picture_t picture;
} decoder_t;

static hone_status_t decode_header(decoder_t* decoder, const uint8_t* data, size_t size) {
  struct jpeg_decompress_struct* jpeg = &decoder->jpeg;
  jpeg_create_decompress(jpeg);
  jpeg_mem_src(jpeg, data, (unsigned long)size);
  jpeg_read_header(jpeg, TRUE);
  bool gray = jpeg->jpeg_color_space == JCS_GRAYSCALE;
  jpeg->out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(jpeg);
  return hone_picture_create(decoder->allocator, (int)jpeg->output_width, (int)jpeg->output_height,
                             gray ? 1 : 3, &decoder->picture);
}

static hone_status_t decode(decoder_t* decoder, const uint8_t* data, size_t size) {
  if (setjmp(decoder->errors.jump))
    return hone_status_make(HONE_INVALID_DATA, "JPEG: %s", decoder->errors.message);
  HONE_TRY(decode_header(decoder, data, size));
  struct jpeg_decompress_struct* jpeg = &decoder->jpeg;
  size_t row_bytes = (size_t)decoder->picture.width * (size_t)decoder->picture.channels;
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = decoder->picture.pixels + jpeg->output_scanline * row_bytes;
    jpeg_read_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_decompress(jpeg);
  return NULL;
}

hone_status_t hone_jpeg_read(const hone_allocator_t* allocator, const uint8_t* data, size_t size,
                             hone_picture_t* out_picture) {
  decoder_t decoder = {.allocator = allocator};
  decoder.jpeg.err = catch_errors(&decoder.errors);
  hone_status_t status = decode(&decoder, data, size);
  jpeg_destroy_decompress(&decoder.jpeg);
  if (status) hone_picture_free(&decoder.picture);
  *out_picture = decoder.picture;
  return status;
}

/* ---- writing ---- */

typedef struct encoder {
  struct jpeg_compress_struct jpeg;
  struct jpeg_destination_mgr target;
  jpeg_errors_t errors;
  hone_file_writer_t* writer;
  JOCTET buffer[BUFFER_SIZE];
} encoder_t;

static void target_start(j_compress_ptr jpeg) {
  encoder_t* encoder = jpeg->client_data;
  jpeg->dest->next_output_byte = encoder->buffer;
  jpeg->dest->free_in_buffer = BUFFER_SIZE;
}

/* The buffer is full, whatever the counters say. */
static boolean target_empty(j_compress_ptr jpeg) {
  encoder_t* encoder = jpeg->client_data;
  hone_file_writer_write(encoder->writer, encoder->buffer, BUFFER_SIZE);
  target_start(jpeg);
  return TRUE;
}

static void target_end(j_compress_ptr jpeg) {
  encoder_t* encoder = jpeg->client_data;
  hone_file_writer_write(encoder->writer, encoder->buffer,
                         BUFFER_SIZE - jpeg->dest->free_in_buffer);
}

static void start_encoding(encoder_t* encoder, const hone_picture_t* picture) {
  struct jpeg_compress_struct* jpeg = &encoder->jpeg;
  jpeg_create_compress(jpeg);
  encoder->target = (struct jpeg_destination_mgr){.init_destination = target_start,
                                                  .empty_output_buffer = target_empty,
                                                  .term_destination = target_end};
  jpeg->dest = &encoder->target;
  jpeg->client_data = encoder;
  jpeg->image_width = (JDIMENSION)picture->width;
  jpeg->image_height = (JDIMENSION)picture->height;
  jpeg->input_components = picture->channels;
  jpeg->in_color_space = picture->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(jpeg);
  jpeg_set_quality(jpeg, QUALITY, TRUE);
  jpeg_start_compress(jpeg, TRUE);
}

static hone_status_t encode(encoder_t* encoder, const hone_picture_t* picture) {
  if (setjmp(encoder->errors.jump))
    return hone_status_make(HONE_INVALID_ARGUMENT, "JPEG: %s", encoder->errors.message);
  start_encoding(encoder, picture);
  size_t row_bytes = (size_t)picture->width * (size_t)picture->channels;
  while (encoder->jpeg.next_scanline < encoder->jpeg.image_height) {
    JSAMPROW row = picture->pixels + encoder->jpeg.next_scanline * row_bytes;
    jpeg_write_scanlines(&encoder->jpeg, &row, 1);
  }
  jpeg_finish_compress(&encoder->jpeg);
  return NULL;
}

hone_status_t hone_jpeg_write(const hone_picture_t* picture, hone_file_writer_t* writer) {
  encoder_t encoder = {.writer = writer};
  encoder.jpeg.err = catch_errors(&encoder.errors);
  hone_status_t status = encode(&encoder, picture);
  jpeg_destroy_compress(&encoder.jpeg);
  return status;
}
