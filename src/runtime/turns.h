/* Turns: launches that follow one another and are run part by part, some rounds of the
 * first, what these allow of the second, and so on, so that what one makes is still
 * in the cache when the next reads it, and threads wait for one another once instead of after
 * each launch. The layers of an inverted residual block are such launches.
 *
 * Which rounds need which others follows from spans (loop/span.h). Turns end where data is
 * narrow: a launch makes less than it read, and the next makes more of that. To the memory plan
 * the launches are one step. */
#ifndef HONE_RUNTIME_TURNS_H
#define HONE_RUNTIME_TURNS_H

#include "runtime/program.h"

typedef struct hone_turns {
  int first; /* step */
  hone_turn_plan_t plan;
  hone_turn_window_t windows[HONE_TURNS_WINDOWS]; /* the plan's */
  hone_turn_part_t* parts[HONE_TURNS_WINDOWS];    /* theirs */
} hone_turns_t;

/* Fills routine->turns, once places and lifetimes are known. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_routine_find_turns(const hone_program_t* program,
                                                    hone_routine_t* routine);
/* The turns that the step is one of; NULL: it runs by itself. */
const hone_turns_t* hone_turns_of(const hone_routine_t* routine, int step);
/* The first step that runs together with `step`, which may be one past the last. */
int hone_turns_first(const hone_routine_t* routine, int step);
/* Whether no launch that takes turns with `step` touches the value, but the one that makes it. */
bool hone_turns_spare(const hone_routine_t* routine, int step, int value);

/* Bytes of the value, where they are known; else 0. */
int64_t hone_turns_bytes(const hone_program_value_t* value);

/* turn_shares.c: cuts `n_shares` shares of about equal work out of launches with so many rounds,
 * each launch of a certain weight: out_begins as in hone/backend.h. Gives by which part of a share
 * the least equal one is too small or too large at an end. */
double hone_turns_cut(hone_turn_plan_t* plan, const int64_t* rounds, const double* weights,
                      int64_t* out_begins);

/* turn_windows.c: finds windows for what the turns' launches hand on; all but those is in the plan.
 * Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_turns_find_windows(const hone_program_t* program,
                                                    hone_routine_t* routine, hone_turns_t* turns);
/* Once all turns have theirs: where in the run the windows' block is needed, and which part of it
 * is each share's: the same in all turns, so that a thread finds it in its cache. */
void hone_turns_spread_windows(hone_routine_t* routine);
/* Sets the window's parts, which have room for what the plan's shares need and as many bytes more,
 * each in a block of its share from byte `at` on; `parts` has room for one of each. Gives where the
 * last of them ends; -1: there can be none. */
int64_t hone_turns_place_window(const hone_turn_plan_t* plan, int64_t more, int64_t at,
                                hone_turn_window_t* window, hone_turn_part_t* parts);
/* The blocks, of so many bytes, come one after the other. */
void hone_turns_part_blocks(const hone_turn_plan_t* plan, int64_t bytes, hone_turn_part_t* parts);

#endif
