/* The pair that most sums have becomes a term, of which they take what they took of its first part,
 * and so on, as in C. Paar, "Optimized arithmetic for Reed-Solomon encoders" (1997). */
#include "passes/common/shared_sums.h"

#include <string.h>

enum { MOST_TERMS = 4 * HONE_SHARED_SUMS_TERMS };

typedef struct sums {
  int n_terms, n_sums;
  hone_value_t* terms[MOST_TERMS];
  int8_t factors[HONE_SHARED_SUMS][MOST_TERMS];
} sums_t;

/* first + sign * second, or that times -1. */
typedef struct pair {
  int first, second, sign, uses;
} pair_t;

static int count_uses(const sums_t* s, int first, int second, int sign) {
  int uses = 0;
  for (int i = 0; i < s->n_sums; i++) uses += s->factors[i][first] * s->factors[i][second] == sign;
  return uses;
}

static pair_t find_most_used(const sums_t* s) {
  pair_t most = {0};
  for (int first = 0; first < s->n_terms; first++)
    for (int second = first + 1; second < s->n_terms; second++)
      for (int sign = 1; sign >= -1; sign -= 2) {
        int uses = count_uses(s, first, second, sign);
        if (uses > most.uses) most = (pair_t){first, second, sign, uses};
      }
  return most;
}

static hone_value_t* add(hone_builder_t* b, hone_value_t* x, hone_value_t* y, int sign) {
  return sign > 0 ? hone_add(b, x, y) : hone_sub(b, x, y);
}

static void share(hone_builder_t* b, sums_t* s, const pair_t* pair) {
  int made = s->n_terms++;
  s->terms[made] = add(b, s->terms[pair->first], s->terms[pair->second], pair->sign);
  for (int i = 0; i < s->n_sums; i++) {
    int8_t* factors = s->factors[i];
    if (factors[pair->first] * factors[pair->second] != pair->sign) continue;
    factors[made] = factors[pair->first];
    factors[pair->first] = factors[pair->second] = 0;
  }
}

/* What is added comes first, so that as little as can be needs another sign. */
static hone_value_t* add_up(hone_builder_t* b, const sums_t* s, const int8_t* factors) {
  hone_value_t* sum = NULL;
  for (int sign = 1; sign >= -1; sign -= 2)
    for (int i = 0; i < s->n_terms; i++) {
      if (factors[i] != sign) continue;
      if (sum)
        sum = add(b, sum, s->terms[i], sign);
      else
        sum = sign > 0 ? s->terms[i] : hone_unary(b, HONE_PRIM_NEG, s->terms[i]);
    }
  return sum;
}

void hone_shared_sums(hone_builder_t* b, int n_terms, hone_value_t* const* terms, int n_sums,
                      const int8_t* factors, hone_value_t** out_sums) {
  sums_t s = {.n_terms = n_terms, .n_sums = n_sums};
  memcpy(s.terms, terms, (size_t)n_terms * sizeof *terms);
  for (int i = 0; i < n_sums; i++)
    memcpy(s.factors[i], factors + i * n_terms, (size_t)n_terms * sizeof *factors);
  for (pair_t pair; s.n_terms < MOST_TERMS && (pair = find_most_used(&s)).uses > 1;)
    share(b, &s, &pair);
  for (int i = 0; i < n_sums; i++) out_sums[i] = add_up(b, &s, s.factors[i]);
}
