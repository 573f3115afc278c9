/* Lines of a report for people: none is longer than 100 columns, and nothing in
 * them, names and strings of a model included, can command the terminal. */
#ifndef HONE_TOOLS_LINE_H
#define HONE_TOOLS_LINE_H

#include "base/str.h"

enum { HONE_LINE_COLUMNS = 100 };

/* How many characters the line has. */
size_t hone_line_width(const hone_str_t* line);
/* Appends blanks until the line has `width` characters. */
void hone_line_pad(hone_str_t* line, size_t width);
/* Prints the line, cut to the width with an ellipsis, and empties it. */
HONE_MUST_USE hone_status_t hone_line_flush(hone_str_t* line);
/* Has `print` print `what`, with a line that lives as long. */
HONE_MUST_USE hone_status_t hone_line_report(hone_status_t (*print)(const void* what,
                                                                    hone_str_t* line),
                                             const void* what);

#endif
