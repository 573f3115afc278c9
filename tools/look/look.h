/* The look of reports in HTML, shared by the command and the demo: a page's style,
 * the little that moves in it, and text that is safe to put there. */
#ifndef HONE_TOOLS_LOOK_H
#define HONE_TOOLS_LOOK_H

#include <stdio.h>

extern const char hone_look_style[];  /* CSS */
extern const char hone_look_script[]; /* JavaScript: tables that sort by a click */

/* Text inside elements and attributes. */
void hone_look_text(FILE* file, const char* text);
/* The hue, 0 to 359, of the family that a type of node belongs to. */
int hone_look_hue(const char* op_type);

#endif
