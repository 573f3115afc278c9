/* Sliding windows over the spatial axes of a tensor [batch, channel, s1, …]:
 * the geometry that convolutions and pools share. */
#ifndef HONE_OPS_COMMON_SLIDING_H
#define HONE_OPS_COMMON_SLIDING_H

#include "ops/op.h"

/* One entry for each spatial axis. */
typedef struct hone_sliding {
  int n;
  hone_dim_t size[HONE_MAX_RANK]; /* of the window */
  hone_dim_t stride[HONE_MAX_RANK];
  hone_dim_t dilation[HONE_MAX_RANK];
  hone_dim_t lo[HONE_MAX_RANK]; /* pads */
  hone_dim_t hi[HONE_MAX_RANK];
  hone_dim_t extra[HONE_MAX_RANK]; /* behind hi: what rounding up needs, no pad by name */
} hone_sliding_t;

/* An attribute with one number >= `least` for each of `n` axes (`pads`: two);
 * `fallback` in each place when absent. False after an error. */
bool hone_sliding_list(hone_lower_t* l, const char* name, int n, int64_t least, int64_t fallback,
                       int64_t* out);
/* Extent that a window covers: (size - 1) * dilation + 1. */
hone_dim_t hone_sliding_reach(hone_builder_t* b, const hone_sliding_t* s, int axis);
/* The attribute auto_pad. */
typedef enum hone_auto_pad {
  HONE_AUTO_PAD_BAD, /* an error was noted */
  HONE_AUTO_PAD_EXPLICIT,
  HONE_AUTO_PAD_VALID,
  HONE_AUTO_PAD_SAME_UPPER,
  HONE_AUTO_PAD_SAME_LOWER,
} hone_auto_pad_t;
hone_auto_pad_t hone_sliding_auto_pad(hone_lower_t* l);
/* Splits `total` into lo and hi; when it is odd, hi gets more (`upper`) or lo. */
void hone_sliding_share_pad(hone_builder_t* b, hone_sliding_t* s, int axis, hone_dim_t total,
                            bool upper);
/* Reads all but the pads, which become 0; see below. */
bool hone_sliding_read_kernel(hone_lower_t* l, const hone_value_t* x, const hone_dim_t* sizes,
                              hone_sliding_t* out);
/* Reads strides, dilations, pads, auto_pad and ceil_mode of the node for
 * windows on `x`. `sizes` are the kernel's; NULL takes the attribute
 * kernel_shape. False after an error. */
bool hone_sliding_read(hone_lower_t* l, const hone_value_t* x, const hone_dim_t* sizes,
                       hone_sliding_t* out);
/* Pads x (with the scalar `value`; NULL is zero) and views it through the
 * windows: [batch, channel, o1, …, k1, …]. */
hone_value_t* hone_sliding_view(hone_builder_t* b, const hone_sliding_t* s, hone_value_t* x,
                                hone_value_t* value);

/* Contraction of windows on x [N, C, s1, …] with weights [M, C / groups, k1, …]
 * computed in `dtype`: [N, M, o1, …]. */
hone_value_t* hone_sliding_contract(hone_builder_t* b, const hone_sliding_t* s, hone_value_t* x,
                                    hone_value_t* weights, int64_t groups, hone_dtype_t dtype);
/* `axis` becomes two: [parts, extent / parts]. */
hone_value_t* hone_sliding_split(hone_builder_t* b, hone_value_t* x, int axis, int64_t parts);
/* The attribute `group`, checked against x [N, C, …] and weights [M, C / group, …];
 * 0 after an error. */
int64_t hone_sliding_groups(hone_lower_t* l, const hone_value_t* x, const hone_value_t* weights);
/* Adds a bias [M] to [N, M, o1, …]; NULL adds nothing. */
hone_value_t* hone_sliding_bias(hone_builder_t* b, hone_value_t* y, hone_value_t* bias);
/* A list [M] shaped to broadcast along axis 1 of a tensor of `rank`. */
hone_value_t* hone_along_channels(hone_builder_t* b, hone_value_t* list, int rank);

#endif
