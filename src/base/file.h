/* Files: mapped for reading, written so that nobody ever sees half of one,
 * and paths that must stay inside a folder. Every message names the path. */
#ifndef HONE_BASE_FILE_H
#define HONE_BASE_FILE_H

#include "base/arena.h"
#include "base/pieces.h"

/* A regular file, mapped read-only. `data` is page-aligned, never NULL (an
 * empty file has size 0). The file must not shrink while it is mapped. */
typedef struct hone_file_map {
  const uint8_t* data;
  size_t size;
} hone_file_map_t;

/* Errors: NOT_FOUND, IO (not readable, not a regular file). */
HONE_MUST_USE hone_status_t hone_file_map_open(const char* path, hone_file_map_t* out_map);
/* The same of a file that is open, and may be closed then; `path` is for messages. */
HONE_MUST_USE hone_status_t hone_file_map_fd(int fd, const char* path, hone_file_map_t* out_map);
void hone_file_map_close(hone_file_map_t* map); /* a zeroed or closed one is allowed */

/* Reads a whole file, pipes too, into `allocator`. A 0 follows the data; free
 * it with hone_free(allocator, data, size + 1). More than `limit` bytes
 * (0: no limit) are refused. Errors: NOT_FOUND, IO, OUT_OF_MEMORY, OUT_OF_RANGE. */
HONE_MUST_USE hone_status_t hone_file_read(const hone_allocator_t* allocator, const char* path,
                                           size_t limit, char** out_data, size_t* out_size);

/* Atomic writing: bytes go to a temporary file beside the target, which
 * replaces the target on commit. A target that is no regular file (/dev/stdout,
 * a pipe) is written directly. The first error sticks and commit returns it. */
typedef struct hone_file_writer hone_file_writer_t;
HONE_MUST_USE hone_status_t hone_file_writer_create(const hone_allocator_t* allocator,
                                                    const char* path,
                                                    hone_file_writer_t** out_writer);
void hone_file_writer_write(hone_file_writer_t* writer, const void* data, size_t size);
/* All pieces, in the order given; of what is large nothing is copied. */
void hone_file_writer_write_pieces(hone_file_writer_t* writer, int count,
                                   const hone_piece_t* pieces);
/* Bytes written so far. */
uint64_t hone_file_writer_offset(const hone_file_writer_t* writer);
/* Writes through to the disk and renames; frees the writer in any case. On
 * failure the target is as it was and the temporary file is gone. */
HONE_MUST_USE hone_status_t hone_file_writer_commit(hone_file_writer_t* writer);
/* Gives up: removes the temporary file and frees. NULL is allowed. */
void hone_file_writer_abort(hone_file_writer_t* writer);

/* The three in one. */
HONE_MUST_USE hone_status_t hone_file_write(const char* path, const void* data, size_t size);

/* `name` inside `folder`; `name` itself when it is absolute. NULL: out of memory. */
char* hone_path_join(hone_arena_t* arena, const char* folder, const char* name);
/* All before the last '/', "." without one. NULL: out of memory. */
char* hone_path_dirname(hone_arena_t* arena, const char* path);
/* The part after the last '/'. */
const char* hone_path_basename(const char* path);

/* The resolved path of an existing file named `relative` to `folder`, after
 * checking that it lies inside: not empty, not absolute, no ".." part, and no
 * symbolic link that leads out. Use the result, not the name, to open it.
 * Errors: INVALID_MODEL (it leads outside), NOT_FOUND, IO, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_path_confine(hone_arena_t* arena, const char* folder,
                                              const char* relative, char** out_path);

/* The status for errno value `error` of an operation on `path`: "PATH: cannot ACTION: …". */
HONE_MUST_USE hone_status_t hone_file_error(int error, const char* path, const char* action);

#endif
