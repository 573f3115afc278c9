#include "codegen/build_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/claim.h"
#include "base/file.h"

static const char prefix[] = "hone-build-";

enum {
  ATTEMPTS = 100,
  NAME_ROOM = 64, /* of the names of files in it */
};

static const char* base_folder(void) {
  const char* base = getenv("TMPDIR");
  return base && *base ? base : "/tmp";
}

/* ---- removing ---- */

/* Files only: nothing makes folders in there. */
static void empty(int folder) {
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? NULL : fdopendir(copy);
  if (!stream) {
    if (copy >= 0) close(copy);
    return;
  }
  for (const struct dirent* entry; (entry = readdir(stream));)
    if (entry->d_name[0] != '.') unlinkat(folder, entry->d_name, 0);
  closedir(stream);
}

static int open_folder(const char* path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_abandoned(const char* base) {
  DIR* stream = opendir(base);
  if (!stream) return;
  for (const struct dirent* entry; (entry = readdir(stream));) {
    char path[PATH_MAX];
    if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0) continue;
    int length = snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
    if (length < 0 || (size_t)length >= sizeof path) continue;
    int folder = open_folder(path);
    if (folder < 0) continue;
    if (hone_claim_abandoned(folder, path)) {
      empty(folder);
      rmdir(path);
    }
    close(folder);
  }
  closedir(stream);
}

/* ---- the interface ---- */

/* Between its making and its locking somebody may take it for abandoned and
 * remove it: then another one is made. */
static bool make_one(hone_build_folder_t* folder, const char* base) {
  int length = snprintf(folder->path, sizeof folder->path, "%s/%sXXXXXX", base, prefix);
  errno = ENAMETOOLONG;
  if (length < 0 || (size_t)length >= sizeof folder->path - NAME_ROOM || !mkdtemp(folder->path))
    return false;
  folder->lock = open_folder(folder->path);
  if (folder->lock >= 0 && hone_claim_new(folder->lock, folder->path)) return true;
  if (folder->lock >= 0) close(folder->lock);
  errno = EEXIST;
  return false;
}

hone_status_t hone_build_folder_make(hone_build_folder_t* out_folder) {
  const char* base = base_folder();
  remove_abandoned(base);
  errno = EEXIST;
  for (int i = 0; i < ATTEMPTS && errno == EEXIST; i++)
    if (make_one(out_folder, base)) return NULL;
  out_folder->path[0] = 0;
  return hone_file_error(errno, base, "make a folder in");
}

void hone_build_folder_remove(hone_build_folder_t* folder) {
  if (!folder->path[0]) return;
  empty(folder->lock);
  rmdir(folder->path);
  close(folder->lock);
  folder->path[0] = 0;
}
