/* Tactic: one way to build kernels for a device, with what may be chosen in it.
 *
 * A backend offers its tactics through its descriptor (hone/backend.h); each is
 * a constant in a file of its own, src/backends/BACKEND/tactics/NAME.c, and
 * being there is being registered. The default candidate of a tactic's space is
 * what it does untuned.
 *
 * `supports` and `space` look at kernels that nobody has scheduled yet, and may
 * make expressions in them while they do; `build` is given a copy of its own.
 * A kernel belongs to one thread at a time; else all may be called from any. */
#ifndef HONE_TUNE_TACTIC_H
#define HONE_TUNE_TACTIC_H

#include "loop/kernel.h"
#include "tune/cost.h"
#include "tune/space.h"

struct hone_tactic {
  const char* name;    /* letters, digits and '_' */
  const char* summary; /* one line */
  int order;           /* the lowest is used untuned, unless another promises much more */
  /* Whether it knows what to do with the kernel; if not, `why` (a buffer of
   * HONE_DEVICE_TEXT_SIZE) says what is missing. */
  bool (*supports)(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why);
  /* Defines the parameters of a supported kernel, and their default. What
   * `cost` wants to know of the kernel, found once, goes to `out_facts`, in
   * the arena. Errors: OUT_OF_MEMORY. */
  hone_status_t (*space)(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                         hone_arena_t* arena, hone_space_t* space, const void** out_facts);
  /* Gives the kernel the candidate's schedule. What a schedule primitive refuses
   * is left as it is: any valid candidate gives a right kernel. Errors: OUT_OF_MEMORY. */
  hone_status_t (*build)(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                         const hone_space_t* space, const hone_candidate_t* candidate);
  /* How long a run will take, in seconds, by the model of cost (cost.h). */
  double (*cost)(const void* facts, const hone_device_properties_t* properties,
                 const hone_space_t* space, const hone_candidate_t* candidate);
  /* Of one that a user wrote: defines and schedules in place of `space` and `build`. */
  const struct hone_template* form;
  /* Not used untuned, whatever it promises; tuning tries its default first of all. */
  bool only_measured;
};

#endif
