/* OCR: the lines of text on a page, found by one network and read by another. */
#ifndef DEMO_OCR_H
#define DEMO_OCR_H

#include "image.h"
#include "net.h"

enum { LINE_TEXT_SIZE = 1024 };

typedef struct text_line {
  box_t box;                 /* on the page, in pixels */
  float found;               /* mean probability that the box holds text */
  float read;                /* mean probability of the characters */
  char text[LINE_TEXT_SIZE]; /* UTF-8 */
} text_line_t;

typedef struct text_lines {
  int count, room;
  text_line_t* lines;
} text_lines_t;

void text_lines_free(text_lines_t* lines);

/* Finds the boxes, in reading order; `lines` is empty before. */
HONE_MUST_USE hone_status_t ocr_detect(net_t* net, const image_t* page, text_lines_t* lines);
/* Reads the text in the box of `line`. The dictionary is the model's own, its
 * metadata `character`: one character a line. */
HONE_MUST_USE hone_status_t ocr_read(net_t* net, const image_t* page, text_line_t* line);

/* ---- geometry ---- */

/* The smallest turned rectangle around `count` >= 1 points, which it sorts. The
 * first side is the one that lies flatter. `hull` has room for 2 * count. */
box_t box_around(point_t* points, int count, point_t* hull);
/* Widened on all sides by `margin` pixels. */
box_t box_grow(const box_t* box, float margin);
float box_width(const box_t* box);
float box_height(const box_t* box);

#endif
