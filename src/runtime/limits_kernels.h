/* The kernels that limits are measured with, in text (loop/text.h). */
#ifndef HONE_RUNTIME_LIMITS_KERNELS_H
#define HONE_RUNTIME_LIMITS_KERNELS_H

#include "base/str.h"
#include "hone/backend.h"
#include "runtime/limits.h"

enum {
  HONE_LIMIT_DEPTH = 128, /* steps of a round of products, whose data stay in the first cache */
  HONE_LIMIT_UNITS = 8,   /* vectors of the reading kernel that are summed side by side */
  HONE_LIMIT_PRODUCTS = 8 /* kernels at most */
};

/* A tile of sums of products: `rows` by `vectors` of `lanes`, a step of which takes `halves` groups
 * of `group` numbers side by side. Sizes: groups (threads), rounds. Parameters: data [rows][depth][
 * halves][group], weights [depth][vectors][halves][lanes][group], results [groups][rows][vectors][
 * lanes]. */
typedef struct hone_limit_product {
  hone_peak_t peak;                  /* what it may be the best for */
  const char *data, *weights, *sums; /* types */
  const char* intrinsic;             /* of the lanes, or of a block; NULL: it is plain loops */
  int rows, vectors, lanes, halves, group; /* numbers of the intrinsic's, where it is one */
  int block_depth;                         /* steps of an instruction for blocks; 0: it is none */
} hone_limit_product_t;

/* Those worth measuring on a device; gives their number. */
int hone_limit_products(const hone_device_properties_t* properties,
                        hone_limit_product_t out[HONE_LIMIT_PRODUCTS]);
/* Vectors of f32 that limits are measured with. */
int hone_limit_lanes(const hone_device_properties_t* properties);

/* The kernel in text. Both set out.failed when memory is out. */
void hone_limit_put_product(const hone_limit_product_t* product, hone_str_t* out);
/* Reads [groups][chunk][UNITS][lanes] of f32 and adds up. Sizes: groups, rounds, chunk. */
void hone_limit_put_read(int lanes, hone_str_t* out);

#endif
