/* The bytes go to a file that only this process has, in memory where the
 * system can do that, and from there to the dynamic linker. */
#include "codegen/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

struct hone_library {
  const hone_allocator_t* allocator;
  void* handle;
};

static hone_status_t write_all(int fd, const char* data, size_t size) {
  while (size) {
    ssize_t done = write(fd, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      return hone_status_make(HONE_IO, "cannot keep a library of %zu bytes: %s", size,
                              strerror(errno));
    data += done;
    size -= (size_t)done;
  }
  return NULL;
}

static hone_status_t load(const char* path, void** out_handle) {
  *out_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out_handle) return NULL;
  const char* why = dlerror();
  return hone_status_make(HONE_INVALID_DATA, "a compiled library cannot be loaded: %s",
                          why ? why : "no reason given");
}

/* Through a temporary file that only its owner can read. */
static hone_status_t load_from_disk(const char* data, size_t size, void** out_handle) {
  char path[4096];
  const char* folder = getenv("TMPDIR");
  if (!folder || !*folder || strlen(folder) > sizeof path - 64) folder = "/tmp";
  snprintf(path, sizeof path, "%s/hone-library-XXXXXX", folder);
  int fd = mkstemp(path);
  if (fd < 0) return hone_file_error(errno, path, "create");
  hone_status_t status = write_all(fd, data, size);
  close(fd);
  if (!status) status = load(path, out_handle);
  unlink(path);
  return status;
}

/* The dynamic linker takes what was loaded under the same name for the same
 * library, and descriptors are used again: each load spells its path in a way
 * of its own, the bits of a count as "/" and "./". */
static void spell_path(int fd, char* path, size_t size) {
  static atomic_uint serial;
  int at = snprintf(path, size, "/proc/self/fd/");
  for (unsigned bits = atomic_fetch_add(&serial, 1) | 1u << 31; bits; bits >>= 1)
    at += snprintf(path + at, size - (size_t)at, bits & 1 ? "./" : "/");
  snprintf(path + at, size - (size_t)at, "%d", fd);
}

/* *out_done stays false where the system has no such files, or no /proc. */
static hone_status_t load_from_memory(const char* data, size_t size, void** out_handle,
                                      bool* out_done) {
  char path[128];
  int fd = memfd_create("hone-kernels", MFD_CLOEXEC);
  if (fd < 0) return NULL;
  spell_path(fd, path, sizeof path);
  hone_status_t status = NULL;
  if (access(path, R_OK) == 0) {
    *out_done = true;
    status = write_all(fd, data, size);
    if (!status) status = load(path, out_handle);
  }
  close(fd);
  return status;
}

hone_status_t hone_library_open(const hone_allocator_t* allocator, const void* data, size_t size,
                                hone_library_t** out_library) {
  bool done = false;
  *out_library = NULL;
  hone_library_t* library = hone_alloc(allocator, sizeof *library);
  if (!library) return hone_oom();
  library->allocator = allocator;
  hone_status_t status = load_from_memory(data, size, &library->handle, &done);
  if (!status && !done) status = load_from_disk(data, size, &library->handle);
  if (status) {
    hone_library_close(library);
    return status;
  }
  *out_library = library;
  return NULL;
}

void hone_library_close(hone_library_t* library) {
  if (!library) return;
  if (library->handle) dlclose(library->handle);
  hone_free(library->allocator, library, sizeof *library);
}

hone_status_t hone_library_symbol(const hone_library_t* library, const char* name,
                                  void** out_symbol) {
  *out_symbol = dlsym(library->handle, name);
  if (*out_symbol) return NULL;
  return hone_status_make(HONE_NOT_FOUND, "a compiled library has no function '%s'", name);
}
