#include "base/testing/fault.h"

#include <string.h>

static bool must_fail(hone_fault_t* fault) {
  size_t call = atomic_fetch_add(&fault->calls, 1) + 1;
  if (!fault->fail_at || call < fault->fail_at) return false;
  return call == fault->fail_at || fault->keeps_failing;
}

static void* fault_resize(void* self, void* old, size_t old_size, size_t new_size) {
  hone_fault_t* fault = self;
  const hone_allocator_t* system = hone_allocator_system();
  if (new_size && must_fail(fault)) return NULL;
  void* fresh = system->resize(system->self, old, old_size, new_size);
  if (new_size && !fresh) return NULL;
  if (!old && fresh) atomic_fetch_add(&fault->blocks, 1);
  if (old && !fresh) atomic_fetch_sub(&fault->blocks, 1);
  atomic_fetch_add(&fault->bytes, new_size);
  if (old) atomic_fetch_sub(&fault->bytes, old_size);
  return fresh;
}

void hone_fault_init(hone_fault_t* fault, size_t fail_at, bool keeps_failing) {
  fault->allocator = (hone_allocator_t){.self = fault, .resize = fault_resize};
  fault->fail_at = fail_at;
  fault->keeps_failing = keeps_failing;
  atomic_init(&fault->calls, 0);
  atomic_init(&fault->blocks, 0);
  atomic_init(&fault->bytes, 0);
}

bool hone_fault_fired(const hone_fault_t* fault) {
  return fault->fail_at && atomic_load(&fault->calls) >= fault->fail_at;
}

/* One run; false when nothing was failed in it. */
static bool fault_run(hone_fault_t* fault, hone_fault_body_t body, void* context, const char* file,
                      int line) {
  hone_status_t status = body(&fault->allocator, context);
  hone_code_t code = hone_status_code(status);
  bool fired = hone_fault_fired(fault);
  if (code != HONE_OK && !(fired && code == HONE_OUT_OF_MEMORY)) {
    print_error("failing allocation %zu gives %s: %s\n", fault->fail_at, hone_code_name(code),
                hone_status_message(status));
    _fail(file, line);
  }
  hone_status_free(status);
  size_t blocks = atomic_load(&fault->blocks), bytes = atomic_load(&fault->bytes);
  if (blocks || bytes) {
    print_error("failing allocation %zu leaks %zu blocks, %zu bytes\n", fault->fail_at, blocks,
                bytes);
    _fail(file, line);
  }
  return fired;
}

size_t hone_fault_check(hone_fault_body_t body, void* context, const char* file, int line) {
  enum { MOST_ALLOCATIONS = 100000 };
  for (size_t n = 1; n < MOST_ALLOCATIONS; n++) {
    hone_fault_t once, onwards;
    hone_fault_init(&once, n, false);
    hone_fault_init(&onwards, n, true);
    if (!fault_run(&once, body, context, file, line)) return n - 1;
    fault_run(&onwards, body, context, file, line);
  }
  print_error("still failing after %d allocations\n", MOST_ALLOCATIONS);
  _fail(file, line);
  return 0;
}

/* ---- gates ---- */

enum { GATE_HEADER = 64 };

static void* gate_resize(void* self, void* old, size_t old_size, size_t new_size) {
  const hone_gate_t* gate = self;
  char* block = old ? (char*)old - GATE_HEADER : NULL;
  const hone_allocator_t* owner = gate->behind;
  if (block) memcpy(&owner, block, sizeof owner);
  if (!new_size) {
    if (block) owner->resize(owner->self, block, old_size + GATE_HEADER, 0);
    return NULL;
  }
  char* made =
      owner->resize(owner->self, block, block ? old_size + GATE_HEADER : 0, new_size + GATE_HEADER);
  if (!made) return NULL;
  memcpy(made, &owner, sizeof owner);
  return made + GATE_HEADER;
}

void hone_gate_init(hone_gate_t* gate, const hone_allocator_t* behind) {
  *gate = (hone_gate_t){{gate, gate_resize}, behind};
}
