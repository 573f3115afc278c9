/* The words of --preprocess and --postprocess. */
#include "preprocess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

hone_preprocess_t hone_preprocess_default(void) {
  return (hone_preprocess_t){.scale = 1, .std = {1, 1, 1}};
}

/* ---- numbers ---- */

/* "224x192", or "224" with *height 0. */
static bool parse_size(const char* text, int* width, int* height) {
  char* end;
  long w = strtol(text, &end, 10), h = 0;
  if (end == text) return false;
  if (*end == 'x') {
    const char* second = end + 1;
    h = strtol(second, &end, 10);
    if (end == second || h < 1) return false;
  }
  *width = (int)w;
  *height = (int)h;
  return !*end && w >= 1 && w <= HONE_PICTURE_MAX_SIDE && h <= HONE_PICTURE_MAX_SIDE;
}

static bool parse_resize(hone_preprocess_t* steps, const char* text) {
  return parse_size(text, &steps->resize_width, &steps->resize_height);
}

static bool parse_crop(hone_preprocess_t* steps, const char* text) {
  bool ok = parse_size(text, &steps->crop_width, &steps->crop_height);
  if (!steps->crop_height) steps->crop_height = steps->crop_width;
  return ok;
}

/* One to three numbers between '/'; gives how many, 0 when they are wrong. */
static int parse_list(const char* text, double out[3]) {
  for (int i = 0; i < 3; i++) {
    char* end;
    out[i] = strtod(text, &end);
    if (end == text || !isfinite(out[i])) return 0;
    if (!*end) return i + 1;
    if (*end != '/') return 0;
    text = end + 1;
  }
  return 0;
}

/* A number, or a fraction such as 1/255. */
static bool parse_scale(hone_preprocess_t* steps, const char* text) {
  double parts[3];
  int count = parse_list(text, parts);
  if (count == 2) parts[0] /= parts[1];
  steps->scale = parts[0];
  return (count == 1 || count == 2) && isfinite(steps->scale) && steps->scale != 0;
}

/* One number for all channels, or three. */
static bool parse_channels_list(const char* text, double out[3]) {
  int count = parse_list(text, out);
  if (count == 1) out[1] = out[2] = out[0];
  return count == 1 || count == 3;
}

static bool parse_mean(hone_preprocess_t* steps, const char* text) {
  return parse_channels_list(text, steps->mean);
}

static bool parse_std(hone_preprocess_t* steps, const char* text) {
  return parse_channels_list(text, steps->std) && steps->std[0] != 0 && steps->std[1] != 0 &&
         steps->std[2] != 0;
}

/* ---- words ---- */

/* The place of `text` in a list that ends in NULL; -1 when it is not there. */
static int find_word(const char* const* words, const char* text) {
  for (int i = 0; words[i]; i++)
    if (strcmp(words[i], text) == 0) return i;
  return -1;
}

static bool parse_layout(hone_preprocess_t* steps, const char* text) {
  static const char* const words[] = {"auto", "nchw", "nhwc", "chw", "hwc", "hw", NULL};
  int found = find_word(words, text);
  steps->layout = (hone_layout_t)found;
  return found >= 0;
}

static bool parse_channels(hone_preprocess_t* steps, const char* text) {
  static const char* const words[] = {"auto", "rgb", "bgr", "gray", NULL};
  int found = find_word(words, text);
  steps->channels = (hone_channels_t)found;
  return found >= 0;
}

static bool parse_filter(hone_preprocess_t* steps, const char* text) {
  static const char* const words[] = {"bilinear", "nearest", NULL};
  int found = find_word(words, text);
  steps->filter = (hone_filter_t)found;
  return found >= 0;
}

static const struct {
  const char* word;
  bool (*parse)(hone_preprocess_t* steps, const char* text);
  const char* takes;
} words[] = {
    {"resize", parse_resize, "WIDTHxHEIGHT, or one number for the shorter side"},
    {"crop", parse_crop, "WIDTHxHEIGHT, or one number for both"},
    {"filter", parse_filter, "bilinear or nearest"},
    {"channels", parse_channels, "rgb, bgr or gray"},
    {"layout", parse_layout, "nchw, nhwc, chw, hwc or hw"},
    {"scale", parse_scale, "a number or a fraction such as 1/255, not 0"},
    {"mean", parse_mean, "one number, or three as 0.485/0.456/0.406"},
    {"std", parse_std, "one number, or three as 0.229/0.224/0.225, none of them 0"},
};
enum { WORD_COUNT = sizeof words / sizeof *words };

static hone_status_t unknown_word(const char* word) {
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "'%s' is not known; there are resize=, crop=, filter=, channels=, "
                          "layout=, scale=, mean= and std=",
                          word);
}

/* One "word=value". */
static hone_status_t parse_word(char* item, hone_preprocess_t* steps) {
  char* equals = strchr(item, '=');
  if (!equals) return unknown_word(item);
  *equals = 0;
  for (int i = 0; i < WORD_COUNT; i++) {
    if (strcmp(words[i].word, item) != 0) continue;
    if (words[i].parse(steps, equals + 1)) return NULL;
    return hone_status_make(HONE_INVALID_ARGUMENT, "%s=%s: %s takes %s", item, equals + 1, item,
                            words[i].takes);
  }
  return unknown_word(item);
}

hone_status_t hone_preprocess_parse(const char* text, hone_preprocess_t* out) {
  *out = hone_preprocess_default();
  char buffer[512];
  if (!text || !*text) return NULL;
  if (strlen(text) >= sizeof buffer)
    return hone_status_make(HONE_INVALID_ARGUMENT, "'%.40s…' is too long", text);
  memcpy(buffer, text, strlen(text) + 1);
  char* rest = buffer;
  for (char* item; (item = strsep(&rest, ","));) HONE_TRY(parse_word(item, out));
  return NULL;
}
