/* Devices by name: "cpu", "opencl:1". */
#ifndef HONE_RUNTIME_DEVICE_H
#define HONE_RUNTIME_DEVICE_H

#include "hone/backend.h"

/* The backend that a name asks for. Errors: NOT_FOUND, which says where to look. */
HONE_MUST_USE hone_status_t hone_device_backend(const char* name,
                                                const hone_backend_t** out_backend);
/* Opens the device that a name asks for, which runs kernels. `out_backend` is set wherever the
 * name is known. Errors: NOT_FOUND; UNSUPPORTED (it takes whole graphs); what the backend meets. */
HONE_MUST_USE hone_status_t hone_device_open(const char* name, const hone_open_options_t* options,
                                             const hone_backend_t** out_backend,
                                             hone_device_t** out_device);

#endif
