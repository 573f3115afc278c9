#include "backends/cpu/fence.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

enum { ALIGNMENT = 64 };

/* ---- memory ---- */

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Bytes that can be touched: whole pages. */
static size_t inner_bytes(size_t size) {
  size_t page = page_size();
  return (size + page - 1) / page * page;
}

hone_memory_t* hone_cpu_fence_alloc(hone_device_t* device, size_t size) {
  size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  size_t page = page_size(), inner = inner_bytes(size);
  hone_memory_t* memory = hone_alloc(device->allocator, sizeof *memory);
  if (!memory) return NULL;
  char* base = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + page, inner, PROT_READ | PROT_WRITE)) {
    if (base != MAP_FAILED) munmap(base, inner + 2 * page);
    hone_free(device->allocator, memory, sizeof *memory);
    return NULL;
  }
  *memory = (hone_memory_t){.data = base + page + inner - size, .size = size};
  return memory;
}

void hone_cpu_fence_free(hone_device_t* device, hone_memory_t* memory) {
  size_t page = page_size(), inner = inner_bytes(memory->size);
  munmap(memory->data + memory->size - inner - page, inner + 2 * page);
  hone_free(device->allocator, memory, sizeof *memory);
}

/* ---- stopping kernels ---- */

typedef struct landing {
  sigjmp_buf place;
  void* address;
} landing_t;

static _Thread_local landing_t* landing; /* of the kernel that this thread runs; NULL: none */
static struct sigaction before[2];       /* of SIGSEGV and SIGBUS */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)context;
  if (landing) {
    landing->address = info->si_addr;
    siglongjmp(landing->place, 1);
  }
  /* Not a kernel's: whoever was there before gets it when the access is tried again. */
  sigaction(signal, &before[signal == SIGBUS], NULL);
}

static void take_signal(int signal, struct sigaction* old) {
  struct sigaction action, now;
  if (sigaction(signal, NULL, &now) == 0 && now.sa_sigaction == on_fault) return;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, &now) == 0) *old = now;
}

/* Before each launch: others may have taken the signals since the last. */
void hone_cpu_trap_arm(void) {
  pthread_mutex_lock(&mutex);
  take_signal(SIGSEGV, &before[0]);
  take_signal(SIGBUS, &before[1]);
  pthread_mutex_unlock(&mutex);
}

void hone_cpu_trap_run(void* self, int64_t begin, int64_t end) {
  cpu_trap_t* trap = self;
  landing_t here = {.address = NULL};
  if (sigsetjmp(here.place, 1) == 0) {
    landing = &here;
    trap->run(trap->context, begin, end);
  } else {
    void* none = NULL;
    void* address = here.address ? here.address : (void*)&here; /* NULL would say none */
    atomic_compare_exchange_strong(&trap->address, &none, address);
  }
  landing = NULL;
}

/* ---- saying it ---- */

hone_status_t hone_cpu_trap_status(const void* address, const hone_launch_t* launch) {
  const char* at = address;
  for (int i = 0; i < launch->n_buffers; i++) {
    const hone_memory_t* memory = launch->buffers[i].memory;
    if (!memory) continue;
    const char *end = memory->data + memory->size, *start = end - inner_bytes(memory->size);
    if (at >= end && at < end + page_size())
      return hone_status_make(HONE_INTERNAL,
                              "it accesses memory %td bytes behind the end of its buffer %d",
                              at - end, i);
    if (at < start && at >= start - page_size())
      return hone_status_make(HONE_INTERNAL,
                              "it accesses memory %td bytes before the start of its buffer %d",
                              memory->data + launch->buffers[i].offset - at, i);
  }
  return hone_status_make(HONE_INTERNAL, "it accesses memory far from all its buffers");
}
