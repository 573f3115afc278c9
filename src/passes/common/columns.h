/* Windows with an odd number of columns, whose products could not go in pairs: with a column more,
 * by which weights of zero are multiplied, they do. */
#ifndef HONE_PASSES_COMMON_COLUMNS_H
#define HONE_PASSES_COMMON_COLUMNS_H

#include "passes/common/rewrite.h"

/* Whether the contraction is one of constant weights and windows whose columns lie side by side, of
 * which a column more makes whole pairs. */
bool hone_columns_can_fill(const hone_node_t* contract);
/* Whether that pair of its axes, at `i` of them, is the columns of such a contraction. */
bool hone_columns_are(const hone_node_t* contract, int i);
/* Its operands with that column; false: r->b has the status. Sums stay as they are, but where the
 * data is not finite. */
bool hone_columns_fill(hone_rewriter_t* r, const hone_node_t* contract, hone_value_t* out[2]);

#endif
