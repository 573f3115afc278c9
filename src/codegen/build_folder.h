/* Build folder: a private folder for the files of one build, in $TMPDIR or /tmp.
 *
 * Whoever has one holds a lock on it, which the system gives back however the
 * process ends. A folder that nobody holds was left by a process that was killed;
 * making a folder removes those of the same user first. Nobody's folder is
 * taken while it is in use, also where process numbers mean nothing to another
 * (containers that share /tmp). Thread-safe. */
#ifndef HONE_CODEGEN_BUILD_FOLDER_H
#define HONE_CODEGEN_BUILD_FOLDER_H

#include <limits.h>

#include "hone/status.h"

/* A zeroed one is not open. */
typedef struct hone_build_folder {
  char path[PATH_MAX]; /* "": there is none */
  int lock;            /* descriptor of the folder, which holds the lock */
} hone_build_folder_t;

/* Errors: IO. */
HONE_MUST_USE hone_status_t hone_build_folder_make(hone_build_folder_t* out_folder);
/* Removes it with the files in it. One that is not open is allowed. */
void hone_build_folder_remove(hone_build_folder_t* folder);

#endif
