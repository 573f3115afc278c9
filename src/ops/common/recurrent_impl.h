/* Between recurrent.c and activations.c. */
#ifndef HONE_OPS_COMMON_RECURRENT_IMPL_H
#define HONE_OPS_COMMON_RECURRENT_IMPL_H

#include "ops/common/recurrent.h"

typedef struct hone_activation_row {
  const char* name;
  int numbers; /* how many it takes: alpha, beta */
  hone_activation_t function;
} hone_activation_row_t;

/* Ignores case; NULL when there is none of that name. */
const hone_activation_row_t* hone_activation_find(const char* name);

#endif
