#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

hone_status_t hone_file_error(int error, const char* path, const char* action) {
  if (error == ENOMEM) return hone_oom();
  if (error == ENOSPC || error == EDQUOT)
    return hone_status_make(HONE_IO, "%s: cannot %s: the disk is full", path, action);
  bool absent = error == ENOENT || error == ENOTDIR;
  return hone_status_make(absent ? HONE_NOT_FOUND : HONE_IO, "%s: cannot %s: %s", path, action,
                          strerror(error));
}

static int open_retrying(const char* path, int flags) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  return fd;
}

/* Where a large file is mapped to: at a multiple of large pages, so that the system can map such
 * whole where it holds the file in them. Gives a place that is taken until the file takes it; NULL:
 * anywhere. */
static void* reserve_aligned(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (size < HONE_LARGE_PAGE || size > SIZE_MAX - 2 * (size_t)HONE_LARGE_PAGE) return NULL;
  size_t whole = (size + page - 1) / page * page;
  char* base = mmap(NULL, whole + HONE_LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  size_t before = -(uintptr_t)base % HONE_LARGE_PAGE;
  if (before) munmap(base, before);
  munmap(base + before + whole, HONE_LARGE_PAGE - before);
  return base + before;
}

hone_status_t hone_file_map_fd(int fd, const char* path, hone_file_map_t* out_map) {
  struct stat info;
  *out_map = (hone_file_map_t){NULL, 0};
  if (fstat(fd, &info)) return hone_file_error(errno, path, "inspect");
  if (!S_ISREG(info.st_mode))
    return hone_status_make(HONE_IO, "%s: not a regular file (a folder or a device)", path);
  if ((uintmax_t)info.st_size > SIZE_MAX)
    return hone_status_make(HONE_OUT_OF_RANGE, "%s: too large for the address space", path);
  out_map->data = (const uint8_t*)"";
  out_map->size = (size_t)info.st_size;
  if (!out_map->size) return NULL; /* nothing cannot be mapped */
  void* place = reserve_aligned(out_map->size);
  void* data = mmap(place, out_map->size, PROT_READ, MAP_PRIVATE | (place ? MAP_FIXED : 0), fd, 0);
  if (data == MAP_FAILED) {
    int error = errno;
    if (place) munmap(place, out_map->size);
    *out_map = (hone_file_map_t){NULL, 0};
    return hone_file_error(error, path, "map");
  }
  out_map->data = data;
  return NULL;
}

hone_status_t hone_file_map_open(const char* path, hone_file_map_t* out_map) {
  *out_map = (hone_file_map_t){NULL, 0};
  /* NONBLOCK: opening a pipe must not wait for its other end. */
  int fd = open_retrying(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return hone_file_error(errno, path, "open");
  hone_status_t status = hone_file_map_fd(fd, path, out_map);
  close(fd);
  return status;
}

void hone_file_map_close(hone_file_map_t* map) {
  if (map->size) munmap((void*)(uintptr_t)map->data, map->size);
  *map = (hone_file_map_t){NULL, 0};
}

typedef struct buffer {
  char* data;
  size_t size, capacity;
} buffer_t;

/* Reads until the end or past `limit`. `buffer` has always room for a 0. */
static hone_status_t read_fd(const hone_allocator_t* allocator, int fd, const char* path,
                             size_t limit, buffer_t* buffer) {
  for (;;) {
    if (buffer->capacity - buffer->size < 2) {
      size_t capacity;
      if (!hone_size_mul(buffer->capacity, 2, &capacity)) return hone_oom();
      char* data = hone_realloc(allocator, buffer->data, buffer->capacity, capacity);
      if (!data) return hone_oom();
      buffer->data = data;
      buffer->capacity = capacity;
    }
    ssize_t got = read(fd, buffer->data + buffer->size, buffer->capacity - buffer->size - 1);
    if (got == 0) return NULL;
    if (got < 0 && errno != EINTR) return hone_file_error(errno, path, "read");
    if (got > 0) buffer->size += (size_t)got;
    if (limit && buffer->size > limit)
      return hone_status_make(HONE_OUT_OF_RANGE, "%s: larger than %zu bytes", path, limit);
  }
}

/* First guess for the buffer: the size that the file claims, and a byte to see its end. */
static size_t claimed_size(int fd, size_t limit) {
  enum { SMALLEST = 4096, LARGEST = 1 << 30 };
  struct stat info;
  if (fstat(fd, &info) || info.st_size < SMALLEST) return SMALLEST;
  size_t size = info.st_size > LARGEST ? LARGEST : (size_t)info.st_size + 2;
  return limit && size > limit + 2 ? limit + 2 : size;
}

hone_status_t hone_file_read(const hone_allocator_t* allocator, const char* path, size_t limit,
                             char** out_data, size_t* out_size) {
  *out_data = NULL;
  *out_size = 0;
  int fd = open_retrying(path, O_RDONLY);
  if (fd < 0) return hone_file_error(errno, path, "open");
  if (limit > SIZE_MAX - 2) limit = SIZE_MAX - 2;
  buffer_t buffer = {.capacity = claimed_size(fd, limit)};
  buffer.data = hone_realloc(allocator, NULL, 0, buffer.capacity);
  hone_status_t status = buffer.data ? read_fd(allocator, fd, path, limit, &buffer) : hone_oom();
  close(fd);
  char* data =
      status ? NULL : hone_realloc(allocator, buffer.data, buffer.capacity, buffer.size + 1);
  if (!data) {
    hone_free(allocator, buffer.data, buffer.capacity);
    return status ? status : hone_oom();
  }
  data[buffer.size] = 0;
  *out_data = data;
  *out_size = buffer.size;
  return NULL;
}
