/* Which kernel computes which primitive. */
#include "backends/ref/kernels.h"

static const ref_kernel_fn family_kernels[] = {
    [HONE_FAMILY_SOURCE] = hone_ref_source,
    [HONE_FAMILY_UNARY] = hone_ref_unary,
    [HONE_FAMILY_BINARY] = hone_ref_binary,
    [HONE_FAMILY_SELECT] = hone_ref_select,
    [HONE_FAMILY_CAST] = hone_ref_cast,
    [HONE_FAMILY_MOVEMENT] = NULL,
    [HONE_FAMILY_WHOLE] = NULL,
    [HONE_FAMILY_CONTROL] = NULL,
};

static const ref_kernel_fn kernels[HONE_PRIM_COUNT] = {
    [HONE_PRIM_BITCAST] = hone_ref_bitcast,   [HONE_PRIM_RESHAPE] = hone_ref_reshape,
    [HONE_PRIM_PERMUTE] = hone_ref_permute,   [HONE_PRIM_EXPAND] = hone_ref_expand,
    [HONE_PRIM_SLICE] = hone_ref_slice,       [HONE_PRIM_PAD] = hone_ref_pad,
    [HONE_PRIM_FLIP] = hone_ref_flip,         [HONE_PRIM_CONCAT] = hone_ref_concat,
    [HONE_PRIM_WINDOW] = hone_ref_window,     [HONE_PRIM_REDUCE] = hone_ref_reduce,
    [HONE_PRIM_CONTRACT] = hone_ref_contract, [HONE_PRIM_GATHER] = hone_ref_gather,
    [HONE_PRIM_SCATTER] = hone_ref_scatter,   [HONE_PRIM_SCAN] = hone_ref_scan,
    [HONE_PRIM_SORT] = hone_ref_sort,
};

ref_kernel_fn hone_ref_kernel(hone_prim_t prim) {
  return kernels[prim] ? kernels[prim] : family_kernels[hone_prim_info(prim)->family];
}
