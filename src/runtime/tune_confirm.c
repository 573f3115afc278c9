/* What was found for kernels is put to whole runs, and the verdicts are kept. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "runtime/tune_model.h"

/* ---- the candidates ---- */

static void add_item(hone_tuning_t* t, hone_tuned_kernel_t* kernel, const hone_offer_t* offer,
                     double before, bool trusted, hone_confirm_item_t* asked) {
  if (!offer->parameters) return;
  asked[t->n_items] =
      (hone_confirm_item_t){.gain = kernel->count * (before - offer->seconds), .trusted = trusted};
  t->items[t->n_items++] = (hone_tuning_item_t){kernel, *offer};
}

/* What is in use, and what is faster still, of each kernel. */
static hone_status_t collect(hone_tuning_t* t, hone_confirm_item_t** out_asked) {
  size_t most = 2 * (size_t)t->n_kernels;
  hone_confirm_item_t* asked = *out_asked = hone_arena_array(t->arena, most, sizeof *asked);
  t->items = hone_arena_array(t->arena, most, sizeof *t->items);
  if (!t->items || !asked) return hone_oom();
  for (int i = 0; i < t->n_kernels; i++) {
    hone_tuned_kernel_t* kernel = t->kernels[i];
    hone_offers_t offers;
    if (!kernel->set) continue;
    const hone_tune_key_t key = hone_tuning_key(kernel);
    HONE_TRY(hone_tactic_set_offers(kernel->set, t->database, &key, t->options.retry_failures,
                                    t->arena, &offers));
    double first = offers.default_seconds, used = offers.confirmed.seconds;
    add_item(t, kernel, &offers.confirmed, first, true, asked);
    add_item(t, kernel, &offers.untested, used > 0 ? used : first, false, asked);
  }
  return NULL;
}

/* ---- verdicts ---- */

/* Defaults need no runs: they are what compiling takes anyway. */
static hone_status_t confirm_default(const hone_tuning_t* t, hone_tuned_kernel_t* kernel) {
  hone_str_t text;
  hone_candidate_t first = hone_space_default(kernel->set->space);
  const hone_tune_key_t key = hone_tuning_key(kernel);
  hone_str_init(&text, t->allocator);
  hone_candidate_print(kernel->set->space, &first, &text);
  hone_status_t status = text.failed ? hone_oom()
                                     : hone_tune_db_rule(t->database, &key, hone_str_text(&text),
                                                         HONE_VERDICT_CONFIRMED);
  hone_str_free(&text);
  return status;
}

static hone_status_t confirm_defaults(const hone_tuning_t* t) {
  hone_status_t status = NULL;
  HONE_TRY(hone_tune_db_begin(t->database));
  for (int i = 0; i < t->n_kernels && !status; i++)
    if (t->kernels[i]->set) status = confirm_default(t, t->kernels[i]);
  return hone_tune_db_end(t->database, status);
}

hone_tune_record_t hone_tuning_record(const hone_tuning_item_t* item, hone_verdict_t verdict) {
  return (hone_tune_record_t){.key = hone_tuning_key(item->kernel),
                              .label = item->kernel->lowered->name,
                              .parameters = item->offer.parameters,
                              .outcome = HONE_OUTCOME_OK,
                              .verdict = verdict,
                              .seconds = item->offer.seconds,
                              .message = "",
                              .when = (int64_t)time(NULL)};
}

/* All of a group or none: what was confirmed together belongs together. */
static hone_status_t keep(const hone_tuning_t* t, const hone_confirm_decision_t* decision) {
  hone_status_t status = NULL;
  HONE_TRY(hone_tune_db_begin(t->database));
  for (int i = 0; i < decision->count && !status; i++) {
    const hone_tuning_item_t* item = &t->items[decision->items[i]];
    const hone_tune_key_t key = hone_tuning_key(item->kernel);
    status = hone_tune_db_rule(t->database, &key, item->offer.parameters, decision->verdict);
  }
  return hone_tune_db_end(t->database, status);
}

static bool tell(const hone_tuning_t* t, const hone_confirm_decision_t* decision) {
  char message[64];
  if (!t->options.progress) return true;
  double spent = hone_clock_now(NULL) - t->start;
  const char* ending = decision->count == 1 ? "" : "s";
  if (decision->gain > 0)
    snprintf(message, sizeof message, "%.3f times as fast with %d kernel%s", decision->gain,
             decision->count, ending);
  else
    snprintf(message, sizeof message, "it fails with %d kernel%s", decision->count, ending);
  const hone_tuning_progress_t told = {.kernel = "whole runs",
                                       .parameters = "",
                                       .outcome = hone_verdict_name(decision->verdict),
                                       .message = message,
                                       .trials = t->report.trials,
                                       .spent = spent,
                                       .left = fmax(t->options.budget_seconds - spent, 0)};
  return t->options.progress(t->options.progress_self, &told);
}

/* The log has only what the database has. */
static hone_status_t put_down(hone_tuning_t* t, const hone_confirm_decision_t* decision) {
  hone_status_t status = keep(t, decision);
  if (status || !t->log) return status;
  for (int i = 0; i < decision->count && !status; i++) {
    const hone_tune_record_t record =
        hone_tuning_record(&t->items[decision->items[i]], decision->verdict);
    status = hone_tuning_log(t, &record);
  }
  t->log_failed = status != NULL;
  return status;
}

static hone_status_t decided(void* context, const hone_confirm_decision_t* decision,
                             bool* out_more) {
  HONE_TRY(put_down(context, decision));
  *out_more = tell(context, decision);
  return NULL;
}

/* ---- the whole ---- */

/* Without a whole the kernel is all there is: its own time decides. */
static hone_status_t confirm_all(hone_tuning_t* t) {
  for (int i = 0; i < t->n_items; i++)
    HONE_TRY(put_down(t, &(hone_confirm_decision_t){1, &i, HONE_VERDICT_CONFIRMED, 0}));
  t->report.n_confirmed = t->n_items;
  return NULL;
}

static hone_status_t run_wholes(hone_tuning_t* t, const hone_confirm_item_t* asked,
                                double run_seconds) {
  hone_confirm_report_t told;
  hone_verdict_t* verdicts = hone_arena_array(t->arena, (size_t)t->n_items, sizeof *verdicts);
  const hone_confirm_options_t options = {.deadline = t->start + t->options.budget_seconds,
                                          .open_seconds = 1.5 * t->plan_seconds,
                                          .run_seconds = 2 * run_seconds,
                                          .decided = decided,
                                          .decided_context = t};
  if (!verdicts) return hone_oom();
  hone_status_t status =
      hone_confirm(t->allocator, t->n_items, asked, &t->whole, &options, verdicts, &told);
  if (told.pairs) t->report.whole_gain = told.gain;
  for (int i = 0; i < t->n_items; i++) {
    t->report.n_confirmed += verdicts[i] == HONE_VERDICT_CONFIRMED;
    t->report.n_refused += verdicts[i] == HONE_VERDICT_REFUSED;
    t->report.n_untested += verdicts[i] == HONE_VERDICT_NONE;
  }
  return status;
}

static hone_status_t confirm(hone_tuning_t* t, double run_seconds) {
  hone_confirm_item_t* asked;
  HONE_TRY(confirm_defaults(t));
  HONE_TRY(collect(t, &asked));
  if (!t->n_items) return NULL;
  return t->whole.open ? run_wholes(t, asked, run_seconds) : confirm_all(t);
}

/* Rigs have done their work: their memory is given back first. Whatever wholes meet, out of
 * memory too, is reported beside what the trials found; only the log is the caller's concern. */
hone_status_t hone_tuning_confirm(hone_tuning_t* t, double run_seconds) {
  for (int i = 0; i < t->n_kernels; i++) {
    hone_rig_destroy(t->kernels[i]->rig);
    t->kernels[i]->rig = NULL;
  }
  hone_status_t status = confirm(t, run_seconds);
  if (!status || t->log_failed) return status;
  t->report.whole_error = hone_arena_strdup(t->arena, hone_status_message(status));
  hone_status_free(status);
  return t->report.whole_error ? NULL : hone_oom();
}
