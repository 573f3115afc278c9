/* Instance: a routine for one vector of symbol values. The memory is planned
 * and what launches need is numbers; a few are kept, so that sizes that come
 * again cost nothing. Instances are counted: those in the routine's list hold
 * one reference, each run that uses one another. */
#ifndef HONE_RUNTIME_INSTANCE_H
#define HONE_RUNTIME_INSTANCE_H

#include "runtime/plan.h"
#include "runtime/program.h"

struct hone_instance {
  size_t allocated; /* bytes of this block */
  int references;   /* guarded by the program's mutex */
  bool is_apart;    /* each step runs by itself: values have no windows */
  int64_t* key;     /* values of the routine's key symbols */
  size_t* offsets;  /* by value: in the arena block; SIZE_MAX for others */
  /* Of launches: sizes, groups, locals, grain, nanoseconds. Of values: bytes (-1: their size cannot
   * be), and extents. */
  int64_t* numbers;
  size_t arena_bytes; /* of the block */
};

/* The instance for these symbol values, made where there is none; `is_apart`: for runs whose steps
 * take no turns. Thread-safe.
 * Errors: OUT_OF_RANGE (a negative extent, sizes beyond what can be addressed),
 * OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_instance_find(hone_program_t* program, hone_routine_t* routine,
                                               const int64_t* symbols, bool is_apart,
                                               hone_instance_t** out_instance);
/* Whether it is for these symbol values and such runs. Its key never changes: no lock is needed. */
bool hone_instance_fits(const hone_instance_t* instance, const hone_routine_t* routine,
                        const int64_t* symbols, bool is_apart);
/* Drops a run's reference. Thread-safe. */
void hone_instance_drop(hone_program_t* program, hone_instance_t* instance);
/* The same without the mutex. */
void hone_instance_release(const hone_program_t* program, hone_instance_t* instance);

/* Bytes of a known value; errors as above, naming the value. */
HONE_MUST_USE hone_status_t hone_program_value_bytes(const hone_program_value_t* value,
                                                     const int64_t* symbols, size_t* out_bytes);
/* Plans a routine, for runs whose steps take turns or not. out_plan->values are the routine's
 * planned values in order, with the routine's value of each in out_which; both blocks have
 * routine-> n_values entries and are the caller's to free. */
HONE_MUST_USE hone_status_t hone_routine_plan(const hone_program_t* program,
                                              const hone_routine_t* routine, const int64_t* symbols,
                                              bool is_apart, hone_plan_t* out_plan, int* out_which);
/* Evaluates sizes, groups, locals, grain and nanoseconds of a launch: n_sizes +
 * HONE_LAUNCH_NUMBERS. */
void hone_step_evaluate(const hone_program_t* program, const hone_step_t* step,
                        const int64_t* symbols, int64_t* out_numbers);

#endif
