/* Style: a photograph painted over by the style-transfer network. */
#ifndef DEMO_STYLE_H
#define DEMO_STYLE_H

#include "image.h"
#include "net.h"

enum { STYLE_COUNT = 26 }; /* styles that the network has learnt */

/* `photo` in the style of that number, 0 to STYLE_COUNT - 1. */
HONE_MUST_USE hone_status_t style_apply(net_t* net, const image_t* photo, int style,
                                        image_t* out_painted);

#endif
