/* The inside of sessions, for reports. */
#ifndef HONE_RUNTIME_SESSION_IMPL_H
#define HONE_RUNTIME_SESSION_IMPL_H

#include "hone/session.h"
#include "passes/pass.h"
#include "runtime/program.h"

typedef struct hone_session_parts {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;           /* NULL: the backend takes whole graphs */
  hone_program_t* program;         /* NULL likewise */
  const hone_model_t* model;       /* NULL: of an engine */
  const hone_pass_report_t* notes; /* NULL: none were kept */
} hone_session_parts_t;

/* What runs such inputs; without inputs what the session was made with. Errors: as running
 * them has, the model may have to be compiled for them. */
HONE_MUST_USE hone_status_t hone_session_parts(hone_session_t* session, int n_inputs,
                                               hone_tensor_t* const* inputs,
                                               hone_session_parts_t* out_parts);

#endif
