/* Groups, pairs of runs, and the test that decides. */
#include "tune/confirm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

enum {
  LOTS = 2,        /* comparisons that must agree, each with wholes made anew */
  MOST_GROUPS = 80 /* waiting: each halving of at most 2^31 items adds one */
};

/* Chance that a group without an effect passes one look at one lot. */
static const double chance = 0.002;

/* The share of pairs that have to be faster for more of them to be run. */
static const double hopeful = 0.55;

/* Pairs after which a decision is tried, the last of them HONE_CONFIRM_MOST_PAIRS. */
static const int looks[] = {10, 16, 24, 36, HONE_CONFIRM_MOST_PAIRS};

/* ---- the test ---- */

/* The chance that a fair coin falls on one side `hits` times or more. */
static double tail(int count, int hits) {
  double sum = 0;
  for (int k = hits; k <= count; k++)
    sum += exp(lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) - count * log(2));
  return sum;
}

static bool is_look(int count) {
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
    if (looks[i] == count) return true;
  return false;
}

hone_compared_t hone_confirm_compare(int count, const double* speed) {
  int faster = 0;
  if (!is_look(count)) return HONE_COMPARED_UNDECIDED;
  for (int i = 0; i < count; i++) faster += speed[i] > 1 + HONE_CONFIRM_LEAST;
  if (tail(count, faster) < chance) return HONE_COMPARED_FASTER;
  bool is_hopeless = faster < hopeful * count || count >= HONE_CONFIRM_MOST_PAIRS;
  return is_hopeless ? HONE_COMPARED_NOT_FASTER : HONE_COMPARED_UNDECIDED;
}

/* ---- pairs ---- */

/* Items first, first + 1 … in the order of trial. */
typedef struct group {
  int first, count;
  bool trusted;
} group_t;

typedef struct confirming {
  const hone_confirm_driver_t* driver;
  const hone_confirm_options_t* options;
  const hone_confirm_item_t* items;
  int n_items;
  int* order;      /* indices of items, in the order of trial */
  bool *on, *with; /* by item: confirmed so far, and the same with the group at hand */
  void* base;      /* a whole with `on`, of the last comparison; NULL: none is open */
  hone_verdict_t* verdicts;
  double open_seconds, run_seconds; /* that the last one took */
  double seconds;                   /* of a run without the group at hand */
  /* Of the group at hand: its lots so far that were measured, the product of their gains, and
   * whether the last whole with it failed. */
  int lots;
  double gain;
  bool failed;
  hone_confirm_report_t* report;
} confirming_t;

static double now(const confirming_t* c) { return hone_clock_now(&c->options->clock); }

static bool is_time_for(const confirming_t* c, double seconds) {
  return now(c) + seconds <= c->options->deadline;
}

static hone_status_t open_whole(confirming_t* c, const bool* on, void** out_whole) {
  double start = now(c);
  hone_status_t status = c->driver->open(c->driver->context, on, out_whole);
  double took = now(c) - start;
  if (!status || took > c->open_seconds) c->open_seconds = took; /* failures may come early */
  return status;
}

static hone_status_t run_whole(confirming_t* c, void* whole, double* out_seconds) {
  double start = now(c);
  HONE_TRY(c->driver->run(c->driver->context, whole, out_seconds));
  double took = now(c) - start; /* the estimate is to be too long rather than too short */
  c->run_seconds = took > c->run_seconds ? took : (3 * c->run_seconds + took) / 4;
  return NULL;
}

/* The two wholes of a comparison. */
typedef struct rivals {
  void* with; /* the one without is the base */
  bool with_failed;
  bool seek_harm; /* whether the one without is faster is asked, not the one with */
} rivals_t;

/* A failure of the whole with the group is the group's; out of memory is nobody's. */
static hone_status_t blame(rivals_t* rivals, hone_status_t status) {
  if (!status || hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  hone_log_write(HONE_LOG_WARNING, "some of what was found fails in whole runs: %s",
                 hone_status_message(status));
  hone_status_free(status);
  rivals->with_failed = true;
  return NULL;
}

static void close_whole(const confirming_t* c, void** whole) {
  if (*whole) c->driver->close(c->driver->context, *whole);
  *whole = NULL;
}

/* So many wholes that are still to be opened, and the fewest pairs. */
static bool is_time_for_lot(const confirming_t* c, int n_opens) {
  return is_time_for(c, n_opens * c->open_seconds + 2 * looks[0] * c->run_seconds);
}

static hone_status_t open_with(confirming_t* c, rivals_t* rivals) {
  return blame(rivals, open_whole(c, c->with, &rivals->with));
}

/* The base of the comparison before serves again, but not in a lot that is to be made anew.
 * `*out_ready` false: the first of the two took so long that there is no time for the other. */
static hone_status_t open_rivals(confirming_t* c, rivals_t* rivals, bool anew, bool* out_ready) {
  *out_ready = false;
  if (anew) close_whole(c, &c->base);
  bool is_second_left = !c->base;
  if (anew)
    HONE_TRY(open_with(c, rivals));
  else if (!c->base)
    HONE_TRY(open_whole(c, c->on, &c->base));
  if (is_second_left && !is_time_for_lot(c, 1)) return NULL;
  HONE_TRY(anew ? open_whole(c, c->on, &c->base) : open_with(c, rivals));
  *out_ready = true;
  return NULL;
}

static hone_status_t run_pair(confirming_t* c, rivals_t* rivals, bool with_first,
                              double* out_speed) {
  double with = 0, without = 0;
  if (with_first) HONE_TRY(blame(rivals, run_whole(c, rivals->with, &with)));
  HONE_TRY(run_whole(c, c->base, &without));
  if (!with_first) HONE_TRY(blame(rivals, run_whole(c, rivals->with, &with)));
  *out_speed = with > 0 ? without / with : 1;
  c->seconds = without;
  c->report->pairs++;
  return NULL;
}

/* The first runs find memory and wake threads: they do not count. */
static hone_status_t run_pairs(confirming_t* c, rivals_t* rivals, hone_compared_t* out) {
  double speed[HONE_CONFIRM_MOST_PAIRS], one;
  int count = 0;
  *out = HONE_COMPARED_UNDECIDED;
  if (!is_time_for(c, 2 * c->run_seconds)) return NULL;
  HONE_TRY(run_pair(c, rivals, false, &one));
  while (*out == HONE_COMPARED_UNDECIDED && !rivals->with_failed) {
    if (!is_time_for(c, 2 * c->run_seconds)) return NULL;
    HONE_TRY(run_pair(c, rivals, count % 2, &one));
    speed[count++] = rivals->seek_harm ? 1 / one : one;
    *out = hone_confirm_compare(count, speed);
  }
  if (rivals->with_failed) return NULL;
  double median = hone_median(count, speed);
  c->gain *= rivals->seek_harm && median > 0 ? 1 / median : median;
  c->lots++;
  return NULL;
}

/* Wholes made anew, and as many pairs as it takes. */
static hone_status_t compare_lot(confirming_t* c, int lot, bool seek_harm, hone_compared_t* out) {
  rivals_t rivals = {.seek_harm = seek_harm};
  bool is_ready;
  *out = HONE_COMPARED_UNDECIDED;
  if (!is_time_for_lot(c, 2)) return NULL;
  hone_status_t status = open_rivals(c, &rivals, lot > 0, &is_ready);
  if (is_ready && !rivals.with_failed) status = run_pairs(c, &rivals, out);
  close_whole(c, &rivals.with);
  c->failed = is_ready && rivals.with_failed;
  if (c->failed) *out = seek_harm ? HONE_COMPARED_FASTER : HONE_COMPARED_NOT_FASTER;
  return status;
}

/* ---- groups ---- */

/* Of a group that was trusted: whether the whole is faster without; else with it. */
static hone_status_t compare(confirming_t* c, const group_t* group, hone_compared_t* out) {
  memcpy(c->with, c->on, (size_t)c->n_items * sizeof *c->with);
  for (int i = 0; i < group->count; i++) c->with[c->order[group->first + i]] = true;
  c->gain = 1;
  c->lots = 0;
  c->failed = false;
  int lots = 0;
  do HONE_TRY(compare_lot(c, lots, group->trusted, out));
  while (++lots < LOTS && *out == HONE_COMPARED_FASTER);
  c->gain = c->failed || !c->lots ? 0 : pow(c->gain, 1.0 / c->lots);
  if (c->gain > 0)
    hone_log_write(HONE_LOG_INFO, "whole runs with %d more of what was found: %.3f times as fast%s",
                   group->count, c->gain, *out == HONE_COMPARED_UNDECIDED ? " so far" : "");
  return NULL;
}

static hone_status_t decide(confirming_t* c, const group_t* group, hone_verdict_t verdict,
                            bool* out_more) {
  bool is_confirmed = verdict == HONE_VERDICT_CONFIRMED;
  const hone_confirm_decision_t decision = {
      .count = group->count, .items = c->order + group->first, .verdict = verdict, .gain = c->gain};
  HONE_TRY(c->options->decided(c->options->decided_context, &decision, out_more));
  for (int i = 0; i < group->count; i++) {
    int item = c->order[group->first + i];
    c->verdicts[item] = verdict;
    c->on[item] = is_confirmed;
  }
  if (is_confirmed) close_whole(c, &c->base);
  if (is_confirmed && c->gain > 0) c->report->gain *= c->gain;
  return NULL;
}

static bool is_divisible(const confirming_t* c, const group_t* group) {
  double promised = 0;
  for (int i = 0; i < group->count; i++) promised += c->items[c->order[group->first + i]].gain;
  return group->count > 1 && promised >= HONE_CONFIRM_DIVISIBLE * c->seconds;
}

/* The two halves of a group take its place, the first to be tried next. */
static int halve(const group_t* group, group_t* groups, int n_groups) {
  int half = group->count / 2;
  groups[n_groups++] = (group_t){group->first + half, group->count - half, group->trusted};
  groups[n_groups++] = (group_t){group->first, half, group->trusted};
  return n_groups;
}

/* Groups wait on a stack: what was confirmed before is tried first. */
static hone_status_t decide_all(confirming_t* c, int n_trusted) {
  group_t groups[MOST_GROUPS];
  int n_groups = 0;
  bool more = true;
  if (n_trusted < c->n_items)
    groups[n_groups++] = (group_t){n_trusted, c->n_items - n_trusted, false};
  if (n_trusted) groups[n_groups++] = (group_t){0, n_trusted, true};
  while (n_groups && more) {
    const group_t group = groups[--n_groups];
    hone_compared_t compared;
    HONE_TRY(compare(c, &group, &compared));
    if (compared == HONE_COMPARED_UNDECIDED) return NULL;
    bool is_good = (compared == HONE_COMPARED_FASTER) != group.trusted;
    if (is_good || !is_divisible(c, &group))
      HONE_TRY(decide(c, &group, is_good ? HONE_VERDICT_CONFIRMED : HONE_VERDICT_REFUSED, &more));
    else
      n_groups = halve(&group, groups, n_groups);
  }
  return NULL;
}

/* Trusted ones first, and of each kind those that promise most; equal ones as they came. */
static int put_in_order(const confirming_t* c) {
  int n_trusted = 0;
  for (int i = 0; i < c->n_items; i++) {
    int at = i;
    const hone_confirm_item_t* item = &c->items[i];
    for (; at > 0; at--) {
      const hone_confirm_item_t* before = &c->items[c->order[at - 1]];
      if (before->trusted > item->trusted) break;
      if (before->trusted == item->trusted && before->gain >= item->gain) break;
      c->order[at] = c->order[at - 1];
    }
    c->order[at] = i;
    n_trusted += item->trusted;
  }
  return n_trusted;
}

hone_status_t hone_confirm(const hone_allocator_t* allocator, int n_items,
                           const hone_confirm_item_t* items, const hone_confirm_driver_t* driver,
                           const hone_confirm_options_t* options, hone_verdict_t* out_verdicts,
                           hone_confirm_report_t* out_report) {
  *out_report = (hone_confirm_report_t){.gain = 1};
  for (int i = 0; i < n_items; i++) out_verdicts[i] = HONE_VERDICT_NONE;
  if (n_items == 0) return NULL;
  size_t count = (size_t)n_items, bytes = count * (sizeof(int) + 2 * sizeof(bool));
  int* order = hone_alloc(allocator, bytes);
  if (!order) return hone_oom();
  confirming_t c = {.driver = driver,
                    .options = options,
                    .items = items,
                    .n_items = n_items,
                    .order = order,
                    .on = (bool*)(order + count),
                    .with = (bool*)(order + count) + count,
                    .verdicts = out_verdicts,
                    .open_seconds = options->open_seconds,
                    .run_seconds = options->run_seconds,
                    .report = out_report};
  hone_status_t status = decide_all(&c, put_in_order(&c));
  close_whole(&c, &c.base);
  hone_free(allocator, order, bytes);
  return status;
}
