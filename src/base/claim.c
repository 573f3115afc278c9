#include "base/claim.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_at(int fd, const char* path) {
  struct stat a, b;
  return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

bool hone_claim_new(int fd, const char* path) {
  bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
  return (locked || errno != EWOULDBLOCK) && is_at(fd, path);
}

bool hone_claim_abandoned(int fd, const char* path) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
         is_at(fd, path);
}
