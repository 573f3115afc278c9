/* Templates: a tactic that a user wrote is the only one for its kernel. */
#include "hone/template.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "loop/verify.h"
#include "runtime/chooser.h"
#include "runtime/device.h"
#include "runtime/tune_model.h"

/* ---- the tactic ---- */

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why) {
  return true;
}

/* The parameters are the user's. */
static hone_status_t look(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                          hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  hone_cost_facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts) return hone_oom();
  *facts = hone_cost_look(kernel);
  *out_facts = facts;
  return NULL;
}

/* Nothing is known of what candidates do: all cost the same. */
static double cost(const void* facts, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  const hone_cost_facts_t* f = facts;
  return fmax(f->operations, f->accesses / 2) / hone_cost_clock(p);
}

static hone_tactic_t tactic_of(const hone_template_t* form) {
  return (hone_tactic_t){.name = form->name,
                         .summary = "a template",
                         .supports = supports,
                         .space = look,
                         .cost = cost,
                         .form = form};
}

static bool is_name(const char* name) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return name && *name && name[strspn(name, allowed)] == 0;
}

static hone_status_t check(const hone_template_t* form) {
  if (!form->kernel || !form->space || !form->schedule || !is_name(form->name))
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "a template needs a kernel, space, schedule, and a name of letters, "
                            "digits and '_'");
  return hone_kernel_verify(form->kernel);
}

/* ---- tuning ---- */

typedef struct subject {
  const hone_template_t* form;
  hone_tactic_t tactic;
} subject_t;

static hone_status_t make_rig(hone_tuning_t* t, hone_tuned_kernel_t* kernel,
                              const hone_tactic_t* tactic) {
  if (kernel->lowered->n_sizes)
    return hone_status_make(HONE_UNSUPPORTED, "kernel %s: its sizes vary, and a tuning needs some",
                            kernel->lowered->name);
  HONE_TRY(hone_tactic_set_create_single(t->allocator, kernel->lowered, &t->properties, tactic,
                                         &kernel->set));
  return hone_rig_create(&t->shared, kernel->lowered, NULL, kernel->set, &kernel->rig);
}

static hone_status_t collect(hone_tuning_t* t, const void* context) {
  const subject_t* subject = context;
  char digest[HONE_KERNEL_DIGEST_SIZE];
  HONE_TRY(hone_kernel_digest(subject->form->kernel, digest));
  HONE_TRY(hone_tuning_add(t, subject->form->kernel, digest, 0));
  hone_tuned_kernel_t* kernel = t->kernels[0];
  kernel->count = 1;
  kernel->told = (hone_tuning_kernel_t){.name = kernel->lowered->name,
                                        .origin = "",
                                        .tactic = "",
                                        .parameters = "",
                                        .skipped = "",
                                        .count = 1};
  return make_rig(t, kernel, &subject->tactic);
}

hone_status_t hone_template_tune(const hone_template_t* form, const hone_tuning_options_t* options,
                                 hone_tuning_t** out_tuning) {
  *out_tuning = NULL;
  HONE_TRY(check(form));
  const subject_t subject = {form, tactic_of(form)};
  return hone_tuning_run(options, collect, &subject, out_tuning);
}

/* ---- building ---- */

typedef struct builder {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_chooser_t* chooser;
  hone_kernel_t* kernel; /* a copy, which gets the schedule */
} builder_t;

static void close_builder(builder_t* b) {
  hone_kernel_destroy(b->kernel);
  hone_chooser_destroy(b->chooser);
  if (b->device) b->backend->close(b->device);
}

static hone_status_t open_builder(builder_t* b, const char* name,
                                  const hone_chooser_options_t* options) {
  const hone_open_options_t open = {.struct_size = sizeof open, .allocator = b->allocator};
  HONE_TRY(hone_device_open(name, &open, &b->backend, &b->device));
  return hone_chooser_create(b->allocator, b->backend, b->device, options, &b->chooser);
}

static hone_status_t describe(const builder_t* b, const hone_choice_t* choice,
                              hone_template_result_t* result) {
  hone_str_t text;
  hone_str_init(&text, b->allocator);
  hone_candidate_print(choice->set->space, &choice->candidate, &text);
  hone_status_t status = text.failed ? hone_oom() : NULL;
  snprintf(result->candidate, sizeof result->candidate, "%s", hone_str_text(&text));
  snprintf(result->why, sizeof result->why, "%s", choice->why);
  hone_str_free(&text);
  return status;
}

static hone_status_t build_once(builder_t* b, const hone_template_t* form, const char* device,
                                hone_choice_t** out_choice, hone_template_result_t* result) {
  *out_choice = NULL;
  HONE_TRY(hone_kernel_clone(form->kernel, &b->kernel));
  HONE_TRY(hone_chooser_schedule(b->chooser, b->kernel, out_choice));
  HONE_TRY(describe(b, *out_choice, result));
  return hone_function_build(b->allocator, b->kernel, device, &result->function);
}

/* As tuned, where it was; should that be refused, untuned. */
static hone_status_t build(builder_t* b, const hone_template_t* form, const char* device,
                           hone_template_result_t* result) {
  hone_choice_t* choice;
  hone_status_t status = build_once(b, form, device, &choice, result);
  if (!status || !choice || !hone_chooser_retreat(b->chooser, choice, status)) return status;
  hone_kernel_destroy(b->kernel);
  b->kernel = NULL;
  return build_once(b, form, device, &choice, result);
}

hone_status_t hone_template_build(const hone_template_t* form,
                                  const hone_template_options_t* options,
                                  hone_template_result_t* out_result) {
  static const hone_template_options_t defaults = {0};
  if (!options) options = &defaults;
  *out_result = (hone_template_result_t){0};
  HONE_TRY(check(form));
  const hone_tactic_t tactic = tactic_of(form);
  const char* device = options->device ? options->device : "cpu";
  const hone_chooser_options_t choosing = {
      .no_tuned = options->no_tuned, .database = options->database, .tactic = &tactic};
  builder_t b = {.allocator = options->allocator ? options->allocator : hone_allocator_system()};
  hone_status_t status = open_builder(&b, device, &choosing);
  if (!status) status = build(&b, form, device, out_result);
  close_builder(&b);
  return status;
}
