/* Portable anymaps: P1 to P6, that is bits, grays and colors, in digits or bytes. */
#include "ops/common/image.h"

typedef struct reader {
  const unsigned char* data;
  size_t size, at;
  bool bad;
} reader_t;

static bool is_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static int peek(const reader_t* r) { return r->at < r->size ? r->data[r->at] : -1; }

static void skip_blanks(reader_t* r) {
  for (; is_blank(peek(r)) || peek(r) == '#'; r->at++)
    if (peek(r) == '#')
      while (peek(r) >= 0 && peek(r) != '\n' && peek(r) != '\r') r->at++;
}

static int64_t read_number(reader_t* r) {
  int64_t value = 0;
  skip_blanks(r);
  if (peek(r) < '0' || peek(r) > '9') r->bad = true;
  for (; peek(r) >= '0' && peek(r) <= '9'; r->at++)
    if (value < INT32_MAX) value = value * 10 + (peek(r) - '0');
  return value;
}

/* A bit in digits needs no blank behind it. */
static int64_t read_digit(reader_t* r) {
  skip_blanks(r);
  int c = peek(r);
  if (c != '0' && c != '1') r->bad = true;
  r->at++;
  return c - '0';
}

typedef struct header {
  int kind; /* 1 to 6, as in the magic */
  int64_t width, height, limit;
} header_t;

static header_t read_header(reader_t* r) {
  header_t h = {.kind = r->size > 1 ? r->data[1] - '0' : 0, .limit = 1};
  r->at = 2;
  if (h.kind < 1 || h.kind > 6) r->bad = true;
  h.width = read_number(r);
  h.height = read_number(r);
  if (h.kind != 1 && h.kind != 4) h.limit = read_number(r);
  if (h.limit < 1 || h.limit > 65535) r->bad = true;
  if (h.kind >= 4) r->at++; /* one blank before the bytes */
  return h;
}

static int64_t read_bytes(reader_t* r, int count) {
  int64_t value = 0;
  for (int i = 0; i < count; i++, r->at++) {
    if (peek(r) < 0) r->bad = true;
    value = value * 256 + (peek(r) < 0 ? 0 : peek(r));
  }
  return value;
}

static int64_t read_sample(reader_t* r, const header_t* h) {
  if (h->kind == 1) return 1 - read_digit(r);
  return h->kind < 4 ? read_number(r) : read_bytes(r, h->limit > 255 ? 2 : 1);
}

/* Bits in bytes: each row begins a new byte; 1 is black. */
static void read_bit_rows(reader_t* r, const header_t* h, unsigned char* rgb) {
  for (int64_t y = 0; y < h->height && !r->bad; y++) {
    int64_t bits = 0;
    for (int64_t x = 0; x < h->width; x++, rgb += 3) {
      if (x % 8 == 0) bits = read_bytes(r, 1);
      rgb[0] = rgb[1] = rgb[2] = (bits >> (7 - x % 8)) & 1 ? 0 : 255;
    }
  }
}

static void read_samples(reader_t* r, const header_t* h, unsigned char* rgb) {
  bool color = h->kind == 3 || h->kind == 6;
  for (int64_t i = 0; i < h->width * h->height && !r->bad; i++, rgb += 3)
    for (int c = 0; c < 3; c++) {
      if (c > 0 && !color) {
        rgb[c] = rgb[0];
        continue;
      }
      int64_t value = read_sample(r, h);
      if (value > h->limit) value = h->limit;
      rgb[c] = (unsigned char)((value * 255 + h->limit / 2) / h->limit);
    }
}

hone_status_t hone_image_pnm(const unsigned char* data, size_t size, hone_image_t* image) {
  reader_t r = {.data = data, .size = size};
  header_t h = read_header(&r);
  if (r.bad || !hone_image_create(image, h.width, h.height)) return NULL;
  if (h.kind == 4)
    read_bit_rows(&r, &h, image->rgb);
  else
    read_samples(&r, &h, image->rgb);
  if (r.bad) hone_image_free(image);
  return NULL;
}
