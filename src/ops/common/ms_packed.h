/* Small integers packed into bytes, the first in the lowest bits. */
#ifndef HONE_OPS_COMMON_MS_PACKED_H
#define HONE_OPS_COMMON_MS_PACKED_H

#include "ops/common/ms.h"

/* The last axis of u8 as 8 / bits times as many u8 numbers; bits is 1, 2, 4 or 8. */
hone_value_t* hone_ms_unpack(hone_builder_t* b, hone_value_t* x, int64_t bits);

#endif
