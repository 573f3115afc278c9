/* Slight weights (ir/slight.h) of kernels: which are, and how intrinsics want them to lie. */
#ifndef HONE_LOOP_SLIGHT_H
#define HONE_LOOP_SLIGHT_H

#include "ir/slight.h"
#include "loop/quantized.h"

/* Sets `slight` of the constants that are multiplied by bytes without a sign and added up along one
 * axis, where they are slight along it. */
void hone_slight_mark(hone_kernel_t* kernel, hone_contents_fn contents, void* self);

/* Whether groups of eight of the buffer, as it is packed, lie as [half, lane, 4] at its end, for
 * `lanes` lanes. */
bool hone_slight_lies(const hone_buffer_t* buffer, int64_t lanes);

#endif
