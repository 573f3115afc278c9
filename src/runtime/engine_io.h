/* How a program is written to bytes and read back: one description for both
 * directions. Each io_ function writes the value that it is given, or reads it
 * from bytes that nobody vouches for: what is cut off, out of range or too large
 * is remembered as a failure, after which nothing more is read and values are
 * zero. Numbers are little end first. */
#ifndef HONE_RUNTIME_ENGINE_IO_H
#define HONE_RUNTIME_ENGINE_IO_H

#include "base/str.h"
#include "ir/graph.h"

typedef struct hone_io {
  hone_str_t* out; /* writing; NULL: reading */
  const uint8_t* data;
  size_t size, at;
  hone_arena_t* arena; /* of what is read */
  hone_dims_t* dims;   /* of dimensions that are read */
  const char* failure; /* what was wrong; NULL: nothing; static storage */
  bool out_of_memory;
} hone_io_t;

static inline bool hone_io_writes(const hone_io_t* io) { return io->out != NULL; }
static inline bool hone_io_failed(const hone_io_t* io) { return io->failure || io->out_of_memory; }
/* The first failure counts. */
void hone_io_fail(hone_io_t* io, const char* what);
/* NULL, OUT_OF_MEMORY, or INVALID_DATA with the failure and the byte. */
HONE_MUST_USE hone_status_t hone_io_status(const hone_io_t* io);

void hone_io_bytes(hone_io_t* io, void* data, size_t size);
void hone_io_u64(hone_io_t* io, uint64_t* value);
void hone_io_i64(hone_io_t* io, int64_t* value);
/* Must lie in least … most. */
void hone_io_int(hone_io_t* io, int* value, int least, int most);
void hone_io_bool(hone_io_t* io, bool* value);
/* Ends in 0 once read; NULL is written as "". */
void hone_io_text(hone_io_t* io, const char** text);
/* How many entries follow, each of at least `least` bytes. */
void hone_io_count(hone_io_t* io, int* count, size_t least);
/* Room for entries that are about to be read; when writing what is there. */
void* hone_io_array(hone_io_t* io, const void* there, int count, size_t size);
void hone_io_dim(hone_io_t* io, hone_dim_t* dim);
void hone_io_dims(hone_io_t* io, int count, const hone_dim_t** dims);
void hone_io_ints(hone_io_t* io, int count, const int** list, int least, int most);
void hone_io_type(hone_io_t* io, hone_type_t* type);

#endif
