/* What the tactics openblas and onednn share: a product of matrices by a library, in
 * blocks of the output that are each done by one thread. */
#ifndef HONE_BACKENDS_CPU_VENDOR_TACTIC_H
#define HONE_BACKENDS_CPU_VENDOR_TACTIC_H

#include "backends/cpu/vendor.h"
#include "tune/tactic.h"

bool hone_vendor_supports(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                          char* why);
/* No candidate of the space is valid where the library is missing. */
hone_status_t hone_vendor_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, hone_vendor_id_t vendor,
                                const void** out_facts);
hone_status_t hone_vendor_build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                const hone_space_t* space, const hone_candidate_t* candidate,
                                const char* intrinsic);
double hone_vendor_cost(const void* facts, const hone_device_properties_t* properties,
                        const hone_space_t* space, const hone_candidate_t* candidate);

#endif
