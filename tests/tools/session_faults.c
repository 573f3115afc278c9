/* For tests/test_faults.py: runs models with their inputs again and again,
 * failing the first, second, … n-th allocation, as told by lines on stdin whose
 * parts are parted by tabs: a model file, then KIND FILE for each input (KIND is
 * a number of hone_onnx_type_kind_t). Each line is answered by one line: "ok
 * N", N allocations having been failed, or what went wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "hone/session.h"
#include "import/onnx.h"

enum { MAX_INPUTS = 64, MAX_OUTPUTS = 64 };

/* Counts, and fails allocation number `fail_at`. */
typedef struct fault {
  hone_allocator_t allocator;
  long fail_at, calls, blocks;
  long bytes; /* of the blocks, by the sizes that are given with them */
} fault_t;

static void* fault_resize(void* self, void* old, size_t old_size, size_t new_size) {
  fault_t* fault = self;
  const hone_allocator_t* system = hone_allocator_system();
  if (new_size > old_size && ++fault->calls == fault->fail_at) return NULL;
  void* made = system->resize(system->self, old, old_size, new_size);
  fault->blocks += (made && !old) - (old && !new_size);
  if (made || !new_size) fault->bytes += (long)new_size - (old ? (long)old_size : 0);
  return made;
}

typedef struct work {
  const char* model;
  int n_inputs;
  hone_tensor_t* inputs[MAX_INPUTS];
} work_t;

static hone_status_t run_session(const work_t* work, hone_session_t* session) {
  hone_tensor_t* outputs[MAX_OUTPUTS] = {NULL};
  int n = hone_session_output_count(session);
  if (n > MAX_OUTPUTS) return hone_status_make(HONE_INVALID_ARGUMENT, "more than 64 outputs");
  hone_status_t status = hone_session_run(session, NULL, work->n_inputs, work->inputs, n, outputs);
  for (int i = 0; i < n; i++) hone_tensor_release(outputs[i]);
  return status;
}

static hone_status_t run_once(const work_t* work, const hone_allocator_t* allocator) {
  hone_model_options_t model_options = {.allocator = allocator};
  hone_session_options_t session_options = {.allocator = allocator};
  hone_model_t* model;
  hone_session_t* session = NULL;
  HONE_TRY(hone_model_load(work->model, &model_options, &model));
  hone_status_t status = hone_session_create(model, &session_options, &session);
  if (!status) status = run_session(work, session);
  hone_session_destroy(session);
  hone_model_destroy(model);
  return status;
}

static hone_status_t check_round(const work_t* work, long fail_at, bool* out_fired) {
  fault_t fault = {.fail_at = fail_at};
  fault.allocator = (hone_allocator_t){&fault, fault_resize};
  hone_status_t status = run_once(work, &fault.allocator);
  *out_fired = fault.fail_at > 0 && fault.calls >= fault.fail_at;
  hone_code_t code = status ? hone_status_code(status) : HONE_OK;
  if (fault.blocks || fault.bytes) {
    hone_status_free(status);
    return hone_status_make(HONE_INTERNAL, "fault %ld: %ld blocks, %ld bytes are lost", fail_at,
                            fault.blocks, fault.bytes);
  }
  if (!*out_fired || code == HONE_OK || code == HONE_OUT_OF_MEMORY) {
    if (*out_fired) hone_status_free(status);
    return *out_fired ? NULL : status;
  }
  return hone_status_annotate(status, "fault %ld", fail_at);
}

static void check_line(char* line) {
  work_t work = {.model = strtok(line, "\t")};
  hone_status_t status = NULL;
  for (char* kind; !status && work.n_inputs < MAX_INPUTS && (kind = strtok(NULL, "\t"));) {
    const char* path = strtok(NULL, "\t");
    status = hone_onnx_load_tensor_file(NULL, path, (hone_onnx_type_kind_t)(*kind - '0'),
                                        &work.inputs[work.n_inputs]);
    if (!status) work.n_inputs++;
  }
  long faults = 0;
  bool fired = true;
  if (!status) status = check_round(&work, 0, &fired);
  for (fired = true; fired && !status; faults += fired)
    status = check_round(&work, faults + 1, &fired);
  for (int i = 0; i < work.n_inputs; i++) hone_tensor_release(work.inputs[i]);
  if (status)
    printf("%s: %s\n", hone_code_name(hone_status_code(status)), hone_status_message(status));
  else
    printf("ok %ld\n", faults);
  hone_status_free(status);
}

int main(void) {
  static char line[65536];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    check_line(line);
    fflush(stdout);
  }
  return 0;
}
