/* A mapped file that several things look into: it stays mapped until the last of them lets go. */
#ifndef HONE_BASE_SHARED_FILE_H
#define HONE_BASE_SHARED_FILE_H

#include "base/file.h"

typedef struct hone_shared_file hone_shared_file_t;

/* Takes the map over, also when it fails. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_shared_file_create(hone_file_map_t map,
                                                    hone_shared_file_t** out_file);
/* Thread-safe. */
void hone_shared_file_retain(hone_shared_file_t* file);
void hone_shared_file_release(hone_shared_file_t* file); /* NULL is allowed */
const hone_file_map_t* hone_shared_file_map(const hone_shared_file_t* file);

#endif
