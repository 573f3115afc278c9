/* Joining spaces, and taking candidates apart again. */
#include "tune/tactic_set.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "hone/template.h"
#include "tune/apply.h"

/* A candidate has to be so much faster than the default to be used instead. */
static const double worthwhile = 0.97;

/* ---- candidates ---- */

static const hone_tactic_entry_t* entry_of(const hone_tactic_set_t* set,
                                           const hone_candidate_t* candidate) {
  return &set->entries[candidate->choice[0] < set->n_entries ? candidate->choice[0] : 0];
}

static hone_candidate_t part_of(const hone_tactic_entry_t* entry,
                                const hone_candidate_t* candidate) {
  hone_candidate_t part = {{0}};
  for (int i = 0; i < hone_space_parameter_count(entry->space); i++)
    part.choice[i] = candidate->choice[entry->first + i];
  return part;
}

static void put_part(const hone_tactic_entry_t* entry, const hone_candidate_t* part,
                     hone_candidate_t* candidate) {
  for (int i = 0; i < hone_space_parameter_count(entry->space); i++)
    candidate->choice[entry->first + i] = part->choice[i];
}

static void put_default(const hone_tactic_entry_t* entry, hone_candidate_t* candidate) {
  hone_candidate_t part = hone_space_default(entry->space);
  put_part(entry, &part, candidate);
}

static void settle(const hone_space_t* space, void* context, hone_candidate_t* candidate) {
  const hone_tactic_set_t* set = context;
  for (int i = 0; i < set->n_entries; i++)
    if (i != candidate->choice[0]) put_default(&set->entries[i], candidate);
}

static bool holds(const hone_space_t* space, const hone_candidate_t* candidate, void* context) {
  const hone_tactic_entry_t* entry = entry_of(context, candidate);
  hone_candidate_t part = part_of(entry, candidate);
  return hone_space_is_valid(entry->space, &part);
}

const hone_tactic_t* hone_tactic_set_chosen(const hone_tactic_set_t* set,
                                            const hone_candidate_t* candidate) {
  return entry_of(set, candidate)->tactic;
}

hone_status_t hone_tactic_set_build(const hone_tactic_set_t* set, hone_kernel_t* kernel,
                                    const hone_candidate_t* candidate) {
  const hone_tactic_entry_t* entry = entry_of(set, candidate);
  hone_candidate_t part = part_of(entry, candidate);
  const hone_template_t* form = entry->tactic->form;
  if (form) return form->schedule(form->self, entry->space, &part, kernel);
  return entry->tactic->build(kernel, &set->properties, entry->space, &part);
}

double hone_tactic_set_cost(const hone_tactic_set_t* set, const hone_candidate_t* candidate) {
  const hone_tactic_entry_t* entry = entry_of(set, candidate);
  hone_candidate_t part = part_of(entry, candidate);
  return entry->tactic->cost(entry->facts, &set->properties, entry->space, &part);
}

/* ---- making ---- */

/* Puts it where its order says. */
static void insert(hone_tactic_set_t* set, const hone_tactic_t* tactic) {
  int at = set->n_entries++;
  for (; at > 0 && set->entries[at - 1].tactic->order > tactic->order; at--)
    set->entries[at] = set->entries[at - 1];
  set->entries[at] = (hone_tactic_entry_t){.tactic = tactic};
}

static hone_status_t collect(hone_tactic_set_t* set, hone_kernel_t* kernel,
                             const hone_tactic_t* (*tactic)(const hone_device_t*, int),
                             const hone_device_t* device) {
  char why[HONE_DEVICE_TEXT_SIZE] = "", all[2 * HONE_DEVICE_TEXT_SIZE] = "";
  const hone_tactic_t* next;
  for (int i = 0; (next = tactic(device, i)) && set->n_entries < HONE_TACTIC_SET_MOST; i++) {
    size_t length = strlen(all);
    if (next->supports(kernel, &set->properties, why))
      insert(set, next);
    else
      snprintf(all + length, sizeof all - length, "%s%s: %s", length ? "; " : "", next->name, why);
  }
  if (set->n_entries) return NULL;
  return hone_status_make(HONE_UNSUPPORTED, "no tactic builds it: %s", all);
}

static hone_status_t join(hone_tactic_set_t* set, hone_tactic_entry_t* entry) {
  char name[64];
  entry->first = hone_space_parameter_count(set->space);
  for (int i = 0; i < hone_space_parameter_count(entry->space); i++) {
    const hone_parameter_t* parameter = hone_space_parameter(entry->space, i);
    snprintf(name, sizeof name, "%s.%s", entry->tactic->name, parameter->name);
    HONE_TRY(hone_space_define_like(set->space, name, parameter));
  }
  return NULL;
}

/* Another tactic than the first has to promise so much less to be taken unmeasured. */
static const double promising = 0.4;

/* The default of the tactic at `index`. */
static hone_candidate_t begin_at(const hone_tactic_set_t* set, int index) {
  hone_candidate_t candidate = {.choice = {(uint16_t)index}};
  for (int i = 0; i < set->n_entries; i++) put_default(&set->entries[i], &candidate);
  return candidate;
}

/* The first in order, unless a later one promises much more: the model knows less
 * of kernels than whoever ordered the tactics, and nothing of sizes that vary. */
static void choose_default(const hone_kernel_t* kernel, hone_tactic_set_t* set) {
  hone_candidate_t best = {{0}};
  double least = INFINITY;
  for (int i = 0; i < set->n_entries; i++) {
    hone_candidate_t candidate = begin_at(set, i);
    double seconds = hone_tactic_set_cost(set, &candidate);
    hone_log_write(HONE_LOG_DEBUG, "%s by %s: %.3g us expected", kernel->name,
                   set->entries[i].tactic->name, seconds * 1e6);
    bool has_to_be_measured = set->entries[i].tactic->only_measured;
    if (has_to_be_measured) hone_space_add_start(set->space, &candidate);
    if (i && (has_to_be_measured || !(seconds < least * promising))) continue;
    best = candidate;
    least = seconds;
  }
  hone_space_set_default(set->space, &best);
}

static hone_status_t define(const hone_tactic_set_t* set, hone_kernel_t* kernel,
                            hone_tactic_entry_t* entry) {
  const hone_template_t* form = entry->tactic->form;
  HONE_TRY(hone_space_create(set->allocator, &entry->space));
  HONE_TRY(entry->tactic->space(kernel, &set->properties, set->arena, entry->space, &entry->facts));
  return form ? form->space(form->self, entry->space) : NULL;
}

static hone_status_t fill(hone_tactic_set_t* set, hone_kernel_t* kernel) {
  const char* names[HONE_TACTIC_SET_MOST];
  for (int i = 0; i < set->n_entries; i++) {
    hone_tactic_entry_t* entry = &set->entries[i];
    size_t length = strlen(set->name);
    names[i] = entry->tactic->name;
    snprintf(set->name + length, sizeof set->name - length, "%s%s", i ? "+" : "", names[i]);
    HONE_TRY(define(set, kernel, entry));
  }
  HONE_TRY(hone_space_create(set->allocator, &set->space));
  HONE_TRY(hone_space_define_words(set->space, "tactic", set->n_entries, names));
  for (int i = 0; i < set->n_entries; i++) HONE_TRY(join(set, &set->entries[i]));
  hone_space_set_settle(set->space, settle, set);
  HONE_TRY(hone_space_add_rule(set->space, holds, set));
  choose_default(kernel, set);
  return NULL;
}

static hone_status_t begin(const hone_allocator_t* allocator,
                           const hone_device_properties_t* properties,
                           hone_tactic_set_t** out_set) {
  hone_tactic_set_t* set = *out_set = hone_alloc(allocator, sizeof *set);
  if (!set) return hone_oom();
  set->allocator = allocator;
  set->properties = *properties;
  return hone_arena_create(allocator, &set->arena);
}

/* Gives the status on, and no set with a failure. */
static hone_status_t end(hone_status_t status, hone_tactic_set_t** set) {
  if (!status) return NULL;
  hone_tactic_set_destroy(*set);
  *set = NULL;
  return status;
}

hone_status_t hone_tactic_set_create(const hone_allocator_t* allocator, hone_kernel_t* kernel,
                                     const hone_device_properties_t* properties,
                                     const hone_tactic_t* (*tactic)(const hone_device_t*, int),
                                     const hone_device_t* device, hone_tactic_set_t** out_set) {
  hone_status_t status = begin(allocator, properties, out_set);
  if (!status) status = collect(*out_set, kernel, tactic, device);
  if (!status) status = fill(*out_set, kernel);
  return end(status, out_set);
}

hone_status_t hone_tactic_set_create_single(const hone_allocator_t* allocator,
                                            hone_kernel_t* kernel,
                                            const hone_device_properties_t* properties,
                                            const hone_tactic_t* tactic,
                                            hone_tactic_set_t** out_set) {
  hone_status_t status = begin(allocator, properties, out_set);
  if (!status) {
    insert(*out_set, tactic);
    status = fill(*out_set, kernel);
  }
  return end(status, out_set);
}

void hone_tactic_set_destroy(hone_tactic_set_t* set) {
  if (!set) return;
  for (int i = 0; i < set->n_entries; i++) hone_space_destroy(set->entries[i].space);
  hone_space_destroy(set->space);
  hone_arena_destroy(set->arena);
  hone_free(set->allocator, set, sizeof *set);
}

/* ---- what was tuned ---- */

hone_tune_key_t hone_tactic_set_key(const hone_tactic_set_t* set, const char* digest,
                                    char out_device[HONE_TUNE_DEVICE_SIZE]) {
  const hone_device_properties_t* p = &set->properties;
  snprintf(out_device, HONE_TUNE_DEVICE_SIZE, "%s%s%s, %d units%s", p->model, *p->model ? ", " : "",
           p->target, p->compute_units, p->deterministic ? ", deterministic" : "");
  hone_tune_key_t key = {.kernel = digest,
                         .tactic = set->name,
                         .device = out_device,
                         .driver = p->driver,
                         .compiler = p->compiler};
  return hone_tune_key_complete(&key);
}

/* Whether it is faster than what took `before` (0: not known) by more than measurements stray. */
static bool is_faster(double seconds, double before) {
  return before <= 0 || seconds < worthwhile * before;
}

static bool is_default(const hone_tactic_set_t* set, const hone_candidate_t* candidate) {
  hone_candidate_t first = hone_space_default(set->space);
  return memcmp(candidate, &first, sizeof first) == 0;
}

/* The candidate of a record that was measured well; false: it is none of the set. */
static hone_status_t read_candidate(const hone_tactic_set_t* set, const hone_tune_record_t* record,
                                    bool* out_fits, hone_candidate_t* out_candidate) {
  *out_fits = false;
  if (record->outcome != HONE_OUTCOME_OK) return NULL;
  return hone_tune_record_candidate(record, set->space, out_fits, out_candidate);
}

typedef struct look {
  const hone_tactic_set_t* set;
  hone_tuned_t* tuned;
  bool has_candidate;
} look_t;

/* The fastest come first. */
static hone_status_t take(void* context, const hone_tune_record_t* record) {
  look_t* look = context;
  hone_tuned_t* tuned = look->tuned;
  hone_candidate_t candidate;
  bool fits;
  HONE_TRY(read_candidate(look->set, record, &fits, &candidate));
  if (!fits) return NULL;
  bool is_first = is_default(look->set, &candidate);
  if (is_first) tuned->default_seconds = record->seconds;
  tuned->trials++;
  tuned->refused += record->verdict == HONE_VERDICT_REFUSED;
  bool is_untested = !is_first && record->verdict == HONE_VERDICT_NONE;
  if (is_untested && tuned->untested <= 0) tuned->untested = record->seconds;
  if (look->has_candidate || (!is_first && record->verdict != HONE_VERDICT_CONFIRMED)) return NULL;
  look->has_candidate = true;
  tuned->candidate = candidate;
  tuned->seconds = record->seconds;
  return NULL;
}

hone_status_t hone_tactic_set_tuned(const hone_tactic_set_t* set, hone_tune_db_t* db,
                                    const hone_tune_key_t* key, hone_tuned_t* out_tuned) {
  look_t look = {.set = set, .tuned = out_tuned};
  hone_candidate_t first = hone_space_default(set->space);
  *out_tuned = (hone_tuned_t){.candidate = first};
  HONE_TRY(hone_tune_db_each(db, key, false, take, &look));
  out_tuned->found = out_tuned->trials > 0;
  if (!look.has_candidate || !is_faster(out_tuned->seconds, out_tuned->default_seconds)) {
    out_tuned->candidate = first;
    out_tuned->seconds = out_tuned->default_seconds;
  }
  if (!is_faster(out_tuned->untested, out_tuned->seconds)) out_tuned->untested = 0;
  return NULL;
}

/* ---- what may be worth it ---- */

typedef struct seek {
  const hone_tactic_set_t* set;
  hone_arena_t* arena;
  bool retry;
  hone_offers_t* offers;
} seek_t;

static hone_status_t note_offer(void* context, const hone_tune_record_t* record) {
  const seek_t* seek = context;
  hone_offers_t* offers = seek->offers;
  hone_candidate_t candidate;
  bool fits;
  HONE_TRY(read_candidate(seek->set, record, &fits, &candidate));
  if (!fits) return NULL;
  if (is_default(seek->set, &candidate)) {
    offers->default_seconds = record->seconds;
    return NULL;
  }
  if (record->verdict == HONE_VERDICT_REFUSED && !seek->retry) return NULL;
  bool is_confirmed = record->verdict == HONE_VERDICT_CONFIRMED;
  hone_offer_t* offer = is_confirmed ? &offers->confirmed : &offers->untested;
  if (offer->parameters) return NULL;
  offer->seconds = record->seconds;
  offer->parameters = hone_arena_strdup(seek->arena, record->parameters);
  return offer->parameters ? NULL : hone_oom();
}

hone_status_t hone_tactic_set_offers(const hone_tactic_set_t* set, hone_tune_db_t* db,
                                     const hone_tune_key_t* key, bool retry, hone_arena_t* arena,
                                     hone_offers_t* out_offers) {
  static const hone_offer_t none = {0};
  seek_t seek = {set, arena, retry, out_offers};
  *out_offers = (hone_offers_t){0};
  HONE_TRY(hone_tune_db_each(db, key, false, note_offer, &seek));
  if (!is_faster(out_offers->confirmed.seconds, out_offers->default_seconds))
    out_offers->confirmed = none;
  double now = out_offers->confirmed.parameters ? out_offers->confirmed.seconds
                                                : out_offers->default_seconds;
  if (!is_faster(out_offers->untested.seconds, now)) out_offers->untested = none;
  return NULL;
}
