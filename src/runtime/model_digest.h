/* What tells a model's contents from others'. */
#ifndef HONE_RUNTIME_MODEL_DIGEST_H
#define HONE_RUNTIME_MODEL_DIGEST_H

#include "base/pieces.h"
#include "ir/model.h"

/* The digest of all that the model was loaded from: its file, and the data that lie in others. All
 * threads read them, and bring them into memory so. Zeros where there is no file. Errors:
 * OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_model_digest(const hone_model_t* model, hone_digest_t* out_digest);

#endif
