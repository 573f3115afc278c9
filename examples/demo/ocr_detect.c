/* Finding lines of text. The network gives each pixel's probability of lying in
 * the inner part of a line. Pixels above a threshold that touch each other are
 * one line; the rectangle around them is widened again, by as much as training
 * had shrunk it: area * ratio / perimeter ("Real-time Scene Text Detection with
 * Differentiable Binarization", Liao et al. 2020). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ocr.h"

static const float pixel_threshold = 0.2f, box_threshold = 0.4f, widen_ratio = 1.4f;
enum { GRID = 32, LONG_SIDE = 768, MAX_LINES = 1000 };

/* The map being searched, and room for the pixels of one component. */
typedef struct search {
  int width, height;
  const float* probability;
  bool* seen;
  int* stack;
  point_t *points, *hull;
} search_t;

void text_lines_free(text_lines_t* lines) {
  free(lines->lines);
  *lines = (text_lines_t){0};
}

static hone_status_t add_line(text_lines_t* lines, const box_t* box, float found) {
  if (lines->count == lines->room) {
    int room = lines->room ? lines->room * 2 : 16;
    text_line_t* grown = realloc(lines->lines, (size_t)room * sizeof *grown);
    if (!grown) return hone_status_make(HONE_OUT_OF_MEMORY, "the lines of the page");
    lines->lines = grown;
    lines->room = room;
  }
  lines->lines[lines->count++] = (text_line_t){.box = *box, .found = found};
  return NULL;
}

/* ---- components ---- */

static bool is_new_text(const search_t* s, int x, int y) {
  if (x < 0 || y < 0 || x >= s->width || y >= s->height) return false;
  int i = y * s->width + x;
  return !s->seen[i] && s->probability[i] > pixel_threshold;
}

/* Marks all pixels that hang together with pixel `start`; notes their middles
 * and gives their number, and the sum of their probabilities. */
static int flood(search_t* s, int start, float* out_sum) {
  int depth = 0, count = 0;
  *out_sum = 0;
  s->seen[start] = true;
  s->stack[depth++] = start;
  while (depth) {
    int i = s->stack[--depth], x = i % s->width, y = i / s->width;
    s->points[count++] = (point_t){(float)x + 0.5f, (float)y + 0.5f};
    *out_sum += s->probability[i];
    for (int k = 0; k < 9; k++) {
      int nx = x + k % 3 - 1, ny = y + k / 3 - 1;
      if (!is_new_text(s, nx, ny)) continue;
      s->seen[ny * s->width + nx] = true;
      s->stack[depth++] = ny * s->width + nx;
    }
  }
  return count;
}

static hone_status_t find_line(search_t* s, int start, text_lines_t* lines) {
  float sum;
  int count = flood(s, start, &sum);
  float found = sum / (float)count;
  box_t core = box_around(s->points, count, s->hull);
  core = box_grow(&core, 0.5f); /* from the middles of the pixels to their borders */
  float w = box_width(&core), h = box_height(&core);
  if (found < box_threshold || fminf(w, h) < 3 || lines->count == MAX_LINES) return NULL;
  box_t box = box_grow(&core, w * h * widen_ratio / (2 * (w + h)));
  return add_line(lines, &box, found);
}

static hone_status_t find_lines(search_t* s, text_lines_t* lines) {
  size_t pixels = (size_t)s->width * (size_t)s->height;
  s->seen = calloc(pixels, sizeof *s->seen);
  s->stack = malloc(pixels * sizeof *s->stack);
  s->points = malloc(pixels * sizeof *s->points);
  s->hull = malloc(2 * pixels * sizeof *s->hull);
  hone_status_t status = NULL;
  if (!s->seen || !s->stack || !s->points || !s->hull) {
    status = hone_status_make(HONE_OUT_OF_MEMORY, "the search for lines");
  }
  for (int i = 0; !status && i < (int)pixels; i++) {
    if (is_new_text(s, i % s->width, i / s->width)) status = find_line(s, i, lines);
  }
  free(s->hull);
  free(s->points);
  free(s->stack);
  free(s->seen);
  return status;
}

/* ---- reading order ---- */

static float middle_y(const text_line_t* line) {
  return (line->box.corner[0].y + line->box.corner[2].y) / 2;
}

static int by_height(const void* a, const void* b) {
  float ya = middle_y(a), yb = middle_y(b);
  return ya < yb ? -1 : ya > yb;
}

static int by_side(const void* a, const void* b) {
  float xa = ((const text_line_t*)a)->box.corner[0].x;
  float xb = ((const text_line_t*)b)->box.corner[0].x;
  return xa < xb ? -1 : xa > xb;
}

/* Rows from top to bottom, and in a row from left to right. */
static void sort_lines(text_lines_t* lines) {
  if (lines->count) qsort(lines->lines, (size_t)lines->count, sizeof *lines->lines, by_height);
  for (int first = 0, end; first < lines->count; first = end) {
    const text_line_t* top = &lines->lines[first];
    float reach = box_height(&top->box) / 2;
    for (end = first + 1; end < lines->count; end++) {
      if (middle_y(&lines->lines[end]) - middle_y(top) > reach) break;
    }
    qsort(lines->lines + first, (size_t)(end - first), sizeof *lines->lines, by_side);
  }
}

/* ---- the network ---- */

static int grid_side(int side, float scale) {
  int cells = (int)lroundf((float)side * scale / GRID);
  return (cells < 1 ? 1 : cells) * GRID;
}

/* Small print is easier to tell apart when it is enlarged. */
static hone_status_t page_tensor(const image_t* page, hone_tensor_t** out_tensor) {
  const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
  float scale = (float)LONG_SIDE / (float)(page->width > page->height ? page->width : page->height);
  image_t fitted;
  hone_status_t status =
      image_resize(page, grid_side(page->width, scale), grid_side(page->height, scale), &fitted);
  if (!status) status = image_to_tensor(&fitted, mean, deviation, out_tensor);
  image_free(&fitted);
  return status;
}

static hone_status_t search_map(const hone_tensor_t* map, const image_t* page,
                                text_lines_t* lines) {
  const int64_t* dims = hone_tensor_dims(map);
  if (hone_tensor_dtype(map) != HONE_F32 || hone_tensor_rank(map) != 4 || dims[0] != 1 ||
      dims[1] != 1 || dims[2] > (1 << 14) || dims[3] > (1 << 14)) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "the detection network gives no map f32[1, 1, height, width]");
  }
  search_t search = {
      .width = (int)dims[3], .height = (int)dims[2], .probability = hone_tensor_data(map)};
  HONE_TRY(find_lines(&search, lines));
  float sx = (float)page->width / (float)search.width;
  float sy = (float)page->height / (float)search.height;
  for (int i = 0; i < lines->count * 4; i++) {
    point_t* corner = &lines->lines[i / 4].box.corner[i % 4];
    *corner = (point_t){corner->x * sx, corner->y * sy};
  }
  sort_lines(lines);
  return NULL;
}

hone_status_t ocr_detect(net_t* net, const image_t* page, text_lines_t* lines) {
  hone_tensor_t *input = NULL, *map = NULL;
  hone_status_t status = page_tensor(page, &input);
  if (!status) status = net_run(net, 1, &input, &map);
  if (!status) status = search_map(map, page, lines);
  hone_tensor_release(map);
  hone_tensor_release(input);
  return status;
}
