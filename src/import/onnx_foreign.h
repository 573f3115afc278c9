/* Files that are handed over as ONNX models and are something else. */
#ifndef HONE_IMPORT_ONNX_FOREIGN_H
#define HONE_IMPORT_ONNX_FOREIGN_H

#include "hone/status.h"

/* An INVALID_MODEL status that says what the bytes are and what to do, when
 * they start like another known format; NULL otherwise. */
HONE_MUST_USE hone_status_t hone_onnx_foreign(const void* data, size_t size);

#endif
