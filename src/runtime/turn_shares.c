/* Shares of launches that take turns. A share begins so late in each launch that its rounds need
 * nothing of the shares before, which makes it begin later from launch to launch where those read
 * neighbours; so that it has its part of the work all the same, it begins earlier in the first. */
#include "loop/span.h"
#include "runtime/turns.h"

typedef struct cutter {
  const hone_turn_plan_t* plan;
  const int64_t* rounds;
  const double* weights;
  int64_t* begins;
} cutter_t;

static int64_t* begin_of(const cutter_t* c, int launch, int share) {
  return &c->begins[hone_turn_begin_at(c->plan, launch, share)];
}

/* The first round that the share may begin with. */
static int64_t least_begin(const cutter_t* c, int launch, int share) {
  int64_t begin = *begin_of(c, launch, share - 1);
  for (int i = 0; i < c->plan->n_needs; i++) {
    const hone_need_t* need = &c->plan->needs[i];
    if (need->reader != launch) continue;
    int64_t first =
        hone_need_first_without(need, c->rounds[need->writer], *begin_of(c, need->writer, share));
    if (first > begin) begin = first;
  }
  return begin;
}

/* Has the share begin after this part of each launch, or later where it must. Gives the part of
 * all work that comes before. */
static double cut_at(const cutter_t* c, int share, double part) {
  double before = 0, all = 0;
  for (int l = 0; l < c->plan->count; l++) {
    int64_t begin = (int64_t)(part * (double)c->rounds[l]), least = least_begin(c, l, share);
    if (begin < least) begin = least;
    if (begin > c->rounds[l]) begin = c->rounds[l];
    *begin_of(c, l, share) = begin;
    before += c->weights[l] * (double)begin / (double)c->rounds[l];
    all += c->weights[l];
  }
  return before / all;
}

/* Gives the part of all work that the share begins too early or too late. */
static double cut_share(const cutter_t* c, int share) {
  enum { STEPS = 10 };
  double wanted = (double)share / c->plan->n_shares, low = 0, high = 1, best = 0, best_error = 2;
  for (int i = 0; i < STEPS; i++) {
    double part = (low + high) / 2, before = cut_at(c, share, part);
    double error = before > wanted ? before - wanted : wanted - before;
    if (error < best_error) {
      best = part;
      best_error = error;
    }
    *(before > wanted ? &high : &low) = part;
  }
  cut_at(c, share, best);
  return best_error;
}

double hone_turns_cut(hone_turn_plan_t* plan, const int64_t* rounds, const double* weights,
                      int64_t* out_begins) {
  const cutter_t c = {plan, rounds, weights, out_begins};
  plan->begins = out_begins;
  for (int l = 0; l < plan->count; l++) {
    *begin_of(&c, l, 0) = 0;
    *begin_of(&c, l, plan->n_shares) = rounds[l];
  }
  double worst = 0;
  for (int s = 1; s < plan->n_shares; s++) {
    double error = cut_share(&c, s);
    if (error > worst) worst = error;
  }
  return worst * plan->n_shares;
}
