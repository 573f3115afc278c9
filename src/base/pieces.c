#include "base/pieces.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <xxhash.h>

#include "base/memory.h"

/* ---- digests ---- */

typedef struct text {
  int count;
  const hone_piece_t* pieces;
  uint64_t* starts; /* of each piece in the text, and its end */
  XXH128_hash_t* blocks;
  atomic_bool failed;
} text_t;

/* The last piece that starts at or before `at`. */
static int piece_at(const text_t* text, uint64_t at) {
  int low = 0, high = text->count - 1;
  while (low < high) {
    int middle = low + (high - low + 1) / 2;
    if (text->starts[middle] <= at)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static XXH128_hash_t block_digest(const text_t* text, uint64_t at, XXH3_state_t* state) {
  uint64_t end = text->starts[text->count];
  if (end > at + HONE_DIGEST_BLOCK) end = at + HONE_DIGEST_BLOCK;
  int i = piece_at(text, at);
  if (text->starts[i + 1] >= end)
    return XXH3_128bits((const char*)text->pieces[i].data + (at - text->starts[i]), end - at);
  XXH3_128bits_reset(state);
  for (; at < end; i++) {
    uint64_t stop = text->starts[i + 1] < end ? text->starts[i + 1] : end;
    const char* data = text->pieces[i].data;
    if (stop > at) XXH3_128bits_update(state, data + (at - text->starts[i]), stop - at);
    at = stop;
  }
  return XXH3_128bits_digest(state);
}

static void digest_blocks(void* context, int64_t begin, int64_t end) {
  text_t* text = context;
  XXH3_state_t* state = XXH3_createState();
  if (!state) atomic_store(&text->failed, true);
  for (int64_t i = begin; state && i < end; i++)
    text->blocks[i] = block_digest(text, (uint64_t)i * HONE_DIGEST_BLOCK, state);
  XXH3_freeState(state);
}

hone_status_t hone_pieces_digest(hone_thread_pool_t* pool, int count, const hone_piece_t* pieces,
                                 hone_digest_t* out_digest) {
  const hone_allocator_t* allocator = hone_allocator_system();
  text_t text = {.count = count, .pieces = pieces};
  size_t room = ((size_t)count + 1) * sizeof *text.starts;
  text.starts = hone_alloc(allocator, room);
  if (!text.starts) return hone_oom();
  for (int i = 0; i < count; i++) text.starts[i + 1] = text.starts[i] + pieces[i].size;
  size_t blocks = (size_t)((text.starts[count] + HONE_DIGEST_BLOCK - 1) / HONE_DIGEST_BLOCK);
  text.blocks = hone_alloc(allocator, (blocks + 1) * sizeof *text.blocks);
  if (text.blocks) {
    hone_parallel_for(pool, (int64_t)blocks, 1, digest_blocks, &text);
    XXH128_hash_t all = XXH3_128bits(text.blocks, blocks * sizeof *text.blocks);
    *out_digest = (hone_digest_t){all.low64, all.high64};
  }
  bool failed = !text.blocks || atomic_load(&text.failed);
  hone_free(allocator, text.blocks, (blocks + 1) * sizeof *text.blocks);
  hone_free(allocator, text.starts, room);
  return failed ? hone_oom() : NULL;
}

/* ---- writing ---- */

enum { MOST_PARTS = 128 /* of one step */ };

/* Where writing is: in a piece, and in the file. */
typedef struct place {
  int piece;
  size_t inside;
  uint64_t offset;
} place_t;

/* The parts up to the next end of a large page; gives their number. */
static int next_parts(const place_t* from, int count, const hone_piece_t* pieces,
                      struct iovec* parts) {
  size_t left = HONE_LARGE_PAGE - (size_t)(from->offset % HONE_LARGE_PAGE), inside = from->inside;
  int n = 0;
  for (int i = from->piece; i < count && left && n < MOST_PARTS; i++) {
    size_t size = pieces[i].size - inside < left ? pieces[i].size - inside : left;
    if (size) parts[n++] = (struct iovec){(char*)(uintptr_t)pieces[i].data + inside, size};
    left -= size;
    inside = 0;
  }
  return n;
}

static void advance(place_t* place, const hone_piece_t* pieces, size_t size) {
  place->offset += size;
  size += place->inside;
  while (size && size >= pieces[place->piece].size) size -= pieces[place->piece++].size;
  place->inside = size;
}

int hone_pieces_write(int fd, int count, const hone_piece_t* pieces) {
  place_t place = {0};
  struct iovec parts[MOST_PARTS];
  for (int n; (n = next_parts(&place, count, pieces, parts));) {
    ssize_t done = writev(fd, parts, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done ? errno : EIO;
    advance(&place, pieces, (size_t)done);
  }
  return 0;
}
