/* Claims: who makes a temporary file or folder holds a lock on it, which the
 * system gives back however the process ends. What nobody claims was left by a
 * process that was killed, and may be removed.
 *
 * Locks are of open files, so that numbers of processes play no part: they may
 * be used again, and mean nothing between containers that share a folder. */
#ifndef HONE_BASE_CLAIM_H
#define HONE_BASE_CLAIM_H

#include "hone/status.h"

/* For who has just made what `fd` is open on: false when somebody took it for
 * abandoned meanwhile, and removed it or is about to; then make another. Where
 * the file system has no locks, everything is claimed. */
bool hone_claim_new(int fd, const char* path);
/* For who wants to remove it: whether nobody uses it, and it is still what is at
 * the path. It may be removed until fd is closed. */
bool hone_claim_abandoned(int fd, const char* path);

#endif
