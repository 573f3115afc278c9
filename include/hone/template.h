/* Template: a kernel written by hand (hone/te.h) whose schedule leaves choices
 * open, which tuning then makes on the device.
 *
 *   static hone_status_t space(void* self, hone_space_t* space) {
 *     return hone_space_define_split(space, "rows", 1024, 2, 16);
 *   }
 *   static hone_status_t schedule(void* self, const hone_space_t* space,
 *                                 const hone_candidate_t* candidate, hone_kernel_t* kernel) {
 *     return hone_sched_split(kernel, "i", hone_candidate_number(space, candidate, "rows", 1));
 *   }
 *   …
 *   const hone_template_t t = {.struct_size = sizeof t, .name = "my_product", .kernel = kernel,
 *                              .space = space, .schedule = schedule};
 *   status = hone_template_tune(&t, &(hone_tuning_options_t){.trials = 100, …}, &tuning);
 *   status = hone_template_build(&t, NULL, &result);
 *
 * What tuning finds is kept under the kernel, the template's name and the
 * device: a template whose schedule changes its meaning needs another name.
 * Thread-safety: as that of the template's own functions. */
#ifndef HONE_TEMPLATE_H
#define HONE_TEMPLATE_H

#include "hone/function.h"
#include "hone/space.h"
#include "hone/tune.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_template {
  size_t struct_size;
  const char* name;            /* letters, digits and '_' */
  const hone_kernel_t* kernel; /* not scheduled; borrowed */
  /* Defines the parameters; the first choice of each is what is used untuned. */
  hone_status_t (*space)(void* self, hone_space_t* space);
  /* Gives a copy of the kernel the candidate's schedule. A candidate for which
   * this fails is passed over; the untuned one must not fail. */
  hone_status_t (*schedule)(void* self, const hone_space_t* space,
                            const hone_candidate_t* candidate, hone_kernel_t* kernel);
  void* self;
} hone_template_t;

/* All zeros is the default. */
typedef struct hone_template_options {
  size_t struct_size;                /* sizeof(hone_template_options_t), or 0 */
  const hone_allocator_t* allocator; /* NULL: the system's */
  const char* device;                /* NULL: "cpu" */
  const char* database;              /* of tunings; NULL: the usual file */
  bool no_tuned;                     /* build the untuned candidate */
} hone_template_options_t;

enum { HONE_TEMPLATE_TEXT_SIZE = 512 };

typedef struct hone_template_result {
  hone_function_t* function;               /* the caller's */
  char candidate[HONE_TEMPLATE_TEXT_SIZE]; /* "my_product.rows=64x16" */
  char why[HONE_TEMPLATE_TEXT_SIZE];       /* "tuned: 12 trials, 1.3 of the default's speed" */
} hone_template_result_t;

/* Tunes the template's kernel; options as for models, `dims` unused. `options`
 * may be NULL. The report has one kernel. Errors: INVALID_ARGUMENT, those of
 * `space`, and those of hone_model_tune. */
HONE_API HONE_MUST_USE hone_status_t hone_template_tune(const hone_template_t* form,
                                                        const hone_tuning_options_t* options,
                                                        hone_tuning_t** out_tuning);
/* Builds the best candidate that was found for the device, or the untuned one
 * where nothing was. `options` may be NULL. Errors: those of `space` and
 * `schedule`, NOT_FOUND, UNSUPPORTED, UNAVAILABLE without a compiler, OUT_OF_MEMORY. */
HONE_API HONE_MUST_USE hone_status_t hone_template_build(const hone_template_t* form,
                                                         const hone_template_options_t* options,
                                                         hone_template_result_t* out_result);

#ifdef __cplusplus
}
#endif
#endif
