/* Binary PGM (P5) and PPM (P6): a header in text, "P6 WIDTH HEIGHT MAXIMUM",
 * where # begins a comment, one blank, and the samples. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "picture.h"

typedef struct cursor {
  const uint8_t* at;
  const uint8_t* end;
} cursor_t;

static void skip_blanks(cursor_t* c) {
  while (c->at < c->end && (isspace(*c->at) || *c->at == '#')) {
    if (*c->at == '#')
      while (c->at < c->end && *c->at != '\n') c->at++;
    else
      c->at++;
  }
}

static bool read_number(cursor_t* c, int* out) {
  enum { LIMIT = 1 << 24 };
  skip_blanks(c);
  int value = 0;
  const uint8_t* start = c->at;
  for (; c->at < c->end && isdigit(*c->at) && value < LIMIT; c->at++)
    value = value * 10 + (*c->at - '0');
  *out = value;
  return c->at > start && value < LIMIT;
}

hone_status_t hone_pnm_read(const hone_allocator_t* allocator, const uint8_t* data, size_t size,
                            hone_picture_t* out_picture) {
  *out_picture = (hone_picture_t){0};
  int width, height, maximum, channels = data[1] == '6' ? 3 : 1;
  cursor_t c = {data + 2, data + size};
  bool ok = read_number(&c, &width) && read_number(&c, &height) && read_number(&c, &maximum) &&
            c.at < c.end && isspace(*c.at++);
  if (!ok) return hone_status_make(HONE_INVALID_DATA, "PPM: the header is damaged");
  if (maximum < 1 || maximum > 255)
    return hone_status_make(HONE_UNSUPPORTED, "PPM: the largest sample is %d, not 1 to 255",
                            maximum);
  uint64_t bytes = (uint64_t)width * (uint64_t)height * (uint64_t)channels;
  if ((uint64_t)(c.end - c.at) < bytes)
    return hone_status_make(HONE_INVALID_DATA, "PPM: the file is cut off");
  HONE_TRY(hone_picture_create(allocator, width, height, channels, out_picture));
  for (size_t i = 0; i < bytes; i++) {
    int sample = c.at[i] < maximum ? c.at[i] : maximum;
    out_picture->pixels[i] = (uint8_t)((sample * 255 + maximum / 2) / maximum);
  }
  return NULL;
}

hone_status_t hone_pnm_write(const hone_picture_t* picture, hone_file_writer_t* writer) {
  char header[64];
  int length = snprintf(header, sizeof header, "P%d\n%d %d\n255\n", picture->channels == 3 ? 6 : 5,
                        picture->width, picture->height);
  hone_file_writer_write(writer, header, (size_t)length);
  hone_file_writer_write(
      writer, picture->pixels,
      (size_t)picture->width * (size_t)picture->height * (size_t)picture->channels);
  return NULL;
}
