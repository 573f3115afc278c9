/* Choices are kept by the kernels' digests. */
#include "runtime/chooser.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"

struct hone_chooser {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_device_properties_t properties;
  const hone_tactic_t* tactic; /* the only one; NULL: those of the backend */
  hone_tune_db_t* database;    /* NULL: none, or it failed */
  bool is_borrowed;            /* the database */
  bool has_lost;               /* it was there, and failed */
  hone_map_t choices;          /* digest to hone_choice_t */
};

/* ---- the database ---- */

static void close_database(hone_chooser_t* c) {
  if (!c->is_borrowed) hone_tune_db_close(c->database);
  c->database = NULL;
}

/* Warns, and goes on without. */
static hone_status_t lose_database(hone_chooser_t* c, hone_status_t status) {
  if (!status || hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  hone_log_write(HONE_LOG_WARNING, "compiling goes on without what was tuned: %s",
                 hone_status_message(status));
  hone_status_free(status);
  close_database(c);
  c->has_lost = true;
  return NULL;
}

static hone_status_t open_database(hone_chooser_t* c, const hone_chooser_options_t* options) {
  const char* named = options->database;
  char* path = NULL;
  c->is_borrowed = options->opened != NULL;
  c->database = options->opened;
  if (c->is_borrowed) return NULL;
  if (named) {
    hone_status_t status = hone_tune_db_open(c->allocator, named, HONE_TUNE_DB_READ, &c->database);
    return hone_status_code(status) == HONE_NOT_FOUND ? status : lose_database(c, status);
  }
  hone_status_t none = hone_tune_db_default_path(c->arena, &path);
  if (hone_status_code(none) == HONE_OUT_OF_MEMORY) return none;
  bool is_there = !none && access(path, F_OK) == 0;
  hone_status_free(none);
  if (!is_there) return NULL;
  return lose_database(c, hone_tune_db_open(c->allocator, path, HONE_TUNE_DB_READ, &c->database));
}

/* What times depend on is only found out where there are times. */
static hone_status_t identify(hone_chooser_t* c) {
  if (!c->database || !c->backend->identify) return NULL;
  return c->backend->identify(c->device, &c->properties);
}

hone_status_t hone_chooser_create(const hone_allocator_t* allocator, const hone_backend_t* backend,
                                  hone_device_t* device, const hone_chooser_options_t* options,
                                  hone_chooser_t** out_chooser) {
  *out_chooser = NULL;
  hone_chooser_t* c = hone_alloc(allocator, sizeof *c);
  if (!c) return hone_oom();
  c->allocator = allocator;
  c->backend = backend;
  c->device = device;
  c->tactic = options->tactic;
  hone_map_init(&c->choices, allocator);
  backend->properties(device, &c->properties);
  hone_status_t status = hone_arena_create(allocator, &c->arena);
  bool has_tactics = c->tactic || backend->tactic;
  if (!status && has_tactics && !options->no_tuned) status = open_database(c, options);
  if (!status) status = identify(c);
  if (status)
    hone_chooser_destroy(c);
  else
    *out_chooser = c;
  return status;
}

void hone_chooser_destroy(hone_chooser_t* c) {
  if (!c) return;
  size_t cursor = 0;
  for (hone_map_entry_t* e; (e = hone_map_next(&c->choices, &cursor));)
    hone_tactic_set_destroy(((hone_choice_t*)e->value)->set);
  hone_map_free(&c->choices);
  close_database(c);
  hone_arena_destroy(c->arena);
  hone_free(c->allocator, c, sizeof *c);
}

bool hone_chooser_has_lost(const hone_chooser_t* c) { return c->has_lost; }

/* ---- choosing ---- */

/* The default is best only where no other was faster alone and put to whole runs, or is to be. */
static const char* say_default(const hone_chooser_t* c, const hone_tuned_t* tuned) {
  char refused[48] = "";
  if (tuned->refused) snprintf(refused, sizeof refused, "; whole runs refused %d", tuned->refused);
  if (!tuned->refused && tuned->untested <= 0)
    return hone_arena_format(c->arena, "tuned: the default is best of %d trials", tuned->trials);
  return hone_arena_format(c->arena, "tuned: the default stays after %d trials%s%s", tuned->trials,
                           refused,
                           tuned->untested > 0 ? "; a faster one waits for whole runs" : "");
}

static const char* say_tuned(const hone_chooser_t* c, const hone_choice_t* choice,
                             const hone_tuned_t* tuned) {
  if (!choice->is_tuned) return say_default(c, tuned);
  if (tuned->default_seconds > 0)
    return hone_arena_format(c->arena, "tuned: %d trials, %.2f of the default's speed",
                             tuned->trials, tuned->default_seconds / tuned->seconds);
  return hone_arena_format(c->arena, "tuned: best of %d trials", tuned->trials);
}

/* True where the database decided. */
static hone_status_t ask_database(hone_chooser_t* c, hone_choice_t* choice, bool* out_found) {
  char device[HONE_TUNE_DEVICE_SIZE];
  hone_tuned_t tuned;
  *out_found = false;
  if (!c->database) return NULL;
  hone_tune_key_t key = hone_tactic_set_key(choice->set, choice->digest, device);
  hone_status_t status = hone_tactic_set_tuned(choice->set, c->database, &key, &tuned);
  if (status) return lose_database(c, status);
  if (!tuned.found) return NULL;
  hone_candidate_t first = hone_space_default(choice->set->space);
  *out_found = true;
  choice->candidate = tuned.candidate;
  choice->seconds = tuned.seconds > 0 ? tuned.seconds : hone_tactic_set_cost(choice->set, &first);
  choice->is_tuned = hone_space_index(choice->set->space, &tuned.candidate) !=
                     hone_space_index(choice->set->space, &first);
  choice->why = say_tuned(c, choice, &tuned);
  return choice->why ? NULL : hone_oom();
}

static hone_status_t ask_model(const hone_chooser_t* c, hone_choice_t* choice) {
  int count = choice->set->n_entries;
  choice->candidate = hone_space_default(choice->set->space);
  choice->seconds = hone_tactic_set_cost(choice->set, &choice->candidate);
  choice->why =
      count == 1 ? "the only tactic" : hone_arena_format(c->arena, "cost model: best of %d", count);
  return choice->why ? NULL : hone_oom();
}

bool hone_chooser_retreat(hone_chooser_t* c, hone_choice_t* choice, hone_status_t refusal) {
  if (!choice->is_tuned || hone_status_code(refusal) == HONE_OUT_OF_MEMORY) return false;
  const char* message = hone_status_message(refusal);
  const char* why =
      hone_arena_format(c->arena, "what was tuned is refused (%s): cost model", message);
  if (!why) return false;
  hone_log_write(HONE_LOG_WARNING, "a kernel is compiled without what was tuned for it: %s",
                 message);
  hone_status_free(refusal);
  choice->candidate = hone_space_default(choice->set->space);
  choice->seconds = hone_tactic_set_cost(choice->set, &choice->candidate);
  choice->tactic = hone_tactic_set_chosen(choice->set, &choice->candidate)->name;
  choice->is_tuned = false;
  choice->why = why;
  return true;
}

static hone_status_t make_set(const hone_chooser_t* c, hone_kernel_t* kernel,
                              hone_choice_t* choice) {
  if (c->tactic)
    return hone_tactic_set_create_single(c->allocator, kernel, &c->properties, c->tactic,
                                         &choice->set);
  return hone_tactic_set_create(c->allocator, kernel, &c->properties, c->backend->tactic, c->device,
                                &choice->set);
}

static hone_status_t choose(hone_chooser_t* c, hone_kernel_t* kernel, hone_choice_t* choice) {
  bool found;
  if (!c->tactic && !c->backend->tactic) {
    choice->tactic = "schedule";
    choice->why = "the only one of the backend";
    return NULL;
  }
  HONE_TRY(make_set(c, kernel, choice));
  HONE_TRY(ask_database(c, choice, &found));
  if (!found) HONE_TRY(ask_model(c, choice));
  choice->tactic = hone_tactic_set_chosen(choice->set, &choice->candidate)->name;
  return NULL;
}

/* The choice for the kernel, made where there is none; what failed is not kept. */
hone_status_t hone_chooser_find(hone_chooser_t* c, hone_kernel_t* kernel,
                                hone_choice_t** out_choice) {
  char digest[HONE_KERNEL_DIGEST_SIZE];
  HONE_TRY(hone_kernel_digest(kernel, digest));
  *out_choice = hone_map_get(&c->choices, digest);
  if (*out_choice) return NULL;
  hone_choice_t* choice = hone_arena_alloc(c->arena, sizeof *choice);
  if (!choice) return hone_oom();
  snprintf(choice->digest, sizeof choice->digest, "%s", digest);
  choice->entry = -1;
  hone_status_t status = choose(c, kernel, choice);
  if (!status) status = hone_map_put(&c->choices, choice->digest, choice);
  if (status) hone_tactic_set_destroy(choice->set);
  *out_choice = choice;
  return status;
}

hone_status_t hone_chooser_build(hone_chooser_t* c, const hone_choice_t* choice,
                                 hone_kernel_t* kernel) {
  if (!choice->set) return c->backend->schedule(c->device, kernel);
  return hone_tactic_set_build(choice->set, kernel, &choice->candidate);
}

hone_status_t hone_chooser_schedule(hone_chooser_t* c, hone_kernel_t* kernel,
                                    hone_choice_t** out_choice) {
  HONE_TRY(hone_chooser_find(c, kernel, out_choice));
  return hone_chooser_build(c, *out_choice, kernel);
}
