/* The way of a thread through a share of launches that take turns (hone/backend.h), strip by
 * strip: some rounds of the first launch, then of each other all rounds whose needs are met, so
 * that what is handed on stays in the second cache. Backends run rounds as they are called
 * for; the planner looks at the same walk to see what is held at a time. */
#ifndef HONE_LOOP_TURN_WALK_H
#define HONE_LOOP_TURN_WALK_H

#include <stdbool.h>

#include "hone/backend.h"

typedef struct hone_turn_walk hone_turn_walk_t;

struct hone_turn_walk {
  const hone_turn_plan_t* plan;
  int share;
  int64_t at[HONE_TURNS_MOST]; /* the next round of each launch */
  /* Runs a launch on from at[launch] to before round `end`, which is later. */
  void (*run)(hone_turn_walk_t* walk, int launch, int64_t end);
  /* Waits for rounds of shares behind that the launch needs to get to the end of the share. */
  void (*await)(hone_turn_walk_t* walk, int launch, int64_t end);
};

/* plan, share, run and await are the caller's to set. */
void hone_turn_walk(hone_turn_walk_t* walk);

/* The launch's first round of the share; `share` may be one past the last. */
int64_t hone_turn_begin(const hone_turn_plan_t* plan, int launch, int share);

/* Where bytes of a value begin that rounds from `begin` on touch, and end that rounds before `end`
 * do, of so many rounds and bytes. */
int64_t hone_turn_reach_begin(const hone_turn_reach_t* reach, int64_t begin, int64_t bytes);
int64_t hone_turn_reach_end(const hone_turn_reach_t* reach, int64_t end, int64_t rounds,
                            int64_t bytes);

/* What a share must hold of a value. */
typedef struct hone_turn_held {
  int64_t begin; /* rounded down to a line of the cache */
  int64_t made;  /* end of what the share has made so far; `begin` where that is nothing */
  int64_t end;   /* once the launch has gone on */
} hone_turn_held_t;

/* While `launch`, which writes or reads the window's value, is run on to before round `end`. */
hone_turn_held_t hone_turn_held(const hone_turn_walk_t* walk, const hone_turn_window_t* window,
                                int launch, int64_t end);

#endif
