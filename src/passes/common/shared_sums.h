/* Several sums of the same terms, with or without a sign: pairs that more than one sum has are
 * added up once. */
#ifndef HONE_PASSES_COMMON_SHARED_SUMS_H
#define HONE_PASSES_COMMON_SHARED_SUMS_H

#include "ir/builder.h"

enum { HONE_SHARED_SUMS_TERMS = 16, HONE_SHARED_SUMS = 16 /* at most */ };

/* out_sums[i] is made of terms[k] times factors[i * n_terms + k], which are 0, 1 or -1; none has
 * zeros only. Errors stay in the builder. */
void hone_shared_sums(hone_builder_t* b, int n_terms, hone_value_t* const* terms, int n_sums,
                      const int8_t* factors, hone_value_t** out_sums);

#endif
