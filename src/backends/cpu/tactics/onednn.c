/* onednn: a product of matrices by oneDNN, where it is installed and measured to be faster. */
#include "backends/cpu/vendor_tactic.h"

static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  return hone_vendor_space(kernel, properties, arena, space, HONE_VENDOR_ONEDNN, out_facts);
}

static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  return hone_vendor_build(kernel, properties, space, candidate, "sgemm_onednn");
}

extern const hone_tactic_t hone_tactic_onednn;
const hone_tactic_t hone_tactic_onednn = {
    .name = "onednn",
    .summary = "a product of matrices by oneDNN, in blocks of the output",
    .order = 9,
    .only_measured = true,
    .supports = hone_vendor_supports,
    .space = make_space,
    .build = build,
    .cost = hone_vendor_cost,
};
