/* For tests of the C renderer: a kernel as a program of its own, for this kind of machine or for
 * aarch64, which qemu runs. */
#ifndef HONE_BACKENDS_CPU_TESTING_RENDER_PROGRAM_H
#define HONE_BACKENDS_CPU_TESTING_RENDER_PROGRAM_H

#include "base/testing/folder.h"
#include "codegen/target.h"
#include "hone/tensor.h"
#include "loop/kernel.h"

enum { RENDER_PROGRAM_MOST = 4 /* tensors */ };

typedef struct render_program {
  const hone_kernel_t* kernel;
  int lanes, rounds; /* of its parallel loop */
  const hone_target_t* target;
  const char* before; /* C in front of the prelude; NULL: nothing */
  bool runs_here;     /* whatever the target says */
  int n;
  hone_tensor_t*
      tensors[RENDER_PROGRAM_MOST]; /* as the kernel's parameters; the last is its output */
} render_program_t;

/* Whether programs for aarch64 can be made and run; says what is missing where not. */
bool render_program_has_aarch64(void);
/* Builds and runs it in the folder; what the kernel gives is in the last tensor then. */
void render_program_run(const render_program_t* program, const test_folder_t* folder);

#endif
