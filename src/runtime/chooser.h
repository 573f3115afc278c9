/* Chooser: which tactic builds each kernel of a model.
 *
 * What the tuning database knows of a kernel on this very device decides; else
 * the model of cost does. Equal kernels get the same answer, found once. A
 * database that cannot be read is as good as none, and is warned of. */
#ifndef HONE_RUNTIME_CHOOSER_H
#define HONE_RUNTIME_CHOOSER_H

#include "tune/kernel_key.h"
#include "tune/tactic_set.h"

typedef struct hone_chooser hone_chooser_t;

/* What was chosen. Texts live as long as the chooser. */
typedef struct hone_choice {
  char digest[HONE_KERNEL_DIGEST_SIZE];
  const char* tactic; /* "contract" */
  const char* why;    /* "tuned: 12 trials, 1.3 of the default's speed" */
  double seconds;     /* that are expected of a run: measured, or by the model; 0: not known */
  bool is_tuned;
  hone_tactic_set_t* set; /* NULL: the backend has no tactics */
  hone_candidate_t candidate;
  int entry; /* of the program's kernels, for whoever asks; -1 at first */
} hone_choice_t;

typedef struct hone_chooser_options {
  bool no_tuned;               /* only the model of cost decides */
  const char* database;        /* NULL: the usual file, if there is one */
  hone_tune_db_t* opened;      /* asked in place of a file, and outlives the chooser; NULL: none */
  const hone_tactic_t* tactic; /* the only one; NULL: those of the backend */
} hone_chooser_options_t;

/* The device and the options' texts outlive it. A database that was named and
 * is not there is an error: NOT_FOUND. Errors else: OUT_OF_MEMORY, and those of
 * finding the compiler that the times are kept under. */
HONE_MUST_USE hone_status_t hone_chooser_create(const hone_allocator_t* allocator,
                                                const hone_backend_t* backend,
                                                hone_device_t* device,
                                                const hone_chooser_options_t* options,
                                                hone_chooser_t** out_chooser);
void hone_chooser_destroy(hone_chooser_t* chooser); /* NULL is allowed */
/* Whether the database failed, so that what was tuned was not asked for. */
bool hone_chooser_has_lost(const hone_chooser_t* chooser);

/* Chooses for a lowered kernel; equal kernels get the same choice. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_chooser_find(hone_chooser_t* chooser, hone_kernel_t* kernel,
                                              hone_choice_t** out_choice);
/* Both, for who has one kernel. */
HONE_MUST_USE hone_status_t hone_chooser_schedule(hone_chooser_t* chooser, hone_kernel_t* kernel,
                                                  hone_choice_t** out_choice);
/* Gives the kernel that schedule. Errors: UNSUPPORTED, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_chooser_build(hone_chooser_t* chooser, const hone_choice_t* choice,
                                               hone_kernel_t* kernel);
/* For a kernel that cannot be built as it was tuned: from now on the model of cost decides, and
 * `why` tells of the refusal, of which a warning is logged. True: there is something to try
 * again, and the refusal is freed. False: it was not tuned, or memory is out. */
bool hone_chooser_retreat(hone_chooser_t* chooser, hone_choice_t* choice, hone_status_t refusal);

#endif
