/* Writing a file so that its readers see the old one or the new one whole. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/claim.h"
#include "base/file.h"
#include "base/memory.h"

enum { BUFFER_SIZE = 1 << 16 };

static const char temporary_mark[] = ".tmp-";

struct hone_file_writer {
  const hone_allocator_t* allocator;
  int fd;                   /* -1 until opened */
  hone_status_t status;     /* the first error */
  uint64_t offset;          /* bytes written by the caller */
  size_t buffered;          /* of them still in the buffer */
  bool in_place;            /* no temporary file: the target is a device or a pipe */
  char target[PATH_MAX];    /* links resolved */
  char temporary[PATH_MAX]; /* empty when there is none to remove */
  unsigned char buffer[BUFFER_SIZE];
};

static void writer_fail(hone_file_writer_t* writer, int error, const char* action) {
  if (!writer->status) writer->status = hone_file_error(error, writer->target, action);
}

static void write_through(hone_file_writer_t* writer, const unsigned char* data, size_t size) {
  while (size && !writer->status) {
    ssize_t done = write(writer->fd, data, size);
    if (done < 0 && errno != EINTR) writer_fail(writer, errno, "write");
    if (done > 0) {
      data += done;
      size -= (size_t)done;
    }
  }
}

static void writer_flush(hone_file_writer_t* writer) {
  write_through(writer, writer->buffer, writer->buffered);
  writer->buffered = 0;
}

/* What killed writers of this target left beside it. */
static void remove_abandoned(const hone_file_writer_t* writer) {
  char folder[PATH_MAX], path[PATH_MAX];
  const char* name = hone_path_basename(writer->target);
  size_t length = strlen(name);
  snprintf(folder, sizeof folder, "%.*s", (int)(name - writer->target), writer->target);
  DIR* stream = opendir(*folder ? folder : ".");
  if (!stream) return;
  for (const struct dirent* entry; (entry = readdir(stream));) {
    bool ours = strncmp(entry->d_name, name, length) == 0 &&
                strncmp(entry->d_name + length, temporary_mark, sizeof temporary_mark - 1) == 0;
    int size = ours ? snprintf(path, sizeof path, "%s%s", folder, entry->d_name) : 0;
    int fd = size > 0 && (size_t)size < sizeof path
                 ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                 : -1;
    if (fd >= 0 && hone_claim_abandoned(fd, path)) unlink(path);
    if (fd >= 0) close(fd);
  }
  closedir(stream);
}

/* Whether the new file is this writer's; a moment ago it was nobody's. */
static bool is_claimed(hone_file_writer_t* writer) {
  if (hone_claim_new(writer->fd, writer->temporary)) return true;
  close(writer->fd);
  writer->fd = -1;
  errno = EEXIST;
  return false;
}

/* Opens a new file beside the target under a name nobody else has. */
static int open_temporary(hone_file_writer_t* writer) {
  enum { ATTEMPTS = 100 };
  static atomic_uint serial;
  remove_abandoned(writer);
  for (int i = 0; i < ATTEMPTS; i++) {
    int length = snprintf(writer->temporary, sizeof writer->temporary, "%s%s%ld-%u", writer->target,
                          temporary_mark, (long)getpid(), atomic_fetch_add(&serial, 1));
    if (length < 0 || (size_t)length >= sizeof writer->temporary)
      errno = ENAMETOOLONG;
    else
      writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->fd >= 0 && is_claimed(writer)) return 0;
    if (errno != EEXIST && errno != EINTR) break;
  }
  writer->temporary[0] = 0;
  return errno;
}

/* A file that is replaced keeps its permissions, a new one follows the umask. */
static int writer_open(hone_file_writer_t* writer, const char* path) {
  struct stat info;
  if (strlen(path) >= sizeof writer->target) return ENAMETOOLONG;
  if (!realpath(path, writer->target)) memcpy(writer->target, path, strlen(path) + 1);
  bool exists = stat(writer->target, &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return EISDIR;
  writer->in_place = exists && !S_ISREG(info.st_mode);
  if (writer->in_place) {
    writer->fd = open(path, O_WRONLY | O_CLOEXEC);
    return writer->fd < 0 ? errno : 0;
  }
  int error = open_temporary(writer);
  if (!error && exists && fchmod(writer->fd, info.st_mode & 07777)) error = errno;
  return error;
}

hone_status_t hone_file_writer_create(const hone_allocator_t* allocator, const char* path,
                                      hone_file_writer_t** out_writer) {
  *out_writer = NULL;
  hone_file_writer_t* writer = hone_alloc(allocator, sizeof *writer);
  if (!writer) return hone_oom();
  writer->allocator = allocator;
  writer->fd = -1;
  int error = writer_open(writer, path);
  if (error) {
    hone_file_writer_abort(writer);
    return hone_file_error(error, path, "create");
  }
  *out_writer = writer;
  return NULL;
}

void hone_file_writer_write(hone_file_writer_t* writer, const void* data, size_t size) {
  if (writer->status || !size) return;
  writer->offset += size;
  if (size > BUFFER_SIZE - writer->buffered) writer_flush(writer);
  if (size >= BUFFER_SIZE) {
    write_through(writer, data, size);
  } else {
    memcpy(writer->buffer + writer->buffered, data, size);
    writer->buffered += size;
  }
}

void hone_file_writer_write_pieces(hone_file_writer_t* writer, int count,
                                   const hone_piece_t* pieces) {
  writer_flush(writer);
  int error = writer->status ? 0 : hone_pieces_write(writer->fd, count, pieces);
  if (error) writer_fail(writer, error, "write");
  for (int i = 0; i < count; i++) writer->offset += pieces[i].size;
}

uint64_t hone_file_writer_offset(const hone_file_writer_t* writer) { return writer->offset; }

static void writer_close(hone_file_writer_t* writer) {
  if (writer->fd >= 0 && close(writer->fd)) writer_fail(writer, errno, "close");
  writer->fd = -1;
}

hone_status_t hone_file_writer_commit(hone_file_writer_t* writer) {
  writer_flush(writer);
  /* EINVAL: the file system has nothing to sync. */
  if (!writer->status && !writer->in_place && fsync(writer->fd) && errno != EINVAL)
    writer_fail(writer, errno, "write to disk");
  /* While it is open nobody takes it for abandoned. */
  if (!writer->status && !writer->in_place) {
    if (rename(writer->temporary, writer->target))
      writer_fail(writer, errno, "replace");
    else
      writer->temporary[0] = 0;
  }
  hone_status_t status = writer->status;
  writer->status = NULL;
  hone_file_writer_abort(writer);
  return status;
}

void hone_file_writer_abort(hone_file_writer_t* writer) {
  if (!writer) return;
  writer_close(writer);
  if (writer->temporary[0]) unlink(writer->temporary);
  hone_status_free(writer->status);
  hone_free(writer->allocator, writer, sizeof *writer);
}

hone_status_t hone_file_write(const char* path, const void* data, size_t size) {
  hone_file_writer_t* writer;
  HONE_TRY(hone_file_writer_create(NULL, path, &writer));
  hone_file_writer_write(writer, data, size);
  return hone_file_writer_commit(writer);
}
