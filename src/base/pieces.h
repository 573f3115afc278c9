/* Pieces: bytes that lie here and there in memory, and are one text in this order: written to a
 * file, or told from others by a digest, without being put together first. */
#ifndef HONE_BASE_PIECES_H
#define HONE_BASE_PIECES_H

#include "base/thread_pool.h"
#include "hone/allocator.h"

typedef struct hone_piece {
  const void* data;
  size_t size;
} hone_piece_t;

/* Of 128 bits; collisions are not expected. */
typedef struct hone_digest {
  uint64_t low, high;
} hone_digest_t;

/* The digest of the whole text, however it is cut into pieces: the XXH3 of the XXH3s of its blocks
 * of HONE_DIGEST_BLOCK bytes, which all threads of `pool` (NULL: this one) make. Errors:
 * OUT_OF_MEMORY. */
enum { HONE_DIGEST_BLOCK = 1 << 20 };
HONE_MUST_USE hone_status_t hone_pieces_digest(hone_thread_pool_t* pool, int count,
                                               const hone_piece_t* pieces,
                                               hone_digest_t* out_digest);

/* Writes them to an empty file (or a pipe), in steps that end where large pages of the file do: so
 * the system keeps them in large pages, and who maps the file needs few translations of addresses.
 * Gives the errno value; 0: all is written. */
int hone_pieces_write(int fd, int count, const hone_piece_t* pieces);

#endif
