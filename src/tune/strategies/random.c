/* Draws candidates at random: the plainest search, and one that others must beat. */
#include "tune/search_impl.h"

extern const hone_strategy_t hone_strategy_random;
const hone_strategy_t hone_strategy_random = {
    .name = "random",
    .summary = "draws candidates at random",
    .propose = hone_search_take_random,
};
