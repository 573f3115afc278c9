/* What a caller says about a named dimension of a model's inputs. */
#ifndef HONE_DIM_OPTION_H
#define HONE_DIM_OPTION_H

#include <stdint.h>

/* A number, or a range, for the dimension. */
typedef struct hone_dim_option {
  const char* name;
  int64_t min, max; /* inclusive; equal: the dimension is fixed */
} hone_dim_option_t;

#endif
