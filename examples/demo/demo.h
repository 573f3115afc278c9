/* Demo: three networks on two pictures, and all that came out. */
#ifndef DEMO_DEMO_H
#define DEMO_DEMO_H

#include "image.h"
#include "net.h"
#include "ocr.h"

enum { DEMO_NETS = 3, DEMO_MAX_STYLES = 6 };

typedef struct demo {
  const char *photo_path, *page_path, *report_path, *device;
  net_t nets[DEMO_NETS]; /* style, detect, read */
  int n_styles;
  int styles[DEMO_MAX_STYLES];
  image_t photo, page;
  image_t painted[DEMO_MAX_STYLES];
  text_lines_t lines;
} demo_t;

/* Lines read with less certainty are taken for noise. */
static const float demo_sure_enough = 0.5f;

/* One HTML file that needs no other. Nothing is left at `path` on failure. */
HONE_MUST_USE hone_status_t report_write(const char* path, const demo_t* demo);

#endif
