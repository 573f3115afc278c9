/* Pictures in pages: SVG that needs nothing else. */
#ifndef HONE_TOOLS_REPORT_DRAW_H
#define HONE_TOOLS_REPORT_DRAW_H

#include <stdio.h>

#include "hone/report.h"

extern const char hone_draw_style[]; /* CSS beside that of look.h */

/* Kernels as circles under what the device can do: operations a second over
 * operations a byte, both in powers of ten; the area is a kernel's time. */
void hone_draw_roofline(FILE* file, const hone_report_t* report);
/* The planned block: each value as a box from the step that makes it to the last
 * that reads it, at its place in the block. */
void hone_draw_block(FILE* file, const hone_report_t* report);
/* Bytes alive from step to step, under the size of the block. */
void hone_draw_memory(FILE* file, const hone_report_t* report);

#endif
